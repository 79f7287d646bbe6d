"""AlterIsr (API key 56, v0): a leader proposes ISRs, which the controller writes.

Source: protocol guide, AlterIsr; replication facts; KIP-497.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def alter_isr(ctx: RequestContext, request: AlterIsrRequest) -> Pending[AlterIsrResponse] | AlterIsrResponse:
    """Write the proposed ISRs; answer when they have been sent to all brokers."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller = ctx.services.controller
    if controller is None:
        return refuse(ctx, request, ErrorCode.NOT_CONTROLLER)
    return controller.alter_isr(request)


def refuse(ctx: RequestContext, request: AlterIsrRequest, error_code: ErrorCode) -> AlterIsrResponse:
    """Return the error response: the request failed as a whole."""
    return AlterIsrResponse(ctx.throttle_time_ms, error_code)


HANDLER = Handler(AlterIsrRequest, 0, 0, alter_isr, refuse, goes_on=True)
