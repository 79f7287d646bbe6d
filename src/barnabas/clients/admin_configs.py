"""Administration of settings of topics, brokers and brokers' loggers.

Settings of one broker are requested from that broker, which alone knows its static ones. Any broker answers for the
rest.

Source: protocol guide, DescribeConfigs, IncrementalAlterConfigs; KIP-133, KIP-226, KIP-339, KIP-412.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

# A missing topic or broker will not appear while a user waits at a terminal.
_NOT_HEALED = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.BROKER_NOT_AVAILABLE)


class ResourceType(IntEnum):
    """A type of resource that has settings; the protocol's codes."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class ConfigSource(IntEnum):
    """The source of a setting's value; the protocol's codes, and the names that Kafka's tools print."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6

    @classmethod
    def _missing_(cls, value: object) -> "ConfigSource":
        return cls.UNKNOWN


class ConfigOperation(IntEnum):
    """A change to a setting; the protocol's codes."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """A resource with settings: a topic, a broker (id as text; "" is the default of all), a broker's loggers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        if self.type is ResourceType.BROKER and not self.name:
            return "the default of all brokers"
        return f"{self.type.name.lower().replace('_', ' ')} {self.name}"


class ConfigSynonym(NamedTuple):
    """One source from which a setting takes a value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """A setting with its value: None if the setting is sensitive. Synonyms are in order of precedence."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[ConfigSynonym]


class ConfigChange(NamedTuple):
    """A change to one setting; `value` is ignored on deletion."""

    name: str
    operation: ConfigOperation
    value: str | None = None


class ConfigAdmin(AdminCalls):
    """Administration of settings."""

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, names: Sequence[str] | None = None, include_synonyms: bool = True
    ) -> dict[ConfigResource, list[ConfigEntry]]:
        """Return the settings of each resource in order of name; `names` None selects all. Raises KafkaError."""
        wanted = list(resources)

        async def attempt() -> dict[ConfigResource, list[ConfigEntry]]:
            found: dict[ConfigResource, list[ConfigEntry]] = {}
            for channel, group in (await self._by_channel(wanted)).items():
                keys = None if names is None else [*names]
                asked = [DescribeConfigsResource(resource.type, resource.name, keys) for resource in group]
                request = DescribeConfigsRequest(asked)
                # The first version has no synonyms.
                request.include_synonyms = include_synonyms and channel.version_of(request.API_KEY) > 0
                response = await channel.send(request, DescribeConfigsResponse)
                for result in response.results:
                    resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
                    message = result.error_message or f"{resource} does not exist"
                    raise_for(result.error_code, _with_right(result.error_code, message, resource, "DESCRIBE_CONFIGS"))
                    entries = [_entry(config, resource.type) for config in result.configs]
                    found[resource] = sorted(entries)
            return found

        return await self.retry(attempt, not_healed=_NOT_HEALED)

    async def alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> None:
        """Change the named settings; others keep their values.

        Raises:
            KafkaError: The first rejected change (INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, ...);
                other resources may have been changed. UNSUPPORTED_VERSION: a broker before 2.3.
        """
        from barnabas.wire.protocol.messages.incremental_alter_configs import (
            AlterableConfig,
            AlterConfigsResource,
            IncrementalAlterConfigsRequest,
            IncrementalAlterConfigsResponse,
        )

        async def attempt() -> None:
            for channel, group in (await self._by_channel(changes)).items():
                resources = [
                    AlterConfigsResource(
                        resource.type,
                        resource.name,
                        [AlterableConfig(each.name, each.operation, each.value) for each in changes[resource]],
                    )
                    for resource in group
                ]
                request = IncrementalAlterConfigsRequest(resources, validate_only)
                response = await channel.send(request, IncrementalAlterConfigsResponse)
                for result in response.responses:
                    resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
                    message = result.error_message or f"settings of {resource} were not changed"
                    raise_for(result.error_code, _with_right(result.error_code, message, resource, "ALTER_CONFIGS"))

        await self.retry(attempt, not_healed=_NOT_HEALED)

    async def _by_channel(self, resources: Iterable[ConfigResource]) -> dict[Channel, list[ConfigResource]]:
        by_channel: dict[Channel, list[ConfigResource]] = {}
        for resource in resources:
            if resource.type is ResourceType.TOPIC or not resource.name:
                channel = await self.pool.any_broker()
            elif resource.name.isdecimal():
                channel = await self.pool.broker(int(resource.name))
            else:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name} is not a broker id (a whole number)")
            by_channel.setdefault(channel, []).append(resource)
        return by_channel


def _with_right(error_code: int, message: str, resource: ConfigResource, right: str) -> str:
    """Return the message of an error; if it is a missing right, name the right, which Kafka's message does not."""
    if error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return f"the settings of {resource} require the right {right} on the topic"
    if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return f"the settings of {resource} require the right {right} on the cluster"
    return message


def _entry(config: DescribeConfigsResourceResult, resource_type: ResourceType) -> ConfigEntry:
    source = ConfigSource(config.config_source)
    if config.config_source < 0:
        # Version 0 reports only whether the value is a default.
        own = ConfigSource.STATIC_BROKER_CONFIG
        if resource_type is ResourceType.TOPIC:
            own = ConfigSource.DYNAMIC_TOPIC_CONFIG
        source = ConfigSource.DEFAULT_CONFIG if config.is_default else own
    synonyms = [ConfigSynonym(each.name, each.value, ConfigSource(each.source)) for each in config.synonyms]
    return ConfigEntry(config.name, config.value, source, config.is_sensitive, config.read_only, synonyms)
