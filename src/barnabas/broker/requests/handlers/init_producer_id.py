"""InitProducerId (API key 22, v0-4): a producer id and epoch for an idempotent or transactional producer.

Source: protocol guide, InitProducerId; semantics, transactions; KIP-360, KIP-588 (PRODUCER_FENCED).
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.broker.transactions.events import Answer
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.quotas.entities import kept_name
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

FIRST_EPOCH = 0
_FIRST_VERSION_WITH_FENCED = 4


def init_producer_id(
    ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Pending[InitProducerIdResponse]:
    """Return a new producer id with epoch 0; with a transactional id, its producer id and next epoch."""
    transactional_id = request.transactional_id
    if transactional_id is not None:
        if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            return _refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif not ctx.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER):
        return _refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return _refuse(ErrorCode.INVALID_REQUEST)
    if transactional_id is not None:
        expected = None if request.producer_id == NO_PRODUCER_ID else (request.producer_id, request.producer_epoch)
        who = kept_name(ctx.client_id), f"/{ctx.connection.host}"
        begun = ctx.services.transactions.initialize(transactional_id, request.transaction_timeout_ms, expected, *who)
        return begun.shaped(lambda answer: _transactional(answer, ctx.api_version))
    producer_id = ctx.services.producer_ids.take()
    if producer_id is not None:
        return _give(producer_id)
    return ctx.services.spawner.spawn(_fetch(ctx), lambda _: _refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE))


async def _fetch(ctx: RequestContext) -> InitProducerIdResponse:
    return _give(await ctx.services.producer_ids.fetch())


def _transactional(answer: Answer, api_version: int) -> InitProducerIdResponse:
    error_code = answer.error_code
    if error_code is ErrorCode.NONE:
        return _give(answer.producer_id, answer.producer_epoch)
    is_old = api_version < _FIRST_VERSION_WITH_FENCED
    if error_code is ErrorCode.PRODUCER_FENCED and is_old:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return _refuse(error_code)


def _give(producer_id: int, producer_epoch: int = FIRST_EPOCH) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=producer_epoch)


def _refuse(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)


def refuse(ctx: RequestContext, request: InitProducerIdRequest, error_code: ErrorCode) -> InitProducerIdResponse:
    """Return the error response: the request failed as a whole."""
    return _refuse(error_code)


HANDLER = Handler(InitProducerIdRequest, 0, 4, init_producer_id, refuse)
