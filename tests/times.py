"""How long the parts of a run took, and its slowest tests: printed at the end of every run of more than one part.

Seconds are those of the tests themselves, fixtures included; where several run at once they add up to more than the
run took.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

PARTS = ("compat", "pipeline", "docs", "integration", "simulation", "property", "golden", "unit")
"""The directories of tests, those with the longest files first: what is long must not be begun last."""
_SLOWEST_COUNT = 15


class Timed(NamedTuple):
    """One phase (set-up, call, tear-down) of a test."""

    node_id: str
    duration_s: float


def part_of(node_id: str) -> str:
    """The part that a test belongs to: "unit" of "tests/unit/broker/net/test_framing.py::test_a_frame"."""
    path = node_id.split("::")[0].split("/")
    return path[1] if len(path) > 2 and path[0] == "tests" else path[0]


def table(phases: Iterable[Timed], run_s: float, worker_count: int) -> list[str]:
    """The lines to print; none where only one part was run.

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
    slowest = sorted(durations.items(), key=lambda item: -item[1])[:_SLOWEST_COUNT]
    return [*lines, "", "slowest:", *(f"{duration_s:6.1f} s  {node_id}" for node_id, duration_s in slowest)]
