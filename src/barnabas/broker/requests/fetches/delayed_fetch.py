"""Fetches that wait: for enough data, or for the disk.

A fetch with fewer than its min bytes is read again whenever one of its partitions changes. It is answered when it has
enough, when its time is up, when a partition cannot be read any more, or when all further records of a partition would
be in a newer segment than the one it began in: an answer never extends beyond a segment.

A waiting fetch keeps its request, with names that may be very long, for as long as the client chooses. So the bytes of
all waiting fetches are bounded (`core/purgatory.py`), except those of small ones.

Source: semantics, Fetch; Kafka 2.7.2's `DelayedFetch.tryComplete`.
"""

from itertools import islice
from typing import Any

from barnabas.broker.log.disk.cold_reads import ColdSlice, ColdWork
from barnabas.broker.replicas.partition import END_KEY_FIELDS, end_key
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fetches.reader import FetchReader, Span
from barnabas.broker.requests.fetches.sessions import FetchSession, Wanted
from barnabas.broker.requests.slices import Steps
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData

_MOST_COLD_READS = 4
# Partitions of one fetch that are read from disk at once.
_MOST_COLD_PARTITIONS = 500

# The most memory of a waiting fetch: for a byte of its frame (names may take four bytes a character), for a partition.
_BYTES_OF_BYTE, _PARTITION_BYTES = 4, 1_000
# Less than this is not counted; nearly all fetches keep less.
_UNCOUNTED_BYTES = 64 * 1024

# A follower's fetch of more partitions is checked at every append: that is cheaper than a watch for each partition.
_MOST_WATCHED_KEYS = 32

# Where a fetch began to read a partition: the offset, and the base offset of its segment. A bare tuple, since one is
# made for each partition of each fetch.
_Start = tuple[int, int]


class DelayedFetch:
    """A fetch that waits for data, or for the disk."""

    __slots__ = (
        "_cold_count",
        "_ctx",
        "_deadline_ms",
        "_failures",
        "_refused",
        "_request",
        "_session",
        "_starts",
        "_wanted",
        "pending",
    )

    def __init__(
        self, ctx: RequestContext, request: FetchRequest, wanted: Wanted, session: FetchSession | None
    ) -> None:
        """Args:
        wanted: A copy of its own, because the session's partitions may change while the fetch waits.
        """
        self._ctx = ctx
        self._request = request
        self._wanted = wanted
        self._session = session
        # None before the first pass.
        self._refused: dict[TopicPartition, PartitionData] | None = None
        self._deadline_ms = ctx.services.clock.monotonic_ms() + request.max_wait_ms
        self._cold_count = 0
        self._failures: dict[TopicPartition, StorageError] = {}
        self._starts: dict[TopicPartition, _Start] = {}
        self.pending: Pending[FetchResponse] = Pending()
        self.pending.on_cancel = self._forget

    def go_on(self, reading: FetchReader, left_ms: int) -> None:
        """Continue after a pass: read from disk, answer, or wait for data for `left_ms`."""
        self._refused = reading.refused
        if reading.cold:
            self._read_from_disk(reading.cold)
            return
        if left_ms <= 0 or self._is_due(reading):
            self._answer(reading)
        elif self._is_follower:
            self._wait_for_ends(left_ms)
        else:
            self._ctx.services.fetches.watch(self, reading.keys, left_ms, self._kept_bytes())

    def wait(self) -> None:
        """Wait for data without a first pass, because the follower has all records (`reader.has_everything`)."""
        self._refused = {}
        self._wait_for_ends(self._request.max_wait_ms)

    def _wait_for_ends(self, left_ms: int) -> None:
        """Wait as a follower, which reads up to the ends of the logs."""
        fetches, wanted = self._ctx.services.fetches, self._wanted
        if len(wanted) > _MOST_WATCHED_KEYS:
            fetches.watch_many(self, EndKeys(wanted), left_ms, self._kept_bytes())
        else:
            fetches.watch(self, [end_key(key) for key in wanted], left_ms, self._kept_bytes())

    def _kept_bytes(self) -> int:
        """Return the memory of the waiting fetch; 0 if it is too small to count."""
        # hot path: benchmarks/load (every fetch that waits)
        # differs from Kafka (waiting-fetches): Kafka keeps all waiting fetches.
        kept_bytes = self._ctx.frame_bytes * _BYTES_OF_BYTE + len(self._wanted) * _PARTITION_BYTES
        return kept_bytes if kept_bytes > _UNCOUNTED_BYTES else 0

    @property
    def _is_follower(self) -> bool:
        return self._request.replica_id >= 0

    def _answer(self, reading: FetchReader) -> None:
        pending = self.pending
        try:
            answer = reading.answer()
        except Exception as error:
            pending.fail(error)
            return
        if isinstance(answer, Pending):
            pending.on_cancel = answer.cancel
            answer.then(pending.complete, pending.fail)
        else:
            pending.complete(answer)

    def try_complete(self) -> bool:
        reading = self._reading()
        reading.read()
        if reading.cold:
            self._forget()
            self._read_from_disk(reading.cold)
            return False
        is_due = self._is_due(reading)
        if is_due:
            self._answer(reading)
        return is_due

    def expire(self) -> None:
        self._ctx.services.expired_fetches[self._is_follower] += 1
        self._deadline_ms = 0
        self._read_again()

    def fail(self, error: Exception) -> None:
        self.pending.fail(error)

    def _read_again(self) -> None:
        reading = self._reading()
        reading.read()
        self.go_on(reading, self._left_ms())

    def _left_ms(self) -> int:
        return self._deadline_ms - self._ctx.services.clock.monotonic_ms()

    def _is_due(self, reading: FetchReader) -> bool:
        """Return whether the fetch must not wait any longer."""
        if reading.is_complete or self._is_follower:
            return reading.is_complete
        # `any` would make a generator, which costs more than the check itself.
        for span in reading.spans:  # noqa: SIM110
            if self._has_rolled(span):
                return True
        return False

    def _has_rolled(self, span: Span) -> bool:
        """Return whether a partition's end is in another segment than in the first pass."""
        key, log, offset, end_offset, found = span
        start = self._starts.get(key)
        if start is None:
            if found is None and offset < end_offset:
                # Compaction removed all records from this offset on: the reader is at the end.
                offset = log.log_end_offset
            start = self._starts[key] = offset, log.segment_base_offset(offset, found)
        start_offset, segment_base_offset = start
        # In a newer segment: the first one gets no more records. Or in an older one: the log was truncated.
        return end_offset != start_offset and log.segment_base_offset(end_offset) != segment_base_offset

    def _reading(self) -> FetchReader:
        # Bytes may leave the page cache again before they are used, so the number of disk reads is limited.
        most_reads = _MOST_COLD_READS + len(self._wanted) // _MOST_COLD_PARTITIONS
        may_wait_for_disk = self._cold_count >= most_reads
        return FetchReader(
            self._ctx,
            self._request,
            self._wanted,
            self._session,
            self._refused,
            self._failures,
            may_wait_for_disk=may_wait_for_disk,
        )

    def _read_from_disk(self, cold: dict[TopicPartition, ColdWork[Any] | ColdSlice]) -> None:
        cold_reads = self._ctx.services.cold_reads
        assert cold_reads is not None, "only with it anything is found missing"
        self._ctx.waited_for = "disk"
        self._cold_count += 1

        def read(failures: list[BaseException | None]) -> None:
            if self.pending.is_done:
                return
            for (key, work), failure in zip(cold.items(), failures, strict=True):
                # An index file may be missing because its segment was deleted meanwhile: the next pass handles that.
                if isinstance(failure, StorageError) and isinstance(work, ColdSlice):
                    self._failures[key] = failure
            try:
                self._read_again()
            except Exception as error:
                self.pending.fail(error)

        cold_reads.read(list(cold.values()), read)

    def _forget(self) -> None:
        self._ctx.services.fetches.forget(self)


class EndKeys:
    """Contains the `end_key` of each of very many partitions."""

    __slots__ = ("_wanted",)

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and len(key) == END_KEY_FIELDS and key[:2] in self._wanted


class LargeDelayedFetch(DelayedFetch):
    """A fetch of very many partitions: passes over them in slices, and again whenever data arrives.

    It watches its partitions before it reads them, so the next pass sees records that arrive during a pass.
    """

    __slots__ = ("_awaits_disk", "_is_stale", "_is_waiting", "_pass")

    def __init__(
        self, ctx: RequestContext, request: FetchRequest, wanted: Wanted, session: FetchSession | None
    ) -> None:
        super().__init__(ctx, request, wanted, session)
        self._pass: Pending[tuple[FetchReader, bool]] | None = None
        self._awaits_disk = self._is_stale = self._is_waiting = False
        self.pending.on_cancel = self._cancel

    def begin(self) -> Pending[FetchResponse]:
        """Begin the first pass."""
        left_ms = self._left_ms()
        if left_ms > 0:
            self._is_waiting = True
            keys = EndKeys(self._wanted) if self._is_follower else self._wanted
            self._ctx.services.fetches.watch_many(self, keys, left_ms, self._kept_bytes())
        self._read_again()
        return self.pending

    def try_complete(self) -> bool:
        if not self._awaits_disk:
            self._read_again()
        return False

    def expire(self) -> None:
        self._ctx.services.expired_fetches[self._is_follower] += 1
        self._deadline_ms = 0
        self._is_waiting = False
        if not self._awaits_disk:
            self._read_again()

    def _read_again(self) -> None:
        self._awaits_disk = False
        if self._pass is not None:
            self._is_stale = True
            return
        self._is_stale = False
        self._pass = self._ctx.services.slices.run(self._steps())
        self._pass.then(self._passed, self._fail)

    def _steps(self) -> Steps[tuple[FetchReader, bool]]:
        """Make one pass; the result is its reader and whether to answer now."""
        reading = self._reading()
        spans, checked_count, has_rolled = reading.spans, 0, False
        for step in reading.steps():
            # In the same step as the read: before the next step, the segment may be deleted or compacted.
            if len(spans) > checked_count and not self._is_follower:
                checked_count = len(spans)
                has_rolled = has_rolled or self._has_rolled(spans[-1])
            yield step
        yield reading, reading.is_complete or has_rolled

    def _passed(self, result: tuple[FetchReader, bool]) -> None:
        self._pass = None
        reading, is_due = result
        self._refused = reading.refused
        if reading.cold:
            self._awaits_disk = True
            self._read_from_disk(dict(islice(reading.cold.items(), _MOST_COLD_PARTITIONS)))
        elif is_due or self._left_ms() <= 0:
            self._forget()
            self._answer(reading)
        elif self._is_stale:
            self._read_again()

    def _fail(self, error: BaseException) -> None:
        self._forget()
        self.pending.fail(error)

    def _cancel(self) -> None:
        self._forget()
        if self._pass is not None:
            self._pass.cancel()

    def _forget(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            super()._forget()
