"""Returns and changes the levels of this process's loggers, with log4j's names for levels.

The levels apply only to this process and are lost when it ends, as in Kafka.

Source: semantics, configs (broker loggers); Kafka 2.7.2, AdminManager.validateLogLevelConfigs; KIP-412.
"""

import logging
from collections.abc import Sequence

from barnabas.broker.administration.config_rules import ConfigChange, ConfigOperation
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, KafkaError

ROOT = "root"

_LEVELS = {"FATAL": 50, "ERROR": 40, "WARN": 30, "INFO": 20, "DEBUG": 10, "TRACE": 5}


def levels() -> dict[str, str]:
    """Return the effective level of each logger."""
    names = [ROOT, *sorted(logging.root.manager.loggerDict)]
    return {name: _level_name(_logger(name).getEffectiveLevel()) for name in names}


def check_changes(changes: Sequence[ConfigChange]) -> None:
    """Refuse invalid changes.

    Raises:
        KafkaError: The operation is not supported for loggers.
        ConfigError: The logger or level does not exist.
    """
    for name, operation, value in changes:
        match operation:
            case ConfigOperation.SET:
                _check_exists(name)
                if value not in _LEVELS:
                    raise ConfigError(
                        f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
                        f"Valid log levels are {', '.join(_LEVELS)}"
                    )
            case ConfigOperation.DELETE:
                _check_exists(name)
                if name == ROOT:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
                    )
            case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
                verb = ConfigOperation(operation).name
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"{verb} operation is not allowed for the BROKER_LOGGER resource"
                )
            case _:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def change_levels(changes: Sequence[ConfigChange]) -> None:
    """Apply changes that `check_changes` accepted; a logger without a level inherits its parent's."""
    for name, operation, value in changes:
        _logger(name).setLevel(logging.NOTSET if operation == ConfigOperation.DELETE or not value else _LEVELS[value])


def _check_exists(name: str) -> None:
    if name != ROOT and name not in logging.root.manager.loggerDict:
        raise ConfigError(f"Logger {name} does not exist!")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _level_name(level: int) -> str:
    return next((name for name, least in _LEVELS.items() if level >= least), "TRACE")
