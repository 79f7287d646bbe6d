"""EndTxn (API key 26, v0-2): commit or abort a transaction.

Source: protocol guide, EndTxn; semantics, transactions; KIP-588 (PRODUCER_FENCED).
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.transactions.events import End
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.quotas.entities import kept_name
from barnabas.wire.security.authorizer import Operation, ResourceType

_FIRST_VERSION_WITH_FENCED = 2


def end_txn(ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Pending[EndTxnResponse]:
    """Commit or abort the transaction."""
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id):
        return refuse(ctx, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    who = kept_name(ctx.client_id), f"/{ctx.connection.host}"
    event = End(request.producer_id, request.producer_epoch, request.committed, *who)
    return ctx.services.transactions.end(request.transactional_id, event).shaped(
        lambda answer: refuse(ctx, request, translate(answer.error_code, ctx.api_version))
    )


def translate(error_code: ErrorCode, api_version: int) -> ErrorCode:
    """Return an error code that the client's version of EndTxn, AddPartitionsToTxn or AddOffsetsToTxn knows."""
    if error_code is ErrorCode.PRODUCER_FENCED and api_version < _FIRST_VERSION_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error_code


def refuse(ctx: RequestContext, request: EndTxnRequest, error_code: ErrorCode) -> EndTxnResponse:
    """Return the answer with this code, which may be NONE."""
    return EndTxnResponse(error_code=error_code)


HANDLER = Handler(EndTxnRequest, 0, 2, end_txn, refuse)
