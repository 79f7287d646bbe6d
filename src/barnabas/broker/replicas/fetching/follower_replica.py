"""The interface of a fetcher to a partition that this broker follows.

Source: facts of replication, Follower.
"""

from typing import Protocol

from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition


class FollowerReplica(Protocol):
    """A partition that this broker follows. Owned by the event loop.

    Only one of `append`, `truncate` and `truncate_fully_and_start_at` runs at a time. The properties must not be read
    while one of them runs.
    """

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log; -1: the log has no epochs."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """See `LeaderEpochs.end_offset_for`."""
        ...

    def is_following(self, leader: int, leader_epoch: int) -> bool:
        """Return whether this broker still follows that leader in that epoch."""
        ...

    def append(
        self, data: memoryview, leader_high_watermark: int, leader_log_start_offset: int
    ) -> Pending[None] | None:
        """Append the leader's batches, then apply its high watermark and log start offset.

        Args:
            data: Batches as received; may be empty. The caller must not change them until the append is done.
            leader_log_start_offset: -1 if the leader does not send it (Fetch before v5).

        Returns:
            None if the append is done; else its completion, which may fail with the same errors.

        Raises:
            CorruptRecordsError: Nothing was appended; a retry may succeed.
            BarnabasError: The partition cannot continue: batches are out of order, or the disk failed.
        """
        ...

    def truncate(self, offset: int) -> Pending[None]:
        """Remove batches and leader epochs at or above an offset."""
        ...

    def truncate_fully_and_start_at(self, offset: int) -> Pending[None]:
        """Truncate fully, and restart at an offset."""
        ...
