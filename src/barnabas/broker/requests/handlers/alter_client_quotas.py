"""AlterClientQuotas (API key 49, v0): set and remove quotas of users and client ids.

Source: protocol guide, AlterClientQuotas; KIP-546; semantics, ClientQuotas.
"""

import asyncio

from barnabas.broker.administration.client_quotas import Alteration, ClientQuotaAdmin, entity_of
from barnabas.broker.requests.config_resources import config_admin
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

# Entries that are checked and written before the event loop runs other work; they share a commit.
_ENTRIES_PER_TURN = 50


def alter_client_quotas(
    ctx: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse | Pending[AlterClientQuotasResponse]:
    """Alter each entity; the answer is sent when this broker has applied the changes."""
    if not ctx.may(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER):
        return shaped(ctx, lambda: refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    return ctx.services.spawner.spawn(_alter(ctx, request))


async def _alter(ctx: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    admin = ClientQuotaAdmin(ctx.services.registry)

    async def result_of(entry: AlterClientQuotasRequestEntryData) -> tuple[ErrorCode, str | None]:
        try:
            entity = entity_of((each.entity_type, each.entity_name) for each in entry.entity)
            alterations = [Alteration(each.key, None if each.remove else each.value) for each in entry.ops]
            await admin.alter(entity, alterations, request.validate_only)
        except KafkaError as error:
            return error.code, error.message
        return ErrorCode.NONE, None

    answers = []
    for start in range(0, len(request.entries), _ENTRIES_PER_TURN):
        some = request.entries[start : start + _ENTRIES_PER_TURN]
        results = await asyncio.gather(*map(result_of, some))
        answers += [_answer(entry, *result) for entry, result in zip(some, results, strict=True)]
        await asyncio.sleep(0)
    if not request.validate_only:
        await config_admin(ctx).settle()
    return AlterClientQuotasResponse(entries=answers)


def _answer(
    entry: AlterClientQuotasRequestEntryData, error_code: ErrorCode, message: str | None
) -> AlterClientQuotasResponseEntryData:
    entity = [EntityData(each.entity_type, each.entity_name) for each in entry.entity]
    return AlterClientQuotasResponseEntryData(error_code, message and message[:1_000], entity)


def refuse(ctx: RequestContext, request: AlterClientQuotasRequest, error_code: ErrorCode) -> AlterClientQuotasResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return AlterClientQuotasResponse(entries=[_answer(entry, error_code, None) for entry in request.entries])


HANDLER = Handler(AlterClientQuotasRequest, 0, 0, alter_client_quotas, refuse, goes_on=True)
