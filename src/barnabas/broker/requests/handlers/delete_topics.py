"""DeleteTopics (API key 20, v0-5): delete topics with their records.

Source: protocol guide, DeleteTopics; semantics, topics and partitions.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
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
        return _refuse_all(request, ErrorCode.NOT_CONTROLLER)
    if not ctx.services.config.delete_topic_enable:
        is_known_to_client = ctx.api_version >= 3
        return _refuse_all(
            request, ErrorCode.TOPIC_DELETION_DISABLED if is_known_to_client else ErrorCode.INVALID_REQUEST
        )
    return ctx.services.spawner.spawn(_delete(ctx, request))


async def _delete(ctx: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    denied = [
        name for name in dict.fromkeys(request.topic_names) if not ctx.may(Operation.DELETE, ResourceType.TOPIC, name)
    ]
    results = dict.fromkeys(denied, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    going = [name for name in request.topic_names if name not in results]
    quota = ctx.controller_quota(_FIRST_STRICT_VERSION)
    results.update(await ctx.services.topics.delete(going, request.timeout_ms, quota))
    ctx.throttle_by(quota)
    return DeleteTopicsResponse(
        # A topic that is named twice is answered twice.
        responses=[DeletableTopicResult(name, error_code=results[name]) for name in request.topic_names]
    )


def _refuse_all(request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name, error_code=error_code) for name in request.topic_names]
    )


def refuse(ctx: RequestContext, request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code)


HANDLER = Handler(DeleteTopicsRequest, 0, 5, delete_topics, refuse, first_strict_version=_FIRST_STRICT_VERSION)
