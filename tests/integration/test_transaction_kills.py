"""`kill -9` in every state of a transaction, and again and again in the middle of many."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from barnabas.core.error_code import ErrorCode as E
from barnabas.testing import Broker
from tests.compat.test_transaction_requests import Tx, create, end_offset, fetch
from tests.integration.test_kill import CLIENT_CONFIG, Load
from tests.patience import PATIENCE_S, until

TOPIC = "t"
KILL_COUNTS = [5, pytest.param(20, marks=pytest.mark.whole)]
PARTITION_COUNT = 3
MOST_COMMITS_BEFORE_KILL = 20


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    config = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
        "log.segment.bytes": 100_000,
        "num.partitions": PARTITION_COUNT,
        "offsets.topic.num.partitions": 3,
        "transaction.state.log.num.partitions": 3,
        "group.initial.rebalance.delay.ms": 0,
    }
    with Broker(data_dir=tmp_path / "data", config=config) as made:
        create(made, TOPIC)
        yield made


@pytest.fixture
def tx(broker: Broker) -> Tx:
    return Tx(broker, "tx").begin()


def kill(broker: Broker) -> None:
    broker.kill()
    broker.start()


def write(tx: Tx, *values: str) -> None:
    assert tx.until_told(lambda: tx.add_one(TOPIC)) == E.NONE
    assert tx.produce(TOPIC, *values) == E.NONE


def wait_for_end(broker: Broker, offset: int) -> None:
    until(lambda: end_offset(broker, TOPIC, 1) == offset)
    assert end_offset(broker, TOPIC, 0) == offset


def test_before_a_transaction(broker: Broker, tx: Tx) -> None:
    kill(broker)
    write(tx, "a")
    assert tx.end() == E.NONE
    wait_for_end(broker, 2)


def test_in_a_transaction_that_goes_on(broker: Broker, tx: Tx) -> None:
    write(tx, "a")
    kill(broker)
    assert end_offset(broker, TOPIC, 1) == 0
    assert tx.until_told(lambda: tx.add_one(TOPIC)) == E.NONE
    assert tx.produce(TOPIC, "b") == E.NONE
    assert tx.end() == E.NONE
    wait_for_end(broker, 3)
    assert fetch(broker, TOPIC, 1)[2] == []


def test_in_a_transaction_that_nobody_ends(broker: Broker, tx: Tx) -> None:
    tx.begin(timeout_ms=500)
    write(tx, "a")
    kill(broker)
    wait_for_end(broker, 2)
    assert fetch(broker, TOPIC, 1)[2] == [(tx.producer_id, 0)]
    assert tx.until_told(tx.end) == E.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("is_commit", "is_written"),
    [
        (True, False),
        (False, True),
        *(pytest.param(*each, marks=pytest.mark.whole) for each in ((True, True), (False, False))),
    ],
)
def test_when_the_outcome_is_decided(broker: Broker, tx: Tx, is_commit: bool, is_written: bool) -> None:
    write(tx, "a")
    with broker.on("WriteTxnMarkers").ignore(handles_first=is_written) as markers:
        assert tx.end(is_commit) == E.NONE
        markers.wait_for()
        assert tx.end(is_commit) == E.CONCURRENT_TRANSACTIONS
        assert tx.add_one(TOPIC) == E.CONCURRENT_TRANSACTIONS
        if is_written:
            wait_for_end(broker, 2)
        else:
            assert end_offset(broker, TOPIC, 1) == 0
        broker.kill()
    # Only now: a marker that it sends again within the block waits for request.timeout.ms.
    broker.start()
    # Where the first marker was written there is a second one, which says the same.
    wait_for_end(broker, 3 if is_written else 2)
    assert fetch(broker, TOPIC, 1)[2] == ([] if is_commit else [(tx.producer_id, 0)])
    assert tx.until_told(lambda: tx.end(is_commit)) == E.NONE
    assert tx.until_told(lambda: tx.end(not is_commit)) == E.INVALID_TXN_STATE


def test_a_start_with_a_decided_outcome_does_not_ask_itself_before_it_listens(tmp_path: Path) -> None:
    # What takes the start some time between the loading of transactions and the opening of its listener.
    slow = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS",
        "delegation.token.master.key": "secret",
    }
    config: dict[str, str | int] = {"num.partitions": PARTITION_COUNT, **slow}
    with Broker(data_dir=tmp_path / "data", config=config) as broker:
        create(broker, TOPIC)
        tx = Tx(broker, "tx").begin()
        write(tx, "a")
        with broker.on("WriteTxnMarkers").ignore(handles_first=False) as markers:
            assert tx.end() == E.NONE
            markers.wait_for()
            broker.kill()
        # Only now: what it tells again must reach it.
        broker.start()
        wait_for_end(broker, 2)
    assert "tx is in state PREPARE_COMMIT: sending its markers again" in broker.log_text()
    assert "cannot connect to broker" not in broker.log_text()
    assert "cannot write markers" not in broker.log_text()


def test_after_a_transaction(broker: Broker, tx: Tx) -> None:
    write(tx, "a")
    assert tx.end() == E.NONE
    wait_for_end(broker, 2)
    assert tx.until_told(tx.end) == E.NONE
    kill(broker)
    assert tx.until_told(tx.end) == E.NONE
    write(tx, "b")
    assert tx.end(is_commit=False) == E.NONE
    wait_for_end(broker, 4)
    assert fetch(broker, TOPIC, 1)[2] == [(tx.producer_id, 2)]


class Transacting(Load):
    """Writes numbered transactions, of which each has a record in every partition; some it aborts.

    Attributes:
        committed, aborted: Their numbers, as far as the producer was told; of the others nobody knows.
    """

    def __init__(self, bootstrap_servers: str, topic: str, source: random.Random) -> None:
        super().__init__()
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self._servers = {"bootstrap.servers": bootstrap_servers}
        self._topic = topic
        self._random = source
        self._number = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """A new producer, which fences the one before."""
        config = {"transactional.id": "writer", "transaction.timeout.ms": 10_000}
        self._producer = confluent_kafka.Producer(CLIENT_CONFIG | self._servers | config)
        _until_it_works(lambda: self._producer.init_transactions(PATIENCE_S))

    def work(self) -> None:
        self._number += 1
        number, is_commit = self._number, self._random.random() < 0.7
        try:
            self._producer.begin_transaction()
            for partition in range(PARTITION_COUNT):
                self._producer.produce(self._topic, b"%d" % number, partition=partition)
            if is_commit:
                _until_it_works(lambda: self._producer.commit_transaction(PATIENCE_S))
            else:
                self._producer.flush(PATIENCE_S)
                _until_it_works(lambda: self._producer.abort_transaction(PATIENCE_S))
        except confluent_kafka.KafkaException as error:
            if not error.args[0].txn_requires_abort():
                self._begin_anew()
                return
            is_commit = False
            _until_it_works(lambda: self._producer.abort_transaction(PATIENCE_S))
        self.note(lambda: (self.committed if is_commit else self.aborted).add(number))


def _until_it_works(attempt: Callable[[], object]) -> None:
    while True:
        try:
            attempt()
            return
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable():
                raise


def committed_values(broker: Broker, topic: str) -> list[bytes]:
    """What is committed, to the end of each partition."""
    consumer = confluent_kafka.Consumer(
        CLIENT_CONFIG
        | {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            # The end is told by a fetch that finds nothing.
            "fetch.wait.max.ms": 10,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITION_COUNT)])
    values, left = [], PARTITION_COUNT
    while left:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error() is None:
            values.append(message.value())
        else:
            left -= 1
    consumer.close()
    return values


@pytest.mark.parametrize("kill_count", KILL_COUNTS)
def test_each_transaction_ends_one_way_through_kills(broker: Broker, kill_count: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    create(broker, "out", PARTITION_COUNT)
    writing = Transacting(broker.bootstrap_servers, "out", random.Random(seed))
    writing.start()
    for _ in range(kill_count):
        wanted = len(writing.committed) + source.randrange(1, MOST_COMMITS_BEFORE_KILL)
        writing.wait_for(lambda wanted=wanted: len(writing.committed) >= wanted)
        broker.kill()
        broker.start()
    writing.stop()
    counts = Counter(int(value) for value in committed_values(broker, "out"))
    assert set(counts.values()) == {PARTITION_COUNT}
    assert writing.committed <= counts.keys()
    assert not writing.aborted & counts.keys()
    assert "Traceback" not in broker.log_text()
