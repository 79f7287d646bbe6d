"""DeleteRecords (API key 21, v0-2): raise the log start offsets of partitions.

The log start moves at once; the next retention check deletes the segments below it. The answer waits for the low
watermark: the least log start of the live replicas.

Source: protocol guide, DeleteRecords; semantics, topics and partitions; KIP-107.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, resolve
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.wire.security.authorizer import Operation


@in_slices
def delete_records(ctx: RequestContext, request: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    """Raise each partition's log start; as in Kafka, the later offset counts if a partition is named twice."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        of_topic = offsets.setdefault(topic.name, {})
        for wanted in topic.partitions:
            of_topic[wanted.partition_index] = wanted.offset
            if ctx.is_large:
                yield MORE
    topics = []
    late: list[Pending[None]] = []
    for name, of_topic in offsets.items():
        results = []
        for index, offset in of_topic.items():
            low_watermark, error_code = _delete(ctx, name, index, offset)
            result = DeleteRecordsPartitionResult(index, low_watermark, error_code)
            results.append(result)
            if not error_code:
                _wait_for_followers(ctx, (name, index), result, request.timeout_ms, late)
            if ctx.is_large:
                yield MORE
        if results:
            topics.append(DeleteRecordsTopicResult(name, results))
    for each in late:
        if not each.is_done:
            yield Step(each)
    yield DeleteRecordsResponse(topics=topics)


def _delete(ctx: RequestContext, name: str, index: int, offset: int) -> tuple[int, ErrorCode]:
    """Delete records of a partition; return the low watermark (-1 with an error) and the error."""
    partition = resolve(ctx, Operation.DELETE, name, index)
    is_unknown = partition in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if name in INTERNAL_TOPICS and not is_unknown:
        return -1, ErrorCode.INVALID_TOPIC_EXCEPTION
    if isinstance(partition, ErrorCode):
        return -1, partition
    error_code = partition.delete_records(offset)
    return -1 if error_code else partition.log.log_start_offset, error_code


def _wait_for_followers(
    ctx: RequestContext,
    key: tuple[str, int],
    result: DeleteRecordsPartitionResult,
    timeout_ms: int,
    late: list[Pending[None]],
) -> None:
    """Make the answer wait until no live replica has the deleted records."""
    replicas = ctx.services.replicas
    partition = replicas.partition(key)
    if partition is None or partition.followers is None:
        return

    def deleted(low_watermark: int) -> None:
        result.low_watermark = low_watermark
        if low_watermark < 0:
            result.error_code = ErrorCode.REQUEST_TIMED_OUT

    late.append(
        replicas.leader_replicas.when_deleted(partition, partition.log.log_start_offset, timeout_ms).shaped(deleted)
    )


def refuse(ctx: RequestContext, request: DeleteRecordsRequest, error_code: ErrorCode) -> DeleteRecordsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [DeleteRecordsPartitionResult(each.partition_index, -1, error_code) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


HANDLER = Handler(DeleteRecordsRequest, 0, 2, delete_records, refuse, goes_on=True)
