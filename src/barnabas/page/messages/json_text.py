"""Parser of untrusted JSON: numbers keep their text, and values nested deeper than `MOST_DEPTH` are rejected.

Recursion over a parsed value is therefore safe.
"""

import json
import re
from typing import Final, NoReturn

MOST_DEPTH: Final = 64
MOST_CHARACTERS: Final = 1 << 20

JsonValue = None | bool | str | list["JsonValue"] | dict[str, "JsonValue"]

# Reads each character once, whatever the input: no quote causes backtracking.
_MARKS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class Number(str):
    """A number in its written form."""

    __slots__ = ()


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse)


def parse_json(text: str) -> JsonValue:
    """Parse JSON. Raises ValueError: it is invalid, too long or nested too deeply."""
    if len(text) > MOST_CHARACTERS or not _is_shallow(text):
        raise ValueError("it is too long or too deep")
    value: JsonValue = _DECODER.decode(text)
    return value


def write_json(value: JsonValue) -> str:
    """Write a value of `parse_json`."""
    match value:
        case Number():
            return str(value)
        case list():
            return f"[{','.join(map(write_json, value))}]"
        case dict():
            fields = (f"{json.dumps(name, ensure_ascii=False)}:{write_json(each)}" for name, each in value.items())
            return "{" + ",".join(fields) + "}"
    return json.dumps(value, ensure_ascii=False)


def _is_shallow(text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return True
    depth = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                return False
        elif mark[0] in "]}":
            depth -= 1
    return True
