"""Slow pages: how long each page took to answer, by the hour.

Facts are kept for every view that says how long it took; what is derived is computed from them, so views may come in
any order, and more than once.
"""

from barnabas.pipeline.events.types import EVENT_TYPES
from barnabas.pipeline.job import Job, Mode, Parameter, Summary, TableOutput, TopicInput


def transform(inputs, parameters):
    views = inputs["views"].where("latency_ms IS NOT NULL")
    return {"timings": views.select("id", "time", "page", "latency_ms", "_topic", "_partition", "_offset")}


def refresh(tables, parameters):
    views = tables["timings"].dropDuplicates(["id"]).selectExpr("date_trunc('HOUR', time) hour", "page", "latency_ms")
    pages = views.groupBy("hour", "page").agg({"*": "count", "latency_ms": "max"})
    pages = pages.toDF("hour", "page", "views", "worst_ms")
    return {"slow_pages": pages.where(pages.worst_ms >= parameters["at_least_ms"])}


def summarize(tables, parameters):
    return [Summary("Slow pages", tables["slow_pages"].orderBy("worst_ms", ascending=False))]


JOB = Job(
    name="slow-pages",
    does="says which pages are slow, hour by hour",
    inputs=(TopicInput("views", EVENT_TYPES["page_view"]),),
    outputs=(TableOutput("timings"), TableOutput("slow_pages", Mode.REPLACE)),
    transform=transform,
    refresh=refresh,
    summarize=summarize,
    parameters=(Parameter("at_least_ms", 500.0, "slower than this is slow"),),
)
