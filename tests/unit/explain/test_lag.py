"""Why is there lag: one cause at a time, and what is said of it."""

import pytest

from barnabas.clients.transaction_log import TransactionState, TransactionStatus
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Severity
from barnabas.explain.rules.lag import explain_lag
from barnabas.explain.snapshot import OpenTransaction, UnreadRecords
from tests.unit.explain.worlds import (
    MINUTE_MS,
    NOW_MS,
    VIEWS,
    behind,
    group,
    group_facts,
    log,
    member,
    of,
    partition,
    rebalance,
    snapshot,
    verdicts,
)

NONE_AHEAD = {("billing", VIEWS[0]): UnreadRecords(None, 0, is_whole=True)}


def hold(**more):
    row = {"client_id": "reader", "user": "alice", "quota": "consumer_byte_rate", "count": 7, "total_ms": 9_000}
    return {**row, "throttle_ms": 2_000, "first_ms": NOW_MS - MINUTE_MS, "last_ms": NOW_MS, "broker_id": 1, **more}


def slow_fetch(ago_ms=0):
    row = {"api": "Fetch", "client_id": "reader", "waited_for": "disk", "broker_id": 1, "total_ms": 2_000}
    return {**row, "at_ms": NOW_MS - 2_000 - ago_ms}


def full(ago_ms=0):
    row = {"client_id": "reader", "setting": "max.partition.fetch.bytes", "most_bytes": 1_048_576, "broker_id": 1}
    return {**row, "last_ms": NOW_MS - ago_ms}


OPENED = OpenTransaction(VIEWS[0], 7, 0, 600, NOW_MS - MINUTE_MS, is_hanging=False)

CASES = {
    "no-lag": behind(1_000, log()),
    "no-leader": behind(5, log(), logs={}, cluster=None, away=(1,)),
    "never-committed": snapshot(groups={"billing": group({}, [member(VIEWS[0])])}, logs={VIEWS[0]: log()}),
    "behind-start": behind(5, log(start=400)),
    "beyond-end": behind(2_000, log()),
    "open-transaction": behind(600, log(stable=600, end=900), unread=NONE_AHEAD, open_transactions=[OPENED]),
    "markers-only": behind(990, log(), unread=NONE_AHEAD),
    "group-empty": behind(5, log(), ()),
    "rebalancing": behind(5, log(), state="PreparingRebalance"),
    "not-assigned": behind(5, log(), [member()]),
    "not-assigned, and new": snapshot(
        groups={"billing": group({VIEWS[0]: 1_000}, [member(VIEWS[0])])}, logs=dict.fromkeys(VIEWS[:2], log())
    ),
    "held": behind(5, log(), facts={"holds": [hold()]}),
    "commits-nothing": behind(5, log(per_s=2)),
    "falls-behind": behind(500, log(per_s=2), per_s=1),
    "asks-seldom": behind(500, log(per_s=2), per_s=1, fetched={(1, "reader"): [0, 0, 9, 0, 0, 0] * 5}),
    "cold": behind(500, log(per_s=2), per_s=1, facts={"requests": [slow_fetch()]}),
    "answers-full": behind(500, log(per_s=2), per_s=1, facts={"full_answers": [full()]}),
    "falls-behind, and answers were full": behind(
        500, log(per_s=2), per_s=1, facts={"full_answers": [full(ago_ms=60_000)]}
    ),
    "falls-behind, and asks often": behind(500, log(per_s=2), per_s=1, fetched={(1, "reader"): [0, 9] * 15}),
    "falls-behind, and was cold": behind(500, log(per_s=2), per_s=1, facts={"requests": [slow_fetch(60_000)]}),
    "catches-up": behind(500, log(per_s=1), per_s=2),
    "keeps-up": behind(
        990, log(per_s=10), per_s=10, unread={("billing", VIEWS[0]): UnreadRecords(NOW_MS - 900, 10, True)}
    ),
}
CASES["no-leader"].cluster.partitions[:] = [partition(leader_id=-1, isr=[1])]


@pytest.mark.parametrize("verdict", CASES)
def test_each_cause_is_named_alone(verdict: str) -> None:
    found = explain_lag(CASES[verdict])
    assert len(found) == 1
    top, *causes = verdicts(found)
    assert (causes[:1] or [top]) == [verdict.partition(",")[0]]
    assert len(found[0].causes) <= 1


def test_a_group_that_is_behind_says_by_how_much() -> None:
    (found,) = explain_lag(CASES["falls-behind"])
    assert found.text == (
        "group billing is 500 records behind in 1 of 1 partitions; the oldest record that it has not committed is "
        "2.0 min old"
    )
    assert (found.severity, found.figures["lag_records"], found.figures["oldest_ms"]) == (
        Severity.PROBLEM,
        500,
        2 * MINUTE_MS,
    )
    cause = found.causes[0]
    assert cause.text == (
        "views-0: 2 records/s arrive and only 1 records/s are committed: at this pace the group never catches up"
    )
    assert cause.certainty is Certainty.INFERRED


def test_where_nothing_moves_it_is_said_so() -> None:
    unread = {("billing", VIEWS[0]): UnreadRecords(NOW_MS - 20_000, 500, is_whole=True)}
    cause = of(explain_lag(behind(500, log(per_s=0), per_s=0, unread=unread)), "falls-behind")
    assert cause.text == "views-0: nothing arrives and nothing is committed: at this pace the group never catches up"


def test_who_asks_seldom_is_said_how_seldom() -> None:
    cause = of(explain_lag(CASES["asks-seldom"]), "asks-seldom")
    assert "reader fetches once in 6 s" in cause.text
    assert (cause.certainty, cause.figures["between_fetches_s"]) == (Certainty.INFERRED, 6)


def test_whose_answers_are_full_is_said_what_keeps_them_small() -> None:
    cause = of(explain_lag(CASES["answers-full"]), "answers-full")
    assert "; responses to reader are full at 1.0 MiB (max.partition.fetch.bytes)" in cause.text
    assert (cause.certainty, cause.figures["most_bytes"]) == (Certainty.INFERRED, 1_048_576)


def test_catching_up_is_said_with_when_it_is_done() -> None:
    cause = of(explain_lag(CASES["catches-up"]), "catches-up")
    assert cause.figures["done_in_ms"] == 500_000
    assert cause.text.endswith("catches up in 8.3 min")


def test_records_lost_below_the_logs_start_are_counted() -> None:
    assert of(explain_lag(CASES["behind-start"]), "behind-start").figures["lost_records"] == 395


def test_a_transaction_in_the_way_is_named_with_its_end() -> None:
    world = CASES["open-transaction"]
    world.transactional_ids = {
        "pay": TransactionState("pay", 3, 7, 0, 90_000, TransactionStatus.Ongoing, [VIEWS[0]], 0, NOW_MS - MINUTE_MS)
    }
    found = explain_lag(world)
    assert verdicts(found) == ["behind", "open-transaction", "open"]
    assert of(found, "open").text == (
        "transactional id pay has a transaction open for 60.0 s in views-0 from offset 600 on; unless it ends before, "
        "its coordinator aborts it in 30.0 s (transaction.timeout.ms)"
    )


def test_a_transaction_that_hangs_is_urgent_and_can_be_aborted() -> None:
    opened = [OPENED._replace(is_hanging=True)]
    found = explain_lag(behind(600, log(stable=600, end=900), unread=NONE_AHEAD, open_transactions=opened))
    assert verdicts(found) == ["behind", "open-transaction", "hanging"]
    assert found[0].severity is Severity.URGENT
    assert found[0].causes[0].causes[0].commands[1] == (
        "barnabas transactions abort --topic views --partition 0 --start-offset 600"
    )


def test_who_reads_what_is_not_committed_is_not_held_by_a_transaction() -> None:
    assert verdicts(explain_lag(behind(700, log(stable=600, end=900, per_s=2), per_s=1))) == ["behind", "falls-behind"]


def test_a_rebalance_that_goes_on_says_why() -> None:
    world = behind(5, log(), state="PreparingRebalance", facts=group_facts(rebalance("left", 0.1, outcome=None)))
    assert "reader at /10.0.0.7 left" in of(explain_lag(world), "rebalancing").text


def test_an_empty_group_says_who_went_last() -> None:
    went = [{"client_id": "reader", "host": "/10.0.0.7", "why": "session_expired"}]
    world = behind(5, log(), (), facts=group_facts(rebalance("session_expired", 4, went=went, outcome="empty")))
    cause = of(explain_lag(world), "group-empty")
    assert cause.text.endswith("last to leave: reader (session_expired)")
    assert cause.since_ms == NOW_MS - 4 * MINUTE_MS


def test_offsets_that_are_committed_without_members_are_read_by_somebody() -> None:
    assert verdicts(explain_lag(behind(500, log(per_s=1), (), per_s=2))) == ["behind", "catches-up"]


def test_a_hold_of_another_client_or_of_long_ago_is_none() -> None:
    for row in (hold(client_id="other"), hold(last_ms=NOW_MS - 23_000), hold(quota="producer_byte_rate")):
        assert "held" not in verdicts(explain_lag(behind(5, log(), facts={"holds": [row]})))


def test_a_leader_that_does_not_answer_is_named_and_leaves_it_unknown() -> None:
    found = explain_lag(behind(5, log(), logs={}, silent={1: "no answer came within 5 s"}))
    assert verdicts(found) == ["behind", "leader-silent"]
    assert found[0].silent == (1,)
    assert found[0].causes[0].certainty is Certainty.UNKNOWN
    assert "the leader, broker 1 (h:9091), does not report the end offset: no answer" in found[0].causes[0].text


def test_a_topic_that_is_gone_is_no_partition_without_a_leader() -> None:
    world = behind(5, log())
    world.groups["billing"].committed[TopicPartition("gone", 0)] = 9
    assert "no-topic" in verdicts(explain_lag(world))


def test_rates_that_nobody_saw_are_unknown() -> None:
    world = behind(500, log())
    world.groups["billing"].commits.clear()
    assert of(explain_lag(world), "unknown").certainty is Certainty.UNKNOWN


@pytest.mark.parametrize(("per_s", "why"), [(9.0, "most keys are written there"), (0.1, "its reader is slower")])
def test_one_partition_with_all_the_lag_is_told_apart(per_s: float, why: str) -> None:
    logs = {VIEWS[0]: log(per_s=per_s), VIEWS[1]: log(per_s=0.5), VIEWS[2]: log(per_s=0.5)}
    offsets = {VIEWS[0]: 0, VIEWS[1]: 1_000, VIEWS[2]: 995}
    unread = {
        ("billing", VIEWS[0]): UnreadRecords(0, 1_000, True),
        ("billing", VIEWS[2]): UnreadRecords(NOW_MS, 5, True),
    }
    world = snapshot(groups={"billing": group(offsets, [member(*VIEWS)], per_s=0.05)}, logs=logs, unread=unread)
    found = explain_lag(world)
    assert "one-partition" in verdicts(found)
    assert why in of(found, "one-partition").text


def test_one_partition_is_not_told_apart_where_lag_has_nothing_to_do_with_pace() -> None:
    world = snapshot(
        groups={"billing": group({}, [member(*VIEWS)])}, logs={**dict.fromkeys(VIEWS, log(0, 0)), VIEWS[0]: log()}
    )
    assert verdicts(explain_lag(world)) == ["behind", "never-committed"]


def test_causes_of_many_partitions_are_told_together() -> None:
    logs = dict.fromkeys(VIEWS, log(start=400))
    world = snapshot(groups={"billing": group(dict.fromkeys(VIEWS, 5), [member(*VIEWS)])}, logs=logs)
    (cause,) = explain_lag(world)[0].causes
    assert cause.figures["partitions"] == ["views-0", "views-1", "views-2"]
    assert cause.figures["lost_records"] == 3 * 395


def test_a_group_without_partitions_reads_nothing() -> None:
    assert verdicts(explain_lag(snapshot(groups={"billing": group({})}))) == ["reads-nothing"]
