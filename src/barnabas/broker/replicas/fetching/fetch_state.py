"""The state of a fetcher's partitions, and the transitions after each response. Pure.

    add ─► TRUNCATING ─► FETCHING ─► SEEKING_END ─► FETCHING
                                        └─► SEEKING_START ─► FETCHING

| phase | request to the leader | ends |
| --- | --- | --- |
| TRUNCATING | end offset of the newest epoch in the follower's log | when the log is a prefix of the leader's log |
| FETCHING | records from the fetch offset on | on an error |
| SEEKING_END | log end offset: the leader lacks the fetch offset | truncate to it if it is lower |
| SEEKING_START | log start offset | truncate fully and start at it if it is higher |

A log without epochs is truncated to its high watermark, without a request. If the leader returns offsets without epochs
(OffsetForLeaderEpoch v0), two epochs are requested, one after the other.

An error delays a partition; `FAIL` removes it until the controller adds it again.

Invariants:
- The fetch offset of a FETCHING partition is its log end offset.
- A partition that is added again gets a new `Progress`: responses for the previous one do not apply to it.
- The cost of a fetch depends on the number of changed partitions, not on the number of all partitions.

Source: KIP-101, KIP-279, KIP-320; facts of replication, Follower; Kafka 2.7.2, AbstractFetcherThread.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, TopicPartition

UNKNOWN_LAG: Final = -1
# differs from Kafka (short-first-back-off): Kafka waits replica.fetch.backoff.ms after the first error, even if the
# leader only learns of its leadership a moment later than the follower, and twice that after a lost connection.
FIRST_BACK_OFF_MS: Final = 50


class Phase(Enum):
    """The state of a followed partition; see above."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    SEEKING_END = "seeking the leader's end"
    SEEKING_START = "seeking the leader's start"


class Reaction(Enum):
    """The reaction to an error that a leader returned for a partition."""

    SEEK = "seek"
    FAIL = "fail"
    DELAY = "delay"


class Progress:
    """The progress of one partition since it was added with its leader epoch.

    Attributes:
        leader_epoch: The leader epoch from the controller.
        offset: The fetch offset; while TRUNCATING, the follower's high watermark.
        lag: Number of records behind the leader's high watermark; `UNKNOWN_LAG` before the first response.
        error_count: Number of failed attempts since the last successful fetch.
        last_error: The error of the last attempt; None if it succeeded.
        newest_end_offset: With OffsetForLeaderEpoch v0, the leader's end offset for the newest epoch of the follower's
            log, until the second response; else None.
        retry_at_ms: The end of its delay; None: it is not delayed.
    """

    __slots__ = (
        "error_count",
        "key",
        "lag",
        "last_error",
        "leader_epoch",
        "newest_end_offset",
        "offset",
        "phase",
        "retry_at_ms",
    )

    def __init__(self, key: TopicPartition, leader_epoch: int, offset: int) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.offset = offset
        self.phase = Phase.TRUNCATING
        self.lag = UNKNOWN_LAG
        self.error_count = 0
        self.last_error: str | None = None
        self.newest_end_offset: int | None = None
        self.retry_at_ms: int | None = None

    @property
    def is_fetchable(self) -> bool:
        """Return whether records may be fetched."""
        return self.phase is Phase.FETCHING and self.retry_at_ms is None


class FetchState:
    """The partitions of one fetcher.

    Attributes:
        partitions: In the order in which the leader should serve them: partitions that got records move to the end.
        changed: Partitions whose request differs from the last fetch.
    """

    __slots__ = ("_delayed", "_unready", "changed", "partitions")

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, Progress] = {}
        self.changed: dict[TopicPartition, None] = {}
        self._unready: dict[TopicPartition, Progress] = {}
        self._delayed: dict[TopicPartition, Progress] = {}

    def add(self, key: TopicPartition, leader_epoch: int, offset: int) -> None:
        """Add or restart a partition, with truncation; `offset` is its high watermark."""
        self.remove(key)
        self.partitions[key] = self._unready[key] = Progress(key, leader_epoch, offset)
        self.changed[key] = None

    def remove(self, key: TopicPartition) -> None:
        """Remove a partition; does nothing if it is unknown."""
        if self.partitions.pop(key, None) is not None:
            self._unready.pop(key, None)
            self._delayed.pop(key, None)
            self.changed[key] = None

    def is_current(self, progress: Progress) -> bool:
        """Return whether the partition is still present, with the same epoch."""
        return self.partitions.get(progress.key) is progress

    def enter(self, progress: Progress, phase: Phase, offset: int) -> None:
        """Set a partition's phase and offset."""
        key = progress.key
        progress.phase = phase
        progress.offset = offset
        if phase is Phase.FETCHING:
            self._unready.pop(key, None)
        else:
            self._unready[key] = progress
        self.changed[key] = None

    def has_fetched(self, progress: Progress, offset: int, leader_high_watermark: int) -> None:
        """Record the result of a fetch: `offset` is the end of the log after it."""
        # hot path: benchmarks/load (every partition of every answer)
        progress.lag = max(0, leader_high_watermark - offset)
        progress.error_count = 0
        progress.last_error = None
        if offset != progress.offset:
            progress.offset = offset
            key = progress.key
            self.partitions[key] = self.partitions.pop(key)
            self.changed[key] = None

    def delay(self, progress: Progress, error: str, now_ms: int, most_ms: int) -> bool:
        """Exclude a partition from requests until a delay has passed.

        Args:
            error: The reason.
            most_ms: replica.fetch.backoff.ms, the longest delay.

        Returns:
            Whether the error differs from the previous one.
        """
        progress.error_count += 1
        progress.retry_at_ms = now_ms + back_off_ms(progress.error_count, most_ms)
        is_new, progress.last_error = error != progress.last_error, error
        if progress.phase in (Phase.SEEKING_END, Phase.SEEKING_START):
            # Fetch from the same offset again: the leader may have it by then.
            progress.phase = Phase.FETCHING
            self._unready.pop(progress.key, None)
        self._delayed[progress.key] = progress
        self.changed[progress.key] = None
        return is_new

    def wake(self, now_ms: int) -> None:
        """Resume the partitions whose delay is over."""
        if not self._delayed:
            return
        due = [each for each in self._delayed.values() if each.retry_at_ms is not None and each.retry_at_ms <= now_ms]
        for progress in due:
            progress.retry_at_ms = None
            del self._delayed[progress.key]
            self.changed[progress.key] = None

    @property
    def has_unready(self) -> bool:
        """Return whether some partitions need a request other than Fetch."""
        return bool(self._unready)

    @property
    def next_wake_ms(self) -> int | None:
        """The time at which the next delay ends; None: nothing is delayed."""
        if not self._delayed:
            return None
        return min((each.retry_at_ms for each in self._delayed.values() if each.retry_at_ms is not None), default=None)

    def unready(self, phase: Phase) -> list[Progress]:
        """Return the partitions of a phase that are not delayed; not for FETCHING."""
        return [each for each in self._unready.values() if each.phase is phase and each.retry_at_ms is None]


class Truncation(NamedTuple):
    """The offset to which a follower's log is truncated.

    Attributes:
        is_done: The truncated log is a prefix of the leader's log. If not, the leader is asked for the epoch that is
            the newest after the truncation.
    """

    offset: int
    is_done: bool


def truncation(
    epoch: int,
    end_offset: int,
    least_offset: int,
    log_end_offset: int,
    own_end_of: Callable[[int], tuple[int, int]],
) -> Truncation:
    """Return the offset to which a follower's log is truncated, from the leader's response.

    Args:
        epoch: The leader's largest epoch at or below the requested one; -1 if the response has no epoch (v0) and it is
            not needed.
        end_offset: The end offset of `epoch` in the leader's log; -1: the leader has no such epoch.
        least_offset: The end of replicated records: the follower's high watermark.
        log_end_offset: The follower's log end offset.
        own_end_of: `LeaderEpochs.end_offset_for` of the follower's log.
    """
    if end_offset < 0:
        return Truncation(least_offset, is_done=True)
    if epoch == NO_EPOCH:
        return Truncation(min(end_offset, log_end_offset), is_done=True)
    own_epoch, own_end_offset = own_end_of(epoch)
    if own_end_offset < 0:
        return Truncation(min(end_offset, log_end_offset), is_done=True)
    if own_epoch == epoch:
        return Truncation(min(own_end_offset, end_offset, log_end_offset), is_done=True)
    # The leader lacks the follower's records after `own_epoch`. The logs may also differ at an earlier offset.
    return Truncation(min(own_end_offset, log_end_offset), is_done=False)


def truncation_without_epochs(
    newest_end_offset: int,
    end_offset_before: int,
    least_offset: int,
    log_end_offset: int,
    newest_start_offset: int,
) -> Truncation:
    """Return the same from two responses of version 0: for the follower's newest epoch and the one before.

    If both offsets are equal, the leader has no records of the newest epoch. A single response does not show this: its
    offset may be the end of an older epoch to which the leader appended more (KIP-279). Records below `least_offset`
    are kept even then.
    """
    end_offset = min(newest_end_offset, log_end_offset)
    if end_offset_before != newest_end_offset:
        return Truncation(end_offset, is_done=True)
    if newest_start_offset > least_offset:
        return Truncation(min(end_offset, newest_start_offset), is_done=False)
    return Truncation(min(end_offset, least_offset), is_done=True)


def reaction(error_code: int) -> Reaction:
    """Return the reaction to an error, if the partition still has the leader epoch of the request."""
    if error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        return Reaction.SEEK
    if error_code == ErrorCode.FENCED_LEADER_EPOCH:
        return Reaction.FAIL
    return Reaction.DELAY


def back_off_ms(error_count: int, most_ms: int) -> int:
    """Return the delay after a number of consecutive failures; it grows with each."""
    return min(most_ms, FIRST_BACK_OFF_MS << min(error_count - 1, 16))
