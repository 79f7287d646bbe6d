"""The interface for ISR changes, from their proposal to their outcome.

inter.broker.protocol.version selects one of two implementations. From 2.7-IV2 the controller writes the change
(`alter_isr_manager`); below that the leader writes it and notifies the controller (`registry_isr_changes`).

Invariants:

- At most one change of a partition is pending. A withdrawn or replaced change never calls back.
- A change is retried unless the partition's state forbids it; in that case another leader epoch follows.

Source: semantics, replication; KIP-497.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition


class Committed(NamedTuple):
    """The partition's state after the change.

    Attributes:
        zk_version: The version of its znode.
    """

    isr: tuple[int, ...]
    zk_version: int


class Refused(NamedTuple):
    """The partition's state differs from the leader's; the controller sends it with a new leader epoch.

    The change is pending until then: it may have been written before its response was lost.
    """

    error_code: ErrorCode


IsrOutcome: TypeAlias = Committed | Refused


class IsrChanges(Protocol):
    """The interface for ISR changes. Owned by the event loop.

    Attributes:
        failed_count: Number of failed changes of a partition, including retried ones (FailedIsrUpdatesPerSec).
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
            leader_epoch: This broker's leader epoch of the partition.
            isr: The new in-sync replicas, in their order.
            zk_version: The version of the partition's state that the change replaces.
            controller_epoch: The epoch of the controller that made this broker the leader.
        """
        ...

    def withdraw(self, key: TopicPartition) -> None:
        """Drop the change of a partition: another leader epoch began, or it is no longer hosted."""
        ...

    def close(self) -> None:
        """Drop all changes."""
        ...
