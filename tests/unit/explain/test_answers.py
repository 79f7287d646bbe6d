"""What brokers tell in another form than rules read is left out, and said."""

from typing import Any

import pytest

from barnabas.explain.answers import since_ms, valid_rows

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
