"""What the controller handles, one after the other, and the watches that tell of it."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from barnabas.wire.registry.store import WatchEvent


class Signal(Enum):
    """Something that the registry's watches or a timer tell; what it is now, the handler reads."""

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
    """A topic's node was written: it may have more partitions."""

    topic: str


class IsrSet(NamedTuple):
    """The state of a partition that is on its way to other brokers was written by its leader."""

    partition: TopicPartition


class LeadersAnswered(NamedTuple):
    """A broker answered a LeaderAndIsr."""

    broker_id: int
    response: LeaderAndIsrResponse


class ReplicasStopped(NamedTuple):
    """A broker answered a StopReplica that deletes.

    Attributes:
        deleted, failed: Those whose logs are gone, and those that it could not delete.
    """

    broker_id: int
    deleted: list[TopicPartition]
    failed: list[TopicPartition]


class UncleanAllowed(NamedTuple):
    """Replicas that are not in sync may lead from now on; `topic` None: everywhere."""

    topic: str | None


class Asked(NamedTuple):
    """Somebody asks for something that only the controller may do.

    Attributes:
        work: What is to be done; given the controller's term.
        answer: What comes of it.
        otherwise: The answer where this broker is not the controller (any more).
    """

    work: Callable[[Any], Awaitable[Any]]
    answer: Pending[Any]
    otherwise: Any


Event: TypeAlias = Signal | TopicSet | IsrSet | LeadersAnswered | ReplicasStopped | UncleanAllowed | Asked


class QueueEvent:
    """A watch that puts an event into the queue; equal ones are one watch, so setting it again adds none."""

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
