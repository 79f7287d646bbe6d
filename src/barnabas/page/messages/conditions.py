"""Conditions on fields of JSON, and parsing of typed keys. No code, and no patterns.

    status >= 500 and customer.name = "Ann Lee" and lines.sku ~ A1

A path is a sequence of nested fields; lists in between are transparent. Operators are =, !=, <, <=, >, >=, and ~ for
"contains". Numbers compare as numbers, exactly.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from barnabas.core.errors import BarnabasError
from barnabas.page.messages.json_text import JsonValue, Number

_MOST_CONDITIONS: Final = 10
_LONGEST_NUMBER: Final = 400
_CONDITION: Final = re.compile(
    r'\s*+([^\s<>=!~]++)\s*+(>=|<=|!=|=|>|<|~)\s*+("(?:[^"\\]++|\\.)*+"|\S++)\s*+(and\s++|\Z)', re.IGNORECASE
)
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERS: Final = ("<", "<=", ">", ">=")
_INTEGER_KEY_BYTES: Final = (4, 8)


class ConditionError(BarnabasError):
    """A search expression is invalid: one line with the reason."""


class Condition(NamedTuple):
    """A condition on a field."""

    path: tuple[str, ...]
    comparison: str
    operand: str

    def holds(self, value: JsonValue) -> bool:
        """Return whether a value meets the condition; for lists one element suffices, except for `!=`."""
        found = list(_at(value, self.path))
        results = (self.holds_for(each) for each in found)
        return bool(found) and (all(results) if self.comparison == "!=" else any(results))

    def holds_for(self, value: JsonValue) -> bool:
        """Return whether a single value meets the condition."""
        if isinstance(value, dict | list):
            return False
        text = value if isinstance(value, str) else json.dumps(value)
        if self.comparison == "~":
            return self.operand in text
        number = _operand_number(self.operand)
        if number is not None and (isinstance(value, Number) or self.comparison in _ORDERS):
            of_value = _number(value) if isinstance(value, Number) else None
            return of_value is not None and _COMPARISONS[self.comparison](of_value, number)
        return _COMPARISONS[self.comparison](str(text), self.operand)


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Parse conditions. Raises ConditionError."""
    found: list[Condition] = []
    position = 0
    while position < len(text.rstrip()):
        match = _CONDITION.match(text, position)
        if match is None:
            raise ConditionError('write conditions as: status >= 500 and customer.name = "Ann Lee" and sku ~ A1')
        path, comparison, operand = match[1], match[2], match[3]
        if operand.startswith('"'):
            try:
                operand = json.loads(operand)
            except ValueError:
                raise ConditionError(f'{operand} is no text: a quote in it is written as \\"') from None
        found.append(Condition(tuple(path.split(".")), comparison, operand))
        if len(found) > _MOST_CONDITIONS:
            raise ConditionError(f"at most {_MOST_CONDITIONS} conditions")
        position = match.end()
    return tuple(found)


def keys_of(text: str, kind: str) -> tuple[bytes, ...]:
    """Return all keys that a typed text can represent. Raises ConditionError."""
    try:
        match kind:
            case "integer":
                return tuple(int(text[:20]).to_bytes(size, "big", signed=True) for size in _sizes(text))
            case "UUID":
                return (UUID(text).bytes,)
            case "hex":
                return (bytes.fromhex(text),)
    except (ValueError, OverflowError):
        raise ConditionError(f"the key {text} is not a valid {kind}") from None
    return (text.encode(errors="replace"),)


def _sizes(text: str) -> Iterator[int]:
    number = int(text[:20])
    for size in _INTEGER_KEY_BYTES:
        if -(1 << size * 8 - 1) <= number < 1 << size * 8 - 1 or size == _INTEGER_KEY_BYTES[-1]:
            yield size


def _at(value: JsonValue, path: tuple[str, ...]) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for each in value:
            yield from _at(each, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


@lru_cache(64)
def _operand_number(text: str) -> Decimal | None:
    return _number(text)


def _number(text: str) -> Decimal | None:
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None
