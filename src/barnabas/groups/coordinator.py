"""The group coordinator: the shell around the pure group machine.

It finds the group, lets one event happen to it, and carries out the effects: timers, parked answers, records of
`__consumer_offsets`. Belongs to the event loop's thread.

Invariants: the groups in memory are exactly those of the partitions that this broker owns or is taking over; within one
event all bookkeeping is done before anybody outside is called, so an answer that brings the next request on the spot
finds everything in its place.

Source: design page, consumer group membership, offset tracking; semantics, group coordinator.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, assert_never

from barnabas.cluster.image import ClusterView
from barnabas.coordination.interfaces import Replicas
from barnabas.coordination.ownership import OwnedPartitions
from barnabas.coordination.partitioning import partition_of
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.config.versions import kafka_version
from barnabas.core.dice import new_uuid, uuid_text
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import TopicPartition
from barnabas.groups.deadlines import Deadlines
from barnabas.groups.errors import commit_error, sync_error
from barnabas.groups.events import (
    NO_MEMBER_ID,
    AppendTombstones,
    CancelTimer,
    Commit,
    CommitAppended,
    CommitFailed,
    Event,
    ExpireOffsets,
    ForgetGroup,
    GroupStored,
    Heartbeat,
    Join,
    JoinAnswer,
    Leave,
    Loaded,
    RemoveTopics,
    SetTimer,
    StoreGroup,
    StoreOffsets,
    Sync,
    SyncAnswer,
    TimerFired,
    Unloaded,
)
from barnabas.groups.group import CommittedOffset, Group, GroupSettings, Phase
from barnabas.groups.loading import read_groups
from barnabas.groups.replies import NOBODY, Caller, Replies
from barnabas.groups.state import step
from barnabas.groups.storage import group_batch, offsets_batch, tombstone_batches
from barnabas.log.append_result import AppendResult
from barnabas.records.batch import Codec

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)

_GROUPS_PER_TURN = 200
_NO_ACKS = 0
_MS_PER_MINUTE = 60_000


class GroupCoordinator:
    """The groups of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        timers: Timers,
        executor: Executor,
        replicas: Replicas,
        cluster: ClusterView,
        dice: "Random",
    ) -> None:
        """Args:
        executor: Where partitions of `__consumer_offsets` are read.
        dice: For the ids of members.
        """
        self._dice = dice
        self._config = config
        self._clock = clock
        self._timers = timers
        self._replicas = replicas
        self._cluster = cluster
        self._settings = GroupSettings(config.group_initial_rebalance_delay_ms, config.group_max_size)
        self._codec = Codec(config.offsets_topic_compression_codec)
        self._reader = kafka_version(config.inter_broker_protocol_version)
        self._groups: dict[str, Group] = {}
        self._replies = Replies()
        self._deadlines: Deadlines[tuple[str, str]] = Deadlines(clock, timers, self._on_deadline)
        self._partitions = OwnedPartitions(
            GROUP_OFFSETS_TOPIC,
            replicas,
            executor,
            timers,
            lambda batches, is_stopped: read_groups(batches, self._settings, is_stopped),
            self._take_over,
        )
        self._expiry: Timer | None = None
        self._is_active = False

    def start(self) -> None:
        """Begin to serve, and to look for expired offsets from time to time."""
        self._is_active = True
        self._schedule_expiry()

    def close(self) -> None:
        """Serve no longer; whoever waits is sent away."""
        self._is_active = False
        if self._expiry is not None:
            self._expiry.cancel()
        self._partitions.close()
        for group in list(self._groups.values()):
            self._unload(group)
        self._deadlines.clear()

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group belongs to; another broker may lead it."""
        image = self._cluster.image
        partition_count = image.partition_count(GROUP_OFFSETS_TOPIC) or self._config.offsets_topic_num_partitions
        return partition_of(group_id, partition_count)

    def on_partition_leader(self, partition: int, leader_epoch: int) -> None:
        """This broker leads a partition of `__consumer_offsets` now: read its groups."""
        log.debug("leading %s-%d in epoch %d", GROUP_OFFSETS_TOPIC, partition, leader_epoch)
        self._partitions.begin(partition)

    def on_partition_resigned(self, partition: int) -> None:
        """This broker no longer leads a partition of `__consumer_offsets`: give its groups up."""
        self._partitions.drop(partition)
        for group in [group for group in self._groups.values() if group.partition == partition]:
            self._unload(group)

    def on_topics_deleted(self, names: Iterable[str]) -> None:
        """Forget the offsets of topics that are gone."""
        event = RemoveTopics(frozenset(names))
        for group in list(self._groups.values()):
            self._happen(group, event)

    def new_member_id(self, client_id: str) -> str:
        """An id for a member that has none yet; it begins with what the client calls itself, as people see it."""
        return f"{client_id}-{uuid_text(new_uuid(self._dice))}"

    def join(self, group_id: str, event: Join) -> Pending[JoinAnswer]:
        """JoinGroup; a caller without member id needs a `new_member_id` in the event."""
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.NONE and not (
            self._config.group_min_session_timeout_ms
            <= event.session_timeout_ms
            <= self._config.group_max_session_timeout_ms
        ):
            error_code = ErrorCode.INVALID_SESSION_TIMEOUT
        group = self._groups.get(group_id)
        if error_code is ErrorCode.NONE and group is None:
            if event.member_id == NO_MEMBER_ID:
                group = self._create(group_id)
            else:
                error_code = ErrorCode.UNKNOWN_MEMBER_ID
        if error_code is not ErrorCode.NONE or group is None:
            return completed(JoinAnswer(error_code, event.member_id))
        pending: Pending[JoinAnswer] = Pending()
        self._happen(group, event, Caller(join=pending))
        return pending

    def sync(self, group_id: str, event: Sync) -> Pending[SyncAnswer]:
        """SyncGroup."""
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The member rejoins, and waits for the end of the load there.
            error_code = ErrorCode.REBALANCE_IN_PROGRESS
        group = self._groups.get(group_id)
        if error_code is ErrorCode.NONE and group is None:
            error_code = ErrorCode.UNKNOWN_MEMBER_ID
        if error_code is not ErrorCode.NONE or group is None:
            return completed(SyncAnswer(error_code))
        pending: Pending[SyncAnswer] = Pending()
        self._happen(group, event, Caller(sync=pending))
        return pending

    def heartbeat(self, group_id: str, event: Heartbeat) -> ErrorCode:
        """Heartbeat."""
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # Once the group is read its members have a whole session timeout: the heartbeat need not count.
            return ErrorCode.NONE
        return self._answered(group_id, error_code, event)

    def leave(self, group_id: str, event: Leave) -> ErrorCode:
        """One member of LeaveGroup."""
        return self._answered(group_id, self._refusal(group_id), event)

    def commit(self, group_id: str, event: Commit) -> Pending[ErrorCode]:
        """OffsetCommit; the code holds for every offset of the event."""
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        if error_code is not ErrorCode.NONE:
            return completed(error_code)
        group = self._groups.get(group_id)
        if group is None:
            if event.generation >= 0:
                return completed(ErrorCode.ILLEGAL_GENERATION)
            group = self._create(group_id)
        pending: Pending[ErrorCode] = Pending()
        self._happen(group, event, Caller(plain=pending))
        return pending

    def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None
    ) -> tuple[ErrorCode, Mapping[TopicPartition, CommittedOffset]]:
        """OffsetFetch.

        Args:
            partitions: Those that are asked for; None: all that the group has committed.

        Returns:
            The group's error and the offsets that there are.
        """
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        group = self._groups.get(group_id)
        if error_code is not ErrorCode.NONE or group is None:
            return error_code, {}
        if partitions is None:
            return error_code, group.offsets
        offsets = group.offsets
        return error_code, {wanted: offsets[wanted] for wanted in partitions if wanted in offsets}

    def unstable_partitions(self, group_id: str) -> frozenset[TopicPartition]:
        """The partitions whose newest commit is not safe yet."""
        group = self._groups.get(group_id)
        return frozenset() if group is None else frozenset(group.pending_commits)

    def describe(self, group_id: str) -> tuple[ErrorCode, Group | None]:
        """DescribeGroups: the group itself, to be read only; None where there is none."""
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        return error_code, None if error_code is not ErrorCode.NONE else self._groups.get(group_id)

    def list_groups(self, phase_names: Iterable[str]) -> tuple[ErrorCode, list[Group]]:
        """ListGroups: the groups in these phases, in all when there are no names; a part of them while loading."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._partitions.is_loading else ErrorCode.NONE
        names = frozenset(phase_names)
        return error_code, [group for group in self._groups.values() if not names or group.phase.value in names]

    def _refusal(self, group_id: str, is_empty_id_valid: bool = False) -> ErrorCode:
        """The checks that every API of groups begins with."""
        if not group_id and not is_empty_id_valid:
            return ErrorCode.INVALID_GROUP_ID
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not self._cluster.image.partition_count(GROUP_OFFSETS_TOPIC):
            # The number of partitions is not known yet: the group could be taken for one of another partition.
            return ErrorCode.NOT_COORDINATOR
        partition = self.partition_for(group_id)
        if self._partitions.owns(partition):
            return ErrorCode.NONE
        if self._partitions.loads(partition):
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def _create(self, group_id: str) -> Group:
        group = self._groups[group_id] = Group(group_id, self._settings, partition=self.partition_for(group_id))
        group.enter(Phase.EMPTY, self._clock.now_ms())
        return group

    def _take_over(self, group: Group, partition: int) -> None:
        group.partition = partition
        self._groups[group.group_id] = group
        self._happen(group, Loaded())

    def _unload(self, group: Group) -> None:
        self._groups.pop(group.group_id, None)
        self._happen(group, Unloaded())

    def _answered(self, group_id: str, error_code: ErrorCode, event: Event) -> ErrorCode:
        if error_code is not ErrorCode.NONE:
            return error_code
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        pending: Pending[ErrorCode] = Pending()
        self._happen(group, event, Caller(plain=pending))
        return pending.value

    def _on_deadline(self, key: tuple[str, str]) -> None:
        group_id, timer = key
        group = self._groups.get(group_id)
        if group is not None:
            self._happen(group, TimerFired(timer))

    def _schedule_expiry(self) -> None:
        interval_ms = self._config.offsets_retention_check_interval_ms
        self._expiry = self._timers.call_later(interval_ms, self._expire)

    def _expire(self) -> None:
        self._schedule_expiry()
        event = ExpireOffsets(self._config.offsets_retention_minutes * _MS_PER_MINUTE)
        self._expire_some(event, iter(list(self._groups.values())))

    def _expire_some(self, event: ExpireOffsets, groups: Iterator[Group]) -> None:
        """Look at as many groups as one turn of the event loop may."""
        some = list(islice(groups, _GROUPS_PER_TURN))
        for group in some:
            if group.phase is not Phase.DEAD:
                self._happen(group, event)
        if some and self._is_active:
            self._timers.call_later(0, self._expire_some, event, groups)

    def _happen(self, group: Group, event: Event, caller: Caller = NOBODY) -> None:
        """Let one event happen to a group, and do what the group wants done."""
        now_ms = self._clock.now_ms()
        group_id = group.group_id
        appends: list[StoreGroup | StoreOffsets | AppendTombstones] = []
        answers: list[Callable[[], object]] = []
        for effect in step(group, event, now_ms):
            match effect:
                case SetTimer(timer, deadline_ms):
                    self._deadlines.set((group_id, timer), deadline_ms - now_ms)
                case CancelTimer(timer):
                    self._deadlines.cancel((group_id, timer))
                case StoreGroup() | StoreOffsets() | AppendTombstones():
                    appends.append(effect)
                case ForgetGroup():
                    self._groups.pop(group_id, None)
                case _:
                    answer = self._replies.reply(group_id, effect, caller)
                    if answer is not None:
                        answers.append(answer)
        try:
            for append in appends:
                self._append(group, append, caller, now_ms)
        finally:
            # Whoever is answered did not bring the append that failed.
            for answer in answers:
                answer()

    def _append(
        self, group: Group, effect: StoreGroup | StoreOffsets | AppendTombstones, caller: Caller, now_ms: int
    ) -> None:
        codec, reader = self._codec, self._reader
        match effect:
            case StoreOffsets(offsets):
                self._write(
                    group,
                    lambda: [offsets_batch(group.group_id, offsets, now_ms, codec, reader)],
                    partial(self._on_offsets_stored, group, offsets, caller),
                )
            case StoreGroup(generation, assignments):
                self._write(
                    group,
                    lambda: [group_batch(group, assignments, now_ms, codec, reader)],
                    partial(self._on_group_stored, group, generation, assignments),
                )
            case AppendTombstones(partitions, is_group_removed):
                # A tombstone that gets lost is written again the next time the group is looked at after a load.
                self._write(
                    group,
                    lambda: tombstone_batches(group.group_id, partitions, is_group_removed, now_ms, codec),
                    _ignore,
                    _NO_ACKS,
                )
            case _:
                assert_never(effect)

    def _write(
        self,
        group: Group,
        make_batches: Callable[[], list[bytearray]],
        then: Callable[[AppendResult], object],
        required_acks: int | None = None,
    ) -> None:
        """Append batches to the group's partition.

        Args:
            then: Told what became of each; of an error also where none could be made, or the append raised or failed
                later: somebody may wait for it.
        """
        config = self._config
        acks = config.offsets_commit_required_acks if required_acks is None else required_acks
        topic_partition = TopicPartition(GROUP_OFFSETS_TOPIC, group.partition)

        def failed(error: BaseException) -> None:
            log.error("cannot append to %s for group %s", topic_partition, group.group_id, exc_info=error)
            is_disk = isinstance(error, StorageError)
            then(AppendResult(ErrorCode.KAFKA_STORAGE_ERROR if is_disk else ErrorCode.UNKNOWN_SERVER_ERROR))

        try:
            appended = [
                self._replicas.append(topic_partition, batch, acks, config.offsets_commit_timeout_ms)
                for batch in make_batches()
            ]
        except Exception as error:
            failed(error)
            return
        for pending in appended:
            pending.then(then, failed)

    def _on_offsets_stored(
        self, group: Group, offsets: Mapping[TopicPartition, CommittedOffset], caller: Caller, result: AppendResult
    ) -> None:
        if result.error_code == ErrorCode.NONE:
            self._happen(group, CommitAppended(offsets, result.base_offset))
        else:
            self._happen(group, CommitFailed(offsets))
        caller.plain.complete(commit_error(result.error_code))

    def _on_group_stored(
        self, group: Group, generation: int, assignments: Mapping[str, bytes], result: AppendResult
    ) -> None:
        if result.error_code != ErrorCode.NONE:
            log.warning(
                "cannot store generation %d of group %s: %s", generation, group.group_id, result.error_code.name
            )
        self._happen(group, GroupStored(generation, assignments, sync_error(result.error_code)))


def _ignore(result: AppendResult) -> None:
    pass
