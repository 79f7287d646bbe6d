"""Changes the states of replicas, and sends the resulting requests to brokers.

| to | request to the broker | and |
| --- | --- | --- |
| new | LeaderAndIsr, new | |
| online | LeaderAndIsr with the current state; none if it was new | |
| offline | StopReplica | it leaves the ISR; the other replicas get LeaderAndIsr |
| deletion started | StopReplica that deletes | |
| deletion successful, ineligible | | |
| not existent | | it is removed from the assignment in memory |

Source: replication.md, state machines; Kafka 2.7.2, ZkReplicaStateMachine.
"""

import logging
from collections.abc import Iterable, Sequence

from barnabas.broker.controller.context import PARTITIONS_PER_TURN, ControllerContext
from barnabas.broker.controller.leader_election import without_replica
from barnabas.broker.controller.partition_states import read_states, write_states
from barnabas.broker.controller.requests import RequestBatch
from barnabas.broker.controller.state import (
    REPLICA_BEFORE,
    ControllerState,
    Leadership,
    Moving,
    Replica,
    ReplicaPhase,
)
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.topics import PartitionStateNode

log = logging.getLogger(__name__)


async def change_replicas(
    context: ControllerContext, replicas: Iterable[Replica], phase: ReplicaPhase, stop_epoch: int | None = None
) -> None:
    """Change replicas to this state.

    Args:
        stop_epoch: The leader epoch for StopReplica requests that delete, instead of the known one.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    by_broker: dict[int, list[TopicPartition]] = {}
    async for replica in in_time_slices(replicas):
        before = context.state.replica_phase(replica)
        if before in REPLICA_BEFORE[phase]:
            by_broker.setdefault(replica.broker_id, []).append(replica.partition)
        else:
            log.error("replica %s cannot go from %s to %s", replica, before.value, phase.value)
    batch = context.new_batch()
    try:
        for broker_id in sorted(by_broker):
            await _change_on_broker(context, batch, broker_id, by_broker[broker_id], phase, stop_epoch)
    finally:
        # Send what was written, even if the rest failed.
        await context.send(batch)


async def _change_on_broker(
    context: ControllerContext,
    batch: RequestBatch,
    broker_id: int,
    partitions: Sequence[TopicPartition],
    phase: ReplicaPhase,
    stop_epoch: int | None,
) -> None:
    state = context.state
    if phase is ReplicaPhase.OFFLINE:
        for start in range(0, len(partitions), PARTITIONS_PER_TURN):
            await _take_offline(context, batch, broker_id, partitions[start : start + PARTITIONS_PER_TURN])
        return
    async for partition in in_time_slices(partitions):
        replica = Replica(partition, broker_id)
        match phase:
            case ReplicaPhase.NEW:
                leadership = state.leaders.get(partition)
                if leadership is not None and leadership.node.leader == broker_id:
                    log.error("replica %s cannot become new: it is the leader", replica)
                    continue
                batch.lead([broker_id], partition, is_new=True)
            case ReplicaPhase.ONLINE:
                if state.replica_phase(replica) is not ReplicaPhase.NEW:
                    batch.lead([broker_id], partition)
            case ReplicaPhase.DELETION_STARTED:
                batch.stop(broker_id, partition, True, stop_epoch)
            case ReplicaPhase.NON_EXISTENT:
                _unassign(state, replica)
        state.set_replica_phase(replica, phase)


async def _take_offline(
    context: ControllerContext, batch: RequestBatch, broker_id: int, partitions: Sequence[TopicPartition]
) -> None:
    state = context.state
    for partition in partitions:
        batch.stop(broker_id, partition, False)
    known = [partition for partition in partitions if partition in state.leaders]
    await read_states(context.registry, state, known)

    def decide(partition: TopicPartition, current: PartitionStateNode) -> PartitionStateNode | None:
        return without_replica(current, broker_id, state.epoch)

    written = set(await write_states(context, known, decide))
    for partition in partitions:
        leadership = state.leaders.get(partition)
        if leadership is None:
            batch.add_update_metadata(state.brokers, [partition])
        else:
            if partition not in written:
                # Requests from now on carry this controller's epoch.
                node = leadership.node
                taken = PartitionStateNode(node.leader, node.leader_epoch, node.isr, state.epoch)
                state.leaders[partition] = Leadership(taken, leadership.zk_version)
            if partition.topic not in state.deleting:
                batch.lead([each for each in state.replicas(partition) if each != broker_id], partition)
        state.set_replica_phase(Replica(partition, broker_id), ReplicaPhase.OFFLINE)


def _unassign(state: ControllerState, replica: Replica) -> None:
    here = state.moving(replica.partition)
    if here is not None:
        left = ([each for each in some if each != replica.broker_id] for some in here)
        state.assign(replica.partition, Moving(*left))
