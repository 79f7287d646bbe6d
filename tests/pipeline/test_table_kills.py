"""A driver that is killed again and again while it commits: what it meant to write is there, once.

In `scripts/test` a driver with Delta is killed by `test_kills.py`, and Parquet's commits, at each step, by
`test_table_parquet.py`. BARNABAS_KILLS says how often (for a soak); BARNABAS_SEED repeats a run's choices, as far as
the machine does.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.pipeline.tables.formats import open_table
from tests.patience import PATIENCE_S
from tests.pipeline.appending import RUN, expected_offsets
from tests.spark import shared_session

KILLS = int(os.environ.get("BARNABAS_KILLS", "6"))
FORMATS = ["delta", "parquet"]

# Each kill costs a start of Spark.
pytestmark = [pytest.mark.whole, pytest.mark.timeout(600 + 60 * KILLS)]


class Driver:
    """One process of the program; its lines are the commits that it has made."""

    def __init__(self, format_name: str, location: Path | str, count: int, scratch: Path, *dies: int) -> None:
        arguments = [format_name, str(location), str(count), str(scratch), *map(str, dies)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.appending", *arguments], stdout=subprocess.PIPE, text=True
        )

    def kill_after(self, commit_count: int, delay_s: float) -> bool:
        """Kill it a while after so many commits; False when it had ended before."""
        assert self.process.stdout is not None
        for _ in range(commit_count):
            self.process.stdout.readline()
        try:
            self.process.wait(delay_s)
            has_ended = True
        except subprocess.TimeoutExpired:
            has_ended = False
        self.process.send_signal(signal.SIGKILL)
        self.finish()
        return not has_ended

    def finish(self) -> int:
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_are_there_once_whenever_the_driver_is_killed(
    format_name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("BARNABAS_SEED", time.time_ns() % 1_000_000))
    print(f"BARNABAS_SEED={seed}")
    chance = random.Random(seed)
    count = 2 * KILLS
    kills = 0
    table = tmp_path / "table"
    while kills < KILLS:
        driver = Driver(format_name, table, count, tmp_path / "scratch")
        # Commits take about a second: so it may be anywhere within one, or within a compaction.
        if not driver.kill_after(chance.randint(1, 3), chance.uniform(0, 1.5)):
            count += 4
        kills += 1
    assert Driver(format_name, table, count, tmp_path / "scratch").finish() == 0
    record_property("kills", kills)
    seen = open_table(shared_session(), str(table), format_name)
    assert sorted(row["_offset"] for row in seen.read().collect()) == expected_offsets(count)
    progress = seen.progress(RUN)
    assert progress is not None
    assert progress.sequence == count


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_kill_right_after_the_commit_doubles_nothing(format_name: str, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver(format_name, table, 5, tmp_path / "scratch", 2)
    assert driver.finish() == -signal.SIGKILL
    seen = open_table(shared_session(), str(table), format_name)
    assert seen.progress(RUN).sequence == 2
    assert Driver(format_name, table, 5, tmp_path / "scratch").finish() == 0
    assert sorted(row["_offset"] for row in seen.read().collect()) == expected_offsets(5)
