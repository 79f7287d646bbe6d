"""The group state machine: one event in, effects out. Pure: no I/O, no clock, no randomness.

| phase | waits for | next phase |
| --- | --- | --- |
| Empty | a member | PreparingRebalance; Dead if no offsets are left |
| PreparingRebalance | every member's join, or the rebalance timeout | CompletingRebalance, Empty |
| CompletingRebalance | the leader's sync, stored | Stable, PreparingRebalance |
| Stable | heartbeats | PreparingRebalance |
| Dead | nothing | - |

`now_ms` is wall time: it is stored with the group, and deadlines are relative to it.

Source: design page, consumer group membership.
"""

from typing import assert_never

from barnabas.broker.groups.events import (
    Commit,
    CommitAppended,
    CommitFailed,
    DeleteGroup,
    DeleteOffsets,
    Effect,
    Event,
    ExpireOffsets,
    GroupStored,
    Heartbeat,
    Join,
    Leave,
    Loaded,
    RemoveTopics,
    ReplacementStored,
    Sync,
    TimerFired,
    TransactionEnded,
    TxnCommit,
    Unloaded,
)
from barnabas.broker.groups.group import Group
from barnabas.broker.groups.join import join
from barnabas.broker.groups.membership import heartbeat, leave, loaded, timer_fired, unloaded
from barnabas.broker.groups.offsets import (
    commit,
    commit_appended,
    commit_failed,
    delete_group,
    delete_offsets,
    expire_offsets,
    remove_topics,
)
from barnabas.broker.groups.static_members import replacement_stored
from barnabas.broker.groups.sync import group_stored, sync
from barnabas.broker.groups.transactions import transaction_ended, txn_commit, txn_commit_appended, txn_commit_failed
from barnabas.core.types import NO_PRODUCER_ID


def step(group: Group, event: Event, now_ms: int) -> list[Effect]:
    """Apply one event to a group, and return the effects.

    Args:
        group: Changed in place.
        event: The event.
        now_ms: Wall time.

    Returns:
        The effects, to be carried out in this order.
    """
    match event:
        case Heartbeat():
            return heartbeat(group, event, now_ms)
        case Commit():
            return commit(group, event, now_ms)
        case CommitAppended():
            is_plain = event.producer_id == NO_PRODUCER_ID
            return commit_appended(group, event) if is_plain else txn_commit_appended(group, event)
        case TxnCommit():
            return txn_commit(group, event)
        case TransactionEnded():
            return transaction_ended(group, event)
        case Join():
            return join(group, event, now_ms)
        case Sync():
            return sync(group, event, now_ms)
        case GroupStored():
            return group_stored(group, event, now_ms)
        case Leave():
            return leave(group, event, now_ms)
        case TimerFired():
            return timer_fired(group, event, now_ms)
        case ReplacementStored():
            return replacement_stored(group, event, now_ms)
        case CommitFailed():
            is_plain = event.producer_id == NO_PRODUCER_ID
            return commit_failed(group, event) if is_plain else txn_commit_failed(group, event)
        case DeleteGroup():
            return delete_group(group, now_ms)
        case DeleteOffsets():
            return delete_offsets(group, event, now_ms)
        case ExpireOffsets():
            return expire_offsets(group, event, now_ms)
        case RemoveTopics():
            return remove_topics(group, event, now_ms)
        case Loaded():
            return loaded(group, now_ms)
        case Unloaded():
            return unloaded(group, now_ms)
        case _:
            assert_never(event)
