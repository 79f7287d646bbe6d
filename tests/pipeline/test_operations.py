"""The job "operations" on literal events: figures, rules, and alerts that fire and are resolved."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.jobs.operations import JOB, summarize
from barnabas.pipeline.sources.social import SitePlan, write_jsonl
from tests.pipeline.generated_events import inputs_from
from tests.pipeline.judged import START_MINUTE, Judged, figures_of, minute, refreshed, times
from tests.pipeline.literal_events import Inputs, facts_of, shuffled, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    return Inputs(spark, [each.name for each in JOB.inputs])


def view(inputs: Inputs, second: float, **fields: Any) -> None:
    inputs.add("page_view", second, **{"address": "192.0.2.1", "method": "GET", "page": "/", "status": 200, **fields})


def metric(inputs: Inputs, second: float, name: str, value: float, instance: str | None = None) -> None:
    inputs.add("host_metric", second, host="web-1", metric=name, value=value, instance=instance)


def line(inputs: Inputs, second: float, level: str, **fields: Any) -> None:
    inputs.add("service_log", second, **{"service": "mail", "host": "web-1", "level": level, "message": "-", **fields})


def test_nothing_gives_nothing(spark: SparkSession) -> None:
    facts = Inputs(spark, ["page_view"]).facts(JOB)
    found = refreshed(facts, JOB.defaults())
    assert (values(found["figures_per_minute"]), values(found["alerts"])) == ([], [])


def test_figures_of_the_site(inputs: Inputs) -> None:
    for latency, size, status in [(10.0, 1, 200), (20.0, 2, 404), (30.0, 3, 503), (40.0, None, 500), (None, None, 304)]:
        view(inputs, 1, latency_ms=latency, bytes=size, status=status)
    view(inputs, 2, id="same", latency_ms=50.0)
    view(inputs, 2, id="same", latency_ms=50.0)
    view(inputs, 130)
    figures = figures_of(inputs)
    assert figures == {
        (0, "site", "requests"): (6, 6),
        (1, "site", "requests"): (0, 0),
        (0, "topic page-views", "events"): (6, 6),
        (1, "topic page-views", "events"): (0, 0),
        (0, "site", "errors"): (2, 6),
        (0, "site", "error_share"): (0.333333, 6),
        (0, "site", "latency_p50_ms"): (30, 5),
        (0, "site", "latency_p95_ms"): (48, 5),
        (0, "site", "bytes_p50"): (2, 3),
        (0, "site", "bytes_p95"): (2.9, 3),
    }


def test_figures_of_services_hosts_and_topics(inputs: Inputs) -> None:
    for level in ["INFO", "WARN", "error", "FATAL"]:
        line(inputs, 5, level)
    for value in [1.0, 2.0, 9.0]:
        metric(inputs, 5, "cpu_percent", value)
    metric(inputs, 5, "disk_percent", 40.5, "/")
    inputs.add("login", 6, address="192.0.2.1", is_success=True, service="sshd")
    # The minute of the latest event is not told yet.
    inputs.add("follow", 60, user="ada", followee="bert", is_following=True)
    figures = figures_of(inputs)
    assert figures == {
        (0, "service mail", "events"): (4, 4),
        (0, "service mail", "warnings"): (1, 4),
        (0, "service mail", "errors"): (2, 4),
        (0, "host web-1", "events"): (4, 4),
        (0, "host web-1", "cpu_percent"): (2, 3),
        (0, "host web-1 /", "disk_percent"): (40.5, 1),
        (0, "topic service-logs", "events"): (4, 4),
        (0, "topic host-metrics", "events"): (4, 4),
        (0, "topic logins", "events"): (1, 1),
    }


def test_history_ends_where_it_is_told_to(inputs: Inputs) -> None:
    for number in range(0, 200, 10):
        line(inputs, 60 * number, "INFO")
    figures = figures_of(inputs, history_hours=0.5)
    assert sorted({minute for minute, _, _ in figures}) == list(range(160, 190))


def test_limit_fires_after_bad_minutes_and_is_resolved_after_good_ones(spark: SparkSession) -> None:
    bad, good = 99.0, 10.0
    told = Judged(spark, host_minutes=3, resolve_minutes=2)
    told.add("host a", "cpu_percent", [good, bad, bad])
    told.add("host b", "cpu_percent", [good, bad, bad, 97.5, bad])
    told.add("host c", "cpu_percent", [bad, bad, bad, good])
    told.add("host d", "cpu_percent", [bad, bad, bad, good, good])
    told.add("host e", "cpu_percent", [bad, bad, bad, good, bad, good, 99.5, good, good, good, bad])
    told.add("host f", "cpu_percent", [bad, bad, bad, good, good, good, bad, bad, bad])
    told.add("host g", "cpu_percent", [bad, bad, good, bad, bad, good])
    told.add("host h", "memory_percent", [94.9, 95.0, 95.0, 95.0])
    found = told.alerts()
    assert {subject: times(row) for (_, subject), row in found.items()} == {
        "host b": ("firing", 1, 4, None),
        "host c": ("firing", 0, 3, None),
        "host d": ("resolved", 0, 3, 3),
        "host e": ("resolved", 0, 3, 7),
        "host f": ("firing", 6, 9, None),
        "host h": ("firing", 1, 4, None),
    }
    assert (found["cpu", "host e"]["value"], found["cpu", "host e"]["threshold"]) == (99.5, 95.0)
    assert [found["cpu", f"host {name}"]["times_fired"] for name in "ef"] == [1, 2]
    assert found["cpu", "host d"]["sentence"] == (
        "cpu_percent of host d was 99, the limit is 95: from 2026-03-06 19:00 to 19:03"
    )
    assert found["cpu", "host b"]["sentence"].endswith("from 2026-03-06 19:01 on")


def test_minute_without_a_figure_is_neither_good_nor_bad(spark: SparkSession) -> None:
    told = Judged(spark, host_minutes=2, resolve_minutes=2)
    told.add("host a", "cpu_percent", [99, None, None, 99, None, 1, None])
    told.add("host b", "cpu_percent", [99, None, None, 99, None, 1, None, 1])
    found = told.alerts()
    assert times(found["cpu", "host a"]) == ("firing", 0, 4, None)
    assert times(found["cpu", "host b"]) == ("resolved", 0, 4, 5)


def test_share_and_percentile_of_few_events_do_not_fire(spark: SparkSession) -> None:
    told = Judged(spark, fire_minutes=2)
    told.add("site few", "error_share", [0.5] * 2, 8).add("site few", "latency_p95_ms", [9e9] * 2, 19)
    told.add("site enough", "error_share", [0.5] * 2, 10).add("site enough", "latency_p95_ms", [9e9] * 2, 20)
    told.add("site in between", "error_share", [0.9, 0.04, 0.9], 10)
    assert told.alerts().keys() == {("error-share", "site enough"), ("latency", "site enough")}
    # Few are no reason to end it either.
    told = Judged(spark, resolve_minutes=1).add("site", "error_share", [0.9], 10)
    told.rows.append((START_MINUTE + 1, "site", "error_share", 0.5, 2, None))
    assert times(told.alerts()["error-share", "site"]) == ("firing", 0, 1, None)


def test_change_fires_where_a_figure_is_far_from_the_hour_before(spark: SparkSession) -> None:
    told = Judged(spark, resolve_minutes=2)
    told.add("site a", "requests", [100.0 + number % 7 for number in range(60)] + [300.0, 310.0, 305.0, 100.0, 101.0])
    told.add("site b", "requests", [100.0] * 60 + [30.0, 0.0, 10.0])
    # What lasts is usual in the end.
    told.add("site c", "latency_p95_ms", [100.0] * 60 + [300.0] * 60)
    # Of these none is a change.
    told.add("site too short", "requests", [100.0] * 60 + [300.0, 300.0, 100.0, 300.0])
    told.add("site too little before", "requests", [100.0] * 26 + [300.0] * 5)
    told.add("site swings as far at all times", "requests", [10.0, 100.0] * 30 + [150.0] * 5)
    told.add("site small numbers", "requests", [3.0] * 60 + [9.0] * 5)
    told.add("site grows by and by", "requests", [2.0 ** (number / 20) * 50 for number in range(120)])
    told.add("site starts", "requests", [0.0] * 60 + [30.0] * 2)
    found = told.alerts()
    assert {key: times(row) for key, row in found.items()} == {
        ("requests-rose", "site a"): ("resolved", 60, 63, 63),
        ("requests-fell", "site b"): ("firing", 60, 63, None),
        ("latency-rose", "site c"): ("resolved", 60, 63, 90),
    }
    # The median is 103; twice that is farther than six times the square root of the median is.
    assert (found["requests-rose", "site a"]["value"], found["requests-rose", "site a"]["threshold"]) == (310.0, 206.0)
    assert found["requests-rose", "site a"]["sentence"] == (
        "requests of site a: 310 a minute, where the hour before lets one expect at most 206: "
        "from 2026-03-06 20:00 to 20:03"
    )
    assert (found["requests-fell", "site b"]["value"], found["requests-fell", "site b"]["threshold"]) == (0.0, 40.0)


def test_silence_fires_when_it_is_no_chance_any_more(spark: SparkSession) -> None:
    told = Judged(spark)
    told.add("service steady", "events", [1.0] * 60 + [0.0] * 5)
    told.add("service short", "events", [1.0] * 60 + [0.0] * 4)
    told.add("service back", "events", [1.0] * 60 + [0.0] * 9 + [1.0])
    # Every second minute: 2^30 is above a thousand million.
    told.add("topic halves", "events", [0.0, 1.0] * 60 + [0.0] * 30)
    told.add("topic halves-short", "events", [0.0, 1.0] * 60 + [0.0] * 29)
    told.add("topic rare", "events", [1.0, 0.0, 0.0] * 60 + [0.0] * 300)
    told.add("host young", "events", [1.0] * 29 + [0.0] * 60)
    told.add("service again", "events", [1.0] * 60 + [0.0] * 10 + [1.0] * 10 + [0.0] * 13)
    found = told.alerts()
    assert {subject: times(row) for (_, subject), row in found.items()} == {
        "service steady": ("firing", 60, 65, None),
        "service back": ("resolved", 60, 65, 69),
        "topic halves": ("firing", 120, 150, None),
        "service again": ("firing", 80, 92, None),
    }
    assert found["silence", "service again"]["times_fired"] == 2
    assert {alert for alert, _ in found} == {"silence"}
    assert found["silence", "service back"]["value"] == 9.0
    assert found["silence", "service back"]["sentence"] == (
        "nothing from service back for 9 minutes: from 2026-03-06 20:00 to 20:09"
    )


def test_order_batches_and_repeats_of_the_facts_do_not_matter(inputs: Inputs) -> None:
    random = Random(20_261_121)
    held = {
        "broker": "0",
        "metric": "throttle_ms",
        "user": "ann",
        "client_id": "crawler-7",
        "quota": "request_percentage",
    }
    for number in range(1_200):
        second = random.random() * 100 * 60
        match number % 4:
            case 0:
                is_outage = 3_000 < second < 3_600
                view(inputs, second, status=503 if is_outage else 200, latency_ms=random.random(), bytes=number)
            case 1:
                if not 2_400 < second < 4_500:
                    line(inputs, second, "ERROR" if random.random() < 0.1 else "INFO")
            case 2:
                metric(inputs, second, "cpu_percent", random.random() * 100)
            case _:
                inputs.add("broker_metric", second, value=random.random() * 100, rate=random.random(), **held)
    facts = inputs.facts(JOB)
    parameters = {**JOB.defaults(), "error_share_limit": 0.5}
    expected = refreshed(facts, parameters)
    assert {row["alert"] for row in values(expected["alerts"])} >= {"error-share", "silence", "throttled"}
    found = refreshed(shuffled(facts, 2), parameters)
    for name in ("figures_per_minute", "alerts"):
        assert values(found[name]) == values(expected[name])
        assert found[name].schema == expected[name].schema


def test_summary_shows_what_fires_first(inputs: Inputs) -> None:
    for number in range(8):
        metric(inputs, number * 60, "memory_percent", 99.0 if number < 3 else 1.0)
        metric(inputs, number * 60, "cpu_percent", 99.0)
    facts = inputs.facts(JOB)
    parameters = {**JOB.defaults(), "resolve_minutes": 2}
    told, hour = summarize(refreshed(facts, parameters), parameters)
    assert [(row["state"], row["alert"]) for row in told.rows.collect()] == [("firing", "cpu"), ("resolved", "memory")]
    rows = {row["figure"]: (row["median"], row["highest"], row["last"]) for row in hour.rows.collect()}
    assert rows["memory_percent"] == (1.0, 99.0, 1.0)


def made_up(spark: SparkSession, plan: SitePlan, directory: Path) -> list[dict[str, Any]]:
    """Give the alerts of a made-up site."""
    write_jsonl(replace(plan, shares=replace(plan.shares, broken=0.0)), directory)
    facts = facts_of(spark, JOB, inputs_from(JOB, directory))
    facts.write.parquet(str(directory / "facts"))
    return values(refreshed(spark.read.parquet(str(directory / "facts")), JOB.defaults())["alerts"])


def test_outage_is_noticed_within_two_minutes_and_resolved_after(spark: SparkSession, tmp_path: Path) -> None:
    """And nothing fires at other times."""
    plan = SitePlan(seed=24, duration_s=4 * 3600, events_per_s=3.0)
    told = {(row["alert"], row["subject"]): row for row in made_up(spark, plan, tmp_path)}
    begin, end = (minute(datetime.fromtimestamp(ms / 1000, UTC)) for ms in plan.outage_ms)
    for alert, subject in [("error-share", "site"), ("service-errors", "service web")]:
        row = told[alert, subject]
        assert begin <= minute(row["since"]) <= minute(row["fired_at"]) <= begin + 2
        assert end - 2 <= minute(row["resolved_at"]) <= end + 1
    for alert, subject in [("latency-rose", "site"), ("cpu", "host db-1"), ("service-errors-rose", "service database")]:
        assert begin <= minute(told[alert, subject]["since"]) < minute(told[alert, subject]["resolved_at"]) <= end + 1
    begin, end = (minute(datetime.fromtimestamp(ms / 1000, UTC)) for ms in plan.silence_ms)
    silence = told.pop(("silence", "service mail"))
    assert (silence["state"], minute(silence["since"])) == ("resolved", begin)
    assert end <= minute(silence["resolved_at"]) <= end + 1
    begin, end = (minute(datetime.fromtimestamp(ms / 1000, UTC)) for ms in plan.outage_ms)
    assert [row for row in told.values() if not begin <= minute(row["since"]) < end] == []


@pytest.mark.whole
@pytest.mark.parametrize("seed", [22, 23, 26])
def test_nothing_fires_on_a_quiet_day(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    plan = SitePlan(seed=seed, duration_s=24 * 3600, events_per_s=1.0)
    assert made_up(spark, plan.quiet(), tmp_path) == []
