"""Facts of brokers' metrics: the entity of each value, and details in words.

| metrics | entity (`instance`) | `detail` |
| --- | --- | --- |
| throttle_ms | client ID of user NAME at broker N | the limit, its place and level, the rate, the sharing clients |
| lag | group ID on topic NAME; the run itself (null) | the partition that is furthest behind |
| others | the broker itself, or the cluster (null) | examples of the counted entities |

The fact's `subject` is the reporter: a broker, the cluster or a run of the pipeline. So the job detects a reporter that
falls silent.
"""

from __future__ import annotations

from typing import Any

from barnabas.pipeline.events.types import CLUSTER, RUN


def of_broker(metric: dict[str, Any]) -> dict[str, Any]:
    """Return `subject`, `instance` and `detail` of a `broker_metric`'s fact."""
    broker = metric["broker"]
    subject = broker if broker == CLUSTER or broker.startswith(RUN) else f"broker {broker}"
    instance, detail = None, metric["examples"]
    if metric["metric"] == "throttle_ms":
        client = "without an id" if metric["client_id"] == "" else metric["client_id"]
        instance, detail = f"client {client} of user {metric['user']} at {subject}", _limit(metric)
    elif metric["group_id"] is not None:
        instance = f"group {metric['group_id']} on topic {metric['topic']}"
        partition = metric["partition"]
        detail = None if partition is None else f"partition {partition} is furthest behind"
    return {"subject": subject, "instance": instance, "detail": detail}


def _limit(metric: dict[str, Any]) -> str | None:
    """Describe the limit that throttles a client, as far as it is known; None if it is unknown."""
    if metric["quota"] is None:
        return None
    unit: str | None = metric["quota_unit"]

    def amount(name: str) -> str:
        number = f"{metric[name]:,.3f}".rstrip("0").rstrip(".")
        return number if unit is None else f"{number} {unit}"

    said = str(metric["quota"])
    limit, rate, level = metric["quota_limit"], metric["rate"], metric["quota_level"]
    if limit is not None:
        said += f" of {amount('quota_limit')}"
    if level is not None:
        place = metric["quota_path"] if metric["quota_path"] is not None else "the broker's file"
        said += f" in {place} (level {level})"
    # Between two bursts, and at the end of throttling, the rate is below the limit and explains nothing.
    if limit is not None and rate is not None and rate >= limit:
        said += f", measured {amount('rate')}"
    if metric["shared_with"] is not None:
        said += f", shared with {metric['shared_with']}"
    return said
