"""Lookup of a broker's JAAS entries: in its settings, per listener, or in one file for all listeners.

A listener's own setting (`listener.name.<listener>.<mechanism>.sasl.jaas.config`) wins over the sections
`<listener>.KafkaServer` and `KafkaServer` of `barnabas.jaas.config.file`; without that setting, the file is the one
named in `KAFKA_OPTS`.

Source: security page, JAAS configuration for Kafka brokers; Kafka 2.7.2, JaasContext.
"""

from collections.abc import Mapping
from pathlib import Path

from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError
from barnabas.wire.security.jaas import JaasEntry, entry_of_file, parse_jaas, parse_jaas_file

FILE_SETTING = "barnabas.jaas.config.file"


def file_sections(config: BrokerConfig) -> Mapping[str, list[JaasEntry]]:
    """Return the sections of the JAAS file; empty if no file is set.

    Raises:
        ConfigError: The file cannot be read or is invalid; the error names it.
    """
    path = config.barnabas_jaas_config_file
    if path is None:
        return {}
    try:
        return parse_jaas_file(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{FILE_SETTING}={path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{FILE_SETTING}={path}: this is no text") from None
    except ConfigError as error:
        raise ConfigError(f"{FILE_SETTING}={path}: {error}") from None


def listener_setting(listener_name: str, mechanism: str) -> str:
    """Return the name of a listener's JAAS setting for a mechanism."""
    return f"listener.name.{listener_name.lower()}.{mechanism.lower()}.sasl.jaas.config"


def listener_entry(config: BrokerConfig, listener_name: str, mechanism: str) -> JaasEntry | None:
    """Return a listener's JAAS entry for a mechanism; None: not set.

    Raises:
        ConfigError: The entry is invalid; the error names its setting or file.
    """
    text = config.of_listener(listener_name, f"{mechanism.lower()}.sasl.jaas.config")
    if text is None:
        return entry_of_file(file_sections(config), listener_name, mechanism)
    try:
        return parse_jaas(str(text), mechanism)
    except ConfigError as error:
        raise ConfigError(f"{listener_setting(listener_name, mechanism)}: {error}") from None
