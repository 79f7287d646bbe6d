"""StopReplica (API key 5, v0-3): the controller ends this broker's replicas of partitions.

Source: protocol guide, StopReplica; replication facts; KIP-380, KIP-570 (leader epochs).
"""

from barnabas.broker.replicas.legacy_control_requests import grouped_stops
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def stop_replica(
    ctx: RequestContext, request: StopReplicaRequest
) -> Pending[StopReplicaResponse] | StopReplicaResponse:
    """Stop hosting partitions; answer when the logs to delete are deleted."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.control.stop_replica(request)


def refuse(ctx: RequestContext, request: StopReplicaRequest, error_code: ErrorCode) -> StopReplicaResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return StopReplicaResponse(
        error_code,
        [
            StopReplicaPartitionError(topic.topic_name, state.partition_index, error_code)
            for topic in grouped_stops(request).topic_states
            for state in topic.partition_states
        ],
    )


HANDLER = Handler(StopReplicaRequest, 0, 3, stop_replica, refuse, goes_on=True)
