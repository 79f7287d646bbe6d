"""How long the parts of a run took, and its slowest files and tests: printed at the end of a run of more than one part.

Seconds are those of the tests themselves, fixtures included; where several run at once they add up to more than the
run took. `tests/file_times.txt` keeps those of the files, so that the next run begins with the longest:
`--rewrite-times` writes it, after a whole run on a quiet machine.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

PARTS = ("compat", "pipeline", "browser", "docs", "integration", "simulation", "property", "golden", "unit")
"""The directories of tests, those with the longest files first."""
FILE_TIMES = Path(__file__).with_name("file_times.txt")
_WITH_SPARK = ("tests/pipeline/", "tests/compat/test_spark.py")
_SLOWEST_COUNT = 15
_SLOWEST_FILES_COUNT = 30
# What is shorter may come at any time.
_LEAST_NOTED_S = 2


class Timed(NamedTuple):
    """One phase (set-up, call, tear-down) of a test."""

    node_id: str
    duration_s: float


def file_of(node_id: str) -> str:
    """Return the file that a test stands in."""
    return node_id.split("::")[0]


def unit_of(node_id: str) -> str:
    """Return what one worker runs as a whole: a file, or all files that share the worker's Spark session.

    A session costs a minute of CPU until its code is compiled, so only one worker starts one.
    """
    return "spark" if node_id.startswith(_WITH_SPARK) else file_of(node_id)


def part_of(node_id: str) -> str:
    """Return the part that a test belongs to: "unit" of "tests/unit/broker/net/test_framing.py::test_a_frame"."""
    path = file_of(node_id).split("/")
    return path[1] if len(path) > 2 and path[0] == "tests" else path[0]


def by_file(phases: Iterable[Timed]) -> dict[str, float]:
    """Sum up the seconds of each file."""
    durations: dict[str, float] = defaultdict(float)
    for phase in phases:
        durations[file_of(phase.node_id)] += phase.duration_s
    return durations


def known_times(path: Path = FILE_TIMES) -> dict[str, int]:
    """Return the seconds that files took when they were noted."""
    rows = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return {file: int(seconds) for seconds, file in rows}


def write_known_times(durations: Mapping[str, float], path: Path = FILE_TIMES) -> None:
    """Note the seconds of those files that took some."""
    noted = sorted((-round(each), file) for file, each in durations.items() if round(each) >= _LEAST_NOTED_S)
    lines = ["# Seconds of the files that took some, so that a run begins with the longest: pytest --rewrite-times"]
    path.write_text("\n".join([*lines, *(f"{-seconds} {file}" for seconds, file in noted)]) + "\n")


def table(phases: Iterable[Timed], run_s: float, worker_count: int) -> list[str]:
    """Return the lines to print; none where only one part was run.

    Args:
        run_s: From the start of the run to its end, as the clock on the wall shows it.
        worker_count: How many tests ran at once.
    """
    durations: dict[str, float] = defaultdict(float)
    for phase in phases:
        durations[phase.node_id] += phase.duration_s
    parts: dict[str, list[float]] = defaultdict(list)
    for node_id, duration_s in durations.items():
        parts[part_of(node_id)].append(duration_s)
    if len(parts) < 2:
        return []
    lines = ["| part | tests | seconds |", "| --- | --- | --- |"]
    lines += [f"| {part} | {len(times)} | {sum(times):.0f} |" for part, times in sorted(parts.items())]
    lines += [f"| all, {worker_count} at once | {len(durations)} | {run_s:.0f} |"]
    # scripts/test runs the checks before, and says how long they took.
    checks_s = os.environ.get("BARNABAS_CHECKS_S")
    if checks_s:
        lines += [f"| scripts/check before them | | {checks_s} |"]
    files = by_file(Timed(node_id, duration_s) for node_id, duration_s in durations.items())
    lines += ["", "slowest files:", *_slowest(files, _SLOWEST_FILES_COUNT)]
    return [*lines, "", "slowest:", *_slowest(durations, _SLOWEST_COUNT)]


def _slowest(durations: Mapping[str, float], count: int) -> list[str]:
    return [f"{each:6.1f} s  {name}" for name, each in sorted(durations.items(), key=lambda item: -item[1])[:count]]
