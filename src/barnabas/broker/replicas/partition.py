"""One partition that this broker hosts: its log, who leads it, and up to where it is replicated.

Invariants: consumers read below the high watermark; it never goes back on a leader; it is the least log end offset of
the in-sync replicas. (Followers come with replication: until then the leader is the only replica in sync.)

Source: design page, replication; semantics, replication.
"""

from typing import Final

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.log.appends.prepared import Prepared
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.producer_state import NEVER_OFFSET
from barnabas.broker.log.retention import DELETE
from barnabas.broker.replicas.topic_counts import TopicCounts
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.records.record_rules import RecordRefusal

_HIGH_WATERMARK: Final = -1
# A member of an enum is looked up in its class each time.
_NO_ERROR: Final = ErrorCode.NONE


class Partition:
    """A hosted partition. Owned by the event loop.

    Attributes:
        counts: What is done to its topic, in numbers.
    """

    __slots__ = (
        "broker_id",
        "counts",
        "high_watermark",
        "in_sync_replicas",
        "leader",
        "leader_epoch",
        "log",
        "min_insync_replicas",
        "replicas",
        "topic_partition",
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
        counts: The topic's; of this partition alone by default.
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
        self.high_watermark = log.log_start_offset

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    @property
    def last_stable_offset(self) -> int:
        """The end of what read_committed consumers may read: never above the high watermark."""
        # hot path: benchmarks/load (every partition of every fetch request)
        high_watermark = self.high_watermark
        if high_watermark <= self.log.producers.first_unstable_offset:
            return high_watermark
        return min(high_watermark, self.log.first_unstable_offset)

    def become_leader(
        self, leader_epoch: int, in_sync_replicas: tuple[int, ...], replicas: tuple[int, ...], high_watermark: int
    ) -> None:
        """Lead from `leader_epoch` on.

        Args:
            high_watermark: The one known before (checkpointed, or the current one).
        """
        self.leader = self.broker_id
        self.leader_epoch = leader_epoch
        self.in_sync_replicas = in_sync_replicas
        self.replicas = replicas
        self.high_watermark = max(self.log.log_start_offset, min(high_watermark, self.log.log_end_offset))
        self.log.note_high_watermark(self.high_watermark)
        self.log.begin_leader_epoch(leader_epoch)
        if len(in_sync_replicas) <= 1:
            self.high_watermark = self.log.log_end_offset
            self.log.note_high_watermark(self.high_watermark)

    def resign(self, leader: int, leader_epoch: int) -> None:
        """Another broker, or none (-1), leads from `leader_epoch` on."""
        self.leader = leader
        self.leader_epoch = leader_epoch

    def place(self, prepared: Prepared | RecordRefusal, leader_epoch: int, size_bytes: int) -> AppendResult:
        """Append what was prepared for the log, as its leader in `leader_epoch`.

        Args:
            size_bytes: What came of it.
        """
        # hot path: benchmarks/load (every produced batch)
        log = self.log
        result = log.place(prepared, leader_epoch)
        if not result.error_code:
            if len(self.in_sync_replicas) <= 1:
                self.high_watermark = log.log_end_offset
                if log.producers.first_unstable_offset != NEVER_OFFSET:
                    log.note_high_watermark(log.log_end_offset)
            counts = self.counts
            counts.bytes_in += size_bytes
            counts.messages_in += result.last_offset - result.base_offset + 1
        return result

    def refuse_append(self, leader_epoch: int, required_acks: int) -> AppendResult | None:
        """Why an append that came in `leader_epoch` and had to wait is not placed any more."""
        if not self.is_leader or self.leader_epoch != leader_epoch:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.log.is_closed:
            return AppendResult(ErrorCode.KAFKA_STORAGE_ERROR)
        return self.refuse_acks(required_acks)

    def refuse_acks(self, required_acks: int) -> AppendResult | None:
        """Why an append can't be as safe as that: min.insync.replicas."""
        if required_acks == -1 and len(self.in_sync_replicas) < self.min_insync_replicas:
            return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=self.log.log_start_offset)
        return None

    def delete_records(self, offset: int) -> ErrorCode:
        """Move the log start offset up to `offset`, or to the high watermark (-1).

        Returns:
            The error, if any; NONE also where the log already begins there or later.
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
        """Compare the epoch that a client believes in (-1: it doesn't say) with this broker's.

        Args:
            is_any_replica: A follower will do.
        """
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            # Also where another leads: who is behind must learn that first, as in Kafka.
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if self.leader != self.broker_id and not is_any_replica:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NO_ERROR
