"""Why did a group rebalance."""

import pytest

from barnabas.explain.finding import Certainty, Severity
from barnabas.explain.rules.group import explain_group
from tests.unit.explain.worlds import (
    MINUTE_MS,
    NOW_MS,
    VIEWS,
    group,
    group_facts,
    member,
    of,
    rebalance,
    snapshot,
    verdicts,
)

REASONS = (
    "joined",
    "left",
    "removed",
    "session_expired",
    "poll_interval_exceeded",
    "subscription_changed",
    "leader_rejoined",
    "static_replaced",
    "assignment_not_stored",
    "too_many_members",
    "one_of_a_later_release",
)


def told(*rebalances, state="Stable", **parts):
    groups = {"billing": group({}, [member(*VIEWS)], state)}
    return explain_group(snapshot(groups=groups, facts=group_facts(*rebalances), **parts))


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_told_as_a_sentence(reason: str) -> None:
    found = told(rebalance(reason))
    assert verdicts(found) == ["rebalanced", reason.replace("_", "-")]
    assert found[0].severity is Severity.FINE
    assert found[0].causes[0].text.startswith("once: ")


def test_where_nobody_began_it_who_went_for_the_same_reason_is_named() -> None:
    went = [{"client_id": name, "host": "/10.0.0.7", "why": "too_many_members"} for name in ("late", "later")]
    went.append({"client_id": "other", "host": "/10.0.0.7", "why": "left"})
    (cause,) = told(rebalance("too_many_members", client_id=None, went=went))[0].causes
    assert cause.text.startswith("once: no room for late at /10.0.0.7, later at /10.0.0.7: ")


def test_a_session_that_is_over_says_when_it_was_heard_last() -> None:
    row = rebalance("session_expired", heard_ms=NOW_MS - MINUTE_MS - 10_000)
    assert "no heartbeat of reader at /10.0.0.7 came within session.timeout.ms (the last one came 10.0 s before)" in (
        told(row)[0].text
    )


def test_a_group_that_rebalances_often_says_how_often_and_how_long_nobody_read() -> None:
    rows = [rebalance("left", 10), rebalance("joined", 6), rebalance("joined", 3, gather_ms=60_000)]
    (found,) = told(*rows)
    assert verdicts([found]) == ["rebalances-often", "joined", "left"]
    assert found.severity is Severity.PROBLEM
    assert found.figures["idle_part"] == pytest.approx((60_100 + 2 * 3_100) / (10 * MINUTE_MS))
    assert found.text == (
        "group billing rebalanced 3 times, and interrupted its members 3 times in the last 10 min; reading stopped "
        "for 66.3 s, 11% of the time since the first one; the last one: reader at /10.0.0.7 joined"
    )


def test_a_first_join_and_a_last_leave_are_no_problem() -> None:
    first = rebalance("joined", 9, member_count=1)
    last = rebalance("left", 0.1, member_count=0, outcome="empty")
    (found,) = told(
        first, rebalance("left", 5, member_count=0, outcome="empty"), rebalance("joined", 1, member_count=1), last
    )
    assert (found.verdict, found.severity, found.figures["idle_ms"]) == ("rebalanced", Severity.FINE, 0)
    assert found.figures["rebalance_count"] == 4
    assert "reading stopped" not in found.text
    # Members that join a group that reads, or die, disturb it.
    assert told(first, *[rebalance("joined", 2)] * 3)[0].severity is Severity.PROBLEM
    assert told(first, *[rebalance("session_expired", 2, outcome="empty", member_count=0)] * 3)[0].severity is (
        Severity.PROBLEM
    )


def test_a_first_join_that_goes_on_is_no_problem() -> None:
    row = rebalance("joined", 0.05, outcome=None, gather_ms=None, assign_ms=None, member_count=None)
    (found,) = told(row, state="PreparingRebalance")
    assert (found.verdict, found.severity) == ("rebalancing", Severity.FINE)
    assert told({**row, "came_count": 0}, state="PreparingRebalance")[0].severity is Severity.PROBLEM


def test_a_part_of_the_time_is_told_of_ten_minutes_at_least() -> None:
    rows = [rebalance("joined", 6, gather_ms=300_000), rebalance("left", 1, gather_ms=30_000)]
    (found,) = told(*rows)
    assert (found.verdict, found.figures["idle_part"]) == ("rebalanced", None)
    assert "of the time" not in found.text
    (found,) = told(rebalance("joined", 12), *rows)
    assert (found.verdict, found.severity) == ("rebalances-often", Severity.PROBLEM)
    assert "of the time since the first one" in found.text


def test_of_a_single_rebalance_no_part_of_the_time_is_told() -> None:
    (found,) = told(rebalance("joined", 13, gather_ms=7))
    assert "of the time" not in found.text
    assert found.figures["idle_part"] > 0


def test_the_last_member_is_named_where_others_waited_for_it() -> None:
    last = {"member": "slow-1", "client_id": "slow", "host": "/10.0.0.8", "instance": None}
    assert told(rebalance("joined", last=last, gather_ms=40_000))[0].text.endswith(
        "it waited longest for slow at /10.0.0.8, 40.0 s"
    )


def test_who_made_a_rebalance_wait_in_vain_comes_before_who_began_it() -> None:
    slow = {"member": "slow-1", "client_id": "slow", "host": "/10.0.0.8", "instance": None}
    went = [{**slow, "why": "poll_interval_exceeded"}]
    (found,) = told(rebalance("joined", went=went, gather_ms=60_000, last=slow))
    assert verdicts([found]) == ["rebalanced", "poll-interval-exceeded", "joined"]
    assert found.text.endswith("reader at /10.0.0.7 joined; slow at /10.0.0.8 did not rejoin in 60.0 s")
    assert found.causes[0].text.startswith("once: slow at /10.0.0.8 did not rejoin within max.poll.interval.ms")


def test_a_rebalance_that_goes_on_is_a_problem_and_counts_as_idle_until_now() -> None:
    row = rebalance("left", 2, outcome=None, gather_ms=None, assign_ms=None)
    (found,) = told(row, state="PreparingRebalance")
    assert (found.verdict, found.severity, found.figures["idle_ms"]) == ("rebalancing", Severity.PROBLEM, 2 * MINUTE_MS)
    assert "rebalances now and waits for its members to join" in found.text


def test_what_happened_before_the_window_does_not_count() -> None:
    assert verdicts(told(rebalance("left", 61))) == ["at-rest"]


def test_where_no_reasons_are_kept_two_looks_tell_who_came_and_went_and_why_is_unknown() -> None:
    now = {"billing": group({}, [member(*VIEWS), member(client_id="new")])}
    before = {"billing": [member(*VIEWS), member(client_id="old")]}
    found = explain_group(snapshot(groups=now, members_before=before, reporters=set()))
    assert verdicts(found) == ["members-changed", "unknown"]
    assert found[0].text == "group billing is Stable with 2 members; joined: new at /10.0.0.7; left: old at /10.0.0.7"
    assert of(found, "unknown").certainty is Certainty.UNKNOWN


def test_a_coordinator_that_does_not_answer_is_named() -> None:
    found = explain_group(snapshot(groups={"billing": group({}, [member()])}, silent={1: "refused"}))
    assert of(found, "unknown").silent == (1,)


def test_a_coordinator_that_is_new_is_told_where_a_rebalance_followed() -> None:
    groups = {"billing": group({}, [member(*VIEWS)], "Stable")}
    rows = [rebalance("leader_rejoined", 5), rebalance("joined", 1)]
    (found,) = explain_group(snapshot(groups=groups, facts=group_facts(*rows, loaded_ms=NOW_MS - 6 * MINUTE_MS)))
    assert verdicts([found]) == ["rebalanced", "leader-rejoined", "coordinator-moved", "joined"]
    cause = found.causes[0].causes[0]
    assert (cause.certainty, cause.figures["rebalance_count"]) == (Certainty.INFERRED, 1)
    assert cause.text.startswith("broker 1 became its coordinator, or was started, 60.0 s before")
    (found,) = explain_group(snapshot(groups=groups, facts=group_facts(*rows, loaded_ms=NOW_MS - 30 * MINUTE_MS)))
    assert "coordinator-moved" not in verdicts([found])


def test_what_members_do_of_their_own_accord_comes_of_no_coordinator_that_is_new() -> None:
    groups = {"billing": group({}, [member(*VIEWS)], "Stable")}
    rows = [rebalance("left", 5), rebalance("joined", 4)]
    (found,) = explain_group(snapshot(groups=groups, facts=group_facts(*rows, loaded_ms=NOW_MS - 6 * MINUTE_MS)))
    assert verdicts([found]) == ["rebalanced", "left", "joined", "coordinator-moved"]
    own = [rebalance(reason, 5) for reason in ("left", "removed", "subscription_changed")]
    (found,) = explain_group(snapshot(groups=groups, facts=group_facts(*own, loaded_ms=NOW_MS - 6 * MINUTE_MS)))
    assert "coordinator-moved" not in verdicts([found])
