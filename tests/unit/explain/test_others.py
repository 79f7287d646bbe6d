"""Disks, slow requests, clients, brokers, and what is listed without a question."""

from typing import Any

import pytest

from barnabas.explain.finding import Certainty, Severity
from barnabas.explain.rules.broker import explain_broker
from barnabas.explain.rules.client import explain_client
from barnabas.explain.rules.disk import explain_disk
from barnabas.explain.rules.overview import explain_all
from barnabas.explain.rules.slow import explain_slow
from barnabas.explain.snapshot import Scope
from barnabas.wire.quotas.entities import DEFAULT, Entity
from tests.unit.explain.worlds import (
    MINUTE_MS,
    NOW_MS,
    VIEWS,
    behind,
    directory,
    log,
    of,
    partition,
    settings,
    snapshot,
    verdicts,
)

GIB = 1 << 30

# --- disk


def test_a_disk_that_is_nearly_full_says_when_it_is_full() -> None:
    world = snapshot(
        directories=[directory(total_bytes=100 * GIB, free_bytes=5 * GIB)],
        facts={"broker": [{"broker_id": 1, "minutes": [{"produced_bytes_per_s": GIB / 3_600}]}]},
    )
    (found,) = explain_disk(world)
    assert (found.verdict, found.severity, found.certainty) == ("nearly-full", Severity.PROBLEM, Certainty.INFERRED)
    assert (
        "95% of its disk is used, 5.0 GiB are free; at the 291 KiB/s that clients write to it, it is full in 5.0 h"
        in found.text
    )


def test_a_disk_fills_with_what_other_brokers_lead_and_shares_a_broker_with_other_disks() -> None:
    disk: dict[str, Any] = {"total_bytes": 100 * GIB, "free_bytes": 60 * GIB}
    own, other = directory(1, **disk), directory(2, sizes={VIEWS[0]: 1000}, **disk)
    second = directory(2, sizes={VIEWS[1]: 1000}, **disk)._replace(path="/logs/2b")
    rates = {1: 4 * GIB / 3_600, 2: 2 * GIB / 3_600, 3: 0}
    found = explain_disk(
        snapshot(
            partition(VIEWS[0], 1, [1, 2]),
            partition(VIEWS[1], 2, [2, 1]),
            directories=[own, other, second, directory(3, sizes={}, **disk)],
            facts={"broker": [{"broker_id": n, "minutes": [{"produced_bytes_per_s": r}]} for n, r in rates.items()]},
        )
    )
    full_ms = {each.subject: each.figures.get("full_in_ms") for each in found}
    hour_ms = 60 * MINUTE_MS
    assert full_ms == {
        "directory /logs/1 of broker 1": 10 * hour_ms,
        "directory /logs/2 of broker 2": 15 * hour_ms,
        "directory /logs/2b of broker 2": 30 * hour_ms,
        "directory /logs/3 of broker 3": None,
    }


def test_a_directory_that_failed_is_urgent_and_one_that_tells_nothing_is_unknown() -> None:
    found = explain_disk(snapshot(directories=[directory(), directory(2, "KAFKA_STORAGE_ERROR")]))
    assert verdicts(found) == ["failed", "used"]
    assert found[1].certainty is Certainty.UNKNOWN


def test_what_is_never_removed_is_told_with_where_that_is_set() -> None:
    found = explain_disk(
        snapshot(directories=[directory()], settings=settings(retention_ms="-1", retention_bytes="-1"))
    )
    assert verdicts(found) == ["used", "kept-forever"]
    assert "retention.ms=-1 (by topic)" in of(found, "kept-forever").text


def test_a_log_that_is_not_compacted_any_more_is_told_without_its_topic() -> None:
    log = {"topic": "views", "partition": 0, "trouble": "uncleanable", "reason": "offset 7 is damaged"}
    facts = {
        "broker": [{"broker_id": 2, "limits": [], "minutes": [], "bad_logs": [log, {**log, "trouble": "damaged"}]}]
    }
    found = explain_disk(snapshot(facts=facts))
    assert verdicts(found) == ["uncleanable"]
    assert (found[0].subject, found[0].commands) == ("partition views-0", ("barnabas explain disk views",))
    assert found[0].text.endswith("until that broker restarts: offset 7 is damaged")
    assert "uncleanable" in verdicts(explain_all(snapshot(facts=facts)))


def stored(*segments, **more):
    row = {"topic": "views", "partition": 0, "broker_id": 1, "is_leader": True, "segments": segments, "removed": []}
    return {**row, "compaction": None, "failure": None, **more}


@pytest.mark.parametrize(
    ("kept_by", "severity"),
    [
        ("active", Severity.FINE),
        ("high watermark", Severity.FINE),
        ("retention.ms", Severity.FINE),
        ("retention.bytes", Severity.FINE),
        ("timestamp in the future", Severity.PROBLEM),
        ("older segment", Severity.FINE),
        ("compaction", Severity.FINE),
        ("no rule", Severity.FINE),
    ],
)
def test_why_a_segment_is_still_here(kept_by: str, severity: Severity) -> None:
    segment = {"base": 0, "bytes": 100, "goes_at_ms": None, "rule": None, "kept_by": kept_by}
    row = stored(segment)
    world = snapshot(name="views", directories=[directory()], facts={"segments": [row]})
    world.settings = settings(cleanup_policy="delete", retention_ms="60000")
    found = explain_disk(world)
    assert verdicts(found)[1:] == [f"kept-{kept_by.replace(' ', '-').replace('.', '-')}"]
    assert found[0].causes[0].severity is severity
    assert "retention.ms=60000 (topic)" in found[0].text


def test_a_segment_whose_time_is_over_waits_for_the_next_look() -> None:
    segment = {"base": 0, "bytes": 100, "goes_at_ms": None, "rule": "retention.ms", "kept_by": None}
    found = explain_disk(snapshot(name="views", facts={"segments": [stored(segment)]}))
    assert verdicts(found) == ["kept", "going"]
    assert "it has expired" in found[0].causes[0].text


def test_a_segment_that_goes_says_when() -> None:
    segment = {
        "base": 0,
        "bytes": 100,
        "goes_at_ms": NOW_MS + MINUTE_MS,
        "rule": "retention.ms",
        "kept_by": "retention.ms",
    }
    row = stored(segment, segment)
    found = explain_disk(snapshot(name="views", facts={"segments": [row]}))
    assert found[0].causes[0].text == (
        "views-0 on broker 1: 2 segments of 200 bytes stay: its newest record is not old enough (retention.ms); the "
        "next one is deleted in 60.0 s"
    )


def test_what_retention_took_and_what_is_not_compacted_any_more_is_told() -> None:
    dirty = {"dirty_ratio": 0.25, "uncleanable": "offset 7 is damaged"}
    removed = [{"at_ms": NOW_MS - MINUTE_MS, "base": 0, "bytes": 9, "rule": "retention.ms"}]
    kept = {"base": 9, "bytes": 100, "goes_at_ms": None, "rule": None, "kept_by": "compaction"}
    row = stored(kept, removed=removed, compaction=dirty)
    found = explain_disk(snapshot(name="views", facts={"segments": [row, {**row, "is_leader": False}]}))
    assert verdicts(found) == ["kept", "uncleanable", "removed", "kept-compaction"]
    assert "1 segment of views-0 deleted recently, the last one by retention.ms 60.0 s ago" in found[0].causes[1].text
    assert found[0].causes[2].text.endswith("25% of it is new since it was compacted")
    assert verdicts(explain_disk(snapshot(name="views", facts={"segments": [stored(failure="gone")]}))) == [
        "kept",
        "unreadable",
    ]


def test_segments_of_a_kafka_are_unknown() -> None:
    assert verdicts(explain_disk(snapshot(name="views", reporters=set()))) == ["kept", "unknown"]


# --- slow


def request(**more):
    row = {"api": "Produce", "client_id": "app", "at_ms": NOW_MS - 1_000, "waited_for": None, "broker_id": 1}
    row |= {"total_ms": 900, "queue_ms": 1, "local_ms": 2, "remote_ms": 3, "send_ms": 4, "throttle_ms": 0}
    return {**row, **more}


@pytest.mark.parametrize("stage", ["queue", "local", "remote", "send"])
def test_the_stage_that_took_the_time_is_named(stage: str) -> None:
    found = explain_slow(snapshot(facts={"requests": [request(**{f"{stage}_ms": 880})]}))
    assert verdicts(found) == [f"slow-{stage}"]
    assert found[0].figures["stage_ms"] == 880


def test_what_it_waited_for_is_told_and_a_stall_of_that_time_below_it() -> None:
    stall = {"at_ms": NOW_MS - 1_100, "ms": 400, "computing_ms": 0, "what": "fsync", "broker_id": 1}
    facts = {"requests": [request(remote_ms=880, waited_for="followers")] * 2, "stalls": [stall]}
    found = explain_slow(snapshot(facts=facts))
    assert verdicts(found) == ["slow-remote", "stalled"]
    assert (
        "2 Produce requests of app took 1.8 s in total, up to 900 ms each; 98% of that time they waited for the "
        "followers to replicate its records (acks=all)" in (found[0].text)
    )


def test_slow_requests_of_another_client_or_of_long_ago_are_left_out() -> None:
    facts = {"requests": [request(client_id="other"), request(at_ms=0)]}
    assert verdicts(explain_slow(snapshot(name="app", facts=facts))) == ["not-slow"]


def test_of_a_kafka_its_round_trip_is_known_alone() -> None:
    (found,) = explain_slow(snapshot(round_trips_ms={2: 1.25}, reporters=set()))
    assert (found.verdict, found.certainty, found.figures["round_trip_ms"]) == ("round-trip", Certainty.UNKNOWN, 1.25)


# --- client


def limited(**more):
    quota = {"key": "producer_byte_rate", "unit": "bytes/s", "limit": 1_000.0, "level": 3, "why": "it is alice's"}
    quota |= {"rate": 900.0, "is_measured": True, "throttle_ms": 0, "held_count": 0, "sharers": []}
    return {"broker_id": 1, "user": "alice", "client_id": "app", "quotas": [{**quota, **more}, {"limit": None}]}


def test_a_client_that_is_held_is_told_the_limit_and_who_shares_it() -> None:
    sharers = [{"client_id": "app", "user": "alice"}, {"client_id": "other", "user": "alice"}]
    world = snapshot(limits=[limited(throttle_ms=1_500, sharers=sharers)])
    found = explain_client(world)
    assert verdicts(found) == ["held"]
    assert found[0].text.endswith("measured 900 bytes/s, the next request waits 1.5 s; other shares it")


def test_a_connection_that_is_still_held_is_told_though_the_next_request_would_not_wait() -> None:
    found = explain_client(snapshot(limits=[limited(held_count=1)]))
    assert verdicts(found) == ["held"]
    assert found[0].text.endswith("measured 900 bytes/s, 1 connection throttled now")


def test_a_limit_that_holds_nobody_is_fine() -> None:
    assert verdicts(explain_client(snapshot(limits=[limited()]))) == ["limited", "not-held"]


def test_holds_of_the_hour_are_added_up() -> None:
    row = {"client_id": "app", "user": "alice", "quota": "producer_byte_rate", "broker_id": 1, "count": 2}
    row |= {"throttle_ms": 700, "total_ms": 1_000, "first_ms": NOW_MS - MINUTE_MS, "last_ms": NOW_MS}
    found = explain_client(snapshot(scope=Scope(client_id="app"), facts={"holds": [row, {**row, "broker_id": 2}]}))
    assert verdicts(found) == ["was-held"]
    assert found[0].text == (
        "app of alice was throttled 4 times by producer_byte_rate: 2.0 s in total, up to 700 ms at a time"
    )


def test_a_wait_for_receive_memory_is_no_quotas() -> None:
    row = {"client_id": "app", "user": "alice", "quota": "queued.max.request.bytes", "broker_id": 1, "count": 1}
    row |= {"throttle_ms": 700, "total_ms": 700, "first_ms": NOW_MS - MINUTE_MS, "last_ms": NOW_MS}
    (found,) = explain_client(snapshot(scope=Scope(client_id="app"), facts={"holds": [row]}))
    assert verdicts([found]) == ["was-held"]
    assert found.commands == ("barnabas explain broker 1",)
    assert found.text == (
        "app of alice was throttled once by queued.max.request.bytes: 700 ms in total, up to 700 ms at a time; the "
        "broker had no memory left to receive its requests: raise the setting, or send less at once"
    )


def test_of_a_kafka_limits_follow_from_their_order() -> None:
    configured_quotas = {
        Entity("alice", DEFAULT): {"producer_byte_rate": 5_000.0},
        Entity(None, "app"): {"request_percentage": 9.0},
    }
    world = snapshot(scope=Scope(user="alice", client_id="app"), configured_quotas=configured_quotas, reporters=set())
    found = explain_client(world)
    assert verdicts(found) == ["limited", "limited", "not-held"]
    assert [each.certainty for each in found] == [Certainty.UNKNOWN] * 3


# --- broker, and all


def test_a_broker_may_stop_or_says_why_not() -> None:
    assert verdicts(explain_broker(snapshot())) == ["may-stop"] * 3
    (found,) = explain_broker(snapshot(partition(isr=[1, 2], replicas=[1, 2]), name="1"))
    assert found.text == "broker 1 (h:9091) may not stop now: acks=all would fail for views-0"


def test_a_broker_that_nobody_knows_is_not_there() -> None:
    assert verdicts(explain_broker(snapshot(name="9"))) == ["not-there"]


def test_a_limit_that_is_near_is_told() -> None:
    limits = [
        {"name": "max.connections", "used": 90, "most": 100},
        {"name": "queued.max.requests", "used": 1, "most": 9},
    ]
    found = explain_broker(snapshot(name="1", facts={"broker": [{"broker_id": 1, "limits": limits}]}))
    assert verdicts(found) == ["near-limit", "may-stop"]
    assert found[0].text == "broker 1 (h:9091) has nearly reached max.connections: 90 of 100"
    assert verdicts(explain_all(snapshot(facts={"broker": [{"broker_id": 1, "limits": limits}]}))) == ["near-limit"]


def test_a_broker_that_does_not_answer_comes_first() -> None:
    found = explain_broker(snapshot(away=(2,)))
    assert (found[0].verdict, found[0].silent) == ("silent", (2,))


def test_a_cluster_that_is_well_has_one_line() -> None:
    (found,) = explain_all(snapshot())
    assert found.text == "no problems: 3 brokers, 3 partitions, 0 groups"


def test_who_may_not_see_all_is_not_told_that_all_is_well() -> None:
    (found,) = explain_all(snapshot(refused=["broker: Cluster authorization failed."]))
    assert found.text == "no problems in the part that you may see: 3 brokers, 3 partitions, 0 groups"
    assert found.certainty is Certainty.UNKNOWN


def test_without_a_question_all_that_is_not_well_is_listed_the_worst_first() -> None:
    world = behind(500, log(per_s=2), per_s=1, away=(3,), facts={"requests": [request(local_ms=800)]})
    world.cluster.partitions[:] = [partition(isr=[1, 2])]
    found = explain_all(world)
    assert [each.verdict for each in found] == ["silent", "under-replicated", "behind", "slow-local"]
    verdicts(found)
