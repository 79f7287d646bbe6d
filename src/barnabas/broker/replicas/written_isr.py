"""Changes of in-sync replicas that the leader writes itself: the partition's state, and a note to the controller.

Source: zookeeper.md, partition state, ISR change notifications; semantics, replication.
"""

from collections.abc import Callable

from barnabas.broker.replicas.isr_changes import IsrOutcome
from barnabas.core.clock import Clock
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.store import Registry


class WrittenIsr:
    """Writes partitions' states by their versions, and tells the controller some seconds later which changed."""

    def __init__(self, registry: Registry, clock: Clock, timers: Timers, spawner: Spawner) -> None:
        """Args:
        registry: One that tells of lost connections, or a patient one.
        """
        self.failed_count = 0

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
        """See `IsrChanges.propose`."""
        raise NotImplementedError

    def withdraw(self, key: TopicPartition) -> None:
        """See `IsrChanges.withdraw`."""
        raise NotImplementedError

    def close(self) -> None:
        """See `IsrChanges.close`."""
        raise NotImplementedError
