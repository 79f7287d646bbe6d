"""The controller's events, which it handles one at a time, and the watches that raise them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from barnabas.core.clock import Clock
from barnabas.core.histogram import Durations
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from barnabas.wire.registry.store import WatchEvent


class Kind(Enum):
    """Kind of an event: its name in Kafka's metrics, and the number of the controller's state while it handles one."""

    CONTROLLER_CHANGE = "ControllerChange", 1
    LEADER_ELECTION = "LeaderElection", 2
    TOPIC_CHANGE = "TopicChange", 3
    TOPIC_DELETION = "TopicDeletion", 4
    PARTITION_REASSIGNMENT = "PartitionReassignment", 5
    AUTO_LEADER_BALANCE = "AutoLeaderBalance", 6
    MANUAL_LEADER_BALANCE = "ManualLeaderBalance", 7
    CONTROLLED_SHUTDOWN = "ControlledShutdown", 8
    ISR_CHANGE = "IsrChange", 9
    LEADERS_ANSWERED = "LeaderAndIsrResponseReceived", 10
    LOG_DIR_CHANGE = "LogDirChange", 11
    UNCLEAN_ALLOWED = "UncleanLeaderElectionEnable", 13
    TOPIC_UNCLEAN_ALLOWED = "TopicUncleanLeaderElectionEnable", 14
    LIST_REASSIGNMENTS = "ListPartitionReassignment", 15
    UPDATE_FEATURES = "UpdateFeatures", 17

    def __init__(self, meter: str, number: int) -> None:
        self.meter = meter
        self.number = number


class Signal(Enum):
    """An event from a watch of the registry or from a timer; its handler reads the current state."""

    CONTROLLER_CHANGED = "/controller came, went or was set"
    BROKERS_CHANGED = "a broker came or went"
    BROKER_SET = "a broker wrote its registration again: its endpoints changed"
    TOPICS_CHANGED = "a topic came or went"
    DELETIONS_CHANGED = "somebody asks for a topic to be deleted"
    ELECTION_ASKED = "an old tool asks for preferred leaders to be elected"
    REASSIGNMENT_ASKED = "an old tool asks for partitions to be reassigned"
    ISR_NOTIFIED = "a leader wrote states of its partitions itself"
    LOG_DIRS_NOTIFIED = "a directory of a broker failed"
    IMBALANCE_DUE = "it is time to look for leaders that are not the preferred ones"


class TopicSet(NamedTuple):
    """A topic's node was written: it may have more partitions now."""

    topic: str


class IsrSet(NamedTuple):
    """The leader wrote the state of a partition that is being reassigned."""

    partition: TopicPartition


class LeadersAnswered(NamedTuple):
    """A broker answered a LeaderAndIsr."""

    broker_id: int
    response: LeaderAndIsrResponse


class ReplicasStopped(NamedTuple):
    """A broker answered a StopReplica request that deletes replicas.

    Attributes:
        deleted, failed: Partitions whose logs were deleted, or could not be deleted.
    """

    broker_id: int
    deleted: list[TopicPartition]
    failed: list[TopicPartition]


class UncleanAllowed(NamedTuple):
    """Replicas that are not in sync may lead from now on; `topic` None: in all topics."""

    topic: str | None


class Asked(NamedTuple):
    """A request for an operation that only the controller can do.

    Attributes:
        kind: The kind under which the event is counted.
        work: The operation; called with the controller's context.
        answer: Its result.
        otherwise: The answer if this broker is not the controller (any more).
    """

    kind: Kind
    work: Callable[[Any], Awaitable[Any]]
    answer: Pending[Any]
    otherwise: Any


Event: TypeAlias = Signal | TopicSet | IsrSet | LeadersAnswered | ReplicasStopped | UncleanAllowed | Asked


_KIND_OF_SIGNAL: Final = {
    Signal.CONTROLLER_CHANGED: Kind.CONTROLLER_CHANGE,
    Signal.BROKERS_CHANGED: Kind.LEADER_ELECTION,
    Signal.BROKER_SET: Kind.LEADER_ELECTION,
    Signal.TOPICS_CHANGED: Kind.TOPIC_CHANGE,
    Signal.DELETIONS_CHANGED: Kind.TOPIC_DELETION,
    Signal.ELECTION_ASKED: Kind.MANUAL_LEADER_BALANCE,
    Signal.REASSIGNMENT_ASKED: Kind.PARTITION_REASSIGNMENT,
    Signal.ISR_NOTIFIED: Kind.ISR_CHANGE,
    Signal.LOG_DIRS_NOTIFIED: Kind.LOG_DIR_CHANGE,
    Signal.IMBALANCE_DUE: Kind.AUTO_LEADER_BALANCE,
}


def kind_of(event: Event) -> Kind:
    """Return the kind under which an event is counted."""
    match event:
        case Signal():
            return _KIND_OF_SIGNAL[event]
        case TopicSet():
            return Kind.TOPIC_CHANGE
        case IsrSet():
            return Kind.PARTITION_REASSIGNMENT
        case LeadersAnswered():
            return Kind.LEADERS_ANSWERED
        case ReplicasStopped():
            return Kind.TOPIC_DELETION
        case UncleanAllowed(topic):
            return Kind.UNCLEAN_ALLOWED if topic is None else Kind.TOPIC_UNCLEAN_ALLOWED
        case Asked():
            return event.kind
        case _:
            assert_never(event)


class EventQueue(asyncio.Queue[Event]):
    """The queued events, in order.

    Attributes:
        times: How long events waited.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.times = Durations()
        self._clock = clock
        self._put_ns: deque[int] = deque()

    def _put(self, item: Event) -> None:
        self._put_ns.append(self._clock.monotonic_ns())
        super()._put(item)

    def _get(self) -> Event:
        self.times.note(self._clock.monotonic_ns() - self._put_ns.popleft())
        return super()._get()


class QueueEvent:
    """A watch that puts an event into the queue; equal instances count as one watch, so repeating it has no effect."""

    __slots__ = ("_event", "_events")

    def __init__(self, events: "asyncio.Queue[Event]", event: Event) -> None:
        self._events = events
        self._event = event

    def __call__(self, event: WatchEvent) -> None:
        self._events.put_nowait(self._event)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueueEvent) and other._events is self._events and other._event == self._event

    def __hash__(self) -> int:
        return hash((id(self._events), self._event))
