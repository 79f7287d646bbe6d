"""Rows of changes to a database's table, out of records with Debezium's envelope (`events/envelope.py`).

A table by key has the latest row of each key: a delete takes it away as the tombstone behind it does, and a truncate
all that there are. Any other table has a row for each change, with its `_op`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.job import DELETED, KEY, PLACE
from barnabas.pipeline.runner.by_key import tombstones
from barnabas.pipeline.runner.evolving import conformed
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipeline.events.parse import Reader

_OP = "_op"


def reader_of_changes(takes_truncates: bool) -> Reader:
    """Return what reads values as changes, truncates among them or not."""
    # It needs pyarrow, which is not there where only the command line is.
    from barnabas.pipeline.events.envelope import EnvelopeReader

    return EnvelopeReader(takes_truncates)


def is_truncate(topic: str) -> str:
    """Return as SQL whether a parsed record is a truncate; null where it is none of the topic's changes."""
    return f"{quoted(topic)}.op = 't'"


def changed_rows(
    parsed_records: DataFrame, topic: str, table: Table, columns_by_key: Sequence[str]
) -> tuple[DataFrame, DataFrame]:
    """Divide a topic's changes into rows of its table and records that do not fit it.

    Args:
        parsed_records: What `RecordParser.parse` gives, with a reader of changes for the topic; if its table is by key
            and it has several partitions, truncates have a reason.
        topic: The topic's name.
        table: Where the rows will go.
        columns_by_key: What rows have by key, as SQL of `key`; none: there is a row for each change.
    """
    op, row = f"{quoted(topic)}.op", f"{quoted(topic)}.row"
    changes = parsed_records.where(f"{REASON} IS NULL AND {row} IS NOT NULL").selectExpr("*", f"{op} AS {_OP}")
    if not columns_by_key:
        return conformed(changes, table, topic, None, carried=(_OP,), text=row)
    rows, misfits = conformed(changes.where(f"{op} IN ('c', 'r', 'u')"), table, topic, None, columns_by_key, text=row)
    rows = rows.unionByName(tombstones(parsed_records, topic, f"{op} = 'd'"), allowMissingColumns=True)
    truncate = changes.where(is_truncate(topic)).orderBy("_offset", ascending=False).limit(1)
    return rows if truncate.isEmpty() else _truncated(rows, truncate, table), misfits


def _truncated(rows: DataFrame, truncate: DataFrame, table: Table) -> DataFrame:
    """Return the rows and, where the truncate stands, a deleted one of each key that they or the table have."""
    keys = rows.select(KEY)
    if table.exists():
        keys = keys.union(table.read().select(KEY))
    gone = keys.distinct().crossJoin(truncate.select(*PLACE)).selectExpr(*PLACE, KEY, f"true AS {DELETED}")
    return rows.unionByName(gone, allowMissingColumns=True)
