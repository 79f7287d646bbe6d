"""Topics: growth, size, degraded partitions, readers and their lag."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.clients.cluster_state import Partition, troubles
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.core.types import TopicPartition
from barnabas.explain.collector import Part
from barnabas.explain.questions import Question
from barnabas.explain.snapshot import Series, Snapshot, rate_per_s
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows

_QUESTION: Final = Question(frozenset({Part.LOGS, Part.DIRECTORIES}), ("groups", "ends"), lambda snapshot: [])


class Reader(NamedTuple):
    """A group that has offsets of a topic; its lag is None if a log end offset is unknown."""

    group: str
    lag: int | None


class TopicRow(NamedTuple):
    """A topic; unknown values are None.

    `rate_per_s` counts records and markers over the last half minute.
    """

    name: str
    is_internal: bool
    partition_count: int
    replication_factor: int
    troubles: tuple[str, ...]
    rate_per_s: float | None
    size_bytes: int | None
    readers: tuple[Reader, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics(View):
    """All topics, or the search results."""

    topics: RowRange[TopicRow]


async def build(asked: Asked) -> Topics:
    """Read the topics, their logs and their groups. Raises KafkaError."""
    snapshot = await asked.cluster.collect(_QUESTION)
    rows = await asyncio.to_thread(topic_rows, snapshot)
    return Topics(**known(snapshot)._asdict(), topics=select_rows(rows, asked, lambda row: row.name))


def topic_rows(snapshot: Snapshot) -> list[TopicRow]:
    """Return the topics by name."""
    partitions: dict[str, list[Partition]] = {}
    for each in snapshot.partitions.values():
        partitions.setdefault(each.name.topic, []).append(each)
    rates, sizes, read_by = _rates(snapshot), _sizes(snapshot), readers(snapshot)
    return [
        TopicRow(
            name,
            name in INTERNAL_TOPICS,
            len(parts),
            max(len(each.replicas) - len(each.adding) for each in parts),
            tuple(dict.fromkeys(trouble.value for each in parts for trouble in troubles(each))),
            rates.get(name),
            sizes.get(name),
            tuple(read_by.get(name, ())),
        )
        for name, parts in sorted(partitions.items())
    ]


def ends(snapshot: Snapshot) -> Iterator[tuple[TopicPartition, Series]]:
    """Yield the log end offsets over time, as reported by leaders or, without reports, as sampled."""
    told = set()
    for row in snapshot.rows("ends"):
        name = TopicPartition(row["topic"], row["partition"])
        points = [(at_ms, offset) for at_ms, offset in row["ends"]]
        if points:
            told.add(name)
            before = [(snapshot.since_ms, points[0][1])] if len(points) == 1 else []
            yield name, [*before, *points, (snapshot.now_ms, row["high_watermark"])]
    for name, log in snapshot.logs.items():
        if name not in told:
            yield name, log.ends


def _rates(snapshot: Snapshot) -> dict[str, float]:
    rates: dict[str, float] = {}
    for name, series in ends(snapshot):
        rate = rate_per_s(series, snapshot.now_ms)
        if rate is not None:
            rates[name.topic] = rates.get(name.topic, 0.0) + max(rate, 0.0)
    return rates


def _sizes(snapshot: Snapshot) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for directory in snapshot.directories:
        for name, size in directory.logs.items():
            sizes[name.topic] = sizes.get(name.topic, 0) + size
    return sizes


def readers(snapshot: Snapshot) -> dict[str, list[Reader]]:
    """Return the groups that have offsets of each topic, by name."""
    found: dict[str, list[Reader]] = {}
    for group in sorted(snapshot.groups.values(), key=lambda each: each.name):
        lags: dict[str, int | None] = {}
        for name, offset in group.committed.items():
            log, before = snapshot.logs.get(name), lags.get(name.topic, 0)
            lags[name.topic] = None if log is None or before is None else before + max(log.end_offset - offset, 0)
        for topic, lag in lags.items():
            found.setdefault(topic, []).append(Reader(group.name, lag))
    return found


VIEW = ViewKind("/topics", "Topics", "topics.html.jinja", build, 5, "/topics")
