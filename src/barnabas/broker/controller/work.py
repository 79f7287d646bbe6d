"""What the controller is asked to do between two events, and what comes of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from barnabas.broker.controller.state import ControllerState
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.store import Registry

T = TypeVar("T")


@dataclass(slots=True)
class Outcome(Generic[T]):
    """What was done.

    Attributes:
        value: The answer to whoever asked.
        changed: Partitions of which the brokers must be told.
        removed: Brokers and partitions of which they are to drop their replicas.
    """

    value: T
    changed: Sequence[TopicPartition] = ()
    removed: Sequence[tuple[int, TopicPartition]] = field(default_factory=tuple)


Work: TypeAlias = Callable[[Registry, ControllerState], Awaitable[Outcome[T]]]


class Asked(NamedTuple):
    """Somebody asks for something that only the controller may do.

    Attributes:
        answer: The outcome's value; None: this broker is not the controller.
    """

    work: Work[Any]
    answer: Pending[Any]
