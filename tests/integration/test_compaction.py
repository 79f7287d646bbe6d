"""A broker compacts a topic while it serves it, and goes on where it was after a stop and after a kill."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.testing import Broker
from tests.patience import PATIENCE_S

TOPIC = "compacted"
KEYS = 20
SETTINGS = {"log.cleaner.backoff.ms": 20, "log.segment.delete.delay.ms": 100}
TOPIC_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": "5000", "min.cleanable.dirty.ratio": "0.1"}


def create_topic(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=TOPIC_SETTINGS)])[TOPIC].result(PATIENCE_S)


def write(
    broker: Broker, count: int, key: Callable[[int], bytes | None] = lambda number: b"%d" % (number % KEYS)
) -> list[KafkaError]:
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
    for number in range(count):
        producer.produce(TOPIC, b"value %d" % number, key(number), 0, delivered)
        if number % 10 == 0:
            producer.flush(PATIENCE_S)
    assert producer.flush(PATIENCE_S) == 0
    return errors


def read(broker: Broker) -> list[tuple[int, bytes, bytes]]:
    # The end is told by a fetch that finds nothing.
    ends = {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", **ends})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found = []
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return found
        found.append((message.offset(), message.key(), message.value()))


def wait_until_few_are_left(broker: Broker, count: int) -> list[tuple[int, bytes, bytes]]:
    deadline = time.monotonic() + PATIENCE_S
    while len(found := read(broker)) > count:
        assert time.monotonic() < deadline, f"{len(found)} records are left"
    return found


@pytest.mark.parametrize("is_killed", [pytest.param(False, marks=pytest.mark.whole), True])
def test_compacts_and_survives(is_killed: bool) -> None:
    with Broker(config=SETTINGS) as broker:
        create_topic(broker)
        assert not write(broker, 2000)
        # The active segment and one round behind it hold what is left beside the newest of each key.
        found = wait_until_few_are_left(broker, 400)
        assert {key: value for _, key, value in found} == {
            b"%d" % (n % KEYS): b"value %d" % n for n in range(1980, 2000)
        }
        assert [offset for offset, _, _ in found] == sorted({offset for offset, _, _ in found})
        broker.kill() if is_killed else broker.stop()
        broker.restart()
        again = read(broker)
        assert {row for row in again if row[0] >= 1980} == {row for row in found if row[0] >= 1980}
        assert not write(broker, 2000)
        found = wait_until_few_are_left(broker, 400)
        assert {key: value for _, key, value in found} == {
            b"%d" % (n % KEYS): b"value %d" % n for n in range(1980, 2000)
        }
        assert found[-1][0] == 3999
        assert "cannot be cleaned" not in broker.log_text()


def test_a_record_without_a_key_is_refused() -> None:
    with Broker(config=SETTINGS) as broker:
        create_topic(broker)
        errors = write(broker, 1, lambda number: None)
        assert [error.code() for error in errors] == [KafkaError.INVALID_RECORD]
        assert read(broker) == []
