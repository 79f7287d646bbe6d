"""A job that reads what another one derives: in one run with it, alone, and where its word comes late."""

from datetime import UTC, datetime, timedelta

import pytest

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import PLACE, Job, Mode, Parameter, TableInput, TableOutput, TopicInput
from barnabas.pipeline.runner.supervisor import run_jobs
from barnabas.pipeline.tables.table import TableError
from tests.pipeline.site import Site

START = datetime(2026, 3, 6, 19, tzinfo=UTC)
VIEWS = TopicInput("views", EVENT_TYPES["page_view"])


def keep(inputs, parameters):
    return {"facts": inputs["views"].select("id", "time", "address", *PLACE)}


def judge(tables, parameters):
    views = tables["facts"].groupBy("address").count()
    return {"busy": views.where(views["count"] >= parameters["at_least"]).select("address", "count")}


JUDGING = Job(
    "judging",
    "finds who views a lot",
    (VIEWS,),
    (TableOutput("facts"), TableOutput("busy", Mode.REPLACE)),
    keep,
    refresh=judge,
    parameters=(Parameter("at_least", 3, "so many views are a lot"),),
)

asked: list[list[int]] = []


def mark(facts, tables, parameters):
    if "busy" not in tables:
        return facts.selectExpr("*", "CAST(NULL AS STRING) AS mark")
    return facts.join(tables["busy"].selectExpr("address", "address AS mark"), "address", "left")


def sum_up(tables, parameters):
    rows = mark(tables["facts"], tables, parameters).selectExpr("floor(unix_seconds(time) / 60) AS unit", "mark")
    first = int(START.timestamp()) // 60
    asked.append(sorted(row[0] - first for row in rows.select("unit").distinct().collect()))
    return {"minutes": rows.groupBy("unit").agg({"*": "count", "mark": "count"}).toDF("unit", "views", "left_out")}


def total(tables, parameters):
    return {"total": tables["minutes"].selectExpr("sum(views - left_out) AS views", "sum(left_out) AS left_out")}


COUNTING = Job(
    "counting",
    "counts the views of others",
    (VIEWS, TableInput("busy", job="judging")),
    (TableOutput("facts"), TableOutput("minutes", Mode.AGGREGATE), TableOutput("total", Mode.REPLACE)),
    keep,
    refresh=total,
    aggregate=sum_up,
    mark=mark,
    window_s=60,
)


def send(site: Site, *views: tuple[int, str]) -> None:
    site.send_events(
        "page_view",
        [
            {
                "id": f"{minute}-{address}-{number}",
                "time": START + timedelta(minutes=minute),
                "address": address,
                "method": "GET",
                "page": "/",
                "status": 200,
            }
            for number, (minute, address) in enumerate(views)
        ],
    )


def test_what_another_job_finds_counts_for_what_was_summed_up_before(site: Site):
    site.create(site.topic("page_view"))
    send(site, (0, "a"), (0, "a"), (0, "b"), (1, "b"), (2, "c"))
    alone = site.run(COUNTING)
    assert "busy" not in alone.tables()
    assert site.rows(COUNTING, "total") == [(5, 0)]

    # In one run they may be named in any order: who reads ends last. Its minutes of others are left as they are.
    send(site, (3, "a"))
    asked.clear()
    plans = [site.plan(COUNTING), site.plan(JUDGING)]
    done = run_jobs(site.spark, plans, site.metrics, site.figures.append, site.warnings.append)
    assert [each.plan.run for each in done] == ["judging", "counting"]
    assert [tuple(row) for row in done[1].tables()["busy"].collect()] == [("a", 3)]
    assert site.rows(COUNTING, "total") == [(3, 3)]
    assert {minute for minutes in asked for minute in minutes} == {0, 3}

    # What goes counts again, and nothing is done where nothing has come or gone.
    site.run(JUDGING, parameters={"at_least": 4})
    asked.clear()
    site.run(COUNTING)
    site.run(COUNTING)
    assert asked == [[0, 3]]
    assert site.rows(COUNTING, "total") == [(6, 0)]

    nowhere = {**site.plan(COUNTING).topics, "busy": str(site.directory / "nowhere")}
    with pytest.raises(TableError, match="nowhere"):
        site.run(COUNTING, topics=nowhere)
