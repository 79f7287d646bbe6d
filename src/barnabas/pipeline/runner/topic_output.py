"""Writes records to topics by librdkafka: dead letters from the driver, a job's rows from Spark's tasks.

A producer is idempotent and never gives a record up by time (`delivery.timeout.ms=0`): a broker that throttles it
delays its records for as long as the quota needs. Instead a write fails if no record is acknowledged for two minutes
beyond what brokers throttled. The next start of the run writes the records again, under the same keys.

Under a `producer_byte_rate` a request has at most a second's worth of bytes, so that no throttle lasts longer than
librdkafka waits for an answer.

A process keeps its producers for the next write: librdkafka takes half a second until a new one has its producer id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

from barnabas.pipeline.job import TopicOutput
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.quota import WRITE
from barnabas.pipeline.runner.quota_client import QuotaClient

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from confluent_kafka import KafkaError, Message
    from pyspark.sql import Column, DataFrame

Headers = list[tuple[str, str | bytes | None]]

_PATIENCE_S = 120.0
_LOOK_S = 0.1
# The least of what a request has under a quota, as one record may be as large.
_LEAST_REQUEST_BYTES = 16_384
_REQUEST_BYTES = 1_000_000

# Settings change with a quota and with the limits of topics.
_MOST_KEPT = 4


class TopicWriteError(Exception):
    """A record was not written: its topic, and the reason."""


class RecordProducer:
    """Writes records, in order for each partition, from `begin` until `finish` has returned, and then again.

    Attributes:
        throttled_s: How long brokers have throttled it since `begin`, in all.
    """

    def __init__(self, settings: Mapping[str, object]) -> None:
        """Args:
        settings: librdkafka's (`KafkaOptions.for_producer`).
        """
        from confluent_kafka import Producer

        self.throttled_s = 0.0
        self._failure = ""
        self._connection_error = ""
        self._unwritten_count = 0
        self._give_up_at_s = time.monotonic() + _PATIENCE_S
        own: dict[str, Any] = {
            **settings,
            "delivery.report.only.error": True,
            "on_delivery": self._note_delivery,
            "error_cb": self._note_error,
            "throttle_cb": self._note_throttle,
        }
        self._producer = Producer(own)

    def begin(self) -> None:
        """Forget what happened while there was nothing to write."""
        self._producer.poll(0)
        self.throttled_s = 0.0
        self._failure = self._connection_error = ""
        self._give_up_at_s = time.monotonic() + _PATIENCE_S

    def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers | None = None) -> None:
        """Write a record; wait while librdkafka's buffer is full.

        Raises:
            TopicWriteError: this record or an earlier one was refused, or no record is acknowledged any more.
        """
        from confluent_kafka import KafkaException

        while True:
            try:
                self._producer.produce(topic, value, key, headers=headers or [])
            except BufferError:
                self._wait()
            except KafkaException as error:
                raise TopicWriteError(f"topic {topic}: {error.args[0].str()}") from None
            else:
                break
        self._producer.poll(0)
        self._check()

    def finish(self) -> None:
        """Wait until all records are acknowledged.

        Raises:
            TopicWriteError: one was refused, or no record is acknowledged any more.
        """
        while len(self._producer):
            self._wait()
        self._check()

    def _wait(self) -> None:
        self._producer.flush(_LOOK_S)
        self._check()
        count = len(self._producer)
        if count != self._unwritten_count:
            self._unwritten_count = count
            self._give_up_at_s = max(self._give_up_at_s, time.monotonic() + _PATIENCE_S)
        elif time.monotonic() >= self._give_up_at_s:
            self._fail(f"{count:,} records are not acknowledged: {self._connection_error or 'no broker answers'}")

    def _check(self) -> None:
        if self._failure:
            self._fail(self._failure)

    def _fail(self, reason: str) -> NoReturn:
        # The records that are left would go on in the background.
        self._producer.purge()
        raise TopicWriteError(reason)

    def _note_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and not self._failure:
            self._failure = f"topic {message.topic()}: {error.str()}"

    def _note_error(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        self._connection_error = error.str()
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._failure = self._failure or error.str()

    def _note_throttle(self, event: Any) -> None:
        self.throttled_s += event.throttle_time
        self._give_up_at_s = max(self._give_up_at_s, time.monotonic() + event.throttle_time + _PATIENCE_S)


_kept: dict[tuple[tuple[str, object], ...], RecordProducer] = {}


@contextmanager
def record_producer(settings: Mapping[str, object]) -> Iterator[RecordProducer]:
    """Provide a producer to one thread; in the end all its records are acknowledged.

    Args:
        settings: librdkafka's (`KafkaOptions.for_producer`).

    Raises:
        TopicWriteError: a record was refused, or no record is acknowledged any more. The producer is not used again.
    """
    key = tuple(sorted(settings.items()))
    producer = _kept.pop(key, None) or RecordProducer(settings)
    producer.begin()
    yield producer
    producer.finish()
    while len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    _kept[key] = producer


def _write_batches(
    settings: Mapping[str, object], topic: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what a task does: write its batches of `key` and `value`, and give the count of records and throttling."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        own = iter(batches)
        first = next(own, None)
        if first is None:
            return
        count = 0
        with record_producer(settings) as producer:
            for batch in chain((first,), own):
                for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
                    producer.send(topic, key, value)
                count += batch.num_rows
        yield pa.RecordBatch.from_pydict({"count": [count], "throttled_s": [producer.throttled_s]})

    return write


class TopicWriter:
    """One topic of a job.

    Attributes:
        limited_by: The quota that throttled the last write; empty: none did.
    """

    def __init__(
        self, cluster: Cluster, declared: TopicOutput, plan: RunPlan, quotas: QuotaClient | None = None
    ) -> None:
        """Create the topic if it does not exist.

        Args:
            cluster: The plan's cluster.
            declared: The output.
            plan: The run's plan.
            quotas: Of the run's user and client id; None: batches are not sized by them.
        """
        self.declared = declared
        self.topic = plan.topic_of_output(declared)
        self.limited_by = ""
        self._settings = plan.kafka.for_producer()
        self._quotas = quotas
        cluster.create_topic(self.topic, {"cleanup.policy": "compact"} if declared.is_compacted else {})

    def write(self, rows: DataFrame) -> None:
        """Write rows as JSON objects under their keys; return when all are acknowledged."""
        self._save(rows.select(*self.declared.key, _as_json(rows).alias("value")))

    def write_changes(self, rows: DataFrame, older: DataFrame) -> None:
        """Write the rows that have no equal among the older ones, and tombstones for the keys that are gone.

        Rows are compared as JSON: maps have no equality in Spark.
        """
        from pyspark.sql import functions as F

        key, text = list(self.declared.key), F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)))
        now = rows.select(*key, _as_json(rows).alias("value"), text.alias("_now"))
        both = now.join(older.select(*key, text.alias("_older")), key, "full")
        self._save(both.where(~F.col("_now").eqNullSafe(F.col("_older"))))

    def _save(self, records: DataFrame) -> None:
        from pyspark.sql import functions as F

        key = F.concat_ws(" ", *(F.col(name).cast("string") for name in self.declared.key))
        records = records.select(key.cast("binary").alias("key"), F.col("value").cast("binary").alias("value"))
        write = _write_batches(self._sized(), self.topic)
        written = records.mapInArrow(write, "count BIGINT, throttled_s DOUBLE").collect()
        self.limited_by = ""
        if self._quotas is not None and any(row["throttled_s"] for row in written):
            self._quotas.note_limited(WRITE)
            self._quotas.ask(again=True)
            self.limited_by = self._quotas.strictest(WRITE)

    def _sized(self) -> dict[str, object]:
        if self._quotas is None:
            return {**self._settings}
        self._quotas.ask(again=True)
        rate = self._quotas.rate(WRITE)
        if rate is None:
            return {**self._settings}
        size = max(_LEAST_REQUEST_BYTES, min(_REQUEST_BYTES, int(rate)))
        return {**self._settings, "batch.size": min(size, int(self._settings.get("batch.size", size)))}


def _as_json(rows: DataFrame) -> Column:
    """Return a row's public columns as a JSON object: all but those whose names begin with `_`."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns if not name.startswith("_"))))
