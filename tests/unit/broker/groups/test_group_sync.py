"""SyncGroup, as the pure group sees it."""

import pytest

from barnabas.broker.groups.events import (
    AnswerSync,
    AwaitSync,
    FinishJoin,
    FinishSync,
    GroupStored,
    SetTimer,
    StoreGroup,
    Sync,
    SyncAnswer,
    Unloaded,
)
from barnabas.broker.groups.group import Phase
from barnabas.core.error_code import ErrorCode


def test_leader_stores_the_assignments_with_empty_ones_for_the_missing(story):
    story.gather("m1", "m2")
    effects = story.happen(Sync("m1", 1, {"m1": b"all", "stranger": b"x"}))
    assert effects == [AwaitSync("m1"), StoreGroup(1, {"m1": b"all", "m2": b""})]


def test_everybody_is_answered_once_the_assignments_are_stored(story):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    story.happen(Sync("m1", 1, {"m1": b"one", "m2": b"two"}))
    effects = story.happen(GroupStored(1, {"m1": b"one", "m2": b"two"}, ErrorCode.NONE))
    answers = {each.member_id: each.answer for each in effects if isinstance(each, FinishSync)}
    assert {member_id: answer.assignment for member_id, answer in answers.items()} == {"m1": b"one", "m2": b"two"}
    assert SetTimer("m1", story.now_ms + 10_000) in effects
    assert story.group.phase is Phase.STABLE


def test_late_follower_gets_the_stored_assignment(stable_story):
    effects = stable_story.happen(Sync("m2", 1, {}))
    assert effects[0] == AnswerSync(SyncAnswer(ErrorCode.NONE, b"for m2", "consumer", "range"))


def test_failed_store_answers_everybody_and_starts_anew(story):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    story.happen(Sync("m1", 1, {}))
    effects = story.happen(GroupStored(1, {"m1": b"", "m2": b""}, ErrorCode.NOT_COORDINATOR))
    assert [each.answer.error_code for each in effects if isinstance(each, FinishSync)] == [
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_COORDINATOR,
    ]
    assert story.group.phase is Phase.PREPARING_REBALANCE


@pytest.mark.parametrize(
    ("event", "error_code"),
    [
        (Sync("stranger", 1, {}), ErrorCode.UNKNOWN_MEMBER_ID),
        (Sync("m1", 2, {}), ErrorCode.ILLEGAL_GENERATION),
        (Sync("m1", 0, {}), ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_sync_of_strangers_and_other_generations_is_refused(stable_story, event, error_code):
    assert stable_story.happen(event) == [AnswerSync(SyncAnswer(error_code))]


def test_sync_during_a_rebalance_is_told_so(stable_story, make_join):
    stable_story.happen(make_join("m1"))
    effects = stable_story.happen(Sync("m2", 1, {}))
    assert effects == [AnswerSync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))]


def test_unloading_sends_everybody_away(story, make_join):
    story.gather("m1", "m2")
    story.happen(Sync("m2", 1, {}))
    story.happen(make_join(new_member_id="m3"))
    effects = story.happen(Unloaded())
    joins = [each for each in effects if isinstance(each, FinishJoin)]
    assert [(each.member_id, each.answer.error_code) for each in joins] == [("m3", ErrorCode.NOT_COORDINATOR)]
    assert story.group.phase is Phase.DEAD
    assert story.happen(Sync("m1", 1, {})) == [AnswerSync(SyncAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))]
