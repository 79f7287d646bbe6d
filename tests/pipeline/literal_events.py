"""Events and facts as literal rows, for jobs that are tested without a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.read import EventReader
from barnabas.pipeline.events.types import EventType
from barnabas.pipeline.job import Job
from tests.spark import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 3, 6, 19, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Give the time so many seconds after `START`."""
    return START + timedelta(seconds=seconds)


class Inputs:
    """What a job makes facts of: for each input the events that were added, numbered in their topic."""

    def __init__(self, spark: SparkSession, names: Iterable[str]) -> None:
        self._spark = spark
        self._rows: dict[str, list[dict[str, object]]] = {name: [] for name in names}
        self._numbers = count()

    def add(self, name: str, seconds: float, **fields: object) -> Inputs:
        """Add an event; what it leaves out is null, its place and id are made up."""
        number, event = next(self._numbers), EVENT_TYPES[name]
        row = dict.fromkeys(field.name for field in event.fields)
        row |= {"type": name, "version": 1, "id": f"{number:04}", "time": at(seconds)}
        row |= {"_topic": event.topic, "_partition": 0, "_offset": number, "_timestamp": at(seconds)}
        self._rows[name].append({**row, **fields})
        return self

    def tables(self) -> dict[str, pa.Table]:
        """Give them as a task has them."""
        return {name: pa.Table.from_pylist(rows, schema_of(EVENT_TYPES[name])) for name, rows in self._rows.items()}

    def facts(self, job: Job) -> DataFrame:
        """Give the facts that a job makes of them."""
        return facts_of(self._spark, job, self.tables())


def schema_of(event: EventType) -> pa.Schema:
    """Give the columns of an event's rows in a task."""
    place = [("_topic", pa.string()), ("_partition", pa.int32()), ("_offset", pa.int64())]
    return pa.schema([*EventReader(event, "json").type, *place, ("_timestamp", pa.timestamp("us", "UTC"))])


def facts_of(spark: SparkSession, job: Job, tables: Mapping[str, pa.Table]) -> DataFrame:
    """Give the facts that a job makes of events, as a run's tasks do."""
    assert job.facts is not None
    facts = pa.concat_tables([job.facts(name, table) for name, table in tables.items()])
    # Spark takes a table of several chunks for an empty one where the first is empty.
    return spark.createDataFrame(facts.combine_chunks())


VERDICT_DDL = "what STRING, subject_kind STRING, subject STRING, address STRING, agent STRING, user STRING"


def verdicts(spark: SparkSession, *accused: tuple[str, str, dict[str, str]]) -> DataFrame:
    """Give the table `verdicts`, as far as other jobs read it, from (what, kind of subject, its parts)."""
    rows = [
        {"what": what, "subject_kind": kind, "subject": " ".join(who.values()), **who} for what, kind, who in accused
    ]
    return frame_of(spark, rows, VERDICT_DDL)


def shuffled(frame: DataFrame, seed: int) -> DataFrame:
    """Give the same rows in another order, in other partitions, and each third one once more at another offset."""
    rows = [row.asDict() for row in frame.collect()]
    rows += [{**row, "_offset": 1_000_000 + number} for number, row in enumerate(rows) if number % 3 == 0]
    Random(seed).shuffle(rows)
    ordered = [tuple(row[name] for name in frame.columns) for row in rows]
    return frame.sparkSession.createDataFrame(ordered, frame.schema).repartition(1 + seed % 5)


def values(frame: DataFrame) -> list[dict[str, Any]]:
    """Give all rows, in an order of their own; rows in rows as dicts."""
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=repr)
