"""DeleteRecords (API key 21, v0-2): let partitions begin at a later offset.

The log start moves at once; segments below it go with the next retention check. This broker being the only replica, its
log start is the low watermark that the answer waits for.

Source: protocol guide, DeleteRecords; semantics, topics and partitions; KIP-107.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, resolve
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.wire.security.authorizer import Operation


@in_slices
def delete_records(ctx: RequestContext, request: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    """Move each partition's log start; of one that is named twice the later offset counts, as in Kafka."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        of_topic = offsets.setdefault(topic.name, {})
        for wanted in topic.partitions:
            of_topic[wanted.partition_index] = wanted.offset
            if ctx.is_large:
                yield MORE
    topics = []
    for name, of_topic in offsets.items():
        results = []
        for index, offset in of_topic.items():
            results.append(DeleteRecordsPartitionResult(index, *_delete(ctx, name, index, offset)))
            if ctx.is_large:
                yield MORE
        if results:
            topics.append(DeleteRecordsTopicResult(name, results))
    yield DeleteRecordsResponse(topics=topics)


def _delete(ctx: RequestContext, name: str, index: int, offset: int) -> tuple[int, ErrorCode]:
    """The low watermark, -1 with an error, and the error."""
    partition = resolve(ctx, Operation.DELETE, name, index)
    if isinstance(partition, ErrorCode):
        return -1, partition
    if name in INTERNAL_TOPICS:
        return -1, ErrorCode.INVALID_TOPIC_EXCEPTION
    error_code = partition.delete_records(offset)
    return -1 if error_code else partition.log.log_start_offset, error_code


def refuse(ctx: RequestContext, request: DeleteRecordsRequest, error_code: ErrorCode) -> DeleteRecordsResponse:
    """The same answer for all that was asked: the request failed as a whole."""
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
