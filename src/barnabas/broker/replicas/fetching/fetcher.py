"""Copies partitions from one leader: one request at a time, each built from the result of the last one.

    go_on ─► truncations without epochs ─► OffsetForLeaderEpoch ─► ListOffsets ─► Fetch ─► appends side by side ─► go_on

The fetcher is not a task: the end of each step calls the next one. One request is in flight at a time. The leader waits
for records up to `replica.fetch.wait.max.ms`, or until the delay of a partition ends. If a partition is added during
this wait, the fetch is cancelled and sent again.

Invariants:
- A response is applied to a partition only if the partition is still followed, with the leader epoch and the offset of
  the request. This is checked in the turn of the event loop that applies it.
- Records stay in the receive buffer, so the next request is sent only after all records of a response are appended.
- Only one operation at a time uses a partition's log (`busy`, shared by all fetchers): a partition that was added again
  waits for earlier operations.
- A partition that fails does not affect the others.
- While the follower's quota is exhausted, fetches exclude throttled partitions, unless their lag is known to be 0. The
  excluded partitions are in `_throttled`.

Source: facts of replication, Follower; Kafka 2.7.2, AbstractFetcherThread, ReplicaFetcherThread.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol, TypeVar

from barnabas.broker.interbroker.channels import FETCHER_LANE, AddressOf
from barnabas.broker.interbroker.connection import MAX_ANSWER_BYTES
from barnabas.broker.interbroker.versions import NOT_USED, version_of
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.fetching.fetch_session import Asked, FetchRequestData, FetchSession
from barnabas.broker.replicas.fetching.fetch_state import (
    FetchState,
    Phase,
    Progress,
    Reaction,
    back_off_ms,
    reaction,
    truncation,
    truncation_without_epochs,
)
from barnabas.broker.replicas.fetching.follower_replica import FollowerReplica
from barnabas.broker.replicas.fetching.leader_requests import (
    EARLIEST,
    LATEST,
    epochs_answers,
    epochs_request,
    fetch_answers,
    fetch_request,
    offset_of,
    offsets_answers,
    offsets_request,
)
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, StorageError
from barnabas.core.pending import Pending
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchResponse, PartitionData
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsResponse
from barnabas.wire.protocol.messages.offset_for_leader_epoch import EpochEndOffset, OffsetForLeaderEpochResponse
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.errors import CorruptRecordsError

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R", bound=Message)

# The most partitions that one turn of the event loop processes.
_PARTITIONS_PER_TURN: Final = 64
# The most partitions in an OffsetForLeaderEpoch request, which is built in one turn of the event loop.
_MOST_ASKED: Final = 1_000
# The next fetch waits this long for truncations, to include their partitions; then it is sent without the others.
_PATIENCE_MS: Final = 50
_GATHER_MS: Final = 10
_BETWEEN_INTERRUPTS_MS: Final = 100
# The shortest throttle time, so that small responses do not cause a check each.
_LEAST_THROTTLE_MS: Final = 20
_SESSION_ERRORS: Final = frozenset((ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH))
# Errors of a leader that learns of its leadership a moment later than this broker.
_USUAL_ERRORS: Final = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER.name,
        ErrorCode.UNKNOWN_LEADER_EPOCH.name,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name,
    )
)
_NOTHING: Final = memoryview(b"")


class LeaderChannels(Protocol):
    """The channels to all brokers, as a fetcher uses them: see `BrokerChannels`."""

    @property
    def address_of(self) -> AddressOf: ...

    def send(
        self,
        broker_id: int,
        request: Message,
        version: int,
        answer: type[R],
        lane: str,
        timeout_ms: int,
        max_answer_bytes: int,
    ) -> Pending[R]: ...

    def drop(self, broker_id: int, lane: str) -> None: ...


class Surroundings(Protocol):
    """The environment that all fetchers share.

    Attributes:
        busy: Partitions with an operation on their log in progress.
        quota: The quota of throttled partitions.
    """

    broker_id: int
    config: BrokerConfig
    timers: Timers
    clock: Clock
    busy: set[TopicPartition]
    quota: ReplicationQuota

    @property
    def channels(self) -> LeaderChannels: ...

    def is_free(self, key: TopicPartition) -> None:
        """Note that the log of a partition is no longer busy; another fetcher may have the partition by now."""
        ...

    def has_failed(self, key: TopicPartition) -> None:
        """Stop fetching a partition until it is added again."""
        ...

    def is_gone(self, key: TopicPartition) -> None:
        """Remove a partition that is no longer followed."""
        ...


class Fetcher:
    """Copies partitions from one leader. Owned by the event loop.

    Attributes:
        leader, number: The leader's broker id and the number of this fetcher.
        state: The state of its partitions.
        request_count, byte_count: Number of sent fetches, and bytes of records received.
    """

    __slots__ = (
        "_address",
        "_appending_count",
        "_epochs_version",
        "_failure_count",
        "_fetch_version",
        "_followed",
        "_hurry_timer",
        "_interrupted_ms",
        "_is_busy",
        "_is_closed",
        "_is_handed_out",
        "_is_interrupted",
        "_is_polling",
        "_last_failure",
        "_patient_until_ms",
        "_resume_ms",
        "_session",
        "_surroundings",
        "_throttled",
        "_throttled_until_ms",
        "_timer",
        "_truncating_count",
        "_was_answered",
        "_was_empty",
        "byte_count",
        "lane",
        "leader",
        "number",
        "request_count",
        "state",
    )

    def __init__(self, surroundings: Surroundings, leader: int, number: int) -> None:
        spoken = surroundings.config.inter_broker_protocol_version
        self._surroundings = surroundings
        self.leader = leader
        self.number = number
        self.lane = f"{FETCHER_LANE}{number}"
        self.state = FetchState()
        self.request_count = self.byte_count = 0
        self._fetch_version = version_of(ApiKey.FETCH, spoken)
        self._epochs_version = version_of(ApiKey.OFFSET_FOR_LEADER_EPOCH, spoken)
        self._session = FetchSession(self._fetch_version)
        self._followed: dict[TopicPartition, FollowerReplica] = {}
        # Busy: a request is in flight, or its response is being processed.
        self._is_busy = self._is_closed = False
        # All partitions of the response were passed to their logs; `_appending_count` logs have not finished yet.
        self._is_handed_out = True
        self._appending_count = 0
        self._truncating_count = 0
        self._patient_until_ms = 0
        # Consecutive requests that failed as a whole.
        self._failure_count = 0
        self._last_failure: str | None = None
        self._resume_ms = 0
        self._timer: Timer | None = None
        # A fetch is in flight and the previous one returned no records: the leader waits for records.
        self._is_polling = self._is_interrupted = False
        self._interrupted_ms = -_BETWEEN_INTERRUPTS_MS
        self._hurry_timer: Timer | None = None
        self._was_empty = self._was_answered = False
        self._address: tuple[str, int] | None = None
        # The end of the quota's throttling (None: no throttling), and the throttled partitions.
        self._throttled_until_ms: int | None = None
        self._throttled: dict[TopicPartition, None] = {}

    def __len__(self) -> int:
        return len(self._followed)

    def leader_epoch_of(self, key: TopicPartition) -> int:
        """Return the leader epoch with which a partition was added."""
        return self.state.partitions[key].leader_epoch

    def add(self, followed: FollowerReplica, leader_epoch: int, offset: int) -> None:
        """Add or restart a partition; call `go_on` when all are added.

        Args:
            offset: The follower's high watermark: up to it the log is equal to the leader's.
        """
        key = followed.topic_partition
        self.state.add(key, leader_epoch, offset)
        self._followed[key] = followed

    def remove(self, key: TopicPartition) -> FollowerReplica:
        """Stop fetching a partition, and return it."""
        self.state.remove(key)
        return self._followed.pop(key)

    def close(self) -> None:
        """Send no more requests; writes to logs continue."""
        self._is_closed = True
        self._cancel_timer()
        if self._hurry_timer is not None:
            self._hurry_timer.cancel()
        self._surroundings.channels.drop(self.leader, self.lane)

    def go_on(self) -> None:
        """Begin the next step, unless one is in progress."""
        if self._is_busy or self._is_closed:
            return
        self._cancel_timer()
        # Truncations may end at once, and requests may fail at once: both call this method again.
        self._is_busy = True
        if not self._do_next(self._surroundings.clock.monotonic_ms()):
            self._is_busy = False

    def hurry(self) -> None:
        """Continue without delay, because partitions were added or became free; even after a failed connection."""
        self._resume_ms = 0
        self.go_on()
        if self._is_polling and self._hurry_timer is None:
            # More partitions may be added in a moment.
            now_ms = self._surroundings.clock.monotonic_ms()
            delay_ms = max(_GATHER_MS, self._interrupted_ms + _BETWEEN_INTERRUPTS_MS - now_ms)
            self._hurry_timer = self._surroundings.timers.call_later(delay_ms, self._interrupt)

    def _interrupt(self) -> None:
        """Cancel a fetch that waits for records, so that the next one includes added partitions."""
        # differs from Kafka (new-partitions-wait): Kafka adds them only after the leader answers, up to 0.5 s later.
        self._hurry_timer = None
        if self._is_polling and self.state.changed:
            self._interrupted_ms = self._surroundings.clock.monotonic_ms()
            self._is_interrupted = True
            self._surroundings.channels.drop(self.leader, self.lane)

    def check_address(self) -> None:
        """Cancel a request to a leader whose address has changed."""
        address = self._surroundings.channels.address_of(self.leader)
        if self._is_busy and address not in (None, self._address):
            self._surroundings.channels.drop(self.leader, self.lane)

    def _do_next(self, now_ms: int) -> bool:
        """Begin the next request; return whether there is one."""
        state = self.state
        if now_ms < self._resume_ms:
            self._wait_until(self._resume_ms, now_ms)
            return False
        state.wake(now_ms)
        asking = self._begin_truncations() if state.has_unready else None
        if asking:
            self._ask_epochs(asking)
            return True
        if self._truncating_count and now_ms < self._patient_until_ms:
            self._wait_until(self._patient_until_ms, now_ms)
            return False
        if state.has_unready and self._seek():
            return True
        if self._throttled_until_ms is not None or self._surroundings.quota.is_any:
            self._look_at_quota(now_ms)
        request_data = self._session.ask(self._wanted, state.partitions, state.changed)
        state.changed.clear()
        if request_data is not None:
            state.changed.update(dict.fromkeys(request_data.later))
            self._fetch(request_data, now_ms)
            return True
        wake_ms = self._next_wake_ms
        if wake_ms is not None:
            self._wait_until(wake_ms, now_ms)
        return False

    def _look_at_quota(self, now_ms: int) -> None:
        """Check again which partitions the quota throttles."""
        state, quota = self.state, self._surroundings.quota
        was_throttled = self._throttled_until_ms is not None
        wait_ms = quota.wait_ms(now_ms) if quota.is_any else 0
        self._throttled_until_ms = now_ms + max(wait_ms, _LEAST_THROTTLE_MS) if wait_ms else None
        state.changed.update(self._throttled)
        self._throttled.clear()
        if wait_ms and not was_throttled:
            state.changed.update((key, None) for key in state.partitions if quota.is_throttled(key))

    @property
    def _next_wake_ms(self) -> int | None:
        """Return when the next delay ends; None: nothing is delayed."""
        wake_ms = self.state.next_wake_ms
        if self._throttled_until_ms is None or not self._throttled:
            return wake_ms
        return self._throttled_until_ms if wake_ms is None else min(wake_ms, self._throttled_until_ms)

    # --- truncation

    def _begin_truncations(self) -> list[Progress]:
        """Truncate partitions without epochs; return those whose epochs to request from the leader."""
        asking = []
        for progress in self._free(Phase.TRUNCATING):
            followed = self._current(progress)
            if followed is None:
                continue
            if self._epochs_version != NOT_USED and followed.latest_epoch != NO_EPOCH:
                asking.append(progress)
                if len(asking) == _MOST_ASKED:
                    # The other partitions follow in later requests.
                    break
            else:
                self._truncate(progress, followed, progress.offset, is_done=True)
        return asking

    def _ask_epochs(self, asking: list[Progress]) -> None:
        request = epochs_request(self._surroundings.broker_id, [(each, self._asked_epoch(each)) for each in asking])

        def take(response: OffsetForLeaderEpochResponse) -> None:
            self._take_round(asking, epochs_answers(response), self._take_epoch)

        self._send(request, self._epochs_version, OffsetForLeaderEpochResponse).then(take, self._lost)

    def _asked_epoch(self, progress: Progress) -> int:
        latest_epoch = self._followed[progress.key].latest_epoch
        return latest_epoch if progress.newest_end_offset is None else latest_epoch - 1

    def _take_epoch(self, progress: Progress, followed: FollowerReplica, answer: EpochEndOffset) -> None:
        least_offset, log_end_offset = progress.offset, followed.log_end_offset
        newest_end_offset, progress.newest_end_offset = progress.newest_end_offset, None
        if newest_end_offset is not None:
            _, newest_start_offset = followed.end_offset_for_epoch(followed.latest_epoch - 1)
            found = truncation_without_epochs(
                newest_end_offset, answer.end_offset, least_offset, log_end_offset, newest_start_offset
            )
        elif (
            self._epochs_version or answer.end_offset < 0 or not followed.latest_epoch or least_offset >= log_end_offset
        ):
            found = truncation(
                answer.leader_epoch, answer.end_offset, least_offset, log_end_offset, followed.end_offset_for_epoch
            )
        else:
            # differs from Kafka (epoch-before): Kafka assumes that the offset belongs to the requested epoch.
            progress.newest_end_offset = answer.end_offset
            return
        self._truncate(progress, followed, found.offset, found.is_done)

    def _truncate(self, progress: Progress, followed: FollowerReplica, offset: int, is_done: bool) -> None:
        phase = Phase.FETCHING if is_done else Phase.TRUNCATING
        self._change(progress, followed, partial(followed.truncate, offset), phase)

    def _change(
        self, progress: Progress, followed: FollowerReplica, change: Callable[[], Pending[None]], phase: Phase
    ) -> None:
        """Truncate a log; afterwards its partition enters `phase`."""
        if not self._truncating_count:
            self._patient_until_ms = self._surroundings.clock.monotonic_ms() + _PATIENCE_MS
        self._truncating_count += 1
        self._surroundings.busy.add(progress.key)
        try:
            pending = change()
        except Exception as error:
            self._truncation_failed(progress, error)
        else:
            pending.then(
                partial(self._truncated, progress, followed, phase), partial(self._truncation_failed, progress)
            )

    def _truncated(self, progress: Progress, followed: FollowerReplica, phase: Phase, _: None) -> None:
        if self.state.is_current(progress):
            offset = followed.log_end_offset if phase is Phase.FETCHING else progress.offset
            self.state.enter(progress, phase, offset)
        self._truncation_ended(progress)

    def _truncation_failed(self, progress: Progress, error: BaseException) -> None:
        self._change_failed(progress, error)
        self._truncation_ended(progress)

    def _truncation_ended(self, progress: Progress) -> None:
        self._truncating_count -= 1
        self._is_free(progress)
        self.go_on()

    def _is_free(self, progress: Progress) -> bool:
        """Note that the log of a partition is no longer busy; return whether `progress` is still current."""
        self._surroundings.busy.discard(progress.key)
        is_current = self.state.is_current(progress)
        if not is_current:
            self._surroundings.is_free(progress.key)
        return is_current

    # --- fetch offsets out of the leader's range

    def _seek(self) -> bool:
        """Request the leader's start or end offsets; return whether a partition needs them."""
        for phase, timestamp in ((Phase.SEEKING_END, LATEST), (Phase.SEEKING_START, EARLIEST)):
            seeking = self._free(phase)
            if seeking:
                self._ask_offsets(seeking, timestamp)
                return True
        return False

    def _ask_offsets(self, seeking: list[Progress], timestamp: int) -> None:
        surroundings = self._surroundings
        version = version_of(ApiKey.LIST_OFFSETS, surroundings.config.inter_broker_protocol_version)
        request = offsets_request(surroundings.broker_id, seeking, timestamp)
        take = self._take_end if timestamp == LATEST else self._take_start

        def take_all(response: ListOffsetsResponse) -> None:
            self._take_round(seeking, offsets_answers(response), partial(self._take_offset, version, take))

        self._send(request, version, ListOffsetsResponse).then(take_all, self._lost)

    def _take_offset(
        self,
        version: int,
        take: Callable[[Progress, FollowerReplica, int], None],
        progress: Progress,
        followed: FollowerReplica,
        answer: ListOffsetsPartitionResponse,
    ) -> None:
        offset = offset_of(answer, version)
        if offset < 0:
            self._delay(progress, f"the leader returned offset {offset}")
        else:
            take(progress, followed, offset)

    def _take_end(self, progress: Progress, followed: FollowerReplica, leader_end_offset: int) -> None:
        if leader_end_offset < followed.log_end_offset:
            log.warning(
                "truncating %s from offset %d to %d, the end of leader %d's log: an unclean leader was elected",
                progress.key,
                followed.log_end_offset,
                leader_end_offset,
                self.leader,
            )
            self._truncate(progress, followed, leader_end_offset, is_done=True)
        else:
            self.state.enter(progress, Phase.SEEKING_START, progress.offset)

    def _take_start(self, progress: Progress, followed: FollowerReplica, leader_start_offset: int) -> None:
        if leader_start_offset > followed.log_end_offset:
            log.info("truncating %s fully: it restarts at %d, its leader's start", progress.key, leader_start_offset)
            self._change(
                progress, followed, partial(followed.truncate_fully_and_start_at, leader_start_offset), Phase.FETCHING
            )
        else:
            # The leader has the offset now.
            self._delay(progress, "the leader lacked the fetch offset before, and now has it")

    # --- fetches

    def _wanted(self, key: TopicPartition) -> Asked | None:
        """Return the position from which to fetch a partition now; None: do not fetch it."""
        # hot path: benchmarks/load (every requested partition)
        progress = self.state.partitions.get(key)
        if progress is None or not progress.is_fetchable or key in self._surroundings.busy:
            return None
        if self._throttled_until_ms is not None and progress.lag != 0 and self._surroundings.quota.is_throttled(key):
            # Partitions without lag are not throttled.
            self._throttled[key] = None
            return None
        return Asked(progress, progress.offset, self._followed[key].log_start_offset)

    def _fetch(self, request_data: FetchRequestData, now_ms: int) -> None:
        config = self._surroundings.config
        request = fetch_request(
            self._surroundings.broker_id,
            request_data,
            0 if request_data.later else self._wait_ms(now_ms),
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            config.replica_fetch_max_bytes,
        )
        # The first batch of a response may exceed the limits of the fetch, but not the largest produce request.
        largest_bytes = config.socket_request_max_bytes
        if largest_bytes < MAX_ANSWER_BYTES:
            largest_bytes = MAX_ANSWER_BYTES
        most_bytes = config.replica_fetch_response_max_bytes + largest_bytes
        self.request_count += 1
        self._is_polling = self._was_empty and self._was_answered and not request_data.later
        self._send(request, self._fetch_version, FetchResponse, most_bytes).then(self._take_fetch, self._fetch_lost)

    def _wait_ms(self, now_ms: int) -> int:
        """Return how long the leader may wait for records: until another request is due.

        The first fetch does not wait: its response brings the high watermarks, and shows if there are records.
        """
        if not self._was_answered:
            return 0
        longest_ms = self._surroundings.config.replica_fetch_wait_max_ms
        if self._truncating_count:
            longest_ms = min(longest_ms, _PATIENCE_MS)
        wake_ms = self._next_wake_ms
        return longest_ms if wake_ms is None else max(0, min(longest_ms, wake_ms - now_ms))

    def _take_fetch(self, response: FetchResponse) -> None:
        self._is_polling = False
        answered = fetch_answers(response)
        why = self._session.has_answer(response.error_code, response.session_id, answered)
        if why is not None and response.error_code in _SESSION_ERRORS and not self._failure_count:
            # The leader dropped the session: begin a new one without a delay.
            self._failure_count = 1
            self._finish()
        elif why is not None:
            self._has_failed(why)
        else:
            self._has_succeeded()
            self._was_answered = True
            self._was_empty = not any(data.records for data in answered.values())
            self._is_handed_out = False
            self._in_time_slices(iter(answered.items()), self._take_partition, self._handed_out)

    def _handed_out(self) -> None:
        self._is_handed_out = True
        self._finish_fetch()

    def _finish_fetch(self) -> None:
        if self._is_handed_out and not self._appending_count:
            self._finish()

    def _take_partition(self, answered: tuple[TopicPartition, PartitionData]) -> None:
        # hot path: benchmarks/load (every partition of every answer)
        key, data = answered
        asked = self._session.asked[key]
        progress = asked.progress
        followed = self._current(progress)
        if followed is None:
            self._is_unused(key)
            return
        if not progress.is_fetchable or progress.offset != asked.offset:
            return
        if data.error_code:
            self._refused(progress, data.error_code)
        elif followed.log_end_offset != asked.offset:
            self._fail(progress, f"its log ends at {followed.log_end_offset}, expected {asked.offset}")
        else:
            self._append(progress, followed, data)

    def _is_unused(self, key: TopicPartition) -> None:
        """Note that a partition's response was not used; if the partition was added again, begin a new session.

        Otherwise its high watermark could be missed: in a session, a leader sends an unchanged one only once.
        """
        if key in self.state.partitions:
            self._session.begin_anew()

    def _append(self, progress: Progress, followed: FollowerReplica, data: PartitionData) -> None:
        records = data.records
        view = records if isinstance(records, memoryview) else _NOTHING
        self.byte_count += len(view)
        quota = self._surroundings.quota
        if quota.is_any and quota.is_throttled(progress.key):
            quota.record(self._surroundings.clock.monotonic_ms(), len(view))
        try:
            pending = followed.append(view, data.high_watermark, data.log_start_offset)
        except Exception as error:
            self._change_failed(progress, error)
            return
        if pending is None:
            self._appended(progress, followed, data.high_watermark, len(view))
            return
        self._surroundings.busy.add(progress.key)
        self._appending_count += 1
        pending.then(
            partial(self._appended_late, progress, followed, data.high_watermark, len(view)),
            partial(self._append_failed, progress),
        )

    def _appended_late(
        self, progress: Progress, followed: FollowerReplica, leader_high_watermark: int, size_bytes: int, _: None
    ) -> None:
        if self.state.is_current(progress):
            self._appended(progress, followed, leader_high_watermark, size_bytes)
        self._append_ended(progress)

    def _append_failed(self, progress: Progress, error: BaseException) -> None:
        self._change_failed(progress, error)
        self._append_ended(progress)

    def _append_ended(self, progress: Progress) -> None:
        self._appending_count -= 1
        if not self._is_free(progress):
            self._is_unused(progress.key)
        self._finish_fetch()

    def _appended(
        self, progress: Progress, followed: FollowerReplica, leader_high_watermark: int, size_bytes: int
    ) -> None:
        end_offset = followed.log_end_offset
        if size_bytes and end_offset == progress.offset:
            # Before Fetch v3 a leader truncates a batch larger than replica.fetch.max.bytes.
            self._delay(progress, f"{size_bytes} bytes of records without a complete batch")
            return
        self.state.has_fetched(progress, end_offset, leader_high_watermark)
        # The next fetch reports the log start offset to the leader.
        if followed.log_start_offset != self._session.asked[progress.key].log_start_offset:
            self.state.changed[progress.key] = None

    # --- errors

    def _refused(self, progress: Progress, error_code: int) -> None:
        what = reaction(error_code)
        if what is Reaction.FAIL:
            self._fail(progress, f"its leader's epoch is higher than {progress.leader_epoch}", logging.INFO)
        elif what is Reaction.SEEK and progress.phase is Phase.FETCHING:
            log.info("%s: leader %d does not have offset %d", progress.key, self.leader, progress.offset)
            self.state.enter(progress, Phase.SEEKING_END, progress.offset)
        else:
            self._delay(progress, ErrorCode(error_code).name)

    def _delay(self, progress: Progress, why: str) -> None:
        surroundings = self._surroundings
        most_ms = surroundings.config.replica_fetch_backoff_ms
        if self.state.delay(progress, why, surroundings.clock.monotonic_ms(), most_ms):
            level = logging.INFO if why in _USUAL_ERRORS else logging.WARNING
            log.log(level, "fetching %s from leader %d is delayed: %s", progress.key, self.leader, why)

    def _change_failed(self, progress: Progress, error: BaseException) -> None:
        """Handle a truncation or append that failed."""
        if not self.state.is_current(progress):
            return
        if isinstance(error, CorruptRecordsError):
            self._delay(progress, str(error))
            return
        if not isinstance(error, BarnabasError):
            log.error("internal error while copying %s", progress.key, exc_info=error)
        # A failed disk is reported by the log.
        self._fail(progress, str(error), logging.WARNING if isinstance(error, StorageError) else logging.ERROR)

    def _fail(self, progress: Progress, why: str, level: int = logging.ERROR) -> None:
        """Stop fetching a partition until it is added again."""
        key = progress.key
        log.log(level, "fetching %s from leader %d has stopped: %s", key, self.leader, why)
        self._surroundings.has_failed(key)

    def _current(self, progress: Progress) -> FollowerReplica | None:
        """Return the partition if it is still followed with the leader and epoch of the request, else None."""
        if not self.state.is_current(progress):
            return None
        followed = self._followed[progress.key]
        if followed.is_following(self.leader, progress.leader_epoch):
            return followed
        self._surroundings.is_gone(progress.key)
        return None

    def _fetch_lost(self, error: BaseException) -> None:
        self._session.begin_anew()
        self._is_polling = self._was_answered = False
        is_interrupted, self._is_interrupted = self._is_interrupted, False
        if is_interrupted:
            self._finish()
        else:
            self._lost(error)

    def _lost(self, error: BaseException) -> None:
        self._has_failed(str(error))

    def _has_failed(self, why: str) -> None:
        """Delay the next request after one failed as a whole."""
        if self._is_closed:
            return
        self._failure_count += 1
        most_ms = self._surroundings.config.replica_fetch_backoff_ms
        self._resume_ms = self._surroundings.clock.monotonic_ms() + back_off_ms(self._failure_count, most_ms)
        if why != self._last_failure:
            self._last_failure = why
            log.warning("fetching from leader %d is delayed: %s", self.leader, why)
        self._finish()

    def _has_succeeded(self) -> None:
        self._failure_count = 0
        self._last_failure = None

    # --- requests and responses

    def _send(
        self, request: Message, version: int, answer: type[R], max_answer_bytes: int = MAX_ANSWER_BYTES
    ) -> Pending[R]:
        surroundings = self._surroundings
        self._address = surroundings.channels.address_of(self.leader)
        timeout_ms = surroundings.config.replica_socket_timeout_ms
        return surroundings.channels.send(
            self.leader, request, version, answer, self.lane, timeout_ms, max_answer_bytes
        )

    def _free(self, phase: Phase) -> list[Progress]:
        """Return the partitions of a phase that can be requested now."""
        busy = self._surroundings.busy
        return [each for each in self.state.unready(phase) if each.key not in busy]

    def _take_round(
        self,
        asking: list[Progress],
        answers: "dict[TopicPartition, EpochEndOffset] | dict[TopicPartition, ListOffsetsPartitionResponse]",
        take: Callable[..., object],
    ) -> None:
        """Process a response to OffsetForLeaderEpoch or ListOffsets."""
        self._has_succeeded()

        def take_one(progress: Progress) -> None:
            followed = self._current(progress)
            if followed is None:
                return
            answer = answers.get(progress.key)
            if answer is None:
                self._delay(progress, "the response lacks this partition")
            elif answer.error_code:
                self._refused(progress, answer.error_code)
            else:
                take(progress, followed, answer)

        self._in_time_slices(iter(asking), take_one, self._finish)

    def _in_time_slices(self, items: Iterator[T], take: Callable[[T], object], then: Callable[[], object]) -> None:
        """Process a limited number of items in this turn of the event loop, and the others in later turns."""
        if self._is_closed:
            return
        for _ in range(_PARTITIONS_PER_TURN):
            try:
                item = next(items)
            except StopIteration:
                then()
                return
            take(item)
        self._surroundings.timers.call_later(0, self._in_time_slices, items, take, then)

    def _finish(self) -> None:
        """End the processing of a response."""
        self._is_busy = False
        self.go_on()

    def _wait_until(self, at_ms: int, now_ms: int) -> None:
        self._timer = self._surroundings.timers.call_later(at_ms - now_ms, self.go_on)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
