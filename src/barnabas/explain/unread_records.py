"""Reads the uncommitted records of groups: their number, and the time of the first one."""

from contextlib import aclosing
from typing import Final, NamedTuple

from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.batch_reader import read_batches
from barnabas.core.types import TopicPartition
from barnabas.explain.queries import MOST_READ, Queries, some_at_once
from barnabas.explain.record_count import RecordCount
from barnabas.explain.snapshot import UnreadRecords

# The limits for one partition, and for all partitions together.
_READ_BYTES: Final = 1 << 20
_ALL_READ_BYTES: Final = 4 << 20


class _Read(NamedTuple):
    """The records found from a committed offset to a last stable offset, or within a limit of bytes."""

    offset: int
    stable_offset: int
    most_bytes: int
    unread: UnreadRecords

    def is_current(self, offset: int, stable_offset: int, most_bytes: int) -> bool:
        """Return whether another read would have the same result."""
        is_same_end = self.stable_offset == stable_offset if self.unread.is_whole else self.most_bytes >= most_bytes
        return self.offset == offset and is_same_end


class UnreadRecordReader:
    """Reads uncommitted records of groups; cached until offsets change."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, TopicPartition], _Read] = {}

    async def read(self, queries: Queries) -> None:
        """Read the uncommitted records of groups, in descending order of lag."""
        snapshot = queries.snapshot
        behind = sorted(
            (
                (log.stable_offset - offset, (group.name, name), offset, log.stable_offset)
                for group in snapshot.groups.values()
                for name, offset in group.committed.items()
                if (log := snapshot.logs.get(name)) is not None and log.start_offset <= offset < log.end_offset
            ),
            key=lambda each: -each[0],
        )[:MOST_READ]
        most_bytes = min(_READ_BYTES, _ALL_READ_BYTES // max(len(behind), 1))

        async def read(wanted: tuple[int, tuple[str, TopicPartition], int, int]) -> None:
            _, key, offset, stable_offset = wanted
            before = self._read.get(key)
            if before is None or not before.is_current(offset, stable_offset, most_bytes):
                found = await queries.of_leader(key[1], _unread(queries, key[1], offset, stable_offset, most_bytes))
                before = None if found is None else _Read(offset, stable_offset, most_bytes, found)
            if before is not None:
                kept[key] = before

        kept: dict[tuple[str, TopicPartition], _Read] = {}
        await some_at_once(read, behind)
        self._read = kept
        snapshot.unread = {key: found.unread for key, found in kept.items()}


async def _unread(
    queries: Queries, name: TopicPartition, offset: int, end_offset: int, most_bytes: int
) -> UnreadRecords:
    counted = RecordCount(offset)
    read_bytes = 0
    reading = read_batches(queries.admin(AdminCalls), name, offset, end_offset, most_bytes)
    async with aclosing(reading) as batches:
        async for header, batch in batches:
            counted.add(header, batch)
            read_bytes += header.size_in_bytes
            if read_bytes >= most_bytes:
                return counted.unread(is_whole=False)
    return counted.unread(is_whole=True)
