"""JoinGroup, as the pure group sees it."""

import pytest

from barnabas.broker.groups.events import (
    REBALANCE_TIMER,
    AnswerJoin,
    AwaitJoin,
    FinishJoin,
    FinishSync,
    GroupStored,
    Heartbeat,
    JoinAnswer,
    SetTimer,
    StoreGroup,
    Sync,
    TimerFired,
)
from barnabas.broker.groups.group import GroupSettings, Phase
from barnabas.core.error_code import ErrorCode


def answers(effects, kind=FinishJoin):
    return {effect.member_id: effect.answer for effect in effects if isinstance(effect, kind)}


def only_answer(effects):
    (answer,) = [effect.answer for effect in effects if isinstance(effect, AnswerJoin)]
    return answer


def test_first_member_waits_for_the_initial_delay(story, make_join):
    effects = story.happen(make_join(new_member_id="m1"))
    assert AwaitJoin("m1") in effects
    assert SetTimer(REBALANCE_TIMER, 3_000) in effects
    assert story.group.phase is Phase.PREPARING_REBALANCE


def test_initial_delay_is_extended_while_new_members_come(story, make_join):
    story.happen(make_join(new_member_id="m1"))
    story.now_ms = 2_000
    story.happen(make_join(new_member_id="m2"))
    story.now_ms = 3_000
    assert story.happen(TimerFired(REBALANCE_TIMER)) == [SetTimer(REBALANCE_TIMER, 6_000)]
    story.now_ms = 6_000
    assert set(answers(story.happen(TimerFired(REBALANCE_TIMER)))) == {"m1", "m2"}


def test_initial_delay_never_exceeds_the_rebalance_timeout(story, make_join):
    story.happen(make_join(new_member_id="m0", rebalance_timeout_ms=10_000))
    waits = []
    for count in range(1, 10):
        story.happen(make_join(new_member_id=f"m{count}", rebalance_timeout_ms=10_000))
        effects = story.happen(TimerFired(REBALANCE_TIMER))
        if answers(effects):
            break
        waits.append(effects[0].deadline_ms - story.now_ms)
        story.now_ms = effects[0].deadline_ms
    assert waits == [3_000, 3_000, 1_000]


def test_leader_is_told_all_members_and_followers_none(story, make_join):
    story.happen(make_join(new_member_id="m1", protocols=(("range", b"one"),)))
    story.happen(make_join(new_member_id="m2", protocols=(("range", b"two"),)))
    story.happen(TimerFired(REBALANCE_TIMER))
    found = answers(story.happen(TimerFired(REBALANCE_TIMER)))
    assert [(each.member_id, each.metadata) for each in found["m1"].members] == [("m1", b"one"), ("m2", b"two")]
    assert found["m2"].members == ()
    for answer in found.values():
        assert (answer.generation, answer.leader_id, answer.protocol_name) == (1, "m1", "range")


def test_member_id_is_required_first(story, make_join):
    effects = story.happen(make_join(new_member_id="m1", is_member_id_required=True))
    assert effects == [SetTimer("m1", 10_000), AnswerJoin(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, "m1"))]
    assert story.group.phase is Phase.EMPTY
    assert AwaitJoin("m1") in story.happen(make_join("m1", is_member_id_required=True))


def test_unused_member_id_is_forgotten_after_the_session_timeout(story, make_join):
    story.happen(make_join(new_member_id="m1", is_member_id_required=True))
    story.happen(TimerFired("m1"))
    assert only_answer(story.happen(make_join("m1"))).error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_rebalance_waits_for_a_member_id_that_was_handed_out(stable_story, make_join):
    stable_story.happen(make_join("m2", protocols=(("range", b"changed"),)))
    stable_story.happen(make_join(new_member_id="m3", is_member_id_required=True))
    assert not answers(stable_story.happen(make_join("m1")))
    assert set(answers(stable_story.happen(make_join("m3")))) == {"m1", "m2", "m3"}


@pytest.mark.parametrize(
    "changes", [{"protocol_type": "connect"}, {"protocols": (("sticky", b""),)}, {"protocols": ()}]
)
def test_member_without_a_common_protocol_is_refused(stable_story, make_join, changes):
    answer = only_answer(stable_story.happen(make_join(new_member_id="m3", **changes)))
    assert answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stable_story.group.phase is Phase.STABLE


@pytest.mark.parametrize("changes", [{"protocol_type": ""}, {"protocols": ()}])
def test_empty_group_asks_for_type_and_protocols(story, make_join, changes):
    answer = only_answer(story.happen(make_join(new_member_id="m1", **changes)))
    assert answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_protocol_with_most_votes_wins(story, make_join):
    both = (("sticky", b"s"), ("range", b"r"))
    story.happen(make_join(new_member_id="m1", protocols=both))
    story.happen(make_join(new_member_id="m2", protocols=both[::-1]))
    story.happen(make_join(new_member_id="m3", protocols=(*both, ("only mine", b""))))
    story.happen(TimerFired(REBALANCE_TIMER))
    story.happen(TimerFired(REBALANCE_TIMER))
    assert story.group.protocol_name == "sticky"


def test_follower_that_rejoins_unchanged_gets_the_current_generation(stable_story, make_join):
    answer = only_answer(stable_story.happen(make_join("m2")))
    assert (answer.error_code, answer.generation, answer.leader_id, answer.members) == (ErrorCode.NONE, 1, "m1", ())
    assert stable_story.group.phase is Phase.STABLE


def test_leader_that_rejoins_starts_a_rebalance(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    assert stable_story.group.phase is Phase.PREPARING_REBALANCE


def test_member_that_lost_its_answer_gets_it_again(story, make_join):
    story.gather("m1", "m2")
    answer = only_answer(story.happen(make_join("m1")))
    assert [each.member_id for each in answer.members] == ["m1", "m2"]
    assert story.group.phase is Phase.COMPLETING_REBALANCE


def test_waiting_syncs_are_answered_when_a_member_changes_its_mind(story, make_join):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    effects = story.happen(make_join("m1", protocols=(("range", b"changed"),)))
    assert answers(effects, FinishSync)["m2"].error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_rebalance_timeout_drops_who_did_not_come_and_elects_a_leader(stable_story, make_join):
    effects = stable_story.happen(make_join("m2", protocols=(("range", b"changed"),)))
    assert SetTimer(REBALANCE_TIMER, stable_story.now_ms + 60_000) in effects
    found = answers(stable_story.happen(TimerFired(REBALANCE_TIMER)))
    assert found["m2"].leader_id == "m2"
    assert found["m2"].generation == 2
    assert set(stable_story.group.members) == {"m2"}


def test_rebalance_timeout_without_anybody_leaves_the_group_empty(stable_story, make_join):
    stable_story.happen(make_join(new_member_id="m3"))
    stable_story.happen(TimerFired("m3"))
    effects = stable_story.happen(TimerFired(REBALANCE_TIMER))
    assert StoreGroup(2, {}) in effects
    assert stable_story.group.phase is Phase.EMPTY
    assert (stable_story.group.leader_id, stable_story.group.protocol_name) == (None, None)


def test_heartbeat_tells_members_to_rejoin(stable_story, make_join):
    stable_story.happen(make_join(new_member_id="m3"))
    effects = stable_story.happen(Heartbeat("m1", 1))
    assert effects[-1].error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_join_that_is_repeated_while_it_waits_answers_the_first(story, make_join):
    story.happen(make_join(new_member_id="m1"))
    effects = story.happen(make_join("m1"))
    assert answers(effects)["m1"].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert effects[-1] == AwaitJoin("m1")
    assert story.group.awaiting_join_count == 1


def test_full_group_refuses_more_members(make_story, make_join):
    story = make_story(GroupSettings(0, max_size=2))
    story.stabilize("m1", "m2")
    answer = only_answer(story.happen(make_join(new_member_id="m3")))
    assert answer == JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert set(story.group.members) == {"m1", "m2"}


def test_group_that_fills_while_it_gathers_drops_the_late_member(make_story, make_join):
    story = make_story(GroupSettings(0, max_size=2))
    story.stabilize("m1", "m2")
    story.happen(make_join("m1"))
    story.group.settings = GroupSettings(0, max_size=1)
    effects = story.happen(make_join("m2"))
    assert only_answer(effects).error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert set(story.group.members) == {"m1"}
    # Nobody else is waited for.
    assert {member_id: answer.generation for member_id, answer in answers(effects).items()} == {"m1": 2}
    assert story.group.phase is Phase.COMPLETING_REBALANCE


def test_generation_grows_with_every_rebalance(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    found = answers(stable_story.happen(make_join("m2")))
    assert {answer.generation for answer in found.values()} == {2}
    stable_story.happen(Sync("m1", 2, {"m1": b"all"}))
    effects = stable_story.happen(GroupStored(1, {}, ErrorCode.NONE))
    assert effects == []
