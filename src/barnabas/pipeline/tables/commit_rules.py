"""Rules for commits to all kinds of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import literal, quoted
from barnabas.pipeline.tables.layout import Layout
from barnabas.pipeline.tables.table import Progress, TableError, TableMovedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def check_sequence(last: Progress | None, progress: Progress, location: str) -> None:
    """See that a commit is the one after its run's last.

    Raises:
        TableMovedError: it is not.
    """
    expected = last.sequence + 1 if last else 1
    if progress.sequence != expected:
        raise TableMovedError(
            f"{location}: commit {progress.sequence} of run {progress.run} is not the next one, {expected}: "
            "another writer uses the run's name, or the table was replaced"
        )


def check_layout(layout: Layout, columns: Sequence[str], location: str) -> None:
    """See that rows of these columns have those that a new table's layout speaks of.

    Raises:
        TableError: one is not there.
    """
    wanted = (*(each.column for each in layout.partition_columns), *layout.sorted_by)
    if missing := [name for name in wanted if name not in columns]:
        raise TableError(
            f"{location}: column {missing[0]} for partitioning or sorting does not exist; the columns are "
            f"{', '.join(columns)}"
        )


def check_division(there: Sequence[str], layout: Layout, location: str) -> None:
    """See that a table's files are divided as is asked for, where anything is: what it was made with stays.

    Raises:
        TableError: they are divided by something else.
    """
    wanted = [each.name for each in layout.partition_columns]
    if wanted and list(there) != wanted:
        raise TableError(
            f"{location}: it is partitioned by {', '.join(there) or 'nothing'}, which can't be changed to "
            f"{', '.join(wanted)}"
        )


def rewind_condition(offsets: Mapping[str, Mapping[int, int]], schema: StructType, location: str) -> str:
    """Return the SQL condition of the rows that a rewind deletes.

    Raises:
        TableError: the table has no columns that say where its rows were read.
    """
    missing = [name for name in ("_topic", "_partition", "_offset") if name not in schema.names]
    if missing:
        raise TableError(f"{location}: can't be rewound to offsets: it has no column {', '.join(missing)}")
    return " OR ".join(
        [
            f"(_topic = {literal(topic)} AND _partition = {int(partition)} AND _offset >= {int(offset)})"
            for topic, partitions in sorted(offsets.items())
            for partition, offset in sorted(partitions.items())
        ]
        or ["false"]
    )


def is_later(new: str, there: str, partition: str = "_partition") -> str:
    """Return as SQL, Spark's and PostgreSQL's, whether a record of a key comes after another one of the same key.

    In one partition offsets tell. A key moves when partitions are added: then the records' times do.

    Args:
        new: Name of the row that may take the place.
        there: Name of the row that has it.
        partition: Name of the column with the partition.
    """
    in_time = [f"({name}._timestamp, {name}.{partition}, {name}._offset)" for name in (new, there)]
    return (
        f"(CASE WHEN {new}.{partition} = {there}.{partition} THEN {new}._offset > {there}._offset "
        f"ELSE {in_time[0]} > {in_time[1]} END)"
    )


def with_rest(rows: DataFrame, there: DataFrame, where: str) -> DataFrame:
    """Return all rows of a table in which these take the place of those for which `where` holds."""
    return there.where(f"NOT coalesce({where}, false)").unionByName(rows)


def with_latest(
    kept: DataFrame, new: DataFrame, key: str, partition: str, gone: str, marks: Sequence[str]
) -> DataFrame:
    """Return the rows that were there after new ones of their keys, see `Table.update`."""
    from pyspark.sql import functions as F

    there, later = kept.alias("there"), new.alias("new")
    same = f"there.{quoted(key)} = new.{quoted(key)}"
    comes_later = is_later("new", "there", quoted(partition))
    is_new = F.expr(f"{same} AND {comes_later}")
    is_late = F.expr(f"{same} AND NOT {comes_later}")
    result = there.join(later, is_new, "left_anti")
    added = later.where(f"NOT ({gone})").join(there, is_late, "left_anti")
    result = result.unionByName(added, allowMissingColumns=True)
    if marks:
        columns = [f"{'new' if name in marks else 'there'}.{quoted(name)}" for name in kept.columns]
        marked = there.join(later.where(gone), is_new).selectExpr(*columns)
        result = result.unionByName(marked, allowMissingColumns=True)
    return result


def moved(progress: Progress, location: str) -> TableMovedError:
    """Return the error of a writer that came second."""
    return TableMovedError(
        f"{location}: another writer has just made commit {progress.sequence} of run {progress.run}: "
        "stop one of both, or give it another name"
    )
