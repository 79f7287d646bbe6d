"""Fetch (API key 1, v0-12): read record batches, waiting for them where there are none.

Records leave as slices of the log's files: nothing is copied. Sessions are answered with id 0, as Kafka does when its
cache is full: every fetch names all its partitions.

A partition that is named twice is read once, where it stands first and as it was asked for last.

A partition's answer never goes beyond one segment. So a fetch that has not got its min bytes waits for more only while
all that may still come would be in the segments that it began in.

Source: protocol guide, Fetch; semantics, Fetch; Kafka 2.7.2's `DelayedFetch.tryComplete`; KIP-74, KIP-227.
"""

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeAlias

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.log.disk.cold_reads import ColdSlice, ColdWork, NotCachedError
from barnabas.log.disk.files import FileSlice
from barnabas.log.partition_log import PartitionLog
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.records.errors import CorruptRecordsError
from barnabas.replicas.partition import Partition
from barnabas.requests.context import RequestContext
from barnabas.requests.down_conversion import FIRST_VERSION_WITH_ZSTD, adapt_answer
from barnabas.requests.fanout import resolve
from barnabas.requests.slices import MORE, Step, Steps
from barnabas.requests.table import Handler
from barnabas.security.authorizer import Operation

logger = logging.getLogger(__name__)

_FIRST_VERSION_WITH_STORAGE_ERROR = 6
# Before, a batch larger than what was asked for was cut, and its reader had to ask for more.
_FIRST_VERSION_WITH_WHOLE_BATCH = 3
_MOST_COLD_READS = 4
# Of so many partitions at once the disk is asked, for one fetch.
_MOST_COLD_PARTITIONS = 500
_FINAL_EPOCH = -1
_INITIAL_EPOCH = 0
_READ_COMMITTED = 1
# A member of an enum is looked up in its class each time.
_READ = Operation.READ


# What is asked of each partition, in the order of the first mention.
Wanted: TypeAlias = dict[TopicPartition, FetchPartition]


def fetch(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Pending[FetchResponse]:
    """Answer with what there is, or wait until there is enough."""
    # hot path: benchmarks/load (every fetch request); only what is large pays for a generator
    if request.session_epoch not in (_FINAL_EPOCH, _INITIAL_EPOCH):
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if ctx.is_large:
        return ctx.services.slices.answer(_fetch_large(ctx, request))
    wanted: Wanted = {}
    for topic in request.topics:
        for each in topic.partitions:
            wanted[TopicPartition(topic.topic, each.partition)] = each
    reading = _Reading(ctx, request, wanted)
    reading.read()
    if not reading.cold and (reading.is_complete or request.max_wait_ms <= 0):
        return reading.answer()
    delayed = _DelayedFetch(ctx, request, wanted)
    delayed.go_on(reading, request.max_wait_ms)
    return delayed.pending


def _fetch_large(ctx: RequestContext, request: FetchRequest) -> Steps[FetchResponse]:
    wanted: Wanted = {}
    for topic in request.topics:
        for each in topic.partitions:
            wanted[TopicPartition(topic.topic, each.partition)] = each
            yield MORE
    yield _LargeDelayedFetch(ctx, request, wanted).begin()


# Where a fetch began to read a partition: an offset, and where the segment begins that it is in. A bare tuple, as the
# next, since one is made for each partition of each fetch.
_Start = tuple[int, int]
# A partition that was read: its log, from where up to where it may be read, and what was found.
_Span = tuple[TopicPartition, PartitionLog, int, int, FileSlice | None]


class _Reading:
    """One pass over the partitions of a request.

    Attributes:
        cold: What has to be read from a disk first.
        spans: The partitions that could be read.
        is_complete: The answer is as it should be: enough data, or an error.
        topics: The answer.
    """

    __slots__ = (
        "_cached",
        "_ctx",
        "_failures",
        "_found_bytes",
        "_is_committed",
        "_left_bytes",
        "_may_exceed",
        "_min_bytes",
        "_request",
        "_wanted",
        "cold",
        "is_complete",
        "spans",
        "topics",
    )

    def __init__(
        self,
        ctx: RequestContext,
        request: FetchRequest,
        wanted: Wanted,
        failures: dict[TopicPartition, StorageError] | None = None,
        *,
        may_wait_for_disk: bool = False,
    ) -> None:
        """Args:
        failures: Why partitions could not be read off the event loop.
        may_wait_for_disk: Read what is not in the page cache here and now.
        """
        self._ctx = ctx
        self._request = request
        self._wanted = wanted
        self._failures = failures
        self._cached = None if may_wait_for_disk else ctx.services.cold_reads
        self.cold: dict[TopicPartition, ColdWork[Any] | ColdSlice] = {}
        # Written out: to call `min` costs more.
        most_bytes, min_bytes = ctx.services.config.fetch_max_bytes, request.min_bytes
        self._left_bytes = left_bytes = request.max_bytes if request.max_bytes < most_bytes else most_bytes
        self._min_bytes = min_bytes if min_bytes < left_bytes else left_bytes
        self._found_bytes = 0
        self._may_exceed = ctx.api_version >= _FIRST_VERSION_WITH_WHOLE_BATCH
        self._is_committed = request.isolation_level == _READ_COMMITTED
        # Who asks for nothing waits for nothing.
        self.is_complete = not wanted
        self.spans: list[_Span] = []
        self.topics: list[FetchableTopicResponse] = []

    def read(self) -> None:
        """Read every partition in the request's order, as far as the byte limits go."""
        # hot path: benchmarks/load (every fetch request, twice when it waits)
        for key, wanted in self._wanted.items():
            self._take(key, wanted)

    def steps(self) -> Iterator[Step]:
        """The same, one partition at each step."""
        for key, wanted in self._wanted.items():
            self._take(key, wanted)
            yield MORE

    def _take(self, key: TopicPartition, wanted: FetchPartition) -> None:
        """Add one partition to the answer."""
        data = self._read_partition(key, wanted)
        if self._found_bytes >= self._min_bytes or data.error_code or data.diverging_epoch is not _NO_DIVERGENCE:
            self.is_complete = True
        topics = self.topics
        if topics and topics[-1].topic == key.topic:
            topics[-1].partitions.append(data)
        else:
            topics.append(FetchableTopicResponse(key.topic, [data]))

    @property
    def keys(self) -> list[TopicPartition]:
        """The partitions that could be read."""
        return [span[0] for span in self.spans]

    def answer(self) -> FetchResponse | Pending[FetchResponse]:
        """The answer as this version of the request takes it; where records must be converted for that, later."""
        ctx = self._ctx
        response = FetchResponse(responses=self.topics)
        if ctx.api_version >= FIRST_VERSION_WITH_ZSTD:
            return response
        return adapt_answer(ctx, self._request, self._wanted, response)

    def _read_partition(self, key: TopicPartition, wanted: FetchPartition) -> PartitionData:
        """One partition's answer."""
        partition = resolve(self._ctx, _READ, key.topic, key.partition)
        if isinstance(partition, ErrorCode):
            return _refusal(wanted, _translated(partition, self._ctx.api_version))
        error_code = partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
        offset = wanted.fetch_offset
        # Before the range: a reader ahead of a log that was cut is told where to go back to.
        diverging = _NO_DIVERGENCE
        if wanted.last_fetched_epoch >= 0 and not error_code:
            error_code, diverging = _divergence(partition, wanted)
        is_diverging = diverging is not _NO_DIVERGENCE
        if not error_code and not is_diverging and not log.log_start_offset <= offset <= log.log_end_offset:
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        if error_code:
            return _refusal(wanted, error_code)
        high_watermark = partition.high_watermark
        last_stable_offset = partition.last_stable_offset
        end_offset = last_stable_offset if self._is_committed else high_watermark
        data = PartitionData(
            wanted.partition,
            0,
            high_watermark,
            last_stable_offset,
            log.log_start_offset,
            diverging,
            _NO_LEADER,
            # A consumer that reads uncommitted data is told nothing about transactions, not even that there are none.
            [] if self._is_committed else None,
            -1,
            b"",
        )
        found = None
        left_bytes = self._left_bytes
        is_first = self._may_exceed and self._found_bytes == 0
        if not is_diverging and offset < end_offset and (left_bytes > 0 or is_first):
            try:
                if self._failures and key in self._failures:
                    raise self._failures[key]
                max_bytes = min(wanted.partition_max_bytes, left_bytes)
                found = log.read(offset, max_bytes, end_offset, is_first, self._cached)
                if found is not None and self._is_committed:
                    aborted = log.aborted_transactions(offset, found)
                    data.aborted_transactions = [AbortedTransaction(each[0], each[1]) for each in aborted]
            except NotCachedError as missing:
                self.cold[key] = missing.work
                return data
            except (StorageError, CorruptRecordsError) as error:
                return _refusal(wanted, self._read_failed(key, error))
        self.spans.append((key, log, offset, end_offset, found))
        if found is not None:
            data.records = found
            self._found_bytes += found.length
            self._left_bytes -= found.length
        return data

    def _read_failed(self, key: TopicPartition, error: StorageError | CorruptRecordsError) -> ErrorCode:
        """What a reader is told of a log that can't be read; a failed disk also goes offline."""
        logger.error("%s can't be read: %s", key, error)
        if isinstance(error, CorruptRecordsError):
            return ErrorCode.CORRUPT_MESSAGE
        self._ctx.services.replicas.storage_failed(error)
        return _translated(ErrorCode.KAFKA_STORAGE_ERROR, self._ctx.api_version)


# Shared by all answers: building two objects for each partition of each answer costs more than the rest of it.
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER = LeaderIdAndEpoch()


def _translated(error_code: ErrorCode, api_version: int) -> ErrorCode:
    """The same for a client that does not know it."""
    if error_code == ErrorCode.KAFKA_STORAGE_ERROR and api_version < _FIRST_VERSION_WITH_STORAGE_ERROR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error_code


def _refusal(wanted: FetchPartition, error_code: ErrorCode) -> PartitionData:
    return PartitionData(wanted.partition, error_code, -1, -1, -1, _NO_DIVERGENCE, _NO_LEADER, None, -1, b"")


class _DelayedFetch:
    """A fetch that waits for data, or for the disk."""

    __slots__ = ("_cold_count", "_ctx", "_deadline_ms", "_failures", "_request", "_starts", "_wanted", "pending")

    def __init__(self, ctx: RequestContext, request: FetchRequest, wanted: Wanted) -> None:
        self._ctx = ctx
        self._request = request
        self._wanted = wanted
        self._deadline_ms = ctx.services.clock.monotonic_ms() + request.max_wait_ms
        self._cold_count = 0
        self._failures: dict[TopicPartition, StorageError] = {}
        self._starts: dict[TopicPartition, _Start] = {}
        self.pending: Pending[FetchResponse] = Pending()
        self.pending.on_cancel = self._forget

    def go_on(self, reading: _Reading, left_ms: int) -> None:
        """Do what a pass over the partitions makes necessary: read from the disk, answer, or wait for data so long."""
        if reading.cold:
            self._read_from_disk(reading.cold)
            return
        if left_ms <= 0 or self._is_due(reading):
            self._answer(reading)
        else:
            self._ctx.services.fetches.watch(self, reading.keys, left_ms)

    def _answer(self, reading: _Reading) -> None:
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

    def _is_due(self, reading: _Reading) -> bool:
        """Whether the answer has all that may be waited for."""
        if reading.is_complete:
            return True
        # `any` would make a generator, which costs more than what it asks.
        for span in reading.spans:  # noqa: SIM110
            if self._has_rolled(span):
                return True
        return False

    def _has_rolled(self, span: _Span) -> bool:
        """Whether a partition's end is in another segment than it was at first."""
        key, log, offset, end_offset, found = span
        start = self._starts.get(key)
        if start is None:
            if found is None and offset < end_offset:
                # Compaction left nothing from there on: the reader is at the end.
                offset = log.log_end_offset
            start = self._starts[key] = offset, log.segment_base_offset(offset, found)
        start_offset, segment_base_offset = start
        # In a newer segment: no more comes in that one. Or in an older one, as the log was cut.
        return end_offset != start_offset and log.segment_base_offset(end_offset) != segment_base_offset

    def _reading(self) -> _Reading:
        # What was read may have left the page cache again: some day the fetch must get on.
        most_reads = _MOST_COLD_READS + len(self._wanted) // _MOST_COLD_PARTITIONS
        may_wait_for_disk = self._cold_count >= most_reads
        return _Reading(self._ctx, self._request, self._wanted, self._failures, may_wait_for_disk=may_wait_for_disk)

    def _read_from_disk(self, cold: dict[TopicPartition, ColdWork[Any] | ColdSlice]) -> None:
        cold_reads = self._ctx.services.cold_reads
        assert cold_reads is not None, "only with it anything is found missing"
        self._cold_count += 1

        def read(failures: list[BaseException | None]) -> None:
            if self.pending.is_done:
                return
            for (key, work), failure in zip(cold.items(), failures, strict=True):
                # An index file may be missing because its segment was deleted meanwhile: the next pass will tell.
                if isinstance(failure, StorageError) and isinstance(work, ColdSlice):
                    self._failures[key] = failure
            try:
                self._read_again()
            except Exception as error:
                self.pending.fail(error)

        cold_reads.read(list(cold.values()), read)

    def _forget(self) -> None:
        self._ctx.services.fetches.forget(self)


class _LargeDelayedFetch(_DelayedFetch):
    """A fetch of very many partitions: it goes over them in slices, and over all of them again whenever something came.

    It waits for its partitions before it reads them: what comes while it reads is seen in the next pass.
    """

    __slots__ = ("_awaits_disk", "_is_stale", "_is_waiting", "_pass")

    def __init__(self, ctx: RequestContext, request: FetchRequest, wanted: Wanted) -> None:
        super().__init__(ctx, request, wanted)
        self._pass: Pending[tuple[_Reading, bool]] | None = None
        self._awaits_disk = self._is_stale = self._is_waiting = False
        self.pending.on_cancel = self._cancel

    def begin(self) -> Pending[FetchResponse]:
        """Read for the first time."""
        left_ms = self._left_ms()
        if left_ms > 0:
            self._is_waiting = True
            self._ctx.services.fetches.watch_many(self, self._wanted, left_ms)
        self._read_again()
        return self.pending

    def try_complete(self) -> bool:
        if not self._awaits_disk:
            self._read_again()
        return False

    def expire(self) -> None:
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

    def _steps(self) -> Steps[tuple[_Reading, bool]]:
        """One pass: what was found, and whether it is the answer."""
        reading = self._reading()
        yield from reading.steps()
        is_due = reading.is_complete
        for span in reading.spans:
            if is_due:
                break
            is_due = self._has_rolled(span)
            yield MORE
        yield reading, is_due

    def _passed(self, result: tuple[_Reading, bool]) -> None:
        self._pass = None
        reading, is_due = result
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


def _divergence(partition: Partition, wanted: FetchPartition) -> tuple[ErrorCode, EpochEndOffset]:
    """Where the reader's history and this log's part; `_NO_DIVERGENCE` where they are one."""
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if end_offset < 0:
        return ErrorCode.OFFSET_OUT_OF_RANGE, _NO_DIVERGENCE
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return ErrorCode.NONE, EpochEndOffset(epoch, end_offset)
    return ErrorCode.NONE, _NO_DIVERGENCE


def refuse(ctx: RequestContext, request: FetchRequest, error_code: ErrorCode) -> FetchResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    translated = _translated(error_code, ctx.api_version)
    return FetchResponse(
        error_code=translated,
        responses=[
            FetchableTopicResponse(topic.topic, [_refusal(each, translated) for each in topic.partitions])
            for topic in request.topics
        ],
    )


HANDLER = Handler(FetchRequest, 0, 12, fetch, refuse)
