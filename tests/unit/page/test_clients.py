"""Clients, limits, and limits that are tried, of clusters that were made up."""

import asyncio

import pytest

from barnabas.broker.quotas.simulation import simulated
from barnabas.page.cluster import Cluster
from barnabas.page.view import Asked
from barnabas.page.views import try_limit
from barnabas.page.views.clients import LimitRow, ThrottleRow, limit_rows, throttle_rows, use_rows
from barnabas.page.views.try_limit import broker_try
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import QuotaKind
from tests.unit.explain.worlds import MINUTE_MS, NOW_MS, snapshot


def used(client_id: str | None, **more: object) -> dict[str, object]:
    return {"user": None if client_id is None else "alice", "client_id": client_id, "rates": {}, **more}


def test_who_is_held_stands_first() -> None:
    held = used("held", parts_of_limits={"producer_byte_rate": 1.2}, throttle_ms=300, held_count=1)
    about = used("about", parts_of_limits={}, throttle_ms=900, held_count=0)
    rows = use_rows(snapshot(use={2: [used("large"), used(None), held], 1: [about]}))
    assert [(row.broker_id, row.client_id, row.held_count, row.throttle_ms) for row in rows] == [
        (2, "held", 1, 300),
        (1, "about", 0, 900),
        (2, "large", 0, 0),
        (2, "", 0, 0),
    ]
    assert [row.user for row in rows] == ["alice", "alice", "alice", None]


def test_holds_and_limits_are_told_as_they_are_kept() -> None:
    row = {
        "broker_id": 1,
        "user": "alice",
        "client_id": "app",
        "quota": "producer_byte_rate",
        "count": 3,
        "total_ms": 600,
        "throttle_ms": 400,
        "first_ms": NOW_MS - MINUTE_MS,
        "last_ms": NOW_MS,
    }
    old = {**row, "last_ms": NOW_MS - 100 * MINUTE_MS}
    world = snapshot(facts={"holds": [row, old]}, configured_quotas={Entity("alice", DEFAULT): {"b": 2.0, "a": 1.0}})
    assert list(throttle_rows(world)) == [
        ThrottleRow(1, "alice", "app", "producer_byte_rate", 3, 600, 400, NOW_MS - MINUTE_MS, NOW_MS)
    ]
    whom = "user 'alice' and the default client id"
    assert list(limit_rows(world)) == [LimitRow(2, whom, "a", 1.0), LimitRow(2, whom, "b", 2.0)]


def test_a_limit_is_tried_with_what_was_recorded() -> None:
    told = {
        "broker_id": 1,
        "window_count": 11,
        "window_ms": 1_000,
        "thread_count": 8,
        "limits": [],
        "rings": [
            {"key": "producer_byte_rate", "user": "alice", "client_id": "app", "values": [0, *[2_000_000] * 120]},
            {"key": "producer_byte_rate", "user": "bob", "client_id": "app", "values": [0, *[1_000] * 120]},
        ],
    }
    kind = QuotaKind.PRODUCE
    found = broker_try(simulated(told, Entity("alice", None), {kind: 1_000_000.0}), kind)
    assert (found.seconds, found.sender_count, found.held_count, found.unknown_part) == (120, 1, 1, 0)
    (sender,) = found.senders
    assert (sender.user, sender.average, sender.peak) == ("alice", 2_000_000, 2_000_000)
    assert sender.held_part > 0.5
    assert sender.left > 0


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"name": "producer_byte_rate", "value": "1"}, "name a user, a client id, or both"),
        ({"user": "a", "name": "speed", "value": "1"}, "the quota does not exist"),
        ({"user": "a", "name": "producer_byte_rate", "value": "-1"}, "must be more than 0"),
        ({"user": "a", "name": "producer_byte_rate", "value": "many"}, "many"),
    ],
)
def test_a_limit_that_can_not_be_is_said_not_to_be(query: dict[str, str], problem: str) -> None:
    view = asyncio.run(try_limit.build(Asked(Cluster("c", "127.0.0.1:1"), query)))
    assert problem in view.problem
    assert view.brokers == ()
