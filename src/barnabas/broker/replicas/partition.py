"""A hosted partition: its log, its leadership, and its high watermark.

Invariants: consumers read below the high watermark. It never decreases on a leader. If the leader is the only replica,
the high watermark is the log end, or the flushed end if flush.messages requires a flush; otherwise `leader_replicas.py`
computes it. On a follower it is the value from the leader.

Source: design page, replication; semantics, replication.
"""

from collections import deque
from typing import Final

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.log.appends.prepared_batches import Prepared
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.producer_state import NEVER_OFFSET
from barnabas.broker.log.retention import DELETE
from barnabas.broker.replicas.acks import WaitingForAcks
from barnabas.broker.replicas.isr import ReplicaSet
from barnabas.broker.replicas.topic_counts import TopicCounts
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.records.record_rules import RecordRefusal

_HIGH_WATERMARK: Final = -1
# Cached, because access to an enum member is a lookup each time.
_NO_ERROR: Final = ErrorCode.NONE


END_KEY_FIELDS: Final = 3


def end_key(topic_partition: tuple[str, int]) -> tuple[str, int, str]:
    """Return the key of readers that wait for records up to the log end of a partition; see `Partition`."""
    return (*topic_partition, "end")


class Partition:
    """A hosted partition. Owned by the event loop.

    Attributes:
        adding_count: Number of `replicas` that a reassignment adds, if this broker leads.
        counts: Counts of operations on its topic.
        controller_epoch: Epoch of the controller that sent the state.
        end_key: The key of readers that wait for the log end.
        followers: The other replicas and the ISR; None if there are none, or another broker leads.
        in_sync_replicas: The committed in-sync replicas if this broker leads.
        is_reassigning: Whether this broker leads, and replicas are being added or removed.
        leading_since: The leader epoch since which this broker leads without a break; -1: it does not.
        waiting_acks: Appends that wait for followers, in the order of their offsets; None before the first.
    """

    __slots__ = (
        "adding_count",
        "broker_id",
        "controller_epoch",
        "counts",
        "end_key",
        "followers",
        "high_watermark",
        "in_sync_replicas",
        "is_reassigning",
        "leader",
        "leader_epoch",
        "leading_since",
        "log",
        "min_insync_replicas",
        "replicas",
        "topic_partition",
        "waiting_acks",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        broker_id: int,
        log: PartitionLog,
        min_insync_replicas: int,
        counts: TopicCounts | None = None,
    ) -> None:
        """Args:
        min_insync_replicas: The topic's min.insync.replicas; set again when the topic's settings change.
        counts: The topic's counts; by default new counts for this partition alone.
        """
        self.counts = TopicCounts() if counts is None else counts
        self.min_insync_replicas = min_insync_replicas
        self.topic_partition = topic_partition
        self.broker_id = broker_id
        self.log = log
        self.leader = -1
        self.leader_epoch = -1
        self.in_sync_replicas: tuple[int, ...] = ()
        self.replicas: tuple[int, ...] = ()
        self.is_reassigning = False
        self.adding_count = 0
        self.high_watermark = log.log_start_offset
        self.controller_epoch = 0
        self.leading_since = -1
        self.end_key = end_key(topic_partition)
        self.followers: ReplicaSet | None = None
        self.waiting_acks: deque[WaitingForAcks] | None = None

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    @property
    def is_settled(self) -> bool:
        """Whether the high watermark is certain: after an election the previous leader's may have been higher."""
        followers = self.followers
        return followers is None or self.high_watermark >= followers.epoch_start_offset

    @property
    def last_stable_offset(self) -> int:
        """The last stable offset, the limit of read_committed consumers; never above the high watermark."""
        # hot path: benchmarks/load (every partition of every fetch request)
        high_watermark = self.high_watermark
        if high_watermark <= self.log.producers.first_unstable_offset:
            return high_watermark
        return min(high_watermark, self.log.first_unstable_offset)

    def set_high_watermark(self, high_watermark: int) -> None:
        """Set the high watermark, which must be within the log."""
        self.high_watermark = high_watermark
        self.log.note_high_watermark(high_watermark)

    def become_leader(
        self, leader_epoch: int, in_sync_replicas: tuple[int, ...], replicas: tuple[int, ...], controller_epoch: int
    ) -> None:
        """Lead from `leader_epoch` on, with the known high watermark: the checkpointed or the current one."""
        if not self.is_leader:
            self.leading_since = leader_epoch
        self.leader = self.broker_id
        self.leader_epoch = leader_epoch
        self.controller_epoch = controller_epoch
        self.in_sync_replicas = in_sync_replicas
        self.replicas = replicas
        log = self.log
        self.set_high_watermark(max(log.log_start_offset, min(self.high_watermark, log.log_end_offset)))
        log.begin_leader_epoch(leader_epoch)

    def lead_followers(self) -> ReplicaSet:
        """Return the state of the other replicas, creating it if another broker led before."""
        if self.followers is None:
            self.followers = ReplicaSet(self.broker_id)
        return self.followers

    def resign(self, leader: int, leader_epoch: int) -> None:
        """Stop leading: another broker, or none (-1), leads from `leader_epoch` on."""
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.leading_since = -1
        self.followers = None
        self.in_sync_replicas = ()
        self.is_reassigning = False

    def append_as_leader(self, prepared: Prepared | RecordRefusal, leader_epoch: int, size_bytes: int) -> AppendResult:
        """Write a prepared append to the log, as its leader in `leader_epoch`.

        Args:
            size_bytes: The size of the request's records.
        """
        # hot path: benchmarks/load (every produced batch)
        log = self.log
        result = log.append_as_leader(prepared, leader_epoch)
        if not result.error_code:
            if self.followers is None and not result.is_flush_due:
                self.high_watermark = log.log_end_offset
                if log.producers.first_unstable_offset != NEVER_OFFSET:
                    log.note_high_watermark(log.log_end_offset)
            counts = self.counts
            counts.bytes_in += size_bytes
            counts.messages_in += result.last_offset - result.base_offset + 1
        return result

    def refuse_append(self, leader_epoch: int, required_acks: int) -> AppendResult | None:
        """Return the error if an append that arrived in `leader_epoch` can no longer be written, or None."""
        if not self.is_leader or self.leader_epoch != leader_epoch:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.log.is_closed:
            return AppendResult(ErrorCode.KAFKA_STORAGE_ERROR)
        return self.refuse_acks(required_acks)

    def refuse_acks(self, required_acks: int) -> AppendResult | None:
        """Return an error if too few replicas are in sync for acks=all (min.insync.replicas), or None."""
        if required_acks == -1 and len(self.in_sync_replicas) < self.min_insync_replicas:
            return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=self.log.log_start_offset)
        return None

    def delete_records(self, offset: int) -> ErrorCode:
        """Move the log start offset up to `offset`, or to the high watermark (-1).

        Returns:
            The error; NONE also if the log already starts there or later.
        """
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if DELETE not in self.log.config.cleanup_policy:
            return ErrorCode.POLICY_VIOLATION
        start_offset = self.high_watermark if offset == _HIGH_WATERMARK else offset
        if not 0 <= start_offset <= self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        self.log.increment_log_start_offset(start_offset)
        return ErrorCode.NONE

    def check_leader_epoch(self, current_leader_epoch: int, is_any_replica: bool = False) -> ErrorCode:
        """Compare a client's leader epoch (-1: not sent) with this broker's.

        Args:
            is_any_replica: The request may be served by a follower.
        """
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            # Before the leader check, as in Kafka: a client with an old epoch must learn that first.
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if self.leader != self.broker_id and not is_any_replica:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NO_ERROR
