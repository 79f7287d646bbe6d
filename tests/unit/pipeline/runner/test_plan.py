"""Plans: what can't be is refused before anything is started."""

from dataclasses import replace
from math import inf, nan

import pytest

from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.events.types import CLICK, PAGE_VIEW
from barnabas.pipeline.job import Job, Mode, Parameter, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.jobs import feed, ranking, security
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import PlanError, RunPlan, check_plan, parse_offsets, parse_value
from barnabas.pipeline.tables.layout import Layout, parse_divisions

JOB = Job(
    "counts",
    "counts",
    (TopicInput("views", PAGE_VIEW), TopicInput("clicks", CLICK, topic="my-clicks")),
    (TableOutput("facts"), TableOutput("top", Mode.REPLACE), TopicOutput("top-items", ("item",), rows="top")),
    lambda inputs, parameters: {},
    refresh=lambda tables, parameters: {},
    parameters=(Parameter("days", 7, "how far back"), Parameter("share", 0.5, "a share")),
)
DAILY = Layout(parse_divisions("day(time)"), ("user",))
DAY_S = 24 * 3600
ANY = Job("any", "takes any", (TopicInput("*", None),), (TableOutput("*"),), lambda inputs, parameters: inputs)


def plan(job=JOB, **fields):
    table_format = fields.pop("table_format", "delta")
    return RunPlan(job, KafkaOptions("127.0.0.1:9092", {}), "tables", table_format, "checkpoints/", "r", **fields)


def test_topics_are_the_runs_then_the_inputs_then_the_events():
    views, clicks = JOB.inputs
    assert plan().topic_of_input(views) == "page-views"
    assert plan().topic_of_input(clicks) == "my-clicks"
    assert plan(topics={"clicks": "other"}).topic_of_input(clicks) == "other"
    assert plan(topics={"top-items": "best"}).topic_of_output(JOB.outputs[2]) == "best"


def test_places_of_a_run():
    assert plan().job_checkpoint == "checkpoints/r"
    assert plan().run_of("facts") == "r/facts"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"topics": {"viws": "x"}}, "no input or output 'viws'; it has clicks, facts, top, top-items, views"),
        ({"parameters": {"day": 3}}, "no parameter 'day'; it has days, share"),
        ({"parameters": {"days": "x"}}, "parameter days must be int"),
        ({"any_topics": ("a",)}, "reads its own topics"),
        ({"job": ANY}, "name them with --topics"),
        ({"places": {"tops": "x"}}, "no table 'tops'; it has clicks, facts, top, top-items, views"),
        ({"layout": DAILY}, "fixes its table layout"),
        (
            {"job": ANY, "any_topics": ("a",), "layout": DAILY, "table_format": "parquet"},
            "day.time. is not supported for parquet",
        ),
        ({"envelope": "debezium"}, "--envelope is for jobs that read any topics"),
        (
            {"job": ANY, "any_topics": ("a",), "envelope": "debezium", "registry": SchemaRegistry("schemas")},
            "let the connector unwrap",
        ),
        ({"trigger_s": -1.0}, "--trigger -1 "),
        ({"trigger_s": nan}, "--trigger nan "),
        ({"limits": Limits(-1, 0, 0)}, "--max-bytes-per-s -1 "),
        ({"limits": Limits(0, inf, 0)}, "--max-messages-per-s inf "),
        ({"limits": Limits(0, 0, nan)}, "--max-rate-per-partition nan "),
        ({"keep_facts_s": 90 * DAY_S}, "only jobs with incremental aggregates"),
        ({"job": feed.JOB, "keep_facts_s": 90 * DAY_S}, "feed_people from all facts of its user"),
        ({"job": security.JOB, "keep_facts_s": 90 * DAY_S}, "--set lookback_days=DAYS"),
        (
            {"job": security.JOB, "keep_facts_s": 59 * DAY_S, "parameters": {"lookback_days": 30}},
            "at least twice as many days",
        ),
    ],
)
def test_what_can_not_be_is_named(fields, reason):
    with pytest.raises(PlanError, match=reason):
        check_plan(plan(**fields))


def _facts(name, events):
    return events


VIEWS = JOB.inputs[:1]
FACTS, TOP, SUMS = JOB.outputs[0], JOB.outputs[1], TableOutput("sums", Mode.AGGREGATE)


@pytest.mark.parametrize(
    ("fields", "topics", "reason"),
    [
        ({}, {"clicks": "page-views"}, "inputs views and clicks have the same topic page-views"),
        ({"outputs": (FACTS, TOP, FACTS)}, {}, "two tables are named facts"),
        ({"transform": None, "facts": _facts, "outputs": (FACTS, TableOutput("more"), TOP)}, {}, "one append table"),
        ({"transform": None, "facts": _facts, "outputs": (TOP,)}, {}, "one append table"),
        ({"transform": None, "facts": _facts, "inputs": (TopicInput("a", None, "a"),)}, {}, "input a has no event"),
        ({"inputs": (*VIEWS, TopicInput("views", CLICK))}, {}, "two inputs are named views"),
        ({"inputs": (TopicInput("a", None, "a"),)}, {}, "input a has no event type, so it needs a table named a"),
        ({"outputs": (TableOutput("facts", Mode.UPDATE), TOP)}, {}, "table facts is updated by key: name its key"),
        ({"refresh": None}, {}, "table top needs the function refresh"),
        ({"outputs": (FACTS, SUMS)}, {}, "table sums needs the function aggregate"),
        ({"aggregate": _facts, "refresh": None, "outputs": (FACTS, SUMS)}, {}, "table sums needs the function refresh"),
        ({"aggregate": _facts, "outputs": (FACTS, TableOutput("more"), SUMS)}, {}, "aggregate needs exactly one table"),
    ],
)
def test_a_job_that_would_lose_rows_is_refused(fields, topics, reason):
    with pytest.raises(PlanError, match=reason):
        check_plan(plan(replace(JOB, **fields), topics=topics))


def test_what_can_be_passes():
    check_plan(plan(parameters={"days": 3, "share": 0.25}))
    check_plan(plan(trigger_s=0.0, limits=Limits(1_000_000, 0.5, 0)))
    check_plan(plan(ANY, any_topics=("/page-.*/",), layout=DAILY, places={"page-views": "elsewhere/views"}))
    check_plan(plan(ranking.JOB, keep_facts_s=3600.0))
    check_plan(plan(security.JOB, keep_facts_s=60.0 * DAY_S, parameters={"lookback_days": 30}))


def test_a_jobs_own_divisions_go_before_the_runs():
    assert plan(layout=DAILY).layout_of(TableOutput("facts")) == DAILY
    by_hour = plan(layout=DAILY).layout_of(TableOutput("facts", partition_by=("hour(time)", "kind")))
    assert by_hour == Layout(parse_divisions("hour(time), kind"), ("user",))


@pytest.mark.parametrize(
    ("text", "default", "value"), [("3", 1, 3), ("0.5", 1.0, 0.5), ("True", False, True), ("x y", "", "x y")]
)
def test_values_have_the_type_of_their_default(text, default, value):
    assert parse_value(text, default) == value


@pytest.mark.parametrize(("text", "default"), [("x", 1), ("1.5", 1), ("x", 1.0), ("yes", True)])
def test_values_of_another_type_are_refused(text, default):
    with pytest.raises(PlanError, match=type(default).__name__):
        parse_value(text, default)


def test_offsets_are_written_as_spark_writes_them():
    assert parse_offsets('{"t": {"0": 5, "11": 7}}') == {"t": {0: 5, 11: 7}}
    # Spark's -1 and -2 are the latest and the earliest offset.
    for text in ("", "[]", '{"t": 5}', '{"t": {"a": 5}}', '{"t": {"0": -1}}'):
        with pytest.raises(PlanError, match="are not offsets"):
            parse_offsets(text)
