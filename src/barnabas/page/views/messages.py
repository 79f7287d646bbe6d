"""Records of a topic, from an offset, a time or an end, in both directions; and one whole record."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.page.messages.decoding import KINDS
from barnabas.page.messages.masks import masked
from barnabas.page.messages.reading import Found, Span, named_right, read_back, read_on, spans, with_leaders
from barnabas.page.messages.rows import RecordFormat, Row
from barnabas.page.messages.state import MessageState, parse_time_ms, whole_number
from barnabas.page.view import Asked, View, ViewKind
from barnabas.page.views import search as search_view
from barnabas.page.views import tail as tail_view

MOST_ROWS: Final = 50
_MOST_PARTITIONS: Final = 50
_LEAST_OF_EACH: Final = 2
_MOST_TOPICS: Final = 1_000
_PLACES: Final = ("newest", "oldest")

Link = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages(View):
    """Records, the newest first.

    Attributes:
        topic: Empty if none was selected; `topics` are the existing ones.
        partition: None: all partitions.
        span: The offsets of a single partition.
        passed_count: Number of partitions that were not read, because the topic has too many.
        older: The query for older records; None if none exist, or for several partitions.
        newer: The query for newer records; None likewise.
    """

    topic: str
    topics: tuple[str, ...]
    partition: int | None
    partition_count: int
    passed_count: int
    span: Span | None
    asked: Link
    rows: tuple[Row, ...]
    older: Link | None
    newer: Link | None
    kinds: tuple[str, ...] = KINDS


class Wish(NamedTuple):
    """The parameters of a query.

    Attributes:
        place: `newest`, `oldest`, or empty if `start`, `before` or `time_ms` is set.
    """

    partition: int | None
    place: str
    start: int | None
    before: int | None
    time_ms: int | None
    is_committed: bool

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Wish":
        """Read the parameters; ignore invalid ones."""
        start, before = whole_number(query.get("start")), whole_number(query.get("before"))
        time_ms = parse_time_ms(query.get("time", ""))
        is_placed = any(each is not None for each in (start, before, time_ms))
        place = "" if is_placed else query.get("place", "")
        place = place if place in _PLACES or is_placed else _PLACES[0]
        return cls(whole_number(query.get("partition")), place, start, before, time_ms, query.get("all") != "yes")


async def build(state: MessageState, asked: Asked) -> Messages:
    """Read the records of the query. Raises KafkaError."""
    topic = asked.query.get("topic", "")
    admin = asked.cluster.admin(OffsetAdmin)
    now_ms = admin.pool.env.clock.now_ms()
    if not topic:
        names = sorted((await admin.pool.metadata(None)).topics)[:_MOST_TOPICS]
        return Messages(
            now_ms=now_ms, silent={}, not_told=(), topic="", topics=tuple(names), partition=None, partition_count=0,
            passed_count=0, span=None, asked=asked.query, rows=(), older=None, newer=None,
        )  # fmt: skip
    wish = Wish.of(asked.query)
    try:
        metadata = await admin.pool.topic(topic)
        indexes = sorted(metadata.partitions)
        wanted = indexes if wish.partition is None else [wish.partition]
        looked_at, not_told = with_leaders(admin.pool, metadata, wanted[:_MOST_PARTITIONS])
        read = await _read(admin, looked_at, wish, state.record_format(topic, asked.query), is_single=len(wanted) == 1)
    except KafkaError as error:
        raise named_right(error, topic) from error
    return Messages(
        now_ms=now_ms,
        silent={},
        not_told=not_told,
        topic=topic,
        topics=(),
        partition=wish.partition if wish.partition is not None or len(indexes) > 1 else indexes[0],
        partition_count=len(indexes),
        passed_count=max(len(wanted) - _MOST_PARTITIONS, 0),
        span=read.span,
        asked=asked.query,
        rows=read.rows,
        older=read.older,
        newer=read.newer,
    )


class _Read(NamedTuple):
    rows: tuple[Row, ...]
    span: Span | None = None
    older: Link | None = None
    newer: Link | None = None


async def _read(
    admin: OffsetAdmin,
    partitions: Sequence[TopicPartition],
    wish: Wish,
    record_format: RecordFormat,
    *,
    is_single: bool,
) -> _Read:
    """Read the records of a single partition, or some of each of several."""
    found = await spans(admin, partitions)
    starts = await admin.offsets(partitions, wish.time_ms) if wish.time_ms is not None else {}
    most = max(MOST_ROWS // max(len(partitions), 1), _LEAST_OF_EACH)

    async def of(partition: TopicPartition) -> _Read:
        span, start = found[partition], wish.start
        if partition in starts:
            start = starts[partition] if starts[partition] >= 0 else span.end
        if start is None and wish.place == "oldest":
            start = span.begin
        if start is not None:
            page = await read_on(admin, partition, start, span, most, is_committed=wish.is_committed)
        else:
            before = span.end if wish.before is None else wish.before
            page = await read_back(admin, partition, before, span, most, is_committed=wish.is_committed)
        older = {"partition": str(partition.partition), "before": str(page.begin)} if page.begin > span.begin else None
        newer = {"partition": str(partition.partition), "start": str(page.end)} if page.end < span.end else None
        rows = await asyncio.to_thread(record_format.rows, partition.partition, page.found)
        return _Read(rows, span, older, newer)

    read = await asyncio.gather(*(of(each) for each in partitions))
    if is_single:
        return read[0]._replace(rows=read[0].rows[::-1])
    rows = sorted((row for each in read for row in each.rows), key=lambda row: (row.timestamp_ms, row.offset))
    return _Read(tuple(rows[::-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRecord(View):
    """A record; `asked` is its query."""

    topic: str
    asked: Link
    row: Row


_WHOLE_BYTES: Final = 256 << 10


async def build_record(state: MessageState, asked: Asked) -> OneRecord:
    """Read the record of the query. Raises KafkaError."""
    topic = asked.query.get("topic", "")
    admin = asked.cluster.admin(OffsetAdmin)
    record_format = state.record_format(topic, asked.query, _WHOLE_BYTES)
    found = await read_one(admin, topic, asked.query)
    (row,) = await asyncio.to_thread(record_format.rows, whole_number(asked.query.get("partition")) or 0, [found])
    now_ms = admin.pool.env.clock.now_ms()
    return OneRecord(now_ms=now_ms, silent={}, not_told=(), topic=topic, asked=asked.query, row=row)


async def read_one(admin: OffsetAdmin, topic: str, query: Link) -> Found:
    """Read the record of `?partition=` and `?offset=`. Raises KafkaError (OFFSET_OUT_OF_RANGE: it does not exist)."""
    partition = TopicPartition(topic, whole_number(query.get("partition")) or 0)
    offset = whole_number(query.get("offset")) or 0
    try:
        await admin.pool.topic(topic)
        span = (await spans(admin, [partition]))[partition]
        page = await read_on(admin, partition, offset, span, 1, is_committed=False)
    except KafkaError as error:
        raise named_right(error, topic) from error
    if not page.found or page.found[0].record.offset != offset:
        text = f"partition {partition} has no record {offset}: its offsets are from {span.begin} up to {span.end}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, text)
    return page.found[0]


async def download(state: MessageState, asked: Asked) -> tuple[str, bytes]:
    """Return a file name and content: the masked value of a record, or with `?part=key` its key.

    Raises:
        KafkaError: The record does not exist, or may not be read.
    """
    topic, part = asked.query.get("topic", ""), "key" if asked.query.get("part") == "key" else "value"
    found = await read_one(asked.cluster.admin(OffsetAdmin), topic, asked.query)
    record = await asyncio.to_thread(masked, found.record, state.record_format(topic, asked.query).masks)
    name = f"{topic}-{asked.query.get('partition', '0')}-{record.offset}.{part}"
    return re.sub(r"[^A-Za-z0-9._-]", "_", name), (record.key if part == "key" else record.value) or b""


def kinds(state: MessageState) -> tuple[ViewKind, ...]:
    """Return the views of messages, which share their state."""

    async def messages(asked: Asked) -> View:
        return await build(state, asked)

    async def search(asked: Asked) -> View:
        return await search_view.build(state, asked)

    async def tail(asked: Asked) -> View:
        return await tail_view.build(state, asked)

    async def record(asked: Asked) -> View:
        return await build_record(state, asked)

    return (
        ViewKind("/messages", "Messages", "messages.html.jinja", messages, 10, "/messages"),
        ViewKind(search_view.PATH, "Search", "search.html.jinja", search, 1, "/messages"),
        ViewKind("/tail", "Tail", "tail.html.jinja", tail, 1, "/messages"),
        ViewKind("/record", "Record", "record.html.jinja", record, 60, "/messages"),
    )
