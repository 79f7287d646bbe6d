"""Figures of brokers, as events of the type `broker_metric`; what requests tell of a cluster, made such figures. Pure.

docs/pipeline/operations.md lists the metrics. Those of a broker's own page are in `broker_metrics_page.py`. Throttled
clients and groups with lag are named; others are not.

Source: docs/quotas.md; `barnabas.broker.quotas.explain` for the answers' shape; Kafka's protocol guide: OffsetFetch,
Metadata.
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

# Ten seconds' worth is free (docs/quotas.md): a client throttled in the last minute has used a sixth of its limit, or
# shares its limit with other clients. A little less, as seconds and windows do not begin together.
_LEAST_PART = 0.15

# (user, client id), as a broker has them.
Client = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BrokerFigure:
    """One figure; the attributes are the fields of the event."""

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
        """Return it as an event; what it is of makes it the only one of its tick."""
        named = (self.broker, self.metric, self.group_id, self.topic, self.user, self.client_id)
        return BROKER_METRIC, ":".join(quote(name) for name in named if name is not None), asdict(self)


def clients_near_limits(brokers: Iterable[Mapping[str, Any]]) -> dict[Client, float]:
    """Return clients that may have been throttled in the last minute, with the largest part of a limit that each uses.

    That is measured twice, as a client comes in bursts: of the last minute by itself, and over the quota's windows of
    all whom the limit counts together. `brokers` is what `QuotaStateAdmin.top` gives of the last minute.
    """
    found: dict[Client, float] = {}
    for broker in brokers:
        for row in broker["clients"]:
            # All who are too many to be told apart are one row, without limits.
            parts = [row["rates"][key] / limit for key, limit in row.get("limits", {}).items()]
            part = max([*parts, *row.get("parts_of_limits", {}).values()], default=0.0)
            if part >= _LEAST_PART or row.get("held_count"):
                client = (row["user"], row["client_id"])
                found[client] = max(part, found.get(client, 0.0))
    return found


def throttled_clients(brokers: Iterable[Mapping[str, Any]]) -> list[BrokerFigure]:
    """Return how long each of the `brokers` (`QuotaStateAdmin.explain`) throttles a client, by its longest limit."""
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
    """Return the lag of each group and topic that has one, the largest first.

    `committed` has offsets by group and partition; a partition that is no more has no end, and is left out.
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
    """Count the partitions that nobody leads, and those that lack replicas."""
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
    """Say how many series of a kind a tick does not tell of."""
    return BrokerFigure(CLUSTER, f"{what}_left_out", float(max(0, count)), "series")


def _named(names: list[str], count: int) -> str:
    """Return the first names, and how many there are beside them."""
    shown = names[:_MOST_NAMED]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more
