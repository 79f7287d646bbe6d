"""All partitions that this broker hosts, and the controller's requests about them.

Invariants: a partition is in the table from the moment its log is open until the controller stops it. Control requests
have the same effects as if logs opened instantly, in the order of arrival. `control_requests.py` has already rejected
outdated requests.

Source: semantics, replication (LeaderAndIsr, StopReplica); design page, replication.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.replicas.append_queues import Append, AppendQueues, Timed, untimed
from barnabas.broker.replicas.fetching.follower_replica import FollowerReplica
from barnabas.broker.replicas.leader_replicas import LeaderReplicas
from barnabas.broker.replicas.local_follower_replica import LocalFollowerReplica
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.replicas.topic_counts import TopicTable
from barnabas.core.config import TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)

logger = logging.getLogger(__name__)

# Leader epochs in StopReplica that are always accepted: the topic is deleted (-2), or the sender knows no epoch (-1).
_EPOCH_DURING_DELETE = -2
_NO_EPOCH = -1
ALL: Final = -1
"""The value of acks that waits for all in-sync replicas."""
_UPDATES_PER_TURN = 100
# More would only wait in the queue of the threads that open logs.
_LOGS_OPENED_AT_ONCE = 100
_LOGS_DELETED_AT_ONCE = 100


class LeadershipListener(Protocol):
    """Called with the partitions that this broker now leads or no longer leads; e.g. the group coordinator."""

    def __call__(self, led: list[Partition], resigned: list[TopicPartition]) -> object: ...


class FollowsPartitions(Protocol):
    """Fetches followed partitions from their leaders; see `fetching.manager.Fetchers`."""

    def follow(self, partitions: Sequence[tuple[FollowerReplica, int, int]]) -> None: ...

    def forget(self, keys: Iterable[TopicPartition]) -> None: ...


class NobodyToFollow:
    """The fetchers of a single broker: they do nothing."""

    def follow(self, partitions: Sequence[tuple[FollowerReplica, int, int]]) -> None:
        return

    def forget(self, keys: Iterable[TopicPartition]) -> None:
        return


class _DelayedAppend:
    """An append whose result waits for a flush."""

    __slots__ = ("pending",)

    def __init__(self) -> None:
        self.pending: Pending[AppendResult] = Pending()

    def try_complete(self) -> bool:
        return self.pending.is_done

    def expire(self) -> None:
        self.pending.complete(AppendResult(ErrorCode.REQUEST_TIMED_OUT))

    def fail(self, error: Exception) -> None:
        self.pending.fail(error)


class PartitionChanged(Protocol):
    """Called when the leader or the ISR of a partition changes, or the partition goes offline.

    `what` is `leader` or `follower` (this broker's new role), `isr` or `offline`. `reason` may be empty.
    """

    def __call__(
        self,
        key: TopicPartition,
        what: str,
        leader: int,
        leader_epoch: int,
        isr: Sequence[int],
        replicas: Sequence[int],
        reason: str,
    ) -> object: ...


def _nobody(
    key: TopicPartition,
    what: str,
    leader: int,
    leader_epoch: int,
    isr: Sequence[int],
    replicas: Sequence[int],
    reason: str,
) -> None:
    return


class ReplicaManager:
    """The partitions of one broker. Owned by the event loop.

    Attributes:
        topics: Counts of operations per topic.
        leader_replicas: The followers of the partitions that this broker leads.
        on_failed_directory: Called when a directory fails, after its partitions are offline.
        defer: Runs `callback(*args)` in the loop's next turn.
        on_change: Called with each hosted partition whose leader changed or that went offline.
        fetchers: Fetch the partitions that this broker follows.
    """

    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        fetches: Purgatory,
        topic_config: Callable[[str], TopicConfig],
        append_executor: Executor,
        defer: Callable[..., object],
        leader_replicas: LeaderReplicas,
    ) -> None:
        """Args:
        fetches: Notified of every append; appends that must wait for the disk also wait there.
        topic_config: Returns the current settings of a topic.
        append_executor: Prepares appends that take long.
        """
        self._broker_id = broker_id
        self._executor = append_executor
        self.defer = defer
        self.leader_replicas = leader_replicas
        self.fetchers: FollowsPartitions = NobodyToFollow()
        # The leader whose partitions accept appends: this broker; None once it stops.
        self._appending_leader: int | None = broker_id
        self._logs = logs
        self._topic_config = topic_config
        self._fetches = fetches
        self._offline: set[tuple[str, int]] = set()
        logs.on_offline = self._take_offline
        logs.on_moved = self._log_moved
        logs.on_flushed = self._log_flushed
        self._partitions: dict[tuple[str, int], Partition] = {}
        # The same partitions, by topic.
        self._by_topic: dict[str, dict[TopicPartition, Partition]] = {}
        self.topics = TopicTable()
        # The newest state of a partition whose log is still being opened; removed if the partition is stopped.
        self._awaited: dict[TopicPartition, LeaderAndIsrPartitionState2] = {}
        self._append_queues = AppendQueues(
            append_executor,
            defer,
            self._absence_of_hosted,
            leader_replicas.appended,
            self.storage_failed,
        )
        logs.is_appending = lambda log: log in self._append_queues.by_log
        self.on_leadership: LeadershipListener | None = None
        self.on_failed_directory: Callable[[], object] = lambda: None
        self.on_change: PartitionChanged = _nobody
        # Bound once: produce and fetch call it for every partition of every request.
        self.partition: Callable[[tuple[str, int]], Partition | None] = self._partitions.get

    @property
    def partitions(self) -> Iterable[Partition]:
        return self._partitions.values()

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    @property
    def offline_count(self) -> int:
        """The number of partitions in directories that failed."""
        return len(self._offline)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Return the high watermarks for the checkpoint."""
        return {each.topic_partition: each.high_watermark for each in self._partitions.values()}

    def append_to(
        self,
        partition: Partition,
        records: memoryview,
        required_acks: int,
        is_any_format: bool = False,
        is_client: bool = True,
        timed: Timed = untimed,
    ) -> AppendResult | Pending[AppendResult]:
        """Append records to a partition if this broker leads it: at once, or when they are prepared.

        Args:
            records: One batch of a client; offsets are assigned in place. The caller must not change it before the
                result is returned.
            required_acks: 0, 1 or -1.
            is_any_format: The records may be several messages of format 0 or 1.
            is_client: False for the broker's own batches.
            timed: Wraps work in the executor so that its time is counted.
        """
        # hot path: benchmarks/load (every produced batch)
        partition.counts.produce_requests += 1
        if partition.leader != self._appending_leader:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        queues = self._append_queues
        log = partition.log
        if log not in queues.by_log:
            if required_acks == -1 and (refusal := partition.refuse_acks(required_acks)) is not None:
                partition.counts.note_refused(refusal.error_code, len(records))
                return refusal
            try:
                prepared = log.prepare(records, is_client, is_any_format)
                result = None
                if prepared is not None:
                    result = partition.append_as_leader(prepared, partition.leader_epoch, len(records))
            except StorageError as error:
                return self.storage_failed(error)
            except Exception:
                # As in Kafka: a bug or a lack of memory must not affect the other partitions of the request.
                logger.exception("an append to %s failed", partition.topic_partition)
                partition.counts.note_refused(ErrorCode.UNKNOWN_SERVER_ERROR, len(records))
                return AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR)
            if result is not None:
                if not result.error_code:
                    self.leader_replicas.appended(partition, result)
                else:
                    partition.counts.note_refused(result.error_code, len(records))
                return result
        pending = queues.add(Append(partition, records, required_acks, is_client, is_any_format, timed))
        return pending.value if pending.is_done else pending

    def append(
        self,
        topic_partition: TopicPartition,
        records: bytearray,
        required_acks: int,
        timeout_ms: int,
        *,
        is_client: bool = False,
    ) -> Pending[AppendResult]:
        """Append the broker's own batches (of coordinators); complete once `required_acks` is satisfied.

        Args:
            records: Whole batches; offsets are assigned in place.
            required_acks: -1 waits for the in-sync replicas.
            timeout_ms: Limit for each wait (flush.messages, in-sync replicas); after it REQUEST_TIMED_OUT.
        """
        partition = self._partitions.get(topic_partition)
        if partition is None:
            return completed(AppendResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        leading_since = partition.leading_since
        appended = self.append_to(partition, memoryview(records), required_acks, is_client=is_client)

        def when_replicated(result: AppendResult) -> AppendResult | Pending[AppendResult]:
            # `followers` is also None if this broker resigned meanwhile.
            is_alone = partition.followers is None and partition.leading_since == leading_since
            if required_acks != ALL or result.error_code or is_alone:
                return result
            return self.leader_replicas.when_replicated(partition, leading_since, result, timeout_ms)

        def when_flushed(result: AppendResult) -> AppendResult | Pending[AppendResult]:
            return self._when_flushed(partition.log, timeout_ms, result)

        if isinstance(appended, AppendResult):
            return self._when_flushed(partition.log, timeout_ms, appended).and_then(when_replicated)
        return appended.and_then(when_flushed).and_then(when_replicated)

    def _when_flushed(self, log: PartitionLog, timeout_ms: int, result: AppendResult) -> Pending[AppendResult]:
        """Return the result, after the flush that flush.messages requires, if any."""
        if result.error_code != ErrorCode.NONE or not log.is_flush_due():
            return completed(result)
        delayed = _DelayedAppend()
        self._fetches.watch(delayed, (), timeout_ms)

        def flushed(error: BaseException | None) -> None:
            self._fetches.forget(delayed)
            delayed.pending.complete(result if error is None else AppendResult(ErrorCode.KAFKA_STORAGE_ERROR))

        log.flush(flushed)
        return delayed.pending

    def stop_appends(self) -> None:
        """Stop all appends, even prepared ones, before the logs are closed at shutdown."""
        self._appending_leader = None
        self._append_queues.close()
        self.leader_replicas.close()

    def _absence_of_hosted(self, partition: Partition) -> ErrorCode:
        key = partition.topic_partition
        return ErrorCode.NONE if self._partitions.get(key) is partition else self.absence_of(key)

    def absence_of(self, topic_partition: tuple[str, int]) -> ErrorCode:
        """Return the error for a partition that this broker does not host or that is offline."""
        is_offline = topic_partition in self._offline
        return ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _drop(self, key: TopicPartition) -> Partition | None:
        """Stop hosting a partition; None if it is not hosted."""
        partition = self._partitions.pop(key, None)
        if partition is not None:
            self.topics.end(key.topic)
            of_topic = self._by_topic[key.topic]
            del of_topic[key]
            if not of_topic:
                del self._by_topic[key.topic]
        return partition

    def _take_offline(self, topic_partitions: list[TopicPartition]) -> None:
        """Take logs of a failed directory offline."""
        self.fetchers.forget(topic_partitions)
        for topic_partition in topic_partitions:
            partition = self._drop(topic_partition)
            if partition is not None:
                self._offline.add(topic_partition)
                isr, replicas = partition.in_sync_replicas, partition.replicas
                self.on_change(
                    topic_partition, "offline", -1, partition.leader_epoch, isr, replicas, "directory failed"
                )
                # Waiting requests get an error.
                self.leader_replicas.resign(partition, ErrorCode.KAFKA_STORAGE_ERROR)
        if self.on_leadership is not None and topic_partitions:
            self.on_leadership([], topic_partitions)
        self.on_failed_directory()

    def _log_moved(self, log: PartitionLog) -> None:
        """Switch a partition to its log in another directory."""
        partition = self._partitions.get(log.topic_partition)
        if partition is not None:
            partition.log = log
            log.note_high_watermark(partition.high_watermark)
            self._fetches.notify(log.topic_partition)

    def _log_flushed(self, topic_partition: TopicPartition) -> None:
        partition = self._partitions.get(topic_partition)
        if partition is not None:
            self.leader_replicas.flushed(partition)

    def storage_failed(self, error: StorageError) -> AppendResult:
        """Take the directory of a failed log offline, and return the error for the append."""
        self._logs.note_failure(error)
        return AppendResult(ErrorCode.KAFKA_STORAGE_ERROR)

    def update_topic_config(self, topic: str) -> None:
        """Apply changed settings of a topic to its partitions."""
        config = self._topic_config(topic)
        for partition in list(self._by_topic.get(topic, {}).values()):
            self._update_config(partition, config)

    async def update_all_configs(self) -> None:
        """Apply changed topic defaults to all partitions, a limited number in each turn of the event loop."""
        partitions = list(self._partitions.values())
        for start in range(0, len(partitions), _UPDATES_PER_TURN):
            # Cached for one turn only: the settings may change again between turns.
            configs: dict[str, TopicConfig] = {}
            for partition in partitions[start : start + _UPDATES_PER_TURN]:
                topic = partition.topic_partition.topic
                # The partition may have been removed meanwhile, with its log.
                if self._partitions.get(partition.topic_partition) is partition:
                    config = configs.get(topic)
                    if config is None:
                        config = configs[topic] = self._topic_config(topic)
                    self._update_config(partition, config)
            await asyncio.sleep(0)

    def _update_config(self, partition: Partition, config: TopicConfig) -> None:
        partition.min_insync_replicas = config.min_insync_replicas
        log = partition.log
        log.update_config(config)
        if log.is_flush_due():
            # Readers wait for the flush.
            log.flush()

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]:
        """Become leader or follower as the controller requests; missing logs are created off the loop."""
        change = _LeadershipChange(self, request)
        return change.pending

    def stop_replica(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]:
        """Stop hosting partitions, and delete their logs if requested; the response waits for the deletion."""
        return _Stop(self, request).pending

    def stop(self, key: TopicPartition, state: StopReplicaPartitionState) -> Pending[ErrorCode]:
        """Stop hosting one partition; return the error code, after the deletion of its log if that is requested."""
        if key in self._offline and not (state.delete_partition and self._logs.is_damaged(key)):
            return completed(ErrorCode.KAFKA_STORAGE_ERROR)
        is_obeyed = state.leader_epoch in (_EPOCH_DURING_DELETE, _NO_EPOCH)
        if not is_obeyed and state.leader_epoch <= self._leader_epoch(key):
            return completed(ErrorCode.FENCED_LEADER_EPOCH)
        self.fetchers.forget((key,))
        if not state.delete_partition:
            # Its role does not change, even if it leads; only fetching stops.
            return completed(ErrorCode.NONE)
        self._awaited.pop(key, None)
        partition = self._drop(key)
        if partition is not None:
            # Waiting requests get an error.
            self.leader_replicas.resign(partition)
        if self.on_leadership is not None:
            self.on_leadership([], [key])
        self._offline.discard(key)
        # Without this error, the controller would complete the deletion of a topic whose records are still on disk.
        return self._logs.delete(key).shaped(
            lambda error: ErrorCode.NONE if error is None else ErrorCode.KAFKA_STORAGE_ERROR
        )

    def _leader_epoch(self, key: TopicPartition) -> int:
        """Return the newest leader epoch that the controller sent for a hosted partition; -2: it is not hosted."""
        awaited, partition = self._awaited.get(key), self._partitions.get(key)
        if awaited is not None:
            return awaited.leader_epoch
        return _EPOCH_DURING_DELETE if partition is None else partition.leader_epoch

    def expect(self, key: TopicPartition, state: LeaderAndIsrPartitionState2) -> None:
        """Set the state to apply to a partition once its log is open; it replaces an earlier expected state."""
        self._awaited[key] = state

    def open_log(self, key: TopicPartition, state: LeaderAndIsrPartitionState2) -> Pending[PartitionLog | None] | None:
        """Open the log of a partition for `apply_state`; None if a newer state was expected meanwhile."""
        if self._awaited.get(key) is not state:
            return None
        opened = self._logs.get_or_create(key, is_new=state.is_new)
        hosted = self._partitions.get(key)
        if state.leader != self._broker_id or hosted is None or hosted.is_leader:
            return opened
        # Appends and truncations of the follower must end before it leads.
        return opened.and_then(_when_idle)

    def apply_state(
        self, key: TopicPartition, state: LeaderAndIsrPartitionState2, opened: PartitionLog | None
    ) -> tuple[ErrorCode, Partition | None]:
        """Apply the controller's state to a partition with an open log, unless a newer one came meanwhile.

        Args:
            opened: The log; None if it could not be created.

        Returns:
            The error, and the partition if this broker leads it now.
        """
        if self._awaited.get(key) is not state:
            # A later request replaced this state: answer as if this one had been applied before it.
            return ErrorCode.NONE, None
        del self._awaited[key]
        if opened is None or key in self._offline:
            # The log could not be created, or its directory failed meanwhile.
            self._offline.add(key)
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        partition = self._partitions.get(key)
        if partition is None:
            config = self._topic_config(key.topic)
            partition = self._partitions[key] = Partition(
                key, self._broker_id, opened, config.min_insync_replicas, self.topics.begin(key.topic)
            )
            self._by_topic.setdefault(key.topic, {})[key] = partition
            partition.high_watermark = self._logs.checkpointed_high_watermark(key)
            # The settings may have changed while the log was opened.
            self._update_config(partition, config)
        if partition.leader_epoch != _NO_EPOCH and partition.leader != state.leader:
            what = "leader" if state.leader == self._broker_id else "follower"
            self.on_change(key, what, state.leader, state.leader_epoch, state.isr, state.replicas, "")
        if state.leader != self._broker_id:
            was_leader = partition.is_leader
            partition.resign(state.leader, state.leader_epoch)
            self.leader_replicas.resign(partition)
            if was_leader and self.on_leadership is not None:
                # Not at the end of the request: before that, a later request may make this broker the leader again.
                self.on_leadership([], [key])
            return ErrorCode.NONE, None
        self.fetchers.forget((key,))
        self.leader_replicas.lead(partition, state)
        return ErrorCode.NONE, partition

    def refusal(self, key: TopicPartition, state: LeaderAndIsrPartitionState2) -> ErrorCode:
        """Return the error if a state must not be applied; NONE if it must."""
        if key in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if state.leader_epoch <= self._leader_epoch(key):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if self._broker_id not in state.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def report_leadership(self, led: list[tuple[Partition, int]], others: list[TopicPartition]) -> None:
        """Start fetching, and call the listener with the led partitions: by the results that are still current.

        The listener knows already of the partitions that this broker no longer leads.

        Args:
            led: Partitions that this broker leads by the request, with the leader epochs.
            others: Partitions that it does not lead by the request.
        """
        still_led = [
            partition
            for partition, leader_epoch in led
            if self._partitions.get(partition.topic_partition) is partition
            and (partition.is_leader, partition.leader_epoch) == (True, leader_epoch)
        ]
        hosted = [partition for key in others if (partition := self._partitions.get(key)) is not None]
        self._follow([partition for partition in hosted if not partition.is_leader])
        if self.on_leadership is not None and still_led:
            self.on_leadership(still_led, [])

    def _follow(self, partitions: Sequence[Partition]) -> None:
        """Fetch partitions from their leaders; without a known leader, stop fetching."""
        led = [each for each in partitions if each.leader >= 0]
        self.fetchers.forget([each.topic_partition for each in partitions if each.leader < 0])
        followed = [
            LocalFollowerReplica(each, self._executor, self._high_watermark_raised, self.storage_failed) for each in led
        ]
        self.fetchers.follow([(one, each.leader, each.leader_epoch) for one, each in zip(followed, led, strict=True)])

    def _high_watermark_raised(self, partition: Partition) -> None:
        # differs from Kafka (waiting-at-followers): in Kafka fetches at a follower wait until their timeout.
        self._fetches.notify(partition.topic_partition)


def _when_idle(opened: PartitionLog | None) -> PartitionLog | Pending[PartitionLog | None] | None:
    if opened is None or not opened.is_busy:
        return opened
    return opened.idle().shaped(lambda _: opened)


class _LeadershipChange:
    """A LeaderAndIsr request in progress.

    It opens a limited number of logs at a time, so that other work runs in between, even if all logs are open already.
    """

    def __init__(self, replicas: ReplicaManager, request: LeaderAndIsrRequest) -> None:
        self._replicas = replicas
        self._errors: list[LeaderAndIsrPartitionError] = []
        self._led: list[tuple[Partition, int]] = []
        self._others: list[TopicPartition] = []
        self.pending: Pending[LeaderAndIsrResponse] = Pending()
        self._waiting: deque[tuple[TopicPartition, LeaderAndIsrPartitionState2]] = deque()
        self._opening_count = 0
        self._is_beginning = False
        for topic in request.topic_states:
            for state in topic.partition_states:
                key = TopicPartition(topic.topic_name, state.partition_index)
                refusal = replicas.refusal(key, state)
                if refusal:
                    self._errors.append(LeaderAndIsrPartitionError(key.topic, key.partition, refusal))
                else:
                    replicas.expect(key, state)
                    self._waiting.append((key, state))
        self._go_on()

    def _go_on(self) -> None:
        """Start to open as many logs as may open at the same time; complete when all are open."""
        if self._is_beginning:
            # Called from the loop below by a log that was open already: the loop continues.
            return
        self._is_beginning = True
        begun_count = 0
        while self._waiting and self._opening_count < _LOGS_OPENED_AT_ONCE and begun_count < _LOGS_OPENED_AT_ONCE:
            begun_count += 1
            self._opening_count += 1
            self._begin(*self._waiting.popleft())
        self._is_beginning = False
        if self._waiting and self._opening_count < _LOGS_OPENED_AT_ONCE:
            # These logs were open already; continue after other work of the event loop.
            self._replicas.defer(self._go_on)
        elif not self._waiting and not self._opening_count:
            try:
                self._replicas.report_leadership(self._led, self._others)
            except Exception as error:
                self.pending.fail(error)
            else:
                self.pending.complete(LeaderAndIsrResponse(ErrorCode.NONE, self._errors))

    def _begin(self, key: TopicPartition, state: LeaderAndIsrPartitionState2) -> None:
        try:
            log = self._replicas.open_log(key, state) or completed(None)
        except Exception as error:
            self._fail(key, error)
        else:
            log.then(partial(self._on_log_opened, key, state), partial(self._fail, key))

    def _on_log_opened(
        self, key: TopicPartition, state: LeaderAndIsrPartitionState2, partition_log: PartitionLog | None
    ) -> None:
        try:
            error_code, led = self._replicas.apply_state(key, state, partition_log)
        except Exception as error:
            self._fail(key, error)
            return
        if led is not None:
            self._led.append((led, led.leader_epoch))
        else:
            self._others.append(key)
        self._end(key, error_code)

    def _fail(self, key: TopicPartition, error: BaseException) -> None:
        logger.error("cannot apply the state of %s", key, exc_info=error)
        self._end(key, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _end(self, key: TopicPartition, error_code: ErrorCode) -> None:
        self._errors.append(LeaderAndIsrPartitionError(key.topic, key.partition, error_code))
        self._opening_count -= 1
        self._go_on()


class _Stop:
    """A StopReplica request in progress; deletes a limited number of logs at a time, so that other work can run."""

    def __init__(self, replicas: ReplicaManager, request: StopReplicaRequest) -> None:
        self._replicas = replicas
        self._errors: list[StopReplicaPartitionError] = []
        self.pending: Pending[StopReplicaResponse] = Pending()
        self._waiting = deque(
            (TopicPartition(topic.topic_name, state.partition_index), state)
            for topic in request.topic_states
            for state in topic.partition_states
        )
        self._deleting_count = 0
        self._is_beginning = False
        self._go_on()

    def _go_on(self) -> None:
        """Start as many deletions as may run at the same time; complete when all are done."""
        if self._is_beginning:
            # Called from the loop below by a deletion that was done already: the loop continues.
            return
        self._is_beginning = True
        while self._waiting and self._deleting_count < _LOGS_DELETED_AT_ONCE:
            key, state = self._waiting.popleft()
            self._deleting_count += 1
            try:
                stopped = self._replicas.stop(key, state)
            except Exception as error:
                self._fail(key, error)
            else:
                stopped.then(partial(self._end, key), partial(self._fail, key))
        self._is_beginning = False
        if not self._waiting and not self._deleting_count:
            self.pending.complete(StopReplicaResponse(ErrorCode.NONE, self._errors))

    def _fail(self, key: TopicPartition, error: BaseException) -> None:
        logger.error("cannot stop the replica of %s", key, exc_info=error)
        self._end(key, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _end(self, key: TopicPartition, error_code: ErrorCode) -> None:
        self._errors.append(StopReplicaPartitionError(key.topic, key.partition, error_code))
        self._deleting_count -= 1
        self._go_on()
