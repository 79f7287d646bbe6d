"""What can happen to a group, and what the group then wants done.

An event goes into `state.step`, effects come out; the coordinator carries them out. `Answer...` answers who brought
the event; `Await...` parks that caller under its member id, and `Finish...` answers who is parked there.

Source: design page, consumer group membership.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.groups.group import CommittedOffset

NO_GENERATION = -1
NO_MEMBER_ID = ""

REBALANCE_TIMER = ""
"""The timer of the group's rebalance; all others are named by their member's id, which is never empty."""


@dataclass(slots=True, frozen=True)
class Join:
    """A JoinGroup request.

    Attributes:
        new_member_id: The id that a caller without one gets.
        is_member_id_required: A caller without id must come back with the new one (v4 and later).
        protocols: Name and metadata, preferred first.
    """

    member_id: str
    new_member_id: str
    is_member_id_required: bool
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(slots=True, frozen=True)
class Sync:
    """A SyncGroup request; only the leader's brings assignments."""

    member_id: str
    generation: int
    assignments: Mapping[str, bytes]


@dataclass(slots=True, frozen=True)
class GroupStored:
    """The record that `StoreGroup` asked for was appended, or not."""

    generation: int
    assignments: Mapping[str, bytes]
    error_code: ErrorCode


@dataclass(slots=True, frozen=True)
class Heartbeat:
    """A Heartbeat request."""

    member_id: str
    generation: int


@dataclass(slots=True, frozen=True)
class Leave:
    """One member of a LeaveGroup request."""

    member_id: str


@dataclass(slots=True, frozen=True)
class TimerFired:
    """The deadline of a timer that was set and not cancelled has come."""

    timer: str


@dataclass(slots=True, frozen=True)
class Commit:
    """An OffsetCommit request; `offsets` holds what may be stored of it."""

    member_id: str
    generation: int
    offsets: Mapping[TopicPartition, CommittedOffset]


@dataclass(slots=True, frozen=True)
class CommitAppended:
    """The records of a commit are in the log, from `append_offset` on."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    append_offset: int


@dataclass(slots=True, frozen=True)
class CommitFailed:
    """The records of a commit could not be appended."""

    offsets: Mapping[TopicPartition, CommittedOffset]


@dataclass(slots=True, frozen=True)
class ExpireOffsets:
    """It is time to look for offsets that nobody needs any more."""

    retention_ms: int


@dataclass(slots=True, frozen=True)
class RemoveTopics:
    """Topics are gone, and their offsets with them."""

    names: frozenset[str]


@dataclass(slots=True, frozen=True)
class Loaded:
    """The group was read from the log."""


@dataclass(slots=True, frozen=True)
class Unloaded:
    """Another broker coordinates the group now."""


Event = (
    Join
    | Sync
    | GroupStored
    | Heartbeat
    | Leave
    | TimerFired
    | Commit
    | CommitAppended
    | CommitFailed
    | ExpireOffsets
    | RemoveTopics
    | Loaded
    | Unloaded
)


@dataclass(slots=True, frozen=True)
class JoinedMember:
    """What the leader is told of a member."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(slots=True, frozen=True)
class JoinAnswer:
    """The answer to a join; only the leader's lists the members."""

    error_code: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: tuple[JoinedMember, ...] = ()


@dataclass(slots=True, frozen=True)
class SyncAnswer:
    """The answer to a sync: the member's assignment."""

    error_code: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


@dataclass(slots=True, frozen=True)
class Answer:
    """Answer the caller with a code alone."""

    error_code: ErrorCode


@dataclass(slots=True, frozen=True)
class AnswerJoin:
    """Answer the caller's join."""

    answer: JoinAnswer


@dataclass(slots=True, frozen=True)
class AnswerSync:
    """Answer the caller's sync."""

    answer: SyncAnswer


@dataclass(slots=True, frozen=True)
class AwaitJoin:
    """Park the caller's join under a member id."""

    member_id: str


@dataclass(slots=True, frozen=True)
class AwaitSync:
    """Park the caller's sync under a member id."""

    member_id: str


@dataclass(slots=True, frozen=True)
class FinishJoin:
    """Answer the join that is parked under a member id."""

    member_id: str
    answer: JoinAnswer


@dataclass(slots=True, frozen=True)
class FinishSync:
    """Answer the sync that is parked under a member id."""

    member_id: str
    answer: SyncAnswer


@dataclass(slots=True, frozen=True)
class SetTimer:
    """Bring `TimerFired(timer)` at a deadline, in place of an earlier wish for the same timer."""

    timer: str
    deadline_ms: int


@dataclass(slots=True, frozen=True)
class CancelTimer:
    """Forget a timer."""

    timer: str


@dataclass(slots=True, frozen=True)
class StoreGroup:
    """Append the group's metadata with these assignments, then bring `GroupStored`."""

    generation: int
    assignments: Mapping[str, bytes]


@dataclass(slots=True, frozen=True)
class StoreOffsets:
    """Append these commits, then bring `CommitAppended` or `CommitFailed` and answer the caller."""

    offsets: Mapping[TopicPartition, CommittedOffset]


@dataclass(slots=True, frozen=True)
class AppendTombstones:
    """Append tombstones for offsets, and for the group itself; no one waits for it."""

    partitions: tuple[TopicPartition, ...]
    is_group_removed: bool


@dataclass(slots=True, frozen=True)
class ForgetGroup:
    """The group is dead: drop it."""


Effect = (
    Answer
    | AnswerJoin
    | AnswerSync
    | AwaitJoin
    | AwaitSync
    | FinishJoin
    | FinishSync
    | SetTimer
    | CancelTimer
    | StoreGroup
    | StoreOffsets
    | AppendTombstones
    | ForgetGroup
)
