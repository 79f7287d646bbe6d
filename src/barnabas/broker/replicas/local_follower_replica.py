"""A follower replica on this broker, as its fetcher uses it.

Invariants:

- A leader's response is applied only while that leader leads in the epoch of the request.
- The order is: records, high watermark, log start offset. The high watermark is never above the log end offset.

Source: semantics, replication (follower); Kafka 2.7.2, ReplicaFetcherThread.processPartitionData.
"""

import logging
from collections.abc import Callable
from functools import partial

from barnabas.broker.log.appends.replicated_batches import ReplicatedBatches, check_replicated_batches
from barnabas.broker.log.partition_log import LARGE_BYTES
from barnabas.broker.replicas.partition import Partition
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, submit
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition

log = logging.getLogger(__name__)


class LocalFollowerReplica:
    """A partition in one leader epoch; see `fetching.follower_replica.FollowerReplica`."""

    __slots__ = (
        "_executor",
        "_leader",
        "_leader_epoch",
        "_partition",
        "_raised",
        "_storage_failed",
        "topic_partition",
    )

    def __init__(
        self,
        partition: Partition,
        executor: Executor,
        raised: Callable[[Partition], object],
        storage_failed: Callable[[StorageError], object],
    ) -> None:
        """Args:
        executor: Checks large responses.
        raised: Called when the high watermark rises.
        storage_failed: Called when the disk failed.
        """
        self._storage_failed = storage_failed
        self._partition = partition
        self._leader, self._leader_epoch = partition.leader, partition.leader_epoch
        self._executor = executor
        self._raised = raised
        self.topic_partition: TopicPartition = partition.topic_partition

    @property
    def log_start_offset(self) -> int:
        return self._partition.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._partition.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._partition.high_watermark

    @property
    def latest_epoch(self) -> int:
        return self._partition.log.latest_epoch

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self._partition.log.end_offset_for_epoch(epoch)

    def is_following(self, leader: int, leader_epoch: int) -> bool:
        partition = self._partition
        return (partition.leader, partition.leader_epoch) == (leader, leader_epoch) and not partition.log.is_closed

    # --- data from the leader

    def append(
        self, data: memoryview, leader_high_watermark: int, leader_log_start_offset: int
    ) -> Pending[None] | None:
        """Append batches unchanged, then apply the leader's high watermark and log start offset.

        Returns:
            None if the append is done; else its completion, after the flush that flush.messages requires.

        Raises:
            CorruptRecordsError, OutOfOrderBatchesError, StorageError: As `check_replicated_batches` and the log's
                `append_as_follower`. The completion may also fail with them.
        """
        # hot path: every partition of every response of a leader
        partition_log = self._partition.log
        appended = None
        if len(data) > LARGE_BYTES:
            work = partial(check_replicated_batches, data, partition_log.log_end_offset)
            appended = submit(self._executor, work).and_then(self._append_if_following)
        elif len(data):
            appended = self._append(check_replicated_batches(data, partition_log.log_end_offset))
        settle = partial(self._settle, leader_high_watermark, leader_log_start_offset)
        return settle() if appended is None else appended.and_then(lambda _: settle() or _done())

    def _append_if_following(self, copies: ReplicatedBatches) -> Pending[None] | None:
        # This broker may have become the leader meanwhile.
        return self._append(copies) if self._is_still_following() else None

    def _append(self, copies: ReplicatedBatches) -> Pending[None] | None:
        if not copies.batch_count:
            return None
        try:
            appended = self._partition.log.append_as_follower(copies, self._is_still_following)
        except StorageError as error:
            self._storage_failed(error)
            raise
        return None if appended is None else self._noted(appended)

    def _noted(self, appended: Pending[None]) -> Pending[None]:
        """Return a completion with the same result, and report a failed disk."""
        noted: Pending[None] = Pending()

        def failed(error: BaseException) -> None:
            if isinstance(error, StorageError):
                self._storage_failed(error)
            noted.fail(error)

        appended.then(noted.complete, failed)
        return noted

    def _is_still_following(self) -> bool:
        return self.is_following(self._leader, self._leader_epoch)

    def _settle(self, leader_high_watermark: int, leader_log_start_offset: int) -> Pending[None] | None:
        partition = self._partition
        if not self._is_still_following():
            return None
        partition_log = partition.log
        # It may decrease: a new leader may know only a lower high watermark at first.
        high_watermark = max(min(leader_high_watermark, partition_log.log_end_offset), partition_log.log_start_offset)
        if high_watermark != partition.high_watermark:
            has_risen = high_watermark > partition.high_watermark
            partition.set_high_watermark(high_watermark)
            if has_risen:
                self._raised(partition)
        if leader_log_start_offset > partition_log.log_start_offset:
            partition_log.increment_log_start_offset(min(leader_log_start_offset, partition_log.log_end_offset))
        return self._flushed() if partition_log.is_flush_due() else None

    def _flushed(self) -> Pending[None]:
        flushed: Pending[None] = Pending()

        def then(error: BaseException | None) -> None:
            if error is None:
                flushed.complete(None)
            else:
                flushed.fail(error)

        self._partition.log.flush(then)
        return flushed

    # --- truncation

    def truncate(self, offset: int) -> Pending[None]:
        """Truncate to `offset`; log a warning if it is below this replica's high watermark."""
        partition = self._partition
        if offset < partition.high_watermark:
            log.warning(
                "truncating %s to offset %d, below its high watermark %d",
                self.topic_partition,
                offset,
                partition.high_watermark,
            )
            partition.set_high_watermark(max(offset, 0))
        return partition.log.truncate(offset).shaped(self._truncated)

    def _truncated(self, _: None) -> None:
        # The producer states were rebuilt: set the high watermark again, so that they know the replicated records.
        self._partition.log.note_high_watermark(self._partition.high_watermark)

    def truncate_fully_and_start_at(self, offset: int) -> Pending[None]:
        """Truncate fully, and restart at `offset`."""
        log.warning("truncating %s fully: it restarts at offset %d", self.topic_partition, offset)
        return self._partition.log.truncate_fully_and_start_at(offset).shaped(
            lambda _: self._partition.set_high_watermark(offset)
        )


def _done() -> Pending[None]:
    done: Pending[None] = Pending()
    done.complete(None)
    return done
