"""DescribeClientQuotas (API key 48, v0): the quotas of users and client ids.

Source: protocol guide, DescribeClientQuotas; KIP-546; semantics, ClientQuotas.
"""

from barnabas.broker.administration.client_quotas import ClientQuotaAdmin, Component, parts_of
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import MOST_ELEMENTS_AT_ONCE
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def describe_client_quotas(
    ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse | Pending[DescribeClientQuotasResponse]:
    """Return the quotas that match the filter."""
    if not ctx.may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.spawner.spawn(_describe(ctx, request))


async def _describe(ctx: RequestContext, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    # Made one by one, because an invalid filter ends with its first superfluous component.
    components = (Component(each.entity_type, each.match_type, each.match) for each in request.components)
    try:
        found = await ClientQuotaAdmin(ctx.services.registry).describe(components, request.strict)
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    if len(found) > MOST_ELEMENTS_AT_ONCE:
        # The request is small, but its answer is large.
        ctx.is_large = True
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            EntryData(
                [EntityData(entity_type, name) for entity_type, name in parts_of(entity)],
                [ValueData(key, value) for key, value in limits.items()],
            )
            for entity, limits in found
        ],
    )


def refuse(
    ctx: RequestContext, request: DescribeClientQuotasRequest, error_code: ErrorCode
) -> DescribeClientQuotasResponse:
    """Return the error response: the request failed as a whole."""
    return DescribeClientQuotasResponse(error_code=error_code, error_message=None, entries=None)


HANDLER = Handler(DescribeClientQuotasRequest, 0, 0, describe_client_quotas, refuse)
