"""Data loss: records that were deleted before a run read them. They are detected before a batch and stored in a table.

| column of `lost_ranges` | type | meaning |
| --- | --- | --- |
| found_at | timestamp | time of detection |
| topic, partition | string, int | partition |
| start_offset, end_offset | bigint | lost range, without the end; equal if its size is unknown |
| reason | string | reason of the loss |
| resume_offset | bigint | offset at which the run resumed; null if there is nothing to read |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.clients.positions import Extents, Loss, LostRange, lost_ranges, readable_marks
from barnabas.pipeline.job import TableOutput
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.outputs import TableWriter, open_tables
from barnabas.pipeline.runner.plan import Delivery, RunPlan
from barnabas.pipeline.runner.progress_file import Span, newest_marks
from barnabas.pipeline.tables.table import Offsets, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST_RANGES = TableOutput("lost_ranges")
_COLUMNS = (
    "found_at TIMESTAMP, topic STRING, partition INT, start_offset BIGINT, end_offset BIGINT, reason STRING, "
    "resume_offset BIGINT"
)
_REMEDY = (
    "run again with --on-data-loss continue to record these ranges in the table lost_ranges and resume after them, or "
    "rewind the run to an offset that the topic still has (barnabas pipeline rewind)"
)


class DataLossError(Exception):
    """Records were deleted before they were read, and the run must stop: names the ranges and the remedy."""

    def __init__(self, run: str, losses: Sequence[LostRange]) -> None:
        lines = "\n".join(f"  {loss}" for loss in losses)
        super().__init__(f"{run}: records were lost before they were read:\n{lines}\n{_REMEDY}")
        self.losses = tuple(losses)


def find_losses(
    cluster: Cluster, cluster_id: str, positions: Offsets, extents: Extents, progresses: Sequence[Progress]
) -> list[LostRange]:
    """Return the offset ranges that a run can no longer read.

    Args:
        cluster: The cluster.
        cluster_id: Its id.
        positions: The next offsets of the run.
        extents: The readable offsets of the partitions.
        progresses: The progress of each output.
    """
    is_same = all(progress.cluster_id == cluster_id for progress in progresses)
    newest = newest_marks(progress.marks for progress in progresses)
    readable = readable_marks(newest, extents) if is_same else {}
    return lost_ranges(positions, _whole(cluster, positions, extents), newest, cluster.found_marks(readable), is_same)


def _whole(cluster: Cluster, positions: Offsets, extents: Extents) -> Extents:
    """Return extents up to the log end if a run has read beyond them, as uncommitted records."""
    if not any(
        positions.get(topic, {}).get(number, 0) > extent.end_offset
        for topic, numbers in extents.items()
        for number, extent in numbers.items()
    ):
        return extents
    ends = cluster.log_ends(extents)
    return {
        topic: {number: replace(extent, end_offset=ends[topic][number]) for number, extent in numbers.items()}
        for topic, numbers in extents.items()
    }


def keep_losses(spark: SparkSession, plan: RunPlan, cluster_id: str, losses: Sequence[LostRange]) -> None:
    """Append lost ranges to the job's table `lost_ranges`."""
    table = open_tables(spark, plan, (LOST_RANGES,))[LOST_RANGES.name]
    now = datetime.now(UTC)
    rows = spark.createDataFrame(
        [
            (now, loss.topic, loss.partition, loss.start_offset, loss.end_offset, loss.loss.value, loss.resume_offset)
            for loss in losses
        ],
        _COLUMNS,
    )
    writer = TableWriter(table, LOST_RANGES, plan.run_of(LOST_RANGES.name), cluster_id)
    writer.write(rows, Span({}, {}, {}), Delivery.EXACTLY_ONCE)


def resume_offsets(losses: Sequence[LostRange]) -> Offsets:
    """Return the resume offsets of partitions with lost ranges; partitions that do not exist are left out."""
    result: Offsets = {}
    for loss in losses:
        if loss.resume_offset is not None:
            result.setdefault(loss.topic, {})[loss.partition] = loss.resume_offset
    return result


def not_reported(losses: Sequence[LostRange], absent: Offsets) -> list[LostRange]:
    """Return the losses without those that were reported when the partition was absent.

    It is lost once, also if it is created again. Deletion by retention and another cluster are further losses.
    """
    further = (Loss.OVERTAKEN, Loss.OTHER_CLUSTER)
    return [loss for loss in losses if loss.loss in further or loss.partition not in absent.get(loss.topic, {})]


def absent_positions(losses: Sequence[LostRange]) -> Offsets:
    """Return the positions of partitions that do not exist."""
    result: Offsets = {}
    for loss in losses:
        if loss.loss is Loss.GONE:
            result.setdefault(loss.topic, {})[loss.partition] = loss.start_offset
    return result
