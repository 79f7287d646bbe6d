"""Reading several inputs out of one stream: each record is parsed once, as an event of its own topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.events import EVENT_TYPES, EventType, Kind
from barnabas.pipeline.events.avro import encode_avro
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import Format
from barnabas.pipeline.job import TopicInput
from barnabas.pipeline.runner.inputs import REASON, RecordParser, events_of
from tests.pipeline.literal_events import PLACE_DDL, START
from tests.spark import forgets_sockets, forgotten_sockets, plan_of, shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets

TYPES = list(EVENT_TYPES.values())
ENCODE = {"json": encode_json, "avro": encode_avro}
FORMATS: list[Format] = ["json", "avro"]
VALUES = {Kind.STRING: "é", Kind.INT: 1, Kind.LONG: 2, Kind.DOUBLE: 0.5, Kind.BOOLEAN: False, Kind.TIME: START}


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def value_of(event: EventType, event_format: Format) -> bytes:
    return ENCODE[event_format](
        event, {field.name: VALUES[field.kind] for field in event.own_fields} | {"id": "1", "time": START}
    )


def inputs_of(events: list[EventType]) -> dict[str, TopicInput]:
    return {event.topic: TopicInput(event.name, event) for event in events}


def records_of(spark: SparkSession, records: list[tuple[str, bytes | None]]) -> DataFrame:
    rows = [(None, value, topic, 0, offset, START) for offset, (topic, value) in enumerate(records)]
    return spark.createDataFrame(rows, f"key BINARY, value BINARY, {PLACE_DDL}")


@pytest.mark.parametrize("count", [1, 2, len(TYPES)])
@pytest.mark.parametrize("event_format", FORMATS)
def test_each_record_is_parsed_once(spark: SparkSession, event_format: Format, count: int) -> None:
    events = TYPES[:count]
    parsed = RecordParser(inputs_of(events), event_format).parse(records_of(spark, []))
    assert plan_of(parsed).count("MapInArrow") == 1
    # Nor does what is read of it afterwards.
    good = events_of(parsed, events[0].topic, TopicInput(events[0].name, events[0]))
    assert plan_of(good).count("MapInArrow") == 1


@pytest.mark.parametrize("event_format", FORMATS)
def test_rows_and_reasons_are_those_of_each_input_alone(spark: SparkSession, event_format: Format) -> None:
    bad: list[bytes | None] = [None, b"", b"{", b"\xff\xfe"]
    records: list[tuple[str, bytes | None]] = []
    for event, other in zip(TYPES, TYPES[1:] + TYPES[:1], strict=True):
        good = value_of(event, event_format)
        records += [(event.topic, value) for value in (good, value_of(other, event_format), good[:-9], *bad)]
    frame = records_of(spark, [*records, ("of-nobody", b"x"), ("of-nobody", None)])

    def read(events: list[EventType]) -> list[Any]:
        rows = RecordParser(inputs_of(events), event_format).parse(frame).orderBy("_offset").collect()
        return [row.asDict(recursive=True) for row in rows]

    together = read(TYPES)
    assert [row["_topic"] for row in together if row[REASON] is None] == [
        *(event.topic for event in TYPES),
        *("of-nobody",) * 2,
    ]
    for event in TYPES:
        for row in together:
            is_own = row["_topic"] == event.topic
            assert (row[event.name] is not None) == (is_own and row[REASON] is None)
    # Each of them alone is another query.
    for event in TYPES[::4]:
        for row, alone in zip(together, read([event]), strict=True):
            assert row[event.name] == alone[event.name]
            if row["_topic"] == event.topic:
                assert row[REASON] == alone[REASON]


def test_spark_runs_no_method_of_its_own_that_the_jvm_does_not_compile(spark: SparkSession) -> None:
    generator = spark._jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
    limit = spark.conf.get("spark.sql.codegen.hugeMethodLimit")
    assert int(limit or 0) <= generator.DEFAULT_JVM_HUGE_METHOD_LIMIT()
