"""OffsetDelete (API key 47, v0): delete a group's committed offsets of topics that it does not read.

Source: protocol guide, OffsetDelete; semantics, group coordinator; KIP-496.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.wire.security.authorizer import Operation, ResourceType


@in_slices
def offset_delete(ctx: RequestContext, request: OffsetDeleteRequest) -> Steps[OffsetDeleteResponse]:
    """Delete the offsets of existing partitions, except for topics that members read."""
    if not ctx.may(Operation.DELETE, ResourceType.GROUP, request.group_id):
        yield refuse(ctx, request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return
    image = ctx.services.cluster.image
    errors: dict[TopicPartition, ErrorCode] = {}
    for topic in request.topics:
        may_read = ctx.may(Operation.READ, ResourceType.TOPIC, topic.name)
        if ctx.is_large:
            yield MORE
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            if not may_read:
                errors[key] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            else:
                is_known = image.partition(*key) is not None
                errors[key] = ErrorCode.NONE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if ctx.is_large:
                yield MORE
    known = [key for key, error_code in errors.items() if error_code is ErrorCode.NONE]
    groups = ctx.services.groups
    for start in range(0, max(len(known), 1), MOST_ELEMENTS_AT_ONCE):
        if start:
            yield MORE
        some = known[start : start + MOST_ELEMENTS_AT_ONCE]
        answer = groups.delete_offsets(request.group_id, some)
        if start and answer.error_code is ErrorCode.GROUP_ID_NOT_FOUND:
            # The group was deleted with the last of its offsets.
            break
        if not start and answer.error_code is not ErrorCode.NONE:
            yield OffsetDeleteResponse(error_code=answer.error_code)
            return
        for key in some:
            errors[key] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if key in answer.subscribed else answer.error_code
    yield shaped(ctx, lambda: _response(request, errors))


def _response(request: OffsetDeleteRequest, errors: dict[TopicPartition, ErrorCode]) -> OffsetDeleteResponse:
    topics = []
    for topic in request.topics:
        keys = [TopicPartition(topic.name, partition.partition_index) for partition in topic.partitions]
        answers = [OffsetDeleteResponsePartition(key.partition, errors[key]) for key in keys]
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))
    return OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=topics)


def refuse(ctx: RequestContext, request: OffsetDeleteRequest, error_code: ErrorCode) -> OffsetDeleteResponse:
    """Return the error response: the request failed as a whole."""
    return OffsetDeleteResponse(error_code=error_code)


HANDLER = Handler(OffsetDeleteRequest, 0, 0, offset_delete, refuse, goes_on=True)
