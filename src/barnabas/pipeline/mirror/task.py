"""What a Spark task of a mirror does: one source partition's range of offsets, from cluster to cluster.

Connections and partitions' writers are kept in the Python worker from batch to batch, as fresh ones cost some ten
requests. Tasks go to any worker: the driver says which writer committed last (`MirrorRange.token`), and any other is
stale.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from barnabas.clients.mirror.mirror import is_passing
from barnabas.clients.mirror.partition import Link, Mirrored, PartitionMirror
from barnabas.clients.mirror.plan import MirrorFencedError, MirrorPlan
from barnabas.clients.mirror.source_log import FETCH_BYTES
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

_MOST_PARTITIONS = 1_000


@dataclass(frozen=True, slots=True)
class MirrorTask:
    """The part of a batch that all its tasks share.

    Attributes:
        plan: What is mirrored.
        source_id, target_id: The clusters' own ids.
        generation: Of the process that mirrors.
        fetch_bytes: How much of a partition to ask for at a time.
    """

    plan: MirrorPlan
    source_id: str
    target_id: str
    generation: int
    fetch_bytes: int = FETCH_BYTES


@dataclass(frozen=True, slots=True)
class MirrorRange:
    """One partition's part of a batch.

    Attributes:
        start_offset: Where to begin if the target has no place of it.
        end_offset: Up to where.
        forgotten: Segments of the table, by first source offset and end, that are below the source's log start.
        token: Of the writer that committed last.
    """

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    forgotten: tuple[tuple[int, int], ...] = ()
    token: str = ""


@dataclass(slots=True)
class TaskReport:
    """The outcome of one partition's part of a batch.

    Attributes:
        done: What was mirrored; None: it failed.
        token: Of the writer.
        failure: One line that says why it stopped.
        is_fenced: Another process has taken over.
        is_final: Trying again won't help.
    """

    topic: str
    partition: int
    done: Mirrored | None = None
    token: str = ""
    failure: str = ""
    is_fenced: bool = False
    is_final: bool = False


@dataclass(slots=True)
class _Kept:
    """What a Python worker keeps of a mirror between two tasks; partitions that were used last stand at the end."""

    task: MirrorTask
    link: Link
    partitions: OrderedDict[TopicPartition, tuple[str, PartitionMirror]] = field(default_factory=OrderedDict)


# One loop for all tasks of this worker, which come one after the other; mirrors by their names.
_runners: list[asyncio.Runner] = []
_mirrors: dict[str, _Kept] = {}


def mirror_ranges(task: MirrorTask, ranges: Iterable[MirrorRange]) -> Iterator[TaskReport]:
    """Mirror ranges, and tell how it went."""
    if not _runners:
        _runners.append(asyncio.Runner())
    for each in ranges:
        yield _runners[0].run(_mirror(task, each))


async def _mirror(task: MirrorTask, wanted: MirrorRange) -> TaskReport:
    report = TaskReport(wanted.topic, wanted.partition)
    # The first time a connection that was kept may turn out to be gone.
    for is_last in (False, True):
        try:
            kept = await _kept(task)
            report.token, partition = _partition(kept, wanted)
            report.done = await partition.mirror(
                wanted.start_offset, wanted.end_offset, wanted.forgotten, fetch_bytes=task.fetch_bytes
            )
            return report
        except BarnabasError as error:
            report.failure, report.is_final = str(error), not is_passing(error)
            report.is_fenced = isinstance(error, MirrorFencedError)
            if is_last or report.is_final:
                break
    return report


async def _kept(task: MirrorTask) -> _Kept:
    """Return what is kept of a mirror, made anew where it is of another process or was planned otherwise."""
    kept = _mirrors.get(task.plan.run)
    if kept is None or (kept.task.plan, kept.task.generation) != (task.plan, task.generation):
        if kept is not None:
            await kept.link.close()
        link = Link(task.plan)
        link.source_id, link.target_id, link.generation = task.source_id, task.target_id, task.generation
        kept = _mirrors[task.plan.run] = _Kept(task, link)
    return kept


def _partition(kept: _Kept, wanted: MirrorRange) -> tuple[str, PartitionMirror]:
    """Return the partition's mirror and its token: the one that is kept here, if it is the one that committed last."""
    place = TopicPartition(wanted.topic, wanted.partition)
    found = kept.partitions.pop(place, None)
    if found is None or found[0] != wanted.token:
        if found is not None:
            found[1].close()
        found = uuid.uuid4().hex, PartitionMirror(kept.link, place)
    while len(kept.partitions) >= _MOST_PARTITIONS:
        kept.partitions.popitem(last=False)[1][1].close()
    kept.partitions[place] = found
    return found
