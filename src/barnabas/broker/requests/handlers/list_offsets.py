"""ListOffsets (API key 2, v0-5): the earliest offset, the latest, or the first at or after a timestamp.

Version 0 knows segments only: it lists the base offsets of segments last changed before a timestamp.

Source: protocol guide, ListOffsets; semantics, ListOffsets.
"""

import logging
from functools import partial

from barnabas.broker.log.disk.cold_reads import Cached
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.disk_reads import answer_when_read
from barnabas.broker.requests.fanout import find, in_slices
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.security.authorizer import Operation, ResourceType

logger = logging.getLogger(__name__)

LATEST = -1
EARLIEST = -2
_FIRST_VERSION_WITH_LEADER_EPOCH = 4
_FIRST_VERSION_WITH_NOT_AVAILABLE = 5
_CONSUMER = -1
# Reads this broker's replica, whether leader or follower, and sees the same as a follower.
_DEBUGGER = -2
_READ_COMMITTED = 1
# Reads of the largest timestamps, a segment's indexes, the headers from an index entry on, the batch; and some spare.
_MOST_COLD_READS = 8


@in_slices
def list_offsets(ctx: RequestContext, request: ListOffsetsRequest) -> Steps[ListOffsetsResponse]:
    """Look up each partition's offset; a repeated partition is refused."""
    # differs from Kafka (list-offsets-twice): Kafka answers repetitions in version 0. Each would read the times of all
    # segments from the disk.
    named: set[tuple[str, int]] = set()
    named_twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        for wanted in topic.partitions:
            key = (topic.name, wanted.partition_index)
            if key in named:
                named_twice.add(key)
            named.add(key)
            if ctx.is_large:
                yield MORE
    topics = []
    for topic in request.topics:
        answers = []
        # Before any other error.
        may_describe = ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        if ctx.is_large:
            yield MORE
        for wanted in topic.partitions:
            if not may_describe:
                answers.append(_refusal(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            elif (topic.name, wanted.partition_index) in named_twice:
                answers.append(_refusal(wanted, ErrorCode.INVALID_REQUEST))
            else:
                attempt = partial(_list_offset, ctx, request, topic.name, wanted)
                answer = answer_when_read(ctx.services.cold_reads, attempt, _MOST_COLD_READS)
                if isinstance(answer, Pending):
                    yield Step(answer)
                    answer = answer.value
                answers.append(answer)
            if ctx.is_large:
                yield MORE
        topics.append(ListOffsetsTopicResponse(topic.name, answers))
    yield ListOffsetsResponse(topics=topics)


def _list_offset(
    ctx: RequestContext, request: ListOffsetsRequest, name: str, wanted: ListOffsetsPartition, cached: Cached | None
) -> ListOffsetsPartitionResponse:
    partition = find(ctx, name, wanted.partition_index)
    if isinstance(partition, ErrorCode):
        return _refusal(wanted, partition)
    error_code = partition.check_leader_epoch(wanted.current_leader_epoch, request.replica_id == _DEBUGGER)
    if error_code:
        return _refusal(wanted, error_code)
    log = partition.log
    if ctx.api_version == 0:
        try:
            return _list_segments(partition, request.replica_id, wanted, ctx.services.clock.now_ms())
        except StorageError as error:
            return _refusal(wanted, ctx.services.replicas.storage_failed(error).error_code)
    end_offset = log.log_end_offset
    if request.replica_id == _CONSUMER:
        is_committed = request.isolation_level == _READ_COMMITTED
        end_offset = partition.last_stable_offset if is_committed else partition.high_watermark
    is_settled = request.replica_id != _CONSUMER or partition.is_settled
    if wanted.timestamp == LATEST:
        if not is_settled:
            return _refusal(wanted, _not_available(ctx))
        return _found(ctx, wanted, -1, end_offset, partition.leader_epoch)
    if wanted.timestamp == EARLIEST:
        epoch = log.epoch_at(log.log_start_offset)
        return _found(ctx, wanted, -1, log.log_start_offset, epoch)
    if log.magic == 0:
        return _refusal(wanted, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    try:
        found = log.offset_for_timestamp(wanted.timestamp, cached)
    except StorageError as error:
        return _refusal(wanted, ctx.services.replicas.storage_failed(error).error_code)
    except CorruptRecordsError as error:
        logger.error("cannot search %s-%d: %s", name, wanted.partition_index, error)
        return _refusal(wanted, ErrorCode.CORRUPT_MESSAGE)
    if found is None or found[1] >= end_offset:
        if not is_settled:
            return _refusal(wanted, _not_available(ctx))
        return _found(ctx, wanted, -1, -1, -1)
    timestamp, offset, epoch = found
    return _found(ctx, wanted, timestamp, offset, epoch)


def _not_available(ctx: RequestContext) -> ErrorCode:
    """Return the error of a new leader that does not know the real high watermark yet."""
    if ctx.api_version < _FIRST_VERSION_WITH_NOT_AVAILABLE:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return ErrorCode.OFFSET_NOT_AVAILABLE


def _list_segments(
    partition: Partition, replica_id: int, wanted: ListOffsetsPartition, now_ms: int
) -> ListOffsetsPartitionResponse:
    """Return the offsets of version 0, descending; a consumer gets none above the high watermark."""
    log = partition.log
    known = log.segment_times(now_ms)
    if wanted.timestamp == EARLIEST:
        known = known[:1]
    elif wanted.timestamp != LATEST:
        # Drop segments from the end until one is old enough; earlier ones count, whatever their times.
        while known and known[-1][1] > wanted.timestamp:
            known.pop()
    offsets = [offset for offset, _ in reversed(known)][: max(wanted.max_num_offsets, 0)]
    offsets.sort(reverse=True)
    high_watermark = partition.high_watermark
    if replica_id == _CONSUMER and offsets and offsets[0] > high_watermark:
        offsets = [high_watermark, *(offset for offset in offsets if offset <= high_watermark)]
    return ListOffsetsPartitionResponse(wanted.partition_index, old_style_offsets=offsets)


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


def refuse(ctx: RequestContext, request: ListOffsetsRequest, error_code: ErrorCode) -> ListOffsetsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_refusal(each, error_code) for each in topic.partitions])
            for topic in request.topics
        ]
    )


HANDLER = Handler(ListOffsetsRequest, 0, 5, list_offsets, refuse)
