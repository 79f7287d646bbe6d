"""Every deliberate fault fits the code as it is now."""

import ast
from pathlib import Path

import pytest

from tests.mutations.__main__ import joined
from tests.mutations.faults import Fault, FaultError, choose, load_faults
from tests.mutations.trial import Verdict

_ROOT = Path(__file__).resolve().parents[2]


def test_every_fault_fits_the_code_and_compiles():
    for fault in load_faults():
        ast.parse(fault.mutated(_ROOT), fault.file)
        assert fault.why, fault.full_name


def test_there_are_faults_in_every_room():
    package = _ROOT / "src" / "barnabas"
    wanted = {
        ".".join(path.parent.relative_to(package).parts)
        for path in [
            *package.glob("*/__init__.py"),
            *package.glob("broker/*/__init__.py"),
            *package.glob("wire/*/__init__.py"),
        ]
    } - {"broker", "wire"}
    found = {fault.room for fault in load_faults()}
    assert sorted(room for room in wanted if not any(f"{each}.".startswith(f"{room}.") for each in found)) == []


def test_a_fault_whose_text_is_gone_says_where_it_stands_now(tmp_path: Path):
    package = tmp_path / "src" / "barnabas" / "core"
    package.mkdir(parents=True)
    (package / "here.py").write_text("x = 1\n")
    (package / "there.py").write_text("y = 2\ny = 2\n")
    fault = Fault("core", "name", "core/here.py", "y = 2", "y = 3", "why")
    with pytest.raises(
        FaultError, match=r"core/name: the old text stands 0 times in core/here.py; it stands in core/t"
    ):
        fault.mutated(tmp_path)
    assert Fault("core", "name", "core/here.py", "x = 1", "x = 2", "why").mutated(tmp_path) == "x = 2\n"


def test_faults_are_chosen_by_room_and_by_name():
    faults = [
        Fault(room, name, "", "", "", "") for room, name in (("broker.log", "a"), ("broker.net", "b"), ("core", "c"))
    ]
    assert [fault.name for fault in choose(faults, ["broker"])] == ["a", "b"]
    assert [fault.name for fault in choose(faults, ["core", "broker.log/a"])] == ["c", "a"]
    assert [fault.name for fault in choose(faults, [])] == ["a", "b", "c"]
    with pytest.raises(FaultError, match="called d"):
        choose(faults, ["d"])


def test_of_several_runs_the_last_one_that_found_a_fault_counts():
    def run(**tests: str) -> dict[str, Verdict]:
        return {name: Verdict(name, test, "", True, 1.0) for name, test in tests.items()}

    runs = [run(a="old", b="old", c=""), run(a="new", b="", d="")]
    assert {name: verdict.test for name, verdict in joined("abcde", runs).items()} == {
        "a": "new",
        "b": "old",
        "c": "",
        "d": "",
    }
