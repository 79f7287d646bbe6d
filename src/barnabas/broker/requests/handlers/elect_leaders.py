"""ElectLeaders (API key 43, v0-2): elect preferred leaders, or any live replicas.

Source: protocol guide, ElectLeaders; semantics, topics and partitions; KIP-183, KIP-460.
"""

from collections.abc import Iterable, Mapping

from barnabas.broker.administration.leadership import Election, ElectionResult
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_ELECTIONS = {election.value: election for election in Election}
# differs from Kafka (election-of-all): Kafka also returns partitions that are being deleted.
# A request for all partitions omits those that need no election, and those deleted since the list was made.
_OMITTED_ERRORS = (
    ErrorCode.ELECTION_NOT_NEEDED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
)


def elect_leaders(
    ctx: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse | Pending[ElectLeadersResponse]:
    """Elect leaders for the named partitions, or for all."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        # As in Kafka, which has no better error for it.
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.UNKNOWN_SERVER_ERROR))
    if not ctx.services.leadership.is_controller:
        results = dict.fromkeys(_wanted(ctx, request), ElectionResult(ErrorCode.NOT_CONTROLLER))
        return ElectLeadersResponse(replica_election_results=_by_topic(results))
    return ctx.services.spawner.spawn(_elect(ctx, request, election))


async def _elect(ctx: RequestContext, request: ElectLeadersRequest, election: Election) -> ElectLeadersResponse:
    wanted = list(_wanted(ctx, request))
    results = await ctx.services.leadership.elect(wanted, election, request.timeout_ms)
    if request.topic_partitions is None:
        results = {
            partition: result for partition, result in results.items() if result.error_code not in _OMITTED_ERRORS
        }
    topics: dict[str, ReplicaElectionResult] = {}
    async for partition, result in in_time_slices(results.items()):
        _add(topics, partition, result)
    return ElectLeadersResponse(replica_election_results=list(topics.values()))


def _wanted(ctx: RequestContext, request: ElectLeadersRequest) -> Iterable[TopicPartition]:
    """Return the partitions that the request names (null: all), each once."""
    if request.topic_partitions is None:
        topics = ctx.services.cluster.image.topics
        return [TopicPartition(name, index) for name, partitions in topics.items() for index in partitions]
    named = request.topic_partitions
    return dict.fromkeys(TopicPartition(topic.topic, index) for topic in named for index in topic.partitions)


def _by_topic(results: Mapping[TopicPartition, ElectionResult]) -> list[ReplicaElectionResult]:
    topics: dict[str, ReplicaElectionResult] = {}
    for partition, result in results.items():
        _add(topics, partition, result)
    return list(topics.values())


def _add(topics: dict[str, ReplicaElectionResult], partition: TopicPartition, result: ElectionResult) -> None:
    topic = partition.topic
    topics.setdefault(topic, ReplicaElectionResult(topic, [])).partition_result.append(
        PartitionResult(partition.partition, result.error_code, result.message)
    )


def refuse(ctx: RequestContext, request: ElectLeadersRequest, error_code: ErrorCode) -> ElectLeadersResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    results = dict.fromkeys(
        (TopicPartition(topic.topic, index) for topic in request.topic_partitions or () for index in topic.partitions),
        ElectionResult(error_code),
    )
    has_error_of_all = ctx.api_version >= 1
    return ElectLeadersResponse(
        error_code=error_code if has_error_of_all else ErrorCode.NONE, replica_election_results=_by_topic(results)
    )


HANDLER = Handler(ElectLeadersRequest, 0, 2, elect_leaders, refuse)
