"""Test suites that others wrote for their clients, in their short forms: each test ends as it does on Kafka 2.7.2.

`python -m tests.compat.suites` runs them against both and compares.
"""

import os
from pathlib import Path

import pytest

from tests.compat.conftest import TARGET
from tests.compat.suites.runner import KAFKA, SUITES, play
from tests.compat.suites.suite import FAILED, PASSED, SKIPPED, Place, Suite, ToolMissingError


@pytest.mark.parametrize("name", ["franz-go", pytest.param("kafka-python", marks=pytest.mark.whole)])
def test_a_suite_ends_as_on_kafka(name: str, tmp_path: Path) -> None:
    suite = SUITES[name]
    try:
        suite.prepare()
    except ToolMissingError as absent:
        pytest.fail(str(absent)) if os.environ.get("CI") else pytest.skip(str(absent))
    output = tmp_path / "output.txt"
    results = play(suite, TARGET, output)
    assert PASSED in results.values()
    assert not suite.surprises(results, is_kafka=TARGET == KAFKA), output


def _nothing(_part: str, _place: Place) -> dict[str, str]:
    return {}


A_SUITE = Suite("a", "1", lambda: None, _nothing, fails={"f*": "why"}, skips={"s": "why"}, gaps={"g": "not yet"})


def test_what_is_written_down_is_no_surprise() -> None:
    results = {"f/1": FAILED, "s": SKIPPED, "g": FAILED, "p": PASSED}
    assert A_SUITE.surprises(results, is_kafka=False) == []
    assert A_SUITE.surprises({**results, "g": PASSED}, is_kafka=True) == []


def test_all_else_is_a_surprise() -> None:
    results = {"f/1": PASSED, "s": PASSED, "g": FAILED, "p": SKIPPED}
    assert A_SUITE.surprises(results, is_kafka=True) == [
        "f/1: passed, not failed",
        "g: failed, not passed",
        "p: skipped, not passed",
        "s: passed, not skipped",
    ]
    assert A_SUITE.surprises({"f/1": FAILED, "s": SKIPPED, "p": PASSED}, is_kafka=True) == ["g: no such test"]


def test_a_difference_is_told_with_its_gap() -> None:
    kafka = {"p": PASSED, "g": PASSED, "x": PASSED, "f": FAILED}
    barnabas = {"p": PASSED, "g": FAILED, "y": SKIPPED, "f": FAILED}
    assert A_SUITE.differences(kafka, barnabas) == [
        "g: passed on Kafka, failed on Barnabas (not yet)",
        "x: passed on Kafka, absent on Barnabas",
        "y: absent on Kafka, skipped on Barnabas",
    ]
