"""The events that a group's state machine takes, and the effects that it returns.

An event goes into `state.step`, effects come out; the coordinator carries them out. `Answer...` answers the request
that brought the event; `Await...` parks that request under its member id, and `Finish...` answers the one parked there.

They are named tuples: thirty frozen dataclasses would cost the start of a broker 10 ms, these cost 1.

Source: design page, consumer group membership.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.groups.group import CommittedOffset

NO_GENERATION = -1
NO_MEMBER_ID = ""

REBALANCE_TIMER = ""
"""The timer of the group's rebalance; all others are named by their member's id, which is never empty."""


class Join(NamedTuple):
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


class Sync(NamedTuple):
    """A SyncGroup request; only the leader's brings assignments."""

    member_id: str
    generation: int
    assignments: Mapping[str, bytes]


class GroupStored(NamedTuple):
    """The record that `StoreGroup` asked for was appended, or not."""

    generation: int
    assignments: Mapping[str, bytes]
    error_code: ErrorCode


class Heartbeat(NamedTuple):
    """A Heartbeat request."""

    member_id: str
    generation: int


class Leave(NamedTuple):
    """One member of a LeaveGroup request."""

    member_id: str


class TimerFired(NamedTuple):
    """The deadline of a timer that was set and not cancelled has come."""

    timer: str


class Commit(NamedTuple):
    """An OffsetCommit request; `offsets` holds what may be stored of it."""

    member_id: str
    generation: int
    offsets: Mapping[TopicPartition, CommittedOffset]


class CommitAppended(NamedTuple):
    """The records of a commit are in the log, from `append_offset` on."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    append_offset: int


class CommitFailed(NamedTuple):
    """The records of a commit could not be appended."""

    offsets: Mapping[TopicPartition, CommittedOffset]


class ExpireOffsets(NamedTuple):
    """It is time to look for expired offsets."""

    retention_ms: int


class RemoveTopics(NamedTuple):
    """Topics are gone, and their offsets with them."""

    names: frozenset[str]


class Loaded(NamedTuple):
    """The group was read from the log."""


class Unloaded(NamedTuple):
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


class JoinedMember(NamedTuple):
    """What the leader is told of a member."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """The answer to a join; only the leader's lists the members."""

    error_code: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: tuple[JoinedMember, ...] = ()


class SyncAnswer(NamedTuple):
    """The answer to a sync: the member's assignment."""

    error_code: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


class Answer(NamedTuple):
    """Answer the caller with a code alone."""

    error_code: ErrorCode


class AnswerJoin(NamedTuple):
    """Answer the caller's join."""

    answer: JoinAnswer


class AnswerSync(NamedTuple):
    """Answer the caller's sync."""

    answer: SyncAnswer


class AwaitJoin(NamedTuple):
    """Park the caller's join under a member id."""

    member_id: str


class AwaitSync(NamedTuple):
    """Park the caller's sync under a member id."""

    member_id: str


class FinishJoin(NamedTuple):
    """Answer the join that is parked under a member id."""

    member_id: str
    answer: JoinAnswer


class FinishSync(NamedTuple):
    """Answer the sync that is parked under a member id."""

    member_id: str
    answer: SyncAnswer


class SetTimer(NamedTuple):
    """Send the event `TimerFired(timer)` at a deadline; replaces an earlier deadline of the same timer."""

    timer: str
    deadline_ms: int


class CancelTimer(NamedTuple):
    """Forget a timer."""

    timer: str


class StoreGroup(NamedTuple):
    """Append the group's metadata with these assignments, then bring `GroupStored`."""

    generation: int
    assignments: Mapping[str, bytes]


class StoreOffsets(NamedTuple):
    """Append these commits, then bring `CommitAppended` or `CommitFailed` and answer the caller."""

    offsets: Mapping[TopicPartition, CommittedOffset]


class AppendTombstones(NamedTuple):
    """Append tombstones for offsets, and for the group itself; no one waits for it."""

    partitions: tuple[TopicPartition, ...]
    is_group_removed: bool


class ForgetGroup(NamedTuple):
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
