"""What the job "operations" makes of literal events and figures, in minutes after their start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import Frames, Parameters
from barnabas.pipeline.jobs.operations import JOB, aggregate, refresh
from barnabas.pipeline.jobs.operations.alerts import alerts
from tests.pipeline.literal_events import START, Inputs, values
from tests.spark import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START_MINUTE = int(START.timestamp()) // 60


def figures_of(inputs: Inputs, **parameters: float) -> dict[tuple[int, str, str], tuple]:
    """Compute the figures: (value, count) by (minute after the start, subject, figure)."""
    return {
        (minute(row["minute"]), row["subject"], row["figure"]): (row["value"], row["count"])
        for row in values(_refreshed(inputs, parameters)["figures_per_minute"])
    }


def alerts_of(inputs: Inputs, **parameters: float) -> list[dict[str, Any]]:
    """Compute the alerts."""
    return values(_refreshed(inputs, parameters)["alerts"])


def _refreshed(inputs: Inputs, parameters: Mapping[str, float]) -> Mapping[str, DataFrame]:
    facts = inputs.facts(JOB)
    return refreshed(facts, {**JOB.defaults(), **parameters})


def refreshed(facts: DataFrame, parameters: Parameters) -> Frames:
    """Compute what is derived from facts."""
    return refresh(aggregate({"operations_facts": facts}, parameters), parameters)


def minute(time: Any) -> int:
    return int(time.timestamp()) // 60 - START_MINUTE


class Judged:
    """Figures as literal rows, judged and made alerts."""

    def __init__(self, spark: SparkSession, **parameters: float) -> None:
        self._spark = spark
        self._parameters = {**JOB.defaults(), **parameters}
        self.rows: list[tuple[int, str, str, float, int, str | None]] = []

    def add(
        self, subject: str, figure: str, values: list[float | None], count: int = 100, detail: str | None = None
    ) -> Judged:
        """Add a figure from the start on, a value a minute; None: a minute without one."""
        told = [
            (START_MINUTE + number, subject, figure, float(value), count, detail)
            for number, value in enumerate(values)
            if value is not None
        ]
        self.rows += told
        return self

    def alerts(self) -> dict[tuple[str, str], dict[str, Any]]:
        columns = {"minute": "BIGINT", "subject": "STRING", "figure": "STRING"}
        columns |= {"value": "DOUBLE", "count": "BIGINT", "detail": "STRING"}
        ddl = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        rows = [dict(zip(columns, row, strict=True)) for row in self.rows]
        found = values(alerts(frame_of(self._spark, rows, ddl), self._parameters))
        for row in found:
            for name in ("since", "fired_at", "resolved_at"):
                row[name] = None if row[name] is None else minute(row[name])
        return {(row["alert"], row["subject"]): row for row in found}


def times(row: dict[str, Any]) -> tuple[str, int, int, int | None]:
    return row["state"], row["since"], row["fired_at"], row["resolved_at"]
