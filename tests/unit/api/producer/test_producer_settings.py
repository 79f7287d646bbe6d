"""The producer's settings: what each becomes where that can't be seen from outside, and what is refused together."""

from pathlib import Path

import pytest

from barnabas.api.producer.producer import new_backlog
from barnabas.api.producer.settings import TABLE, ProducerConfig
from barnabas.core.errors import ConfigError

ROOT = Path(__file__).parents[4]
BROKERS = {"metadata.broker.list": "a:9092"}
ASYNC = {**BROKERS, "producer.type": "async"}


def librdkafka(name: str, value: object, option: str) -> object:
    """What librdkafka is told for a setting."""
    return ProducerConfig({**ASYNC, name: value}).librdkafka("a:9092", "none")[option]


@pytest.mark.parametrize(
    ("name", "value", "option", "expected"),
    [
        ("max.in.flight.requests.per.connection", 1, "max.in.flight.requests.per.connection", 1),
        ("connect.timeout.ms", 1_234, "socket.connection.setup.timeout.ms", 1_234),
        ("socket.timeout.ms", 1_234, "socket.timeout.ms", 1_234),
        ("request.timeout.ms", 1_234, "socket.timeout.ms", 1_234),
        ("request.timeout.ms", 1_234, "message.timeout.ms", 4 * (1_234 + 100)),
        ("send.buffer.bytes", 1_234, "socket.send.buffer.bytes", 1_234),
        ("buffer.size", 1_234, "socket.send.buffer.bytes", 1_234),
        ("retry.backoff.ms", 12, "retry.backoff.ms", 12),
        ("retry.backoff.ms", 12, "retry.backoff.max.ms", 12),
        ("retry.backoff.ms", 12, "reconnect.backoff.ms", 12),
        ("message.send.max.retries", 7, "message.send.max.retries", 7),
        ("topic.metadata.refresh.interval.ms", 0, "topic.metadata.refresh.interval.ms", 10),
        ("topic.metadata.refresh.interval.ms", -5, "topic.metadata.refresh.interval.ms", -1),
        ("queue.size", 50_000, "queue.buffering.max.messages", 50_000),
        ("batch.size", 77, "batch.num.messages", 77),
        ("queue.time", 2, "queue.buffering.max.ms", 2),
        ("max.message.size", 5_000_000, "message.max.bytes", 5_010_000),
    ],
)
def test_what_librdkafka_is_told(name: str, value: object, option: str, expected: object) -> None:
    assert librdkafka(name, value, option) == expected


def test_the_wait_before_a_retry() -> None:
    assert ProducerConfig({**BROKERS, "retry.backoff.ms": 250}).backoff_s == 0.25


def test_the_queue_is_made_of_its_settings() -> None:
    config = ProducerConfig({**ASYNC, "queue.time": 30, "queue.size": 40, "batch.size": 20})
    backlog = new_backlog(config.settings)
    assert (backlog.size, backlog.room) == (40, 40)
    from barnabas.api.producer.data import ProducerData

    backlog.add(ProducerData("t", None, [b""] * 19), 100)
    assert backlog.due_in_ms(100) == 30
    assert not backlog.has_full_batch
    backlog.add(ProducerData("t", None, [b""]), 101)
    assert backlog.has_full_batch


def test_how_zookeeper_is_reached() -> None:
    options = ProducerConfig({"zk.connect": "z:2181/kafka", "zk.sessiontimeout.ms": 700}).zookeeper
    assert (options.connect, options.session_timeout_ms, options.connection_timeout_ms) == ("z:2181/kafka", 700, 700)
    options = ProducerConfig({"zk.connect": "z:2181", "zk.connectiontimeout.ms": 800}).zookeeper
    assert (options.session_timeout_ms, options.connection_timeout_ms) == (6_000, 800)


def test_how_long_zookeeper_may_be_behind() -> None:
    assert ProducerConfig({"zk.connect": "z:2181", "zk.synctime.ms": 300}).sync_time_s == 0.3
    assert ProducerConfig({"zk.connect": "z:2181"}).sync_time_s == 2.0


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        ("a:1", "a:1"),
        ("a:1, b:2", "a:1,b:2"),
        ("0:a:1,12:b:2", "a:1,b:2"),
        ("10.0.0.1:9092", "10.0.0.1:9092"),
        ("[::1]:9092", "[::1]:9092"),
        ("3:[::1]:9092", "[::1]:9092"),
    ],
)
def test_brokers_are_listed_as_in_0_7_or_0_8(given: str, servers: str) -> None:
    assert ProducerConfig({"broker.list": given}).servers == servers


@pytest.mark.parametrize("given", ["a", "a:b", "x:a:1", ":1", "a:1 b:2"])
def test_what_is_no_broker_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=r"broker\.list.*must be host:port"):
        ProducerConfig({"broker.list": given})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "neither is set"),
        ({**BROKERS, "zk.connect": "z:2181"}, "both are set"),
        ({**BROKERS, "callback.handler": "a.B"}, "callback.handler needs producer.type=async"),
        ({**BROKERS, "event.handler": "a.B"}, "event.handler needs producer.type=async"),
        ({**ASYNC, "callback.handler.props": {}}, "callback.handler.props is for callback.handler"),
        ({**ASYNC, "event.handler.props": {}}, "event.handler.props is for event.handler"),
        ({**BROKERS, "compression.codec": "zstd"}, "compression.codec=zstd"),
        ({**BROKERS, "security.protocol": "TLS"}, "security.protocol=TLS is not supported"),
        ({**BROKERS, "queue.sise": 1}, "did you mean queue.size"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(config: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ProducerConfig(config)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("given", "codec"), [("0", "none"), (1, "gzip"), ("2", "snappy"), (3, "lz4"), ("gzip", "gzip")]
)
def test_codecs_have_names_and_0_7s_numbers(given: object, codec: str) -> None:
    assert ProducerConfig({**BROKERS, "compression.codec": given}).codec == codec


def test_only_the_topics_that_are_named_are_compressed() -> None:
    config = ProducerConfig({**BROKERS, "compression.codec": "gzip", "compressed.topics": "a,b"})
    assert [config.is_compressed(topic) for topic in "abc"] == [True, True, False]
    assert not ProducerConfig({**BROKERS, "compressed.topics": "a"}).is_compressed("a")
    assert ProducerConfig({**BROKERS, "compression.codec": "gzip"}).is_compressed("c")


def test_every_setting_has_a_test() -> None:
    tests = [Path(__file__), *sorted((ROOT / "tests/integration").glob("test_api_producer*.py"))]
    texts = "".join(path.read_text() for path in tests)
    untested = [
        each.name
        for each in TABLE.settings
        if not any(f'"{name}"' in texts or f"{name.replace('.', '_')}=" in texts for name in (each.name, *each.aliases))
    ]
    assert untested == []


def test_every_setting_is_in_the_documents() -> None:
    text = (ROOT / "docs/clients/producer.md").read_text()
    for each in TABLE.settings:
        for name in (each.name, *each.aliases):
            assert f"`{name}`" in text, name
        assert each.description in text, each.name
