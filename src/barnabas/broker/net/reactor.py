"""State shared by all connections of a broker: memory of requests and responses, scheduler, clock."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.net.memory import ReceiveMemory, unauthenticated_memory
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.net.unsent_responses import UnsentResponses


class Unheard(Protocol):
    """A connection that is not being read from (`Reactor.unheard`)."""

    def look_for_peer(self) -> bool:
        """Close if the peer has left. If no reads will happen for long, read ahead to find out.

        Returns:
            Whether it reads ahead, which may take a millisecond.
        """
        ...


class Reactor:
    """The state shared by all connections of all listeners.

    Attributes:
        memory: Receive memory for buffers beyond their first size.
        unauthenticated_memory: The same for unauthenticated connections (`Connection.confine`).
        unsent_responses: Responses that peers do not read; they may take as much memory as received requests.
        unheard: Connections that are not being read from; the least recently checked first.
        scheduler: Runs tasks at the end of this turn of the loop.
        now_ns: Monotonic nanoseconds, for measurements.
        on_waited: Called with the handler of each connection that waited for receive memory, and the duration in
            nanoseconds, when it resumes or closes.
    """

    __slots__ = (
        "memory",
        "now_ns",
        "on_waited",
        "scheduler",
        "unauthenticated_memory",
        "unheard",
        "unsent_responses",
    )

    def __init__(self, memory: ReceiveMemory, scheduler: Scheduler, now_ns: Callable[[], int]) -> None:
        self.memory = memory
        self.unauthenticated_memory = unauthenticated_memory(memory)
        self.unsent_responses = UnsentResponses(memory.limit_bytes, scheduler)
        self.unheard: OrderedDict[Unheard, None] = OrderedDict()
        self.scheduler = scheduler
        self.now_ns = now_ns
        self.on_waited: Callable[[object, int], object] | None = None
