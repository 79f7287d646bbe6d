"""Reads records of a partition forwards or backwards from an offset, with the outcome of their transactions.

Below the last stable offset the broker returns the aborted transactions; all others were committed. Above it, a
transaction is open until its producer's marker. The marker is searched up to the high watermark, or within
`MOST_READ_BYTES`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.pool import Pool, TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.formatting import listed
from barnabas.wire.protocol.messages.fetch import AbortedTransaction
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record, iterate_records

MOST_READ_BYTES: Final = 16 << 20
MOST_UNPACKED_BYTES: Final = 32 << 20
_FETCH_BYTES: Final = 256 << 10
# If a range has too few records, after compaction or aborted transactions, the next range is larger by this factor.
_WIDER: Final = 8


class Span(NamedTuple):
    """The offsets of a partition: `begin`, `end` (the high watermark), and `stable` (the last stable offset)."""

    begin: int
    stable: int
    end: int


class Fate(Enum):
    """The outcome of a record's transaction."""

    NONE = ""
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    UNKNOWN = "not known"
    MARKER = "marker"


class Found(NamedTuple):
    """A record; for an unreadable batch, one record with the error as its value."""

    record: Record
    fate: Fate
    producer_id: int
    is_readable: bool = True


class Page(NamedTuple):
    """Records in order of offset; `begin` and `end` are the range that was read."""

    found: tuple[Found, ...]
    begin: int
    end: int


def named_right(error: KafkaError, topic: str) -> KafkaError:
    """Add the missing right to an authorization error."""
    if error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return error
    return KafkaError(error.code, f"the records of topic {topic} require the rights READ and DESCRIBE")


def with_leaders(
    pool: Pool, topic: TopicMetadata, indexes: Sequence[int]
) -> tuple[list[TopicPartition], tuple[str, ...]]:
    """Return partitions that have a leader, and a text that names the others; a single partition is always returned."""
    without = [each for each in indexes if each in topic.partitions and topic.partitions[each].leader_id < 0]
    if not without or len(indexes) == 1:
        return [TopicPartition(topic.name, each) for each in indexes], ()
    # The cached metadata would hide later leaders.
    pool.forget(topic.name)
    partitions = [TopicPartition(topic.name, each) for each in indexes if each not in without]
    return partitions, (f"partitions of topic {topic.name} without a leader: {listed(without)}",)


async def spans(admin: OffsetAdmin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Span]:
    """Read the starts and ends of partitions. Raises KafkaError."""
    wanted = list(partitions)
    begin = await admin.offsets(wanted, EARLIEST)
    # Requested in this order, so that the stable offset is never above the end.
    stable = await admin.offsets(wanted, LATEST, is_read_committed=True)
    end = await admin.offsets(wanted, LATEST)
    return {each: Span(begin[each], min(stable[each], end[each]), end[each]) for each in wanted}


async def batches_with_fates(
    admin: OffsetAdmin, partition: TopicPartition, start: int, span: Span, fetch_bytes: int = _FETCH_BYTES
) -> AsyncGenerator[tuple[BatchHeader, memoryview, Fate]]:
    """Read batches from an offset to the span's end, with their transactions' outcomes; OPEN may change later.

    Raises:
        KafkaError: The partition cannot be read.
        CorruptRecordsError: A response is not a sequence of batches.
    """
    told: list[AbortedTransaction] = []
    aborted: set[int] = set()
    if start < span.stable:
        async for header, batch in read_batches(admin, partition, start, span.stable, fetch_bytes, told):
            aborted |= {each.producer_id for each in told if each.first_offset <= header.last_offset}
            told[:] = [each for each in told if each.first_offset > header.last_offset]
            if header.is_control:
                aborted.discard(header.producer_id)
                yield header, batch, Fate.MARKER
            elif header.is_transactional:
                yield header, batch, Fate.ABORTED if header.producer_id in aborted else Fate.COMMITTED
            else:
                yield header, batch, Fate.NONE
    async for header, batch in read_batches(admin, partition, max(start, span.stable), span.end, fetch_bytes):
        fate = Fate.OPEN if header.is_transactional else Fate.NONE
        yield header, batch, Fate.MARKER if header.is_control else fate


async def read_on(
    admin: OffsetAdmin, partition: TopicPartition, start: int, span: Span, most: int, *, is_committed: bool
) -> Page:
    """Read the next records from an offset on; with `is_committed`, only those visible to read_committed.

    Raises:
        KafkaError: The partition cannot be read.
        CorruptRecordsError: A response is not a sequence of batches.
    """
    span = span._replace(end=min(span.end, span.stable)) if is_committed else span
    start = max(start, span.begin)
    found: list[Found] = []
    read_bytes, end = 0, start
    async for header, batch, fate in batches_with_fates(admin, partition, start, span):
        read_bytes += header.size_in_bytes
        if not is_committed or fate in (Fate.NONE, Fate.COMMITTED):
            found += await asyncio.to_thread(_first, header, batch, fate, start, most - len(found))
        end = header.last_offset + 1
        if len(found) >= most or read_bytes > MOST_READ_BYTES:
            break
    else:
        end = max(span.end, start)
    if len(found) >= most:
        end = found[-1].record.offset + 1
    return Page(await _settled(admin, partition, found, span), start, end)


async def read_back(
    admin: OffsetAdmin, partition: TopicPartition, before: int, span: Span, most: int, *, is_committed: bool
) -> Page:
    """Read the last records before an offset. Raises the same errors as `read_on`."""
    before = max(min(before, span.stable if is_committed else span.end), span.begin)
    found: deque[Found] = deque(maxlen=most)
    width, read_bytes = most, 0
    while True:
        start = max(before - width, span.begin)
        found.clear()
        async for header, batch, fate in batches_with_fates(admin, partition, start, span):
            if header.base_offset >= before:
                break
            read_bytes += header.size_in_bytes
            if not is_committed or fate in (Fate.NONE, Fate.COMMITTED):
                found.extend(await asyncio.to_thread(_last, header, batch, fate, (start, before), most))
        if len(found) == most or start == span.begin or read_bytes > MOST_READ_BYTES:
            break
        width *= _WIDER
    begin = found[0].record.offset if len(found) == most else start
    return Page(await _settled(admin, partition, list(found), span), begin, before)


def _first(header: BatchHeader, batch: memoryview, fate: Fate, start: int, most: int) -> list[Found]:
    return list(islice(_of_batch(header, batch, fate, start, header.last_offset + 1), most))


def _last(header: BatchHeader, batch: memoryview, fate: Fate, between: tuple[int, int], most: int) -> list[Found]:
    return list(deque(_of_batch(header, batch, fate, *between), maxlen=most))


def _of_batch(header: BatchHeader, batch: memoryview, fate: Fate, start: int, end: int) -> Iterator[Found]:
    """Yield a batch's records; for an unreadable batch, one record with the error."""
    try:
        for record in iterate_records(batch, MOST_UNPACKED_BYTES):
            if start <= record.offset < end:
                yield Found(record, fate, header.producer_id)
    except CorruptRecordsError as error:
        offset = max(header.base_offset, start)
        yield Found(Record(offset, header.max_timestamp_ms, None, str(error).encode()), Fate.UNKNOWN, -1, False)


async def _settled(admin: OffsetAdmin, partition: TopicPartition, found: list[Found], span: Span) -> tuple[Found, ...]:
    """Return the records; if a record's transaction was open, its outcome is updated."""
    is_open = [each for each in found if each.fate is Fate.OPEN]
    if is_open:
        endings = await _endings(admin, partition, is_open, span)
        found = [each._replace(fate=endings.fate(each)) if each.fate is Fate.OPEN else each for each in found]
    return tuple(found)


class _Endings(NamedTuple):
    """Markers after some records, by producer, and whether all markers were read."""

    markers: dict[int, list[tuple[int, bool]]]
    is_whole: bool

    def fate(self, found: Found) -> Fate:
        for offset, is_commit in self.markers.get(found.producer_id, ()):
            if offset > found.record.offset:
                return Fate.COMMITTED if is_commit else Fate.ABORTED
        return Fate.OPEN if self.is_whole else Fate.UNKNOWN


async def _endings(admin: OffsetAdmin, partition: TopicPartition, is_open: list[Found], span: Span) -> _Endings:
    """Search for the markers that end open transactions."""
    waiting = {each.producer_id: each.record.offset for each in is_open}
    markers: dict[int, list[tuple[int, bool]]] = {}
    read_bytes = 0
    async for header, batch in read_batches(admin, partition, is_open[0].record.offset, span.end, _FETCH_BYTES):
        read_bytes += header.size_in_bytes
        if header.is_control and header.producer_id in waiting:
            marker = next(map(read_marker, iterate_records(batch, MOST_UNPACKED_BYTES)), None)
            if marker is not None:
                is_commit = marker.marker_type is MarkerType.COMMIT
                markers.setdefault(header.producer_id, []).append((header.base_offset, is_commit))
            if header.base_offset > waiting[header.producer_id]:
                del waiting[header.producer_id]
        if not waiting or read_bytes > MOST_READ_BYTES:
            return _Endings(markers, not waiting)
    return _Endings(markers, True)
