"""Rows on their way into PostgreSQL: copied in parallel, by the tasks of a Spark job, into a staging table.

Spark may run a task twice, and both attempts may come to their end. Each row is marked with its attempt, and the driver
knows which attempts count, and how many rows those sent. Spark's own writer for JDBC is a third faster or so, but its
rows can't be told apart by attempt: what a task had committed before it was run again would be there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg import sql

from barnabas.pipeline.tables.postgresql_types import WITHOUT_NUL, as_lines

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_LINES_PER_WRITE = 1_000
# What a task's error says in the trace of the job's.
_PSYCOPG_ERROR = re.compile(r"psycopg\.\S+: (.+)")


class Staged(NamedTuple):
    """Rows on their way: the staging table, its columns, and which attempts of tasks count."""

    table: sql.Identifier
    schema: StructType
    attempts: list[int]
    row_count: int
    has_nul: bool


def copy_rows(rows: DataFrame, conninfo: str, table: sql.Identifier) -> Staged:
    """Copy rows into a staging table; its columns are those of a line: attempt, NULs, then those of the rows.

    Args:
        rows: In PostgreSQL's types.
        conninfo: How executors connect; with the password.
        table: The staging table.
    """
    statement = sql.SQL("COPY {} FROM STDIN").format(table).as_string(None)
    done = as_lines(rows).rdd.mapPartitions(partial(_copy_partition, conninfo, statement)).collect()
    return Staged(
        table,
        rows.schema,
        [attempt for attempt, _, _ in done],
        sum(count for _, count, _ in done),
        any(has_nul for _, _, has_nul in done),
    )


def refusal(error: Py4JJavaError) -> str | None:
    """Return what the server said to a task, out of the error of a job; None when it was something else."""
    found = _PSYCOPG_ERROR.search(str(error.java_exception.getMessage()))
    return found[1] if found else None


def _copy_partition(conninfo: str, statement: str, lines: Iterable[tuple[str]]) -> Iterator[tuple[int, int, bool]]:
    """Copy the rows of one task to the server, in an executor.

    Returns:
        The number of this attempt of the task, how many rows it sent, and whether there was a NUL in them; nothing
        where there are none.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    attempt = context.taskAttemptId()
    lines = iter(lines)
    chunk = list(islice(lines, _LINES_PER_WRITE))
    if not chunk:
        return
    count = 0
    has_nul = False
    with (
        psycopg.connect(conninfo) as connection,
        connection.cursor() as cursor,
        cursor.copy(statement.encode()) as copy,
    ):
        while chunk:
            copy.write("".join([f"{attempt}\t{line}\n" for (line,) in chunk]))
            count += len(chunk)
            has_nul = has_nul or not all(line.startswith(WITHOUT_NUL) for (line,) in chunk)
            chunk = list(islice(lines, _LINES_PER_WRITE))
    yield attempt, count, has_nul
