"""OffsetForLeaderEpoch (API key 23, v0-3): the end offset of an epoch in this leader's log.

A client compares it with its own position, to detect that records it has read were lost in a change of leaders.

Source: protocol guide, OffsetForLeaderEpoch; KIP-101, KIP-320; semantics, OffsetForLeaderEpoch.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import find, in_slices
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


@in_slices
def offset_for_leader_epoch(
    ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> Steps[OffsetForLeaderEpochResponse]:
    """Look up each partition's epoch; as in Kafka, the last entry of a repeated partition counts."""
    named: dict[str, dict[int, OffsetForLeaderPartition]] = {}
    for topic in request.topics:
        of_topic = named.setdefault(topic.topic, {})
        if ctx.is_large:
            yield MORE
        for wanted in topic.partitions:
            of_topic[wanted.partition] = wanted
            if ctx.is_large:
                yield MORE
    # Brokers send this request, too. Not logged, because consumers do not request this right.
    is_broker = ctx.may_unlogged(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER)
    topics = []
    for name, of_topic in named.items():
        answers = []
        may_describe = is_broker or ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
        if ctx.is_large:
            yield MORE
        for wanted in of_topic.values():
            answers.append(
                _look_up(ctx, name, wanted)
                if may_describe
                else EpochEndOffset(ErrorCode.TOPIC_AUTHORIZATION_FAILED, wanted.partition)
            )
            if ctx.is_large:
                yield MORE
        topics.append(OffsetForLeaderTopicResult(name, answers))
    yield OffsetForLeaderEpochResponse(topics=topics)


def _look_up(ctx: RequestContext, name: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = find(ctx, name, wanted.partition)
    if isinstance(partition, ErrorCode):
        return EpochEndOffset(partition, wanted.partition)
    error_code = partition.check_leader_epoch(wanted.current_leader_epoch)
    if error_code:
        return EpochEndOffset(error_code, wanted.partition)
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(ErrorCode.NONE, wanted.partition, epoch, end_offset)


def refuse(
    ctx: RequestContext, request: OffsetForLeaderEpochRequest, error_code: ErrorCode
) -> OffsetForLeaderEpochResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [EpochEndOffset(error_code, each.partition) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


HANDLER = Handler(OffsetForLeaderEpochRequest, 0, 3, offset_for_leader_epoch, refuse)
