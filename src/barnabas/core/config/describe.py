"""DescribeConfigs: the settings of a broker or a topic, with their sources.

A setting's synonyms are all sources that give it a value, in order of precedence: dynamic values of this broker (each
name in its own order of precedence), dynamic defaults of all brokers, the file, the built-in defaults. Synonyms before
the first one with the setting's own name are left out, as in Kafka: with only log.retention.hours in the file,
log.retention.ms has no synonym and counts as a default.

Source: semantics of DescribeConfigs (API key 32), checked against Kafka 2.7.2.
"""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.settings import (
    BROKER_SETTINGS,
    TOPIC_SETTINGS,
    Setting,
    attribute_name,
    find_broker_setting,
    format_value,
    name_for_any,
)
from barnabas.core.config.tables import PRECEDENCE
from barnabas.core.config.topic import TopicConfig


class ConfigSource(IntEnum):
    """The source of a value, by the protocol's numbers."""

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
    """One source that gives a setting a value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting in a description; `value` is None if the setting has no value or is secret."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    synonyms: list[ConfigSynonym]
    type_code: int


def describe_broker(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """Describe the broker's settings in `names`; None or empty: all. Unknown names are left out."""
    given = {**config.explicit, **config.default_overrides, **config.broker_overrides}
    wanted = [*BROKER_SETTINGS, *(name for name in given if name not in BROKER_SETTINGS)]
    return [_broker_entry(config, name) for name in wanted if not names or name in names]


def describe_broker_defaults(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """Describe the dynamic defaults of all brokers in `names`; None or empty: all."""
    entries = []
    for name, text in config.default_overrides.items():
        if names and name not in names:
            continue
        entry = _broker_entry(config, name)
        synonyms = [each for each in entry.synonyms if each.source is ConfigSource.DYNAMIC_DEFAULT_BROKER]
        entries.append(
            entry._replace(
                value=None if entry.is_sensitive else text,
                source=ConfigSource.DYNAMIC_DEFAULT_BROKER,
                synonyms=synonyms,
            )
        )
    return entries


def describe_topic(config: TopicConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """Describe a topic's settings in `names`; None or empty: all. Unknown names are left out."""
    entries = [_topic_entry(config, setting) for name, setting in TOPIC_SETTINGS.items() if not names or name in names]
    for name in sorted(config.overrides.keys() - TOPIC_SETTINGS.keys()):
        if not names or name in names:
            # Another program wrote this setting; it may be a secret.
            synonym = ConfigSynonym(name, None, ConfigSource.TOPIC)
            entries.append(ConfigEntry(name, None, ConfigSource.TOPIC, False, True, [synonym], 0))
    return entries


def _broker_entry(config: BrokerConfig, name: str) -> ConfigEntry:
    setting = find_broker_setting(name)
    # A setting without a declared type may be a secret.
    is_sensitive = setting is None or setting.is_sensitive
    synonyms = _broker_synonyms(config, name, is_sensitive)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    if setting is None or name not in BROKER_SETTINGS:
        value = synonyms[0].value if synonyms else None
        type_code = 0 if setting is None else TYPE_CODES[setting.type]
        return ConfigEntry(name, value, source, True, is_sensitive, synonyms, type_code)
    value = None if is_sensitive else format_value(config.raw(name))
    return ConfigEntry(
        name, value, source, setting.extra == "read-only", is_sensitive, synonyms, TYPE_CODES[setting.type]
    )


def _topic_entry(config: TopicConfig, setting: Setting) -> ConfigEntry:
    value = format_value(getattr(config, attribute_name(setting.name)))
    fallback = BROKER_SETTINGS.get(setting.extra)
    synonyms = [] if fallback is None else _broker_synonyms(config.broker, fallback.name, fallback.is_sensitive)
    if setting.name in config.overrides:
        synonyms.insert(0, ConfigSynonym(setting.name, value, ConfigSource.TOPIC))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(setting.name, value, source, False, False, synonyms, TYPE_CODES[setting.type])


def _broker_synonyms(config: BrokerConfig, own_name: str, is_sensitive: bool) -> list[ConfigSynonym]:
    # A value for one listener takes precedence over a general one.
    names = PRECEDENCE.get(own_name) or tuple(dict.fromkeys((own_name, name_for_any(own_name))))
    layers = (
        (config.broker_overrides, ConfigSource.DYNAMIC_BROKER),
        (config.default_overrides, ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (config.explicit, ConfigSource.STATIC_BROKER),
    )
    given = [
        ConfigSynonym(name, None if is_sensitive else texts[name], source)
        for texts, source in layers
        for name in names
        if name in texts
    ]
    for name in names:
        default = format_value(BROKER_SETTINGS[name].default_value) if name in BROKER_SETTINGS else None
        if default is not None:
            given.append(ConfigSynonym(name, default, ConfigSource.DEFAULT))
    while given and given[0].name != own_name:
        del given[0]
    return given
