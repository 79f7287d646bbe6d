"""One topic: problems, partitions, readers, settings, and the deletion time of each segment."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from barnabas.clients.cluster_state import troubles
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.collector import Part
from barnabas.explain.finding import Certainty, Finding, worst_first
from barnabas.explain.questions import Question
from barnabas.explain.rules.disk import explain_disk, kept_by
from barnabas.explain.rules.topic import explain_topic
from barnabas.explain.snapshot import Scope, Snapshot, rate_per_s
from barnabas.page.view import MOST_ROWS, Asked, RowRange, View, ViewKind, known, select_rows
from barnabas.page.views.topics import Reader, ends, readers


def _explain(snapshot: Snapshot) -> list[Finding]:
    """Return the topic's findings, without those on healthy segments, because segments have their own table."""
    kept = [
        replace(each, causes=tuple(why for why in each.causes if why.severity or why.certainty is Certainty.UNKNOWN))
        for each in explain_disk(snapshot)
    ]
    return worst_first([*explain_topic(snapshot), *kept])


_QUESTION: Final = Question(
    frozenset({Part.READERS, Part.DIRECTORIES, Part.SETTINGS}),
    ("leaders", "segments", "ends"),
    _explain,
)


class PartitionRow(NamedTuple):
    """A partition; unknown values are None.

    Attributes:
        leader_id: None if the partition has no leader.
        adding: Replicas that a reassignment adds.
        stable_offset: The last stable offset.
        rate_per_s: Records and markers per second, over the last half minute.
        sizes: Size in bytes of each replica, by broker.
    """

    partition: int
    leader_id: int | None
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    isr: tuple[int, ...]
    start_offset: int | None
    stable_offset: int | None
    end_offset: int | None
    rate_per_s: float | None
    sizes: dict[int, int]
    troubles: tuple[str, ...]


class SettingRow(NamedTuple):
    """An effective setting and its source."""

    name: str
    value: str
    where: str


class SegmentRow(NamedTuple):
    """A segment of a leader's log; `goes_at_ms` is its deletion time, None if no retention time applies."""

    partition: int
    base_offset: int
    size_bytes: int
    newest_ms: int | None
    goes_at_ms: int | None
    kept_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(View):
    """A topic, with the segments that will be deleted first; `segment_count` counts all."""

    name: str
    findings: tuple[Finding, ...]
    partitions: RowRange[PartitionRow]
    readers: tuple[Reader, ...]
    settings: tuple[SettingRow, ...]
    segments: tuple[SegmentRow, ...]
    segment_count: int


async def build(asked: Asked) -> Topic:
    """Read the topic named by `?name=`. Raises KafkaError (UNKNOWN_TOPIC_OR_PARTITION)."""
    name = asked.query.get("name", "")
    snapshot = await asked.cluster.collect(_QUESTION, Scope(name))
    if not any(each.topic == name for each in snapshot.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
    settings = sorted(snapshot.settings.get(name, {}).items(), key=lambda each: (each[1].where != "topic", each[0]))
    return Topic(
        **known(snapshot)._asdict(),
        name=name,
        findings=tuple(_explain(snapshot)),
        partitions=select_rows(list(partition_rows(snapshot, name)), asked, lambda row: str(row.partition)),
        readers=tuple(readers(snapshot).get(name, ())),
        settings=tuple(SettingRow(each, *setting) for each, setting in settings),
        segments=tuple(sorted(segment_rows(snapshot, name), key=_goes_first)[:MOST_ROWS]),
        segment_count=sum(row["segment_count"] for row in snapshot.rows("segments", topic=name, is_leader=True)),
    )


def partition_rows(snapshot: Snapshot, topic: str) -> Iterator[PartitionRow]:
    """Yield the partitions of a topic, by number."""
    moved = dict(ends(snapshot))
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for directory in snapshot.directories:
        for name, size in directory.logs.items():
            sizes.setdefault(name, {})[directory.broker_id] = size
    for name, partition in snapshot.partitions.items():
        if name.topic != topic:
            continue
        log = snapshot.logs.get(name)
        yield PartitionRow(
            name.partition,
            partition.leader_id if partition.leader_id >= 0 else None,
            tuple(partition.replicas),
            tuple(partition.adding),
            tuple(partition.isr),
            None if log is None else log.start_offset,
            None if log is None else log.stable_offset,
            None if log is None else log.end_offset,
            rate_per_s(moved.get(name, []), snapshot.now_ms),
            dict(sorted(sizes.get(name, {}).items())),
            tuple(each.value for each in troubles(partition)),
        )


def segment_rows(snapshot: Snapshot, topic: str) -> Iterator[SegmentRow]:
    """Yield the segments that leaders report for a topic."""
    for row in snapshot.rows("segments", topic=topic, is_leader=True):
        for each in row["segments"]:
            newest_ms = each["newest_ms"] if each["newest_ms"] >= 0 else None
            yield SegmentRow(
                row["partition"], each["base"], each["bytes"], newest_ms, each["goes_at_ms"], kept_by(each)
            )


def _goes_first(row: SegmentRow) -> tuple[bool, int, int, int]:
    return row.goes_at_ms is None, row.goes_at_ms or 0, row.partition, row.base_offset


VIEW = ViewKind("/topic", "Topic", "topic.html.jinja", build, 5, "/topics")
