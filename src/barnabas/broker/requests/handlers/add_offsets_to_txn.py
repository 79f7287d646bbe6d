"""AddOffsetsToTxn (API key 25, v0-2): add a group to a transaction that will commit its offsets.

Source: protocol guide, AddOffsetsToTxn; semantics, transactions.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.handlers.end_txn import translate
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from barnabas.wire.security.authorizer import Operation, ResourceType


def add_offsets_to_txn(
    ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Pending[AddOffsetsToTxnResponse]:
    """Add the group's partition of `__consumer_offsets` to the transaction."""
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id):
        return refuse(ctx, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return refuse(ctx, request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    partition = TopicPartition(GROUP_OFFSETS_TOPIC, ctx.services.groups.partition_for(request.group_id))
    return ctx.services.transactions.add_partitions(
        request.transactional_id, request.producer_id, request.producer_epoch, frozenset((partition,))
    ).shaped(lambda answer: refuse(ctx, request, translate(answer.error_code, ctx.api_version)))


def refuse(ctx: RequestContext, request: AddOffsetsToTxnRequest, error_code: ErrorCode) -> AddOffsetsToTxnResponse:
    """Return the answer with this code, which may be NONE."""
    return AddOffsetsToTxnResponse(error_code=error_code)


HANDLER = Handler(AddOffsetsToTxnRequest, 0, 2, add_offsets_to_txn, refuse)
