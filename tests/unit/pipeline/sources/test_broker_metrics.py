"""Metrics from requests to a cluster: throttled clients and their limits, lag, failed partitions."""

from dataclasses import fields
from typing import Any

from barnabas.clients.pool import PartitionMetadata, TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events.types import BROKER_METRIC
from barnabas.pipeline.sources.broker_metrics import (
    BrokerFigure,
    clients_near_limits,
    lags,
    left_out,
    partition_faults,
    throttled_clients,
)


def quota(key: str, **told: Any) -> dict[str, Any]:
    """One quota of an answer of `quotas explain`; none is set unless it is told."""
    levels = [{"level": 1, "path": "/config/users/ann/clients/a"}, {"level": 9, "path": None}]
    unset = {"limit": None, "level": None, "rate": 0.0, "throttle_ms": 0, "unit": "bytes/s"}
    return {"key": key, "levels": levels, "sharers": [], "sharer_count": 0, **unset, **told}


def explained(*quotas: dict[str, Any], broker_id: int = 0) -> dict[str, Any]:
    return {"broker_id": broker_id, "user": "ann", "client_id": "a", "quotas": [*quotas]}


def test_attributes_are_the_fields_of_the_event() -> None:
    assert tuple(field.name for field in fields(BrokerFigure)) == tuple(f.name for f in BROKER_METRIC.own_fields)


def test_held_client_is_told_with_the_limit_that_holds_it_longest() -> None:
    sharers = [{"user": "ann", "client_id": "a", "rate": 9}, {"user": "bob", "client_id": "b", "rate": 1}]
    produce = quota("producer_byte_rate", limit=100.0, level=9, rate=180.5, throttle_ms=5, throttle_average_ms=840.0)
    fetch = quota("consumer_byte_rate", limit=50, level=1, rate=60, throttle_ms=900, sharers=sharers, sharer_count=4)
    (found,) = throttled_clients([explained(produce, fetch), explained(quota("producer_byte_rate"), broker_id=1)])
    assert found == BrokerFigure(
        "0",
        "throttle_ms",
        900.0,
        "ms",
        user="ann",
        client_id="a",
        quota="consumer_byte_rate",
        quota_limit=50.0,
        quota_unit="bytes/s",
        quota_level=1,
        quota_path="/config/users/ann/clients/a",
        rate=60.0,
        shared_with="bob/b and 2 more",
    )
    (found,) = throttled_clients([explained(produce)])
    assert (found.value, found.quota_level, found.quota_path, found.shared_with) == (840.0, 9, None, None)


def test_nobody_is_held_by_a_limit_that_is_not_set_or_not_reached() -> None:
    unset = quota("producer_byte_rate", throttle_average_ms=10.0)
    low = quota("consumer_byte_rate", limit=50.0, level=1, throttle_average_ms=None)
    assert throttled_clients([explained(unset, low)]) == []


def test_who_used_more_than_is_free_is_asked_about() -> None:
    def row(client_id: str, rate: float, part: float, held_count: int = 0) -> dict[str, Any]:
        told = {"user": "ann", "client_id": client_id, "throttle_ms": 0, "held_count": held_count}
        used = {
            "rates": {"producer_byte_rate": rate, "consumer_byte_rate": 9e9},
            "limits": {"producer_byte_rate": 100.0},
        }
        return {**told, **used, "parts_of_limits": {"producer_byte_rate": part}}

    unlimited = {"user": "ann", "client_id": "free", "rates": {}, "limits": {}, "parts_of_limits": {}, "held_count": 0}
    others = {"user": None, "client_id": None, "rates": {}}
    first = [row("burst", 20.0, 0.1), row("shares", 1.0, 0.9), row("little", 14.0, 0.14), unlimited, others]
    second = [row("burst", 90.0, 0.0), row("held", 0.0, 0.0, 1)]
    assert clients_near_limits([{"clients": first}, {"clients": second}]) == {
        ("ann", "burst"): 0.9,
        ("ann", "shares"): 0.9,
        ("ann", "held"): 0.0,
    }


def test_lag_is_of_a_group_and_topic_the_largest_first() -> None:
    partition = TopicPartition
    committed = {
        "g": {partition("t", 0): 10, partition("t", 1): 0, partition("u", 0): 7, partition("gone", 0): 1},
        "h": {partition("t", 0): 9, partition("u", 0): 3},
        "ahead": {partition("t", 0): 99},
    }
    ends = {partition("t", 0): 12, partition("t", 1): 30, partition("u", 0): 7}
    told = [(each.group_id, each.topic, each.value, each.partition) for each in lags(committed, ends)]
    assert told == [("g", "t", 32.0, 1), ("h", "u", 4.0, 0), ("h", "t", 3.0, 0)]


def test_partitions_that_fail_are_counted_and_some_are_named() -> None:
    def topic(name: str, *leaders: int, isr: tuple[int, ...] = (0,)) -> TopicMetadata:
        parts = {n: PartitionMetadata(n, leader, [0], [*isr], ErrorCode.NONE) for n, leader in enumerate(leaders)}
        return TopicMetadata(name, ErrorCode.NONE, False, parts)

    offline, lacking = partition_faults({"t": topic("t", 0, -1), "u": topic("u", *range(7), isr=())})
    assert (offline.metric, offline.value, offline.examples) == ("offline_partitions", 1.0, "t-1")
    assert (lacking.metric, lacking.value) == ("under_replicated_partitions", 7.0)
    assert lacking.examples == "u-0, u-1, u-2, u-3, u-4 and 2 more"
    assert [(each.value, each.examples) for each in partition_faults({})] == [(0.0, None), (0.0, None)]


def test_what_is_left_out_is_no_less_than_nothing() -> None:
    assert left_out("lags", -3) == BrokerFigure("cluster", "lags_left_out", 0.0, "series")


def test_what_a_figure_is_of_makes_it_the_only_one() -> None:
    event_type, what, told = BrokerFigure("0", "throttle_ms", 1.0, "ms", user="ann", client_id="").as_measurement()
    assert (event_type, what, told["user"], told["topic"]) == (BROKER_METRIC, "0:throttle_ms:ann:", "ann", None)
    names = [("a:b", "c"), ("a", "b:c")]
    ids = {
        BrokerFigure("0", "throttle_ms", 1.0, "ms", user=user, client_id=each).as_measurement()[1]
        for user, each in names
    }
    assert len(ids) == 2
