"""Heartbeats, leaving, sessions: as the pure group sees them."""

import pytest

from barnabas.broker.groups.events import (
    Answer,
    CancelTimer,
    FinishJoin,
    FinishSync,
    Heartbeat,
    Leave,
    Loaded,
    SetTimer,
    StoreGroup,
    Sync,
    TimerFired,
    Unloaded,
)
from barnabas.broker.groups.group import GroupSettings, Phase
from barnabas.core.error_code import ErrorCode


def test_heartbeat_extends_the_session(stable_story):
    stable_story.now_ms = 4_000
    effects = stable_story.happen(Heartbeat("m1", 1))
    assert effects == [SetTimer("m1", 14_000), Answer(ErrorCode.NONE)]


def test_heartbeat_counts_before_the_assignment_is_there(story):
    story.gather("m1")
    assert story.happen(Heartbeat("m1", 1))[-1] == Answer(ErrorCode.NONE)


@pytest.mark.parametrize(
    ("event", "error_code"),
    [
        (Heartbeat("stranger", 1), ErrorCode.UNKNOWN_MEMBER_ID),
        (Heartbeat("m1", 2), ErrorCode.ILLEGAL_GENERATION),
        (Leave("stranger"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_strangers_and_other_generations_are_refused(stable_story, event, error_code):
    assert stable_story.happen(event) == [Answer(error_code)]


def test_dead_group_sends_everybody_to_find_the_coordinator(stable_story):
    stable_story.happen(Unloaded())
    for event in (Heartbeat("m1", 1), Leave("m1")):
        assert stable_story.happen(event) == [Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    assert stable_story.happen(TimerFired("m1")) == []


def test_expired_session_removes_the_member_and_rebalances(stable_story):
    effects = stable_story.happen(TimerFired("m1"))
    assert CancelTimer("m1") in effects
    assert stable_story.group.phase is Phase.PREPARING_REBALANCE
    assert stable_story.group.leader_id == "m2"


def test_member_that_waits_in_a_sync_does_not_expire(story):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    assert story.happen(TimerFired("m2")) == []


def test_leader_that_never_syncs_expires_and_the_others_begin_anew(story):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    effects = story.happen(TimerFired("m1"))
    answers = [each.answer.error_code for each in effects if isinstance(each, FinishSync)]
    assert answers == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_member_that_waits_in_a_rejoin_does_not_expire(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    assert stable_story.happen(TimerFired("m1")) == []


def test_new_member_is_kept_five_minutes(stable_story, make_join):
    effects = stable_story.happen(make_join(new_member_id="m3"))
    assert SetTimer("m3", stable_story.now_ms + 300_000) in effects
    effects = stable_story.happen(TimerFired("m3"))
    (finish,) = [each for each in effects if isinstance(each, FinishJoin)]
    assert (finish.answer.error_code, finish.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_leaving_starts_a_rebalance(stable_story):
    assert stable_story.happen(Leave("m2"))[-1] == Answer(ErrorCode.NONE)
    assert set(stable_story.group.members) == {"m1"}
    assert stable_story.group.phase is Phase.PREPARING_REBALANCE


def test_last_member_to_leave_empties_the_group_at_once(story):
    story.stabilize("m1")
    effects = story.happen(Leave("m1"))
    assert StoreGroup(2, {}) in effects
    assert story.group.phase is Phase.EMPTY


def test_last_missing_member_that_leaves_completes_the_rebalance(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    effects = stable_story.happen(Leave("m2"))
    (finish,) = [each for each in effects if isinstance(each, FinishJoin)]
    assert (finish.member_id, finish.answer.generation) == ("m1", 2)


def test_handed_out_member_id_can_leave(story, make_join):
    story.happen(make_join(new_member_id="m1", is_member_id_required=True))
    assert story.happen(Leave("m1")) == [CancelTimer("m1"), Answer(ErrorCode.NONE)]
    assert not story.group.pending_member_ids


def test_handed_out_member_id_that_leaves_completes_the_rebalance(stable_story, make_join):
    stable_story.happen(make_join(new_member_id="m3", is_member_id_required=True))
    stable_story.happen(make_join("m1"))
    stable_story.happen(make_join("m2"))
    effects = stable_story.happen(Leave("m3"))
    assert {each.member_id for each in effects if isinstance(each, FinishJoin)} == {"m1", "m2"}


def test_loaded_members_have_a_session_timeout_to_show_up(stable_story):
    stable_story.now_ms = 50_000
    assert stable_story.happen(Loaded()) == [SetTimer("m1", 60_000), SetTimer("m2", 60_000)]


def test_loaded_group_over_its_capacity_rebalances(stable_story):
    stable_story.group.settings = GroupSettings(0, max_size=1)
    stable_story.happen(Loaded())
    assert stable_story.group.phase is Phase.PREPARING_REBALANCE
