"""Controlled shutdown: moves the leaderships of a stopping broker and removes it from the ISRs.

The broker stays marked as shutting down, and leads no partition, until its registration ends.

Source: replication.md, controlled shutdown; Kafka 2.7.2, KafkaController.doControlledShutdown.
"""

import logging

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.leader_election import Strategy
from barnabas.broker.controller.partition_states import bring_online
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import Replica, ReplicaPhase
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

log = logging.getLogger(__name__)

_NO_EPOCH = -1


async def controlled_shutdown(
    context: ControllerContext, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """Move a broker's leaderships to other brokers; the response lists the partitions that could not be moved.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    state, broker_id = context.state, request.broker_id
    broker = state.brokers.get(broker_id)
    if broker is None:
        is_old = request.broker_epoch == _NO_EPOCH
        return ControlledShutdownResponse(ErrorCode.BROKER_NOT_AVAILABLE if is_old else ErrorCode.UNKNOWN_SERVER_ERROR)
    if _NO_EPOCH != request.broker_epoch < broker.epoch:
        return ControlledShutdownResponse(ErrorCode.STALE_BROKER_EPOCH)
    log.info("broker %d begins a controlled shutdown", broker_id)
    state.shutting_down.add(broker_id)
    moved = [
        replica.partition
        for replica in state.replicas_on([broker_id])
        if len(state.replicas(replica.partition)) > 1
        and replica.partition in state.leaders
        and replica.partition.topic not in state.deleting
    ]
    led = [partition for partition in moved if state.leaders[partition].node.leader == broker_id]
    followed = [partition for partition in moved if state.leaders[partition].node.leader != broker_id]
    await bring_online(context, led, Strategy.CONTROLLED_SHUTDOWN)
    batch = context.new_batch()
    for partition in followed:
        batch.stop(broker_id, partition, False)
    await context.send(batch)
    await change_replicas(context, [Replica(partition, broker_id) for partition in followed], ReplicaPhase.OFFLINE)
    left = [
        RemainingPartition(*partition)
        for partition in moved
        if (leadership := state.leaders.get(partition)) is not None and leadership.node.leader == broker_id
    ]
    if left:
        log.warning("broker %d still leads %d partitions: no other replica can lead them", broker_id, len(left))
    return ControlledShutdownResponse(ErrorCode.NONE, left)
