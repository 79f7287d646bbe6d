"""The one Spark job of a micro-batch: its tasks share the partitions, and report what they read and wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.pipeline.events.schema_registry import RegistryError
from barnabas.pipeline.ingest.source import OffsetRange, ReadError
from barnabas.pipeline.ingest.task import TASK_S, Result, Task, TopicTask, run_tasks
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A task's fixed cost is some milliseconds, and each task writes a file for each of its topics.
_OFFSETS_PER_TASK = 5_000


def ingest(
    spark: SparkSession,
    consumer: Mapping[str, str | int | bool],
    topics: Mapping[str, TopicTask],
    starts: Offsets,
    ends: Offsets,
    seconds: float = TASK_S,
) -> Result:
    """Read, parse and write the records of partitions, as far as the tasks come.

    Args:
        spark: The session.
        consumer: librdkafka's options.
        topics: What is done with the records of each topic.
        starts: The first offset of each partition.
        ends: The offsets before which each partition's part ends at the latest.
        seconds: How long a task may read.

    Returns:
        What was read and written; `ends` has each of the partitions.

    Raises:
        ReadError: records can't be read.
        RegistryError: the schema registry failed, and is to be waited for.
    """
    ranges = [
        OffsetRange(topic, number, start, max(start, ends[topic][number]))
        for topic, partitions in starts.items()
        if topic in topics
        for number, start in partitions.items()
    ]
    behind = [each for each in ranges if each.end > each.start]
    result = Result()
    for each in ranges:
        result.ends.setdefault(each.topic, {})[each.partition] = each.start
    if not behind:
        return result
    context = spark.sparkContext
    shares = _shared_out(behind, context.defaultParallelism)
    tasks = [
        Task(consumer, share, {name: topics[name] for name in {each.topic for each in share}}, seconds)
        for share in shares
    ]
    for part in context.parallelize(tasks, len(tasks)).mapPartitions(run_tasks).collect():
        result.add(part)
    if result.failure:
        raise RegistryError(result.failure) if result.is_of_registry else ReadError(result.failure)
    return result


def _shared_out(ranges: list[OffsetRange], core_count: int) -> list[tuple[OffsetRange, ...]]:
    """Divide ranges among tasks, the largest first to the task that has the fewest offsets.

    A partition is read by one task: what it reads has no gap then, wherever it ends.
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
