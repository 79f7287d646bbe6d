"""JSON in Kafka's znodes: compact, UTF-8, objects only.

Source: zookeeper.md, opening notes.
"""

import json
from collections.abc import Mapping

from barnabas.core.errors import BarnabasError

JsonObject = dict[str, object]


class MalformedError(BarnabasError):
    """A node's data has an invalid form; readers skip this node and log it."""


def dump(payload: Mapping[str, object]) -> bytes:
    """Encode an object without spaces, as in Kafka."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()


def load(data: bytes | None) -> JsonObject:
    """Decode an object; null, empty or other data counts as an empty object, as in Kafka."""
    if not data:
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def load_strictly(data: bytes | None) -> JsonObject:
    """Decode an object; reject anything else.

    Raises:
        MalformedError: The value is invalid.
    """
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedError("no JSON object")
    return value


def is_int32(value: object) -> bool:
    """Return whether a value is an int32; JSON's true and false are not."""
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def decimal_int32(text: str) -> int | None:
    """Return the number of a text in Kafka's canonical form; None: the text is not one."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        return None
    number = int(text)
    return number if is_int32(number) and str(number) == text else None


def integer(payload: JsonObject, key: str, default: int) -> int:
    """Return an object's number, also if it was written as a string."""
    value = payload.get(key)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return default
    return value if isinstance(value, int) else default


def strings(value: object) -> dict[str, str]:
    """Return an object of strings; anything else becomes an empty one."""
    if not isinstance(value, dict):
        return {}
    return {str(key): item if isinstance(item, str) else str(item) for key, item in value.items()}
