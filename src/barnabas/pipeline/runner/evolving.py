"""Records of topics without a declared schema, brought into the columns of their table, which grow with them.

Nearly all records have the columns that the table has: they come out of the one pass that parses them
(`events/rows.py`). The others are looked at by `tables/evolution.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.framed import TEXT, WHY, unframed
from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.job import PLACE
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.evolution import RESERVED, conform
from barnabas.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

    from barnabas.pipeline.events.rows import RowReader

_KEY, _PAYLOAD = "_record_key", "_record_value"
_BY_TOPIC = {event.topic: event for event in EVENT_TYPES.values()}


def conformed(
    records: DataFrame,
    table: Table,
    topic: str,
    registry: SchemaRegistry | None,
    columns_of_record: Sequence[str] = (),
    carried: Sequence[str] = (),
    text: str = "CAST(value AS STRING)",
) -> tuple[DataFrame, DataFrame]:
    """Divide a topic's records into rows of its table and those that do not fit it.

    Args:
        records: Columns `key`, `value` (binary) and those of the place.
        table: Where the rows will go; a topic of an activity type whose table is not there yet has that type's columns.
        topic: The topic's name.
        registry: Whose frames the values have; None: they are JSON.
        columns_of_record: What rows have behind these, as SQL of `key`.
        carried: Other columns of the records, which rows have as well.
        text: The row as JSON, as SQL of the records' columns, where there is no registry.

    Returns:
        Rows with the table's columns, new ones included, those of the place and of the record; and the other records
        with `_reason`.

    Raises:
        RegistryError: the registry failed, and is to be waited for.
    """
    columns, refused = _columns_of(records, table, topic), None
    if registry is not None:
        decoded, fields = unframed(records, registry)
        text, columns = TEXT, _with_fields(columns, fields)
        refused = decoded.where(f"{WHY} IS NOT NULL").selectExpr("key", "value", *PLACE, f"{WHY} AS {REASON}")
        records = decoded.where(f"{WHY} IS NULL")
    texts = records.selectExpr(f"{text} AS value", f"value AS {_PAYLOAD}", f"key AS {_KEY}", *carried, *PLACE)
    divided = conform(texts, columns, widens=table.widens, limits=table.column_limits)
    bad = divided.bad.selectExpr(f"{_KEY} AS key", f"{_PAYLOAD} AS value", *PLACE, f"reason AS {REASON}")
    names = [name for name in divided.good.columns if name not in (_PAYLOAD, _KEY, *carried, *PLACE)]
    rows = divided.good.withColumnRenamed(_KEY, "key")
    good = rows.selectExpr(*(quoted(name) for name in names), *PLACE, *carried, *columns_of_record)
    return good, bad if refused is None else bad.unionByName(refused)


def _with_fields(columns: StructType | None, fields: list[StructField]) -> StructType | None:
    """Return a table's columns and those of a writer's schema that it has not, of the types which that one says."""
    from pyspark.sql.types import StructField, StructType

    own = list(columns.fields) if columns else []
    there = {name.lower() for name in (*RESERVED, *(field.name for field in own))}
    for field in fields:
        if field.name.lower() not in there:
            own.append(StructField(field.name, field.dataType))
            there.add(field.name.lower())
    return StructType(own) if own else None


def reader_of_rows(records: DataFrame, table: Table, topic: str) -> RowReader | None:
    """Return what reads a topic's records as rows of its table; None as long as nobody knows its columns."""
    # It needs pyarrow, which is not there where only the command line is.
    from barnabas.pipeline.events.rows import row_reader

    columns = _columns_of(records, table, topic)
    return None if columns is None else row_reader(columns, RESERVED)


def rows_read(
    parsed_records: DataFrame, topic: str, columns_of_record: Sequence[str] = ()
) -> tuple[DataFrame, DataFrame]:
    """Divide a topic's parsed records into the rows that they were read as, and records that are left to
    be judged.

    Args:
        parsed_records: What `RecordParser.parse` gives, with a reader for the topic.
        topic: The topic's name.
        columns_of_record: What rows have behind those of the place, as SQL of `key`.
    """
    own = parsed_records.where(parsed_records["_topic"] == topic).where(f"{REASON} IS NULL")
    row = quoted(topic)
    return (
        own.where(f"{row} IS NOT NULL").selectExpr(f"{row}.*", *PLACE, *columns_of_record),
        own.where(f"{row} IS NULL AND value IS NOT NULL").select("key", "value", *PLACE),
    )


def _columns_of(records: DataFrame, table: Table, topic: str) -> StructType | None:
    if table.exists():
        return table.read().schema
    event = _BY_TOPIC.get(topic)
    return records.sparkSession.createDataFrame([], event.ddl).schema if event else None
