"""Elections and reassignments on behalf of administrators.

The controller carries out both. An election request waits until this broker's image of the cluster shows the result.

Source: semantics, ElectLeaders, AlterPartitionReassignments.
"""

from collections.abc import Mapping, Sequence

from barnabas.broker.administration.metadata_propagation import wait_for_image
from barnabas.broker.cluster.image import ClusterImage, ClusterView
from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.events import Kind
from barnabas.broker.controller.leaders import Election, ElectionResult, elect_leaders
from barnabas.broker.controller.reassignment import ReassignmentResult, reassign
from barnabas.broker.controller.state import Moving
from barnabas.core.error_code import ErrorCode
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition

__all__ = ["Election", "ElectionResult", "LeadershipAdmin", "Moving", "ReassignmentResult"]


class LeadershipAdmin:
    """Elects leaders and reassigns partitions of the cluster."""

    def __init__(self, cluster: ClusterView, controller: Controller, timers: Timers) -> None:
        self._cluster = cluster
        self._controller = controller
        self._timers = timers

    @property
    def is_controller(self) -> bool:
        """Return whether this broker is the controller; only the controller elects and reassigns."""
        return self._controller.is_active

    async def elect(
        self, wanted: Sequence[TopicPartition], election: Election, timeout_ms: int
    ) -> dict[TopicPartition, ElectionResult]:
        """Elect leaders, and wait until they lead.

        Args:
            timeout_ms: The longest wait. Elections that take longer get REQUEST_TIMED_OUT, but are still carried out.
        """
        results = await self._controller.carry_out(
            Kind.MANUAL_LEADER_BALANCE, lambda context: elect_leaders(context, wanted, election)
        )
        if results is None:
            return dict.fromkeys(wanted, ElectionResult(ErrorCode.NOT_CONTROLLER))
        elected = {partition: each.leader for partition, each in results.items() if each.error_code == ErrorCode.NONE}

        def is_late(image: ClusterImage, partition: TopicPartition) -> bool:
            known = image.partition(*partition)
            return known is None or known.leader != elected[partition]

        def lead(image: ClusterImage) -> bool:
            return not any(is_late(image, partition) for partition in elected)

        if elected and not await wait_for_image(self._cluster, self._timers, lead, timeout_ms):
            for partition in elected:
                if is_late(self._cluster.image, partition):
                    results[partition] = ElectionResult(ErrorCode.REQUEST_TIMED_OUT)
        return results

    async def reassign(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ReassignmentResult] | None:
        """Start or cancel reassignments of partitions.

        Args:
            wanted: Partition to its new replicas; None cancels.

        Returns:
            The started operations, or errors; None: this broker is not the controller.
        """
        return await self._controller.carry_out(Kind.PARTITION_REASSIGNMENT, lambda context: reassign(context, wanted))

    async def reassignments(self) -> dict[TopicPartition, Moving] | None:
        """Return the partitions that are being reassigned; None: this broker is not the controller.

        The query is one of the controller's events: a reassignment completed before it is already in the registry.
        """

        async def read(context: ControllerContext) -> dict[TopicPartition, Moving]:
            return context.state.reassignments()

        return await self._controller.carry_out(Kind.LIST_REASSIGNMENTS, read)
