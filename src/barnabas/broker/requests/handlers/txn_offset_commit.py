"""TxnOffsetCommit (API key 28, v0-3): store offsets of a group that take effect when a transaction is committed.

Source: protocol guide, TxnOffsetCommit; semantics, transactions; KIP-98, KIP-447 (the member's id and generation).
"""

from barnabas.broker.groups.events import TxnCommit
from barnabas.broker.groups.group import CommittedOffset
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.offset_commit_rules import OffsetsToCommit, sort_out
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from barnabas.wire.security.authorizer import Operation, ResourceType

_FIRST_VERSION_WITH_LOADING = 2

_Offsets = OffsetsToCommit[TxnOffsetCommitRequestPartition]


@in_slices
def txn_offset_commit(ctx: RequestContext, request: TxnOffsetCommitRequest) -> Steps[TxnOffsetCommitResponse]:
    """Store the offsets of partitions that exist in the producer's transaction; the others get their own errors."""
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return
    sorted_out = yield from sort_out(ctx, request.topics)
    if not sorted_out.has_known_partition:
        yield shaped(ctx, lambda: _response(ctx, request, sorted_out, ErrorCode.NONE))
        return
    now_ms = ctx.services.clock.now_ms()
    offsets: dict[TopicPartition, CommittedOffset] = {}
    for key, partition in sorted_out.accepted.items():
        offsets[key] = CommittedOffset(
            partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or "", now_ms
        )
        if ctx.is_large:
            yield MORE
    event = TxnCommit(
        request.producer_id,
        request.producer_epoch,
        request.member_id,
        request.generation_id,
        offsets,
        request.group_instance_id,
    )
    committing = ctx.services.groups.txn_commit(request.group_id, event)
    if ctx.is_large:
        yield Step(committing)
        yield shaped(ctx, lambda: _response(ctx, request, sorted_out, committing.value))
        return
    yield committing.shaped(lambda error_code: _response(ctx, request, sorted_out, error_code))


def _response(
    ctx: RequestContext, request: TxnOffsetCommitRequest, offsets: _Offsets, error_code: ErrorCode
) -> TxnOffsetCommitResponse:
    """Return the answer for each partition of the request."""
    if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and ctx.api_version < _FIRST_VERSION_WITH_LOADING:
        # The other code is fatal to producers of that time (KAFKA-7296).
        error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    topics = []
    for topic in request.topics:
        indexes = [partition.partition_index for partition in topic.partitions]
        answers = [
            TxnOffsetCommitResponsePartition(index, offsets.error_of(topic.name, index, error_code))
            for index in indexes
        ]
        topics.append(TxnOffsetCommitResponseTopic(topic.name, answers))
    return TxnOffsetCommitResponse(topics=topics)


def refuse(ctx: RequestContext, request: TxnOffsetCommitRequest, error_code: ErrorCode) -> TxnOffsetCommitResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _response(ctx, request, OffsetsToCommit(), error_code)


HANDLER = Handler(TxnOffsetCommitRequest, 0, 3, txn_offset_commit, refuse, goes_on=True)
