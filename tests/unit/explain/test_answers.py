"""What brokers tell in another form than rules read is left out, and said."""

import random
from typing import Any

import pytest

from barnabas.explain.answers import _definitions, complaints, quick_check, since_ms, valid_rows

HOLD = {
    "first_ms": 1,
    "last_ms": 2,
    "count": 3,
    "user": "u",
    "client_id": "c",
    "quota": "producer_byte_rate",
    "throttle_ms": 4,
    "total_ms": 5,
}


def test_a_row_is_kept_as_it_is_told() -> None:
    assert valid_rows("holds", [HOLD]) == ([HOLD], "")


def test_what_a_later_release_tells_beside_is_borne() -> None:
    later = {**HOLD, "color": "red"}
    assert valid_rows("holds", [later]) == ([later], "")


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ({name: value for name, value in HOLD.items() if name != "count"}, "holds: count is missing"),
        ({**HOLD, "last_ms": "yesterday"}, "holds/last_ms: 'yesterday' is no integer"),
        ("a row", "holds: 'a row' is no object"),
        (None, "holds: None is no object"),
        ([], "holds: [] is no object"),
    ],
)
def test_another_form_is_left_out_and_said(row: Any, wrong: str) -> None:
    assert valid_rows("holds", [row, HOLD]) == ([HOLD], wrong)


@pytest.mark.parametrize("rows", [None, 7, "rows", {"count": 1}])
def test_what_are_no_rows_are_none(rows: Any) -> None:
    assert valid_rows("holds", rows) == ([], f"holds: {rows!r} is not an array")


@pytest.mark.parametrize(
    ("told", "kept_ms"),
    [({}, 0), ({"kept_since_ms": None}, 0), ({"kept_since_ms": "today"}, 0), ({"kept_since_ms": 7}, 7)],
)
def test_since_when_is_a_number(told: dict[str, object], kept_ms: int) -> None:
    assert since_ms(told) == kept_ms


def test_parts_of_parts_are_looked_at() -> None:
    group = {
        "group": "g",
        "state": "Stable",
        "generation": 1,
        "protocol": "range",
        "member_count": 1,
        "loaded_ms": None,
        "rebalances": [{"began_ms": 1}],
        "commits": [],
    }
    rows, wrong = valid_rows("groups", [group])
    assert rows == []
    assert wrong.startswith("groups/rebalances/0: ")
    assert valid_rows("groups", [{**group, "rebalances": []}])[1] == ""


DEFINITIONS = _definitions()
DEPTH = 4
OTHERS: list[Any] = [None, True, 1, 1.5, "x", [], [1, "x"], [[1, 2], [3]], {}, {"topic": [None]}, {"ends": [[1, 2]]}]


def _value(dice: random.Random, schema: dict[str, Any]) -> Any:
    """Make a value that a schema describes, with a fault now and then."""
    if "$ref" in schema:
        schema = DEFINITIONS[schema["$ref"].removeprefix("#/$defs/")]
    if dice.random() < 0.01:
        return dice.choice(OTHERS)
    if "anyOf" in schema:
        return _value(dice, dice.choice(schema["anyOf"]))
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema["type"]:
        case "object":
            known = schema.get("properties", {}).items()
            made = {name: _value(dice, part) for name, part in known if dice.random() > 0.01}
            return made | ({"more": dice.choice(OTHERS)} if dice.random() < 0.1 else {})
        case "array":
            count = schema.get("minItems", dice.randrange(3))
            return [_value(dice, schema["items"]) for _ in range(count)]
        case kind:
            return {"string": "a", "integer": 3, "number": 1.5, "boolean": True, "null": None}[kind]


def test_the_quick_check_says_the_same() -> None:
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    checks = {name: quick_check(schema, DEFINITIONS, DEPTH) for name, schema in DEFINITIONS.items()}
    seen = set()
    for _ in range(3_000):
        name = dice.choice(sorted(DEFINITIONS))
        value = _value(dice, DEFINITIONS[name])
        is_right = not complaints(value, DEFINITIONS[name], DEFINITIONS, name, DEPTH, bears_more=True)
        assert checks[name](value) is is_right, (seed, name, value)
        seen.add(is_right)
    assert seen == {True, False}
