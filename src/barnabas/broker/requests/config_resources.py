"""Shared by AlterConfigs and IncrementalAlterConfigs: resource types, authorization, many resources in one request.

Source: semantics, configs; Kafka 2.7.2, KafkaApis.handleAlterConfigsRequest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from barnabas.broker.administration.configs import ConfigAdmin, ConfigResource, ConfigResourceType
from barnabas.broker.requests.context import RequestContext
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

# Resources that are checked and written before the event loop runs other work; they share a commit.
_RESOURCES_PER_TURN = 50


def config_admin(ctx: RequestContext) -> ConfigAdmin:
    """Return the administration of settings."""
    admin = ctx.services.configs
    assert admin is not None
    return admin


def type_of(code: int) -> ConfigResourceType:
    """Decode a resource type.

    Raises:
        KafkaError: INVALID_REQUEST, which fails all resources of the request.
    """
    try:
        return ConfigResourceType(code)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN") from None


async def alter_all(
    ctx: RequestContext, resources: Sequence[ConfigResource], alter: Callable[[ConfigResource], Awaitable[None]]
) -> dict[ConfigResource, tuple[ErrorCode, str | None]]:
    """Alter resources, some at a time, and wait until this broker has applied the changes.

    Args:
        alter: Alters one resource; raises KafkaError if that fails.

    Returns:
        The error code and message of each resource.
    """

    async def result_of(resource: ConfigResource) -> tuple[ErrorCode, str | None]:
        denied = _denied(ctx, resource)
        if denied is not None:
            return denied, None
        try:
            await alter(resource)
        except KafkaError as error:
            # As in Kafka, an unexpected error has no message.
            return error.code, None if error.code is ErrorCode.UNKNOWN_SERVER_ERROR else error.message
        return ErrorCode.NONE, None

    results: dict[ConfigResource, tuple[ErrorCode, str | None]] = {}
    for start in range(0, len(resources), _RESOURCES_PER_TURN):
        some = resources[start : start + _RESOURCES_PER_TURN]
        results.update(zip(some, await asyncio.gather(*map(result_of, some)), strict=True))
        await asyncio.sleep(0)
    await config_admin(ctx).settle()
    return results


def _denied(ctx: RequestContext, resource: ConfigResource) -> ErrorCode | None:
    if resource.type is ConfigResourceType.TOPIC:
        if not ctx.may(Operation.ALTER_CONFIGS, ResourceType.TOPIC, resource.name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif not ctx.may(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None
