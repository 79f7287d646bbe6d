"""Validates brokers' answers: rows that do not match the schema (other releases, truncated data) are dropped.

The schema is `facts.json`, in a subset of JSON Schema. `complaints` lists errors; `quick_check` is a fast test, because
nearly all values are valid.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

# The depth of the checks: rows, their lists, the rows in these and their fields, but not the points of a series.
_DEPTH: Final = 4


def since_ms(answer: Mapping[str, object]) -> int:
    """Return the start time of a broker's recorded data; 0: it is missing or not a number."""
    kept_ms = answer.get("kept_since_ms")
    return kept_ms if isinstance(kept_ms, int) else 0


def valid_rows(subject: str, rows: object) -> tuple[list[dict[str, Any]], str]:
    """Return the rows that match `facts.json`, and the error of the first invalid row, or "".

    Additional fields of a row are kept: a later release may have more.
    """
    if not isinstance(rows, list):
        return [], f"{subject}: {rows!r} is not an array"
    is_fitting = _check(subject)
    kept: list[dict[str, Any]] = []
    wrong = ""
    for row in rows:
        if is_fitting(row):
            kept.append(row)
        elif not wrong:
            definitions = _definitions()
            wrong, *_ = complaints(row, definitions[subject], definitions, subject, _DEPTH, bears_more=True)
    return kept, wrong


@cache
def _check(subject: str) -> Callable[[Any], bool]:
    definitions = _definitions()
    return quick_check(definitions[subject], definitions, _DEPTH)


@cache
def _definitions() -> dict[str, dict[str, Any]]:
    schema = json.loads(resources.files("barnabas.explain").joinpath("facts.json").read_text(encoding="utf-8"))
    definitions: dict[str, dict[str, Any]] = schema["$defs"]
    return definitions


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "anyOf"}


def complaints(
    value: Any,
    schema: dict[str, Any],
    defs: dict[str, Any],
    where: str = "",
    depth: int = 100,
    *,
    bears_more: bool = False,
) -> list[str]:
    """Return the errors of a value, one line each; empty: it is valid.

    Args:
        defs: The definitions for `$ref`.
        where: The path of the value, for the error lines.
        depth: The most levels of nested values to check.
        bears_more: Allow members that are not in the schema, because a later release may have them.
    """
    if "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "anyOf" in schema:
        found = [complaints(value, each, defs, where, depth, bears_more=bears_more) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is none of {schema['enum']}"]
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{where}: {value!r} is no {kind}"]
    errors: list[str] = []
    if not depth:
        return errors

    def look_at(part: Any, schema: dict[str, Any], name: object) -> None:
        errors.extend(complaints(part, schema, defs, f"{where}/{name}", depth - 1, bears_more=bears_more))

    if isinstance(value, dict):
        properties = schema.get("properties", {})
        errors += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, part in value.items():
            other = schema.get("additionalProperties", {})
            if name in properties:
                look_at(part, properties[name], name)
            elif other is False:
                if not bears_more:
                    errors.append(f"{where}: {name} is nothing that is known")
            elif other:
                look_at(part, other, name)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            errors.append(f"{where}: {len(value)} items")
        for index, part in enumerate(value):
            look_at(part, schema["items"], index)
    return errors


def quick_check(schema: dict[str, Any], defs: dict[str, Any], depth: int) -> Callable[[Any], bool]:
    """Return a fast predicate for values without `complaints`, where unknown members are allowed.

    Args:
        defs: The definitions for `$ref`.
        depth: The most levels of nested values to check.
    """
    if "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        checks = [quick_check(each, defs, depth) for each in schema["anyOf"]]
        return lambda value: any(check(value) for check in checks)
    if "enum" in schema:
        return lambda value: value in schema["enum"]
    types = frozenset(_TYPES[schema["type"]])
    if depth and dict in types:
        return _object_check(schema, defs, depth - 1)
    if depth and list in types:
        return _array_check(schema, defs, depth - 1)
    return lambda value: type(value) in types


def _object_check(schema: dict[str, Any], defs: dict[str, Any], depth: int) -> Callable[[Any], bool]:
    required = frozenset(schema.get("required", ()))
    known = {name: quick_check(part, defs, depth) for name, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    other = quick_check(others, defs, depth) if others else None

    def is_object(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, part in value.items():
            check = known.get(name, other)
            if check is not None and not check(part):
                return False
        return True

    return is_object


def _array_check(schema: dict[str, Any], defs: dict[str, Any], depth: int) -> Callable[[Any], bool]:
    least, most, items = schema.get("minItems", 0), schema.get("maxItems"), schema["items"]
    check = quick_check(items, defs, depth)
    types = _TYPES.get(items.get("type", ""), ())
    simple = frozenset(types) if not depth or not {dict, list} & set(types) else frozenset()

    def is_array(value: Any) -> bool:
        if type(value) is not list or len(value) < least or (most is not None and len(value) > most):
            return False
        return {*map(type, value)} <= simple if simple else all(map(check, value))

    return is_array
