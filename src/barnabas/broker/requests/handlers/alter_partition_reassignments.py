"""AlterPartitionReassignments (API key 45, v0): reassign partitions to other brokers, or cancel reassignments.

Source: protocol guide, AlterPartitionReassignments; semantics, topics and partitions; KIP-455.
"""

from barnabas.broker.administration.leadership import ReassignmentResult
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_MOST_MESSAGE_CHARACTERS = 1_000


def alter_partition_reassignments(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse | Pending[AlterPartitionReassignmentsResponse]:
    """Begin or cancel reassignments; the answer does not wait for their end."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        message = ctx.not_authorized()
        return shaped(ctx, lambda: _refuse_all(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, message))
    return ctx.services.spawner.spawn(_alter(ctx, request))


async def _alter(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    # As in Kafka, the later replicas count if a partition is named twice.
    wanted = {
        TopicPartition(topic.name, each.partition_index): each.replicas
        for topic in request.topics
        for each in topic.partitions
    }
    results = await ctx.services.leadership.reassign(wanted)
    if results is None:
        return AlterPartitionReassignmentsResponse(
            error_code=ErrorCode.NOT_CONTROLLER, error_message="This is not the correct controller for this cluster."
        )
    topics: dict[str, ReassignableTopicResponse] = {}
    for (topic, index), result in results.items():
        topics.setdefault(topic, ReassignableTopicResponse(topic, [])).partitions.append(_shape(index, result))
    return AlterPartitionReassignmentsResponse(responses=list(topics.values()))


def _shape(index: int, result: ReassignmentResult) -> ReassignablePartitionResponse:
    message = None if result.message is None else result.message[:_MOST_MESSAGE_CHARACTERS]
    return ReassignablePartitionResponse(index, result.error_code, message)


def _refuse_all(
    request: AlterPartitionReassignmentsRequest, error_code: ErrorCode, message: str | None = None
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error_code,
        error_message="" if message is None else message,
        responses=[
            ReassignableTopicResponse(
                topic.name,
                [ReassignablePartitionResponse(each.partition_index, error_code, message) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def refuse(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest, error_code: ErrorCode
) -> AlterPartitionReassignmentsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code)


HANDLER = Handler(AlterPartitionReassignmentsRequest, 0, 0, alter_partition_reassignments, refuse)
