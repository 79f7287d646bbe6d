"""What the controller handles, one after the other, and the watches that tell of it."""

import asyncio
from enum import Enum
from typing import NamedTuple, TypeAlias

from barnabas.broker.controller.work import Asked
from barnabas.wire.registry.store import WatchEvent


class Signal(Enum):
    """Something that the registry's watches tell; what it is now, the handler reads."""

    CONTROLLER_CHANGED = "/controller came, went or was set"
    BROKERS_CHANGED = "a broker came or went"
    BROKER_SET = "a broker wrote its registration again: its endpoints changed"
    TOPICS_CHANGED = "a topic came or went"
    DELETIONS_CHANGED = "somebody asks for a topic to be deleted"
    ELECTION_ASKED = "an old tool asks for preferred leaders to be elected"
    REASSIGNMENT_ASKED = "an old tool asks for partitions to be reassigned"


class ReplicasDeleted(NamedTuple):
    """All replicas of a topic are gone."""

    topic: str


class TopicSet(NamedTuple):
    """A topic's node was written: it may have more partitions."""

    topic: str


Event: TypeAlias = Signal | ReplicasDeleted | TopicSet | Asked


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
