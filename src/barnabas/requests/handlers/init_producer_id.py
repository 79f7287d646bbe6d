"""InitProducerId (API key 22, v0-4): an identity for an idempotent producer.

Source: protocol guide, InitProducerId; semantics, transactions.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.requests.context import RequestContext
from barnabas.requests.table import Handler

FIRST_EPOCH = 0


def init_producer_id(
    ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Pending[InitProducerIdResponse]:
    """Give a new producer id with epoch 0."""
    if request.transactional_id is not None:
        # differs from Kafka (transactional-producer-id): transactions do not exist yet. Clients take this error as
        # final and say so.
        return _refuse(ErrorCode.INVALID_REQUEST)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refuse(ErrorCode.INVALID_REQUEST)
    producer_id = ctx.services.producer_ids.take()
    if producer_id is not None:
        return _give(producer_id)
    return ctx.services.spawner.spawn(_fetch(ctx), lambda _: _refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE))


async def _fetch(ctx: RequestContext) -> InitProducerIdResponse:
    return _give(await ctx.services.producer_ids.fetch())


def _give(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=FIRST_EPOCH)


def _refuse(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=-1, producer_epoch=-1)


def refuse(ctx: RequestContext, request: InitProducerIdRequest, error_code: ErrorCode) -> InitProducerIdResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    return _refuse(error_code)


HANDLER = Handler(InitProducerIdRequest, 0, 4, init_producer_id, refuse)
