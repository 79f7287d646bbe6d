"""StopReplica (API key 5, v0-3): the controller says which partitions this broker hosts no longer.

Source: protocol guide, StopReplica; replication facts; KIP-380, KIP-570 (leader epochs).
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import NO_EPOCH
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def stop_replica(
    ctx: RequestContext, request: StopReplicaRequest
) -> Pending[StopReplicaResponse] | StopReplicaResponse:
    """Stop hosting partitions; answered when the logs that were to go are gone."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.control.stop_replica(_grouped(request))


def _grouped(request: StopReplicaRequest) -> StopReplicaRequest:
    """Return a request of v0-2 in the shape of later ones: whether logs go stands with each partition."""
    named = [(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]
    named += [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    if not named:
        return request
    topics: dict[str, StopReplicaTopicState] = {}
    for name, index in named:
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = StopReplicaTopicState(name)
        topic.partition_states.append(StopReplicaPartitionState(index, NO_EPOCH, request.delete_partitions))
    return StopReplicaRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
    )


def refuse(ctx: RequestContext, request: StopReplicaRequest, error_code: ErrorCode) -> StopReplicaResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return StopReplicaResponse(
        error_code,
        [
            StopReplicaPartitionError(topic.topic_name, state.partition_index, error_code)
            for topic in _grouped(request).topic_states
            for state in topic.partition_states
        ],
    )


HANDLER = Handler(StopReplicaRequest, 0, 3, stop_replica, refuse, goes_on=True)
