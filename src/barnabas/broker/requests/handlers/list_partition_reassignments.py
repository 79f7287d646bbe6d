"""ListPartitionReassignments (API key 46, v0): the partitions that are being reassigned.

Source: protocol guide, ListPartitionReassignments; semantics, topics and partitions; KIP-455.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def list_partition_reassignments(
    ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse | Pending[ListPartitionReassignmentsResponse]:
    """Return the requested partitions (null: all) that are being reassigned."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ListPartitionReassignmentsResponse(error_code=error_code, error_message=ctx.not_authorized())
    return ctx.services.spawner.spawn(_list(ctx, request))


async def _list(ctx: RequestContext, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    found = await ctx.services.leadership.reassignments()
    if found is None:
        return ListPartitionReassignmentsResponse(
            error_code=ErrorCode.NOT_CONTROLLER, error_message="This is not the correct controller for this cluster."
        )
    wanted = request.topics
    asked = None if wanted is None else {(topic.name, index) for topic in wanted for index in topic.partition_indexes}
    topics: dict[str, OngoingTopicReassignment] = {}
    for partition, each in found.items():
        if asked is None or partition in asked:
            topics.setdefault(partition.topic, OngoingTopicReassignment(partition.topic, [])).partitions.append(
                OngoingPartitionReassignment(partition.partition, each.replicas, each.adding, each.removing)
            )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))


def refuse(
    ctx: RequestContext, request: ListPartitionReassignmentsRequest, error_code: ErrorCode
) -> ListPartitionReassignmentsResponse:
    """Return the error response: the request failed as a whole."""
    return ListPartitionReassignmentsResponse(error_code=error_code)


HANDLER = Handler(ListPartitionReassignmentsRequest, 0, 0, list_partition_reassignments, refuse)
