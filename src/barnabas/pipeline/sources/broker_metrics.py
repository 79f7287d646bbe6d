"""Broker metrics as `broker_metric` events, computed from responses of the brokers. Pure.

docs/pipeline/operations.md lists the metrics. `broker_metrics_page.py` reads the metrics of a broker's /metrics page.
Clients are reported only if throttled, groups only if they have lag.

Source: docs/quotas.md; `barnabas.broker.quotas.explain` for the format of quota responses; Kafka's protocol guide:
OffsetFetch, Metadata.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from barnabas.clients.pool import TopicMetadata
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events.types import BROKER_METRIC, CLUSTER
from barnabas.pipeline.sources.log_lines import Measurement

_MOST_NAMED = 5

# A client may use ten seconds' worth of its limit at once (docs/quotas.md). So a client throttled in the last minute
# used at least a sixth of its limit in it, or shares the limit. Slightly less, as seconds and windows are not aligned.
_LEAST_PART = 0.15

# (user, client id), as reported by a broker.
Client = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BrokerFigure:
    """One value of a metric; the attributes are the fields of the event."""

    broker: str
    metric: str
    value: float
    unit: str
    group_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    user: str | None = None
    client_id: str | None = None
    quota: str | None = None
    quota_limit: float | None = None
    quota_unit: str | None = None
    quota_level: int | None = None
    quota_path: str | None = None
    rate: float | None = None
    shared_with: str | None = None
    examples: str | None = None

    def as_measurement(self) -> Measurement:
        """Return the value as an event, identified within its tick by broker, metric and labels."""
        named = (self.broker, self.metric, self.group_id, self.topic, self.user, self.client_id)
        return BROKER_METRIC, ":".join(quote(name) for name in named if name is not None), asdict(self)


def clients_near_limits(brokers: Iterable[Mapping[str, Any]]) -> dict[Client, float]:
    """Return the clients that may have been throttled in the last minute, with the largest part of a limit each uses.

    The part is measured twice, because clients send bursts: the client's own rate in the last minute, and the rate of
    all clients that share the limit over the quota's windows. `brokers`: `QuotaStateAdmin.top` for the last minute.
    """
    found: dict[Client, float] = {}
    for broker in brokers:
        for row in broker["clients"]:
            # Clients above the number that a broker tracks share one row, without limits.
            parts = [row["rates"][key] / limit for key, limit in row.get("limits", {}).items()]
            part = max([*parts, *row.get("parts_of_limits", {}).values()], default=0.0)
            if part >= _LEAST_PART or row.get("held_count"):
                client = (row["user"], row["client_id"])
                found[client] = max(part, found.get(client, 0.0))
    return found


def throttled_clients(brokers: Iterable[Mapping[str, Any]]) -> list[BrokerFigure]:
    """Return each broker's throttle time of a client, by the quota that throttles it longest.

    `brokers` is the result of `QuotaStateAdmin.explain`. Brokers that do not throttle are omitted.
    """
    found = []
    for broker in brokers:
        longest = max(broker["quotas"], key=_throttle_ms)
        if throttle_ms := _throttle_ms(longest):
            found.append(_throttled(broker, longest, throttle_ms))
    return found


def _throttle_ms(quota: Mapping[str, Any]) -> float:
    if quota["limit"] is None:
        return 0.0
    return float(quota.get("throttle_average_ms") or quota["throttle_ms"])


def _throttled(broker: Mapping[str, Any], quota: Mapping[str, Any], throttle_ms: float) -> BrokerFigure:
    user, client_id = broker["user"], broker["client_id"]
    levels = {level["level"]: level for level in quota["levels"]}
    sharers = [(each["user"], each["client_id"]) for each in quota["sharers"]]
    others = ["/".join(each) for each in sharers if each != (user, client_id)]
    return BrokerFigure(
        str(broker["broker_id"]),
        "throttle_ms",
        throttle_ms,
        "ms",
        user=user,
        client_id=client_id,
        quota=quota["key"],
        quota_limit=float(quota["limit"]),
        quota_unit=quota["unit"],
        quota_level=quota["level"],
        quota_path=levels[quota["level"]]["path"],
        rate=float(quota["rate"]),
        shared_with=_named(others, max(len(others), quota["sharer_count"] - 1)) if others else None,
    )


def lags(
    committed: Mapping[str, Mapping[TopicPartition, int]], ends: Mapping[TopicPartition, int]
) -> list[BrokerFigure]:
    """Return the lag of each group and topic, the largest first; those without lag are omitted.

    `committed` has offsets by group and partition. Partitions without an end offset, such as deleted ones, are ignored.
    """
    found = []
    for group_id, offsets in committed.items():
        by_topic: dict[str, list[tuple[int, int]]] = {}
        for partition, offset in offsets.items():
            if partition in ends and ends[partition] > offset:
                by_topic.setdefault(partition.topic, []).append((ends[partition] - offset, partition.partition))
        for topic, behind in by_topic.items():
            total = float(sum(lag for lag, _ in behind))
            worst = max(behind)[1]
            found.append(
                BrokerFigure(CLUSTER, "lag", total, "records", group_id=group_id, topic=topic, partition=worst)
            )
    return sorted(found, key=lambda figure: (-figure.value, figure.group_id, figure.topic))


def partition_faults(topics: Mapping[str, TopicMetadata]) -> list[BrokerFigure]:
    """Count the partitions without a leader, and the under-replicated ones."""
    partitions = [
        (f"{name}-{each.partition}", each) for name, topic in topics.items() for each in topic.partitions.values()
    ]
    offline = sorted(name for name, each in partitions if each.leader_id < 0)
    lacking = sorted(name for name, each in partitions if len(each.isr) < len(each.replicas))
    return [
        BrokerFigure(CLUSTER, metric, float(len(names)), "partitions", examples=_named(names, len(names)) or None)
        for metric, names in (("offline_partitions", offline), ("under_replicated_partitions", lacking))
    ]


def left_out(what: str, count: int) -> BrokerFigure:
    """Return a metric with the number of series of a kind that a tick omits."""
    return BrokerFigure(CLUSTER, f"{what}_left_out", float(max(0, count)), "series")


def _named(names: list[str], count: int) -> str:
    """Return the first names and the number of the others; `count` is the number of all."""
    shown = names[:_MOST_NAMED]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more
