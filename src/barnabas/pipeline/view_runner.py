"""Runs a job as a streaming query: source, checkpoint and sink around the job's function.

Exactly once, whatever is killed and when:
- Offsets, state and watermark of a batch are in the checkpoint; a batch that was killed is run again from the same
  offsets and the same state, and comes out the same.
- The Parquet sink lists a batch's files in one step, and skips a batch that it has listed already (`table.py`).
- Repeated lines in the topic are dropped by the job itself (`jobs/pageviews.py`).

A query that fails because the broker is away is started again from its checkpoint.

Source: Spark, Structured Streaming programming guide, fault tolerance; Kafka connector guide.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.line_events import place_of
from barnabas.pipeline.source import OBSERVATION, parse_events, read_topic
from barnabas.pipeline.sources.topic import Topic, TopicUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipeline.jobs.job import Job

_POLL_S = 0.5


class QueryFailedError(Exception):
    """The query failed again and again: one line with its reason."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Where a job reads and writes.

    `watermark_s` must stay the same as long as the checkpoint lives. `give_up_s` is how long a query may fail on end.
    """

    bootstrap_server: str
    topic: str
    table: Path
    checkpoint: Path
    watermark_s: int
    trigger_s: float
    give_up_s: float


@dataclass(frozen=True, slots=True)
class RunProgress:
    """One batch: counts are of this batch, `offset` is the topic's offset that the query has come to."""

    batch_id: int
    offset: int
    record_count: int
    view_count: int
    unreadable_count: int
    unparsed_count: int
    repeat_count: int
    late_count: int
    row_count: int
    watermark: str
    batch_ms: int

    def as_dict(self) -> dict[str, int | str]:
        """Give the fields by name, for a line of JSON."""
        return asdict(self)


def start_query(spark: SparkSession, job: Job, plan: RunPlan) -> StreamingQuery:
    """Start the job's query; it goes on from its checkpoint."""
    events = parse_events(read_topic(spark, plan.bootstrap_server, plan.topic, f"barnabas-{job.name}"))
    return (
        job.transform(events, plan.watermark_s)
        .writeStream.queryName(job.name)
        .format("parquet")
        .option("path", str(plan.table))
        .option("checkpointLocation", str(plan.checkpoint))
        .outputMode("append")
        .trigger(processingTime=f"{round(plan.trigger_s * 1000)} milliseconds")
        .start()
    )


def run_job(
    spark: SparkSession,
    job: Job,
    plan: RunPlan,
    *,
    until_marker_of: Topic | None,
    report: Callable[[RunProgress], None],
    warn: Callable[[str], None],
) -> None:
    """Run the job's query; starts it again when it fails.

    Args:
        spark: The session to run in.
        job: What to run.
        plan: Where it reads and writes.
        until_marker_of: Return once all records of this topic up to its marker are in the table; None: run on.
        report: Called with each batch.
        warn: Told in one line why the query failed and is started again.

    Raises:
        QueryFailedError: the query has not done one batch in `plan.give_up_s`.
    """
    from pyspark.errors import StreamingQueryException

    last_success = time.monotonic()
    seen_batch_id = -1
    while True:
        query = start_query(spark, job, plan)
        try:
            while query.isActive:
                is_last = until_marker_of is not None and _ends_with_marker(until_marker_of)
                if is_last:
                    # Also waits for the batch without data in which the watermark writes the last windows.
                    query.processAllAvailable()
                for progress in _progress_after(query, seen_batch_id):
                    seen_batch_id = progress.batch_id
                    last_success = time.monotonic()
                    report(progress)
                if is_last:
                    query.stop()
                    return
                query.awaitTermination(_POLL_S)  # type: ignore[arg-type]  # fractions of a second are fine
            raise QueryFailedError(_first_line(query.exception()))
        except (StreamingQueryException, QueryFailedError) as error:
            reason = _first_line(error)
            if time.monotonic() - last_success > plan.give_up_s:
                raise QueryFailedError(reason) from None
            warn(f"the query stopped ({reason}); starting it again from its checkpoint")
            time.sleep(1.0)


def _ends_with_marker(topic: Topic) -> bool:
    try:
        place = place_of(topic.last_value())
    except TopicUnavailableError:
        return False
    return place is not None and place.is_marker


def _progress_after(query: StreamingQuery, batch_id: int) -> list[RunProgress]:
    """Give the batches that were done since the given one, oldest first."""
    found = []
    for progress in query.recentProgress:
        # Without a batch Spark reports every ten seconds that it is idle, under the next batch's id.
        if progress.batchId > batch_id and "addBatch" in progress.durationMs:
            found.append(_to_progress(progress.json))
    return found


def _to_progress(text: str) -> RunProgress:
    batch = json.loads(text)
    observed = batch.get("observedMetrics", {}).get(OBSERVATION, {})
    operators = batch["stateOperators"]
    offsets = batch["sources"][0]["endOffset"] or {}
    return RunProgress(
        batch["batchId"],
        sum(offset for partitions in offsets.values() for offset in partitions.values()),
        batch["numInputRows"],
        observed.get("views", 0),
        observed.get("unreadable", 0),
        observed.get("unparsed", 0),
        sum(operator["customMetrics"].get("numDroppedDuplicateRows", 0) for operator in operators),
        sum(operator["numRowsDroppedByWatermark"] for operator in operators),
        # The file sink does not tell. In append mode a row leaves the aggregation's state when it is written.
        sum(operator["numRowsRemoved"] for operator in operators if operator["operatorName"] == "stateStoreSave"),
        batch.get("eventTime", {}).get("watermark", ""),
        batch["batchDuration"],
    )


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
