"""Keep of what brokers tell what has the form that rules read: another release, or half a row, is no reason to fail."""

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Final

from barnabas.explain.json_schema import complaints

# A row, its lists, their rows and what these are made of; the points of a series are what they are.
_DEPTH: Final = 4


def fitting(subject: str, rows: Iterable[Any]) -> tuple[list[dict[str, Any]], str]:
    """Return the rows that are as `facts.json` has them, and what is wrong with the first other one; empty: nothing.

    What a row has beside that is let be: a later release may tell more.
    """
    definitions = _definitions()
    kept: list[dict[str, Any]] = []
    wrong = ""
    for row in rows:
        told = complaints(row, definitions[subject], definitions, subject, _DEPTH, bears_more=True)
        if not told:
            kept.append(row)
        wrong = wrong or (told[0] if told else "")
    return kept, wrong


@cache
def _definitions() -> dict[str, dict[str, Any]]:
    schema = json.loads(resources.files("barnabas.explain").joinpath("facts.json").read_text(encoding="utf-8"))
    definitions: dict[str, dict[str, Any]] = schema["$defs"]
    return definitions
