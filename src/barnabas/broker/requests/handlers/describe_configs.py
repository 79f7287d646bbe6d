"""DescribeConfigs (API key 32, v0-3): the settings of topics and of this broker, with their sources.

Source: protocol guide, DescribeConfigs; semantics, configs.
"""

import asyncio
from collections.abc import Callable, Sequence

from barnabas.broker.administration import broker_loggers
from barnabas.broker.administration.configs import ConfigResourceType
from barnabas.broker.administration.topic_rules import check_name
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.config import TopicConfig
from barnabas.core.config.describe import ConfigEntry, describe_broker, describe_broker_defaults, describe_topic
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_RESOURCES_PER_TURN = 20
_LOGGER_SOURCE = 6


def describe_configs(
    ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Pending[DescribeConfigsResponse]:
    """Describe each resource; one that cannot be described has its own error."""
    # differs from Kafka (describe-configs-twice): a repeated resource is answered once. An answer is far larger than
    # its request, and this bounds it by the settings that exist.
    resources = list(
        {
            (each.resource_type, each.resource_name, tuple(each.configuration_keys or ())): each
            for each in request.resources
        }.values()
    )
    unread = [
        each.resource_name
        for each in resources
        if each.resource_type == ConfigResourceType.TOPIC and _is_unread(ctx, each.resource_name)
    ]
    if not unread and len(resources) <= _RESOURCES_PER_TURN:
        return DescribeConfigsResponse(results=[_describe(ctx, request, resource) for resource in resources])
    return ctx.services.spawner.spawn(_describe_later(ctx, request, resources, unread))


def _is_unread(ctx: RequestContext, topic: str) -> bool:
    """Return whether this broker has not read a topic's settings: it has no replica, and no change was announced."""
    cluster = ctx.services.cluster
    return topic in cluster.image.topics and not cluster.has_topic_overrides(topic)


async def _describe_later(
    ctx: RequestContext,
    request: DescribeConfigsRequest,
    resources: list[DescribeConfigsResource],
    unread: list[str],
) -> DescribeConfigsResponse:
    """Describe some resources at a time, so that other requests need not wait for a very large one."""
    if unread and ctx.services.configs is not None:
        await ctx.services.configs.load_topics(unread)
    results = []
    for number, resource in enumerate(resources, 1):
        results.append(_describe(ctx, request, resource))
        if number % _RESOURCES_PER_TURN == 0:
            await asyncio.sleep(0)
    return DescribeConfigsResponse(results=results)


def _describe(
    ctx: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=""
    )
    try:
        result.configs = _find(ctx, request, resource)
    except KafkaError as error:
        result.error_code = error.code
        result.error_message = error.message
        if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            # As in Kafka, without a message.
            result.error_message = ""
        elif error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
            result.error_message = None
    return result


def _find(
    ctx: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> list[DescribeConfigsResourceResult]:
    name, keys = resource.resource_name, resource.configuration_keys
    if resource.resource_type == ConfigResourceType.TOPIC:
        if not ctx.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        check_name(name)
        return _shape_all(request, describe_topic(_topic_config(ctx, name), keys), _topic_document)
    of_brokers = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
    if resource.resource_type in of_brokers and not ctx.may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    if resource.resource_type == ConfigResourceType.BROKER:
        if not name:
            return _shape_all(request, describe_broker_defaults(ctx.services.config, keys), _broker_document)
        _check_broker(ctx, name, " or empty string,")
        return _shape_all(request, describe_broker(ctx.services.config, keys), _broker_document)
    if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        _check_broker(ctx, name, "")
        return _loggers(keys)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"resource type {resource.resource_type} has no settings")


def _topic_config(ctx: RequestContext, topic: str) -> TopicConfig:
    cluster = ctx.services.cluster
    if topic not in cluster.image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        return TopicConfig.from_broker(ctx.services.config).with_stored(cluster.topic_overrides(topic))
    except ConfigError:
        # Another program stored an invalid value; Kafka has no better error for it.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from None


def _check_broker(ctx: RequestContext, name: str, expected: str) -> None:
    own_id = ctx.services.config.broker_id
    if not name.removeprefix("-").isdecimal():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != own_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {own_id}{expected} but received {name}"
        )


def _topic_document(name: str) -> str | None:
    # differs from Kafka (setting-documentation): the texts are our own. They are loaded on request.
    from barnabas.core.config.documentation import document_topic_setting

    return document_topic_setting(name)


def _broker_document(name: str) -> str | None:
    from barnabas.core.config.documentation import document_broker_setting

    return document_broker_setting(name)


def _shape_all(
    request: DescribeConfigsRequest, entries: list[ConfigEntry], document: Callable[[str], str | None]
) -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(
            entry.name,
            entry.value,
            entry.is_read_only,
            # Kafka 2.7.2 returns False in version 0, whatever the source.
            False,
            entry.source,
            entry.is_sensitive,
            [DescribeConfigsSynonym(each.name, each.value, each.source) for each in entry.synonyms]
            if request.include_synonyms
            else [],
            entry.type_code,
            document(entry.name) if request.include_documentation else None,
        )
        for entry in entries
    ]


def _loggers(keys: Sequence[str] | None) -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(name, level, config_source=_LOGGER_SOURCE, documentation="")
        for name, level in broker_loggers.levels().items()
        if not keys or name in keys
    ]


def refuse(ctx: RequestContext, request: DescribeConfigsRequest, error_code: ErrorCode) -> DescribeConfigsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(error_code, None, each.resource_type, each.resource_name)
            for each in request.resources
        ]
    )


HANDLER = Handler(DescribeConfigsRequest, 0, 3, describe_configs, refuse)
