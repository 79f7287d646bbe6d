"""Commits of Delta tables without rows, and so without Spark."""

import threading
from pathlib import Path
from typing import Any

from pyspark.sql.types import LongType, StructType

from barnabas.pipeline.tables.delta_lake import DeltaLakeTable
from barnabas.pipeline.tables.table import Progress, TableMovedError

COLUMNS = StructType().add("x", LongType())
NO_SESSION: Any = None


def test_of_two_first_commits_of_a_run_at_the_same_time_one_is_made(tmp_path: Path) -> None:
    for number in range(20):
        barrier, outcomes = threading.Barrier(2), list[str]()

        def write(table: DeltaLakeTable, barrier: threading.Barrier, outcomes: list[str]) -> None:
            barrier.wait()
            try:
                table.append_files([], COLUMNS, Progress("load", 1, "cluster", {}, {}))
            except TableMovedError:
                outcomes.append("refused")
            else:
                outcomes.append("written")

        tables = [DeltaLakeTable(NO_SESSION, str(tmp_path / str(number))) for _ in range(2)]
        threads = [threading.Thread(target=write, args=(table, barrier, outcomes)) for table in tables]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["refused", "written"], number
