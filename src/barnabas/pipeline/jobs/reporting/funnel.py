"""Count the visitors of a day who reached each step of a path.

The job's parameter `funnel` lists the steps, separated by `;`. A step has one or more event types, separated by `|`. It
may also have a blank and a regular expression (Java's), which must occur in the fact's subject (page, item, query;
`facts.py`):

    page_view ^/shop/; click; search | page_view ^/find; page_view ^/thanks$

A visitor ((address, agent), on a UTC day) reaches the first step with the first event that matches it. The visitor
reaches each later step with the first matching event that is not earlier than the event of the previous step. So one
event may reach two consecutive steps. Events without an address reach no step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.jobs.reporting.facts import INPUTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEFAULT = "page_view; search; click; vote|post"

_TYPES = tuple(event.name for event in INPUTS)
_STEP = re.compile(r"(?P<types>\w+(?:\s*\|\s*\w+)*)(?:\s+(?P<pattern>.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One step; `name` is shown to users, `pattern` is "" if any subject matches."""

    name: str
    types: tuple[str, ...]
    pattern: str


def parse(text: str) -> tuple[Step, ...]:
    """Read the notation above.

    Raises:
        ValueError: a step is empty, or names a type of event that the job does not read.
    """
    steps = []
    for part in text.split(";"):
        match = _STEP.fullmatch(part.strip())
        types = tuple(word.strip() for word in match["types"].split("|")) if match else ()
        if match is None or not set(types) <= set(_TYPES):
            raise ValueError(
                f"funnel: step {part.strip()!r} is not of the form 'type|type pattern'; types: {', '.join(_TYPES)}"
            )
        steps.append(Step(part.strip(), types, match["pattern"] or ""))
    return tuple(steps)


def funnel(activity: DataFrame, steps: tuple[Step, ...]) -> DataFrame:
    """Count the visitors who reached each step.

    Args:
        activity: Distinct facts with their `day` and `visitor`.
        steps: The steps in order.

    Returns:
        Rows (day, step from 1, name, visitors), all steps for each day with an event that has an address.
    """
    from pyspark.sql import functions as F

    # The first step, often every view, needs only its earliest time. The others need all times, which are fewer.
    moments = [F.when(_fits(step), F.unix_micros("time")) for step in steps]
    gathered = [F.min(moments[0]), *map(F.collect_set, moments[1:])]
    per_visitor = (
        activity.where("address IS NOT NULL")
        .groupBy("visitor", "day")
        .agg(*(column.alias(f"_{n}") for n, column in enumerate(gathered)))
    )
    reached = F.col("_0")
    columns = [reached]
    for n in range(1, len(steps)):
        per_visitor = per_visitor.withColumn(f"_reached_{n - 1}", reached)
        reached = F.array_min(F.filter(f"_{n}", _not_before(f"_reached_{n - 1}")))
        columns.append(reached)
    counts = per_visitor.groupBy("day").agg(*(F.count(column).alias(f"_{n}") for n, column in enumerate(columns)))
    rows = F.explode(
        F.array(
            *(
                F.struct(F.lit(n + 1).alias("step"), F.lit(step.name).alias("name"), F.col(f"_{n}").alias("visitors"))
                for n, step in enumerate(steps)
            )
        )
    )
    return counts.select("day", rows.alias("_row")).select("day", "_row.step", "_row.name", "_row.visitors")


def _fits(step: Step) -> Column:
    from pyspark.sql import functions as F

    fits = F.col("type").isin(*step.types)
    return fits & F.coalesce("subject", F.lit("")).rlike(step.pattern) if step.pattern else fits


def _not_before(reached: str) -> Callable[[Column], Column]:
    from pyspark.sql import functions as F

    return lambda moment: moment >= F.col(reached)
