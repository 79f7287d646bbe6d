"""Operations: figures per minute of site, services, hosts, brokers and topics, and alerts that fire and are resolved.

**Computation.** `make_facts` returns one slim fact for each event of any type. `aggregate` computes the figures of each
minute from facts, only for hours with new facts. `refresh` reads the last `history_hours` hours of figures. It adds the
minutes without facts (`minute_metrics.py`), judges each minute by rules (`rules.py`) and turns bad minutes into alerts
(`alerts.py`). Time is event time; "now" is the start of the minute of the latest event.

**Why not windows in Spark's state**, the usual way? A stream of several topics uses the watermark of the topic that is
furthest behind. When a topic falls silent, its watermark stops, and no window of any topic closes: the silence would
delay its own alert. In addition, the last minutes of a stream would stay in the state, late events would be missing
from the figures, and a changed rule could not apply to the past. Figures computed from facts have none of these
problems, and an alert does not depend on when its events arrived.

docs/pipeline/operations.md lists figures, alerts, parameters and limitations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.facts import MICROS, believed_micros, latest_micros, once, rows_of
from barnabas.pipeline.job import (
    Frames,
    Job,
    Mode,
    Parameter,
    Parameters,
    Summary,
    TableOutput,
    TopicInput,
    TopicOutput,
)
from barnabas.pipeline.jobs.operations.alerts import FIRING, alerts
from barnabas.pipeline.jobs.operations.brokers import of_broker
from barnabas.pipeline.jobs.operations.minute_metrics import MINUTE_S, minute_figures, without_gaps
from barnabas.pipeline.jobs.operations.rules import PARAMETERS

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

HOUR_S = 3600

_TOLD = ("subject", "instance", "detail")

_COLUMNS = {
    "id": "string",
    "time": "time",
    "kind": "string",
    "subject": "string",
    "instance": "string",
    "figure": "string",
    "value": "double",
    "status": "int32",
    "bytes": "int64",
    "latency_ms": "double",
    "detail": "string",
}


def make_facts(name: str, events: pa.Table) -> pa.Table:
    """Return the facts of events: metrics of hosts and brokers, levels of service logs, responses to views."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    made: dict[str, Any] = {"kind": name, "value": None}
    match name:
        case "service_log":
            made["subject"] = pc.binary_join_element_wise("service", events["service"], " ")
            made["figure"] = pc.utf8_upper(events["level"])
        case "host_metric":
            made["subject"] = pc.binary_join_element_wise("host", events["host"], " ")
            made |= {"figure": events["metric"], "value": events["value"]}
        case "broker_metric":
            made |= {"figure": events["metric"], "value": events["value"]}
            told = [of_broker(each) for each in events.to_pylist()]
            made |= {key: pa.array([each[key] for each in told], pa.string()) for key in _TOLD}
    return rows_of(events, _COLUMNS, made)


def aggregate(tables: Frames, parameters: Parameters) -> Frames:
    """Compute the figures of each minute from the facts of some hours."""
    from pyspark.sql import functions as F

    facts = tables["operations_facts"].withColumn("topic", F.col("_topic")).withColumn("believed", believed_micros())
    unit = F.floor(F.col("minute") * MINUTE_S / HOUR_S).alias("unit")
    return {"operations_minutes": minute_figures(once(facts)).select(unit, "*")}


def refresh(tables: Frames, parameters: Parameters) -> Frames:
    """Compute figures without gaps, and alerts, from the figures of minutes with facts."""
    from pyspark.sql import functions as F

    told = tables["operations_minutes"]
    # Leave out the minute of the latest event, which is not over.
    end = latest_micros(told, F.col("latest")) // (MINUTE_S * MICROS)
    start = end - int(float(parameters["history_hours"]) * HOUR_S) // MINUTE_S
    found = without_gaps(told.where(F.col("minute").between(start, end - 1)), end - 1)
    minute = F.timestamp_seconds(F.col("minute") * MINUTE_S)
    return {
        "figures_per_minute": found.withColumn("minute", minute),
        "alerts": alerts(found, parameters),
    }


def summarize(tables: Frames, parameters: Parameters) -> list[Summary]:
    """Return the alerts, firing ones first, and the last hour of each figure."""
    from pyspark.sql import functions as F

    told = tables["alerts"].orderBy(F.col("state") != FIRING, F.desc("since"), "alert", "subject").limit(20)
    minutes = tables["figures_per_minute"]
    last = minutes.agg(F.max("minute").alias("_last"))
    is_recent = F.unix_seconds("minute") > F.unix_seconds("_last") - HOUR_S
    hour = (
        minutes.join(F.broadcast(last), is_recent)
        .groupBy("subject", "figure")
        .agg(
            F.percentile("value", F.lit(0.5)).alias("median"),
            F.max("value").alias("highest"),
            F.max_by("value", "minute").alias("last"),
        )
    )
    return [
        Summary("alerts", told.select("state", "alert", "subject", "since", "resolved_at", "sentence")),
        Summary("figures per minute, the last hour", hour.orderBy("subject", "figure").limit(60)),
    ]


JOB = Job(
    name="operations",
    does="watches site, services, hosts, brokers and topics: figures per minute, and alerts that fire and are resolved",
    inputs=tuple(TopicInput(name, event) for name, event in EVENT_TYPES.items()),
    outputs=(
        TableOutput("operations_facts"),
        TableOutput("operations_minutes", Mode.AGGREGATE),
        TableOutput("figures_per_minute", Mode.REPLACE),
        TableOutput("alerts", Mode.REPLACE),
        TopicOutput("alerts", ("alert", "subject")),
    ),
    facts=make_facts,
    refresh=refresh,
    aggregate=aggregate,
    window_s=HOUR_S,
    parameters=(Parameter("history_hours", 24.0, "hours of figures and alerts that are kept"), *PARAMETERS),
    summarize=summarize,
)
