"""Reads records with Spark: Arrow batches of them go through a Python worker (`read.py`, `rows.py`).

Invariant: a record is parsed once, whatever is selected or filtered of what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas.pipeline.events.types import EventType, Format

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame


class Reader(Protocol):
    """Reads values as structs of one type."""

    @property
    def type(self) -> pa.StructType:
        """Of the structs."""

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return structs, null where there is none; and why a value is bad, None where nothing says so."""


def parsed(records: DataFrame, event: EventType, format: Format = "json") -> DataFrame:
    """Read events of one type from records.

    Args:
        records: With a column `value`: BINARY, as Kafka's source gives it.
        event: The type that is wanted.
        format: How the values are encoded.

    Returns:
        The same columns; `reason`, why a record is bad, null where it is good; and `event`, a struct with all of the
        event's fields, null where it is bad.
    """
    from pyspark.sql import functions as F

    from barnabas.pipeline.events.read import EventReader

    readers = {"": ("event", EventReader(event, format))}
    return parsed_by_topic(records.withColumn("_wanted", F.lit("")), readers, "reason", "_wanted").drop("_wanted")


def parsed_by_topic(
    records: DataFrame, readers: Mapping[str, tuple[str, Reader]], reason: str, topic: str = "_topic"
) -> DataFrame:
    """Read each record as its topic wants it.

    Args:
        records: With columns `value` and `topic`.
        readers: By topic the name of the column, and what reads it.
        reason: Name of the column that says why a record is bad.
        topic: Name of the column with the topic.

    Returns:
        The same columns; `reason`; and a column for each topic, null in records of other topics. Records of topics
        without a reader have no reason.
    """
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StringType, StructField, StructType

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _read(batch, readers, reason, topic)

    columns = [StructField(name, from_arrow_type(reader.type)) for name, reader in readers.values()]
    schema = StructType([*records.schema.fields, StructField(reason, StringType()), *columns])
    return records.mapInArrow(read, schema)


def _read(
    batch: pa.RecordBatch, readers: Mapping[str, tuple[str, Reader]], reason: str, topic_column: str
) -> pa.RecordBatch:
    # hot path: benchmarks/pipeline (every record)
    import pyarrow as pa

    count = batch.num_rows
    topics, values = batch.column(topic_column).to_pylist(), batch.column("value").to_pylist()
    columns = {name: pa.nulls(count, reader.type) for name, reader in readers.values()}
    reasons: list[str | None] = [None] * count
    for topic in readers.keys() & set(topics):
        name, reader = readers[topic]
        places = [number for number, each in enumerate(topics) if each == topic]
        if len(places) == count:
            columns[name], reasons = reader.read(values)
            break
        found, why = reader.read([values[place] for place in places])
        index: list[int | None] = [None] * count
        for number, place in enumerate(places):
            index[place], reasons[place] = number, why[number]
        columns[name] = found.take(pa.array(index, pa.int32()))
    arrays = [*batch.columns, pa.array(reasons, pa.string()), *columns.values()]
    return pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, reason, *columns])
