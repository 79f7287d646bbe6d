"""The table of metrics: names by rule, each once, each with its meaning."""

import re

import pytest

from barnabas.broker.metrics.definitions import BY_NAME, METRICS, Kind, name_of


@pytest.mark.parametrize(
    ("bean", "kind", "name"),
    [
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
            Kind.COUNTER,
            "kafka_server_brokertopicmetrics_bytesin_total",
        ),
        (
            "kafka.network:type=RequestMetrics,name=TotalTimeMs",
            Kind.SUMMARY,
            "kafka_network_requestmetrics_totaltimems",
        ),
        (
            "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
            Kind.GAUGE,
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        ),
        (
            "kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups",
            Kind.GAUGE,
            "kafka_coordinator_group_groupmetadatamanager_numgroups",
        ),
        (
            "kafka.server:type=group-coordinator-metrics#offset-commit-count",
            Kind.COUNTER,
            "kafka_server_group_coordinator_metrics_offset_commit_total",
        ),
        (
            "kafka.server:type=socket-server-metrics#connection-count",
            Kind.GAUGE,
            "kafka_server_socket_server_metrics_connection_count",
        ),
        ("kafka.server:type=Fetch#throttle-time", Kind.GAUGE, "kafka_server_quota_throttle_time"),
    ],
)
def test_a_name_follows_from_kafkas(bean, kind, name):
    assert name_of(bean, kind) == name


def test_each_name_is_there_once_and_is_one_that_prometheus_takes():
    assert len(BY_NAME) == len(METRICS)
    for family in METRICS:
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", family.name), family.name
        assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", label) for label in family.labels)
        # Prometheus' naming practice: what only grows ends so, and nothing else does.
        assert family.name.endswith("_total") is (family.kind is Kind.COUNTER), family.name
        assert family.help.endswith(".")
