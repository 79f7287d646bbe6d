"""Every setting of a broker and of a topic, compared with what Kafka 2.7.2's own tool printed for the same ones."""

import json
from pathlib import Path

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.describe import ConfigEntry, ConfigSource, describe_broker, describe_topic

GOLDEN = Path(__file__).parents[3] / "golden/described-configs.txt"
BEYOND = Path(__file__).parents[4] / "schemas/barnabas-configs.json"
SERVER_PROPERTIES = {
    "broker.id": "0",
    "log.dirs": "/data",
    "num.partitions": "1",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.hours": "100",
    "zookeeper.connect": "127.0.0.1:2181",
}
NAMES = {
    ConfigSource.TOPIC: "DYNAMIC_TOPIC_CONFIG",
    ConfigSource.STATIC_BROKER: "STATIC_BROKER_CONFIG",
    ConfigSource.DEFAULT: "DEFAULT_CONFIG",
}


def printed(entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{NAMES[source]}:{name}={value}" for name, value, source in entry.synonyms)
    value = "null" if entry.value is None else entry.value
    return f"  {entry.name}={value} sensitive={str(entry.is_sensitive).lower()} synonyms={{{synonyms}}}"


def test_all_settings_are_described_as_kafka_does():
    broker = BrokerConfig.from_properties(SERVER_PROPERTIES)
    topic = TopicConfig.from_broker(broker).with_overrides({"segment.bytes": "10000"})
    entries = describe_broker(broker) + describe_topic(topic)
    beyond = {each["name"] for each in json.loads(BEYOND.read_text())["broker"]}
    ours = {printed(entry) for entry in entries if entry.name not in beyond and entry.name != "listeners"}
    assert ours == set(GOLDEN.read_text().splitlines()[1:])


def test_finer_settings_that_win_come_first():
    broker = BrokerConfig.from_properties({"log.retention.minutes": "5", "log.retention.hours": "1"})
    (minutes,) = describe_broker(broker, ["log.retention.minutes"])
    assert [(name, value) for name, value, _ in minutes.synonyms] == [
        ("log.retention.minutes", "5"),
        ("log.retention.hours", "1"),
        ("log.retention.hours", "168"),
    ]
    (hours,) = describe_broker(broker, ["log.retention.hours"])
    assert [name for name, _, _ in hours.synonyms] == ["log.retention.hours", "log.retention.hours"]


def test_secrets_and_unknown_types_are_not_shown():
    broker = BrokerConfig.from_properties({"ssl.key.password": "secret", "listener.name.a.ssl.key.password": "secret"})
    entries = describe_broker(broker, ["ssl.key.password", "listener.name.a.ssl.key.password"])
    assert len(entries) == 2
    assert all(entry.is_sensitive and entry.value is None for entry in entries)
    assert "secret" not in repr(entries)
