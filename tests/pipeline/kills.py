"""Runs `append_commits.py` and kills it: what is common to the tests of several kinds of table."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from barnabas.pipeline.tables.table import Table
from tests.patience import PATIENCE_S
from tests.pipeline.append_commits import ROW_COUNT, RUN

# How often the program is killed at random points.
KILL_COUNT = int(os.environ.get("BARNABAS_KILLS", "6"))
_MAX_DELAY_S = 1.0
_NO_END = 1_000_000


class Appending:
    """The program at work."""

    def __init__(self, format_name: str, location: str, commit_count: int, said: Path) -> None:
        self._said = said
        with said.open("wb") as stdout:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.append_commits", format_name, location, str(commit_count)],
                stdout=stdout,
                stderr=subprocess.DEVNULL,
            )

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the program brings about."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert self._process.poll() is None, f"the program has ended: {self._process.returncode}"
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def has_committed(self, count: int) -> bool:
        """Whether it has told of this many commits since it was started."""
        return self._said.read_text().count("committed") >= count

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def finish(self) -> None:
        assert self._process.wait(PATIENCE_S) == 0


@contextmanager
def appending(format_name: str, location: str, commit_count: int) -> Iterator[Appending]:
    """Start the program; it is killed at the end if it has not come to its own."""
    with tempfile.TemporaryDirectory() as directory:
        program = Appending(format_name, location, commit_count, Path(directory) / "said")
        try:
            yield program
        finally:
            program.kill()


def kill_at_random(format_name: str, table: Table, location: str, seed: int) -> int:
    """Kill the program at random points, then let it come to its end; gives how many commits there must be."""
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(KILL_COUNT):
        with appending(format_name, location, _NO_END) as program:
            # One commit, so that each start gets on; then anywhere in those that follow.
            program.wait_until(partial(program.has_committed, 1))
            time.sleep(chance.uniform(0, _MAX_DELAY_S))
    return finish(format_name, table, location)


def finish(format_name: str, table: Table, location: str) -> int:
    """Let the program make two more commits and end; gives how many commits there must be."""
    commit_count = last_sequence(table) + 2
    with appending(format_name, location, commit_count) as program:
        program.finish()
    return commit_count


def last_sequence(table: Table) -> int:
    progress = table.progress(RUN)
    return progress.sequence if progress else 0


def offsets_of(commit_count: int) -> list[int]:
    """List the offsets that so many commits of the program bring, each once."""
    return list(range(commit_count * ROW_COUNT))
