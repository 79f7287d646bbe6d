"""The table of times at the end of a run."""

from pathlib import Path

import pytest

from tests.times import PARTS, Timed, by_file, known_times, part_of, table, write_known_times

PHASES = [
    Timed("tests/unit/broker/net/test_framing.py::test_a", 0.1),
    Timed("tests/unit/broker/net/test_framing.py::test_a", 2.0),
    Timed("tests/unit/broker/net/test_framing.py::test_b[tests/x]", 1.0),
    Timed("tests/compat/test_kcat.py::test_c", 30.0),
]


def test_a_run_of_several_parts_is_summed_up_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_CHECKS_S", "38")
    assert table(PHASES, 20.0, 2) == [
        "| part | tests | seconds |",
        "| --- | --- | --- |",
        "| compat | 1 | 30 |",
        "| unit | 2 | 3 |",
        "| all, 2 at once | 3 | 20 |",
        "| scripts/check before them | | 38 |",
        "",
        "slowest files:",
        "  30.0 s  tests/compat/test_kcat.py",
        "   3.1 s  tests/unit/broker/net/test_framing.py",
        "",
        "slowest:",
        "  30.0 s  tests/compat/test_kcat.py::test_c",
        "   2.1 s  tests/unit/broker/net/test_framing.py::test_a",
        "   1.0 s  tests/unit/broker/net/test_framing.py::test_b[tests/x]",
    ]


def test_a_run_of_one_part_prints_nothing() -> None:
    assert table(PHASES[:3], 3.0, 1) == []


def test_every_directory_of_tests_is_a_part(request: pytest.FixtureRequest) -> None:
    directories = {path.parent.name for path in (request.config.rootpath / "tests").glob("*/test_*.py")}
    assert directories == set(PARTS)


def test_a_test_outside_of_the_parts_is_one_of_its_own() -> None:
    assert part_of("benchmarks/micro/test_crc.py::test_crc") == "benchmarks"


def test_the_longest_files_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "file_times.txt"
    write_known_times({**by_file(PHASES), "tests/unit/test_short.py": 0.4}, path)
    assert list(known_times(path).items()) == [
        ("tests/compat/test_kcat.py", 30),
        ("tests/unit/broker/net/test_framing.py", 3),
    ]
