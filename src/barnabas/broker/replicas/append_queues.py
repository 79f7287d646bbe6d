"""One queue per log for appends that take long to prepare, and for later appends to the same log.

    append ─► short? ─► appended at once
                 │ no, or the log has a queue
                 └─► its log's queue ─► prepared in the executor ─► large? ─► appended ─► the next one
                                                                      └─► written in an executor, then appended

Invariants:
- The appends of a log, short ones included, are done in the order of arrival. This preserves each producer's order,
  and the log end does not move while an append is prepared.
- Leadership, leader epoch, min.insync.replicas and the partition's existence are checked again before data is written,
  and before data written ahead is appended. If a check fails, data written ahead is truncated.
- Every append is answered, even after an exception; a failure affects that append alone. A client that disconnects does
  not cancel its append.
- Waiting appends use the memory of their requests (`RequestContext.keep_frame`), which bounds large requests. The
  number of waiting appends bounds small ones, which a client may send, abandon and send again.

Source: design page, rule 1 (no long work on the event loop).
"""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.log.appends.prepared_batches import Prepared
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.replicas.partition import Partition
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed
from barnabas.wire.records.record_rules import RecordRefusal

T = TypeVar("T")

_logger = logging.getLogger(__name__)

# Each is short. After this many, the event loop runs other work first.
_APPENDS_PER_TURN = 4
# More than clients that wait for their responses have in flight; at most 320 MB of small requests.
# differs from Kafka (waiting-appends): Kafka stops reading from all clients when its request queue is full.
MOST_WAITING = 20_000


class Timed(Protocol):
    """Wraps work so that its time is counted."""

    def __call__(self, work: Callable[[], T], /) -> Callable[[], T]: ...


def untimed(work: Callable[[], T], /) -> Callable[[], T]:
    """Return work unchanged: its time is not counted."""
    return work


class Append:
    """One append that waits; see `ReplicaManager.append_to`.

    Attributes:
        partition: The partition; it may be removed and hosted again meanwhile, with the same log.
        leader_epoch: The leader epoch when the append arrived.
        pending: The result.
        timed: Wraps the preparation so that its time is counted.
    """

    __slots__ = (
        "is_any_format",
        "is_client",
        "leader_epoch",
        "partition",
        "pending",
        "records",
        "required_acks",
        "timed",
    )

    def __init__(
        self,
        partition: Partition,
        records: memoryview,
        required_acks: int,
        is_client: bool,
        is_any_format: bool,
        timed: Timed = untimed,
    ) -> None:
        self.partition = partition
        self.records = records
        self.leader_epoch = partition.leader_epoch
        self.required_acks = required_acks
        self.is_client = is_client
        self.is_any_format = is_any_format
        self.timed = timed
        self.pending: Pending[AppendResult] = Pending()


class AppendQueues:
    """The queues of all logs. Owned by the event loop.

    Attributes:
        by_log: The logs that have a queue now; all their appends are queued.
    """

    __slots__ = (
        "_absence_of",
        "_appended",
        "_defer",
        "_executor",
        "_is_closed",
        "_storage_failed",
        "_waiting_count",
        "by_log",
    )

    def __init__(
        self,
        executor: Executor,
        defer: Callable[..., object],
        absence_of: Callable[[Partition], ErrorCode],
        appended: Callable[[Partition, AppendResult], object],
        storage_failed: Callable[[StorageError], AppendResult],
    ) -> None:
        """Args:
        executor: Prepares appends.
        defer: Runs `callback(*args)` in the loop's next turn.
        absence_of: Returns the error for a partition that is no longer hosted; NONE if it is hosted.
        appended: Called with a partition and the result after an append.
        storage_failed: Called when the disk failed; returns the result for the append.
        """
        self._executor = executor
        self._defer = defer
        self._absence_of = absence_of
        self._appended = appended
        self._storage_failed = storage_failed
        self._is_closed = False
        self._waiting_count = 0
        self.by_log: dict[PartitionLog, deque[Append]] = {}

    def add(self, append: Append) -> Pending[AppendResult]:
        """Queue an append that takes long to prepare, or whose log has a queue."""
        if self._is_closed:
            return completed(AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        if append.is_client and self._waiting_count >= MOST_WAITING:
            return completed(AppendResult(ErrorCode.REQUEST_TIMED_OUT))
        self._waiting_count += 1
        log = append.partition.log
        queue = self.by_log.get(log)
        if queue is not None:
            queue.append(append)
        else:
            self.by_log[log] = deque((append,))
            self._begin(append)
        return append.pending

    def close(self) -> None:
        """Stop all appends, as the broker stops. Waiting clients get NOT_LEADER_OR_FOLLOWER."""
        self._is_closed = True
        queues, self.by_log = self.by_log, {}
        for queue in queues.values():
            for append in queue:
                append.pending.complete(AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def _begin(self, append: Append) -> None:
        """Prepare the first append of a queue."""
        try:
            work = append.timed(append.partition.log.preparation(append.records, append.is_any_format))
        except Exception as error:
            self._failed(append, error)
            return
        self._executor.run(work, partial(self._prepared, append), partial(self._failed, append))

    def _prepared(self, append: Append, prepared: Prepared | RecordRefusal) -> None:
        result = self._outcome(append, partial(self._write_or_append, append, prepared))
        if result is not None:
            self._finish(append, result)

    def _failed(self, append: Append, error: BaseException) -> None:
        _logger.error("cannot prepare an append to %s", append.partition.topic_partition, exc_info=error)
        self._finish(append, AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _write_or_append(self, append: Append, prepared: Prepared | RecordRefusal) -> AppendResult | None:
        """Write an append and return its result; or, if it is large, start to write it ahead and return None."""
        partition, leader_epoch, size_bytes = append.partition, append.leader_epoch, len(append.records)

        def write() -> AppendResult:
            return partition.append_as_leader(prepared, leader_epoch, size_bytes)

        def fail(error: BaseException) -> AppendResult:
            raise error

        written = partial(self._written, append)
        if partition.log.write_ahead(
            prepared, leader_epoch, lambda _: written(write), lambda error: written(partial(fail, error))
        ):
            return None
        return write()

    def _written(self, append: Append, write: Callable[[], AppendResult]) -> None:
        """Append the data that was written ahead, or finish the append with the error of its write."""
        result = self._outcome(append, write)
        assert result is not None
        try:
            append.partition.log.drop_ahead()
        except StorageError as error:
            result = self._storage_failed(error)
        except Exception:
            _logger.exception("cannot drop an append to %s", append.partition.topic_partition)
            result = AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._finish(append, result)

    def _finish(self, append: Append, result: AppendResult) -> None:
        log = append.partition.log
        queue = self.by_log.get(log)
        if queue is None:
            # Closed meanwhile: the append has its result.
            return
        self._settle_first(queue, result)
        self._go_on(log)

    def _settle_first(self, queue: deque[Append], result: AppendResult) -> None:
        self._waiting_count -= 1
        append = queue.popleft()
        if result.error_code:
            append.partition.counts.note_refused(result.error_code, len(append.records))
        append.pending.complete(result)

    def _go_on(self, log: PartitionLog) -> None:
        """Append the waiting appends, up to the first that takes long to prepare."""
        queue = self.by_log.get(log)
        if queue is None:
            return
        for _ in range(_APPENDS_PER_TURN):
            if not queue:
                break
            append = queue[0]
            result = self._outcome(append, partial(_append_at_once, append))
            if result is None:
                self._begin(append)
                return
            self._settle_first(queue, result)
        if queue:
            self._defer(self._go_on, log)
        elif self.by_log.get(log) is queue:
            del self.by_log[log]

    def _outcome(self, append: Append, write: Callable[[], AppendResult | None]) -> AppendResult | None:
        """Return the result of the append at the head; None while it is being prepared or written."""
        partition = append.partition
        if self._is_closed:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        try:
            absence = self._absence_of(partition)
            if absence:
                return AppendResult(absence)
            refusal = partition.refuse_append(append.leader_epoch, append.required_acks)
            if refusal is not None:
                return refusal
            result = write()
            if result is not None and not result.error_code:
                self._appended(partition, result)
            return result
        except StorageError as error:
            return self._storage_failed(error)
        except Exception:
            # An internal error must not block the appends behind it.
            _logger.exception("an append to %s failed", partition.topic_partition)
            return AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR)


def _append_at_once(append: Append) -> AppendResult | None:
    partition = append.partition
    prepared = partition.log.prepare(append.records, append.is_client, append.is_any_format)
    return None if prepared is None else partition.append_as_leader(prepared, append.leader_epoch, len(append.records))
