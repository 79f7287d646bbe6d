"""IncrementalAlterConfigs (API key 44, v0-1): set, delete, append to or subtract from some settings; others are
unchanged.

Source: protocol guide, IncrementalAlterConfigs; semantics, configs; KIP-339, KIP-412.
"""

from barnabas.broker.administration.config_rules import ConfigChange
from barnabas.broker.administration.configs import ConfigResource
from barnabas.broker.requests.config_resources import alter_all, config_admin, type_of
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def incremental_alter_configs(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> Pending[IncrementalAlterConfigsResponse]:
    """Change some settings of each resource; each has its own result."""
    return ctx.services.spawner.spawn(_change(ctx, request))


async def _change(ctx: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    admin = config_admin(ctx)
    try:
        # As in Kafka, the last changes count if a resource is named twice.
        changes = {
            ConfigResource(type_of(each.resource_type), each.resource_name): [
                ConfigChange(config.name, config.config_operation, config.value) for config in each.configs
            ]
            async for each in in_time_slices(request.resources)
        }
    except KafkaError as error:
        return _refuse_all(request, error.code, error.message)

    async def change(resource: ConfigResource) -> None:
        await admin.change(resource, changes[resource], request.validate_only)

    results = await alter_all(ctx, list(changes), change)
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code, message, resource.type, resource.name)
            async for resource, (error_code, message) in in_time_slices(results.items())
        ]
    )


def _refuse_all(
    request: IncrementalAlterConfigsRequest, error_code: ErrorCode, message: str | None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code, message, each.resource_type, each.resource_name)
            for each in request.resources
        ]
    )


def refuse(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest, error_code: ErrorCode
) -> IncrementalAlterConfigsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code, None)


HANDLER = Handler(IncrementalAlterConfigsRequest, 0, 1, incremental_alter_configs, refuse)
