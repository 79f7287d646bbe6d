"""The events and effects of the group state machine.

`state.step` receives an event and returns effects, which the coordinator carries out. `Answer...` answers the request
of the event. `Await...` makes that request wait under its member id, and `Finish...` answers a waiting request.

They are named tuples: thirty frozen dataclasses would add 10 ms to the start of a broker, named tuples add 1 ms.

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
"""The name of the group's rebalance timer; all other timers are named by their member's id, which is never empty."""


class Join(NamedTuple):
    """A JoinGroup request.

    Attributes:
        new_member_id: The id to assign to a caller without one.
        is_member_id_required: A caller without id must rejoin with the new one (v4 and later, dynamic members).
        protocols: Name and metadata, preferred first.
        group_instance_id: The instance id of a static member; None for a dynamic member.
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
    """A SyncGroup request; only the leader's contains assignments.

    Attributes:
        protocol_type, protocol_name: The member's; None before version 5, which does not send them.
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
        old_member_id: The previous id.
        old_protocols: The member's previous protocols.
        leader_id: The group's previous leader.
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
    """One member of a LeaveGroup request; for a static member the instance id alone is sufficient.

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
    """An OffsetCommit request; `offsets` has only the offsets that passed the request's checks."""

    member_id: str
    generation: int
    offsets: Mapping[TopicPartition, CommittedOffset]
    group_instance_id: str | None = None


class TxnCommit(NamedTuple):
    """A TxnOffsetCommit request: the offsets become valid when the producer's transaction is committed.

    Attributes:
        member_id: Empty before version 3, which does not send it; then it is not checked.
        generation: -1 before version 3; then it is not checked.
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
    """The records of a commit are in the log, from `append_offset` on; a transaction's if it has a producer id."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    append_offset: int
    producer_id: int = NO_PRODUCER_ID


class CommitFailed(NamedTuple):
    """The records of a commit could not be appended; a transaction's if it has a producer id."""

    offsets: Mapping[TopicPartition, CommittedOffset]
    producer_id: int = NO_PRODUCER_ID


class DeleteGroup(NamedTuple):
    """One group of a DeleteGroups request."""


class DeleteOffsets(NamedTuple):
    """An OffsetDelete request."""

    partitions: tuple[TopicPartition, ...]


class ExpireOffsets(NamedTuple):
    """A periodic check for expired offsets."""

    retention_ms: int


class RemoveTopics(NamedTuple):
    """Topics were deleted: their offsets must be removed."""

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
    """One member in the JoinGroup response to the group's leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """The JoinGroup response; only the leader's lists the members."""

    error_code: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: tuple[JoinedMember, ...] = ()


class SyncAnswer(NamedTuple):
    """The SyncGroup response: the member's assignment."""

    error_code: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


class DeletionAnswer(NamedTuple):
    """The OffsetDelete response: the group's error, or the partitions whose offsets were not deleted.

    Attributes:
        subscribed: Partitions of topics to which the group is subscribed.
    """

    error_code: ErrorCode
    subscribed: frozenset[TopicPartition] = frozenset()


class Answer(NamedTuple):
    """Answer the caller with an error code."""

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
    """Make the caller's join wait under a member id."""

    member_id: str


class AwaitSync(NamedTuple):
    """Make the caller's sync wait under a member id."""

    member_id: str


class FinishJoin(NamedTuple):
    """Answer the join that waits under a member id."""

    member_id: str
    answer: JoinAnswer


class FinishSync(NamedTuple):
    """Answer the sync that waits under a member id."""

    member_id: str
    answer: SyncAnswer


class SetTimer(NamedTuple):
    """Send the event `TimerFired(timer)` at a deadline; replaces an earlier deadline of the same timer."""

    timer: str
    deadline_ms: int


class CancelTimer(NamedTuple):
    """Cancel a timer."""

    timer: str


class StoreGroup(NamedTuple):
    """Append the group's metadata with these assignments, then send the event `GroupStored`."""

    generation: int
    assignments: Mapping[str, bytes]


class StoreReplacement(NamedTuple):
    """Append the group's metadata with these assignments, then send the event `ReplacementStored`."""

    generation: int
    assignments: Mapping[str, bytes]
    replacement: Replacement


class StoreOffsets(NamedTuple):
    """Append these commits, then send the event `CommitAppended` or `CommitFailed` and answer the caller.

    Attributes:
        producer_id: The producer whose transaction contains the commits; -1: no transaction.
    """

    offsets: Mapping[TopicPartition, CommittedOffset]
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


class AppendTombstones(NamedTuple):
    """Append tombstones for offsets, and for the group itself; the result is ignored."""

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
