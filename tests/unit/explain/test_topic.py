"""Why is a partition offline, under-replicated, below min.insync.replicas."""

from typing import Any

import pytest

from barnabas.clients.cluster_state import Partition
from barnabas.explain.finding import Certainty, Severity
from barnabas.explain.rules.topic import explain_topic
from barnabas.explain.snapshot import Snapshot
from tests.unit.explain.worlds import NOW_MS, VIEWS, cluster, directory, of, partition, settings, snapshot, verdicts

OFFLINE = partition(leader_id=-1, isr=[3])
LATE = partition(isr=[1, 2])


def test_a_topic_with_all_its_replicas_is_well() -> None:
    (found,) = explain_topic(snapshot(name="views"))
    assert (found.verdict, found.severity) == ("in-sync", Severity.FINE)
    assert found.text == "topic views: 3 partitions, each with a leader and all its replicas in sync"
    assert explain_topic(snapshot())[0].subject == "cluster"


def bad_log(trouble: str, broker_id: int = 3) -> dict[str, list[Any]]:
    log = {"topic": "views", "partition": 0, "trouble": trouble, "reason": "no batch at position 7"}
    return {"broker": [{"broker_id": broker_id, "bad_logs": [log]}]}


CASES = {
    "broker-gone": snapshot(LATE, away=(3,)),
    "directory-failed": snapshot(LATE, directories=[directory(3, "KAFKA_STORAGE_ERROR", {}), directory(2)]),
    "no-log": snapshot(LATE, directories=[directory(3, sizes={})]),
    "log-damaged": snapshot(LATE, directories=[directory(3, sizes={})], facts=bad_log("damaged")),
    "being-added": snapshot(partition(replicas=[1, 2, 3], isr=[1], adding=[3]), directories=[directory(3)]),
    "throttled": snapshot(
        LATE, directories=[directory(3)], settings=settings(follower_replication_throttled_replicas="0:3,1:3")
    ),
    "follower-behind": snapshot(LATE, directories=[directory(3, behind={VIEWS[0]: 70})]),
    "waits-for-replica": snapshot(OFFLINE, away=(1, 2, 3)),
    "unclean-election-off": snapshot(OFFLINE, away=(3,), settings=settings(unclean_leader_election_enable="false")),
    "not-elected": snapshot(partition(leader_id=-1, isr=[2]), directories=[directory(2)]),
}


@pytest.mark.parametrize("verdict", CASES)
def test_each_cause_is_named(verdict: str) -> None:
    assert verdict in verdicts(explain_topic(CASES[verdict]))


@pytest.mark.parametrize(
    ("lacking", "verdict", "severity"),
    [
        (OFFLINE, "offline", Severity.URGENT),
        (partition(isr=[1]), "under-min-isr", Severity.URGENT),
        (LATE, "under-replicated", Severity.PROBLEM),
    ],
)
def test_what_is_lacking_is_as_bad_as_it_is(lacking: Partition, verdict: str, severity: Severity) -> None:
    found = explain_topic(snapshot(lacking, away=(2, 3)))
    assert (found[0].verdict, found[0].severity) == (verdict, severity)


def test_a_broker_that_is_away_is_told_once_for_all_partitions() -> None:
    late = [partition(each, isr=[1, 2]) for each in VIEWS]
    (found,) = explain_topic(snapshot(*late, away=(3,)))
    (cause,) = found.causes
    assert cause.text == ("broker 3 (h:9093) does not answer: refused; it has a replica of views-0, views-1, views-2")
    assert cause.figures["partition_count"] == 3


def test_an_offline_partition_says_who_had_all_of_it_and_who_may_not_lead() -> None:
    found = explain_topic(CASES["unclean-election-off"])
    cause = of(found, "unclean-election-off")
    assert "only broker 3 (h:9093) had all records; replicas 1, 2 are available" in cause.text
    assert cause.commands == ("barnabas elect-leaders --election-type unclean --topic views --partition 0",)


def test_a_damaged_log_comes_before_who_waits_for_it() -> None:
    (found,) = explain_topic(snapshot(OFFLINE, facts=bad_log("damaged")))
    assert [each.verdict for each in found.causes[:2]] == ["log-damaged", "waits-for-replica"]
    assert "can't open its log of views-0, which is damaged: no batch at position 7; if" in found.causes[0].text
    # Another trouble, or another broker's log, is nothing that keeps one out.
    for facts in (bad_log("uncleanable"), bad_log("damaged", 2)):
        assert "log-damaged" not in verdicts(explain_topic(snapshot(LATE, facts=facts)))


def test_the_leaders_own_reason_makes_an_inference_a_measure() -> None:
    row = {"topic": "views", "partition": 0, "what": "isr", "reason": "follower behind"}
    world = CASES["follower-behind"]
    assert of(explain_topic(world), "follower-behind").certainty is Certainty.INFERRED
    told = snapshot(LATE, directories=world.directories, facts={"leaders": [{**row, "at_ms": NOW_MS, "broker_id": 1}]})
    found = of(explain_topic(told), "follower-behind")
    assert (found.certainty, found.since_ms) == (Certainty.MEASURED, NOW_MS)
    assert found.text.endswith("from the in-sync replicas: it was behind for replica.lag.time.max.ms")


def test_another_topic_is_not_told_of() -> None:
    assert [each.verdict for each in explain_topic(snapshot(LATE, away=(3,), name="other"))] == ["in-sync"]


def test_without_a_controller_nobody_is_elected() -> None:
    world: Snapshot = snapshot(cluster=cluster(partition(), controller_id=-1))
    assert verdicts(explain_topic(world)) == ["no-controller"]
