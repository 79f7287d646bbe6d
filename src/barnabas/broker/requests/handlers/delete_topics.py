"""DeleteTopics (API key 20, v0-5): delete topics with their records.

Source: protocol guide, DeleteTopics; semantics, topics and partitions.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from barnabas.wire.security.authorizer import Operation, ResourceType

# Earlier versions are not refused above the quota, only throttled.
_FIRST_STRICT_VERSION = 5


def delete_topics(
    ctx: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Pending[DeleteTopicsResponse]:
    """Delete existing topics; the answer is sent when this broker's metadata no longer has them."""
    if not ctx.services.topics.is_controller:
        return shaped(ctx, lambda: _refuse_all(request, ErrorCode.NOT_CONTROLLER))
    if not ctx.services.config.delete_topic_enable:
        is_known_to_client = ctx.api_version >= 3
        error_code = ErrorCode.TOPIC_DELETION_DISABLED if is_known_to_client else ErrorCode.INVALID_REQUEST
        return shaped(ctx, lambda: _refuse_all(request, error_code))
    return ctx.services.spawner.spawn(_delete(ctx, request))


async def _delete(ctx: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    results: dict[str, ErrorCode] = {}
    going = []
    async for name in in_time_slices(dict.fromkeys(request.topic_names)):
        if ctx.may(Operation.DELETE, ResourceType.TOPIC, name):
            going.append(name)
        else:
            results[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    quota = ctx.controller_quota(_FIRST_STRICT_VERSION)
    results.update(await ctx.services.topics.delete(going, request.timeout_ms, quota))
    ctx.throttle_by(quota)
    return DeleteTopicsResponse(
        # A topic that is named twice is answered twice.
        responses=[
            DeletableTopicResult(name, error_code=results[name]) async for name in in_time_slices(request.topic_names)
        ]
    )


def _refuse_all(request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name, error_code=error_code) for name in request.topic_names]
    )


def refuse(ctx: RequestContext, request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code)


HANDLER = Handler(DeleteTopicsRequest, 0, 5, delete_topics, refuse, first_strict_version=_FIRST_STRICT_VERSION)
