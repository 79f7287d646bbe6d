"""Which Kafka reads what, and how the settings that say so go together."""

import pytest

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.versions import NEWEST, OLDEST, kafka_version
from barnabas.core.errors import ConfigError

PROTOCOL, MESSAGE = "inter.broker.protocol.version", "log.message.format.version"


def versions(**given: str) -> tuple[str, str]:
    config = BrokerConfig.single_broker({name.replace("_", "."): text for name, text in given.items()})
    return config.inter_broker_protocol_version, config.log_message_format_version


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.8.2", "0.8.2"),
        ("0.10.2", "0.10.2-IV0"),
        ("0.10.2.2", "0.10.2-IV0"),
        ("0.11.0-IV0", "0.11.0-IV0"),
        ("2.1", "2.1-IV2"),
        ("2.7.2", "2.7-IV2"),
    ],
)
def test_a_short_name_means_the_last_step(text, name):
    assert kafka_version(text).name == name


@pytest.mark.parametrize("text", ["", "0.7", "2.8", "2.1-IV9", "kafka"])
def test_other_versions_are_not_known(text):
    with pytest.raises(ConfigError, match=r"not a Kafka version from 0.8.0 to 2.7"):
        kafka_version(text)


def test_a_cluster_of_a_newer_protocol_is_refused_in_one_short_line():
    with pytest.raises(ConfigError, match=r"version=2.8: must be a version from 0.8.0 to 2.7-IV2$"):
        versions(inter_broker_protocol_version="2.8")


def test_versions_compare_in_the_order_of_their_appearance():
    names = ["0.8.0", "0.9.0", "0.10.0", "0.10.2", "0.11.0", "1.1", "2.1-IV0", "2.1", "2.3", "2.7"]
    found = [kafka_version(name) for name in names]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (OLDEST, NEWEST)


def test_without_a_word_all_is_of_the_newest():
    assert versions() == ("2.7-IV2", "2.7-IV2")


def test_the_message_format_follows_an_old_protocol():
    assert versions(inter_broker_protocol_version="0.10.2") == ("0.10.2", "0.10.2-IV0")
    assert versions(inter_broker_protocol_version="1.0") == ("1.0", "2.7-IV2")


def test_two_that_cannot_be_together_are_an_error():
    with pytest.raises(ConfigError, match=r"log.message.format.version=2.0: needs a newer inter.broker.protocol"):
        versions(inter_broker_protocol_version="0.10.2", log_message_format_version="2.0")
    with pytest.raises(ConfigError, match=r"offsets.topic.compression.codec=4: needs an inter.broker.protocol"):
        versions(inter_broker_protocol_version="1.0", offsets_topic_compression_codec="4")


@pytest.mark.parametrize(
    ("given", "expected", "contradictions"),
    [
        ({}, ("0.10.2-IV0", "0.10.2-IV0"), []),
        ({PROTOCOL: "0.10.1"}, ("0.10.1", "0.10.2-IV0"), []),
        ({MESSAGE: "0.9.0"}, ("0.10.2-IV0", "0.9.0"), []),
        ({PROTOCOL: "2.7"}, ("2.7", "0.10.2-IV0"), ["inter.broker.protocol.version=2.7"]),
        (
            {MESSAGE: "1.0"},
            ("1.0-IV0", "1.0"),
            ["inter.broker.protocol.version=1.0-IV0", "log.message.format.version=1.0"],
        ),
    ],
)
def test_what_was_asked_for_wins_over_what_kafka_reads_and_is_told(given, expected, contradictions):
    config = BrokerConfig.single_broker(given)
    assert config.write_for(kafka_version("0.10.2")) == contradictions
    assert (config.inter_broker_protocol_version, config.log_message_format_version) == expected


def test_what_cannot_be_with_what_kafka_reads_is_an_error():
    config = BrokerConfig.single_broker({"offsets.topic.compression.codec": "4"})
    with pytest.raises(ConfigError, match=r"offsets.topic.compression.codec=4"):
        config.write_for(kafka_version("0.10.2"))


def test_a_topics_message_format_that_is_too_new_is_ignored_as_in_kafka():
    broker = BrokerConfig.single_broker({PROTOCOL: "0.10.2"})
    topic = TopicConfig.from_broker(broker).with_overrides({"message.format.version": "0.11.0", "retention.ms": "5"})
    assert (topic.ignored_format, topic.message_format_version) == ("0.11.0", "0.11.0")
    assert (topic.for_logs().message_format_version, topic.for_logs().retention_ms) == ("0.10.2-IV0", 5)
    old = TopicConfig.from_broker(broker).with_overrides({"message.format.version": "0.9.0"})
    assert old.ignored_format is None
    assert old.for_logs().message_format_version == "0.9.0"
