"""Records of topics without a declared schema, brought into the columns of their table, which grow with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import PLACE
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.tables.columns import quoted
from barnabas.pipeline.tables.evolution import conform
from barnabas.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_KEY, _PAYLOAD = "_record_key", "_record_value"
_BY_TOPIC = {event.topic: event for event in EVENT_TYPES.values()}


def conformed(records: DataFrame, table: Table, topic: str) -> tuple[DataFrame, DataFrame]:
    """Divide a topic's records into rows of its table and those that do not fit it.

    Args:
        records: Columns `key`, `value` (binary) and those of the place.
        table: Where the rows will go; a topic of an activity type whose table is not there yet has that type's columns.
        topic: The topic's name.

    Returns:
        Rows with the table's columns, new ones included, and those of the place; and the other records with `_reason`.
    """
    texts = records.selectExpr("CAST(value AS STRING) AS value", f"value AS {_PAYLOAD}", f"key AS {_KEY}", *PLACE)
    divided = conform(texts, _columns_of(records, table, topic))
    bad = divided.bad.selectExpr(f"{_KEY} AS key", f"{_PAYLOAD} AS value", *PLACE, f"reason AS {REASON}")
    names = [name for name in divided.good.columns if name not in (_PAYLOAD, _KEY, *PLACE)]
    return divided.good.select(*(quoted(name) for name in names), *PLACE), bad


def _columns_of(records: DataFrame, table: Table, topic: str) -> StructType | None:
    if table.exists():
        return table.read().schema
    event = _BY_TOPIC.get(topic)
    return records.sparkSession.createDataFrame([], event.ddl).schema if event else None
