"""The interface of a fetcher to a partition that this broker follows.

Source: facts of replication, Follower.
"""

from typing import Protocol

from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition


class FollowerReplica(Protocol):
    """A partition that this broker follows. Belongs to the event loop's thread.

    One of `append`, `truncate` and `truncate_fully_and_start_at` runs at a time; what is read is asked for between
    them.
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
        """The newest leader epoch in the log; -1: it has none."""
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
            data: Batches as they came; may be empty. It stays as it is until this is done.
            leader_log_start_offset: -1 if the leader does not send it (Fetch before v5).

        Returns:
            None: it is done.

        Raises:
            CorruptRecordsError: Nothing was appended; it may be better the next time. This and the following also as
                what the pending answer fails with.
            BarnabasError: It can't go on: out of order, or the disk failed.
        """
        ...

    def truncate(self, offset: int) -> Pending[None]:
        """Remove batches at or above an offset; if there are none, remove only the epochs."""
        ...

    def truncate_fully_and_start_at(self, offset: int) -> Pending[None]:
        """Truncate fully, and restart at an offset."""
        ...
