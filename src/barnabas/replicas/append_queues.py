"""Appends that take long to prepare, and those that wait behind them.

    append ─► short? ─► placed at once
                 │ no, or another one of the partition waits
                 └─► its partition's queue ─► prepared in the executor ─► placed ─► the next one

Invariants:
- The appends of a partition are placed in the order in which they came, also those that would be short, so that a
  producer's order is kept and a log's end stays where it was when one was prepared for it.
- Leadership, leader epoch, min.insync.replicas and whether the partition is still there are looked at again before
  anything is placed.
- Each has an answer, whatever is raised; one that fails fails alone. Nobody's leaving takes one back.
- What waits is in the memory of the requests that brought it (`RequestContext.keep_frame`), which is bounded.

Source: design page, rule 1 (nothing long on the loop).
"""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed
from barnabas.log.append_result import AppendResult
from barnabas.log.appends.prepared import Prepared
from barnabas.records.record_rules import RecordRefusal
from barnabas.replicas.partition import Partition

log = logging.getLogger(__name__)

# Each is short, but together they are not: then the others have their turn.
_APPENDS_PER_TURN = 4


class Append:
    """One append that waits; see `Partition.append`.

    Attributes:
        leader_epoch: The one in which it came.
        pending: Its answer.
    """

    __slots__ = ("is_any_format", "is_client", "leader_epoch", "pending", "records", "required_acks")

    def __init__(
        self, records: memoryview, leader_epoch: int, required_acks: int, is_client: bool, is_any_format: bool
    ) -> None:
        self.records = records
        self.leader_epoch = leader_epoch
        self.required_acks = required_acks
        self.is_client = is_client
        self.is_any_format = is_any_format
        self.pending: Pending[AppendResult] = Pending()


class AppendQueues:
    """The queues of all partitions. Belongs to the event loop's thread.

    Attributes:
        by_partition: Those that have one at the moment: their appends go into it.
    """

    __slots__ = ("_absence_of", "_appended", "_defer", "_executor", "_is_closed", "_storage_failed", "by_partition")

    def __init__(
        self,
        executor: Executor,
        defer: Callable[..., object],
        absence_of: Callable[[Partition], ErrorCode],
        appended: Callable[[Partition], object],
        storage_failed: Callable[[StorageError], AppendResult],
    ) -> None:
        """Args:
        executor: Where appends are prepared.
        defer: Runs `callback(*args)` in the loop's next turn.
        absence_of: Why a partition is not hosted any more; NONE while it is.
        appended: Told of a partition that holds more now.
        storage_failed: Told that the disk failed; says what the answer is.
        """
        self._executor = executor
        self._defer = defer
        self._absence_of = absence_of
        self._appended = appended
        self._storage_failed = storage_failed
        self._is_closed = False
        self.by_partition: dict[Partition, deque[Append]] = {}

    def add(self, partition: Partition, append: Append) -> Pending[AppendResult]:
        """Append when its turn has come; `append` was too long to be placed at once, or others wait."""
        if self._is_closed:
            return completed(AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        queue = self.by_partition.get(partition)
        if queue is not None:
            queue.append(append)
        else:
            self.by_partition[partition] = deque((append,))
            self._begin(partition, append)
        return append.pending

    def close(self) -> None:
        """Append nothing any more: the broker stops. Who waits is sent to look for another leader."""
        self._is_closed = True
        queues, self.by_partition = self.by_partition, {}
        for queue in queues.values():
            for append in queue:
                append.pending.complete(AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def _begin(self, partition: Partition, append: Append) -> None:
        """Prepare the first one of a queue."""
        self._executor.run(
            partition.log.preparation(append.records, append.is_any_format),
            partial(self._prepared, partition, append),
            partial(self._failed, partition, append),
        )

    def _prepared(self, partition: Partition, append: Append, prepared: Prepared | RecordRefusal) -> None:
        result = self._outcome(partition, append, lambda: partition.place(prepared, append.leader_epoch))
        assert result is not None
        self._finish(partition, append, result)

    def _failed(self, partition: Partition, append: Append, error: BaseException) -> None:
        log.error("an append to %s could not be prepared", partition.topic_partition, exc_info=error)
        self._finish(partition, append, AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _finish(self, partition: Partition, append: Append, result: AppendResult) -> None:
        queue = self.by_partition.get(partition)
        if queue is None:
            # Closed meanwhile; it has its answer.
            return
        queue.popleft()
        append.pending.complete(result)
        self._go_on(partition)

    def _go_on(self, partition: Partition) -> None:
        """Place what waits, up to one that must be prepared."""
        queue = self.by_partition.get(partition)
        if queue is None:
            return
        for _ in range(_APPENDS_PER_TURN):
            if not queue:
                break
            append = queue[0]
            result = self._outcome(partition, append, partial(_place_at_once, partition, append))
            if result is None:
                self._begin(partition, append)
                return
            queue.popleft()
            append.pending.complete(result)
        if queue:
            self._defer(self._go_on, partition)
        elif self.by_partition.get(partition) is queue:
            del self.by_partition[partition]

    def _outcome(
        self, partition: Partition, append: Append, place: Callable[[], AppendResult | None]
    ) -> AppendResult | None:
        """What becomes of an append whose turn it is; None where it must be prepared."""
        if self._is_closed:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        absence = self._absence_of(partition)
        if absence:
            return AppendResult(absence)
        refusal = partition.refuse_append(append.leader_epoch, append.required_acks)
        if refusal is not None:
            return refusal
        try:
            result = place()
        except StorageError as error:
            return self._storage_failed(error)
        except Exception:
            # A bug of ours must not hold up those behind it.
            log.exception("an append to %s failed", partition.topic_partition)
            return AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR)
        if result is not None and not result.error_code:
            self._appended(partition)
        return result


def _place_at_once(partition: Partition, append: Append) -> AppendResult | None:
    return partition.append(append.records, append.required_acks, append.is_client, append.is_any_format)
