"""The group coordinator: handles clients' group requests, and owns the groups of this broker.

It finds the group and applies one event to it (`table.py`). Owned by the event loop.

Invariant: the groups in memory are exactly those of the partitions that this broker owns or is loading.

Source: design page, consumer group membership, offset tracking; semantics, group coordinator.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.coordination.interfaces import Replicas
from barnabas.broker.coordination.ownership import OwnedPartitions
from barnabas.broker.coordination.partitioning import partition_of
from barnabas.broker.groups.events import (
    NO_MEMBER_ID,
    Commit,
    DeleteGroup,
    DeleteOffsets,
    DeletionAnswer,
    Event,
    ExpireOffsets,
    Heartbeat,
    Join,
    JoinAnswer,
    Leave,
    Loaded,
    RemoveTopics,
    Sync,
    SyncAnswer,
    TransactionEnded,
    TxnCommit,
)
from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings, Phase, claimed_bytes
from barnabas.broker.groups.group_log import GroupLog
from barnabas.broker.groups.loading import read_groups
from barnabas.broker.groups.open_transactions import LateMarker, OpenTransactions
from barnabas.broker.groups.pending_responses import Caller
from barnabas.broker.groups.storage import GROUP_VALUE_VERSION_WITH_INSTANCES
from barnabas.broker.groups.table import GroupTable
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.config.versions import kafka_version
from barnabas.core.dice import new_uuid, uuid_text
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import Executor
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import TopicPartition

if TYPE_CHECKING:
    from random import Random

    from barnabas.broker.diagnostics.rebalances import Rebalances

log = logging.getLogger(__name__)

_GROUPS_PER_TURN = 50
# One group may use at most one part in this many of the memory for all groups.
_GROUPS_THAT_FILL = 8
_NO_TOPICS: frozenset[str] = frozenset()
_MS_PER_MINUTE = 60_000


class GroupCoordinator:
    """The groups of one broker.

    Attributes:
        expired_count, deleted_count: Number of committed offsets that expired, or were deleted by request.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        timers: Timers,
        executor: Executor,
        replicas: Replicas,
        partition_count: int,
        dice: "Random",
        most_bytes: int = 1 << 28,
        rebalances: "Rebalances | None" = None,
    ) -> None:
        """Args:
        executor: Reads partitions of `__consumer_offsets`.
        partition_count: Number of partitions that `__consumer_offsets` has, or will have when it is created.
        dice: Random numbers for member ids.
        most_bytes: The memory bound of all groups, without their offsets.
        rebalances: Records the causes of rebalances; None: disabled.
        """
        self._most_bytes = most_bytes
        self._partition_count = partition_count
        self._dice = dice
        self._config = config
        self._clock = clock
        self._timers = timers
        self._settings = GroupSettings(config.group_initial_rebalance_delay_ms, config.group_max_size)
        reader = kafka_version(config.inter_broker_protocol_version)
        self._table = GroupTable(clock, timers, GroupLog(config, replicas, reader), rebalances)
        self._groups = self._table.groups
        self._knows_static_members = reader.group_value_version >= GROUP_VALUE_VERSION_WITH_INSTANCES
        # By group: deleted topics whose offsets are still to be removed.
        self._gone_topics: dict[str, frozenset[str]] = {}
        self._partitions = OwnedPartitions(
            GROUP_OFFSETS_TOPIC,
            replicas,
            executor,
            timers,
            lambda batches, is_stopped: read_groups(batches, self._settings, is_stopped),
            self._take_over,
            self._on_loaded,
        )
        self._expiry: Timer | None = None
        self._is_active = False
        self.expired_count = self.deleted_count = 0

    def start(self) -> None:
        """Start to serve, and to check for expired offsets periodically."""
        self._is_active = True
        self._schedule_expiry()

    def close(self) -> None:
        """Stop serving; waiting requests are answered."""
        self._is_active = False
        if self._expiry is not None:
            self._expiry.cancel()
        self._partitions.close()
        self._table.clear()

    @property
    def groups(self) -> Collection[Group]:
        """The groups in memory; read-only."""
        return self._groups.values()

    @property
    def kept_bytes(self) -> int:
        """The estimated memory of all groups, without their offsets."""
        return self._table.kept_bytes

    @property
    def commit_count(self) -> int:
        """The number of offsets that were committed."""
        return self._table.commit_count

    @property
    def rebalance_count(self) -> int:
        """The number of rebalances that were completed."""
        return self._table.rebalance_count

    @property
    def open_transactions(self) -> OpenTransactions:
        """The groups that wait for producers' markers; read-only."""
        return self._table.transactions

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that a group belongs to; another broker may lead it."""
        return partition_of(group_id, self._partition_count)

    def on_partition_leader(self, partition: int, leader_epoch: int) -> None:
        """Load the groups of a partition of `__consumer_offsets` that this broker leads now."""
        log.debug("leading %s-%d in epoch %d", GROUP_OFFSETS_TOPIC, partition, leader_epoch)
        self._partitions.begin(partition)

    def on_partition_resigned(self, partition: int) -> None:
        """Unload the groups of a partition of `__consumer_offsets` that this broker no longer leads."""
        self._partitions.drop(partition)
        self._table.transactions.drop(partition)
        for group in [group for group in self._groups.values() if group.partition == partition]:
            self._table.unload(group)

    def on_topics_deleted(self, names: Iterable[str]) -> None:
        """Remove the offsets of deleted topics, for a limited number of groups in each turn of the event loop.

        A request for a group removes that group's offsets first.
        """
        gone = frozenset(names)
        begins = not self._gone_topics
        for group_id in self._groups:
            self._gone_topics[group_id] = self._gone_topics.get(group_id, _NO_TOPICS) | gone
        if begins:
            self._remove_some_topics()

    def _remove_some_topics(self) -> None:
        for group_id in list(islice(self._gone_topics, _GROUPS_PER_TURN)):
            self._remove_topics_of(group_id)
        if self._gone_topics and self._is_active:
            self._timers.call_later(0, self._remove_some_topics)

    def _remove_topics_of(self, group_id: str) -> None:
        """Remove a group's offsets of deleted topics, if they are not removed yet."""
        names = self._gone_topics.pop(group_id, None)
        group = self._groups.get(group_id)
        if names and group is not None:
            self._table.happen(group, RemoveTopics(names))

    def new_member_id(self, name: str) -> str:
        """Return an id for a member without one.

        Args:
            name: The prefix of the id: the client id, or the instance id of a static member.
        """
        return f"{name}-{uuid_text(new_uuid(self._dice))}"

    def join(self, group_id: str, event: Join) -> Pending[JoinAnswer]:
        """Handle JoinGroup; for a caller without member id the event must contain a `new_member_id`."""
        if self._is_too_new(event.group_instance_id):
            return completed(JoinAnswer(ErrorCode.UNSUPPORTED_VERSION, NO_MEMBER_ID))
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.NONE and not (
            self._config.group_min_session_timeout_ms
            <= event.session_timeout_ms
            <= self._config.group_max_session_timeout_ms
        ):
            error_code = ErrorCode.INVALID_SESSION_TIMEOUT
        group = self._groups.get(group_id)
        if error_code is ErrorCode.NONE:
            error_code = self._fullness(group, event)
        if error_code is ErrorCode.NONE and group is None:
            if event.member_id == NO_MEMBER_ID:
                group = self._create(group_id)
            else:
                error_code = ErrorCode.UNKNOWN_MEMBER_ID
        if error_code is not ErrorCode.NONE or group is None:
            return completed(JoinAnswer(error_code, event.member_id))
        pending: Pending[JoinAnswer] = Pending()
        self._table.happen(group, event, Caller(join=pending))
        return pending

    def _fullness(self, group: Group | None, event: Join) -> ErrorCode:
        """Return the error if a member's data exceeds the memory bounds; data that does not grow always fits."""
        # differs from Kafka (group-bytes): Kafka has no bound but the heap.
        more_bytes = claimed_bytes(event.group_instance_id, event.protocols)
        group_bytes = 0
        if group is not None:
            group_bytes = group.kept_bytes
            member = group.static_member(event.group_instance_id) or group.members.get(event.member_id)
            if member is not None:
                more_bytes -= claimed_bytes(member.group_instance_id, member.protocols)
                if more_bytes <= 0:
                    return ErrorCode.NONE
        if group_bytes + more_bytes > self._most_bytes // _GROUPS_THAT_FILL:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if self._table.kept_bytes + more_bytes > self._most_bytes:
            # Clients of every version retry after this error.
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE

    @property
    def _is_full(self) -> bool:
        """Return whether a new group would exceed the memory bound."""
        return self._table.kept_bytes > self._most_bytes

    def sync(self, group_id: str, event: Sync) -> Pending[SyncAnswer]:
        """Handle SyncGroup."""
        if self._is_too_new(event.group_instance_id):
            return completed(SyncAnswer(ErrorCode.UNSUPPORTED_VERSION))
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The member rejoins, and retries JoinGroup until the partition is loaded.
            error_code = ErrorCode.REBALANCE_IN_PROGRESS
        group = self._groups.get(group_id)
        if error_code is ErrorCode.NONE and group is None:
            error_code = ErrorCode.UNKNOWN_MEMBER_ID
        if error_code is not ErrorCode.NONE or group is None:
            return completed(SyncAnswer(error_code))
        pending: Pending[SyncAnswer] = Pending()
        self._table.happen(group, event, Caller(sync=pending))
        return pending

    def heartbeat(self, group_id: str, event: Heartbeat) -> ErrorCode:
        """Handle Heartbeat."""
        if self._is_too_new(event.group_instance_id):
            return ErrorCode.UNSUPPORTED_VERSION
        error_code = self._refusal(group_id)
        if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The heartbeat may be ignored: after the load, each member has a full session timeout.
            return ErrorCode.NONE
        return self._answered(group_id, error_code, event, ErrorCode.UNKNOWN_MEMBER_ID)

    def refusal(self, group_id: str) -> ErrorCode:
        """Return the reason not to handle a group here: the error of a whole LeaveGroup request."""
        return self._refusal(group_id)

    def leave(self, group_id: str, event: Leave) -> ErrorCode:
        """Handle one member of LeaveGroup."""
        return self._answered(group_id, self._refusal(group_id), event, ErrorCode.UNKNOWN_MEMBER_ID)

    def commit(self, group_id: str, event: Commit) -> Pending[ErrorCode]:
        """Handle OffsetCommit; the error code applies to every offset of the event."""
        if self._is_too_new(event.group_instance_id):
            return completed(ErrorCode.UNSUPPORTED_VERSION)
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        if error_code is not ErrorCode.NONE:
            return completed(error_code)
        group = self._groups.get(group_id)
        if group is None:
            if event.generation >= 0:
                return completed(ErrorCode.ILLEGAL_GENERATION)
            if self._is_full:
                return completed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            group = self._create(group_id)
        pending: Pending[ErrorCode] = Pending()
        self._table.happen(group, event, Caller(plain=pending))
        return pending

    def txn_commit(self, group_id: str, event: TxnCommit) -> Pending[ErrorCode]:
        """Handle TxnOffsetCommit; the error code applies to every offset of the event."""
        error_code = self._refusal(group_id)
        if error_code is not ErrorCode.NONE:
            return completed(error_code)
        group = self._groups.get(group_id)
        if group is None:
            if self._is_full:
                return completed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            group = self._create(group_id)
        self._table.transactions.add(group.partition, event.producer_id, group_id)
        pending: Pending[ErrorCode] = Pending()
        self._table.happen(group, event, Caller(plain=pending))
        if event.producer_id not in group.pending_transactions:
            # Refused, or failed at once: no offsets are pending, so markers do not concern this group.
            self._table.transactions.discard(group.partition, event.producer_id, group_id)
        return pending

    def transaction_ended(self, producer_id: int, partition: int, is_committed: bool) -> None:
        """Apply a transaction marker that was appended to a partition of `__consumer_offsets`.

        In every group of that partition, the transaction's offsets become valid, or are discarded after an abort.
        """
        if self._partitions.loads(partition):
            # The load may end before the marker: apply it after the load.
            self._table.transactions.keep(partition, LateMarker(producer_id, is_committed))
            return
        event = TransactionEnded(producer_id, is_committed)
        for group_id in self._table.transactions.end(partition, producer_id):
            group = self._groups.get(group_id)
            if group is not None:
                self._table.happen(group, event)

    def delete(self, group_id: str) -> ErrorCode:
        """Handle one group of DeleteGroups."""
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        return self._answered(group_id, error_code, DeleteGroup(), ErrorCode.GROUP_ID_NOT_FOUND)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> DeletionAnswer:
        """Handle OffsetDelete."""
        error_code = self._refusal(group_id)
        group = self._groups.get(group_id)
        if error_code is ErrorCode.NONE and group is None:
            error_code = ErrorCode.GROUP_ID_NOT_FOUND
        if error_code is not ErrorCode.NONE or group is None:
            return DeletionAnswer(error_code)
        pending: Pending[DeletionAnswer] = Pending()
        count = len(group.offsets)
        self._table.happen(group, DeleteOffsets(tuple(partitions)), Caller(deletion=pending))
        self.deleted_count += count - len(group.offsets)
        return pending.value

    def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None
    ) -> tuple[ErrorCode, Mapping[TopicPartition, CommittedOffset]]:
        """Handle OffsetFetch.

        Args:
            partitions: The requested partitions; None: all for which the group has committed offsets.

        Returns:
            The group's error, and the committed offsets.
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
        """Return the partitions with offsets of transactions that have not ended."""
        group = self._groups.get(group_id)
        # differs from Kafka (require-stable): an offset committed without a transaction does not make its partition
        # unstable. Until it is stored, the previous offset is returned.
        return frozenset() if group is None else frozenset().union(*group.pending_transactions.values())

    def describe(self, group_id: str) -> tuple[ErrorCode, Group | None]:
        """Handle DescribeGroups; return the group, which is read-only, or None if it does not exist."""
        error_code = self._refusal(group_id, is_empty_id_valid=True)
        return error_code, None if error_code is not ErrorCode.NONE else self._groups.get(group_id)

    def list_groups(self, phase_names: Iterable[str]) -> tuple[ErrorCode, list[Group]]:
        """Handle ListGroups: return the groups in these phases, or in all; some are missing while loading."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._partitions.is_loading else ErrorCode.NONE
        names = frozenset(phase_names)
        return error_code, [group for group in self._groups.values() if not names or group.phase.value in names]

    def _is_too_new(self, group_instance_id: str | None) -> bool:
        """Return whether a member is static, but the oldest broker of the cluster cannot store static members.

        That is the case if inter.broker.protocol.version is below 2.3.
        """
        return group_instance_id is not None and not self._knows_static_members

    def _refusal(self, group_id: str, is_empty_id_valid: bool = False) -> ErrorCode:
        """Run the checks that all group APIs share, and return the error."""
        if self._gone_topics:
            self._remove_topics_of(group_id)
        if not group_id and not is_empty_id_valid:
            return ErrorCode.INVALID_GROUP_ID
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        group = self._groups.get(group_id)
        # A known group stores its partition, which saves a hash of the name.
        partition = self.partition_for(group_id) if group is None else group.partition
        if self._partitions.owns(partition):
            return ErrorCode.NONE
        if self._partitions.loads(partition):
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def _create(self, group_id: str) -> Group:
        group = Group(group_id, self._settings, partition=self.partition_for(group_id))
        group.enter(Phase.EMPTY, self._clock.now_ms())
        self._table.add(group)
        return group

    def _take_over(self, group: Group, partition: int) -> None:
        group.partition = partition
        self._table.add(group)
        for producer_id in group.pending_transactions:
            self._table.transactions.add(partition, producer_id, group.group_id)
        self._table.happen(group, Loaded())

    def _on_loaded(self, partition: int) -> None:
        for producer_id, is_committed in self._table.transactions.take_late(partition):
            self.transaction_ended(producer_id, partition, is_committed)

    def _answered(self, group_id: str, error_code: ErrorCode, event: Event, absence: ErrorCode) -> ErrorCode:
        """Return the immediate answer to an event; `absence` if the group does not exist."""
        if error_code is not ErrorCode.NONE:
            return error_code
        group = self._groups.get(group_id)
        if group is None:
            return absence
        pending: Pending[ErrorCode] = Pending()
        self._table.happen(group, event, Caller(plain=pending))
        return pending.value

    def _schedule_expiry(self) -> None:
        interval_ms = self._config.offsets_retention_check_interval_ms
        self._expiry = self._timers.call_later(interval_ms, self._expire)

    def _expire(self) -> None:
        self._schedule_expiry()
        event = ExpireOffsets(self._config.offsets_retention_minutes * _MS_PER_MINUTE)
        self._expire_some(event, iter(list(self._groups.values())))

    def _expire_some(self, event: ExpireOffsets, groups: Iterator[Group]) -> None:
        """Check a limited number of groups in this turn of the event loop, and the others in later turns."""
        some = list(islice(groups, _GROUPS_PER_TURN))
        for group in some:
            if group.phase is not Phase.DEAD:
                count = len(group.offsets)
                self._table.happen(group, event)
                self.expired_count += count - len(group.offsets)
        if some and self._is_active:
            self._timers.call_later(0, self._expire_some, event, groups)
