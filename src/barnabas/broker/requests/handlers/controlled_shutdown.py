"""ControlledShutdown (API key 7, v0-3): move the leaderships of a broker that is about to stop.

Source: protocol guide, ControlledShutdown; replication facts.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def controlled_shutdown(
    ctx: RequestContext, request: ControlledShutdownRequest
) -> Pending[ControlledShutdownResponse] | ControlledShutdownResponse:
    """Move a broker's leaderships to others; the answer names those that remain."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller = ctx.services.controller
    if controller is None:
        return refuse(ctx, request, ErrorCode.STALE_CONTROLLER_EPOCH)
    return controller.controlled_shutdown(request)


def refuse(
    ctx: RequestContext, request: ControlledShutdownRequest, error_code: ErrorCode
) -> ControlledShutdownResponse:
    """Return the error response: the request failed as a whole."""
    return ControlledShutdownResponse(error_code)


HANDLER = Handler(ControlledShutdownRequest, 0, 3, controlled_shutdown, refuse, goes_on=True)
