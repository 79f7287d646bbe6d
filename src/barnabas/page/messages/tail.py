"""Tails: the newest records of a topic, live; nothing is read without viewers."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.types import TopicPartition
from barnabas.page.authentication.shares import first_to_go
from barnabas.page.messages.reading import read_back, spans
from barnabas.page.messages.rows import RecordFormat, Row

MOST_ROWS: Final = 500
MOST_SHOWN_BYTES: Final = 256
_MOST_KEPT: Final = 8
_LEAST_OF_EACH: Final = 10


class Tail:
    """The newest rows of some partitions, from the first `look` on.

    Attributes:
        rows: The newest last.
        since_ms: The time of the first `look`.
        dropped_count: Number of new offsets that are no longer shown, or were skipped because they were too many.
    """

    def __init__(
        self, partitions: Sequence[TopicPartition], record_format: RecordFormat, since_ms: int, *, is_committed: bool
    ) -> None:
        self.rows: deque[Row] = deque(maxlen=MOST_ROWS)
        self.since_ms = since_ms
        self.dropped_count = 0
        self.partitions = partitions
        self._format = record_format
        self._is_committed = is_committed
        self._positions: dict[TopicPartition, int] = {}

    async def look(self, admin: OffsetAdmin, partitions: Sequence[TopicPartition]) -> None:
        """Read new records of the partitions that have leaders, or the newest of them. Raises KafkaError."""
        found = await spans(admin, partitions)
        ends = {each: span.stable if self._is_committed else span.end for each, span in found.items()}
        self._positions = ends | self._positions
        grown = [each for each, end in ends.items() if end > self._positions[each]]
        most = max(MOST_ROWS // max(len(grown), 1), _LEAST_OF_EACH)
        pages = await asyncio.gather(
            *(read_back(admin, each, ends[each], found[each], most, is_committed=self._is_committed) for each in grown)
        )
        came: list[Row] = []
        for each, page in zip(grown, pages, strict=True):
            # The batch may begin before the last shown offset.
            new = [one for one in page.found if one.record.offset >= self._positions[each]]
            self.dropped_count += max(page.begin - self._positions[each], 0)
            came += await asyncio.to_thread(self._format.rows, each.partition, new)
        came.sort(key=lambda row: (row.timestamp_ms, row.offset))
        self.dropped_count += max(len(self.rows) + len(came) - MOST_ROWS, 0)
        self.rows += came
        self._positions |= {each: ends[each] for each in grown}


Key = tuple[str, str, tuple[tuple[str, str], ...]]


class Tails:
    """All tails of a page, by cluster, user and query.

    Above the limit, the user with the most tails loses the least recently viewed one.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, Tail] = OrderedDict()

    def get(self, key: Key) -> Tail | None:
        """Return an existing tail."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Key, tail: Tail) -> None:
        """Add a tail."""
        if len(self._kept) >= _MOST_KEPT:
            del self._kept[first_to_go({each: each[:2] for each in self._kept}, key[:2])]
        self._kept[key] = tail
