"""Rules for commits to all kinds of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.columns import literal, quoted
from barnabas.pipeline.tables.layout import Layout
from barnabas.pipeline.tables.table import FILE_COLUMN, Progress, Scan, TableError, TableMovedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def check_sequence(last: Progress | None, progress: Progress, location: str) -> None:
    """Raise TableMovedError unless a commit's sequence is its run's last sequence plus 1."""
    expected = last.sequence + 1 if last else 1
    if progress.sequence != expected:
        raise TableMovedError(
            f"{location}: commit {progress.sequence} of run {progress.run} is not the next one, {expected}: "
            "another writer uses the run's name, or the table was replaced"
        )


def check_layout(layout: Layout, columns: Sequence[str], location: str) -> None:
    """Raise TableError if these columns lack a column that a new table's layout names."""
    wanted = (*(each.column for each in layout.partition_columns), *layout.sorted_by)
    if missing := [name for name in wanted if name not in columns]:
        raise TableError(
            f"{location}: column {missing[0]} for partitioning or sorting does not exist; the columns are "
            f"{', '.join(columns)}"
        )


def check_division(there: Sequence[str], layout: Layout, location: str) -> None:
    """Raise TableError if a layout's partition columns, if any, differ from the table's, which can't be changed."""
    wanted = layout.partition_names
    if wanted and list(there) != wanted:
        raise TableError(
            f"{location}: it is partitioned by {', '.join(there) or 'nothing'}, which can't be changed to "
            f"{', '.join(wanted)}"
        )


def rewind_condition(
    offsets: Mapping[str, Mapping[int, int]],
    ends: Mapping[str, Mapping[int, int]],
    schema: StructType,
    location: str,
) -> str:
    """Return the condition, as SQL of Spark, of the rows that a rewind deletes (see `Table.delete_rows`).

    Raises:
        TableError: rows have no offsets.
    """
    missing = [name for name in ("_topic", "_partition", "_offset") if name not in schema.names]
    if missing:
        raise TableError(f"{location}: can't be rewound to offsets: it has no column {', '.join(missing)}")
    conditions = []
    for topic, partitions in sorted(offsets.items()):
        for number, offset in sorted(partitions.items()):
            end = ends.get(topic, {}).get(number)
            before = "" if end is None else f" AND _offset < {int(end)}"
            conditions.append(
                f"(_topic = {literal(topic)} AND _partition = {int(number)} AND _offset >= {int(offset)}{before})"
            )
    return " OR ".join(conditions) or "false"


def is_later(new: str, there: str) -> str:
    """Return the condition, in SQL of Spark and PostgreSQL, that a record is later than another one of the same key.

    Records of one partition are compared by offset. A key moves to another partition when partitions are added; then
    records are compared by timestamp. Any record is later than a row without offset, which another program added.

    Args:
        new: Name of the new row.
        there: Name of the table's row.
    """
    in_time = [f"({name}._timestamp, {name}._partition, {name}._offset)" for name in (new, there)]
    return (
        f"coalesce(CASE WHEN {new}._partition = {there}._partition THEN {new}._offset > {there}._offset "
        f"ELSE {in_time[0]} > {in_time[1]} END, true)"
    )


def without(scan: Scan, where: str) -> tuple[list[str], DataFrame]:
    """Return the names of files with rows that match a condition, and the other rows of these files."""
    names = _files_with(scan.read(scan.files).where(where))
    return names, scan.read(names).where(f"NOT coalesce({where}, false)").drop(FILE_COLUMN)


def updated(
    scan: Scan, new: DataFrame, key: Sequence[str], gone: str, marks: Sequence[str]
) -> tuple[list[str], DataFrame]:
    """Return the names of files that have rows with keys of new rows, and the rows that replace these files.

    The arguments `key`, `gone` and `marks` are those of `Table.update`.
    """
    keys = new.select(*(new[quoted(name)].alias(f"key_{place}") for place, name in enumerate(key)))

    def with_keys(there: DataFrame, how: str) -> DataFrame:
        # Null equals null.
        same = [there[quoted(name)].eqNullSafe(keys[f"key_{place}"]) for place, name in enumerate(key)]
        return there.join(keys, same, how)

    names = _files_with(with_keys(scan.read(scan.files), "left_semi"))
    there = scan.read(names).drop(FILE_COLUMN)
    if gone:
        return names, _with_latest(there, new, key[0], gone, marks)
    return names, with_keys(there, "left_anti").unionByName(new, allowMissingColumns=True)


def _files_with(rows: DataFrame) -> list[str]:
    return [row[0] for row in rows.select(FILE_COLUMN).distinct().collect()]


def _with_latest(kept: DataFrame, new: DataFrame, key: str, gone: str, marks: Sequence[str]) -> DataFrame:
    """Return existing rows with new rows of their keys applied, some of which are `gone` (`Table.update`)."""
    from pyspark.sql import functions as F

    columns = [quoted(name) for name in kept.columns]
    there = kept.select(F.struct(*columns).alias("there"))
    later = new.select(F.struct(*columns).alias("new"), F.expr(gone).alias("is_gone"))
    # One join: a table may be larger than memory, and each join shuffles and sorts all of it.
    both = there.join(later, F.expr(f"there.{quoted(key)} = new.{quoted(key)}"), "full_outer")
    is_new = f"new IS NOT NULL AND (there IS NULL OR {is_later('new', 'there')})"
    row = f"CASE WHEN NOT ({is_new}) THEN there WHEN NOT is_gone THEN new"
    if marks:
        values = (f"{literal(name)}, {'new' if name in marks else 'there'}.{quoted(name)}" for name in kept.columns)
        row += f" WHEN there IS NOT NULL THEN named_struct({', '.join(values)})"
    return both.selectExpr(f"{row} END AS row").where("row IS NOT NULL").select("row.*")


def check_key(key: Sequence[str], columns: Sequence[str], location: str) -> None:
    """Raise TableError if these columns lack a column of the key."""
    if missing := [name for name in key if name not in columns]:
        raise TableError(f"{location}: rows have no column {missing[0]} of the key")


def moved(progress: Progress, location: str) -> TableMovedError:
    """Return the error for a writer that lost a race: another writer has made this commit of the run."""
    return TableMovedError(
        f"{location}: another writer has just made commit {progress.sequence} of run {progress.run}: "
        "stop one of both, or give it another name"
    )
