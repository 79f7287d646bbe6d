"""`kill -9` in the middle of the load, again and again: what was acknowledged is there.

With an idempotent producer each record is there once and in order; with a plain one at least once. No committed offset
goes back.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as RdMessage
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.conftest import TARGET, StartBroker

# Kafka needs some seconds for each restart, until its old registration expires.
KILL_COUNT = 20 if TARGET == "barnabas" else 3
PARTITION_COUNT = 2
ACKNOWLEDGED_PER_LIFE = 400
IN_FLIGHT_COUNT = 200
TIMEOUT_S = 60
RECONNECT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}


def wait_for(is_reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    pause = threading.Event()
    while not is_reached():
        assert time.monotonic() < deadline, what
        pause.wait(0.01)


class Load:
    """A producer that numbers its records per partition, and a group member that commits all it reads."""

    def __init__(self, bootstrap_servers: str, topic: str, is_idempotent: bool) -> None:
        self._topic = topic
        self._is_stopping = threading.Event()
        self._settings = {"bootstrap.servers": bootstrap_servers, **RECONNECT}
        self._is_idempotent = is_idempotent
        self.acknowledged: defaultdict[int, list[int]] = defaultdict(list)
        self.acknowledged_count = 0
        self.committed: dict[int, int] = {}
        self.failures: list[KafkaError] = []
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]

    def _produce(self) -> None:
        retries = {"message.timeout.ms": 60_000, "retry.backoff.ms": 20, "linger.ms": 1, "acks": "all"}
        producer = Producer({**self._settings, **retries, "enable.idempotence": self._is_idempotent})
        number = 0
        while not self._is_stopping.is_set():
            if len(producer) >= IN_FLIGHT_COUNT:
                producer.poll(0.01)
                continue
            for partition in range(PARTITION_COUNT):
                producer.produce(self._topic, b"%d" % number, partition=partition, on_delivery=self._delivered)
            number += 1
            producer.poll(0)
        producer.flush(TIMEOUT_S)

    def _delivered(self, error: KafkaError | None, message: RdMessage) -> None:
        if error is not None:
            self.failures.append(error)
            return
        self.acknowledged[message.partition()].append(int(message.value()))
        self.acknowledged_count += 1

    def _consume(self) -> None:
        group = {"group.id": self._topic, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer({**self._settings, **group, "session.timeout.ms": 6_000})
        consumer.subscribe([self._topic])
        while not self._is_stopping.is_set():
            if not consumer.consume(200, 0.05):
                continue
            try:
                answers = consumer.commit(asynchronous=False)
            except KafkaException:
                # Not acknowledged: nothing is promised.
                continue
            for answer in answers:
                # A partition of which nothing was read yet has no offset, and none is committed.
                if answer.error is None and answer.offset >= 0:
                    self.committed[answer.partition] = max(answer.offset, self.committed.get(answer.partition, 0))
        consumer.close()

    @contextmanager
    def running(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._is_stopping.set()
            for thread in self._threads:
                thread.join(TIMEOUT_S)


def read_everything(bootstrap_servers: str, topic: str) -> dict[int, list[int]]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.auto.commit": False})
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), TIMEOUT_S)[1]
        for partition in range(PARTITION_COUNT)
    }
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
    values: dict[int, list[int]] = {partition: [] for partition in ends}
    deadline = time.monotonic() + TIMEOUT_S
    while any(len(values[partition]) < end for partition, end in ends.items()):
        assert time.monotonic() < deadline, {partition: len(seen) for partition, seen in values.items()}
        for message in consumer.consume(1_000, 0.2):
            assert message.error() is None
            assert message.offset() == len(values[message.partition()])
            values[message.partition()].append(int(message.value()))
    consumer.close()
    return values


def committed_offsets(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """Ask as a member would, which waits while the coordinator loads the group."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": topic, **RECONNECT})
    try:
        places = consumer.committed(
            [TopicPartition(topic, partition) for partition in range(PARTITION_COUNT)], TIMEOUT_S
        )
        return {place.partition: place.offset for place in places if place.error is None}
    finally:
        consumer.close()


@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "plain"])
def test_nothing_acknowledged_is_lost(start_broker: StartBroker, name: str, is_idempotent: bool) -> None:
    broker = start_broker(**{"log.segment.bytes": "1048576"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **RECONNECT})
    admin.create_topics([NewTopic(name, PARTITION_COUNT, 1)])[name].result(TIMEOUT_S)
    load = Load(broker.bootstrap_servers, name, is_idempotent)
    with load.running():
        for _ in range(KILL_COUNT):
            enough, before = load.acknowledged_count + ACKNOWLEDGED_PER_LIFE, dict(load.committed)
            wait_for(
                lambda enough=enough, before=before: load.acknowledged_count >= enough and load.committed != before,
                f"{load.acknowledged_count} acknowledged, {load.committed} committed, {load.failures[:1]}",
            )
            broker.kill()
            # What came between the wait and the kill counts, too.
            promised = dict(load.committed)
            broker.restart()
            kept = committed_offsets(broker.bootstrap_servers, name)
            assert all(kept[partition] >= offset for partition, offset in promised.items()), (kept, promised)
    values = read_everything(broker.bootstrap_servers, name)
    for partition, seen in values.items():
        assert set(load.acknowledged[partition]) <= set(seen)
        if is_idempotent:
            assert seen == list(range(len(seen)))
    assert not load.failures
