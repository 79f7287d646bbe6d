"""Reads a broker's /metrics page and computes `broker_metric` values from it. Pure.

Counters are reported as their increase since the previous poll, `busy_percent` and `request_queue_p99_ms` for the last
minute. A counter that decreased was reset to 0, so its whole value counts.

The page's names are those of docs/metrics.md. They equal the names that Prometheus' jmx_exporter generates with its
example configuration for Kafka, so Kafka's pages are supported, too. Metrics that a page lacks are omitted.

Source: docs/metrics.md; Prometheus' text format 0.0.4.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from barnabas.pipeline.sources.broker_metrics import BrokerFigure


@dataclass(frozen=True, slots=True)
class _Reading:
    """How to compute a metric: apply `fold` to the samples with this name and these labels."""

    metric: str
    unit: str
    name: str
    fold: Callable[[Iterable[float]], float] = sum
    labels: Mapping[str, str] = field(default_factory=dict)
    is_counter: bool = False


_READINGS = (
    _Reading("loop_stalls", "stalls", "barnabas_loop_stalls_total", is_counter=True),
    _Reading("loop_stalled_ms", "ms", "barnabas_loop_stalled_ms_total", is_counter=True),
    _Reading(
        "failed_logins",
        "logins",
        "kafka_server_socket_server_metrics_failed_authentication_total",
        is_counter=True,
    ),
    _Reading("failed_requests", "requests", "barnabas_requests_failed_total", is_counter=True),
    # The event loop; on Kafka, the request handlers.
    _Reading(
        "busy_percent",
        "percent",
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        lambda idle: 100 - 100 * sum(idle),
    ),
    # The API whose requests waited longest in the queue.
    _Reading(
        "request_queue_p99_ms",
        "ms",
        "kafka_network_requestmetrics_requestqueuetimems",
        max,
        {"quantile": "0.99"},
    ),
    _Reading("uncleanable_partitions", "partitions", "kafka_log_logcleanermanager_uncleanable_partitions_count"),
    _Reading("uncleanable_bytes", "bytes", "kafka_log_logcleanermanager_uncleanable_bytes"),
    _Reading("cleaner_dead_threads", "threads", "kafka_log_logcleaner_deadthreadcount"),
    _Reading("cleaner_max_dirty_percent", "percent", "kafka_log_logcleanermanager_max_dirty_percent", max),
    _Reading("offline_log_dirs", "directories", "kafka_log_logmanager_offlinelogdirectorycount"),
    _Reading("offline_replicas", "partitions", "kafka_server_replicamanager_offlinereplicacount"),
)

# Metrics that are reported as an increase.
COUNTERS = tuple(reading.metric for reading in _READINGS if reading.is_counter)

_BUILD, _BROKER_ID = "kafka_server_app_info", "brokerId"

_THROTTLED = "kafka_server_quota_throttle_time"
_QUOTAS = {
    "Produce": "producer_byte_rate",
    "Fetch": "consumer_byte_rate",
    "Request": "request_percentage",
    "ControllerMutation": "controller_mutation_rate",
}


@dataclass(frozen=True, slots=True)
class BrokerPage:
    """One poll of a broker's page: values of metrics (counters since the broker's start), and throttled clients.

    `broker` is the id, if the page has it. `throttled`: recently throttled clients, the longest throttle time first;
    their limits are unknown.
    """

    broker: str
    values: Mapping[str, float]
    throttled: tuple[BrokerFigure, ...] = ()


def read_page(text: str, otherwise: str) -> BrokerPage:
    """Parse a metrics page; `otherwise` names the broker if the page has no id. Raises ValueError if it is invalid."""
    by_name: dict[str, list[Sample]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                # A summary without recent values is NaN.
                if isfinite(sample.value):
                    by_name.setdefault(sample.name, []).append(sample)
    except ValueError as error:
        raise ValueError(f"it is not a page of metrics: {error!s:.80}") from error
    ids = [each.labels[_BROKER_ID] for each in by_name.get(_BUILD, ()) if _BROKER_ID in each.labels]
    broker = ids[0] if ids else otherwise
    values = {}
    for reading in _READINGS:
        of_name = by_name.get(reading.name, ())
        found = [each.value for each in of_name if reading.labels.items() <= each.labels.items()]
        if found:
            values[reading.metric] = reading.fold(found)
    return BrokerPage(broker, values, _throttled(broker, by_name.get(_THROTTLED, ())))


def page_figures(before: BrokerPage | None, now: BrokerPage) -> list[BrokerFigure]:
    """Return the metrics of a poll: gauges unchanged, counters as the increase since the poll `before`."""
    found = []
    for reading in _READINGS:
        value = now.values.get(reading.metric)
        if value is not None and reading.is_counter:
            then = None if before is None else before.values.get(reading.metric)
            value = None if then is None else value - then if value >= then else value
        if value is not None:
            found.append(BrokerFigure(now.broker, reading.metric, value, reading.unit))
    return found


def _throttled(broker: str, samples: Iterable[Sample]) -> tuple[BrokerFigure, ...]:
    """Return the throttle time of each client, by the quota that throttles it longest."""
    found: dict[tuple[str, str], BrokerFigure] = {}
    for sample in sorted(samples, key=lambda each: -each.value):
        if sample.value <= 0:
            break
        user, client_id = sample.labels.get("user", ""), sample.labels.get("clientId", "")
        quota = _QUOTAS.get(sample.labels.get("resource", ""))
        figure = BrokerFigure(broker, "throttle_ms", sample.value, "ms", user=user, client_id=client_id, quota=quota)
        found.setdefault((user, client_id), figure)
    return tuple(found.values())
