"""Which events of librdkafka end the search for the last records of partitions."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from barnabas.core.types import TopicPartition
from barnabas.pipeline.sources import topics
from barnabas.pipeline.sources.topics import BrokerTopics, LastRecord, TopicUnavailableError

PARTITION = TopicPartition("t", 0)


def message(value: bytes | None, error: int | None = None) -> Any:
    """A record, or an error."""
    return SimpleNamespace(
        topic=lambda: "t",
        partition=lambda: 0,
        error=lambda: None if error is None else KafkaError(error),
        value=lambda: value,
        headers=lambda: None,
    )


def last_records(monkeypatch: pytest.MonkeyPatch, *polls: Any) -> dict[TopicPartition, LastRecord]:
    """Read the last record of a partition from a consumer whose polls return these."""
    left = list(polls)
    consumer = SimpleNamespace(
        get_watermark_offsets=lambda place, timeout_s: (0, 5),
        assign=lambda places: None,
        poll=lambda timeout_s: left.pop(0),
        close=lambda: None,
    )
    monkeypatch.setattr(topics, "Consumer", lambda settings: consumer)
    return BrokerTopics({"bootstrap.servers": "127.0.0.1:9092"}).last_records([PARTITION])


def test_a_sender_needs_no_right_on_a_group(monkeypatch: pytest.MonkeyPatch):
    refused = message(None, KafkaError.GROUP_AUTHORIZATION_FAILED)
    assert last_records(monkeypatch, refused, message(b"last")) == {PARTITION: LastRecord(b"last", ())}


def test_a_sender_needs_the_right_to_read_its_topic(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TopicUnavailableError, match="Topic authorization failed"):
        last_records(monkeypatch, message(None, KafkaError.TOPIC_AUTHORIZATION_FAILED))


def test_the_last_record_may_be_the_marker_of_a_transaction(monkeypatch: pytest.MonkeyPatch):
    end = message(None, KafkaError._PARTITION_EOF)
    assert last_records(monkeypatch, end) == {PARTITION: LastRecord(None, ())}


def test_only_missing_topics_are_created(monkeypatch: pytest.MonkeyPatch):
    there, created = {"t"}, []

    def create_topics(wanted: list[Any], request_timeout: float) -> dict[str, Any]:
        created.extend(each.topic for each in wanted)
        there.update(created)
        return {}

    def list_topics(timeout: float) -> Any:
        return SimpleNamespace(topics={name: SimpleNamespace(partitions={0: None}) for name in there})

    admin = SimpleNamespace(create_topics=create_topics, list_topics=list_topics)
    monkeypatch.setattr(topics, "AdminClient", lambda settings: admin)
    sender = BrokerTopics({"bootstrap.servers": "127.0.0.1:9092"})
    for names, new in ((("t",), []), (("t", "t.dlq"), ["t.dlq"])):
        assert sender.create(dict.fromkeys(names, 4)) == dict.fromkeys(names, 1)
        assert created == new
