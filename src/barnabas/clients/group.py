"""A member of a consumer group: joins, receives partitions, commits offsets, leaves.

    join (JoinGroup) -> the leader divides the partitions (range) -> SyncGroup -> heartbeats
        -> REBALANCE_IN_PROGRESS, or new topics or partitions: commit, join again

Subscription and assignment use the "consumer" protocol (`consumer_protocol.py`). The range assignor divides each
topic's partitions in order among its subscribers, sorted by member id; the first members get one more if the number is
not divisible.

Source: protocol guide, group membership API; KIP-54 for range, KIP-394 for MEMBER_ID_REQUIRED.
"""

import asyncio
from collections.abc import Mapping, Sequence

from barnabas.clients.admin import EARLIEST, LATEST, Admin, retry
from barnabas.clients.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.clients.pool import RETRY_BACKOFF_MS, Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

_ASSIGNOR = "range"
# A join waits until the other members have joined, plus this time.
_JOIN_GRACE_MS = 5_000
# Timeout of the lookup of start offsets: enough for one broker that does not answer and a second attempt at another.
_OFFSETS_TIMEOUT_MS = 60_000

# Error codes after which the member must join again.
_REJOIN = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})
_COORDINATOR_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class GroupMember:
    """One member of one group, subscribed to some topics.

    Attributes:
        assignment: The partitions that this member reads now.
        needs_rejoin: Whether `join` must be called before anything else: the group rebalances, or must rebalance.
    """

    def __init__(
        self,
        pool: Pool,
        group_id: str,
        topics: Sequence[str],
        *,
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 60_000,
        heartbeat_interval_ms: int = 3_000,
        is_read_committed: bool = False,
    ) -> None:
        """Args:
        is_read_committed: Without a committed offset, `latest` is the last stable offset.
        """
        self.assignment: list[TopicPartition] = []
        self.needs_rejoin = True
        self._pool = pool
        self._admin = Admin(pool, _OFFSETS_TIMEOUT_MS)
        self._group_id = group_id
        self._topics = sorted(topics)
        self._joined_topics = self._topics
        # The partition counts of all members' topics, if this member is the leader and divided the partitions.
        self._divided: dict[str, int] = {}
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._is_read_committed = is_read_committed
        self._member_id = ""
        self._generation = -1
        self._heartbeats: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    async def join(self, auto_offset_reset: str | None = "latest") -> dict[TopicPartition, int]:
        """Join, or join again, and wait for an assignment.

        Args:
            auto_offset_reset: Where to begin without a committed offset: `earliest` or `latest`. None: the caller
                decides, and the result lacks such partitions.

        Returns:
            The assigned partitions and the offset at which to continue in each.

        Raises:
            KafkaError: The coordinator returned an error that joining again does not resolve.
        """
        await self._stop_heartbeats()
        # The failure belongs to the membership that ends here.
        self._failure = None
        while True:
            try:
                self.assignment = await self._join_once()
                break
            except KafkaError as error:
                if error.code in _REJOIN and error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    self._forget_membership()
                elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    raise
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        self.needs_rejoin = False
        self._heartbeats = asyncio.get_running_loop().create_task(self._beat())
        return await self._positions(auto_offset_reset)

    async def subscribe(self, topics: Sequence[str]) -> None:
        """Set the topics, and set `needs_rejoin` if they changed or the leader's topics have new partitions.

        Call it regularly: topics and partitions may be created at any time.

        Raises:
            KafkaError: The topics could not be described.
        """
        self._topics = sorted(topics)
        generation, has_changed = self._generation, False
        if self._divided:
            for name, topic in (await self._admin.topics(list(self._divided))).items():
                # A broker that has just started may not know a topic yet.
                if topic.error_code is ErrorCode.NONE and len(topic.partitions) != self._divided.get(name):
                    has_changed = True
        if generation == self._generation and (has_changed or self._topics != self._joined_topics):
            self.needs_rejoin = True

    async def wait_for_rebalance(self) -> None:
        """Wait until the group rebalances (which sets `needs_rejoin`) or a heartbeat fails."""
        if self._heartbeats is not None:
            await asyncio.wait([self._heartbeats])

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the next offsets to read; partitions that are not assigned are skipped.

        Raises:
            KafkaError: REBALANCE_IN_PROGRESS and the like, after the group has changed; UNKNOWN_TOPIC_OR_PARTITION if a
                topic was deleted: the other offsets are committed.
        """
        self.raise_failure()
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for partition in self.assignment:
            if partition in offsets:
                part = OffsetCommitRequestPartition(partition.partition, offsets[partition])
                by_topic.setdefault(partition.topic, []).append(part)
        if not by_topic:
            return
        topics = [OffsetCommitRequestTopic(topic, partitions=parts) for topic, parts in by_topic.items()]
        request = OffsetCommitRequest(self._group_id, self._generation, self._member_id, topics=topics)

        async def attempt() -> None:
            channel = await self._pool.coordinator(self._group_id)
            response = await channel.send(
                request, OffsetCommitResponse, max_version=6, timeout_ms=self._session_timeout_ms
            )
            for topic in response.topics:
                for part in topic.partitions:
                    self._check(part.error_code)

        await retry(attempt, self._rebalance_timeout_ms, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))

    async def leave(self) -> None:
        """Leave the group, so that the others need not wait for the session timeout."""
        await self._stop_heartbeats()
        if not self._member_id:
            return
        request = LeaveGroupRequest(self._group_id, self._member_id)
        self._forget_membership()
        try:
            channel = await self._pool.coordinator(self._group_id)
            await channel.send(request, LeaveGroupResponse, max_version=2)
        except BarnabasError:
            pass  # the coordinator removes the member when its session expires

    def raise_failure(self) -> None:
        """Raise the error that ended the heartbeats, unless it was a rebalance."""
        if self._failure is not None:
            raise self._failure

    async def _join_once(self) -> list[TopicPartition]:
        patience_ms = 2 * (self._rebalance_timeout_ms + _JOIN_GRACE_MS)
        joined = await retry(self._send_join, patience_ms)
        self._generation = joined.generation_id
        assignments: list[SyncGroupRequestAssignment] = []
        self._divided = {}
        if joined.leader == self._member_id:
            assignments = await self._divide(joined.members)
        request = SyncGroupRequest(self._group_id, self._generation, self._member_id, assignments=assignments)

        async def attempt() -> SyncGroupResponse:
            channel = await self._pool.coordinator(self._group_id)
            timeout_ms = self._rebalance_timeout_ms + _JOIN_GRACE_MS
            response = await channel.send(request, SyncGroupResponse, max_version=2, timeout_ms=timeout_ms)
            self._check(response.error_code)
            return response

        return decode_assignment((await retry(attempt, patience_ms)).assignment)

    async def _send_join(self) -> JoinGroupResponse:
        channel = await self._pool.coordinator(self._group_id)
        self._joined_topics = self._topics
        request = JoinGroupRequest(
            self._group_id,
            self._session_timeout_ms,
            self._rebalance_timeout_ms,
            self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(_ASSIGNOR, encode_subscription(self._topics))],
        )
        timeout_ms = self._rebalance_timeout_ms + _JOIN_GRACE_MS
        response = await channel.send(request, JoinGroupResponse, max_version=4, timeout_ms=timeout_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = request.member_id = response.member_id
            response = await channel.send(request, JoinGroupResponse, max_version=4, timeout_ms=timeout_ms)
        self._check(response.error_code)
        self._member_id = response.member_id
        return response

    async def _divide(self, members: Sequence[JoinGroupResponseMember]) -> list[SyncGroupRequestAssignment]:
        subscriptions = {member.member_id: decode_subscription(member.metadata) for member in members}
        topics = {topic for subscribed in subscriptions.values() for topic in subscribed}
        known = await self._admin.topics(sorted(topics))
        self._divided = {name: len(topic.partitions) for name, topic in known.items()}
        divided = assign_range(subscriptions, self._divided)
        return [SyncGroupRequestAssignment(member, encode_assignment(parts)) for member, parts in divided.items()]

    async def _positions(self, auto_offset_reset: str | None) -> dict[TopicPartition, int]:
        if not self.assignment:
            return {}
        positions = await self._admin.committed_offsets(self._group_id, self.assignment)
        missing = [partition for partition in self.assignment if partition not in positions]
        if auto_offset_reset is None:
            return positions
        if auto_offset_reset == "earliest":
            positions |= await self._admin.offsets(missing, EARLIEST)
        else:
            positions |= await self._admin.offsets(missing, LATEST, is_read_committed=self._is_read_committed)
        return positions

    async def _beat(self) -> None:
        """Send heartbeats until the group rebalances or the coordinator returns an error."""
        request = HeartbeatRequest(self._group_id, self._generation, self._member_id)

        async def attempt() -> None:
            channel = await self._pool.coordinator(self._group_id)
            # A coordinator that does not answer within a session timeout counts as failed.
            response = await channel.send(
                request, HeartbeatResponse, max_version=2, timeout_ms=self._session_timeout_ms
            )
            self._check(response.error_code)

        try:
            while True:
                await asyncio.sleep(self._heartbeat_interval_ms / 1000)
                # Another coordinator may need longer than a session to take over; it then restarts sessions.
                await retry(attempt, self._rebalance_timeout_ms)
        except Exception as error:
            # After any error the member must stop: `raise_failure` reports it to the user.
            self.needs_rejoin = True
            if not isinstance(error, KafkaError) or error.code not in _REJOIN:
                self._failure = error

    async def _stop_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
            self._heartbeats = None

    def _forget_membership(self) -> None:
        self._member_id = ""
        self._generation = -1

    def _check(self, error_code: int) -> None:
        if error_code in _COORDINATOR_MOVED:
            self._pool.forget_coordinator(self._group_id)
        if error_code in _REJOIN:
            self.needs_rejoin = True
        if error_code:
            code = ErrorCode(error_code)
            raise KafkaError(code, f"group {self._group_id}: {code.name}")


def assign_range(
    subscriptions: Mapping[str, Sequence[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Divide partitions among members by Kafka's range assignor.

    Args:
        subscriptions: The topics of each member id.
        partition_counts: By topic; a missing topic has no partitions.
    """
    divided: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    for topic, partition_count in sorted(partition_counts.items()):
        members = sorted(member for member, topics in subscriptions.items() if topic in topics)
        if not members:
            continue
        each, rest = divmod(partition_count, len(members))
        start = 0
        for index, member in enumerate(members):
            end = start + each + (1 if index < rest else 0)
            divided[member] += [TopicPartition(topic, partition) for partition in range(start, end)]
            start = end
    return divided
