"""OffsetCommit (API key 8, v0-6): store how far a group has read.

Version 0 keeps offsets in the registry, all others in `__consumer_offsets`.

Source: protocol guide, OffsetCommit; semantics, group coordinator; KIP-211 (retention time).
"""

from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import NO_TIMESTAMP, TopicPartition
from barnabas.groups.events import Commit
from barnabas.groups.group import CommittedOffset
from barnabas.groups.legacy_offsets import commit_offsets
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.requests.context import RequestContext
from barnabas.requests.fanout import in_slices
from barnabas.requests.slices import MORE, Step, Steps
from barnabas.requests.table import Handler

_VERSION_OF_THE_REGISTRY = 0
_DEFAULT_RETENTION = -1

_Errors = dict[TopicPartition, ErrorCode]


@in_slices
def offset_commit(ctx: RequestContext, request: OffsetCommitRequest) -> Steps[OffsetCommitResponse]:
    """Store the offsets of partitions that exist; each of the others gets its own error."""
    errors: _Errors = {}
    accepted: dict[TopicPartition, OffsetCommitRequestPartition] = {}
    max_length = ctx.services.config.offset_metadata_max_bytes
    has_known_partition = False
    for topic in request.topics:
        for partition in topic.partitions:
            if ctx.is_large:
                yield MORE
            key = TopicPartition(topic.name, partition.partition_index)
            if ctx.services.cluster.image.partition(*key) is None:
                errors[key] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            has_known_partition = True
            if _java_length(partition.committed_metadata or "") > max_length:
                errors[key] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                accepted[key] = partition
    if ctx.api_version == _VERSION_OF_THE_REGISTRY:
        yield _commit_to_registry(ctx, request, accepted, errors)
    elif not has_known_partition:
        yield _response(request, errors, ErrorCode.NONE)
    else:
        yield from _commit_to_group(ctx, request, accepted, errors)


def _commit_to_group(
    ctx: RequestContext,
    request: OffsetCommitRequest,
    accepted: dict[TopicPartition, OffsetCommitRequestPartition],
    errors: _Errors,
) -> Steps[OffsetCommitResponse]:
    now_ms = ctx.services.clock.now_ms()
    has_retention = request.retention_time_ms != _DEFAULT_RETENTION
    expire_timestamp_ms = now_ms + request.retention_time_ms if has_retention else NO_TIMESTAMP
    offsets: dict[TopicPartition, CommittedOffset] = {}
    for key, partition in accepted.items():
        offsets[key] = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.committed_metadata or "",
            now_ms if partition.commit_timestamp == NO_TIMESTAMP else partition.commit_timestamp,
            expire_timestamp_ms,
        )
        if ctx.is_large:
            yield MORE
    event = Commit(request.member_id, request.generation_id, offsets)

    committing = ctx.services.groups.commit(request.group_id, event)
    if ctx.is_large:
        yield Step(committing)
    yield committing.shaped(lambda error_code: _response(request, errors, error_code))


def _commit_to_registry(
    ctx: RequestContext,
    request: OffsetCommitRequest,
    accepted: dict[TopicPartition, OffsetCommitRequestPartition],
    errors: _Errors,
) -> Pending[OffsetCommitResponse]:
    async def commit() -> OffsetCommitResponse:
        offsets = {key: partition.committed_offset for key, partition in accepted.items()}
        stored = await commit_offsets(ctx.services.registry, request.group_id, offsets)
        return _response(request, errors | stored, ErrorCode.NONE)

    return ctx.services.spawner.spawn(
        commit(), lambda error: _response(request, errors, ErrorCode.UNKNOWN_SERVER_ERROR)
    )


def _response(request: OffsetCommitRequest, errors: _Errors, error_code: ErrorCode) -> OffsetCommitResponse:
    """The answer for each partition of the request.

    Args:
        errors: What is wrong with single partitions.
        error_code: What is wrong with the whole commit: it holds for every partition that exists.
    """
    topics = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            index = partition.partition_index
            own = errors.get(TopicPartition(topic.name, index), ErrorCode.NONE)
            is_unknown = own is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answers.append(OffsetCommitResponsePartition(index, own if is_unknown else error_code or own))
        topics.append(OffsetCommitResponseTopic(topic.name, partitions=answers))
    return OffsetCommitResponse(topics=topics)


def _java_length(text: str) -> int:
    """Java's length of a string: UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def refuse(ctx: RequestContext, request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return _response(request, {}, error_code)


HANDLER = Handler(OffsetCommitRequest, 0, 6, offset_commit, refuse, goes_on=True)
