"""A topic's settings: the broker's, overridden by the topic's own.

Attributes are named like the settings, with underscores for dots. The broker's `log_retention_ms` (derived from several
settings) is the topic's `retention_ms`, and so on; settings without a broker setting behind them have their own
default.

Source: Apache Kafka 2.7 documentation, topic configs; schemas/configs.json.
"""

import contextlib
from collections.abc import Mapping

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.settings import TOPIC_SETTINGS, attribute_name, parse_named
from barnabas.core.config.tables import TopicFields
from barnabas.core.config.versions import MESSAGE_FORMAT_VERSION, kafka_version
from barnabas.core.errors import ConfigError

_COMPACTION_LAGS = ("min.compaction.lag.ms", "max.compaction.lag.ms")
# For each setting: its attribute, the broker's attribute behind it ("": none), and its own default. Computed once,
# because a config is created for each partition.
_FIELDS = tuple(
    (
        attribute_name(name),
        fallback if hasattr(BrokerConfig, fallback := attribute_name(setting.extra)) else "",
        setting.default_value,
    )
    for name, setting in TOPIC_SETTINGS.items()
)


class TopicConfig(TopicFields):
    """All settings of one topic.

    Attributes:
        broker: The broker's settings, which provide the defaults.
        overrides: The topic's own settings, as text, by name.
    """

    __slots__ = ("broker", "overrides")

    broker: BrokerConfig
    overrides: dict[str, str]

    def __init__(self, broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
        """Create a config; call `from_broker` and `with_overrides` instead."""
        self.broker = broker
        self.overrides = dict(overrides)
        for name, fallback, default in _FIELDS:
            setattr(self, name, getattr(broker, fallback) if fallback else default)

    @classmethod
    def from_broker(cls, broker: BrokerConfig) -> "TopicConfig":
        """Return the settings of a topic without overrides."""
        return cls(broker, {})

    @property
    def ignored_format(self) -> str | None:
        """Return the message.format.version that is too new for the broker's inter.broker.protocol.version."""
        text = self.overrides.get(MESSAGE_FORMAT_VERSION)
        if text is None or kafka_version(text) <= kafka_version(self.broker.inter_broker_protocol_version):
            return None
        return text

    def for_logs(self) -> "TopicConfig":
        """Return the settings for logs: the broker's message format replaces one that it may not write yet."""
        if self.ignored_format is None:
            return self
        overrides = {name: text for name, text in self.overrides.items() if name != MESSAGE_FORMAT_VERSION}
        return self.with_overrides(overrides)

    def with_overrides(self, overrides: Mapping[str, str]) -> "TopicConfig":
        """Return the broker's settings with these overrides in place of the current ones.

        Raises:
            ConfigError: A name is unknown, or the settings are invalid; with Kafka's message. ConfigValueError if a
                single value is invalid.
        """
        unknown = next((name for name in overrides if name not in TOPIC_SETTINGS), None)
        if unknown is not None:
            raise ConfigError(f"Unknown topic config name: {unknown}")
        config = self.with_stored(overrides)
        # Compare with defaults, not with the broker's settings, as Kafka does: these must not make every topic invalid.
        least_ms, most_ms = (
            int(getattr(config, attribute_name(name)) if name in overrides else TOPIC_SETTINGS[name].default or 0)
            for name in _COMPACTION_LAGS
        )
        if least_ms > most_ms:
            raise ConfigError(
                f"conflict topic config setting min.compaction.lag.ms ({least_ms}) > max.compaction.lag.ms ({most_ms})"
            )
        return config

    def with_stored(self, overrides: Mapping[str, str]) -> "TopicConfig":
        """Like `with_overrides`, but accept unknown names and conflicting settings; for descriptions.

        Raises:
            ConfigValueError: A value is invalid.
        """
        config = TopicConfig(self.broker, overrides)
        for name, text in overrides.items():
            setting = TOPIC_SETTINGS.get(name)
            if setting is not None:
                setattr(config, attribute_name(name), parse_named(name, setting, text))
        return config

    def with_possible(self, overrides: Mapping[str, str]) -> tuple["TopicConfig", list[str]]:
        """Apply the valid overrides; another program may have written invalid ones to the registry.

        Returns:
            The settings, and one line for each override that was left out.
        """
        if not overrides and not self.overrides:
            return self, []
        with contextlib.suppress(ConfigError):
            return self.with_overrides(overrides), []
        kept: dict[str, str] = {}
        reasons = []
        for name, text in overrides.items():
            try:
                self.with_overrides(kept | {name: text})
            except ConfigError as error:
                reasons.append(str(error))
            else:
                kept[name] = text
        return self.with_overrides(kept), reasons
