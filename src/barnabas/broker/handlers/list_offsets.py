"""ListOffsets (API key 2, v1-5): the earliest offset, the latest, or the first at or after a time.

Source: protocol guide, ListOffsets; semantics, ListOffsets.
"""

from collections import Counter

from barnabas.broker.context import RequestContext
from barnabas.broker.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST = -1
EARLIEST = -2
_FIRST_VERSION_WITH_LEADER_EPOCH = 4


def list_offsets(ctx: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Look each partition's offset up; a partition named twice is refused."""
    times_named = Counter(
        (topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions
    )
    topics = []
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            if times_named[topic.name, wanted.partition_index] > 1:
                answers.append(_refusal(wanted, ErrorCode.INVALID_REQUEST))
            else:
                answers.append(_list_offset(ctx, request, topic.name, wanted))
        topics.append(ListOffsetsTopicResponse(topic.name, answers))
    return ListOffsetsResponse(topics=topics)


def _list_offset(
    ctx: RequestContext, request: ListOffsetsRequest, name: str, wanted: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    partition = ctx.services.replicas.partition((name, wanted.partition_index))
    if partition is None:
        return _refusal(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error_code = partition.check_leader_epoch(wanted.current_leader_epoch)
    if error_code:
        return _refusal(wanted, error_code)
    log = partition.log
    is_consumer = request.replica_id == -1
    end_offset = partition.high_watermark if is_consumer else log.log_end_offset
    if wanted.timestamp == LATEST:
        return _found(ctx, wanted, -1, end_offset, partition.leader_epoch)
    if wanted.timestamp == EARLIEST:
        epoch = log.epoch_at(log.log_start_offset)
        return _found(ctx, wanted, -1, log.log_start_offset, epoch)
    found = log.offset_for_timestamp(wanted.timestamp)
    if found is None or found[1] >= end_offset:
        return _found(ctx, wanted, -1, -1, -1)
    timestamp, offset, epoch = found
    return _found(ctx, wanted, timestamp, offset, epoch)


def _found(
    ctx: RequestContext, wanted: ListOffsetsPartition, timestamp: int, offset: int, leader_epoch: int
) -> ListOffsetsPartitionResponse:
    if ctx.api_version < _FIRST_VERSION_WITH_LEADER_EPOCH:
        leader_epoch = -1
    return ListOffsetsPartitionResponse(
        wanted.partition_index, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )


def _refusal(wanted: ListOffsetsPartition, error_code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(wanted.partition_index, error_code)


HANDLER = Handler(ListOffsetsRequest, 1, 5, list_offsets)
