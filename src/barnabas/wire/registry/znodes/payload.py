"""JSON as Kafka's znodes carry it: compact, UTF-8, objects only.

Source: zookeeper.md, opening notes.
"""

import json
from collections.abc import Mapping

from barnabas.core.errors import BarnabasError

JsonObject = dict[str, object]


class MalformedError(BarnabasError):
    """A node's data has not the form that belongs there; readers skip this node and log it."""


def dump(payload: Mapping[str, object]) -> bytes:
    """Encode an object without spaces, as Kafka writes it."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()


def load(data: bytes | None) -> JsonObject:
    """Decode an object; what is null, empty or no object counts as an empty one, as Kafka reads it."""
    if not data:
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def load_strictly(data: bytes | None) -> JsonObject:
    """Decode an object where nothing else will do.

    Raises:
        MalformedError: It is none.
    """
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedError("no JSON object")
    return value


def is_int32(value: object) -> bool:
    """Return whether a value is a number that Kafka has room for; JSON's true and false are none."""
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def decimal_int32(text: str) -> int | None:
    """The number that a text is in Kafka's own spelling, which no other text is; None: it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        return None
    number = int(text)
    return number if is_int32(number) and str(number) == text else None


def integer(payload: JsonObject, key: str, default: int) -> int:
    """A number of an object, also when it was written as a string."""
    value = payload.get(key)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return default
    return value if isinstance(value, int) else default


def strings(value: object) -> dict[str, str]:
    """An object of strings; anything else is an empty one."""
    if not isinstance(value, dict):
        return {}
    return {str(key): item if isinstance(item, str) else str(item) for key, item in value.items()}
