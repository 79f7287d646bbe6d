"""Turn bad minutes into alerts.

The judged minutes of an alert and subject form runs of bad minutes and of good minutes. An alert fires in the minute in
which a bad run becomes long enough. It is resolved in the minute in which a good run becomes long enough. Shorter runs
do not change its state.

Times: `since` is the start of the bad run that made it fire, `fired_at` the end of the minute in which it fired,
`resolved_at` the start of the good run that resolved it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.operations.minute_metrics import MINUTE_S
from barnabas.pipeline.jobs.operations.rules import CHANGE, GROWTH, LIMIT, RULES, SILENCE, Figure, Judged, Rule, judged

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame

FIRING, RESOLVED = "firing", "resolved"

_COLUMNS = (
    "alert STRING, subject STRING, state STRING, since TIMESTAMP, fired_at TIMESTAMP, resolved_at TIMESTAMP, "
    "value DOUBLE, threshold DOUBLE, times_fired INT, detail STRING, sentence STRING"
)


def alerts(figures: DataFrame, parameters: Parameters) -> DataFrame:
    """Return the last state of every alert that has fired.

    Args:
        figures: Rows (minute, subject, figure, value, count, detail), one for each (minute, subject, figure).
        parameters: The job's.

    Returns:
        Rows `_COLUMNS`, one for each alert and subject; `value` is the worst value while it fired, `detail` the
        detail of that minute.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(_COLUMNS)
    assert isinstance(schema, StructType)
    columns = to_arrow_schema(schema)

    def judge(key: tuple[Any, ...], told: pa.Table) -> pa.Table:
        import pyarrow as pa

        subject, name = (each.as_py() for each in key)
        told = told.sort_by("minute")
        values = (told[name].to_pylist() for name in ("minute", "value", "count", "detail"))
        own = [Figure(*row) for row in zip(*values, strict=True)]
        found = [
            alert(rule, subject, own, parameters)
            for rule in RULES
            if rule.figure == name and subject.startswith(rule.subjects)
        ]
        return pa.Table.from_pylist([each for each in found if each is not None], columns)

    judgeable = figures.where(F.col("figure").isin(*{rule.figure for rule in RULES}))
    return judgeable.groupBy("subject", "figure").applyInArrow(judge, schema)


@dataclass(slots=True)
class _Incident:
    """A period in which an alert fires; `bad` contains its bad minutes."""

    since: int
    fired: int
    bad: list[Judged]
    resolved: int | None = None


def alert(rule: Rule, subject: str, figures: Iterable[Figure], parameters: Parameters) -> dict[str, Any] | None:
    """Return a rule's alert about a subject, as a row; None if it has not fired."""
    resolve_after = 1 if rule.kind == SILENCE else int(parameters["resolve_minutes"])
    incidents: list[_Incident] = []
    run: list[Judged] = []
    is_firing = False
    for each in judged(rule, list(figures), parameters):
        if run and each.is_bad != run[0].is_bad:
            run = []
        run.append(each)
        if each.is_bad and is_firing:
            incidents[-1].bad.append(each)
        elif each.is_bad and len(run) >= each.fire_after:
            incidents.append(_Incident(run[0].minute, each.minute + 1, list(run)))
            is_firing = True
        elif not each.is_bad and is_firing and len(run) >= resolve_after:
            incidents[-1].resolved = run[0].minute
            is_firing = False
    if not incidents:
        return None
    last = incidents[-1]
    sign = 1 if rule.is_rise else -1
    worst = max(last.bad, key=lambda each: (sign * each.value, each.minute))
    since, resolved = _time(last.since), None if last.resolved is None else _time(last.resolved)
    until = " on" if resolved is None else f" to {resolved:%H:%M}"
    return {
        "alert": rule.alert,
        "subject": subject,
        "state": FIRING if is_firing else RESOLVED,
        "since": since,
        "fired_at": _time(last.fired),
        "resolved_at": resolved,
        "value": worst.value,
        "threshold": worst.threshold,
        "times_fired": len(incidents),
        "detail": worst.detail,
        "sentence": f"{_sentence(rule, subject, worst)}: from {since:%Y-%m-%d %H:%M}{until}",
    }


def _sentence(rule: Rule, subject: str, worst: Judged) -> str:
    """Return the alert in words, for the person on call."""
    bound = "at most" if rule.is_rise else "at least"
    usual = {
        LIMIT: f"{rule.figure} of {{subject}} was {{value}}, the limit is {{limit}}",
        CHANGE: f"{rule.figure} of {{subject}}: {{value}} a minute, where the hour before lets one expect {bound} "
        "{limit}",
        GROWTH: f"{rule.figure} of {{subject}} grew from {{limit}} to {{value}} and did not fall once",
        SILENCE: "nothing from {subject} for {value} minutes",
    }
    says = rule.says or usual[rule.kind]
    known = f" ({worst.detail})" if worst.detail is not None and "{detail}" not in says else ""
    detail = "a limit that is not known" if worst.detail is None else worst.detail
    value, limit = _in_words(worst.value), _in_words(worst.threshold)
    return says.format(subject=subject, value=value, limit=limit, detail=detail) + known


def _in_words(number: float) -> str:
    """Return a number with at most three decimals, without trailing zeros."""
    return f"{number:.3f}".rstrip("0").rstrip(".")


def _time(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * MINUTE_S, UTC)
