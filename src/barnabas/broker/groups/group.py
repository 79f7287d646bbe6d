"""A group and its members as plain data, with queries.

Invariants:

- `leader_id` is the id of a member whenever the group has members.
- `protocol_counts[name]` is the number of members that support protocol `name`; `awaiting_join_count` is the number of
  members with a waiting join.
- `generation` only grows.
- `pending_member_ids` (assigned by JoinGroup v4, not used yet) and `members` have no id in common.
- `static_member_ids[instance]` is the id of the one member that has this `group_instance_id`; all others are fenced.

Source: design page, consumer group membership; KIP-62, KIP-394, KIP-211, KIP-345 (static members), KIP-447.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from barnabas.broker.diagnostics.rebalances import Who
from barnabas.broker.groups.subscriptions import subscribed_topics
from barnabas.core.types import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP, TopicPartition

CONSUMER_PROTOCOL_TYPE = "consumer"
NO_PARTITION = -1

# Estimated memory of a group, a member, a protocol of a member, a pending member id, and a subscribed topic, without
# strings and bytes of variable length; a character may take four bytes.
_GROUP_BYTES, _MEMBER_BYTES, _PROTOCOL_BYTES, _PENDING_BYTES, _TOPIC_BYTES = 1_500, 1_000, 200, 1_000, 100
_CHARACTER_BYTES = 4


class Phase(Enum):
    """The state of a group; the values are the names that DescribeGroups and ListGroups return."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupSettings(NamedTuple):
    """The settings of all groups of a broker.

    Attributes:
        initial_rebalance_delay_ms: The time that the first rebalance of an empty group waits for more members.
        max_size: The most members that a group may have.
    """

    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1


@dataclass(slots=True, eq=False)
class CommittedOffset:
    """One committed offset of one partition.

    Attributes:
        expire_timestamp_ms: Its expiry time (OffsetCommit v2-4 with a retention); -1: it expires by the group's rules.
        append_offset: Offset of its record in `__consumer_offsets`; -1 until it is appended.
        replaced: Until it is appended: the pending commit of the same transaction that it replaced, if any.
    """

    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = NO_TIMESTAMP
    expire_timestamp_ms: int = NO_TIMESTAMP
    append_offset: int = NO_OFFSET
    replaced: "CommittedOffset | None" = None


@dataclass(slots=True)
class Member:
    """One member of a group.

    Attributes:
        group_instance_id: The instance id of a static member, which keeps its membership when it rejoins; None for a
            dynamic member.
        protocols: Name and metadata of each supported protocol, the preferred one first.
        is_new: Its first join waits: the client does not know its member id yet, so it cannot send heartbeats.
        deadline_ms: The time at which its session expires.
    """

    member_id: str
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    group_instance_id: str | None = None
    assignment: bytes = b""
    is_new: bool = False
    is_awaiting_join: bool = False
    is_awaiting_sync: bool = False
    deadline_ms: int = 0

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for a protocol; empty if the member does not support it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def vote(self, candidates: set[str]) -> str:
        """Return the member's first protocol that is a candidate."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def who(self) -> Who:
        """The member's identity, for display."""
        return Who(self.member_id, self.client_id, self.client_host, self.group_instance_id)

    @property
    def protocol_names(self) -> set[str]:
        """Return the protocols that the member supports."""
        return {name for name, _ in self.protocols}

    @property
    def kept_bytes(self) -> int:
        """The estimated memory of the member."""
        return _MEMBER_BYTES + len(self.assignment) + claimed_bytes(self.group_instance_id, self.protocols)


def claimed_bytes(group_instance_id: str | None, protocols: Iterable[tuple[str, bytes]]) -> int:
    """Estimate the memory of the data that a member sends."""
    # Twice, because the member id begins with the instance id.
    total = 2 * _CHARACTER_BYTES * len(group_instance_id or "")
    for name, metadata in protocols:
        total += _PROTOCOL_BYTES + 2 * _CHARACTER_BYTES * len(name) + len(metadata)
    return total


@dataclass(slots=True)
class Group:
    """One group: its members, its generation, its committed offsets.

    Attributes:
        state_timestamp_ms: Wall time of the last change of phase; -1 when it was loaded from an old format.
        subscribed_topics: Topics that the members of a consumer group read; None if unknown.
        initial_delay_ms: Length of the current window of the initial rebalance; None outside of one.
        initial_remaining_ms: The time by which the initial rebalance may still be extended.
        has_new_member: A member joined during the current window of the initial rebalance.
        last_joined_id: The member that joined last.
        static_member_ids: Member id by `group_instance_id`.
        pending_commits: Commits whose records are being appended; for each partition in the order of arrival.
        pending_transactions: By producer id: offsets that become valid when the producer's transaction is committed;
            `append_offset` is -1 while their records are being appended.
        partition: The partition of `__consumer_offsets` that stores the group.
        members_bytes: Estimated memory of its members.
        topics_bytes: Estimated memory of `subscribed_topics`.
        counted_bytes: The part of the table's `kept_bytes` that belongs to this group.
    """

    group_id: str
    settings: GroupSettings
    phase: Phase = Phase.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    state_timestamp_ms: int = NO_TIMESTAMP
    members: dict[str, Member] = field(default_factory=dict)
    pending_member_ids: set[str] = field(default_factory=set)
    protocol_counts: dict[str, int] = field(default_factory=dict)
    awaiting_join_count: int = 0
    subscribed_topics: frozenset[str] | None = None
    initial_delay_ms: int | None = None
    initial_remaining_ms: int = 0
    has_new_member: bool = False
    last_joined_id: str | None = None
    offsets: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    pending_commits: dict[TopicPartition, list[CommittedOffset]] = field(default_factory=dict)
    static_member_ids: dict[str, str] = field(default_factory=dict)
    pending_transactions: dict[int, dict[TopicPartition, CommittedOffset]] = field(default_factory=dict)
    partition: int = NO_PARTITION
    members_bytes: int = 0
    topics_bytes: int = 0
    counted_bytes: int = 0

    @property
    def kept_bytes(self) -> int:
        """The estimated memory of the group, without its offsets."""
        words = _CHARACTER_BYTES * len(self.group_id)
        pending = len(self.pending_member_ids) * _PENDING_BYTES
        return _GROUP_BYTES + words + self.members_bytes + self.topics_bytes + pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def has_all_members_joined(self) -> bool:
        """Return whether all members have joined the rebalance, and no assigned member id is unused."""
        return self.awaiting_join_count == len(self.members) and not self.pending_member_ids

    @property
    def has_offsets(self) -> bool:
        """Return whether an offset is committed or is being committed."""
        return bool(self.offsets or self.pending_commits or self.pending_transactions)

    def static_member(self, group_instance_id: str | None) -> Member | None:
        """Return the member with an instance id; None for no instance id, or an unknown one."""
        if group_instance_id is None or group_instance_id not in self.static_member_ids:
            return None
        return self.members[self.static_member_ids[group_instance_id]]

    def is_fenced(self, member_id: str, group_instance_id: str | None) -> bool:
        """Return whether another member has replaced the one with these ids."""
        member = self.static_member(group_instance_id)
        return member is not None and member.member_id != member_id

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether members of this consumer group read a topic; True if unknown."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    def enter(self, phase: Phase, now_ms: int) -> None:
        """Change the phase, and record the time."""
        self.phase = phase
        self.state_timestamp_ms = now_ms

    def supports(self, protocol_type: str, protocol_names: Iterable[str]) -> bool:
        """Return whether a member with these protocols has one in common with all other members."""
        if self.phase is Phase.EMPTY:
            return protocol_type != "" and any(True for _ in protocol_names)
        if protocol_type != self.protocol_type:
            return False
        member_count = len(self.members)
        return any(self.protocol_counts.get(name, 0) == member_count for name in protocol_names)

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first member becomes the leader and sets the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.members_bytes += member.kept_bytes
        if member.group_instance_id is not None:
            self.static_member_ids[member.group_instance_id] = member.member_id
        self._count_protocols(member, 1)
        if member.is_awaiting_join:
            self.awaiting_join_count += 1

    def remove(self, member_id: str) -> None:
        """Remove a member; if it was the leader, another member becomes the leader."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.members_bytes -= member.kept_bytes
        if member.group_instance_id is not None:
            self.static_member_ids.pop(member.group_instance_id, None)
        self._count_protocols(member, -1)
        self.set_awaiting_join(member, False)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """Change the id of a static member; requests with the old id are fenced."""
        if self.leader_id == member.member_id:
            self.leader_id = member_id
        del self.members[member.member_id]
        member.member_id = member_id
        self.members[member_id] = member
        if member.group_instance_id is not None:
            self.static_member_ids[member.group_instance_id] = member_id

    def elect_joined_leader(self) -> bool:
        """If the leader has not joined the rebalance, elect a member that has; return False if no member has."""
        if self.leader_id is not None and not self.members[self.leader_id].is_awaiting_join:
            joined = next((member for member in self.members.values() if member.is_awaiting_join), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def replace_protocols(self, member: Member, protocols: tuple[tuple[str, bytes], ...]) -> None:
        """Set the protocols of a member."""
        self._count_protocols(member, -1)
        self.members_bytes -= member.kept_bytes
        member.protocols = protocols
        self.members_bytes += member.kept_bytes
        self._count_protocols(member, 1)

    def assign(self, member: Member, assignment: bytes) -> None:
        """Set the assignment of a member."""
        self.members_bytes += len(assignment) - len(member.assignment)
        member.assignment = assignment

    def set_awaiting_join(self, member: Member, is_awaiting_join: bool) -> None:
        """Record whether a member's join waits."""
        self.awaiting_join_count += int(is_awaiting_join) - int(member.is_awaiting_join)
        member.is_awaiting_join = is_awaiting_join

    def select_protocol(self) -> str:
        """Return the protocol with the most votes among those that all members support; ties go to the earlier one."""
        member_count = len(self.members)
        candidates = {name for name, count in self.protocol_counts.items() if count == member_count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        return max(votes, key=votes.__getitem__)

    def compute_subscribed_topics(self) -> None:
        """Decode the topics that a consumer group reads from its members' metadata."""
        is_known = self.protocol_type == CONSUMER_PROTOCOL_TYPE
        name = self.protocol_name
        self.subscribed_topics = (
            subscribed_topics(member.metadata(name) for member in self.members.values()) if is_known else None
        )
        topics = self.subscribed_topics or ()
        self.topics_bytes = sum(_TOPIC_BYTES + _CHARACTER_BYTES * len(topic) for topic in topics)

    def _count_protocols(self, member: Member, by: int) -> None:
        counts = self.protocol_counts
        for name in member.protocol_names:
            count = counts.get(name, 0) + by
            if count:
                counts[name] = count
            else:
                counts.pop(name, None)
