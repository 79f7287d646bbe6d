"""State shared by all connections of a broker: receive memory, scheduler, clock."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.net.memory import ReceiveMemory, unauthenticated_memory
from barnabas.broker.net.scheduler import Scheduler


class Unheard(Protocol):
    """A connection, as who looks after those that nobody reads from sees it."""

    def look_for_peer(self) -> bool:
        """End if the peer has left, or read on a little to find out, where nobody will read for long.

        Returns:
            Whether it reads on, which may take a millisecond.
        """
        ...


class Reactor:
    """One for all listeners of a broker.

    Attributes:
        memory: What receive buffers may take beyond their first size.
        unauthenticated_memory: The same for unauthenticated connections (`Connection.confine`).
        unheard: The connections that nobody reads from; the first has been looked at the longest ago.
        scheduler: The tasks for the end of this turn of the loop.
        now_ns: Monotonic nanoseconds, for what is measured.
        on_waited: Told of the handler of each connection that waited for receive memory, and how long, when it goes on
            or ends.
    """

    __slots__ = ("memory", "now_ns", "on_waited", "scheduler", "unauthenticated_memory", "unheard")

    def __init__(self, memory: ReceiveMemory, scheduler: Scheduler, now_ns: Callable[[], int]) -> None:
        self.memory = memory
        self.unauthenticated_memory = unauthenticated_memory(memory)
        self.unheard: OrderedDict[Unheard, None] = OrderedDict()
        self.scheduler = scheduler
        self.now_ns = now_ns
        self.on_waited: Callable[[object, int], object] | None = None
