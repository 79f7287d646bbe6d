"""Fetch (API key 1, v4-12): read record batches, waiting for them where there are none.

Records leave as slices of the log's files: nothing is copied. Sessions are answered with id 0, as Kafka does when its
cache is full: every fetch names all its partitions.

Source: protocol guide, Fetch; semantics, Fetch; KIP-74, KIP-227.
"""

from barnabas.broker.context import RequestContext
from barnabas.broker.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from barnabas.protocol.wire import ZERO_UUID
from barnabas.replication.partition import Partition

_FINAL_EPOCH = -1
_INITIAL_EPOCH = 0
_READ_COMMITTED = 1


def fetch(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Pending[FetchResponse]:
    """Answer with what there is, or wait until there is enough."""
    if request.session_id != 0 and request.session_epoch not in (_FINAL_EPOCH, _INITIAL_EPOCH):
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    reading = _Reading(ctx, request)
    reading.read()
    if reading.is_complete or request.max_wait_ms <= 0:
        return reading.response()
    delayed = _DelayedFetch(ctx, request)
    ctx.services.fetches.watch(delayed, reading.keys, request.max_wait_ms)
    return delayed.pending


class _Reading:
    """One pass over the partitions of a request."""

    __slots__ = ("_aborted", "_left_bytes", "_min_bytes", "_partition_of", "_request", "is_complete", "keys", "topics")

    def __init__(self, ctx: RequestContext, request: FetchRequest) -> None:
        self._request = request
        self._partition_of = ctx.services.replicas.partition
        self._left_bytes = min(request.max_bytes, ctx.services.config.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._left_bytes)
        # A consumer that reads uncommitted data is told nothing about transactions, not even that there are none.
        self._aborted: list[AbortedTransaction] | None = [] if request.isolation_level == _READ_COMMITTED else None
        self.is_complete = False
        self.keys: list[TopicPartition] = []
        self.topics: list[FetchableTopicResponse] = []

    def read(self) -> None:
        """Read every partition in the request's order, as far as the byte limits go."""
        # hot path: benchmarks/load (every fetch request, twice when it waits)
        total_bytes = 0
        for topic in self._request.topics:
            name = topic.topic
            answers = []
            for wanted in topic.partitions:
                data, read_bytes = self._read_partition(name, wanted, self._left_bytes - total_bytes, total_bytes == 0)
                if data.error_code or data.diverging_epoch.epoch >= 0:
                    self.is_complete = True
                total_bytes += read_bytes
                answers.append(data)
            self.topics.append(FetchableTopicResponse(name, ZERO_UUID, answers))
        if total_bytes >= self._min_bytes or not self.keys:
            self.is_complete = True

    def response(self) -> FetchResponse:
        return FetchResponse(responses=self.topics)

    def _read_partition(
        self, name: str, wanted: FetchPartition, left_bytes: int, is_first: bool
    ) -> tuple[PartitionData, int]:
        """One partition's answer, and how many bytes of records it holds."""
        key = TopicPartition(name, wanted.partition)
        partition = self._partition_of(key)
        if partition is None:
            return _refusal(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0
        error_code = partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
        offset = wanted.fetch_offset
        if not error_code and not log.log_start_offset <= offset <= log.log_end_offset:
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        if error_code:
            return _refusal(wanted, error_code), 0
        self.keys.append(key)
        end_offset = partition.high_watermark
        data = PartitionData(
            wanted.partition,
            0,
            end_offset,
            end_offset,
            log.log_start_offset,
            _NO_DIVERGENCE,
            _NO_LEADER,
            _NO_SNAPSHOT,
            self._aborted,
            -1,
            b"",
        )
        if wanted.last_fetched_epoch >= 0 and _diverges(partition, wanted, data):
            return data, 0
        if offset < end_offset and (left_bytes > 0 or is_first):
            found = log.read(offset, min(wanted.partition_max_bytes, left_bytes), end_offset, is_first)
            if found is not None:
                data.records = found
                return data, found.length
        return data, 0


# Shared by all answers: building three objects for each partition of each answer costs more than the rest of it.
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER = LeaderIdAndEpoch()
_NO_SNAPSHOT = SnapshotId()


def _refusal(wanted: FetchPartition, error_code: ErrorCode) -> PartitionData:
    return PartitionData(wanted.partition, error_code, -1, aborted_transactions=None, records=b"")


class _DelayedFetch:
    """A fetch that waits for data."""

    __slots__ = ("_ctx", "_request", "pending")

    def __init__(self, ctx: RequestContext, request: FetchRequest) -> None:
        self._ctx = ctx
        self._request = request
        self.pending: Pending[FetchResponse] = Pending()
        self.pending.on_cancel = self._forget

    def try_complete(self) -> bool:
        reading = _Reading(self._ctx, self._request)
        reading.read()
        if reading.is_complete:
            self.pending.complete(reading.response())
        return reading.is_complete

    def expire(self) -> None:
        reading = _Reading(self._ctx, self._request)
        reading.read()
        self.pending.complete(reading.response())

    def _forget(self) -> None:
        self._ctx.services.fetches.forget(self)


def _diverges(partition: Partition, wanted: FetchPartition, data: PartitionData) -> bool:
    """Whether the reader's history is not this log's; then it is told where the two part."""
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if end_offset < 0:
        data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        return True
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        data.diverging_epoch = EpochEndOffset(epoch, end_offset)
        return True
    return False


HANDLER = Handler(FetchRequest, 4, 12, fetch)
