"""CreatePartitions (API key 37, v0-3): add partitions to topics.

Source: protocol guide, CreatePartitions; semantics, topics and partitions; KIP-195.
"""

from collections import Counter

from barnabas.broker.administration.partitions import MorePartitions
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.wire.security.authorizer import Operation, ResourceType

_MOST_MESSAGE_CHARACTERS = 1_000
# Earlier versions are not refused above the quota, only throttled.
_FIRST_STRICT_VERSION = 3


def create_partitions(
    ctx: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse | Pending[CreatePartitionsResponse]:
    """Add partitions; each topic has its own result."""
    if not ctx.services.topics.is_controller:
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.NOT_CONTROLLER))
    return ctx.services.spawner.spawn(_create(ctx, request))


async def _create(ctx: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    times_named = Counter(topic.name for topic in request.topics)
    wanted: list[MorePartitions] = []
    denied: list[str] = []
    async for topic in in_time_slices(request.topics):
        if times_named[topic.name] > 1:
            continue
        if ctx.may(Operation.ALTER, ResourceType.TOPIC, topic.name):
            wanted.append(_wanted(topic))
        else:
            denied.append(topic.name)
    quota = ctx.controller_quota(_FIRST_STRICT_VERSION)
    results = await ctx.services.partitions.add(wanted, request.timeout_ms, request.validate_only, quota)
    ctx.throttle_by(quota)
    answers = [
        # Shortened: it may repeat a name that is as long as the protocol's longest string.
        CreatePartitionsTopicResult(
            each.name, each.error_code, each.message and each.message[:_MOST_MESSAGE_CHARACTERS]
        )
        async for each in in_time_slices(results)
    ]
    answers += [
        CreatePartitionsTopicResult(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed.")
        async for name in in_time_slices(denied)
    ]
    # As in Kafka, duplicates are answered once each, after the others.
    answers += [
        CreatePartitionsTopicResult(name, ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
        for name, count in times_named.items()
        if count > 1
    ]
    return CreatePartitionsResponse(results=answers)


def _wanted(topic: CreatePartitionsTopic) -> MorePartitions:
    assignments = None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    return MorePartitions(topic.name, topic.count, assignments)


def refuse(ctx: RequestContext, request: CreatePartitionsRequest, error_code: ErrorCode) -> CreatePartitionsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(topic.name, error_code) for topic in request.topics]
    )


HANDLER = Handler(CreatePartitionsRequest, 0, 3, create_partitions, refuse, first_strict_version=_FIRST_STRICT_VERSION)
