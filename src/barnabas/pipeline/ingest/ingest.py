"""The one Spark job of a micro-batch: its tasks share the partitions, and report the records read and rows written.

Jobs of one run that read the same records share it (`shared.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipeline.events.schema_registry import RegistryError
from barnabas.pipeline.ingest.source import OffsetRange, ReadError
from barnabas.pipeline.ingest.task import TASK_S, Result, Task, TopicTask, run_tasks
from barnabas.pipeline.runner.progress_file import Marks
from barnabas.pipeline.tables.table import Mark, Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.tables.data_files import DataFile

# Minimum offsets per task: a task has a fixed cost of some milliseconds, and writes a file for each of its topics.
_OFFSETS_PER_TASK = 5_000


@dataclass(frozen=True, slots=True)
class Request:
    """The records that one job needs.

    Attributes:
        topics: Processing of each topic's records.
        starts: The first offset of each partition.
        ends: The maximum end offset of each partition, exclusive.
        discard: Deletes files, by output, if the read fails after tasks wrote them.
        marks: The last record that the job has read of each partition. The read fails if another one is there now.
    """

    topics: Mapping[str, TopicTask]
    starts: Offsets
    ends: Offsets
    discard: Callable[[Mapping[str, Sequence[DataFile]]], None] = lambda files: None
    marks: Marks = field(default_factory=dict)

    def touches(self, other: Request) -> bool:
        """Return whether the two ranges of each common partition overlap or are adjacent."""
        return all(
            start <= other.ends[topic][number] and other.starts[topic][number] <= self.ends[topic][number]
            for topic, partitions in self.starts.items()
            for number, start in partitions.items()
            if number in other.starts.get(topic, {})
        )


def ingest(
    spark: SparkSession,
    consumer: Mapping[str, str | int | bool],
    requests: Sequence[Request],
    seconds: float = TASK_S,
) -> list[Result]:
    """Read the records that jobs request once, parse and write them, up to the limits of the tasks.

    Args:
        spark: The session.
        consumer: librdkafka's options.
        requests: One for each job; each touches all others.
        seconds: Maximum reading time of a task once there is progress (`Source.read`).

    Returns:
        For each request the figures of its records and rows; `ends` contains each of its partitions.

    Raises:
        ReadError: records can't be read.
        RegistryError: the schema registry failed; retry later.
    """
    results = [Result(ends={topic: dict(own) for topic, own in each.starts.items()}) for each in requests]
    behind = [each for each in ranges_of(requests) if each.end > each.start]
    if not behind:
        return results
    context = spark.sparkContext
    starts = [each.starts for each in requests]
    tasks = []
    for share in divided(behind, context.defaultParallelism):
        names = {each.topic for each in share}
        topics = [{name: each.topics[name] for name in names & each.topics.keys()} for each in requests]
        tasks.append(Task(consumer, share, topics, starts, seconds))
    for parts in context.parallelize(tasks, len(tasks)).mapPartitions(run_tasks).collect():
        for result, part in zip(results, parts, strict=True):
            result.add(part)
    failed = next((each for each in results if each.failure), None)
    if failed is not None:
        # The next attempt writes other files, also for the tasks that succeeded.
        for request, result in zip(requests, results, strict=True):
            request.discard(result.files)
        raise RegistryError(failed.failure) if failed.is_of_registry else ReadError(failed.failure)
    return results


def ranges_of(requests: Sequence[Request]) -> list[OffsetRange]:
    """Return the range to read of each partition: from the lowest start to the lowest end, so that jobs align there."""
    starts: dict[tuple[str, int], int] = {}
    ends: dict[tuple[str, int], int] = {}
    marks: dict[tuple[str, int], set[Mark]] = {}
    for each in requests:
        for topic in each.topics:
            for number, start in each.starts.get(topic, {}).items():
                place = topic, number
                starts[place] = min(start, starts.get(place, start))
                ends[place] = min(each.ends[topic][number], ends.get(place, each.ends[topic][number]))
                if (mark := each.marks.get(topic, {}).get(number)) is not None:
                    marks.setdefault(place, set()).add(mark)
    return [
        OffsetRange(*place, start, max(start, ends[place]), frozenset(marks.get(place, ())))
        for place, start in starts.items()
    ]


def divided(ranges: list[OffsetRange], core_count: int) -> list[tuple[OffsetRange, ...]]:
    """Divide ranges among tasks, the largest first to the task that has the fewest offsets.

    One task reads a partition, so its records have no gap wherever the task ends.
    """
    total = sum(each.end - each.start for each in ranges)
    count = max(1, min(core_count, len(ranges), total // _OFFSETS_PER_TASK))
    shares: list[list[OffsetRange]] = [[] for _ in range(count)]
    sizes = [0] * count
    for each in sorted(ranges, key=lambda each: (each.start - each.end, each.topic, each.partition)):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(each)
        sizes[smallest] += each.end - each.start
    return [tuple(share) for share in shares]
