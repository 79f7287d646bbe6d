"""The events and effects of the group state machine.

An event goes into `state.step`, effects come out; the coordinator carries them out. `Answer...` answers the request
that brought the event; `Await...` parks that request under its member id, and `Finish...` answers the one parked there.

They are named tuples: thirty frozen dataclasses would cost the start of a broker 10 ms, these cost 1.

Source: design page, consumer group membership.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.diagnostics.rebalances import Note
from barnabas.broker.groups.group import CommittedOffset
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition

NO_GENERATION = -1
NO_MEMBER_ID = ""

REBALANCE_TIMER = ""
"""The timer of the group's rebalance; all others are named by their member's id, which is never empty."""


class Join(NamedTuple):
    """A JoinGroup request.

    Attributes:
        new_member_id: The id that a caller without one gets.
        is_member_id_required: A caller without id must come back with the new one (v4 and later, dynamic members).
        protocols: Name and metadata, preferred first.
        group_instance_id: Of a static member; None of a dynamic one.
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
    group_instance_id: str | None = None


class Sync(NamedTuple):
    """A SyncGroup request; only the leader's brings assignments.

    Attributes:
        protocol_type: The member's protocol type; None before version 5, which does not send it.
        protocol_name: Likewise.
    """

    member_id: str
    generation: int
    assignments: Mapping[str, bytes]
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None


class GroupStored(NamedTuple):
    """The record of `StoreGroup` was appended, or the append failed."""

    generation: int
    assignments: Mapping[str, bytes]
    error_code: ErrorCode


class Replacement(NamedTuple):
    """A static member of a stable group that rejoined under a new member id.

    Attributes:
        member_id: The new id.
        old_member_id: The one before.
        old_protocols: The member's previous protocols.
        leader_id: The group's leader before.
    """

    member_id: str
    old_member_id: str
    old_protocols: tuple[tuple[str, bytes], ...]
    leader_id: str


class ReplacementStored(NamedTuple):
    """The record of `StoreReplacement` was appended, or the append failed."""

    generation: int
    replacement: Replacement
    error_code: ErrorCode


class Heartbeat(NamedTuple):
    """A Heartbeat request."""

    member_id: str
    generation: int
    group_instance_id: str | None = None


class Leave(NamedTuple):
    """One member of a LeaveGroup request; a static one may be named by its instance id alone.

    Attributes:
        client_id, client_host: The requester: the member itself, or an administrator.
    """

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""


class TimerFired(NamedTuple):
    """The deadline of an active timer has passed."""

    timer: str


class Commit(NamedTuple):
    """An OffsetCommit request; `offsets` are those that may be stored."""

    member_id: str
    generation: int
    offsets: Mapping[TopicPartition, CommittedOffset]
    group_instance_id: str | None = None


class TxnCommit(NamedTuple):
    """A TxnOffsetCommit request: the offsets count when the producer's transaction is committed.

    Attributes:
        member_id: Empty before version 3, which does not send it; then it fences nobody.
        generation: -1 likewise.
    """

    producer_id: int
    producer_epoch: int
    member_id: str
    generation: int
    offsets: Mapping[TopicPartition, CommittedOffset]
    group_instance_id: str | None = None


class TransactionEnded(NamedTuple):
    """The marker of a producer's transaction is in the log of the group's partition."""

    producer_id: int
    is_committed: bool


class CommitAppended(NamedTuple):
    """The records of a commit are in the log, from `append_offset` on; of a transaction with a producer id."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    append_offset: int
    producer_id: int = NO_PRODUCER_ID


class CommitFailed(NamedTuple):
    """The records of a commit could not be appended; of a transaction with a producer id."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    producer_id: int = NO_PRODUCER_ID


class DeleteGroup(NamedTuple):
    """One group of a DeleteGroups request."""


class DeleteOffsets(NamedTuple):
    """An OffsetDelete request."""

    partitions: tuple[TopicPartition, ...]


class ExpireOffsets(NamedTuple):
    """The time to check for expired offsets has come."""

    retention_ms: int


class RemoveTopics(NamedTuple):
    """Topics were deleted, and their offsets with them."""

    names: frozenset[str]


class Loaded(NamedTuple):
    """The group was read from the log."""


class Unloaded(NamedTuple):
    """Another broker coordinates the group now."""


Event = (
    Join
    | Sync
    | GroupStored
    | ReplacementStored
    | Heartbeat
    | Leave
    | TimerFired
    | Commit
    | TxnCommit
    | TransactionEnded
    | DeleteGroup
    | DeleteOffsets
    | CommitAppended
    | CommitFailed
    | ExpireOffsets
    | RemoveTopics
    | Loaded
    | Unloaded
)


class JoinedMember(NamedTuple):
    """One member, as JoinGroup describes it to the group's leader."""

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


class DeletionAnswer(NamedTuple):
    """The answer to OffsetDelete: the group's error, or the partitions whose offsets were kept.

    Attributes:
        subscribed: Partitions of topics that the group reads.
    """

    error_code: ErrorCode
    subscribed: frozenset[TopicPartition] = frozenset()


class Answer(NamedTuple):
    """Answer the caller with a code alone."""

    error_code: ErrorCode


class AnswerJoin(NamedTuple):
    """Answer the caller's join."""

    answer: JoinAnswer


class AnswerSync(NamedTuple):
    """Answer the caller's sync."""

    answer: SyncAnswer


class AnswerDeletion(NamedTuple):
    """Answer the caller's deletion of offsets."""

    answer: DeletionAnswer


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


class StoreReplacement(NamedTuple):
    """Append the group's metadata with these assignments, then bring `ReplacementStored`."""

    generation: int
    assignments: Mapping[str, bytes]
    replacement: Replacement


class StoreOffsets(NamedTuple):
    """Append these commits, then bring `CommitAppended` or `CommitFailed` and answer the caller.

    Attributes:
        producer_id: They belong to this producer's transaction; -1: to none.
    """

    offsets: Mapping[TopicPartition, CommittedOffset]
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


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
    | AnswerDeletion
    | AwaitJoin
    | AwaitSync
    | FinishJoin
    | FinishSync
    | SetTimer
    | CancelTimer
    | StoreGroup
    | StoreReplacement
    | StoreOffsets
    | AppendTombstones
    | ForgetGroup
    | Note
)
