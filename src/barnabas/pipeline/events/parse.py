"""Reads events in Spark, for your own jobs: Python workers read Arrow batches of records (`read.py`)."""

from collections.abc import Iterable, Iterator

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.events.read import EventReader
from barnabas.pipeline.events.types import EventType, Format


def parsed(records: DataFrame, event: EventType, format: Format = "json") -> DataFrame:
    """Read events of one type from records with a column `value` (BINARY, as in Spark's Kafka source).

    Returns:
        The same columns and two more: `reason`, why a record is bad, null if it is good; and `event`, a struct with all
        fields of the event, null if the record is bad.
    """
    reader = EventReader(event, format)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            events, reasons = reader.read(batch.column("value").to_pylist())
            arrays = [*batch.columns, pa.array(reasons, pa.string()), events]
            yield pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, "reason", "event"])

    more = [StructField("reason", StringType()), StructField("event", from_arrow_type(reader.type))]
    return records.mapInArrow(read, StructType([*records.schema.fields, *more]))
