"""Which events of librdkafka end a run's requests to its cluster."""

from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, KafkaOptions, mark_of_record
from barnabas.pipeline.tables.table import Mark


def message(offset: int, error: int | None = None) -> Any:
    """A record, or an error."""
    return SimpleNamespace(
        topic=lambda: "t",
        partition=lambda: 0,
        offset=lambda: offset,
        error=lambda: None if error is None else KafkaError(error),
        timestamp=lambda: (1, 1_000),
        key=lambda: None,
        value=lambda: b"value",
    )


def found(monkeypatch: pytest.MonkeyPatch, *polls: Any) -> dict[str, dict[int, Mark]]:
    """Read the mark of offset 5 from a consumer whose polls return these."""
    left = list(polls)
    consumer = SimpleNamespace(
        assign=lambda partitions: None,
        incremental_unassign=lambda partitions: None,
        poll=lambda timeout_s: left.pop(0),
        close=lambda: None,
    )
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda settings: consumer)
    return Cluster(KafkaOptions("127.0.0.1:9092", {})).found_marks({"t": {0: Mark(5, 0, 0)}})


def test_reading_the_last_records_needs_no_right_on_a_group(monkeypatch: pytest.MonkeyPatch):
    refused = message(-1, KafkaError.GROUP_AUTHORIZATION_FAILED)
    expected = {"t": {0: mark_of_record(5, 1_000, None, b"value")}}
    assert found(monkeypatch, refused, None, message(5)) == expected


def test_reading_the_last_records_needs_the_right_to_read_the_topic(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ClusterUnavailableError, match="Topic authorization failed"):
        found(monkeypatch, message(-1, KafkaError.TOPIC_AUTHORIZATION_FAILED))
