"""What all connections of a broker share: the loop that wakes them, their receive memory, and whose turn it is."""

import asyncio
from collections.abc import Callable

from barnabas.net.memory import ReceiveMemory
from barnabas.net.turns import Turns


class Reactor:
    """One for all listeners of a broker.

    Attributes:
        loop: Tells when a socket can be read or written.
        memory: What receive buffers may take beyond their first size.
        turns: Who goes on at the end of this turn of the loop.
        now_ns: Monotonic nanoseconds, for what is measured.
    """

    __slots__ = ("loop", "memory", "now_ns", "turns")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, memory: ReceiveMemory, turns: Turns, now_ns: Callable[[], int]
    ) -> None:
        self.loop = loop
        self.memory = memory
        self.turns = turns
        self.now_ns = now_ns
