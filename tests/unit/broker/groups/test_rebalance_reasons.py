"""Why a group rebalanced: each reason once, who came and went, how long it took, and that all of it is bounded."""

import pytest

from barnabas.broker.diagnostics.rebalances import MOST_OF_A_GROUP, Note, Reason, Rebalances, Turn, Who
from barnabas.broker.groups.events import (
    REBALANCE_TIMER,
    GroupStored,
    Leave,
    Loaded,
    StoreReplacement,
    Sync,
    TimerFired,
    Unloaded,
)
from barnabas.broker.groups.group import GroupSettings
from barnabas.core.error_code import ErrorCode
from tests.unit.broker.groups.conftest import RANGE, Story, join_event

OTHER = (("range", b"other topics"),)


def last(story: Story) -> dict:
    """The group's latest rebalance."""
    row = story.rebalances.rows("g")[-1]
    assert isinstance(row, dict)
    return row


def finish(story: Story, *members: str) -> None:
    """All join again, and get their assignments 70 ms later."""
    for member in members:
        if not story.group.members[member].is_awaiting_join:
            story.happen(join_event(member))
    generation = story.group.generation
    assignments = dict.fromkeys(members, b"")
    for member in members:
        story.happen(Sync(member, generation, assignments))
    story.now_ms += 70
    story.happen(GroupStored(generation, assignments, ErrorCode.NONE))


def test_the_first_rebalance_of_a_group(story):
    story.stabilize("m1", "m2")
    assert last(story) | {"came": None} == {
        "group": "g",
        "began_ms": 0,
        "reason": "joined",
        "member": "m1",
        "client_id": "client",
        "host": "/127.0.0.1",
        "instance": None,
        "heard_ms": None,
        "came": None,
        "came_count": 2,
        "went": [],
        "went_count": 0,
        "last": {"member": "m2", "client_id": "client", "host": "/127.0.0.1", "instance": None},
        "generation": 1,
        "member_count": 2,
        "gather_ms": 6_000,
        "assign_ms": 0,
        "outcome": "stable",
    }
    assert [each["member"] for each in last(story)["came"]] == ["m1", "m2"]


def test_a_member_joins(stable_story):
    stable_story.happen(join_event(new_member_id="m3"))
    assert (last(stable_story)["reason"], last(stable_story)["member"]) == ("joined", "m3")
    assert last(stable_story)["outcome"] is None
    stable_story.now_ms += 500
    finish(stable_story, "m1", "m2", "m3")
    row = last(stable_story)
    assert (row["outcome"], row["gather_ms"], row["assign_ms"], row["last"]["member"]) == ("stable", 500, 70, "m2")


@pytest.mark.parametrize(("who", "reason"), [(("client", "/127.0.0.1"), "left"), (("admin", "/127.0.0.1"), "removed")])
def test_a_member_leaves_or_is_removed(stable_story, who, reason):
    stable_story.happen(Leave("m2", None, *who))
    row = last(stable_story)
    assert (row["reason"], row["member"], [each["why"] for each in row["went"]]) == (reason, "m2", [reason])


def test_a_session_expires(stable_story):
    heard_ms = stable_story.now_ms
    stable_story.now_ms += 10_000
    stable_story.happen(TimerFired("m2"))
    row = last(stable_story)
    assert (row["reason"], row["member"], row["heard_ms"]) == ("session_expired", "m2", heard_ms)


def test_a_member_is_not_back_in_time(stable_story):
    stable_story.happen(join_event("m1", protocols=OTHER))
    stable_story.now_ms += 60_000
    stable_story.happen(TimerFired(REBALANCE_TIMER))
    row = last(stable_story)
    assert (row["reason"], row["member"]) == ("subscription_changed", "m1")
    assert [(each["member"], each["why"]) for each in row["went"]] == [("m2", "poll_interval_exceeded")]
    assert (row["gather_ms"], row["member_count"]) == (60_000, 1)


def test_the_leader_asks_again(stable_story):
    stable_story.happen(join_event("m1"))
    assert last(stable_story)["reason"] == "leader_rejoined"


def test_an_assignment_is_not_stored(story):
    story.gather("m1")
    story.happen(Sync("m1", 1, {"m1": b""}))
    story.happen(GroupStored(1, {"m1": b""}, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    before, now = story.rebalances.rows("g")
    assert (before["outcome"], now["reason"], now["member"]) == ("again", "assignment_not_stored", None)


def test_a_static_member_comes_back_while_the_leader_assigns(story):
    story.happen(join_event(new_member_id="s1", group_instance_id="i1"))
    story.now_ms += 3_000
    story.happen(TimerFired(REBALANCE_TIMER))
    story.now_ms += 3_000
    story.happen(TimerFired(REBALANCE_TIMER))
    story.happen(join_event(new_member_id="s2", group_instance_id="i1"))
    first, second = story.rebalances.rows("g")
    assert (first["outcome"], second["reason"], second["member"]) == ("again", "static_replaced", "s2")
    assert second["instance"] == "i1"


def test_a_static_member_that_comes_back_to_a_stable_group_begins_none(story):
    story.gather("m1")
    finish(story, "m1")
    story.happen(join_event(new_member_id="s1", group_instance_id="i1"))
    finish(story, "m1", "s1")
    count = len(story.rebalances.rows("g"))
    effects = story.happen(join_event(new_member_id="s2", group_instance_id="i1"))
    assert any(isinstance(effect, StoreReplacement) for effect in effects)
    assert len(story.rebalances.rows("g")) == count


def test_a_group_that_was_loaded_is_too_large():
    story = Story(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    story.stabilize("m1", "m2")
    story.group.settings = GroupSettings(max_size=1)
    story.happen(Loaded())
    assert last(story)["reason"] == "too_many_members"
    assert story.rebalances.loaded_ms("g") == story.now_ms


@pytest.mark.parametrize(("member", "reason"), [("m1", "leader_rejoined"), ("m2", "joined")])
def test_who_joins_again_with_what_was_not_stored_has_no_other_subscription(member, reason):
    both = (*RANGE, ("roundrobin", b"topics of a member"))
    story = Story(GroupSettings(initial_rebalance_delay_ms=0))
    story.stabilize("m1", "m2")
    story.happen(join_event(member, protocols=both))
    assert last(story)["reason"] == reason


def test_a_coordinator_that_moves_ends_it(stable_story):
    stable_story.happen(join_event(new_member_id="m3"))
    stable_story.happen(Unloaded())
    assert last(stable_story)["outcome"] == "moved"


def test_the_last_member_leaves(story):
    story.stabilize("m1")
    story.happen(Leave("m1", None, "client", "/127.0.0.1"))
    assert (last(story)["reason"], last(story)["outcome"]) == ("left", "empty")


def begin_and_end(rebalances: Rebalances, group: str, now_ms: int) -> None:
    rebalances.note(group, Note(Turn.BEGAN, Reason.JOINED, Who("m" * 100, "c", "/h", None)), now_ms)
    rebalances.note(group, Note(Turn.STABLE), now_ms + 1)


def test_of_a_group_twenty_are_kept():
    rebalances = Rebalances(1 << 20)
    for number in range(MOST_OF_A_GROUP + 5):
        begin_and_end(rebalances, "g", number)
    assert [row["began_ms"] for row in rebalances.rows("g")] == list(range(5, MOST_OF_A_GROUP + 5))
    assert rebalances.left_out == 5


def test_of_many_groups_those_that_were_quiet_go_first():
    rebalances = Rebalances(100_000)
    for number in range(1_000):
        begin_and_end(rebalances, f"g{number}", number)
        begin_and_end(rebalances, "busy", number)
        assert rebalances.kept_bytes <= 100_000
    assert rebalances.rows("g0") == []
    assert len(rebalances.rows("g999")) == 1
    assert len(rebalances.rows("busy")) == MOST_OF_A_GROUP


def test_of_very_many_who_come_some_are_named_and_all_are_counted():
    rebalances = Rebalances(1 << 20)
    rebalances.note("g", Note(Turn.BEGAN, Reason.JOINED, Who("m", "c", "/h", None)), 0)
    for number in range(500):
        rebalances.note("g", Note(Turn.CAME, Reason.JOINED, Who(f"m{number}", "c", "/h", None)), 1)
    (row,) = rebalances.rows("g")
    assert (len(row["came"]), row["came_count"]) == (20, 501)


def test_what_was_told_when_it_ended_is_restored():
    rebalances, again = Rebalances(1 << 20), Rebalances(1 << 20)
    rebalances.ended = again.restore
    begin_and_end(rebalances, "g", 7)
    assert again.rows("g") == rebalances.rows("g")
    assert again.kept_bytes == rebalances.kept_bytes > 0


def test_all_that_is_forgotten_was_counted():
    rebalances = Rebalances(1)
    for number in range(50):
        begin_and_end(rebalances, "g", number)
        rebalances.note("g", Note(Turn.BEGAN, Reason.LEFT, Who("x", "c", "/h", "i")), number)
        rebalances.note("g", Note(Turn.WENT, Reason.LEFT, Who("y", "c", "/h", "i")), number)
    single = Rebalances(1 << 20)
    for row in rebalances.rows("g"):
        single.restore(row)
    assert single.kept_bytes == rebalances.kept_bytes
