"""`python -m benchmarks.attacks.bounds`: exceed each resource limit in docs/security.md.

Runs the tests that tests/docs/promises.toml names for each row of the table "Resource limits", and prints whether they
passed and how long they took.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
DOCUMENT = "docs/security.md"
HEADING = "## Resource limits"


class Bound(NamedTuple):
    """A row of the table.

    Attributes:
        tests: Names of tests, as in pytest.
    """

    what: str
    bound: str
    beyond: str
    tests: list[str]


class Outcome(NamedTuple):
    """The outcome of one test, over all its parameters."""

    has_passed: bool
    seconds: float


def bounds(document: str, tests: Mapping[str, Sequence[str]]) -> list[Bound]:
    """Return the rows of the table in docs/security.md.

    Args:
        tests: Names of tests by the first column of a row.

    Raises:
        ValueError: The table does not exist, or its rows differ from the keys of `tests`.
    """
    _, found, section = document.partition(f"{HEADING}\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    if not found or len(lines) < 3:
        raise ValueError(f"there is no table below {HEADING!r}")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    if differences := tests.keys() ^ {row[0] for row in rows}:
        raise ValueError(f"rows without tests, or tests without a row: {sorted(differences)}")
    return [Bound(what, bound, beyond, list(tests[what])) for what, bound, beyond in rows]


def current_bounds() -> list[Bound]:
    """Return the rows of this checkout. Raises ValueError."""
    promises = tomllib.loads((ROOT / "tests/docs/promises.toml").read_text())
    return bounds((ROOT / DOCUMENT).read_text(), promises[DOCUMENT]["resource-limits"])


def run(tests: Sequence[str]) -> dict[str, Outcome]:
    """Run tests by pytest in sequence; return the outcomes of the existing ones."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-o", "junit_family=xunit1", f"--junitxml={report}", *tests]
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        return outcomes(report.read_text()) if report.exists() else {}


def outcomes(report: str) -> dict[str, Outcome]:
    """Return the outcomes in a pytest report (xunit1), by test name."""
    found: dict[str, Outcome] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        file, function = case.get("file", ""), re.sub(r"\[.*", "", case.get("name", ""), flags=re.DOTALL)
        classes = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
        name = "::".join(part for part in (file, classes.replace(".", "::"), function) if part)
        # A skipped test proves nothing.
        is_good = all(case.find(what) is None for what in ("failure", "error", "skipped"))
        before = found.get(name, Outcome(True, 0.0))
        found[name] = Outcome(before.has_passed and is_good, before.seconds + float(case.get("time", 0)))
    return found


def table(rows: Sequence[Bound], found: Mapping[str, Outcome]) -> str:
    """Return the rows with the outcomes of their tests, in Markdown; a test that did not run has not passed."""
    lines = ["| what | bound | passed | seconds |", "| --- | --- | --- | --- |"]
    for row in rows:
        each = [found.get(test, Outcome(False, 0.0)) for test in row.tests]
        passed = "yes" if all(one.has_passed for one in each) else "NO"
        lines.append(f"| {row.what} | {row.bound} | {passed} | {sum(one.seconds for one in each):.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks.bounds", description=__doc__)
    parser.add_argument("words", nargs="*", help="run only rows with one of these words in the first column")
    words = parser.parse_args().words
    rows = current_bounds()
    rows = [row for row in rows if not words or any(word in row.what for word in words)]
    if not rows:
        parser.error(f"no row has {' or '.join(words)}")
    found = run(list(dict.fromkeys(test for row in rows for test in row.tests)))
    print(table(rows, found))
    failed = [row for row in rows if not all(found.get(test, Outcome(False, 0.0)).has_passed for test in row.tests)]
    print(f"\n{len(rows) - len(failed)} of {len(rows)} bounds held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
