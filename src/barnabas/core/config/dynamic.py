"""Dynamic settings: which can change while a broker runs, on which level, and to which values. Pure.

A setting may apply to one listener (`listener.name.<listener>.<setting>`); unknown names can be set as well.

Source: Kafka 2.7.2, kafka.server.DynamicBrokerConfig (validateConfigs, fromPersistentProps), whose error texts are
used; configuration page, updating broker configs.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

from barnabas.core.config.classes import refuse_class
from barnabas.core.config.settings import (
    BROKER_SETTINGS,
    LISTENER_PREFIX,
    find_broker_setting,
    name_for_any,
    parse_named,
)
from barnabas.core.errors import ConfigError, ConfigValueError

READ_ONLY = "read-only"
PER_BROKER = "per-broker"

_PER_LISTENER_ONLY = frozenset(
    [
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    ]
)
_OF_LISTENERS_FOR_ALL = frozenset(["max.connections", "max.connection.creation.rate"])
_NAMES_CLASSES = frozenset(["metric.reporters"])


class Layer(Enum):
    """The level of a dynamic setting: one broker or all."""

    ALL_BROKERS = "all brokers"
    THIS_BROKER = "this broker"


def check_settable(layer: Layer, overrides: Mapping[str, str]) -> None:
    """Reject settings that cannot change while a broker runs.

    Raises:
        ConfigError: The first problem, in Kafka's words and order.
    """
    _refuse((each for each in overrides if _is_read_only(each)), "Cannot update these configs dynamically: Set")
    _refuse(
        (each for each in overrides if each in _PER_LISTENER_ONLY),
        "These security configs can be dynamically updated only per-listener using the listener prefix: HashSet",
    )
    for name, text in overrides.items():
        _check_value(name, text)
    if layer is Layer.ALL_BROKERS:
        _refuse(
            (each for each in overrides if _is_for_one_broker(each)),
            "Cannot update these configs at default cluster level, broker id must be specified: Set",
        )


def only_settable(layer: Layer, overrides: Mapping[str, str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the settings in the registry that are settable, whether their values are valid or not.

    Returns:
        These settings, and the names of the other settings by the reason for which they are left out.
    """
    kept: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    for name, text in overrides.items():
        reason = _obstacle(layer, name)
        if reason is None:
            kept[name] = text
        else:
            left_out.setdefault(reason, []).append(name)
    return kept, left_out


def has_known_value(name: str) -> bool:
    """Return whether a setting is a known dynamic one, for one listener or for all."""
    setting = BROKER_SETTINGS.get(name_for_any(name))
    return setting is not None and setting.extra != READ_ONLY


def is_possible(name: str, text: str) -> bool:
    """Return whether a setting can have a value; unknown settings accept any value."""
    try:
        _check_value(name, text)
    except ConfigError:
        return False
    return True


def _obstacle(layer: Layer, name: str) -> str | None:
    """Return why a setting cannot change while the broker runs; None: it can, or it is unknown."""
    if _is_read_only(name):
        return "only in the file"
    if name in _PER_LISTENER_ONLY:
        return "only for one listener"
    if layer is Layer.ALL_BROKERS and _is_for_one_broker(name):
        return "only for one broker"
    return None


def _refuse(names: Iterable[str], reason: str) -> None:
    found = ", ".join(names)
    if found:
        raise ConfigError(f"{reason}({found})")


def _is_read_only(name: str) -> bool:
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.extra == READ_ONLY


def _is_for_one_broker(name: str) -> bool:
    if name.startswith(LISTENER_PREFIX):
        return name_for_any(name) not in _OF_LISTENERS_FOR_ALL
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.extra == PER_BROKER


def _check_value(name: str, text: str) -> None:
    setting = find_broker_setting(name)
    if setting is None or setting.extra == READ_ONLY:
        return
    if refuse_class(setting.name, text) is not None or (text and setting.name in _NAMES_CLASSES):
        # differs from Kafka (java-classes): Kafka loads them.
        raise ConfigValueError(
            f"Invalid value {text} for configuration {setting.name}: Class {text} could not be found."
        )
    parse_named(setting.name, setting, text)
