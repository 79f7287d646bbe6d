"""Kafka's files of settings become librdkafka's, and what nobody knows is refused."""

import pytest

from barnabas.api.mirror.settings import consumer_settings, producer_settings
from barnabas.core.errors import ConfigError

CONSUMER = {"bootstrap.servers": "a:1,b:2", "group.id": "g"}
PRODUCER = {"bootstrap.servers": "c:3"}


def test_a_source_begins_at_the_start_and_commits_nothing_by_itself() -> None:
    options, ignored = consumer_settings(CONSUMER)
    assert options["bootstrap.servers"] == "a:1,b:2"
    assert options["auto.offset.reset"] == "earliest"
    assert options["enable.auto.commit"] is False
    assert ignored == []


def test_nobody_can_have_offsets_committed_by_a_timer() -> None:
    options, ignored = consumer_settings(CONSUMER | {"enable.auto.commit": "true", "auto.commit.interval.ms": "10"})
    assert options["enable.auto.commit"] is False
    assert "auto.commit.interval.ms" not in options
    assert ignored == ["enable.auto.commit", "auto.commit.interval.ms"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"fetch.max.wait.ms": "7"}, {"fetch.wait.max.ms": "7"}),
        ({"receive.buffer.bytes": "65536"}, {"socket.receive.buffer.bytes": "65536"}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ({"auto.offset.reset": "latest"}, {"auto.offset.reset": "latest"}),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor, range"},
            {"partition.assignment.strategy": "roundrobin,range"},
        ),
        ({"fetch.max.bytes": "200000000"}, {"receive.message.max.bytes": 200_001_024}),
        ({"client.id": "m", "metadata.max.age.ms": " 500 "}, {"client.id": "m", "metadata.max.age.ms": "500"}),
    ],
)
def test_a_source_s_settings_have_librdkafka_s_names(given: dict[str, str], expected: dict[str, str | int]) -> None:
    options, _ = consumer_settings(CONSUMER | given)
    assert expected.items() <= options.items()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"acks": "all", "max.in.flight.requests.per.connection": 1, "message.timeout.ms": 0}),
        ({"acks": "1", "delivery.timeout.ms": "5000"}, {"acks": "1", "message.timeout.ms": "5000"}),
        ({"enable.idempotence": "true"}, {"max.in.flight.requests.per.connection": 5}),
        (
            {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "2"},
            {"max.in.flight.requests.per.connection": "2"},
        ),
        ({"buffer.memory": "1048576"}, {"queue.buffering.max.kbytes": 1_024, "message.max.bytes": 1_048_576}),
        ({"max.request.size": "5000"}, {"message.max.bytes": "5000"}),
    ],
)
def test_the_target_s_settings_have_librdkafka_s_names(given: dict[str, str], expected: dict[str, str | int]) -> None:
    options, ignored = producer_settings(PRODUCER | given)
    assert expected.items() <= options.items()
    assert ignored == []


def test_what_is_java_s_alone_is_named() -> None:
    _, ignored = producer_settings(PRODUCER | {"key.serializer": "x", "max.block.ms": "1"})
    assert ignored == ["key.serializer", "max.block.ms"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group.id": ""}, "group.id is missing"),
        ({"bootstrap.servers": " "}, "bootstrap.servers is missing"),
        ({"fetch.min.byte": "1"}, "fetch.min.byte: there is no such setting; did you mean fetch.min.bytes?"),
        ({"auto.offset.reset": "smallest"}, "earliest, latest, none"),
        ({"partition.assignment.strategy": "StickyAssignor"}, "RangeAssignor, RoundRobinAssignor"),
    ],
)
def test_what_a_source_can_not_be_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        consumer_settings(CONSUMER | given)
    assert message in str(caught.value)


def test_a_password_stands_in_no_error() -> None:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "secret-word"}
    with pytest.raises(ConfigError) as caught:
        producer_settings(PRODUCER | given)
    assert "secret-word" not in str(caught.value)
