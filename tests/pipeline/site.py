"""A place to run jobs at, for tests: topics with events, a run of a job, and what it has written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from unittest.mock import patch

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from barnabas.clients import Admin, Pool, Producer
from barnabas.clients.admin import NewTopic
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.encode import encode_json, record_key
from barnabas.pipeline.job import Job
from barnabas.pipeline.runner import supervisor
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.job_run import JobRun
from barnabas.pipeline.runner.plan import RunPlan, check_plan
from barnabas.pipeline.runner.refresh import Follower
from barnabas.pipeline.runner.run_metrics import Figures, Metrics
from barnabas.pipeline.runner.supervisor import run_jobs
from barnabas.pipeline.tables.formats import open_table
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fields = Mapping[str, object]

# The supervisor's defaults, 0.2 s and 1 s, would be most of the time of a run of ten records.
_POLL_S, _FIRST_RETRY_S = 0.02, 0.1


class Site:
    """Topics of a test's own at a broker, and runs of jobs on them.

    Attributes:
        warnings: What the runs have warned of.
        figures: Of each batch, as it was reported.
    """

    def __init__(self, spark: SparkSession, address: Callable[[], str], name: str, directory: Path) -> None:
        self.spark = spark
        self.name = name
        self.directory = directory
        self.warnings: list[str] = []
        self.figures: list[Figures] = []
        self.metrics = Metrics()
        self._address = address
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def kafka(self) -> KafkaOptions:
        return KafkaOptions(self._address(), {"client.id": "barnabas-tests"})

    def topic(self, kind: str) -> str:
        """Name the test's own topic of an event type."""
        return f"{self.name}-{EVENT_TYPES[kind].topic}"

    def create(self, topic: str, partition_count: int = 3, **settings: str) -> None:
        """Create a topic. What is years old is kept, unless a setting says otherwise."""
        configs = {"retention.ms": "-1", **{name.replace("_", "."): value for name, value in settings.items()}}

        async def create() -> None:
            async with Pool(self._address()) as pool:
                await Admin(pool).create_topic(NewTopic(topic, partition_count, configs=configs))

        self._runner.run(create())

    def delete(self, topic: str) -> None:
        async def delete() -> None:
            async with Pool(self._address()) as pool:
                await Admin(pool).delete_topic(topic)

        self._runner.run(delete())

    def send(
        self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], partition: int | None = None
    ) -> None:
        """Send keys and values, to the partitions that keys say or to one; returns once all are acknowledged."""

        async def send() -> None:
            async with Pool(self._address()) as pool:
                producer = Producer(pool)
                sent = [await producer.send(topic, value, key=key, partition=partition) for key, value in records]
                await producer.flush()
                await asyncio.gather(*sent)
                await producer.close()

        self._runner.run(send())

    def send_events(self, kind: str, events: Iterable[Fields]) -> None:
        """Send events of a type to the test's own topic of it; the envelope's type and version are filled in."""
        event = EVENT_TYPES[kind]
        whole = [{"type": kind, "version": event.version, **fields} for fields in events]
        self.send(self.topic(kind), [(record_key(event, fields), encode_json(event, fields)) for fields in whole])

    def plan(self, job: Job, **fields: Any) -> RunPlan:
        """Plan to run a job once on the test's own topics; tables and checkpoints are in the test's directory."""
        topics = {
            declared.name: self.topic(declared.event.name)
            for declared in job.inputs
            if getattr(declared, "event", None)
        }
        plan = RunPlan(
            job,
            self.kafka,
            str(self.directory / "tables"),
            "delta",
            str(self.directory / "checkpoints"),
            job.name,
            topics,
            is_once=True,
            give_up_s=60.0,
        )
        plan = replace(plan, **fields)
        check_plan(plan)
        return plan

    def run(
        self,
        job: Job,
        is_stopped: Callable[[], bool] = lambda: False,
        followers: Mapping[str, Follower] | None = None,
        **fields: Any,
    ) -> JobRun:
        """Run a job to its end."""
        return self.run_plan(self.plan(job, **fields), is_stopped, followers)

    def run_plan(
        self,
        plan: RunPlan,
        is_stopped: Callable[[], bool] = lambda: False,
        followers: Mapping[str, Follower] | None = None,
    ) -> JobRun:
        with patch.multiple(supervisor, _POLL_S=_POLL_S, _FIRST_RETRY_S=_FIRST_RETRY_S):
            (done,) = run_jobs(
                self.spark, [plan], self.metrics, self.figures.append, self.warnings.append, is_stopped, followers
            )
        return done

    def rows(self, job: Job, table: str, *columns: str, table_format: str = "delta") -> list[tuple[Any, ...]]:
        """Give a table's rows, sorted."""
        location = str(self.directory / "tables" / job.name / table)
        frame = open_table(self.spark, location, table_format).read()
        return sorted(tuple(row) for row in frame.select(*(columns or frame.columns)).collect())

    def rows_as_they_are(self, job: Job, table: str) -> list[Any]:
        """Give a Delta table's rows, in no order."""
        return open_table(self.spark, str(self.directory / "tables" / job.name / table), "delta").read().collect()

    def records(self, topic: str) -> list[tuple[str | None, Any, dict[str, str]]]:
        """Give what is in a topic, as (key, value read as JSON, headers), in no order between partitions."""
        settings = {"enable.partition.eof": "true", "auto.offset.reset": "earliest"}
        consumer = Consumer({**self.kafka.for_consumer(), **settings})
        result, end_count = [], 0
        try:
            partitions = consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            while end_count < len(partitions):
                for message in consumer.consume(1_000, 0.1):
                    error = message.error()
                    if error is not None:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        end_count += 1
                        continue
                    pairs: Any = message.headers() or ()
                    headers = {name: bytes(value).decode() for name, value in pairs}
                    key = message.key()
                    text = None if key is None else bytes(key).decode(errors="backslashreplace")
                    result.append((text, _loaded(message.value()), headers))
        finally:
            consumer.close()
        return result

    def latest(self, topic: str) -> dict[str, Any]:
        """Give what a compacted topic holds in the end: the last value of each key that has one."""
        found: dict[str, Any] = {}
        for key, value, _ in self.records(topic):
            assert key is not None
            found[key] = value
        return {key: value for key, value in found.items() if value is not None}


def _loaded(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return bytes(value)
