"""Commits and their expiry, as the pure group sees them."""

import pytest

from barnabas.broker.groups.events import (
    Answer,
    AppendTombstones,
    CancelTimer,
    Commit,
    CommitAppended,
    CommitFailed,
    ExpireOffsets,
    ForgetGroup,
    Leave,
    RemoveTopics,
    SetTimer,
    StoreOffsets,
    Unloaded,
)
from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings, Phase
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
U0 = TopicPartition("u", 0)
RETENTION_MS = 1_000
SUBSCRIBED_TO_T = b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"


def commit(story, offsets, member_id="", generation=-1, append_offset=0):
    story.happen(Commit(member_id, generation, offsets))
    story.happen(CommitAppended(offsets, append_offset))


def test_commit_counts_once_it_is_appended(stable_story):
    offsets = {T0: CommittedOffset(5)}
    effects = stable_story.happen(Commit("m1", 1, offsets))
    assert effects == [SetTimer("m1", stable_story.now_ms + 10_000), StoreOffsets(offsets)]
    assert not stable_story.group.offsets
    stable_story.happen(CommitAppended(offsets, 7))
    assert stable_story.group.offsets[T0].offset == 5
    assert stable_story.group.offsets[T0].append_offset == 7
    assert not stable_story.group.pending_commits


def test_failed_commit_leaves_the_one_before(stable_story):
    commit(stable_story, {T0: CommittedOffset(5)}, "m1", 1)
    failed = {T0: CommittedOffset(9)}
    stable_story.happen(Commit("m1", 1, failed))
    stable_story.happen(CommitFailed(failed))
    assert stable_story.group.offsets[T0].offset == 5
    assert not stable_story.group.pending_commits


def test_later_append_wins_in_whatever_order_it_is_confirmed(stable_story):
    first, second = {T0: CommittedOffset(1)}, {T0: CommittedOffset(2)}
    stable_story.happen(Commit("m1", 1, first))
    stable_story.happen(Commit("m1", 1, second))
    stable_story.happen(CommitAppended(second, 11))
    assert stable_story.group.offsets[T0].offset == 2
    stable_story.happen(CommitAppended(first, 10))
    assert stable_story.group.offsets[T0].offset == 2


def test_commit_that_fails_does_not_take_an_earlier_one_with_it(stable_story):
    first, second = {T0: CommittedOffset(1)}, {T0: CommittedOffset(2)}
    stable_story.happen(Commit("m1", 1, first))
    stable_story.happen(Commit("m1", 1, second))
    stable_story.happen(CommitFailed(second))
    stable_story.happen(CommitAppended(first, 10))
    assert stable_story.group.offsets[T0].offset == 1


@pytest.mark.parametrize(
    ("member_id", "generation", "error_code"),
    [
        ("stranger", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m1", 2, ErrorCode.ILLEGAL_GENERATION),
        ("m1", -1, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_only_members_of_the_generation_may_commit(stable_story, member_id, generation, error_code):
    assert stable_story.happen(Commit(member_id, generation, {T0: CommittedOffset(1)})) == [Answer(error_code)]


def test_nobody_commits_before_the_assignments_are_there(story):
    story.gather("m1")
    effects = story.happen(Commit("m1", 1, {T0: CommittedOffset(1)}))
    assert effects == [Answer(ErrorCode.REBALANCE_IN_PROGRESS)]


def test_members_may_commit_while_the_group_gathers(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    offsets = {T0: CommittedOffset(1)}
    assert StoreOffsets(offsets) in stable_story.happen(Commit("m2", 1, offsets))


def test_empty_group_takes_commits_of_those_who_assign_themselves(story):
    commit(story, {T0: CommittedOffset(3)})
    assert story.group.offsets[T0].offset == 3
    effects = story.happen(Commit("m1", 0, {T0: CommittedOffset(4)}))
    assert effects == [Answer(ErrorCode.UNKNOWN_MEMBER_ID)]


def test_dead_group_refuses_commits(story):
    story.happen(Unloaded())
    assert story.happen(Commit("", -1, {})) == [Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    assert story.happen(CommitAppended({T0: CommittedOffset(1)}, 0)) == []


def test_commit_of_nothing_is_answered_at_once(stable_story):
    assert stable_story.happen(Commit("m1", 1, {}))[-1] == Answer(ErrorCode.NONE)


def test_offsets_of_self_assigned_consumers_expire_after_their_commit(story):
    commit(story, {T0: CommittedOffset(1, commit_timestamp_ms=0), T1: CommittedOffset(1, commit_timestamp_ms=500)})
    story.now_ms = RETENTION_MS
    assert story.happen(ExpireOffsets(RETENTION_MS)) == [AppendTombstones((T0,), False)]
    assert set(story.group.offsets) == {T1}


def test_group_without_offsets_is_forgotten(story, make_join):
    story.happen(make_join(new_member_id="m1", is_member_id_required=True))
    assert story.happen(ExpireOffsets(RETENTION_MS)) == [CancelTimer("m1"), ForgetGroup()]
    assert story.group.phase is Phase.DEAD


def test_group_that_was_stored_is_buried(story):
    story.stabilize("m1")
    commit(story, {T0: CommittedOffset(1, commit_timestamp_ms=0)}, "m1", 1)
    story.happen(Leave("m1"))
    emptied_ms = story.now_ms
    story.now_ms = emptied_ms + RETENTION_MS - 1
    assert story.happen(ExpireOffsets(RETENTION_MS)) == []
    story.now_ms = emptied_ms + RETENTION_MS
    assert story.happen(ExpireOffsets(RETENTION_MS)) == [AppendTombstones((T0,), True), ForgetGroup()]


def test_subscribed_topics_do_not_expire(story, make_join):
    story.happen(make_join(new_member_id="m1", protocols=(("range", SUBSCRIBED_TO_T),)))
    story.gather()
    story.group.phase = Phase.STABLE
    commit(
        story, {T0: CommittedOffset(1, commit_timestamp_ms=0), U0: CommittedOffset(1, commit_timestamp_ms=0)}, "m1", 1
    )
    story.now_ms = 10 * RETENTION_MS
    assert story.happen(ExpireOffsets(RETENTION_MS)) == [AppendTombstones((U0,), False)]


def test_nothing_expires_while_the_subscription_is_unknown(stable_story):
    commit(stable_story, {T0: CommittedOffset(1, commit_timestamp_ms=0)}, "m1", 1)
    stable_story.now_ms = 10 * RETENTION_MS
    assert stable_story.happen(ExpireOffsets(RETENTION_MS)) == []


def test_nothing_expires_while_the_members_of_an_idle_group_gather(stable_story, make_join):
    """A group has no subscriptions from its last member's leave to the end of its next rebalance (KAFKA-13636)."""
    commit(stable_story, {T0: CommittedOffset(1, commit_timestamp_ms=0)}, "m1", 1)
    stable_story.now_ms = 10 * RETENTION_MS
    for member_id in ("m1", "m2"):
        stable_story.happen(Leave(member_id))
    stable_story.happen(make_join(new_member_id="m3", protocols=(("range", SUBSCRIBED_TO_T),)))
    assert stable_story.group.phase is Phase.PREPARING_REBALANCE
    assert stable_story.happen(ExpireOffsets(RETENTION_MS)) == []


def test_groups_of_other_kinds_keep_their_offsets_while_they_have_members(story, make_join):
    story.happen(make_join(new_member_id="m1", protocol_type="connect"))
    story.gather()
    story.group.phase = Phase.STABLE
    commit(story, {T0: CommittedOffset(1, commit_timestamp_ms=0)}, "m1", 1)
    story.now_ms = 10 * RETENTION_MS
    assert story.happen(ExpireOffsets(RETENTION_MS)) == []


def test_own_expiry_of_a_commit_goes_before_the_retention(story):
    commit(story, {T0: CommittedOffset(1, commit_timestamp_ms=0, expire_timestamp_ms=5_000)})
    story.now_ms = 4_999
    assert story.happen(ExpireOffsets(RETENTION_MS)) == []
    story.now_ms = 5_000
    assert story.happen(ExpireOffsets(RETENTION_MS))[0] == AppendTombstones((T0,), False)


def test_old_groups_without_a_state_time_expire_by_commit(story):
    story.group = Group("g", GroupSettings(), protocol_type="consumer", generation=3)
    story.group.offsets[T0] = CommittedOffset(1, commit_timestamp_ms=500)
    story.now_ms = 1_400
    assert story.happen(ExpireOffsets(RETENTION_MS)) == []
    story.now_ms = 1_500
    assert story.happen(ExpireOffsets(RETENTION_MS)) == [AppendTombstones((T0,), True), ForgetGroup()]


def test_offset_that_is_being_committed_does_not_expire(story):
    commit(story, {T0: CommittedOffset(1, commit_timestamp_ms=0)})
    story.now_ms = 10 * RETENTION_MS
    story.happen(Commit("", -1, {T0: CommittedOffset(2, commit_timestamp_ms=story.now_ms)}))
    assert story.happen(ExpireOffsets(RETENTION_MS)) == []


def test_offsets_of_deleted_topics_go(story):
    commit(story, {T0: CommittedOffset(1), U0: CommittedOffset(2)})
    late = {T1: CommittedOffset(3)}
    story.happen(Commit("", -1, late))
    assert story.happen(RemoveTopics(frozenset({"t"}))) == [AppendTombstones((T0,), False)]
    story.happen(CommitAppended(late, 9))
    assert set(story.group.offsets) == {U0}
