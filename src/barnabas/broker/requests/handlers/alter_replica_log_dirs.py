"""AlterReplicaLogDirs (API key 34, v0-1): move replicas to other directories of this broker.

Source: protocol guide, AlterReplicaLogDirs; semantics, topics and partitions; KIP-113.
"""

from collections.abc import Iterable, Mapping

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


@in_slices
def alter_replica_log_dirs(
    ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> Steps[AlterReplicaLogDirsResponse]:
    """Begin to move replicas, without waiting for the end; the later directory counts if a partition is repeated."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    results: dict[TopicPartition, ErrorCode] = {}
    wanted: dict[TopicPartition, str] = {}
    for each in request.dirs:
        for topic in each.topics:
            for index in topic.partitions:
                wanted[TopicPartition(topic.name, index)] = each.path
                if ctx.is_large:
                    yield MORE
    image = ctx.services.cluster.image
    for partition, path in wanted.items():
        is_known = image.partition(*partition) is not None
        results[partition] = ctx.services.log_dirs.assign_directory(partition, path, is_known)
        if ctx.is_large:
            yield MORE
    yield shaped(ctx, lambda: AlterReplicaLogDirsResponse(results=_by_topic(results)))


def _by_topic(results: Mapping[TopicPartition, ErrorCode]) -> list[AlterReplicaLogDirTopicResult]:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (name, index), error_code in results.items():
        topics.setdefault(name, AlterReplicaLogDirTopicResult(name, [])).partitions.append(
            AlterReplicaLogDirPartitionResult(index, error_code)
        )
    return list(topics.values())


def refuse(
    ctx: RequestContext, request: AlterReplicaLogDirsRequest, error_code: ErrorCode
) -> AlterReplicaLogDirsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    partitions: Iterable[TopicPartition] = (
        TopicPartition(topic.name, index)
        for each in request.dirs
        for topic in each.topics
        for index in topic.partitions
    )
    return AlterReplicaLogDirsResponse(results=_by_topic(dict.fromkeys(partitions, error_code)))


HANDLER = Handler(AlterReplicaLogDirsRequest, 0, 1, alter_replica_log_dirs, refuse, goes_on=True)
