"""What DescribeConfigs tells of a broker's or a topic's settings.

A setting's synonyms are all places that give it a value, strongest first: what the file sets (each name in its order
of precedence), then the defaults. Those before the first with the setting's own name are left out, as Kafka does: with
log.retention.hours alone in the file, log.retention.ms has no synonym and counts as a default.

Source: semantics of DescribeConfigs (API key 32), checked against Kafka 2.7.2.
"""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS, Setting, attribute_name, format_value
from barnabas.core.config.tables import PRECEDENCE
from barnabas.core.config.topic import TopicConfig


class ConfigSource(IntEnum):
    """Where a value comes from, in the protocol's numbers."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


TYPE_CODES = {
    "boolean": 1,
    "string": 2,
    "int": 3,
    "short": 4,
    "long": 5,
    "double": 6,
    "list": 7,
    "class": 8,
    "password": 9,
}


class ConfigSynonym(NamedTuple):
    """One place that gives a setting a value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting as it is described; `value` is None when it has none or must not be shown."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    synonyms: list[ConfigSynonym]
    type_code: int


def describe_broker(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """Describe the broker's settings; only those in `names` unless it is None or empty (unknown ones are left out)."""
    wanted = [*BROKER_SETTINGS, *(name for name in config.explicit if name not in BROKER_SETTINGS)]
    return [_broker_entry(config, name) for name in wanted if not names or name in names]


def describe_topic(config: TopicConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """Describe a topic's settings; only those in `names` unless it is None or empty (unknown ones are left out)."""
    return [_topic_entry(config, setting) for name, setting in TOPIC_SETTINGS.items() if not names or name in names]


def _broker_entry(config: BrokerConfig, name: str) -> ConfigEntry:
    setting = BROKER_SETTINGS.get(name)
    if setting is None:
        # What has no declared type might be a secret.
        synonyms = [ConfigSynonym(name, None, ConfigSource.STATIC_BROKER)]
        return ConfigEntry(name, None, ConfigSource.STATIC_BROKER, True, True, synonyms, 0)
    synonyms = _broker_synonyms(config, setting)
    return ConfigEntry(
        name,
        None if setting.is_sensitive else format_value(config.raw(name)),
        synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        setting.extra == "read-only",
        setting.is_sensitive,
        synonyms,
        TYPE_CODES[setting.type],
    )


def _topic_entry(config: TopicConfig, setting: Setting) -> ConfigEntry:
    value = format_value(getattr(config, attribute_name(setting.name)))
    fallback = BROKER_SETTINGS.get(setting.extra)
    synonyms = _broker_synonyms(config.broker, fallback) if fallback is not None else []
    if setting.name in config.overrides:
        synonyms.insert(0, ConfigSynonym(setting.name, value, ConfigSource.TOPIC))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(setting.name, value, source, False, False, synonyms, TYPE_CODES[setting.type])


def _broker_synonyms(config: BrokerConfig, setting: Setting) -> list[ConfigSynonym]:
    names = PRECEDENCE.get(setting.name, (setting.name,))
    given: list[ConfigSynonym] = []
    for name in names:
        if name in config.explicit:
            value = None if setting.is_sensitive else config.explicit[name]
            given.append(ConfigSynonym(name, value, ConfigSource.STATIC_BROKER))
    for name in names:
        default = format_value(BROKER_SETTINGS[name].default_value)
        if default is not None:
            given.append(ConfigSynonym(name, default, ConfigSource.DEFAULT))
    while given and given[0].name != setting.name:
        del given[0]
    return given
