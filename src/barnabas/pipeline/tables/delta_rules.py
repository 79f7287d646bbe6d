"""Rules of Delta tables that other programs made: what Barnabas checks, and what it refuses.

| rule | rows are |
| --- | --- |
| column mapping, a CHECK constraint, an invariant, a field of an object that is NOT NULL | refused, as the table |
| a column that is NOT NULL | checked |
| a file whose path delta-rs would log in another form | appended; the file is neither rewritten nor compacted |

Source: Delta protocol, table features, column invariants, CHECK constraints; deltalake 1.6.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.sql.types import StructType

from barnabas.pipeline.tables.data_files import DataFile
from barnabas.pipeline.tables.table import RowsRefusedError, TableError

if TYPE_CHECKING:
    import deltalake

_CHECK = "delta.constraints."
_INVARIANT = "delta.invariants"
# Characters that delta-rs does not escape in the paths of its log, besides letters, digits and `_.-~`.
_NOT_ESCAPED = "!$&'()+,/:;=@"


def schema_of(table: deltalake.DeltaTable) -> StructType:
    """Return the columns of a table as Spark has them."""
    return StructType.fromJson(json.loads(table.schema().to_json()))


def check_features(table: deltalake.DeltaTable, location: str) -> None:
    """Raise TableError if a table uses a feature that is not supported, and that delta-rs does not refuse itself."""
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise TableError(
            f"{location}: the table uses the Delta feature columnMapping, which is not supported: rewrite it "
            "without the feature (CREATE TABLE ... AS SELECT), or load into a new table"
        )


def check_rules(table: deltalake.DeltaTable, location: str) -> None:
    """Raise TableError if a table made elsewhere has rules for its rows that Barnabas does not check."""
    checks = [name for name in table.metadata().configuration if name.startswith(_CHECK)]
    if checks:
        raise TableError(
            f"{location}: the table has the CHECK constraint {checks[0].removeprefix(_CHECK)}, which is not "
            "supported: drop it (ALTER TABLE ... DROP CONSTRAINT), or load into a new table"
        )
    for field in schema_of(table).fields:
        if _INVARIANT in field.metadata:
            raise TableError(
                f"{location}: column {field.name} has an invariant, which is not supported: load into a new table"
            )
        if isinstance(field.dataType, StructType) and not all(_are_nullable(field.dataType)):
            raise TableError(
                f"{location}: column {field.name} has a field that is NOT NULL, which is not supported: load "
                "into a new table"
            )


def check_not_null(table: deltalake.DeltaTable, files: Sequence[DataFile], location: str) -> None:
    """Raise RowsRefusedError if files have a null in a column that is NOT NULL."""
    schema = schema_of(table)
    fields = [field for field in schema.fields if not field.nullable]
    for file in files if fields else ():
        # If another writer has just created the table, the sink knew of no required columns.
        null_counts = json.loads(file.statistics)["nullCount"] | file.required_nulls
        for name in (field.name for field in fields):
            count = int(file.partition[name] is None) if name in file.partition else null_counts.get(name)
            if count is None:
                raise TableError(
                    f"{location}: column {name} is NOT NULL, and the rows lack it: drop NOT NULL (ALTER TABLE "
                    "... ALTER COLUMN ... DROP NOT NULL)"
                )
            if count:
                raise RowsRefusedError(f"column {name} of the table is NOT NULL")


def is_removable(path: str) -> bool:
    """Return whether delta-rs can remove a file, given by its path in the log.

    delta-rs escapes a path in the log, and finds the file again only if its path is escaped in the same way. Delta for
    Spark, for example, does not escape characters beyond ASCII.
    """
    return quote(unquote(path), safe=_NOT_ESCAPED) == path


def check_removable(paths: Iterable[str], location: str) -> None:
    """Raise TableError if delta-rs can't remove one of these files, given by their paths in the log."""
    for path in paths:
        if not is_removable(path):
            raise TableError(
                f"{location}: delta-rs can't remove the file {path}, because it would log the path in another form: "
                "rows can be appended, but those in this file can't be changed or deleted: load into a new table"
            )


def _are_nullable(columns: StructType) -> Iterator[bool]:
    """Yield for each field, and each field of objects within, whether it is nullable."""
    for field in columns.fields:
        yield field.nullable
        if isinstance(field.dataType, StructType):
            yield from _are_nullable(field.dataType)
