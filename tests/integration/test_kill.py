"""`kill -9` under load, again and again, at random moments; some of them while the broker starts.

The clients are librdkafka's. Of what the broker acknowledged nothing may be missing afterwards; what an idempotent
producer sent is there once and in order; a committed offset never goes back.
"""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import admin

from barnabas.testing import Broker
from tests.patience import PATIENCE_S

KILL_COUNTS = [5, pytest.param(20, marks=pytest.mark.whole)]
PARTITION_COUNT = 3
MOST_ACKS_BEFORE_KILL = 1_500
LONGEST_START_BEFORE_KILL_S = 0.5
UNSENT_LIMIT = 500

# Small segments: a kill finds the log rolling, indexes half-way, snapshots of producers.
BROKER_CONFIG = {"log.segment.bytes": 100_000, "log.index.interval.bytes": 1_000, "num.partitions": PARTITION_COUNT}
CLIENT_CONFIG = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10, "log_level": 0}


class Load:
    """Something that works on the broker in a thread of its own until it is told to stop."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self._changed = threading.Condition()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(2 * PATIENCE_S)
        assert not self._thread.is_alive(), "the client does not come to an end"
        self.check()

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds; it is looked at whenever the broker has acknowledged something."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition() or self.failure is not None, PATIENCE_S), (
                "no acknowledgement comes any more"
            )
        self.check()

    def note(self, change: Callable[[], object]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

    def work(self) -> None:
        """One step."""
        raise NotImplementedError

    def finish(self) -> None:
        """What is left to do at the end."""

    def _run(self) -> None:
        try:
            while not self._is_stopping.is_set():
                self.work()
            self.finish()
        except BaseException as error:
            with self._changed:
                self.failure = error
                self._changed.notify_all()


class Producing(Load):
    """Numbers the records of each partition from 0 and keeps what was acknowledged, with the offset."""

    def __init__(self, bootstrap_servers: str, topic: str, *, is_idempotent: bool) -> None:
        super().__init__()
        self.topic = topic
        self.next_number = [0] * PARTITION_COUNT
        self.acknowledged: list[dict[int, int]] = [{} for _ in range(PARTITION_COUNT)]
        self.ack_count = 0
        self._producer = confluent_kafka.Producer(
            CLIENT_CONFIG
            | {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": is_idempotent,
                "acks": "all",
                "linger.ms": 2,
                "message.timeout.ms": 1_000 * PATIENCE_S * 2,
                "batch.num.messages": 20,
            }
        )

    def work(self) -> None:
        if len(self._producer) < UNSENT_LIMIT:
            for partition in range(PARTITION_COUNT):
                number = self.next_number[partition]
                self.next_number[partition] += 1
                value = b"%d " % number + b"x" * 100
                self._producer.produce(self.topic, value, partition=partition, on_delivery=self._delivered)
            self._producer.poll(0)
        else:
            self._producer.poll(0.01)

    def finish(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0, "records were never acknowledged"

    def _delivered(self, error: object, message: confluent_kafka.Message) -> None:
        if error is not None:
            raise AssertionError(f"{self.topic}: {error}")
        number = int(message.value().split()[0])

        def change() -> None:
            self.acknowledged[message.partition()][number] = message.offset()
            self.ack_count += 1

        self.note(change)


class Committing(Load):
    """A group of one member that commits what it has read, each time waiting for the answer."""

    GROUP = "committing"

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.acknowledged: dict[int, int] = {}
        self.ack_count = 0
        self._consumer = confluent_kafka.Consumer(
            CLIENT_CONFIG
            | {
                "bootstrap.servers": bootstrap_servers,
                "group.id": self.GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 30_000,
                "heartbeat.interval.ms": 200,
            }
        )
        self._consumer.subscribe([topic])

    def work(self) -> None:
        messages = self._consumer.consume(50, timeout=0.1)
        if not any(message.error() is None for message in messages):
            return
        try:
            committed = self._consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException:
            # The broker was just killed, or the group gathers anew: nothing was acknowledged.
            return
        for each in committed:
            if each.error is None and each.offset >= 0:
                self.note(lambda each=each: self._acknowledge(each.partition, each.offset))

    def finish(self) -> None:
        self._consumer.close()

    def _acknowledge(self, partition: int, offset: int) -> None:
        before = self.acknowledged.get(partition, 0)
        assert offset >= before, f"the consumer itself went back in partition {partition}: {before} to {offset}"
        self.acknowledged[partition] = offset
        self.ack_count += 1


def committed_offsets(broker: Broker, topic: str) -> dict[int, int]:
    """What the broker says the group has committed."""
    consumer = confluent_kafka.Consumer(
        CLIENT_CONFIG | {"bootstrap.servers": broker.bootstrap_servers, "group.id": Committing.GROUP}
    )
    try:
        wanted = [confluent_kafka.TopicPartition(topic, partition) for partition in range(PARTITION_COUNT)]
        found = consumer.committed(wanted, timeout=PATIENCE_S)
        assert all(each.error is None for each in found)
        return {each.partition: each.offset for each in found if each.offset >= 0}
    finally:
        consumer.close()


def read_all(broker: Broker, topic: str) -> list[list[tuple[int, int]]]:
    """Offset and number of every record, by partition."""
    consumer = confluent_kafka.Consumer(
        CLIENT_CONFIG
        | {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "enable.auto.commit": False}
    )
    partitions = [confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(PARTITION_COUNT)]
    ends = {each.partition: consumer.get_watermark_offsets(each, timeout=PATIENCE_S)[1] for each in partitions}
    found: list[list[tuple[int, int]]] = [[] for _ in range(PARTITION_COUNT)]
    consumer.assign(partitions)
    try:
        while any(len(found[partition]) < end for partition, end in ends.items()):
            message = consumer.poll(PATIENCE_S)
            assert message is not None, "records below the high watermark can't be read"
            assert message.error() is None
            found[message.partition()].append((message.offset(), int(message.value().split()[0])))
    finally:
        consumer.close()
    return found


def kill_while_starting(broker: Broker, source: random.Random) -> None:
    """Start another process on the broker's directory and kill it before long, whatever it does then."""
    command = [sys.executable, "-m", "barnabas.broker.server", "--die-with-parent", "--log-level", "error"]
    command += ["--port", str(broker.port), "--data-dir", str(broker.data_dir)]
    for name, value in BROKER_CONFIG.items():
        command += ["--override", f"{name}={value}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(source.uniform(0, LONGEST_START_BEFORE_KILL_S))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        else:
            raise AssertionError("the broker did not even start")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(data_dir=tmp_path / "data", config=BROKER_CONFIG) as made:
        yield made


@pytest.mark.parametrize("kill_count", KILL_COUNTS)
def test_nothing_acknowledged_is_lost_by_kills_under_load(broker, kill_count):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    once, plain = "once", "at-least-once"
    client = admin.AdminClient(CLIENT_CONFIG | {"bootstrap.servers": broker.bootstrap_servers})
    for created in client.create_topics([admin.NewTopic(each, PARTITION_COUNT, 1) for each in (once, plain)]).values():
        created.result(PATIENCE_S)
    producing_once = Producing(broker.bootstrap_servers, once, is_idempotent=True)
    producing = Producing(broker.bootstrap_servers, plain, is_idempotent=False)
    committing = Committing(broker.bootstrap_servers, plain)
    loads: tuple[Producing | Committing, ...] = (producing_once, producing, committing)
    for load in loads:
        load.start()
    last_seen: dict[int, int] = {}
    for round_number in range(kill_count):
        # Each client has come through to the broker again, then it goes at any moment.
        counts = {load: load.ack_count for load in loads}
        committing.wait_for(lambda counts=counts: committing.ack_count > counts[committing])
        for load, most in ((producing, 1), (producing_once, source.randrange(1, MOST_ACKS_BEFORE_KILL))):
            load.wait_for(lambda load=load, end=counts[load] + most: load.ack_count >= end)
        broker.kill()
        acknowledged = dict(committing.acknowledged)
        if source.random() < 0.3:
            kill_while_starting(broker, source)
        broker.start()
        found = committed_offsets(broker, plain)
        for partition, offset in acknowledged.items():
            assert found.get(partition, -1) >= offset, f"kill {round_number}: partition {partition} went back"
        for partition, offset in last_seen.items():
            assert found.get(partition, -1) >= offset, f"kill {round_number}: partition {partition} went back"
        last_seen = found
    for load in loads:
        load.stop()

    for partition, records in enumerate(read_all(broker, once)):
        assert [number for _, number in records] == list(range(producing_once.next_number[partition]))
        assert {number: offset for offset, number in records} == producing_once.acknowledged[partition]
    for partition, records in enumerate(read_all(broker, plain)):
        at_offset = dict(records)
        assert len(producing.acknowledged[partition]) == producing.next_number[partition]
        for number, offset in producing.acknowledged[partition].items():
            assert at_offset[offset] == number
    assert "Traceback" not in broker.log_text()
