"""Calls `ReceiveMemory.make_room` periodically while connections wait for memory. The memory itself has no clock."""

from collections.abc import Callable

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.core.timers import Timers

_LOOK_MS = 100


def watch(memory: ReceiveMemory, timers: Timers, now_ns: Callable[[], int]) -> None:
    """Close connections that are too slow, ten times a second while others wait for their memory."""
    is_looking = False

    def look() -> None:
        nonlocal is_looking
        is_looking = memory.parked_count > 0
        if is_looking:
            timers.call_later(_LOOK_MS, look)
            memory.make_room(now_ns())

    def begin() -> None:
        nonlocal is_looking
        if not is_looking:
            is_looking = True
            timers.call_later(_LOOK_MS, look)

    memory.on_shortage = begin
