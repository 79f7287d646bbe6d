"""OffsetFetch (API key 9, v0-7): the committed offsets of a group.

Version 0 reads from the registry, all others read the group's committed offsets.

Source: protocol guide, OffsetFetch; semantics, group coordinator; KIP-447 (require stable).
"""

from collections.abc import Collection, Iterable

from barnabas.broker.groups.legacy_offsets import fetch_offsets
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import NO_EPOCH, NO_OFFSET, TopicPartition
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from barnabas.wire.security.authorizer import Operation, ResourceType

_VERSION_OF_THE_REGISTRY = 0
_FIRST_VERSION_WITH_GROUP_ERROR = 2


@in_slices
def offset_fetch(ctx: RequestContext, request: OffsetFetchRequest) -> Steps[OffsetFetchResponse]:
    """Return the committed offsets of the requested or all partitions of topics that may be described."""
    if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, request.group_id):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    wanted: Collection[TopicPartition] | None = None
    if request.topics is not None:
        # As in Kafka, a repeated partition is answered once.
        named: dict[TopicPartition, None] = {}
        for topic in request.topics:
            for index in topic.partition_indexes:
                named[TopicPartition(topic.name, index)] = None
                if ctx.is_large:
                    yield MORE
        wanted = named
    if ctx.api_version == _VERSION_OF_THE_REGISTRY:
        yield _fetch_from_registry(ctx, request, wanted or ())
        return
    groups = ctx.services.groups
    error_code, offsets = groups.fetch_offsets(request.group_id, None)
    if error_code is not ErrorCode.NONE:
        keys = wanted or ()
        yield shaped(ctx, lambda: _refusal(ctx, error_code, keys))
        return
    # The group may have offsets of topics that this principal may not see.
    is_all = wanted is None
    unstable = groups.unstable_partitions(request.group_id) if request.require_stable else frozenset()
    if wanted is None:
        wanted = list(offsets)
        ctx.is_large = len(offsets) > MOST_ELEMENTS_AT_ONCE
    if ctx.is_large:
        # A copy, so that all offsets are of the same moment.
        offsets = dict(offsets)
    topics: dict[str, OffsetFetchResponseTopic] = {}
    for key in wanted:
        committed = offsets.get(key)
        if not _may_describe(ctx, key.topic, is_all):
            if is_all:
                continue
            answer = _missing(key, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif key in unstable:
            answer = _missing(key, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        elif committed is None:
            answer = _missing(key, ErrorCode.NONE)
        else:
            answer = OffsetFetchResponsePartition(
                key.partition, committed.offset, committed.leader_epoch, committed.metadata, ErrorCode.NONE
            )
        _add(topics, key, answer)
        if ctx.is_large:
            yield MORE
    yield OffsetFetchResponse(topics=list(topics.values()))


def _may_describe(ctx: RequestContext, topic: str, is_all: bool) -> bool:
    """Return whether the principal may describe a topic; denials are logged only for topics named in the request."""
    if is_all:
        return ctx.may_unlogged(Operation.DESCRIBE, ResourceType.TOPIC, topic)
    return ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _fetch_from_registry(
    ctx: RequestContext, request: OffsetFetchRequest, wanted: Collection[TopicPartition]
) -> Pending[OffsetFetchResponse]:
    image = ctx.services.cluster.image

    async def fetch() -> OffsetFetchResponse:
        may_describe: dict[str, bool] = {}
        async for name in in_time_slices({key.topic for key in wanted}):
            may_describe[name] = ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
        known = [key for key in wanted if may_describe[key.topic] and image.partition(*key) is not None]
        found = await fetch_offsets(ctx.services.registry, request.group_id, known)
        topics: dict[str, OffsetFetchResponseTopic] = {}
        async for key in in_time_slices(wanted):
            offset = found.get(key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if not may_describe[key.topic]:
                offset = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            if isinstance(offset, ErrorCode):
                answer = _missing(key, offset)
            else:
                answer = OffsetFetchResponsePartition(key.partition, offset, NO_EPOCH, "", ErrorCode.NONE)
            _add(topics, key, answer)
        return OffsetFetchResponse(topics=list(topics.values()))

    return ctx.services.spawner.spawn(fetch())


def _refusal(ctx: RequestContext, error_code: ErrorCode, wanted: Iterable[TopicPartition]) -> OffsetFetchResponse:
    """Return the group's error; versions without a field for it repeat it for each partition."""
    if ctx.api_version >= _FIRST_VERSION_WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=error_code)
    topics: dict[str, OffsetFetchResponseTopic] = {}
    for key in wanted:
        _add(topics, key, _missing(key, error_code))
    return OffsetFetchResponse(topics=list(topics.values()))


def _missing(key: TopicPartition, error_code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(key.partition, NO_OFFSET, NO_EPOCH, "", error_code)


def _partitions(request: OffsetFetchRequest) -> Iterable[TopicPartition]:
    named = (TopicPartition(topic.name, index) for topic in request.topics or () for index in topic.partition_indexes)
    return dict.fromkeys(named)


def _add(
    topics: dict[str, OffsetFetchResponseTopic], key: TopicPartition, answer: OffsetFetchResponsePartition
) -> None:
    topic = topics.get(key.topic)
    if topic is None:
        topic = topics[key.topic] = OffsetFetchResponseTopic(key.topic)
    topic.partitions.append(answer)


def refuse(ctx: RequestContext, request: OffsetFetchRequest, error_code: ErrorCode) -> OffsetFetchResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refusal(ctx, error_code, _partitions(request))


HANDLER = Handler(OffsetFetchRequest, 0, 7, offset_fetch, refuse)
