"""Layout of a table: partition columns, sort columns, size of compacted files, retention of old versions.

Partition columns are written as in Iceberg's SQL: `day(time)`, `bucket(16, user)`, `country`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipeline.tables.table import MEGABYTE, TableError

COMPACTED_FILE_BYTES = 128 * MEGABYTE

_TIMES = ("year", "month", "day", "hour")
_NUMBERED = ("bucket", "truncate")
# Supported transforms, by format. For PostgreSQL, partition columns of jobs are accepted but not applied.
_POSSIBLE = {
    "delta": ("identity", *_TIMES, "truncate"),
    "iceberg": ("identity", *_TIMES, *_NUMBERED),
    "parquet": ("identity",),
    "postgresql": ("identity",),
}
_TEXT = re.compile(r"\s*(?:(?P<transform>\w+)\s*\(\s*(?:(?P<number>\d{1,9})\s*,\s*)?)?(?P<column>[^(),]+?)\s*\)?\s*")


@dataclass(frozen=True, slots=True)
class Division:
    """One partition column: a column of the rows, or a transform of one.

    `transform` is identity, year, month, day, hour, bucket (of `number` buckets) or truncate (to a length of `number`).
    """

    column: str
    transform: str = "identity"
    number: int = 0

    @property
    def name(self) -> str:
        """Name of the partition column, formed as Iceberg does."""
        if self.transform == "identity":
            return self.column
        return f"{self.column}_{'trunc' if self.transform == 'truncate' else self.transform}"

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        return f"{self.transform}({f'{self.number}, ' if self.number else ''}{self.column})"


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a table.

    Attributes:
        partition_columns: Columns that partition the table; used when the table is created.
        sorted_by: Columns that the rows of a file are sorted by.
        file_bytes: Target size of compacted files.
        keep_history_s: Retention of old versions, which overrides the table's properties; infinite: nothing expires.
            None: the table's properties apply; a new table gets its format's usual retention.
    """

    partition_columns: tuple[Division, ...] = ()
    sorted_by: tuple[str, ...] = ()
    file_bytes: int = COMPACTED_FILE_BYTES
    keep_history_s: float | None = None

    @property
    def partition_names(self) -> list[str]:
        """Names of the partition columns."""
        return [each.name for each in self.partition_columns]


PLAIN = Layout()


def parse_divisions(text: str) -> tuple[Division, ...]:
    """Parse partition columns and transforms, separated by commas; raise TableError if one is invalid."""
    return tuple(_parse(part) for part in re.split(r",(?![^()]*\))", text) if part.strip())


def check_divisions(divisions: Sequence[Division], format_name: str) -> None:
    """Raise TableError if tables of a format can't have such partition columns."""
    possible = _POSSIBLE[format_name]
    for division in divisions:
        if division.transform not in possible:
            listed = ", ".join(possible).replace("identity", "a column")
            raise TableError(f"{division} is not supported for {format_name} tables, only {listed}")


def _parse(text: str) -> Division:
    match = _TEXT.fullmatch(text)
    transform = (match["transform"] or "identity").lower() if match else ""
    number = int(match["number"] or 0) if match else 0
    is_known = transform in (*_TIMES, *_NUMBERED, "identity")
    if match is None or not is_known or (transform in _NUMBERED) != (number > 0) or text.count("(") != text.count(")"):
        raise TableError(
            f"{text.strip()!r} is not a partition column: write a column, year(COLUMN), month(COLUMN), day(COLUMN), "
            "hour(COLUMN), bucket(N, COLUMN) or truncate(N, COLUMN)"
        )
    return Division(match["column"], transform, number)
