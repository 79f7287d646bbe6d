"""Replication as a leader: tracks followers, proposes ISR changes, and advances the high watermark.

    a follower's fetch ─► its progress ─► in sync? ─► an ISR change is proposed
                                  └──────► high watermark ─► waiting consumers, and producers with acks=all

Waiting readers are notified by one of two keys, to avoid useless wake-ups. The partition's key notifies readers up to
the high watermark; its `end_key` notifies readers up to the log end.

Invariants:

- The high watermark of a leader never decreases; only followers read records above it. If flush.messages requires a
  flush, records stay above it until they are on disk.
- A producer with acks=all is answered once: when the high watermark has passed its records, when its timeout expires,
  or when this broker stops leading the partition. If this broker lost and regained leadership meanwhile, the append
  fails: the records may be lost.

Source: design page, replication; semantics, replication (leader); Kafka 2.7.2, kafka.cluster.Partition, DelayedProduce,
DelayedDeleteRecords.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from barnabas.broker.cluster.image import NO_LEADER
from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.replicas.acks import WaitingForAcks
from barnabas.broker.replicas.isr_changes import Committed, IsrChanges, IsrOutcome
from barnabas.broker.replicas.partition import Partition
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending, completed
from barnabas.core.purgatory import Purgatory
from barnabas.core.timers import Timers
from barnabas.core.types import NO_EPOCH
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState2

_logger = logging.getLogger(__name__)

_PARTITIONS_PER_TURN = 1_000


class LeaderReplicas:
    """The followers of all partitions that this broker leads. Owned by the event loop.

    Attributes:
        changes: Proposes ISR changes; set before there are partitions with followers.
        expand_count, shrink_count: Number of ISR expansions and shrinks since the start.
        late_append_count, late_deletion_count: Number of appends with acks=all, and of record deletions, that timed
            out while they waited for followers.
        on_isr: Called with each partition whose ISR has changed, and the reason.
    """

    def __init__(
        self,
        broker_id: int,
        clock: Clock,
        timers: Timers,
        fetches: Purgatory,
        max_lag_ms: Callable[[], int],
        is_alive: Callable[[int], bool] = lambda broker_id: True,
        *,
        expels_losers: bool = True,
    ) -> None:
        """Args:
        fetches: Notified of every rise of a high watermark, and of every append.
        max_lag_ms: replica.lag.time.max.ms.
        is_alive: Returns whether a broker is alive, according to this broker's metadata.
        expels_losers: Fetches have leader epochs, so replicas that lost records can be recognized.
        """
        self._broker_id = broker_id
        self._clock = clock
        self._timers = timers
        self._fetches = fetches
        self._max_lag_ms = max_lag_ms
        self._is_alive = is_alive
        self._expels_losers = expels_losers
        self.changes: IsrChanges | None = None
        self.on_isr: Callable[[Partition, str], object] = lambda partition, reason: None
        self.expand_count = self.shrink_count = 0
        self.late_append_count = self.late_deletion_count = 0
        # In the order in which this broker became their leader.
        self._partitions: dict[Partition, None] = {}
        self._is_looking = False
        self._due_ms = 0
        self._deletions: dict[Partition, list[tuple[int, Pending[int]]]] = {}

    # --- the controller's states

    def lead(self, partition: Partition, state: LeaderAndIsrPartitionState2) -> None:
        """Lead a partition in a new epoch."""
        was_leader = partition.is_leader
        replicas, isr = tuple(state.replicas), tuple(state.isr)
        partition.become_leader(state.leader_epoch, isr, replicas, state.controller_epoch)
        partition.is_reassigning = bool(state.adding_replicas or state.removing_replicas)
        partition.adding_count = len(state.adding_replicas)
        if self.changes is not None:
            self.changes.withdraw(partition.topic_partition)
        now_ms = self._clock.monotonic_ms()
        if all(each == self._broker_id for each in replicas):
            partition.followers = None
            self._partitions.pop(partition, None)
        else:
            followers = partition.lead_followers()
            end_offset = partition.log.log_end_offset
            followers.lead(replicas, isr, state.zk_version, state.leader_epoch, end_offset, now_ms, was_leader)
            self._partitions[partition] = None
            self._look_later()
        self._advance(partition, now_ms)
        # Readers and followers check again, even if another broker led before.
        self._fetches.notify(partition.topic_partition)
        self._fetches.notify(partition.end_key)

    def resign(self, partition: Partition, error_code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """Stop leading a partition; waiting requests are answered."""
        if self.changes is not None:
            self.changes.withdraw(partition.topic_partition)
        self._partitions.pop(partition, None)
        if partition.is_leader:
            # The log is removed, or the broker stops: appends that wait for the disk must not be acknowledged.
            partition.resign(NO_LEADER, partition.leader_epoch)
        waiting, partition.waiting_acks = partition.waiting_acks, None
        for each in waiting or ():
            each.end(each.result.failed(error_code))
        self._fetches.notify(partition.topic_partition)
        self._fetches.notify(partition.end_key)

    # --- appends

    def appended(self, partition: Partition, result: AppendResult) -> None:
        """Advance the high watermark and wake readers after an append."""
        # hot path: benchmarks/load (every produced batch)
        followers = partition.followers
        if followers is None:
            if not result.is_flush_due:
                self._fetches.notify(partition.topic_partition)
            return
        self._fetches.notify(partition.end_key)
        if len(followers.maximal_isr) <= 1:
            # Otherwise the high watermark waits for followers, which have not fetched the records yet.
            self._advance(partition, self._clock.monotonic_ms())

    def flushed(self, partition: Partition) -> None:
        """Advance the high watermark after records of a partition were flushed."""
        if partition.is_leader:
            self._advance(partition, self._clock.monotonic_ms())

    def when_replicated(
        self, partition: Partition, leading_since: int, result: AppendResult, timeout_ms: int
    ) -> Pending[AppendResult]:
        """Return the result of an append with acks=all when all in-sync replicas have it.

        Args:
            leading_since: The partition's `leading_since` at the time of the append.
        """
        if not partition.is_leader or partition.leading_since != leading_since:
            return completed(result.failed(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        waiting = WaitingForAcks(result.last_offset + 1, result)
        if partition.high_watermark >= waiting.offset:
            return completed(self._outcome(partition, waiting))
        queue = partition.waiting_acks
        if queue is None:
            queue = partition.waiting_acks = deque()
        # Expired appends would accumulate while the high watermark does not rise.
        while queue and queue[0].pending.is_done:
            queue.popleft()
        queue.append(waiting)
        waiting.timer = self._timers.call_later(timeout_ms, self._expire, waiting)
        return waiting.pending

    def _expire(self, waiting: WaitingForAcks) -> None:
        self.late_append_count += 1
        waiting.expire()

    def _outcome(self, partition: Partition, waiting: WaitingForAcks) -> AppendResult:
        followers = partition.followers
        if followers is not None and len(followers.maximal_isr) < partition.min_insync_replicas:
            return waiting.result.failed(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return waiting.result

    # --- progress of followers

    def note_fetch(self, partition: Partition, replica_id: int, fetch_offset: int, log_start_offset: int) -> None:
        """Record the progress of a follower after a successful fetch, before its records are read."""
        # hot path: every partition of every follower's fetch
        followers = partition.followers
        if followers is None:
            return
        now_ms = self._clock.monotonic_ms()
        has_moved = followers.note_fetch(
            replica_id, fetch_offset, log_start_offset, partition.log.log_end_offset, now_ms
        )
        isr = followers.expansion(replica_id, partition.high_watermark)
        # differs from Kafka (unregistered-in-sync): Kafka adds any replica that fetches. But a new controller uses the
        # registrations to find replicas that were down since the state was written, so registration must come first.
        if isr is not None and self._is_alive(replica_id):
            self._propose(partition, isr)
        if has_moved:
            if fetch_offset < partition.high_watermark and replica_id in followers.isr:
                self._expel(partition)
            self._advance(partition, now_ms)
        if self._deletions:
            self._look_at_deletions(partition)

    def _expel(self, partition: Partition) -> None:
        """Propose to remove replicas that lost records from the ISR, if they can be recognized."""
        followers = partition.followers
        if followers is None or not self._expels_losers or partition.log.latest_epoch == NO_EPOCH:
            return
        isr = followers.expulsion(partition.high_watermark)
        if isr is not None:
            _logger.warning(
                "%s: a replica lost replicated records: proposing the ISR %s", partition.topic_partition, isr
            )
            self._propose(partition, isr)

    def _advance(self, partition: Partition, now_ms: int) -> None:
        followers, end_offset = partition.followers, partition.log.safe_end_offset
        if followers is not None:
            end_offset = followers.high_watermark(end_offset, now_ms, self._max_lag_ms())
        self._raise(partition, end_offset)

    def _raise(self, partition: Partition, high_watermark: int) -> None:
        if high_watermark <= partition.high_watermark:
            return
        partition.set_high_watermark(high_watermark)
        waiting = partition.waiting_acks
        if waiting is not None:
            while waiting and (waiting[0].offset <= high_watermark or waiting[0].pending.is_done):
                each = waiting.popleft()
                each.end(self._outcome(partition, each))
        self._fetches.notify(partition.topic_partition)

    # --- in-sync replicas

    def _propose(self, partition: Partition, isr: tuple[int, ...]) -> None:
        followers, changes = partition.followers, self.changes
        assert followers is not None
        if changes is None:
            return
        _logger.info("%s: changing the ISR from %s to %s", partition.topic_partition, followers.isr, isr)
        followers.propose(isr)
        changes.propose(
            partition.topic_partition,
            self._broker_id,
            partition.leader_epoch,
            isr,
            followers.zk_version,
            partition.controller_epoch,
            partial(self._changed, partition, partition.leader_epoch),
        )

    def _changed(self, partition: Partition, leader_epoch: int, outcome: IsrOutcome) -> None:
        followers = partition.followers
        if followers is None or partition.leader_epoch != leader_epoch:
            return
        if not isinstance(outcome, Committed):
            # It stays pending: another leader epoch will follow.
            _logger.info("%s: the ISR change was rejected: %s", partition.topic_partition, outcome.error_code.name)
            return
        gained = followers.committed(outcome.isr, outcome.zk_version)
        lost = set(partition.in_sync_replicas) - set(outcome.isr)
        partition.in_sync_replicas = outcome.isr
        if gained > 0:
            self.expand_count += 1
            self.on_isr(partition, "caught up")
        elif gained < 0:
            self.shrink_count += 1
            self.on_isr(partition, "follower behind" if all(map(self._is_alive, lost)) else "broker gone")
        self._advance(partition, self._clock.monotonic_ms())
        self._expel(partition)

    def _look_later(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            interval_ms = self._max_lag_ms() // 2
            self._due_ms = self._clock.monotonic_ms() + interval_ms
            self._timers.call_later(interval_ms, self._look)

    def _look(self) -> None:
        """Find lagging followers, a limited number of partitions in each turn of the event loop."""
        self._is_looking = False
        if not self._partitions:
            return
        # If this broker itself was blocked, followers only appear to lag: their fetches are not read yet.
        if self._clock.monotonic_ms() - self._due_ms <= self._max_lag_ms() // 4:
            self._look_at(list(self._partitions))
        self._look_later()

    def _look_at(self, partitions: list[Partition]) -> None:
        now_ms, max_lag_ms = self._clock.monotonic_ms(), self._max_lag_ms()
        some = partitions[:_PARTITIONS_PER_TURN]
        for partition in some:
            followers = partition.followers
            if followers is None:
                continue
            isr = followers.shrink(partition.log.log_end_offset, now_ms, max_lag_ms)
            if isr is not None:
                self._propose(partition, isr)
            else:
                self._expel(partition)
            # A follower that caught up and then died delays the high watermark until `max_lag_ms` has passed. No other
            # event may follow then, so advance it here.
            self._advance(partition, now_ms)
        left = partitions[len(some) :]
        if left:
            self._timers.call_later(0, self._look_at, left)

    # --- deletion of records

    def when_deleted(self, partition: Partition, offset: int, timeout_ms: int) -> Pending[int]:
        """Return the low watermark once no live replica has records below `offset`; -1 after the timeout."""
        low_watermark = self._low_watermark(partition)
        if low_watermark >= offset:
            return completed(low_watermark)
        pending: Pending[int] = Pending()
        self._deletions.setdefault(partition, []).append((offset, pending))

        def expire() -> None:
            self.late_deletion_count += not pending.is_done
            self._drop_deletion(partition, pending)
            pending.complete(-1)

        self._timers.call_later(timeout_ms, expire)
        return pending

    def _low_watermark(self, partition: Partition) -> int:
        followers, start_offset = partition.followers, partition.log.log_start_offset
        return start_offset if followers is None else followers.low_watermark(start_offset, self._is_alive)

    def _look_at_deletions(self, partition: Partition) -> None:
        waiting = self._deletions.get(partition)
        if waiting is None:
            return
        low_watermark = self._low_watermark(partition)
        for offset, pending in list(waiting):
            if low_watermark >= offset:
                self._drop_deletion(partition, pending)
                pending.complete(low_watermark)

    def _drop_deletion(self, partition: Partition, pending: Pending[int]) -> None:
        left = [each for each in self._deletions.get(partition, ()) if each[1] is not pending]
        if left:
            self._deletions[partition] = left
        else:
            self._deletions.pop(partition, None)

    # --- metrics

    @property
    def partitions(self) -> Iterable[Partition]:
        """The partitions that this broker leads and that have other replicas."""
        return self._partitions

    @property
    def waiting_deletion_count(self) -> int:
        """The number of deletions of records that wait for followers."""
        return sum(map(len, self._deletions.values()))

    @property
    def waiting_count(self) -> int:
        """The number of appends that wait for followers."""
        return sum(len(each.waiting_acks or ()) for each in self._partitions)

    def close(self) -> None:
        """Answer all waiting requests, as the broker stops."""
        for partition in list(self._partitions):
            self.resign(partition)
        if self.changes is not None:
            self.changes.close()
