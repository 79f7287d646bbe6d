"""Applies changes to existing settings. Pure.

A list is changed as text: appended items are added at the end, unchanged; each subtracted item removes the first equal
one. If a setting is not set, the change applies to its default.

Source: semantics, IncrementalAlterConfigs; Kafka 2.7.2, AdminManager.prepareIncrementalConfigs (also the error texts).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.config.settings import Setting, format_value
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError


class ConfigOperation(IntEnum):
    """The change of one setting; the protocol's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """A change of one setting; `operation` is the code from the request."""

    name: str
    operation: int
    value: str | None


def check_changes(changes: Sequence[ConfigChange]) -> None:
    """Refuse changes that are invalid regardless of the current settings.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    twice = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(twice)}")
    nulls = [
        f"{_shown(change.operation)}:{change.name}"
        for change in changes
        if change.value is None and change.operation != ConfigOperation.DELETE
    ]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(nulls)}")


def changed(
    overrides: Mapping[str, str], changes: Sequence[ConfigChange], settings: Mapping[str, Setting]
) -> dict[str, str]:
    """Return the settings after changes that `check_changes` accepted.

    Args:
        overrides: The current settings.
        settings: The known settings of this type of resource.

    Raises:
        KafkaError: INVALID_REQUEST if a setting is not a list, UNKNOWN_SERVER_ERROR if it is unknown.
    """
    result = dict(overrides)
    for name, operation, value in changes:
        match operation, value:
            case ConfigOperation.SET, str():
                result[name] = value
            case ConfigOperation.DELETE, _:
                result.pop(name, None)
            case ((ConfigOperation.APPEND | ConfigOperation.SUBTRACT), str()):
                items, given = _items(_list(result, name, operation, settings)), _items(value)
                if operation == ConfigOperation.APPEND:
                    items += given
                else:
                    for item in given:
                        if item in items:
                            items.remove(item)
                result[name] = ",".join(items)
            case _:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return result


def _list(overrides: Mapping[str, str], name: str, operation: int, settings: Mapping[str, Setting]) -> str:
    """Return a list's new value, as text."""
    setting = settings.get(name)
    if setting is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if setting.type != "list":
        verb = _shown(operation).lower()
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config value {verb} is not allowed for config key: {name}")
    text = overrides.get(name)
    return text if text is not None else format_value(setting.default_value) or ""


def _items(text: str) -> list[str]:
    """Split a text like Java: empty items at the end are dropped, except for an empty text."""
    if not text:
        return [""]
    items = text.split(",")
    while items and not items[-1]:
        items.pop()
    return items


def _shown(operation: int) -> str:
    return next((each.name for each in ConfigOperation if each == operation), "null")
