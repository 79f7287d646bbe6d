"""What a Spark task of a mirror does: one source partition's records of a batch, into the target.

A partition's writer is kept in the Python worker from batch to batch, as a fresh one costs some ten requests. Tasks go
to any worker: the driver says which writer committed last (`Hint.token`), and any other one is stale.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from barnabas.clients.mirror_offsets import RecordMark, SourcePartition
from barnabas.core.errors import BarnabasError
from barnabas.pipeline.mirror.provenance import Provenance
from barnabas.pipeline.mirror.rows import place_of, read_rows
from barnabas.pipeline.mirror.table import MirrorFencedError
from barnabas.pipeline.mirror.writer import Hint, PartitionWriter, Route
from barnabas.pipeline.runner.cluster import ClusterUnavailableError, KafkaOptions

# Each has a few threads and connections.
_MOST_WRITERS = 64
# This process's writers by source partition, used last at the end: what a Python worker keeps between two tasks.
_writers: OrderedDict[SourcePartition, PartitionWriter] = OrderedDict()


@dataclass(frozen=True, slots=True)
class MirrorTask:
    """The part of a batch that all its tasks share.

    Attributes:
        mirror: Its name.
        alias: What the source cluster is called.
        source_cluster_id, target_cluster_id: The clusters' own.
        target: The cluster that is written.
        topic_prefix: Of topics in the target.
        generation: Of the process that mirrors.
        hints: By topic and partition of the source.
    """

    mirror: str
    alias: str
    source_cluster_id: str
    target_cluster_id: str
    target: KafkaOptions
    topic_prefix: str
    generation: int
    hints: Mapping[str, Mapping[int, Hint]]

    def route(self, topic: str, partition: int) -> Route:
        """Say whose records of one partition go where."""
        source = SourcePartition(self.mirror, self.source_cluster_id, topic, partition)
        return Route(source, self.alias, self.target, f"{self.topic_prefix}{topic}", self.generation)


@dataclass(slots=True)
class TaskReport:
    """The outcome of one partition's part of a batch; `failure` is empty, or one line that says why it stopped."""

    topic: str
    partition: int
    record_count: int = 0
    skipped_count: int = 0
    payload_bytes: int = 0
    token: str = ""
    failure: str = ""
    is_fenced: bool = False


def mirror_partition(task: MirrorTask, records: Iterable[bytes]) -> Iterator[TaskReport]:
    """Mirror the records of one partition, packed (`rows.py`); tells how it went, where there is a record at all."""
    left = iter(records)
    first = next(left, None)
    if first is not None:
        yield _mirror(task, chain((first,), left), *place_of(first))


def _mirror(task: MirrorTask, records: Iterable[bytes], topic: str, partition: int) -> TaskReport:
    report = TaskReport(topic, partition)
    hint = task.hints[topic][partition]
    route = task.route(topic, partition)
    provenance = Provenance(task.source_cluster_id, task.target_cluster_id)
    mark: RecordMark | None = None
    try:
        writer = _writer(route, hint)
        for rows in read_rows(records, writer.position, provenance):
            writer.add(rows)
            mark = rows.mark
            report.record_count += len(rows.offsets)
            report.skipped_count += rows.skipped_count
            report.payload_bytes += rows.payload_bytes
            if writer.is_full:
                writer.commit(rows.end_offset, mark)
        if writer.position < hint.end_offset:
            writer.commit(hint.end_offset, mark, hint.forgotten)
        report.token = writer.token
    except (ClusterUnavailableError, MirrorFencedError, BarnabasError) as error:
        report.failure, report.is_fenced = str(error), isinstance(error, MirrorFencedError)
        _drop(route.source)
    except BaseException:
        _drop(route.source)
        raise
    return report


def _writer(route: Route, hint: Hint) -> PartitionWriter:
    """Return the partition's writer: the one that this worker has kept, if it is the one that committed last."""
    kept = _writers.get(route.source)
    if kept is not None and kept.token == hint.token and kept.generation == route.generation:
        _writers.move_to_end(route.source)
        return kept
    _drop(route.source)
    while len(_writers) >= _MOST_WRITERS:
        _drop(next(iter(_writers)))
    made = _writers[route.source] = PartitionWriter(route, hint)
    return made


def _drop(source: SourcePartition) -> None:
    writer = _writers.pop(source, None)
    if writer is not None:
        writer.close()
