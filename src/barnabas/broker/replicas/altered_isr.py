"""Changes of in-sync replicas by AlterIsr: the controller writes them.

Source: protocol guide, AlterIsr; KIP-497; semantics, replication.
"""

from collections.abc import Callable

from barnabas.broker.replicas.isr_changes import IsrOutcome
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse


class AlteredIsr:
    """Asks the controller, one request at a time, each with all that was gathered."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        send: Callable[[AlterIsrRequest], Pending[AlterIsrResponse]],
        timers: Timers,
    ) -> None:
        """Args:
        broker_epoch: Of this broker's registration, asked for each request.
        send: Sends a request to the controller that is known at that moment; it fails where none is known, the
            connection is lost, or no answer comes within controller.socket.timeout.ms.
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

    def controller_changed(self) -> None:
        """Another controller, or another epoch of it, is known: what the one before did not answer is asked anew."""
        raise NotImplementedError

    def withdraw(self, key: TopicPartition) -> None:
        """See `IsrChanges.withdraw`."""
        raise NotImplementedError

    def close(self) -> None:
        """See `IsrChanges.close`."""
        raise NotImplementedError
