"""What all connections of a broker share: receive memory, the tasks for the end of a turn, the clock."""

from collections.abc import Callable

from barnabas.net.memory import ReceiveMemory
from barnabas.net.turns import Turns


class Reactor:
    """One for all listeners of a broker.

    Attributes:
        memory: What receive buffers may take beyond their first size.
        turns: The tasks for the end of this turn of the loop.
        now_ns: Monotonic nanoseconds, for what is measured.
    """

    __slots__ = ("memory", "now_ns", "turns")

    def __init__(self, memory: ReceiveMemory, turns: Turns, now_ns: Callable[[], int]) -> None:
        self.memory = memory
        self.turns = turns
        self.now_ns = now_ns
