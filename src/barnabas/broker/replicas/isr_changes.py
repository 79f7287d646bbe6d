"""A change of a partition's ISR, from its proposal to its outcome.

There are two implementations, chosen by inter.broker.protocol.version: from 2.7-IV2 the controller writes the change
(`alter_isr_manager`), before that the leader writes it and notifies the controller (`registry_isr_changes`).

Invariants:

- At most one change of a partition is pending; one that is withdrawn or replaced never calls back.
- A change is given up only if the partition's state forbids it: then another leader epoch follows.

Source: semantics, replication; KIP-497.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition


class Committed(NamedTuple):
    """The partition's state after the change.

    Attributes:
        zk_version: The version of its node.
    """

    isr: tuple[int, ...]
    zk_version: int


class Refused(NamedTuple):
    """The partition has another state than its leader believes; a new leader epoch brings it.

    The change stays pending until then: it may have been written before its answer was lost.
    """

    error_code: ErrorCode


IsrOutcome: TypeAlias = Committed | Refused


class IsrChanges(Protocol):
    """The interface for ISR changes. Owned by the event loop.

    Attributes:
        failed_count: How often a change of a partition failed, those tried again included (FailedIsrUpdatesPerSec).
    """

    failed_count: int

    def propose(
        self,
        key: TopicPartition,
        leader: int,
        leader_epoch: int,
        isr: tuple[int, ...],
        zk_version: int,
        controller_epoch: int,
        then: Callable[[IsrOutcome], object],
    ) -> None:
        """Propose a change, and call `then` later, once, with its outcome.

        Args:
            key: The partition; its pending change is replaced.
            leader: This broker.
            leader_epoch: Its own of the partition.
            isr: The new in-sync replicas, in their order.
            zk_version: The version of the partition's state that this one follows.
            controller_epoch: Of the controller that made this broker the leader.
        """
        ...

    def withdraw(self, key: TopicPartition) -> None:
        """Forget the change of a partition: another leader epoch began, or it is no longer hosted."""
        ...

    def close(self) -> None:
        """Forget all."""
        ...
