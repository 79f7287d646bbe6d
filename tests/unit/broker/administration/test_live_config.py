"""Settings that change while a broker runs, compared with what Kafka 2.7.2 described after the same changes."""

import json
import logging
import re
from pathlib import Path

import pytest

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.describe import ConfigEntry, describe_broker, describe_broker_defaults, describe_topic
from barnabas.core.config.dynamic import Layer

GOLDEN = Path(__file__).parents[3] / "golden/described-live-configs.txt"
# What tools/kafka starts a broker with, and what the recorded one was given beside.
SERVER_PROPERTIES = {
    "broker.id": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "1",
    "log.retention.hours": "100",
    "log.cleaner.threads": "2",
    "log.segment.bytes": "1000000",
    "log.roll.hours": "50",
    "log.flush.scheduler.interval.ms": "600000",
}
ALWAYS_RECORDED = {
    "log.cleaner.threads",
    "log.flush.scheduler.interval.ms",
    "log.retention.hours",
    "log.roll.hours",
    "min.insync.replicas",
    "segment.ms",
}
LAYERS = {"brokers/<default>": Layer.ALL_BROKERS, "brokers/0": Layer.THIS_BROKER}


def line(label: str, entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{source:d}:{name}={value}" for name, value, source in entry.synonyms)
    return (
        f"{label} {entry.name}={entry.value} source={entry.source:d} read-only={entry.is_read_only} "
        f"sensitive={entry.is_sensitive} type={entry.type_code} synonyms={{{synonyms}}}"
    )


def described(config: BrokerConfig) -> set[str]:
    """What the golden file has of it."""
    topic = TopicConfig.from_broker(config).with_overrides({"retention.bytes": "777"})
    lines = [
        (label, entry, line(label, entry))
        for label, entries in (
            ("broker", describe_broker(config)),
            ("default", describe_broker_defaults(config)),
            ("topic", describe_topic(topic)),
        )
        for entry in entries
    ]
    return {
        text
        for _, entry, text in lines
        if re.search(r" source=[123] |[{ ][123]:", text) or entry.name in ALWAYS_RECORDED
    }


def live(**settings: str) -> LiveConfig:
    config = LiveConfig(BrokerConfig.from_properties({name.replace("_", "."): text for name, text in settings.items()}))
    config.is_serving = True
    return config


def test_values_sources_and_synonyms_are_kafkas_after_each_change() -> None:
    settings = LiveConfig(BrokerConfig.from_properties(SERVER_PROPERTIES))
    settings.is_serving = True
    for step in GOLDEN.read_text().split("\n== ")[1:]:
        changes, *lines = step.splitlines()
        for entity, overrides in json.loads(changes).items():
            settings.set_overrides(LAYERS[entity], overrides)
        assert described(settings.config) == set(lines), changes


def test_what_is_set_for_one_broker_wins_over_what_is_set_for_all_and_that_over_the_file() -> None:
    settings = live(log_segment_bytes="1000")
    config = settings.config
    settings.set_overrides(Layer.THIS_BROKER, {"log.segment.bytes": "3000"})
    settings.set_overrides(Layer.ALL_BROKERS, {"log.segment.bytes": "2000", "log.retention.ms": "5"})
    assert (config.log_segment_bytes, config.log_retention_ms) == (3000, 5)
    settings.set_overrides(Layer.THIS_BROKER, {})
    assert config.log_segment_bytes == 2000
    settings.set_overrides(Layer.ALL_BROKERS, {})
    assert (config.log_segment_bytes, config.log_retention_ms) == (1000, 168 * 3_600_000)


def test_listeners_are_told_once_after_the_change_and_only_of_what_they_go_by() -> None:
    settings = live()
    told: list[tuple[str, int]] = []
    settings.subscribe(["log.retention.ms", "message.max.bytes"], lambda: told.append(("a", seen())))
    settings.subscribe(["message.max.bytes"], lambda: told.append(("b", seen())))
    settings.subscribe(["background.threads"], lambda: told.append(("c", seen())))

    def seen() -> int:
        return settings.config.message_max_bytes

    settings.set_overrides(Layer.ALL_BROKERS, {"log.retention.ms": "5", "message.max.bytes": "100"})
    settings.set_overrides(Layer.ALL_BROKERS, {"log.retention.ms": "5", "message.max.bytes": "100"})
    settings.set_overrides(Layer.THIS_BROKER, {"message.max.bytes": "100"})
    assert told == [("a", 100), ("b", 100)]


def test_what_can_not_be_set_is_told_in_one_line_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    settings = live(listeners="PLAINTEXT://127.0.0.1:9092")
    with caplog.at_level(logging.WARNING):
        settings.set_overrides(
            Layer.ALL_BROKERS,
            {"message.max.bytes": "abc", "num.partitions": "7", "ssl.provider": "x", "log.retention.bytes": "9"},
        )
        settings.set_overrides(Layer.THIS_BROKER, {"broker.id": "1", "ssl.provider": "x"})
    assert [record.getMessage() for record in caplog.records] == [
        "dynamic settings of all brokers ignored: only in the file: num.partitions; "
        "only for one broker: ssl.provider; impossible: message.max.bytes",
        "dynamic settings of this broker ignored: only in the file: broker.id; without effect here: ssl.provider",
    ]
    config = settings.config
    assert (config.log_retention_bytes, config.num_partitions, config.message_max_bytes) == (9, 1, 1048588)
    # As Kafka describes what is set and is not so.
    assert config.default_overrides == {"message.max.bytes": "abc", "log.retention.bytes": "9"}
    (entry,) = describe_broker(config, ["message.max.bytes"])
    assert line("broker", entry) == (
        "broker message.max.bytes=1048588 source=3 read-only=False sensitive=False type=3 "
        "synonyms={3:message.max.bytes=abc, 5:message.max.bytes=1048588}"
    )


def test_threads_can_be_any_number_at_the_start_and_half_or_twice_as_many_later() -> None:
    settings = LiveConfig(BrokerConfig.from_properties({}))
    settings.set_overrides(Layer.ALL_BROKERS, {"background.threads": "40"})
    settings.is_serving = True
    config = settings.config
    for count, expected in (("90", 40), ("80", 80), ("39", 80), ("40", 40)):
        settings.set_overrides(Layer.ALL_BROKERS, {"background.threads": count})
        assert config.background_threads == expected


def test_what_was_refused_is_applied_once_it_fits() -> None:
    settings = live()
    settings.set_overrides(Layer.THIS_BROKER, {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "2000000"})
    assert settings.config.log_cleaner_threads == 1
    settings.set_overrides(Layer.THIS_BROKER, {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "3000000"})
    assert settings.config.log_cleaner_threads == 2


def test_throttles_are_told_of_though_other_settings_are_refused() -> None:
    settings, told = live(), []
    settings.subscribe(["leader.replication.throttled.rate"], lambda: told.append("leader"))
    settings.subscribe(["follower.replication.throttled.rate"], lambda: told.append("follower"))
    settings.set_overrides(Layer.THIS_BROKER, {"leader.replication.throttled.rate": "5"})
    assert (told, settings.config.leader_replication_throttled_rate) == (["leader"], 5)
    refused = {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "2000000"}
    settings.set_overrides(Layer.THIS_BROKER, {"follower.replication.throttled.rate": "7", **refused})
    assert settings.config.log_cleaner_threads == 1
    assert (told, settings.config.follower_replication_throttled_rate) == (["leader", "leader", "follower"], 7)
    settings.set_overrides(Layer.THIS_BROKER, {"follower.replication.throttled.rate": "7"})
    assert told == ["leader", "leader", "follower"]
    assert settings.config.leader_replication_throttled_rate == (1 << 63) - 1


def test_an_impossible_limit_of_moves_between_directories_limits_nothing() -> None:
    settings = live()
    name, config = "replica.alter.log.dirs.io.max.bytes.per.second", settings.config
    assert config.replica_alter_log_dirs_io_max_bytes_per_second == (1 << 63) - 1
    settings.set_overrides(Layer.THIS_BROKER, {name: "x"})
    assert config.replica_alter_log_dirs_io_max_bytes_per_second == (1 << 63) - 1
    settings.set_overrides(Layer.ALL_BROKERS, {name: "5"})
    assert config.replica_alter_log_dirs_io_max_bytes_per_second == 5
    settings.set_overrides(Layer.THIS_BROKER, {name: "7"})
    assert config.replica_alter_log_dirs_io_max_bytes_per_second == 7
