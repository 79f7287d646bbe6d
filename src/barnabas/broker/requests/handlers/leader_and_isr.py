"""LeaderAndIsr (API key 4, v0-4): the controller says which partitions this broker leads, and whom it follows.

Source: protocol guide, LeaderAndIsr; replication facts; KIP-380.
"""

from barnabas.broker.replicas.control import refused_leaders
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def leader_and_isr(
    ctx: RequestContext, request: LeaderAndIsrRequest
) -> Pending[LeaderAndIsrResponse] | LeaderAndIsrResponse:
    """Lead and follow as it says; answered when the logs of all its partitions are open."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.control.leader_and_isr(_grouped(request))


def _grouped(request: LeaderAndIsrRequest) -> LeaderAndIsrRequest:
    """Return a request of v0-1 in the shape of later ones, by topic; a later one as it is."""
    if not request.ungrouped_partition_states:
        return request
    topics: dict[str, LeaderAndIsrTopicState] = {}
    for each in request.ungrouped_partition_states:
        topic = topics.get(each.topic_name)
        if topic is None:
            topic = topics[each.topic_name] = LeaderAndIsrTopicState(each.topic_name)
        topic.partition_states.append(
            LeaderAndIsrPartitionState2(
                each.partition_index,
                each.controller_epoch,
                each.leader,
                each.leader_epoch,
                each.isr,
                each.zk_version,
                each.replicas,
                is_new=each.is_new,
            )
        )
    return LeaderAndIsrRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
        live_leaders=request.live_leaders,
    )


def refuse(ctx: RequestContext, request: LeaderAndIsrRequest, error_code: ErrorCode) -> LeaderAndIsrResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return refused_leaders(_grouped(request), error_code)


HANDLER = Handler(LeaderAndIsrRequest, 0, 4, leader_and_isr, refuse, goes_on=True)
