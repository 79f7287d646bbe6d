"""FindCoordinator (API key 10, v0-3): the broker that coordinates a group or a transactional id.

Source: protocol guide, FindCoordinator; semantics, FindCoordinator.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.security.authorizer import Operation, ResourceType

_GROUP = 0
_TRANSACTION = 1
_NO_NODE = -1

_MESSAGES = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
}


def find_coordinator(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Pending[FindCoordinatorResponse]:
    """Return the leader of the key's partition; create the topic if it does not exist."""
    services = ctx.services
    if request.key_type == _GROUP:
        topic = GROUP_OFFSETS_TOPIC
        if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, request.key):
            return _refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    elif request.key_type == _TRANSACTION:
        topic = TRANSACTION_STATE_TOPIC
        if not ctx.may(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, request.key):
            return _refusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    else:
        return _refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    if services.cluster.image.partition_count(topic):
        return _coordinator(ctx, topic, request.key)

    # As in Kafka, the client must retry, however soon the topic exists.
    not_available = _refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def create() -> FindCoordinatorResponse:
        await services.topics.create_internal(topic)
        return not_available

    return services.spawner.spawn(create(), lambda error: not_available)


def _coordinator(ctx: RequestContext, topic: str, key: str) -> FindCoordinatorResponse:
    services = ctx.services
    image = services.cluster.image
    coordinator = services.groups if topic == GROUP_OFFSETS_TOPIC else services.transactions
    state = image.partition(topic, coordinator.partition_for(key))
    broker = None if state is None else image.brokers.get(state.leader)
    endpoint = None if broker is None else broker.endpoints.get(ctx.connection.listener_name)
    if broker is None or endpoint is None:
        return _refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    host, port = endpoint
    return FindCoordinatorResponse(
        error_code=ErrorCode.NONE, error_message="NONE", node_id=broker.broker_id, host=host, port=port
    )


def _refusal(error_code: ErrorCode) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=error_code, error_message=_MESSAGES.get(error_code), node_id=_NO_NODE, host="", port=-1
    )


def refuse(ctx: RequestContext, request: FindCoordinatorRequest, error_code: ErrorCode) -> FindCoordinatorResponse:
    """Return the error response: the request failed as a whole."""
    return _refusal(error_code)


HANDLER = Handler(FindCoordinatorRequest, 0, 3, find_coordinator, refuse)
