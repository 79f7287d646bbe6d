"""A broker killed again and again amid rebalances and transactions, beside a copy that must be exactly once.

Workers of one group copy a topic by librdkafka's transactions; now and then one leaves the group and comes back, so
that there is always a rebalance near. A feeder writes on all the while. The broker is killed (-9) and started again
when the copy has grown by a number of records drawn at random; the draws come from one seed.

`metadata.recovery.strategy=none`: by its default librdkafka (seen with 2.16.1) starts all over when the only broker is
gone, and may then never connect again to one that is back within a second: its handle of it stays "terminating".
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from tests.compat.conftest import RunningBroker
from tests.compat.exactly_once import Outcome, Topics, compare, topics_of
from tests.patience import PATIENCE_S

_WORKERS = 3
_BATCH = 20
_TIMEOUT_S = 10.0


class _Feeder(threading.Thread):
    """Writes numbers, as fast as the copy follows; remembers which were acknowledged."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.acknowledged: Counter[bytes] = Counter()
        self.is_over = threading.Event()
        self.copied = 0
        self._topic = topic
        # What is in flight when the broker dies is sent again until it is answered.
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "message.timeout.ms": int(PATIENCE_S * 1_000),
                "linger.ms": 5,
                "log_level": 0,
                "metadata.recovery.strategy": "none",
            }
        )

    def run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            if number < self.copied + 1_000:
                self._producer.produce(self._topic, b"%d" % number, on_delivery=self._delivered)
                number += 1
                self._producer.poll(0)
            else:
                self._producer.poll(0.01)
        self._producer.flush(PATIENCE_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        self.acknowledged[message.value() or b""] += 1


class _Worker(threading.Thread):
    """Copies what it is assigned, a transaction at a time."""

    def __init__(self, bootstrap_servers: str, name: str, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.is_over = threading.Event()
        self.failure: BaseException | None = None
        self._servers = bootstrap_servers
        self._name = name
        self._transactional_id = f"{name}-{number}"
        self._dice = random.Random(seed)

    def run(self) -> None:
        try:
            producer = self._new_producer()
            while not self.is_over.is_set():
                consumer = self._new_consumer()
                try:
                    # It leaves the group after so many transactions.
                    for _ in range(self._dice.randrange(5, 60)):
                        if self.is_over.is_set():
                            break
                        self._copy_some(consumer, producer)
                except KafkaException as error:
                    reason = error.args[0]
                    if reason.txn_requires_abort():
                        with suppress(KafkaException):
                            producer.abort_transaction(_TIMEOUT_S)
                    else:
                        # Fenced, or in doubt: a new one ends what the old one began.
                        producer = self._new_producer()
                finally:
                    # What was read and not committed is read again by whoever comes next.
                    consumer.close()
        except BaseException as error:
            self.failure = error
            raise

    def _new_consumer(self) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": self._name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "log_level": 0,
                "metadata.recovery.strategy": "none",
            }
        )
        consumer.subscribe([f"{self._name}-in"])
        return consumer

    def _new_producer(self) -> Producer:
        while True:
            producer = Producer(
                {
                    "bootstrap.servers": self._servers,
                    "transactional.id": self._transactional_id,
                    "transaction.timeout.ms": 10_000,
                    "log_level": 0,
                    "metadata.recovery.strategy": "none",
                }
            )
            try:
                producer.init_transactions(_TIMEOUT_S)
            except KafkaException:
                if self.is_over.is_set():
                    raise
                continue
            return producer

    def _copy_some(self, consumer: Consumer, producer: Producer) -> None:
        messages = [each for each in consumer.consume(_BATCH, 0.2) if each.error() is None]
        if not messages:
            return
        producer.begin_transaction()
        for message in messages:
            producer.produce(f"{self._name}-out", message.value())
        _again(
            lambda: producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), _TIMEOUT_S
            )
        )
        _again(lambda: producer.commit_transaction(_TIMEOUT_S))


def _again(work: Callable[[], None]) -> None:
    """Do what may be done again as long as it says so."""
    while True:
        try:
            return work()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


def copy_beside_kills(broker: RunningBroker, name: str, kills: int, seed: int) -> Outcome:
    """Kill a broker so many times beside a copy.

    Returns:
        What of all that was acknowledged is missing in the copy or there again, to a reader of committed records.
    """
    dice = random.Random(seed)
    source, target = f"{name}-in", f"{name}-out"
    with topics_of(broker.bootstrap_servers) as topics:
        topics.create(source, 4)
        topics.create(target, 3)
        feeder = _Feeder(broker.bootstrap_servers, source)
        workers = [_Worker(broker.bootstrap_servers, name, number, dice.randrange(2**32)) for number in range(_WORKERS)]
        threads: list[_Feeder | _Worker] = [feeder, *workers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(kills):
                _wait_for_growth(topics, target, dice.randrange(20, 600), feeder, workers)
                broker.kill()
                broker.restart()
            _wait_for_growth(topics, target, 100, feeder, workers)
            feeder.is_over.set()
            feeder.join(PATIENCE_S)
            assert not feeder.is_alive(), "what was written was never acknowledged"
            seen = topics.committed(target, feeder.acknowledged.total())
        finally:
            for thread in threads:
                thread.is_over.set()
            for thread in threads:
                thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in workers), "a worker never ended"
        assert topics.stuck(source) == topics.stuck(target) == topics.stuck("__consumer_offsets") == []
        assert _state(broker, name) == "empty"
        return compare(feeder.acknowledged, [value or b"" for _, value in seen], kills)


def _wait_for_growth(topics: Topics, name: str, growth: int, feeder: _Feeder, workers: list[_Worker]) -> None:
    begin = topics.end(name)
    deadline = time.monotonic() + PATIENCE_S
    end = begin
    while end < begin + growth:
        failures = [worker.failure for worker in workers if worker.failure is not None]
        assert not failures, failures
        assert time.monotonic() < deadline, f"the copy stands still at {end}"
        time.sleep(0.02)
        end = topics.end(name)
        feeder.copied = end


def _state(broker: RunningBroker, group: str) -> str:
    admin = AdminClient(
        {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "metadata.recovery.strategy": "none"}
    )
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
    return str(described.state.name).lower()
