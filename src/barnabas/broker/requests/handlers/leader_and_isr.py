"""LeaderAndIsr (API key 4, v0-4): the controller sets which partitions this broker leads or follows.

Source: protocol guide, LeaderAndIsr; replication facts; KIP-380.
"""

from barnabas.broker.replicas.control_requests import refused_leaders
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def leader_and_isr(
    ctx: RequestContext, request: LeaderAndIsrRequest
) -> Pending[LeaderAndIsrResponse] | LeaderAndIsrResponse:
    """Become leader or follower as requested; answer when the logs of all partitions are open."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.control.leader_and_isr(request)


def refuse(ctx: RequestContext, request: LeaderAndIsrRequest, error_code: ErrorCode) -> LeaderAndIsrResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return refused_leaders(request, error_code)


HANDLER = Handler(LeaderAndIsrRequest, 0, 4, leader_and_isr, refuse, goes_on=True)
