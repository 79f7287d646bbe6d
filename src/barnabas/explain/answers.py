"""Validation of brokers' answers: rows with an unknown form, from another release or cut off, are dropped."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from barnabas.explain.json_schema import complaints, quick_check

# Checks rows, their lists, the rows in these and their fields; the points of a series are not checked.
_DEPTH: Final = 4


def since_ms(answer: Mapping[str, object]) -> int:
    """Return the time since which a broker keeps its data; 0: it is missing or not a number."""
    kept_ms = answer.get("kept_since_ms")
    return kept_ms if isinstance(kept_ms, int) else 0


def valid_rows(subject: str, rows: object) -> tuple[list[dict[str, Any]], str]:
    """Return the rows that match `facts.json`, and the error of the first other one; empty: none.

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
