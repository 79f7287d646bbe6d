"""Changes settings of topics and brokers, and the levels of this broker's loggers.

A change is checked against the current settings and written to the registry with a notification. Every broker, this one
too, reads the notification and applies the change (`broker/cluster/watcher.py`); `settle` waits for that.

Source: semantics, configs; Kafka 2.7.2, kafka.server.AdminManager (also the error texts).
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.administration import broker_loggers
from barnabas.broker.administration.config_rules import ConfigChange, changed, check_changes
from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.quotas.replication import named_in_vain
from barnabas.broker.security.passwords import decode_passwords, encode_passwords
from barnabas.core.config import TopicConfig
from barnabas.core.config.dynamic import Layer, only_settable
from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, ConfigValueError, KafkaError
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import update_config
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from random import Random

_logger = logging.getLogger(__name__)

_THROTTLED_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")

Update = Callable[[dict[str, str]], dict[str, str]]


class ConfigResourceType(IntEnum):
    """The kinds of resources whose settings clients can change; the protocol's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class ConfigResource(NamedTuple):
    """The owner of settings; a broker resource without a name means all brokers."""

    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


class ConfigAdmin:
    """Changes settings on behalf of clients. Owned by the event loop."""

    def __init__(
        self, registry: Registry, cluster: ClusterView, live: LiveConfig, watcher: ConfigWatcher, dice: "Random"
    ) -> None:
        self._dice = dice
        self._registry = registry
        self._cluster = cluster
        self._live = live
        self._watcher = watcher

    async def replace(self, resource: ConfigResource, overrides: Mapping[str, str], validate_only: bool) -> None:
        """Replace all settings of a topic, a broker or all brokers.

        Args:
            validate_only: Check, and change nothing.

        Raises:
            KafkaError: The settings are invalid.
        """
        await self._alter(resource, lambda _: dict(overrides), validate_only)

    async def change(self, resource: ConfigResource, changes: Sequence[ConfigChange], validate_only: bool) -> None:
        """Change some settings of a topic, a broker or all brokers, or levels of this broker's loggers.

        Args:
            validate_only: Check, and change nothing.

        Raises:
            KafkaError: The changes are invalid.
        """
        check_changes(changes)
        if resource.type is ConfigResourceType.BROKER_LOGGER:
            self._change_levels(resource, changes, validate_only)
            return
        if resource.type is ConfigResourceType.TOPIC:
            if not resource.name:
                raise _invalid_value(resource, "Path must not end with / character")
            settings = TOPIC_SETTINGS
        else:
            settings = BROKER_SETTINGS
        await self._alter(resource, lambda now: changed(now, changes, settings), validate_only)

    async def load_topics(self, topics: Iterable[str]) -> None:
        """Load the settings of topics that this broker has not needed yet. Raises RegistryError."""
        await self._watcher.load(f"{paths.TOPICS}/{topic}" for topic in topics)

    async def settle(self) -> None:
        """Wait until this broker has applied the changes."""
        await self._watcher.catch_up()

    def check_broker(self, name: str) -> bool:
        """Refuse the id of another broker.

        Returns:
            True for this broker's id, False for an empty name (all brokers).

        Raises:
            KafkaError: INVALID_REQUEST.
        """
        if not name:
            return False
        own_id = self._live.config.broker_id
        if _INTEGER.fullmatch(name) is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if int(name) != own_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {own_id}, but received {name}")
        return True

    async def _alter(self, resource: ConfigResource, update: Update, validate_only: bool) -> None:
        if resource.type is ConfigResourceType.TOPIC:
            if resource.name not in self._cluster.image.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
            entity, alter = f"{paths.TOPICS}/{resource.name}", self._altered_topic
        else:
            is_one = self.check_broker(resource.name)
            name = str(self._live.config.broker_id) if is_one else paths.DEFAULT_ENTITY
            entity, alter = f"{paths.BROKERS}/{name}", self._altered_broker

        def altered(now: dict[str, str]) -> dict[str, str] | None:
            overrides = alter(resource, update, now)
            if validate_only:
                return None
            if resource.type is ConfigResourceType.TOPIC:
                self._warn_of_nobody(resource.name, overrides)
            return self._stored(resource, overrides)

        await update_config(self._registry, entity, altered)

    def _warn_of_nobody(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Log throttled replicas that do not exist: Kafka accepts them and throttles nothing."""
        partitions = self._cluster.image.topics.get(topic, {})
        brokers = self._cluster.image.brokers.keys() | {each for part in partitions.values() for each in part.replicas}
        for name in _THROTTLED_REPLICAS:
            vain = named_in_vain(overrides.get(name, "").split(","), partitions, brokers)
            if vain:
                _logger.warning(
                    "%s of topic %s throttles no replica for %s: the partition or broker does not exist",
                    name,
                    topic,
                    vain,
                )

    def _altered_topic(self, resource: ConfigResource, update: Update, now: dict[str, str]) -> dict[str, str]:
        overrides = update(now)
        try:
            TopicConfig.from_broker(self._live.config).with_overrides(overrides)
        except ConfigValueError as error:
            raise _invalid_value(resource, str(error)) from None
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
        return overrides

    def _altered_broker(self, resource: ConfigResource, update: Update, now: dict[str, str]) -> dict[str, str]:
        layer = Layer.THIS_BROKER if resource.name else Layer.ALL_BROKERS
        # Settings from other writers that are not allowed here are removed by the first change.
        readable, _ = decode_passwords(self._live.config, now)
        settable, _ = only_settable(layer, readable)
        overrides = update(settable)
        try:
            self._live.check(layer, overrides)
        except ConfigError as error:
            raise _invalid_value(resource, str(error)) from None
        return overrides

    def _stored(self, resource: ConfigResource, overrides: dict[str, str]) -> dict[str, str]:
        """Return settings in their stored form: with encrypted passwords."""
        if resource.type is ConfigResourceType.TOPIC:
            return overrides
        try:
            return encode_passwords(self._live.config, overrides, self._dice.randbytes)
        except ConfigError as error:
            raise _invalid_value(resource, str(error)) from None

    def _change_levels(self, resource: ConfigResource, changes: Sequence[ConfigChange], validate_only: bool) -> None:
        self.check_broker(resource.name)
        try:
            broker_loggers.check_changes(changes)
        except ConfigError as error:
            raise _invalid_value(resource, str(error)) from None
        if not validate_only:
            broker_loggers.change_levels(changes)


def _invalid_value(resource: ConfigResource, reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid config value for resource {resource}: {reason}")
