"""Running a job: its batches, dead letters, derived tables and topics, limits, its end; what it does with losses."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count as count_from

import pytest
from pyspark.sql.functions import lit, raise_error

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.facts import of_same
from barnabas.pipeline.job import PLACE, Job, Mode, Parameter, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.jobs import load
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import Bound, Delivery, PlanError
from barnabas.pipeline.runner.supervisor import RunFailedError
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Progress, TableError
from tests.pipeline.site import Site
from tests.spark import connector_options

START = datetime(2026, 3, 6, 19, tzinfo=UTC)


def view(number: int, page: str = "/", **fields: object) -> dict[str, object]:
    return {
        "id": f"view:{number}",
        "time": START + timedelta(seconds=number),
        "address": f"192.0.2.{number % 7}",
        "method": "GET",
        "page": page,
        "status": 200,
        **fields,
    }


def click(number: int, item: str) -> dict[str, object]:
    return {"id": f"click:{number}", "time": START + timedelta(seconds=number), "address": "192.0.2.1", "item": item}


def keep(inputs, parameters):
    views = inputs["views"].select("id", "page", "_topic", "_partition", "_offset")
    clicks = inputs["clicks"].selectExpr("id", "item AS page", "_topic", "_partition", "_offset")
    return {"facts": views.unionByName(clicks)}


def count(tables, parameters):
    pages = tables["facts"].dropDuplicates(["id"]).groupBy("page").count()
    return {"pages": pages.where(pages["count"] >= parameters["at_least"])}


JOB = Job(
    "pages",
    "counts pages",
    (TopicInput("views", EVENT_TYPES["page_view"]), TopicInput("clicks", EVENT_TYPES["click"])),
    (TableOutput("facts"), TableOutput("pages", Mode.REPLACE), TopicOutput("page-counts", ("page",), rows="pages")),
    keep,
    refresh=count,
    parameters=(Parameter("at_least", 1, "fewer are left out"),),
)


def test_rows_come_out_once_and_what_is_derived_follows(site: Site):
    """Where a topic is not there yet, and a refresh fails in the driver, then in Spark, and is done again."""
    failures = ["spark", "driver"]

    def fail_twice(tables, parameters):
        pages = count(tables, parameters)["pages"]
        if failures:
            if failures.pop() == "driver":
                raise ValueError("no number")
            return {"pages": pages.selectExpr("page", "count + CAST(raise_error('lost') AS BIGINT) AS count")}
        return {"pages": pages}

    site.create(site.topic("page_view"))
    site.send_events("page_view", [view(n, f"/{n % 3}") for n in range(30)])
    site.send_events("page_view", [view(n, "/3") for n in range(30, 42)])
    out = {"page-counts": f"{site.name}-page-counts"}
    topics = {**site.plan(JOB).topics, **out}
    done = site.run(replace(JOB, refresh=fail_twice), topics=topics)
    assert not failures
    assert any("lost" in warning for warning in site.warnings)
    assert any(site.topic("click") in warning for warning in site.warnings)
    assert (done.figures.record_count, done.figures.dead_letter_count, done.figures.lag_count) == (42, 0, 0)
    p50_s, p99_s = done.figures.fresh_p50_s, done.figures.fresh_p99_s
    assert p50_s is not None
    assert p99_s is not None
    assert 0 < p50_s <= p99_s
    assert site.rows(JOB, "pages") == [("/0", 10), ("/1", 10), ("/2", 10), ("/3", 12)]
    assert site.latest(out["page-counts"])["/0"] == {"page": "/0", "count": 10}

    # Only what has changed is written again, and what is gone gets a tombstone.
    site.create(site.topic("click"), 2)
    site.send_events("click", [click(n, "/0") for n in range(5)])
    site.send_events("page_view", [view(42, "/1")])
    site.run(JOB, topics=topics, parameters={"at_least": 11})
    assert len(site.rows(JOB, "facts")) == 48
    left = {"/0": 15, "/1": 11, "/3": 12}
    assert site.rows(JOB, "pages") == list(left.items())
    assert site.latest(out["page-counts"]) == {page: {"page": page, "count": count} for page, count in left.items()}
    assert len(site.records(out["page-counts"])) == 4 + 3


def test_digest_computes_anew_the_units_and_subjects_that_have_changed(site: Site):
    """With new and late facts, and another run that wrote at the same time; `test_aggregates.py` rewinds."""
    asked: list[list[int]] = []

    def sum_up(tables, parameters):
        rows = tables["facts"].selectExpr("floor(unix_seconds(time) / 60) AS unit", "id", "address")
        asked.append(sorted(row[0] for row in rows.select("unit").distinct().collect()))
        people = of_same(tables["all_facts"], rows, "address").groupBy("address").count()
        return {"minutes": rows.groupBy("unit").count(), "people": people}

    def total(tables, parameters):
        return {"total": tables["minutes"].selectExpr("CAST(sum(count) AS BIGINT) AS total")}

    job = Job(
        "minutes",
        "counts by minute",
        (TopicInput("views", EVENT_TYPES["page_view"]),),
        (
            TableOutput("facts"),
            TableOutput("minutes", Mode.AGGREGATE),
            TableOutput("people", Mode.AGGREGATE, key=("address",)),
            TableOutput("total", Mode.REPLACE),
        ),
        lambda inputs, parameters: {"facts": inputs["views"].select("id", "time", "address", *PLACE)},
        refresh=total,
        aggregate=sum_up,
        window_s=60,
    )

    def counted() -> list[int]:
        asked.clear()
        site.run(job)
        first = int(START.timestamp()) // 60
        return [unit - first for unit in asked[-1]]

    def people() -> list[tuple[str, int]]:
        numbers = Counter(number % 7 for number in [*range(320), 70, 130])
        return [(f"192.0.2.{number}", count) for number, count in sorted(numbers.items())]

    fill(site, 300)
    assert counted() == [0, 1, 2, 3, 4]
    fill(site, 20, 300)
    fill(site, 1, 70)
    fill(site, 1, 130)
    assert counted() == [1, 2, 5]
    assert site.rows(job, "total") == [(322,)]
    assert site.rows(job, "people", "address", "count") == people()
    # Rows by key that are not of the units' facts are another run's, which began before this one and ended after it.
    table = open_table(site.spark, str(site.directory / "tables" / job.name / "people"), "delta")
    older = table.read().selectExpr("address", "count - 1 AS count", "'321' AS _made_of")
    table.replace(older, Progress("other", 1, "", {}, {}))
    fill(site, 0, 1)
    assert counted() == [0, 1, 2, 3, 4, 5]
    assert site.rows(job, "people", "address", "count") == people()
    assert site.rows(job, "total") == [(322,)]
    # What has been told by facts that are not kept any more stays; what comes late for them is put aside. A table by
    # key would need all facts.
    job = replace(job, outputs=tuple(each for each in job.outputs if each.name != "people"))
    done = site.run(job, keep_facts_s=120.0)
    assert done.figures.facts_from == "2026-03-06T19:03:00+00:00"
    assert len(site.rows(job, "facts")) == 140
    fill(site, 1, 30)
    fill(site, 1, 320)
    asked.clear()
    done = site.run(job, keep_facts_s=120.0)
    assert [[unit - int(START.timestamp()) // 60 for unit in units] for units in asked] == [[5]]
    assert done.figures.late_row_count == 1
    assert "1 late" in done.figures.line()
    assert len(site.rows(job, "facts")) == 142
    assert site.rows(job, "total") == [(323,)]
    # A file of the facts that is gone is told.
    fill(site, 1, 321)
    for file in (site.directory / "tables" / job.name / "facts").glob("*.parquet"):
        file.unlink()
    with pytest.raises(TableError, match=r"minutes: a file of its tables is missing, as after a VACUUM"):
        site.run(job)
    assert site.rows(job, "minutes", "unit", "count") == [
        (int(START.timestamp()) // 60 + n, count) for n, count in enumerate([60, 61, 61, 60, 60, 21])
    ]


def test_topics_that_are_not_there_are_waited_for_unless_what_is_there_now_is_wanted(site: Site):
    with pytest.raises(RunFailedError, match="none of its topics is there"):
        site.run(JOB, give_up_s=0.0, is_once=False)
    site.warnings.clear()
    site.create(site.topic("page_view")[:-1])
    with pytest.raises(PlanError, match=rf"none of its topics is there: .*{site.name}-page-view\b"):
        site.run(JOB)
    assert not site.warnings


VIEWS = Job(
    "views",
    "keeps views",
    (TopicInput("views", EVENT_TYPES["page_view"]),),
    (TableOutput("facts"),),
    lambda inputs, parameters: {"facts": inputs["views"].select("id", "page", "_topic", "_partition", "_offset")},
)


def ids(site: Site, job: Job = VIEWS) -> list[int]:
    return sorted(int(row[0].split(":")[1]) for row in site.rows(job, "facts", "id"))


def fill(site: Site, count: int, start: int = 0, partition_count: int = 3, **settings: str) -> None:
    if start == 0:
        site.create(site.topic("page_view"), partition_count, **settings)
    site.send_events("page_view", [view(n) for n in range(start, start + count)])


def test_what_is_no_event_is_kept_with_its_reason_and_place_and_counted_in_the_status(site: Site, capsys):
    from barnabas.pipeline.commands.main import main

    fill(site, 10)
    topic = site.topic("page_view")
    bad = [(b"k", b"not json"), (None, b'{"type":"page_view"}'), (b"tombstone", None), (b"\xff", b'{"a":"\xff"}')]
    site.send(topic, bad)
    done = site.run(VIEWS)
    assert (done.figures.record_count, done.figures.dead_letter_count) == (14, 4)
    assert ids(site) == list(range(10))
    letters = (
        site.spark.read.format("kafka")
        .options(**connector_options(site.kafka))
        .options(subscribe=f"{topic}.dlq", startingOffsets="earliest", includeHeaders="true")
        .load()
        .collect()
    )
    assert sorted((row["key"], row["value"]) for row in letters if row["value"] and row["key"]) == sorted(
        (bytearray(key), bytearray(value)) for key, value in bad if key and value
    )
    assert len(letters) == 4
    for row in letters:
        headers = {header["key"]: bytes(header["value"]).decode() for header in row["headers"]}
        assert headers["topic"] == topic
        assert headers["job"] == "views"
        assert headers["reason"]
        int(headers["offset"]), int(headers["partition"]), int(headers["timestamp"])

    assert main(["status", "--checkpoint", str(site.directory / "checkpoints"), "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert (status["run"], status["state"], status["record_count"]) == ("views", "stopped", 14)
    assert sum(status["positions"][topic].values()) == 14


def test_where_runs_begin_and_end_and_that_each_goes_on_where_its_table_stands(site: Site):
    from confluent_kafka.admin import AdminClient, NewPartitions

    fill(site, 20, partition_count=1)
    topic = site.topic("page_view")
    between = Bound(offsets={topic: {0: 5}}), Bound(offsets={topic: {0: 12}, "read-by-another-job": {0: 3}})
    done = site.run(VIEWS, start=between[0], until=between[1], is_once=False, trigger_s=0.1)
    assert done.figures.record_count == 7
    assert ids(site) == list(range(5, 12))
    # Another run writes the same table: each has its own place.
    site.run(VIEWS, run="backfill", until=between[0], is_once=False, trigger_s=0.1)
    assert ids(site) == list(range(12))

    admin = AdminClient({"bootstrap.servers": site.kafka.bootstrap_servers})
    for outcome in admin.create_partitions([NewPartitions(topic, 4)]).values():
        outcome.result()
    fill(site, 20, start=20)
    # It goes on without a checkpoint; where it was to begin counts no more, and a new partition is read from its own
    # beginning.
    done = site.run(VIEWS, start=between[0], checkpoint=str(site.directory / "{an,other}"))
    assert done.figures.record_count == 28
    assert ids(site) == list(range(40))


def test_a_start_is_found_once_though_the_first_batch_fails(site: Site):
    fill(site, 5, partition_count=1)
    portions, failed = [5, 10], []

    def fail_once(inputs, parameters):
        rows = VIEWS.transform(inputs, parameters)["facts"]
        if not failed:
            failed.append(True)
            return {"facts": rows.withColumn("page", raise_error(lit("no")).cast("string"))}
        return {"facts": rows}

    polls = count_from(1)

    def send() -> bool:
        # Once the run has started, and between the failure and the next start.
        if (next(polls) == 2) or (failed and portions == [10]):
            fill(site, 5, start=portions.pop(0))
        return False

    until = Bound(offsets={site.topic("page_view"): {0: 15}})
    job = replace(VIEWS, transform=fail_once)
    site.run(job, send, start=Bound(is_latest=True), until=until, is_once=False, trigger_s=0.1)
    assert ids(site) == list(range(5, 15))


def test_a_start_is_that_of_all_tables_though_the_run_was_killed_between_their_first_commits(site: Site):
    topics = [f"{site.name}-{name}" for name in ("a", "b", "later")]

    def send(topic: str) -> None:
        site.create(topic, 1)
        site.send(topic, [(None, b'{"n": %d}' % number) for number in range(10)])

    def run() -> list[list[int]]:
        start = Bound(offsets={topics[0]: {0: 3}, topics[1]: {0: 4}})
        site.run(load.JOB, any_topics=(f"/{site.name}-.*/",), start=start)
        places = [site.directory / "tables" / "load" / topic for topic in topics]
        return [sorted(row[0] for row in site.rows(load.JOB, place.name, "n")) for place in places if place.exists()]

    for topic in topics[:2]:
        send(topic)
    assert run() == [list(range(3, 10)), list(range(4, 10))]
    shutil.rmtree(site.directory / "tables" / "load" / topics[1])
    send(topics[2])
    assert run() == [list(range(3, 10)), list(range(4, 10)), list(range(10))]


def test_limits_bound_what_a_batch_takes(site: Site):
    # Were it meant for each of the partitions, all would be one batch.
    fill(site, 40, partition_count=3)
    site.run(VIEWS, limits=Limits(records_per_s=200), trigger_s=0.1)
    assert [figures.record_count for figures in site.figures][-1:] == [40]
    assert site.figures[-1].batch_count >= 2
    assert ids(site) == list(range(40))


def test_at_most_once_commits_the_offsets_first(site: Site):
    fill(site, 10)
    failures = [True]

    def fail_once(inputs, parameters):
        rows = VIEWS.transform(inputs, parameters)["facts"]
        if failures:
            failures.pop()
            return {
                "facts": rows.selectExpr(
                    "id", "page", "_topic", "_partition", "_offset", "CAST(raise_error('no') AS STRING) AS x"
                )
            }
        return {"facts": rows}

    job = replace(VIEWS, transform=fail_once)
    site.run(job, delivery=Delivery.AT_MOST_ONCE)
    assert site.rows(VIEWS, "facts") == []
    fill(site, 10, start=10)
    failures.append(True)
    site.run(job)
    assert ids(site) == list(range(10, 20))


def test_a_job_that_gives_no_rows_for_an_output_is_told(site: Site):
    fill(site, 1)
    with pytest.raises(TableError, match="declares output facts, but returns no rows for it"):
        site.run(replace(VIEWS, transform=lambda inputs, parameters: {}))


def test_a_key_may_be_null(site: Site):
    users = TableOutput("users", Mode.REPLACE), TopicOutput("users", ("user",), topic=f"{site.name}-users")
    job = Job(
        "users",
        "counts users",
        JOB.inputs[:1],
        (TableOutput("facts"), *users),
        lambda inputs, parameters: {"facts": inputs["views"].select("user", *PLACE)},
        refresh=lambda tables, parameters: {"users": tables["facts"].groupBy("user").count()},
    )
    site.create(site.topic("page_view"))
    for number in range(3):
        site.send_events("page_view", [view(number, "/")])
        site.run(job)
    # A tombstone under the key of the null would delete the row.
    assert [value for _, value, _ in site.records(f"{site.name}-users")] == [{"count": n} for n in (1, 2, 3)]


def test_a_job_that_writes_topics_alone_goes_on_where_it_stopped(site: Site):
    job = Job(
        "forward",
        "forwards",
        VIEWS.inputs,
        (TopicOutput("out", ("id",), topic=f"{site.name}-out", is_compacted=False),),
        lambda inputs, parameters: {"out": inputs["views"].select("id", "page")},
    )
    fill(site, 10)
    site.run(job)
    fill(site, 5, start=10)
    site.run(job)
    assert sorted(value["id"] for _, value, _ in site.records(f"{site.name}-out")) == sorted(
        f"view:{number}" for number in range(15)
    )
