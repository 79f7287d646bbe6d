"""Incremental fetch sessions: a reader's partitions and the offsets last sent to it, so that neither side repeats them.

A session begins with a full fetch (epoch 0) and continues with epochs 1, 2, 3...: each request contains changed and
removed partitions, each answer the changes since the previous one. Pure except for clock and dice.

If all slots are taken, a new session evicts one of these:
- the session that was unused longest, if for more than `EVICTION_MS`; otherwise
- the least evictable session, if it is less than the new one. Sessions are ordered by (privileged, partitions), and
  followers are privileged. A follower's session may evict consumers' sessions of any age. In all other cases the
  evicted session must have been older than `EVICTION_MS` at its last use.

Invariants: a session that continues has at least one partition; its partitions are in the order in which they
are served, and those that returned records move to the end.

Source: KIP-227; semantics, Fetch sessions; Kafka 2.7.2's `FetchSession`.
"""

from collections import OrderedDict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, PartitionData

if TYPE_CHECKING:
    from random import Random

# The request for each partition, in the order of the first mention.
Wanted: TypeAlias = dict[TopicPartition, FetchPartition]

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EVICTION_MS = 120_000
# differs from Kafka (fetch-session-partitions): memory is Kafka's only limit.
MOST_PARTITIONS = 500_000
"""In all sessions together: some 200 MB."""

_LAST_EPOCH = 0x7FFFFFFF
_HIGHEST_ID = 0x7FFFFFFF

# Privileged or not, partitions, id.
_Worth: TypeAlias = tuple[bool, int, int]


def next_epoch(epoch: int) -> int:
    """Return the epoch of the next request."""
    if epoch < INITIAL_EPOCH:
        return FINAL_EPOCH
    return 1 if epoch == _LAST_EPOCH else epoch + 1


class FetchSession:
    """The partitions of one reader, and the offsets last sent to it.

    Attributes:
        id: `NO_SESSION` until it has a slot.
        is_privileged: Whether the reader is a follower.
        wanted: The partitions to read, in this order.
        told: High watermark and log start offset of each partition, as last sent to the reader.
        epoch: The epoch of its next request.
        size: The number of its partitions at its last use.
        is_old: Whether it was older than `EVICTION_MS` at its last use.
    """

    __slots__ = ("created_ms", "epoch", "id", "is_old", "is_privileged", "last_used_ms", "size", "told", "wanted")

    def __init__(self, wanted: Wanted, is_privileged: bool) -> None:
        self.id = NO_SESSION
        self.is_privileged = is_privileged
        self.wanted = wanted
        self.told: dict[TopicPartition, tuple[int, int]] = {}
        self.created_ms = self.last_used_ms = 0
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.size = 0
        self.is_old = False

    @property
    def worth(self) -> _Worth:
        return self.is_privileged, self.size, self.id

    def forget(self, forgotten: Iterable[TopicPartition]) -> None:
        """Remove partitions that the reader does not want any more."""
        for key in forgotten:
            self.wanted.pop(key, None)
            self.told.pop(key, None)

    def has_answered(self, answered: Iterable[tuple[TopicPartition, PartitionData]]) -> None:
        """Record an answer; partitions with records move to the end of the order."""
        # hot path: benchmarks/load (every incremental fetch)
        wanted, told = self.wanted, self.told
        has_turns = len(wanted) > 1
        for key, data in answered:
            told[key] = data.high_watermark, data.log_start_offset
            if has_turns and data.records:
                wanted[key] = wanted.pop(key)


class _Evictable:
    """Sessions by worth, the least first."""

    __slots__ = ("_heap", "_worths")

    def __init__(self) -> None:
        self._worths: dict[int, _Worth] = {}
        # Also contains outdated entries, which are skipped at the top.
        self._heap: list[_Worth] = []

    def add(self, session: FetchSession) -> None:
        worth = session.worth
        if self._worths.get(session.id) == worth:
            return
        self._worths[session.id] = worth
        heappush(self._heap, worth)
        if len(self._heap) > 2 * len(self._worths) + 16:
            self._heap = list(self._worths.values())
            heapify(self._heap)

    def remove(self, session_id: int) -> None:
        self._worths.pop(session_id, None)

    def least(self) -> _Worth | None:
        heap = self._heap
        while heap:
            worth = heap[0]
            if self._worths.get(worth[2]) == worth:
                return worth
            heappop(heap)
        return None


class FetchSessions:
    """The sessions of all readers.

    Attributes:
        partition_count: Partitions of all sessions.
        eviction_count: Number of evicted sessions.
    """

    __slots__ = (
        "_by_anybody",
        "_by_privileged",
        "_clock",
        "_dice",
        "_sessions",
        "_slots",
        "eviction_count",
        "partition_count",
    )

    def __init__(self, slot_count: int, clock: Clock, dice: "Random") -> None:
        """Args:
        slot_count: max.incremental.fetch.session.cache.slots.
        """
        self._slots = slot_count
        self._clock = clock
        self._dice = dice
        # The longest unused first.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._by_anybody = _Evictable()
        self._by_privileged = _Evictable()
        self.partition_count = 0
        self.eviction_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def go_on(
        self, session_id: int, epoch: int, changed: Wanted, forgotten: Iterable[TopicPartition]
    ) -> FetchSession | ErrorCode | None:
        """Apply an incremental request to its session.

        Args:
            epoch: The request's epoch.
            changed: The changed partitions; new ones are added at the end, the others keep their places.
            forgotten: The removed partitions.

        Returns:
            The session; the error if it cannot continue; or None if no partition is left: then the session is closed,
            and the request is answered without one.
        """
        # hot path: benchmarks/load (every incremental fetch)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if changed or forgotten:
            session.wanted.update(changed)
            if forgotten:
                session.forget(forgotten)
            if self.partition_count + len(session.wanted) - session.size > MOST_PARTITIONS:
                # The reader starts over with a full fetch, perhaps without a session.
                self.close(session_id)
                return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if not session.wanted:
            self.close(session_id)
            return None
        session.epoch = 1 if epoch == _LAST_EPOCH else epoch + 1
        session.last_used_ms = now_ms = self._clock.monotonic_ms()
        self._sessions.move_to_end(session_id)
        size, is_old = len(session.wanted), now_ms - session.created_ms > EVICTION_MS
        if size != session.size or is_old is not session.is_old:
            self._resize(session, size, is_old)
        return session

    def add(self, session: FetchSession) -> int:
        """Add a new session if there is a free slot, or one to evict.

        Returns:
            Its id, or `NO_SESSION`.
        """
        now_ms, size = self._clock.monotonic_ms(), len(session.wanted)
        if not self._has_room(session.is_privileged, size, now_ms):
            return NO_SESSION
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._dice.randrange(1, _HIGHEST_ID)
        session.id = session_id
        session.created_ms = now_ms
        self._sessions[session_id] = session
        session.last_used_ms = now_ms
        self._resize(session, size, is_old=False)
        return session_id

    def close(self, session_id: int) -> None:
        """Remove a session; does nothing if it is unknown."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._by_anybody.remove(session_id)
            self._by_privileged.remove(session_id)
            self.partition_count -= session.size

    def _resize(self, session: FetchSession, size: int, is_old: bool) -> None:
        """Update the counts after a session's size or age changed."""
        self.partition_count += size - session.size
        session.size = size
        session.is_old = is_old
        if is_old or not session.is_privileged:
            self._by_privileged.add(session)
        if is_old:
            self._by_anybody.add(session)

    def _has_room(self, is_privileged: bool, size: int, now_ms: int) -> bool:
        while self.partition_count + size > MOST_PARTITIONS:
            if not self._evict_unused(now_ms):
                return False
        if len(self._sessions) < self._slots or self._evict_unused(now_ms):
            return True
        least = (self._by_privileged if is_privileged else self._by_anybody).least()
        if least is None or (is_privileged, size) <= least[:2]:
            return False
        self._evict(least[2])
        return True

    def _evict_unused(self, now_ms: int) -> bool:
        for session in self._sessions.values():
            if now_ms - session.last_used_ms > EVICTION_MS:
                self._evict(session.id)
                return True
            break
        return False

    def _evict(self, session_id: int) -> None:
        self.close(session_id)
        self.eviction_count += 1
