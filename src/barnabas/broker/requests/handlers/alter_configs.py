"""AlterConfigs (API key 33, v0-1): replace the settings of topics, this broker or all brokers.

Source: protocol guide, AlterConfigs; semantics, configs.
"""

from barnabas.broker.administration.configs import ConfigResource, ConfigResourceType
from barnabas.broker.requests.config_resources import alter_all, config_admin, type_of
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def alter_configs(ctx: RequestContext, request: AlterConfigsRequest) -> Pending[AlterConfigsResponse]:
    """Replace the settings of each resource; each has its own result."""
    return ctx.services.spawner.spawn(_alter(ctx, request))


async def _alter(ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    admin = config_admin(ctx)
    try:
        resources = await _checked(request)
    except KafkaError as error:
        return _refuse_all(request, error.code, error.message)

    async def alter(resource: ConfigResource) -> None:
        overrides = {each.name: each.value for each in resources[resource].configs if each.value is not None}
        await admin.replace(resource, overrides, request.validate_only)

    results = await alter_all(ctx, list(resources), alter)
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code, message, resource.type, resource.name)
            async for resource, (error_code, message) in in_time_slices(results.items())
        ]
    )


async def _checked(request: AlterConfigsRequest) -> dict[ConfigResource, AlterConfigsResource]:
    """Return the changes for each resource. Raises KafkaError if the whole request is invalid."""
    resources: dict[ConfigResource, AlterConfigsResource] = {}
    async for each in in_time_slices(request.resources):
        if any(config.value is None for config in each.configs):
            # Kafka intends INVALID_REQUEST, but fails before that with this error.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        resource = ConfigResource(type_of(each.resource_type), each.resource_name)
        if resource.type is ConfigResourceType.BROKER_LOGGER:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER",
            )
        if resource in resources:
            # differs from Kafka (alter-configs-twice): Kafka never answers.
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"the request names {resource} twice")
        resources[resource] = each
    return resources


def _refuse_all(request: AlterConfigsRequest, error_code: ErrorCode, message: str | None) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code,
                None if error_code is ErrorCode.UNKNOWN_SERVER_ERROR else message,
                each.resource_type,
                each.resource_name,
            )
            for each in request.resources
        ]
    )


def refuse(ctx: RequestContext, request: AlterConfigsRequest, error_code: ErrorCode) -> AlterConfigsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code, None)


HANDLER = Handler(AlterConfigsRequest, 0, 1, alter_configs, refuse)
