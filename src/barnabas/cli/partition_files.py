"""JSON files with lists of partitions or topics, for several commands.

    {"version": 1, "partitions": [{"topic": "t", "partition": 0, ...}]}
    {"version": 1, "topics": [{"topic": "t"}]}

Source: cli page, kafka-delete-records, kafka-leader-election, kafka-reassign-partitions.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeGuard

from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

_VERSION = 1


def read_partitions(path: str) -> dict[TopicPartition, Mapping[str, object]]:
    """Read a file of partitions, each with its other fields.

    Raises:
        BarnabasError: The file can't be read, has another form, or names a partition twice.
    """
    found: dict[TopicPartition, Mapping[str, object]] = {}
    for number, entry in enumerate(_read_list(path, "partitions", '{"topic":"t","partition":0}'), start=1):
        topic, partition = (entry.get("topic"), entry.get("partition")) if isinstance(entry, dict) else (None, None)
        if not isinstance(topic, str) or not topic or not is_number(partition):
            raise BarnabasError(f"{path}: entry {number} of partitions must have a topic and a partition")
        name = TopicPartition(topic, partition)
        if name in found:
            raise BarnabasError(f"{path}: partition {name} is listed twice")
        found[name] = entry
    if not found:
        raise BarnabasError(f"{path}: the list of partitions is empty")
    return found


def read_topics(path: str) -> list[str]:
    """Read a file of topics.

    Raises:
        BarnabasError: The file can't be read, has another form, or names a topic twice.
    """
    found = []
    for number, entry in enumerate(_read_list(path, "topics", '{"topic":"t"}'), start=1):
        topic = entry.get("topic") if isinstance(entry, dict) else None
        if not isinstance(topic, str) or not topic:
            raise BarnabasError(f"{path}: entry {number} of topics must have a topic")
        if topic in found:
            raise BarnabasError(f"{path}: topic {topic} is listed twice")
        found.append(topic)
    if not found:
        raise BarnabasError(f"{path}: the list of topics is empty")
    return found


def _read_list(path: str, name: str, example: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            content: object = json.load(file)
    except OSError as error:
        raise BarnabasError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise BarnabasError(f"{path} is not valid JSON: {error}") from None
    except RecursionError:
        raise BarnabasError(f"{path} is nested too deeply") from None
    if not isinstance(content, dict) or not isinstance(content.get(name), list):
        raise BarnabasError(f'{path}: must have the form {{"version":1,"{name}":[{example}]}}')
    if content.get("version", _VERSION) != _VERSION:
        raise BarnabasError(f"{path}: version {content['version']} is not supported; must be {_VERSION}")
    listed: list[Any] = content[name]
    return listed


def is_number(value: object, least: int = 0, most: int = 2**31 - 1) -> TypeGuard[int]:
    """Return whether a value is a whole number within bounds, and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
