"""Writes records to topics with librdkafka: dead letters from the driver, a job's rows from Spark's tasks.

A producer is idempotent, and its records do not expire (`delivery.timeout.ms=0`), however long a quota throttles it.
Instead a write fails if no record is acknowledged for two minutes, throttle times not counted. The next start of the
run writes the records again, under the same keys.

Under a `producer_byte_rate` a request has at most the bytes of one second, so that no throttle time exceeds
librdkafka's request timeout.

A process keeps its producers for later writes: a new producer waits half a second for its producer id.
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
# Minimum size of a request under a quota: a single record may be this large.
_LEAST_REQUEST_BYTES = 16_384
_REQUEST_BYTES = 1_000_000

# Kept producers per process: their settings depend on quotas and on the limits of topics.
_MOST_KEPT = 4


class TopicWriteError(Exception):
    """A record was not written. The message has the reason, and the topic if it is known."""


class RecordProducer:
    """Writes records, in order for each partition. Reusable: each use starts with `begin` and ends with `finish`.

    Attributes:
        throttled_s: Total throttle time since `begin`.
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
        """Start a use: discard the events of the time before."""
        self._producer.poll(0)
        self.throttled_s = 0.0
        self._failure = self._connection_error = ""
        self._give_up_at_s = time.monotonic() + _PATIENCE_S

    def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers | None = None) -> None:
        """Write a record; wait while librdkafka's buffer is full.

        Raises:
            TopicWriteError: this record or an earlier one was refused, or brokers no longer acknowledge records.
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
            TopicWriteError: a record was refused, or brokers no longer acknowledge records.
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
        # Otherwise the producer would keep sending the remaining records in the background.
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
    """Provide a producer to one thread; wait at the end until all its records are acknowledged.

    Args:
        settings: librdkafka's (`KafkaOptions.for_producer`).

    Raises:
        TopicWriteError: a record was refused, or brokers no longer acknowledge records. The producer is not used again.
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
    """Return a task's function: it writes batches of `key` and `value`, and returns record count and throttle time."""

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
    """Writes rows to one topic of a job.

    Attributes:
        limited_by: The quota that throttled the last write; empty: no throttling.
    """

    def __init__(
        self, cluster: Cluster, declared: TopicOutput, plan: RunPlan, quotas: QuotaClient | None = None
    ) -> None:
        """Create the topic if it does not exist.

        Args:
            cluster: The plan's cluster.
            declared: The output.
            plan: The run's plan.
            quotas: The quotas of the run's user and client id; None: requests are not sized by them.
        """
        self.declared = declared
        self.topic = plan.topic_of_output(declared)
        self.limited_by = ""
        self._settings = plan.kafka.for_producer()
        self._quotas = quotas
        cluster.create_topic(self.topic, {"cleanup.policy": "compact"} if declared.is_compacted else {})

    def write(self, rows: DataFrame) -> None:
        """Write rows as JSON objects under their keys; return when all are acknowledged."""
        self._save(rows.select(self._key(), _as_json(rows).alias("value")))

    def write_changes(self, rows: DataFrame, older: DataFrame) -> None:
        """Write the rows that are new or differ from the older ones, and tombstones for missing keys.

        Rows are compared as JSON, because Spark cannot compare maps.
        """
        from pyspark.sql import functions as F

        text = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)))
        # A join by the columns themselves would match no nulls.
        texts = [F.col(name).cast("string") for name in self.declared.key]
        key = self._key(), F.to_json(F.array(*texts)).alias("_by")
        now = rows.select(*key, _as_json(rows).alias("value"), text.alias("_now"))
        both = now.join(older.select(*key, text.alias("_older")), ["key", "_by"], "full")
        self._save(both.where(~F.col("_now").eqNullSafe(F.col("_older"))))

    def _key(self) -> Column:
        from pyspark.sql import functions as F

        return F.concat_ws(" ", *(F.col(name).cast("string") for name in self.declared.key)).alias("key")

    def _save(self, records: DataFrame) -> None:
        from pyspark.sql import functions as F

        records = records.select(F.col("key").cast("binary"), F.col("value").cast("binary"))
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
    """Return a row as a JSON object, without the columns whose names begin with `_`."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns if not name.startswith("_"))))
