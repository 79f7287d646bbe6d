"""Brokers' figures in the job "operations": who is held by which quota, who lags, what fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.pipeline.judged import Judged, alerts_of, figures_of, times
from tests.pipeline.literal_events import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LIMIT = {
    "quota": "consumer_byte_rate",
    "quota_limit": 1_048_576.0,
    "quota_unit": "bytes/s",
    "quota_level": 2,
    "quota_path": "/config/users/ann/clients/<default>",
}
CLIENT = "client crawler-7 of user ann at broker 0"


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    return Inputs(spark, ["broker_metric"])


def tell(inputs: Inputs, second: float, name: str, value: float, broker: str = "0", **fields: Any) -> None:
    inputs.add("broker_metric", second, broker=broker, metric=name, value=value, **fields)


def hold(inputs: Inputs, second: float, value: float, **fields: Any) -> None:
    tell(inputs, second, "throttle_ms", value, **{"user": "ann", "client_id": "crawler-7", **LIMIT, **fields})


def lag(inputs: Inputs, second: float, value: float) -> None:
    tell(inputs, second, "lag", value, "cluster", group_id="g", topic="t", partition=3)


def test_figures_of_brokers_and_who_is_not_named_any_more_is_not_held_for_an_hour(inputs: Inputs) -> None:
    for second in (0, 20, 40):
        tell(inputs, second, "loop_stalled_ms", 100.0 + second)
        tell(inputs, second, "busy_percent", 10.0 + second)
        lag(inputs, second, 500.0 - second)
    hold(inputs, 10, 840.0, rate=1_310_720.0)
    hold(inputs, 20, 12.5)
    hold(inputs, 120, 7.0)
    tell(inputs, 4 * 3600, "busy_percent", 1.0)
    figures = figures_of(inputs)
    assert {key: figure for key, figure in figures.items() if key[0] == 0 and key[1] != "topic broker-metrics"} == {
        (0, "broker 0", "events"): (8, 8),
        (0, "broker 0", "loop_stalled_ms"): (360, 3),
        (0, "broker 0", "busy_percent"): (50, 3),
        (0, "cluster", "events"): (3, 3),
        (0, "group g on topic t", "lag"): (460, 3),
        (0, CLIENT, "throttle_ms"): (840, 2),
    }
    told = {at: value for (at, subject, _), (value, _) in figures.items() if subject == CLIENT}
    assert told == {0: 840, 1: 0, 2: 7, **dict.fromkeys(range(3, 63), 0)}


def test_alert_says_which_limit_holds_whom_and_who_shares_it(inputs: Inputs) -> None:
    for number in range(6):
        hold(inputs, 60 * number, 500.0 + number, rate=2_000_000.5, shared_with="ann/loader and 2 more")
        if number < 5:
            hold(inputs, 60 * number + 1, 840.0 if number == 3 else 1.0, client_id="", rate=1_048_575.0)
    hold(inputs, 61, 3.0, client_id="page", quota="request_percentage", **dict.fromkeys(list(LIMIT)[1:]))
    for number in (2, 3, 4, 5):
        hold(inputs, 60 * number, 3.0, client_id="page", quota="request_percentage", **dict.fromkeys(list(LIMIT)[1:]))
    tell(inputs, 360, "busy_percent", 1.0)
    alerts = alerts_of(inputs, resolve_minutes=1)
    assert {(row["alert"], row["subject"]): row["sentence"] for row in alerts} == {
        ("throttled", CLIENT): (
            f"{CLIENT} was throttled 505 ms a request by consumer_byte_rate of 1,048,576 bytes/s in "
            "/config/users/ann/clients/<default> (level 2), measured 2,000,000.5 bytes/s, "
            "shared with ann/loader and 2 more: from 2026-03-06 19:00 on"
        ),
        ("throttled", "client without an id of user ann at broker 0"): (
            "client without an id of user ann at broker 0 was throttled 840 ms a request by consumer_byte_rate of "
            "1,048,576 bytes/s in /config/users/ann/clients/<default> (level 2): from 2026-03-06 19:00 to 19:05"
        ),
        ("throttled", "client page of user ann at broker 0"): (
            "client page of user ann at broker 0 was throttled 3 ms a request by request_percentage: "
            "from 2026-03-06 19:01 on"
        ),
    }


def test_client_is_held_for_minutes_before_somebody_is_told(spark: SparkSession) -> None:
    told = Judged(spark, resolve_minutes=2)
    told.add("client a", "throttle_ms", [50.0] * 4 + [0.0] * 10)
    told.add("client b", "throttle_ms", [50.0] * 5 + [0.0, 50.0, 0.0, 0.0])
    told.add("client c", "throttle_ms", [50.0] * 5 + [0.0, 50.0, 0.0])
    told.add("client d", "throttle_ms", [0.9] * 10)
    found = told.alerts()
    assert {subject: times(row) for (_, subject), row in found.items()} == {
        "client b": ("resolved", 0, 5, 7),
        "client c": ("firing", 0, 5, None),
    }
    assert found["throttled", "client b"]["sentence"] == (
        "client b was throttled 50 ms a request by a limit that is not known: from 2026-03-06 19:00 to 19:07"
    )


def test_lag_that_only_grows_fires_and_one_that_stands_still_does_not(spark: SparkSession) -> None:
    told = Judged(spark, lag_growth_minutes=4, resolve_minutes=2)
    told.add("group grows", "lag", [600, 700, 800, 800, 1_000, 1_200], detail="partition 3 is furthest behind")
    told.add("group small", "lag", [float(n) for n in range(20)])
    told.add("group still", "lag", [5_000.0] * 20)
    told.add("group reads now and then", "lag", [1_000, 2_000, 3_000, 100] * 5)
    told.add("group catches up", "lag", [1_000.0 * n for n in range(8)] + [10.0, 5.0])
    told.add("group with a gap", "lag", [1_000, 2_000, 3_000, None, 4_000, 5_000, 6_000, 7_000])
    told.add("group a gap is over", "lag", [1_000, None, 4_000, 5_000, 6_000, 7_000, 8_000])
    told.add("group far", "lag", [100_000.0] * 5, detail="partition 0 is furthest behind")
    found = told.alerts()
    assert {key: times(row) for key, row in found.items()} == {
        ("lag-grows", "group grows"): ("firing", 4, 5, None),
        ("lag-grows", "group catches up"): ("resolved", 4, 5, 8),
        ("lag-grows", "group a gap is over"): ("firing", 6, 7, None),
        ("lag", "group far"): ("firing", 0, 5, None),
    }
    assert found["lag-grows", "group grows"]["sentence"] == (
        "lag of group grows grew from 700 to 1200 and did not fall once (partition 3 is furthest behind): "
        "from 2026-03-06 19:04 on"
    )
    assert found["lag", "group far"]["sentence"] == (
        "lag of group far was 100000, the limit is 100000 (partition 0 is furthest behind): from 2026-03-06 19:00 on"
    )


def test_runs_of_the_pipeline_that_fall_behind_or_silent_fire_and_are_resolved(inputs: Inputs) -> None:
    for number in range(20):
        # One falls behind until it is killed, in the eighth minute, and is started again five minutes later.
        is_killed = 8 <= number < 13
        behind = 700.0 + 100 * min(number, 8) if number < 13 else 0.0
        worst = "page-views-3 is furthest behind" if behind else None
        tell(inputs, 60 * number, "lag", behind, "run ranking", examples=worst)
        tell(inputs, 60 * number, "silent_s", 60.0 * (number - 7) if is_killed else 0.0, "run ranking")
        tell(inputs, 60 * number, "lag", 0.0, "run load/a")
        tell(inputs, 60 * number, "silent_s", 59.0, "run load/a")
    found = alerts_of(inputs, lag_growth_minutes=5)
    assert {(row["alert"], row["subject"], row["state"]): row["sentence"] for row in found} == {
        ("lag-grows", "run ranking", "resolved"): (
            "lag of run ranking grew from 1400 to 1500 and did not fall once (page-views-3 is furthest behind): "
            "from 2026-03-06 19:05 to 19:13"
        ),
        ("run-silent", "run ranking", "resolved"): (
            "run ranking was not stopped, and has said nothing for 300 s: from 2026-03-06 19:08 to 19:13"
        ),
    }


def test_what_fails_in_a_broker_or_its_cluster_is_told(spark: SparkSession) -> None:
    told = Judged(spark, dirty_minutes=3)
    told.add("broker 0", "loop_stalled_ms", [499.0, 500.0])
    told.add("broker 0", "busy_percent", [70.0] * 5)
    told.add("broker 0", "failed_logins", [9.0, 10.0])
    told.add("broker 0", "uncleanable_partitions", [0.0] + [1.0] * 3)
    told.add("broker 0", "cleaner_dead_threads", [1.0] * 3)
    told.add("broker 0", "cleaner_max_dirty_percent", [90.0] * 3)
    told.add("broker 0", "offline_log_dirs", [1.0] * 3)
    told.add("cluster", "offline_partitions", [2.0] * 3, detail="t-0, t-1")
    told.add("cluster", "under_replicated_partitions", [1.0] * 3)
    # Of these nobody says what is too much, or they last too short.
    told.add("broker 1", "request_queue_p99_ms", [1e6] * 9).add("broker 1", "failed_requests", [1e6] * 9)
    told.add("broker 1", "uncleanable_partitions", [1.0] * 2).add("broker 1", "busy_percent", [99.0] * 4)
    found = told.alerts()
    assert found.keys() == {
        ("stalls", "broker 0"),
        ("broker-busy", "broker 0"),
        ("failed-logins", "broker 0"),
        ("cleaner", "broker 0"),
        ("cleaner-dead", "broker 0"),
        ("cleaner-behind", "broker 0"),
        ("log-dirs", "broker 0"),
        ("offline-partitions", "cluster"),
        ("under-replicated", "cluster"),
    }
    assert found["offline-partitions", "cluster"]["sentence"] == (
        "offline_partitions of cluster was 2, the limit is 1 (t-0, t-1): from 2026-03-06 19:00 on"
    )
