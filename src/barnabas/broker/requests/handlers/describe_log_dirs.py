"""DescribeLogDirs (API key 35, v0-2): the replicas in each log directory of this broker, and their sizes.

Source: protocol guide, DescribeLogDirs; semantics, topics and partitions; KIP-113.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


@in_slices
def describe_log_dirs(ctx: RequestContext, request: DescribeLogDirsRequest) -> Steps[DescribeLogDirsResponse]:
    """Return each directory with all its topics, and of these only the requested partitions (null: all)."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        yield DescribeLogDirsResponse()
        return
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    log_dirs = ctx.services.log_dirs
    if ctx.services.replicas.partition_count > MOST_ELEMENTS_AT_ONCE:
        ctx.is_large = True
    topics: dict[str, dict[str, DescribeLogDirsTopic]] = {}
    for path, replica in log_dirs.replicas():
        (name, index), size_bytes, lag, is_future = replica
        topic = topics.setdefault(path, {}).setdefault(name, DescribeLogDirsTopic(name, []))
        if wanted is None or replica.topic_partition in wanted:
            topic.partitions.append(DescribeLogDirsPartition(index, size_bytes, lag, is_future))
        if ctx.is_large:
            yield MORE
    yield DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(ErrorCode.NONE, path, list(topics.get(path, {}).values()))
            if is_online
            else DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path, [])
            for path, is_online in log_dirs.directories()
        ]
    )


def refuse(ctx: RequestContext, request: DescribeLogDirsRequest, error_code: ErrorCode) -> DescribeLogDirsResponse:
    """Return an answer without directories, as in Kafka: it has no field for an error of the whole request."""
    return DescribeLogDirsResponse()


HANDLER = Handler(DescribeLogDirsRequest, 0, 2, describe_log_dirs, refuse)
