"""A program that commits to a table until it has made so many commits, to be killed meanwhile.

    python -m tests.pipeline.appending FORMAT LOCATION COUNT SCRATCH [DIES_AFTER]

It goes on where the table says that its run is, and prints a line for each commit. Most commits add rows; every fourth
writes the whole table anew, and after every third its small files are written together. DIES_AFTER is the commit after
which it kills itself at once.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN = "appending"
ROWS_PER_COMMIT = 50


def is_rewrite(sequence: int) -> bool:
    return sequence % 4 == 0


def expected_offsets(count: int) -> list[int]:
    """Give what the table holds after so many commits."""
    return [
        offset
        for sequence in range(1, count + 1)
        if not is_rewrite(sequence)
        for offset in range(sequence * ROWS_PER_COMMIT, (sequence + 1) * ROWS_PER_COMMIT)
    ]


def commit_until(spark: SparkSession, format_name: str, location: str, count: int, dies_after: int) -> None:
    table = open_table(spark, location, format_name)
    done = table.progress(RUN)
    for sequence in range(done.sequence + 1 if done else 1, count + 1):
        start = sequence * ROWS_PER_COMMIT
        progress = Progress(RUN, sequence, "cluster", {"topic": {0: start + ROWS_PER_COMMIT}}, {})
        if is_rewrite(sequence):
            table.replace(table.read(), progress)
        else:
            rows = spark.range(start, start + ROWS_PER_COMMIT, 1, 2)
            table.append(rows.selectExpr("'topic' AS _topic", "0 AS _partition", "id AS _offset"), progress)
        if sequence == dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        print(sequence, flush=True)
        if sequence % 3 == 0:
            table.compact()


def main() -> None:
    format_name, location, count, scratch, *rest = sys.argv[1:]
    with spark_session("appending", scratch=Path(scratch), settings={"spark.log.level": "OFF"}) as spark:
        commit_until(spark, format_name, location, int(count), int(rest[0]) if rest else 0)


if __name__ == "__main__":
    main()
