"""Other people's producers at work beside `ClusterLoad`: librdkafka's and Java's, each with acks=all and idempotent."""

import threading
import time
from typing import Protocol

from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as ForeignProducer

from tests.compat.clients.java import JavaClient
from tests.compat.clients.model import Message as JavaMessage
from tests.simulation.checker import Append, Replica
from tools.kafka.jars import KAFKA

PARTITIONS = 3
# Of a topic that is compacted: no partition has one key alone.
KEY_COUNT = 7
_IN_ORDER = 30
_DELIVERY_TIMEOUT_S = 240


class Producing(Protocol):
    """One of them: writes numbers in a row, and tells where they stand."""

    def write(self, numbers: range) -> list[tuple[int, int]]:
        """Return partition and offset of each; it waits until all are acknowledged."""

    def close(self) -> None: ...


class Librdkafka:
    """One idempotent producer for all that is written.

    Args:
        servers: Of the cluster.
        topic: Where it writes.
        key_count: How many keys there are, so that what is written again and again is compacted; 0: there are none.
    """

    def __init__(self, servers: str, topic: str, key_count: int = 0) -> None:
        self._topic = topic
        self._key_count = key_count
        self._producer = ForeignProducer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "delivery.timeout.ms": _DELIVERY_TIMEOUT_S * 1_000,
                "log_level": 0,
            }
        )

    def write(self, numbers: range) -> list[tuple[int, int]]:
        places: dict[int, tuple[int, int]] = {}
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)
            else:
                places[int(message.value() or b"")] = message.partition() or 0, message.offset() or 0

        for number in numbers:
            key = b"%d" % (number % self._key_count) if self._key_count else None
            partition = number % PARTITIONS
            self._producer.produce(self._topic, b"%d" % number, key, partition=partition, on_delivery=delivered)
        left = self._producer.flush(_DELIVERY_TIMEOUT_S + 10)
        assert not errors, errors[0]
        assert left == 0, f"{left} records were never told of"
        return [places[number] for number in numbers]

    def close(self) -> None:
        self._producer.purge()


class Java:
    """A Java producer anew for each handful: what it learned of the cluster is learned again."""

    def __init__(self, servers: str, topic: str, *, is_idempotent: bool = True) -> None:
        self._topic = topic
        self._is_idempotent = is_idempotent
        self._java = JavaClient(servers, KAFKA, log_level="OFF")

    def write(self, numbers: range) -> list[tuple[int, int]]:
        messages = [JavaMessage(b"%d" % number, partition=number % PARTITIONS) for number in numbers]
        return self._java.produce(self._topic, messages, acks="all", is_idempotent=self._is_idempotent)

    def close(self) -> None:
        self._java.close()


class LastingJava:
    """One Java producer for all that is written."""

    def __init__(self, servers: str, topic: str) -> None:
        self._topic = topic
        self._java = JavaClient(servers, KAFKA, log_level="OFF")
        self._producer = self._java.producer(acks="all", is_idempotent=True)

    def write(self, numbers: range) -> list[tuple[int, int]]:
        messages = [JavaMessage(b"%d" % number, partition=number % PARTITIONS) for number in numbers]
        return self._producer.write(self._topic, messages)

    def close(self) -> None:
        self._java.close()


class Writer:
    """Has a producer write handful after handful in a thread, until it is told to end.

    Attributes:
        appends: What it wrote, in nanoseconds.
    """

    def __init__(self, producing: Producing, name: str, pause_s: float) -> None:
        self.name = name
        self.appends: list[Append] = []
        self.failure: Exception | None = None
        self._producing = producing
        self._pause_s = pause_s
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def _run(self) -> None:
        begin = 0
        while not self._is_ending.wait(self._pause_s):
            numbers = range(begin, begin + _IN_ORDER)
            begin = numbers.stop
            begin_ns, end_ns = time.monotonic_ns(), None
            places: list[tuple[int, int | None]] = [(number % PARTITIONS, None) for number in numbers]
            try:
                places = [*self._producing.write(numbers)]
                end_ns = time.monotonic_ns()
            except Exception as error:  # told by the main thread, whatever it is
                self.failure = error
                return
            finally:
                self.appends += [
                    Append(f"{self.name}-{begin}", f"{self.name}-{partition}", str(number), begin_ns, end_ns, offset)
                    for number, (partition, offset) in zip(numbers, places, strict=True)
                ]

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def end(self) -> None:
        """Let it finish what it began."""
        self._is_ending.set()
        self._thread.join()
        self._producing.close()


def wrongly_compacted(appends: list[Append], replicas: list[Replica]) -> list[str]:
    """Return which replicas of a compacted topic lack the last number of a key, or one that was acknowledged last."""
    last: dict[str, dict[int, int]] = {}
    for append in appends:
        if append.offset is not None:
            number = int(append.value)
            last.setdefault(append.partition, {})[number % KEY_COUNT] = number
    wrong = []
    for replica in replicas:
        numbers = [int(entry.value) for entry in replica.entries if entry.value is not None]
        found = {number % KEY_COUNT: number for number in numbers}
        if found != last.get(replica.partition, {}):
            wrong.append(f"broker {replica.broker}, {replica.partition}: the last numbers of the keys are {found}")
    return wrong


def missing(appends: list[Append], replicas: list[Replica]) -> list[str]:
    """Return what was acknowledged and does not stand where that was said; what stands there twice is no matter."""
    there = {(each.partition, entry.offset): entry.value for each in replicas for entry in each.entries}
    return [
        f"{each.partition}: {each.value} is not at {each.offset}"
        for each in appends
        if each.offset is not None and there.get((each.partition, each.offset)) != each.value
    ]
