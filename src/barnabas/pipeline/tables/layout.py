"""How a table lies: what its files are divided and sorted by, how large they become, how long its past is kept.

What divides files is written as in Iceberg's SQL: `day(time)`, `bucket(16, user)`, `country`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipeline.tables.table import MEGABYTE, TableError

COMPACTED_FILE_BYTES = 128 * MEGABYTE

_TIMES = ("year", "month", "day", "hour")
_NUMBERED = ("bucket", "truncate")
# By format, what can divide files. In PostgreSQL nothing does, and what jobs say of theirs is left to the server.
_POSSIBLE = {
    "delta": ("identity", *_TIMES, "truncate"),
    "iceberg": ("identity", *_TIMES, *_NUMBERED),
    "parquet": ("identity",),
    "postgresql": ("identity",),
}
_TEXT = re.compile(r"\s*(?:(?P<transform>\w+)\s*\(\s*(?:(?P<number>\d{1,9})\s*,\s*)?)?(?P<column>[^(),]+?)\s*\)?\s*")


@dataclass(frozen=True, slots=True)
class Division:
    """One thing that a table's files are divided by: a column, or what a transform makes of it.

    `transform` is identity, year, month, day, hour, bucket (of `number` of them) or truncate (to a length of `number`).
    """

    column: str
    transform: str = "identity"
    number: int = 0

    @property
    def name(self) -> str:
        """Its name where it needs one, which is Iceberg's."""
        if self.transform == "identity":
            return self.column
        return f"{self.column}_{'trunc' if self.transform == 'truncate' else self.transform}"

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        return f"{self.transform}({f'{self.number}, ' if self.number else ''}{self.column})"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table lies.

    Attributes:
        partition_columns: What its files are divided by; counts when the table is made.
        sorted_by: The columns that the rows in a file are sorted by.
        file_bytes: How large files become when small ones are written together.
        keep_history_s: For how long a reader can ask for the table as it was, whatever its own properties say;
            infinite: they are left alone. None: as they say; a new one is given its format's usual time.
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
    """Read partition columns and transforms, with commas between; raise TableError if one is invalid."""
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
