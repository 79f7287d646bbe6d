"""From a partition that a request names to the one that this broker leads; the refusals that stand before any other.

Source: semantics, requests about partitions (authorisation, unknown partitions, leaders elsewhere, offline disks).
"""

from barnabas.core.error_code import ErrorCode
from barnabas.replicas.partition import Partition
from barnabas.requests.context import RequestContext
from barnabas.security.authorizer import Operation, ResourceType


def resolve(ctx: RequestContext, operation: Operation, topic: str, index: int) -> Partition | ErrorCode:
    """The partition, or why who asks can't have it: not authorised, unknown, led by another broker, disk offline."""
    # hot path: benchmarks/load (every partition of every produce and fetch request)
    services = ctx.services
    if not services.authorizer.allows_everything and not ctx.may(operation, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partition = services.replicas.partition((topic, index))
    return services.absence_of((topic, index)) if partition is None else partition
