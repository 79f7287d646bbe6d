"""OffsetCommit (API key 8, v0-8): store the committed offsets of a group.

Version 0 stores offsets in the registry, all others in `__consumer_offsets`.

Source: protocol guide, OffsetCommit; semantics, group coordinator; KIP-211 (retention time), KIP-345 (static members).
"""

from barnabas.broker.groups.events import Commit
from barnabas.broker.groups.group import CommittedOffset
from barnabas.broker.groups.legacy_offsets import commit_offsets
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.offset_commit_rules import OffsetsToCommit, sort_out
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import MOST_TIMESTAMP_MS, NO_TIMESTAMP, TopicPartition
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.security.authorizer import Operation, ResourceType

_VERSION_OF_THE_REGISTRY = 0
_DEFAULT_RETENTION = -1

_Offsets = OffsetsToCommit[OffsetCommitRequestPartition]


@in_slices
def offset_commit(ctx: RequestContext, request: OffsetCommitRequest) -> Steps[OffsetCommitResponse]:
    """Store the offsets of partitions that exist; each of the others gets its own error."""
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    offsets = yield from sort_out(ctx, request.topics)
    if ctx.api_version == _VERSION_OF_THE_REGISTRY:
        yield _commit_to_registry(ctx, request, offsets)
    elif not offsets.has_known_partition:
        yield shaped(ctx, lambda: _response(request, offsets, ErrorCode.NONE))
    else:
        yield from _commit_to_group(ctx, request, offsets)


def _commit_to_group(
    ctx: RequestContext, request: OffsetCommitRequest, sorted_out: _Offsets
) -> Steps[OffsetCommitResponse]:
    now_ms = ctx.services.clock.now_ms()
    expire_timestamp_ms = NO_TIMESTAMP
    if request.retention_time_ms != _DEFAULT_RETENTION:
        # differs from Kafka (retention-time-overflow): in Kafka this sum may overflow.
        expire_timestamp_ms = min(now_ms + request.retention_time_ms, MOST_TIMESTAMP_MS)
    offsets: dict[TopicPartition, CommittedOffset] = {}
    for key, partition in sorted_out.accepted.items():
        offsets[key] = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.committed_metadata or "",
            now_ms if partition.commit_timestamp == NO_TIMESTAMP else partition.commit_timestamp,
            expire_timestamp_ms,
        )
        if ctx.is_large:
            yield MORE
    event = Commit(request.member_id, request.generation_id, offsets, request.group_instance_id)

    committing = ctx.services.groups.commit(request.group_id, event)
    if ctx.is_large:
        yield Step(committing)
        yield shaped(ctx, lambda: _response(request, sorted_out, committing.value))
        return
    if committing.is_done:
        # hot path: scripts/bench --whole --only commits (the usual case: appended, without followers to wait for)
        yield _response(request, sorted_out, committing.value)
    else:
        yield committing.shaped(lambda error_code: _response(request, sorted_out, error_code))


def _commit_to_registry(
    ctx: RequestContext, request: OffsetCommitRequest, sorted_out: _Offsets
) -> Pending[OffsetCommitResponse]:
    async def commit() -> OffsetCommitResponse:
        offsets = {key: partition.committed_offset for key, partition in sorted_out.accepted.items()}
        sorted_out.errors |= await commit_offsets(ctx.services.registry, request.group_id, offsets)
        answer = shaped(ctx, lambda: _response(request, sorted_out, ErrorCode.NONE))
        return await answer.future() if isinstance(answer, Pending) else answer

    return ctx.services.spawner.spawn(
        commit(), lambda error: _response(request, sorted_out, ErrorCode.UNKNOWN_SERVER_ERROR)
    )


def _response(request: OffsetCommitRequest, offsets: _Offsets, error_code: ErrorCode) -> OffsetCommitResponse:
    """Return the answer for each partition of the request."""
    topics = []
    for topic in request.topics:
        indexes = [partition.partition_index for partition in topic.partitions]
        answers = [
            OffsetCommitResponsePartition(index, offsets.error_of(topic.name, index, error_code)) for index in indexes
        ]
        topics.append(OffsetCommitResponseTopic(topic.name, partitions=answers))
    return OffsetCommitResponse(topics=topics)


def refuse(ctx: RequestContext, request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _response(request, OffsetsToCommit(), error_code)


HANDLER = Handler(OffsetCommitRequest, 0, 8, offset_commit, refuse, goes_on=True)
