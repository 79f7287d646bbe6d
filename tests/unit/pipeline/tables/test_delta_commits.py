"""Commits of Delta tables without rows, and so without Spark."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.types import LongType, StructType

from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.table import Progress, TableMovedError

COLUMNS = StructType().add("x", LongType())
NO_SESSION: Any = None


def at_the_same_time(writers: Sequence[Callable[[], str]]) -> list[str]:
    """Run writers in threads; give what they return, or the kinds of their errors."""
    barrier, outcomes = threading.Barrier(len(writers)), list[str]()

    def run(writer: Callable[[], str]) -> None:
        barrier.wait()
        try:
            outcomes.append(writer())
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(outcomes)


def writer(path: Path, run: str, commit_count: int) -> Callable[[], str]:
    def write() -> str:
        table = DeltaLakeTable(NO_SESSION, str(path))
        for sequence in range(1, commit_count + 1):
            table.append_files([], COLUMNS, Progress(run, sequence, "cluster", {}, {}))
        return "written"

    return write


def test_of_two_first_commits_of_a_run_at_the_same_time_one_is_made(tmp_path: Path) -> None:
    for number in range(20):
        outcomes = at_the_same_time([writer(tmp_path / str(number), "load", 1)] * 2)
        assert outcomes == [TableMovedError.__name__, "written"], number


def test_runs_at_the_same_time_know_how_far_they_have_come(tmp_path: Path) -> None:
    runs = ("one", "two", "three")
    for number in range(20):
        path = tmp_path / str(number)
        assert at_the_same_time([writer(path, run, 3) for run in runs]) == ["written"] * 3, number
        table = DeltaLakeTable(NO_SESSION, str(path))
        assert [progress and progress.sequence for progress in map(table.progress, runs)] == [3] * 3
