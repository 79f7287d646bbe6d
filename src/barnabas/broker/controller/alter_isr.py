"""Writes the in-sync replicas that leaders propose.

Kafka checks only the epochs and the version of the state. Here a proposal must also be consistent, as proposals of
Kafka's brokers always are: it comes from the leader, includes the leader, and names only brokers that have a replica.

Source: replication.md, AlterIsr; KIP-497.
"""

import logging
from collections.abc import Callable, Sequence

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.partition_states import read_states
from barnabas.broker.controller.reassignment import complete_reassignments
from barnabas.broker.controller.state import ControllerState, Leadership
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
    AlterIsrResponseTopicData,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import BadVersionError, NoNodeError, Op, RegistryError, SetOp, Stat
from barnabas.wire.registry.znodes.topics import PartitionStateNode, encode_partition_state

log = logging.getLogger(__name__)


async def alter_isr(
    context: ControllerContext, request: AlterIsrRequest, answer: Callable[[AlterIsrResponse], object]
) -> None:
    """Write the ISR that a leader proposes, and send it to all brokers.

    Args:
        answer: Called once all brokers have been sent the ISR; steps of reassignments follow afterwards.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    state = context.state
    broker = state.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        answer(AlterIsrResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        return
    asked = {
        TopicPartition(topic.name, each.partition_index): each for topic in request.topics for each in topic.partitions
    }
    errors: dict[TopicPartition, ErrorCode] = {}
    nodes: dict[TopicPartition, PartitionStateNode] = {}
    ops: dict[TopicPartition, list[Op]] = {}
    for partition, each in asked.items():
        leadership = state.leaders.get(partition)
        error = _refusal(state, partition, leadership, request.broker_id, each)
        if error != ErrorCode.NONE:
            errors[partition] = error
            continue
        node = PartitionStateNode(
            request.broker_id, each.leader_epoch, _living(state, partition, each.new_isr), state.epoch
        )
        if leadership is not None and not _is_known(leadership, node):
            nodes[partition] = node
            ops[partition] = [
                SetOp(paths.partition_state(*partition), encode_partition_state(node), each.current_isr_version)
            ]
    for partition, result in (await context.write_each(ops)).items():
        if isinstance(result, RegistryError):
            errors[partition] = _error_of(result)
        else:
            (stat,) = result
            assert isinstance(stat, Stat)
            state.leaders[partition] = Leadership(nodes[partition], stat.version)
    refused = [partition for partition in asked if errors.get(partition) == ErrorCode.INVALID_UPDATE_VERSION]
    await read_states(context.registry, state, refused)
    known = [partition for partition in asked if partition in state.leaders]
    await context.send_update_metadata(None, known)
    answer(_response(state, asked, errors))
    await complete_reassignments(context, [partition for partition in asked if partition not in errors])


def _refusal(
    state: ControllerState,
    partition: TopicPartition,
    leadership: Leadership | None,
    broker_id: int,
    asked: AlterIsrRequestPartitionData,
) -> ErrorCode:
    if leadership is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.leader_epoch < leadership.node.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    # differs from Kafka (isr-proposals): Kafka checks none of this.
    is_sound = (
        leadership.node.leader == broker_id
        and asked.leader_epoch == leadership.node.leader_epoch
        and broker_id in asked.new_isr
        and len(set(asked.new_isr)) == len(asked.new_isr)
        and set(asked.new_isr) <= set(state.replicas(partition))
    )
    if not is_sound:
        log.warning("broker %d proposed an invalid ISR for %s: %s", broker_id, partition, asked.new_isr)
    return ErrorCode.NONE if is_sound else ErrorCode.INVALID_REQUEST


def _living(state: ControllerState, partition: TopicPartition, isr: Sequence[int]) -> tuple[int, ...]:
    """Return the members of a proposed ISR that were in sync before, or may lead.

    The leader uses the ISR of the answer. It continues without the others, and proposes them again when they are back.
    """
    # differs from Kafka (stopping-replicas): Kafka accepts a broker that is stopping or gone, if the leader handles
    # that broker's last fetch only then (KIP-841).
    known = state.leaders[partition].node.isr
    return tuple(replica for replica in isr if replica in known or state.is_online(replica, partition))


def _is_known(leadership: Leadership, node: PartitionStateNode) -> bool:
    known = leadership.node
    return (known.leader, known.leader_epoch, known.isr) == (node.leader, node.leader_epoch, node.isr)


def _error_of(error: RegistryError) -> ErrorCode:
    if isinstance(error, BadVersionError):
        return ErrorCode.INVALID_UPDATE_VERSION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if isinstance(error, NoNodeError) else ErrorCode.UNKNOWN_SERVER_ERROR


def _response(
    state: ControllerState,
    asked: dict[TopicPartition, AlterIsrRequestPartitionData],
    errors: dict[TopicPartition, ErrorCode],
) -> AlterIsrResponse:
    topics: dict[str, AlterIsrResponseTopicData] = {}
    for partition in asked:
        topic = topics.setdefault(partition.topic, AlterIsrResponseTopicData(partition.topic))
        error, leadership = errors.get(partition), state.leaders.get(partition)
        if error is not None or leadership is None:
            code = error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            topic.partitions.append(AlterIsrResponsePartitionData(partition.partition, code))
        else:
            node = leadership.node
            topic.partitions.append(
                AlterIsrResponsePartitionData(
                    partition.partition,
                    ErrorCode.NONE,
                    node.leader,
                    node.leader_epoch,
                    list(node.isr),
                    leadership.zk_version,
                )
            )
    return AlterIsrResponse(topics=list(topics.values()))
