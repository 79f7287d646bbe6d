"""Static members, as the pure group sees them."""

import pytest

from barnabas.broker.groups.events import (
    REBALANCE_TIMER,
    Answer,
    AnswerJoin,
    AnswerSync,
    AwaitJoin,
    AwaitSync,
    CancelTimer,
    Commit,
    FinishJoin,
    FinishSync,
    GroupStored,
    Heartbeat,
    JoinAnswer,
    Leave,
    Replacement,
    ReplacementStored,
    SetTimer,
    StoreReplacement,
    Sync,
    SyncAnswer,
    TimerFired,
    TxnCommit,
    Unloaded,
)
from barnabas.broker.groups.group import GroupSettings, Phase
from barnabas.broker.groups.storage import decode_group_value, encode_group_value
from barnabas.core.error_code import ErrorCode
from tests.unit.broker.groups.conftest import RANGE

STICKY = (("sticky", b""), ("range", b""))


@pytest.fixture
def static_story(story, make_join):
    """A stable group: s1 (instance i1) leads, s2 (instance i2) and the dynamic d follow."""
    for member_id, instance in [("s1", "i1"), ("s2", "i2"), ("d", None)]:
        story.happen(make_join(new_member_id=member_id, group_instance_id=instance))
    for _ in range(2):
        story.now_ms += 3_000
        story.happen(TimerFired(REBALANCE_TIMER))
    assignments = {member_id: f"for {member_id}".encode() for member_id in ("s1", "s2", "d")}
    for member_id in assignments:
        story.happen(Sync(member_id, 1, assignments))
    story.happen(GroupStored(1, assignments, ErrorCode.NONE))
    assert story.group.phase is Phase.STABLE
    return story


def come_back(story, make_join, instance="i2", new_member_id="s3", **changes):
    return story.happen(make_join(new_member_id=new_member_id, group_instance_id=instance, **changes))


def test_a_static_member_is_let_in_without_a_second_join(story, make_join):
    # The handler never asks a static member to come back with its id.
    effects = story.happen(make_join(new_member_id="s1", group_instance_id="i1", is_member_id_required=False))
    assert AwaitJoin("s1") in effects
    assert story.group.static_member_ids == {"i1": "s1"}


def test_one_that_comes_back_to_a_stable_group_goes_on_without_a_rebalance(static_story, make_join):
    effects = come_back(static_story, make_join)
    assignments = {"s1": b"for s1", "d": b"for d", "s3": b"for s2"}
    replacement = Replacement("s3", "s2", RANGE, "s1")
    assert StoreReplacement(1, assignments, replacement) in effects
    assert CancelTimer("s2") in effects
    assert static_story.group.phase is Phase.STABLE
    effects = static_story.happen(ReplacementStored(1, replacement, ErrorCode.NONE))
    assert effects == [
        FinishJoin("s3", JoinAnswer(ErrorCode.NONE, "s3", 1, "consumer", "range", "s1")),
        SetTimer("s3", static_story.now_ms + 10_000),
    ]
    (synced, _) = static_story.happen(Sync("s3", 1, {}, "i2"))
    assert synced.answer.assignment == b"for s2"


def test_a_leader_that_comes_back_is_not_told_to_assign(static_story, make_join):
    come_back(static_story, make_join, "i1")
    assert static_story.group.leader_id == "s3"
    (finished, _) = static_story.happen(ReplacementStored(1, Replacement("s3", "s1", RANGE, "s1"), ErrorCode.NONE))
    assert (finished.answer.leader_id, finished.answer.members) == ("s1", ())


def test_one_that_can_not_be_stored_has_its_old_id_again(static_story, make_join):
    come_back(static_story, make_join, protocols=(("range", b"new"),))
    effects = static_story.happen(ReplacementStored(1, Replacement("s3", "s2", RANGE, "s1"), ErrorCode.NOT_COORDINATOR))
    assert FinishJoin("s3", JoinAnswer(ErrorCode.NOT_COORDINATOR, "", 1, "consumer", "range", "s1")) in effects
    assert CancelTimer("s3") in effects
    assert SetTimer("s2", static_story.now_ms + 10_000) in effects
    assert static_story.group.static_member_ids == {"i1": "s1", "i2": "s2"}
    assert static_story.group.members["s2"].protocols == RANGE
    assert static_story.happen(Heartbeat("s2", 1, "i2"))[-1] == Answer(ErrorCode.NONE)


def test_a_rebalance_that_begins_meanwhile_takes_the_join_over(static_story, make_join):
    come_back(static_story, make_join)
    static_story.happen(Leave("d"))
    assert static_story.group.phase is Phase.PREPARING_REBALANCE
    assert static_story.happen(ReplacementStored(1, Replacement("s3", "s2", RANGE, "s1"), ErrorCode.NONE)) == []
    effects = static_story.happen(make_join("s1", group_instance_id="i1"))
    assert {each.member_id for each in effects if isinstance(each, FinishJoin)} == {"s1", "s3"}
    assert static_story.group.generation == 2


def test_one_that_comes_back_twice_is_fenced_by_itself(static_story, make_join):
    come_back(static_story, make_join)
    effects = come_back(static_story, make_join, new_member_id="s4")
    assert FinishJoin("s3", JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, "s3")) in effects
    assert static_story.happen(ReplacementStored(1, Replacement("s3", "s2", RANGE, "s1"), ErrorCode.NONE)) == []
    effects = static_story.happen(ReplacementStored(1, Replacement("s4", "s3", RANGE, "s1"), ErrorCode.NONE))
    assert effects[0].member_id == "s4"


def test_another_choice_of_protocol_begins_a_rebalance(static_story, make_join):
    effects = come_back(static_story, make_join, protocols=STICKY)
    # All others know range alone.
    assert any(isinstance(each, StoreReplacement) for each in effects)
    static_story.happen(Leave("s1"))
    static_story.happen(Leave("d"))
    effects = come_back(static_story, make_join, new_member_id="s4", protocols=STICKY)
    assert static_story.group.phase is Phase.COMPLETING_REBALANCE
    assert static_story.group.protocol_name == "sticky"


def test_waits_of_the_one_before_are_fenced(static_story, make_join):
    static_story.happen(make_join("s1", group_instance_id="i1"))
    static_story.happen(make_join("s2", group_instance_id="i2"))
    assert static_story.group.phase is Phase.PREPARING_REBALANCE
    effects = come_back(static_story, make_join)
    assert FinishJoin("s2", JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, "s2")) in effects
    assert AwaitJoin("s3") in effects
    static_story.happen(make_join("d"))
    assert AwaitSync("s3") in static_story.happen(Sync("s3", 2, {}, "i2"))
    effects = come_back(static_story, make_join, new_member_id="s4")
    assert FinishSync("s3", SyncAnswer(ErrorCode.FENCED_INSTANCE_ID)) in effects
    # The leader was told of s3: what it assigns now would miss s4.
    assert static_story.group.phase is Phase.PREPARING_REBALANCE


def test_the_one_before_is_fenced_everywhere(static_story, make_join):
    come_back(static_story, make_join)
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert static_story.happen(make_join("s2", group_instance_id="i2")) == [AnswerJoin(JoinAnswer(fenced, "s2"))]
    assert static_story.happen(Sync("s2", 1, {}, "i2")) == [AnswerSync(SyncAnswer(fenced))]
    for event in [
        Heartbeat("s2", 1, "i2"),
        Leave("s2", "i2"),
        Commit("s2", 1, {}, "i2"),
        TxnCommit(7, 0, "s2", 1, {}, "i2"),
    ]:
        assert static_story.happen(event) == [Answer(fenced)]
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert static_story.happen(Heartbeat("s2", 1)) == [Answer(unknown)]
    assert static_story.happen(make_join("s1", group_instance_id="i9")) == [AnswerJoin(JoinAnswer(unknown, "s1"))]


def test_an_unused_member_id_belongs_to_nobody_static(story, make_join):
    story.happen(make_join(new_member_id="m1", is_member_id_required=True))
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    effects = story.happen(make_join("m1", group_instance_id="i"))
    assert effects == [AnswerJoin(JoinAnswer(error, ""))]
    assert story.happen(Leave("m1", "i")) == [Answer(error)]


@pytest.mark.parametrize("leave", [Leave("", "i2"), Leave("s2", "i2"), Leave("s2")])
def test_it_leaves_by_its_instance_id(static_story, leave):
    assert static_story.happen(leave)[-1] == Answer(ErrorCode.NONE)
    assert static_story.group.static_member_ids == {"i1": "s1"}
    assert static_story.happen(Leave("", "i2")) == [Answer(ErrorCode.UNKNOWN_MEMBER_ID)]


def test_it_stays_in_the_group_while_it_is_away(static_story, make_join):
    static_story.happen(make_join("s1", group_instance_id="i1"))
    static_story.now_ms += 60_000
    effects = static_story.happen(TimerFired(REBALANCE_TIMER))
    assert (static_story.group.generation, set(static_story.group.members)) == (2, {"s1", "s2"})
    (answer,) = [each.answer for each in effects if isinstance(each, FinishJoin)]
    assert [(each.member_id, each.group_instance_id) for each in answer.members] == [("s1", "i1"), ("s2", "i2")]
    # Its session began anew; after it the member is gone.
    assert SetTimer("s2", static_story.now_ms + 10_000) in effects
    static_story.happen(TimerFired("s2"))
    assert set(static_story.group.members) == {"s1"}


def test_another_one_leads_while_the_leader_is_away(static_story, make_join):
    static_story.happen(make_join("d", protocols=(("range", b"other"),)))
    static_story.now_ms += 60_000
    effects = static_story.happen(TimerFired(REBALANCE_TIMER))
    assert static_story.group.leader_id == "d"
    (answer,) = [each.answer for each in effects if isinstance(each, FinishJoin)]
    assert len(answer.members) == 3


def test_while_all_are_away_the_group_waits_for_them(static_story, make_join):
    static_story.happen(Leave("d"))
    static_story.now_ms += 60_000
    effects = static_story.happen(TimerFired(REBALANCE_TIMER))
    assert effects == [SetTimer(REBALANCE_TIMER, static_story.now_ms + 60_000)]
    assert (static_story.group.phase, static_story.group.generation) == (Phase.PREPARING_REBALANCE, 1)
    static_story.happen(TimerFired("s1"))
    static_story.happen(TimerFired("s2"))
    assert (static_story.group.phase, static_story.group.generation) == (Phase.EMPTY, 2)


def test_a_full_group_refuses_one_that_comes_back_and_keeps_its_place(make_story, make_join):
    story = make_story(GroupSettings(initial_rebalance_delay_ms=0, max_size=1))
    story.happen(make_join(new_member_id="s1", group_instance_id="i1"))
    story.happen(TimerFired(REBALANCE_TIMER))
    story.happen(Sync("s1", 1, {}))
    story.happen(GroupStored(1, {"s1": b""}, ErrorCode.NONE))
    refused = story.happen(make_join(new_member_id="s2", group_instance_id="i1"))
    assert refused == [AnswerJoin(JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, ""))]
    assert story.happen(Heartbeat("s1", 1, "i1"))[-1] == Answer(ErrorCode.NONE)
    assert story.group.static_member_ids == {"i1": "s1"}


def test_it_is_stored_and_read_again(static_story):
    group = static_story.group
    assignments = {member.member_id: member.assignment for member in group.members.values()}
    loaded = decode_group_value("g", encode_group_value(group, assignments), GroupSettings())
    assert loaded.static_member_ids == {"i1": "s1", "i2": "s2"}
    assert loaded.members["s2"].assignment == b"for s2"


def test_a_group_that_moves_answers_one_that_waits_to_be_stored(static_story, make_join):
    come_back(static_story, make_join)
    effects = static_story.happen(Unloaded())
    assert FinishJoin("s3", JoinAnswer(ErrorCode.NOT_COORDINATOR, "s3")) in effects
    assert static_story.happen(ReplacementStored(1, Replacement("s3", "s2", RANGE, "s1"), ErrorCode.NONE)) == []
