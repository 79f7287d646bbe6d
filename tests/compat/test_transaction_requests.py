"""Transactions request by request, with every error that a broker answers: the same on Kafka 2.7.2."""

import time
from collections.abc import Callable, Iterable

import pytest

from barnabas.core.error_code import ErrorCode as E
from barnabas.wire.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.raw import ask, create_topic
from tests.patience import PATIENCE_S, until

AGAIN = (
    E.COORDINATOR_NOT_AVAILABLE,
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.NOT_COORDINATOR,
    E.CONCURRENT_TRANSACTIONS,
    E.LEADER_NOT_AVAILABLE,
)


class Tx:
    """A transactional id, and a producer that uses it."""

    def __init__(self, broker: RunningBroker, transactional_id: str) -> None:
        self.broker = broker
        self.transactional_id = transactional_id
        self.producer_id = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    def ask(self, request, version: int):
        return ask(self.broker.bootstrap_servers, request, version)

    def until_told(self, tell: Callable[[], object]) -> object:
        """What is said in the end, not while something is on its way."""
        deadline = time.monotonic() + PATIENCE_S
        while (said := tell()) in AGAIN:
            assert time.monotonic() < deadline, said
        return said

    def initialize(
        self, version: int = 4, timeout_ms: int = 60_000, expected: tuple[int, int] = (-1, -1)
    ) -> tuple[E, int, int]:
        answer = self.ask(InitProducerIdRequest(self.transactional_id, timeout_ms, *expected), version)
        return E(answer.error_code), answer.producer_id, answer.producer_epoch

    def begin(self, timeout_ms: int = 60_000) -> "Tx":
        def tell() -> object:
            answer = self.ask(FindCoordinatorRequest(self.transactional_id, 1), 2)
            if answer.error_code:
                return E(answer.error_code)
            error_code, self.producer_id, self.epoch = self.initialize(timeout_ms=timeout_ms)
            return error_code

        assert self.until_told(tell) == E.NONE
        self.sequences = {}
        return self

    def add(self, *places: tuple[str, int], version: int = 2, producer_id: int | None = None, epoch: int | None = None):
        topics: dict[str, list[int]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            self.transactional_id,
            self.producer_id if producer_id is None else producer_id,
            self.epoch if epoch is None else epoch,
            [AddPartitionsToTxnTopic(name, partitions) for name, partitions in topics.items()],
        )
        answer = self.ask(request, version)
        return {
            (topic.name, each.partition_index): E(each.error_code) for topic in answer.results for each in topic.results
        }

    def add_one(self, topic: str, partition: int = 0, **options) -> E:
        return self.add((topic, partition), **options)[topic, partition]

    def add_offsets(self, group: str, version: int = 2, **changes) -> E:
        values = {"producer_id": self.producer_id, "producer_epoch": self.epoch} | changes
        request = AddOffsetsToTxnRequest(self.transactional_id, group_id=group, **values)
        return E(self.ask(request, version).error_code)

    def end(self, is_commit: bool = True, version: int = 2, **changes) -> E:
        values = {"producer_id": self.producer_id, "producer_epoch": self.epoch} | changes
        return E(self.ask(EndTxnRequest(self.transactional_id, committed=is_commit, **values), version).error_code)

    def produce(self, topic: str, *values: str, partition: int = 0, is_transactional: bool = True, **changes) -> E:
        if "base_sequence" not in changes:
            changes["base_sequence"] = self.sequences.get((topic, partition), 0)
            self.sequences[topic, partition] = changes["base_sequence"] + len(values)
        fields = {"producer_id": self.producer_id, "producer_epoch": self.epoch} | changes
        builder = BatchBuilder(is_transactional=is_transactional, **fields)
        # As old as its marker: what is much older would be in a segment of its own.
        now_ms = int(time.time() * 1000)
        for value in values:
            builder.append(now_ms, None, value.encode())
        data = [TopicProduceData(topic, [PartitionProduceData(partition, memoryview(builder.build()))])]
        answer = self.ask(ProduceRequest(self.transactional_id, -1, 5_000, data), 7)
        return E(answer.responses[0].partition_responses[0].error_code)


@pytest.fixture
def tx(cluster: RunningBroker, name: str) -> Tx:
    return Tx(cluster, name).begin()


@pytest.fixture
def topic(cluster: RunningBroker, name: str) -> str:
    create(cluster, name)
    return name


def create(broker: RunningBroker, name: str, partition_count: int = 2, **settings: str) -> None:
    create_topic(broker.bootstrap_servers, name, partition_count, **settings)


def fetch(broker: RunningBroker, topic: str, isolation: int, offset: int = 0):
    """Of partition 0: high watermark, last stable offset, aborted transactions, each batch's offset and whether it is
    a marker.
    """
    wanted = FetchTopic(topic, [FetchPartition(0, -1, offset, -1, -1, 1 << 20)])
    request = FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, isolation_level=isolation, topics=[wanted]
    )
    answer = ask(broker.bootstrap_servers, request, 6)
    (part,) = answer.responses[0].partitions
    assert part.error_code == 0
    headers = [read_header(batch) for batch in batches(part.records or b"")]
    aborted = part.aborted_transactions
    return (
        part.high_watermark,
        part.last_stable_offset,
        None if aborted is None else [(each.producer_id, each.first_offset) for each in aborted],
        [(header.base_offset, header.is_control) for header in headers],
    )


def end_offset(broker: RunningBroker, topic: str, isolation: int) -> int:
    wanted = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])]
    (part,) = ask(broker.bootstrap_servers, ListOffsetsRequest(-1, isolation, wanted), 5).topics[0].partitions
    assert part.error_code == 0
    return part.offset


# --- the whole chain


def test_what_readers_see_of_commits_and_aborts(cluster: RunningBroker, tx: Tx, topic: str) -> None:
    assert tx.add_one(topic) == E.NONE
    assert tx.produce(topic, "a") == E.NONE
    assert fetch(cluster, topic, 1) == (1, 0, [], [])
    assert fetch(cluster, topic, 0) == (1, 0, None, [(0, False)])
    assert (end_offset(cluster, topic, 1), end_offset(cluster, topic, 0)) == (0, 1)
    assert tx.end() == E.NONE
    until(lambda: end_offset(cluster, topic, 1) == 2)
    assert tx.until_told(lambda: tx.add_one(topic)) == E.NONE
    assert tx.produce(topic, "b", "c") == E.NONE
    assert tx.end(is_commit=False) == E.NONE
    until(lambda: end_offset(cluster, topic, 1) == 5)
    batches_seen = [(0, False), (1, True), (2, False), (4, True)]
    assert fetch(cluster, topic, 1) == (5, 5, [(tx.producer_id, 2)], batches_seen)
    assert fetch(cluster, topic, 0) == (5, 5, None, batches_seen)
    assert fetch(cluster, topic, 1, 4) == (5, 5, [(tx.producer_id, 2)], [(4, True)])
    assert fetch(cluster, topic, 1, 5) == (5, 5, [], [])


def test_an_outcome_reaches_partitions_to_which_nothing_was_written(cluster: RunningBroker, tx: Tx, topic: str) -> None:
    assert tx.add_one(topic) == E.NONE
    assert tx.end() == E.NONE
    until(lambda: end_offset(cluster, topic, 1) == 1)
    assert fetch(cluster, topic, 1) == (1, 1, [], [(0, True)])


def test_a_deleted_topic_holds_nothing_up(cluster: RunningBroker, tx: Tx, topic: str) -> None:
    from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest

    create(cluster, topic + "-gone")
    assert set(tx.add((topic, 0), (topic + "-gone", 0)).values()) == {E.NONE}
    ask(cluster.bootstrap_servers, DeleteTopicsRequest(topic_names=[topic + "-gone"], timeout_ms=30_000), 4)
    assert tx.end() == E.NONE
    assert tx.until_told(lambda: tx.add_one(topic)) == E.NONE


def test_the_topic_that_is_made_for_transactions(cluster: RunningBroker, tx: Tx) -> None:
    wanted = DescribeConfigsResource(2, "__transaction_state", None)
    (result,) = ask(cluster.bootstrap_servers, DescribeConfigsRequest([wanted]), 2).results
    assert result.error_code == 0
    names = ("cleanup.policy", "compression.type", "min.insync.replicas", "segment.bytes")
    found = {each.name: each.value for each in result.configs}
    assert [found[name] for name in names] == ["compact", "uncompressed", "1", "104857600"]
    assert found["unclean.leader.election.enable"] == "false"


# --- InitProducerId


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
@pytest.mark.parametrize("version", [0, 4])
def test_impossible_timeouts(tx: Tx, version: int, timeout_ms: int) -> None:
    assert tx.initialize(version, timeout_ms) == (E.INVALID_TRANSACTION_TIMEOUT, -1, -1)


@pytest.mark.parametrize("version", range(5))
def test_each_producer_gets_the_next_epoch(tx: Tx, version: int) -> None:
    assert tx.initialize(version) == (E.NONE, tx.producer_id, 1)
    assert tx.initialize(version, 900_000) == (E.NONE, tx.producer_id, 2)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_an_empty_transactional_id(tx: Tx, version: int) -> None:
    tx.transactional_id = ""
    assert tx.initialize(version) == (E.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", [3, 4])
def test_producers_that_go_on(tx: Tx, version: int) -> None:
    fenced = E.PRODUCER_FENCED if version == 4 else E.INVALID_PRODUCER_EPOCH
    pid = tx.producer_id
    assert tx.initialize(version, expected=(pid, -1)) == (E.INVALID_REQUEST, -1, -1)
    assert tx.initialize(version, expected=(-1, 0)) == (E.INVALID_REQUEST, -1, -1)
    assert tx.initialize(version, expected=(pid, 0)) == (E.NONE, pid, 1)
    assert tx.initialize(version, expected=(pid, 0)) == (E.NONE, pid, 1)
    assert tx.initialize(version, expected=(pid, 7)) == (fenced, -1, -1)
    assert tx.initialize(version, expected=(pid + 1_000_000, 1)) == (fenced, -1, -1)
    assert tx.initialize(version, expected=(pid, 1)) == (E.NONE, pid, 2)
    assert tx.initialize(version, expected=(pid, 0)) == (fenced, -1, -1)
    assert tx.initialize(version) == (E.NONE, pid, 3)
    assert tx.initialize(version, expected=(pid, 2)) == (fenced, -1, -1)


def test_a_producer_that_nobody_knows_goes_on_with_a_new_id(tx: Tx) -> None:
    tx.transactional_id += "-other"
    error_code, producer_id, epoch = tx.initialize(expected=(tx.producer_id, 3))
    assert (error_code, epoch) == (E.NONE, 0)
    assert producer_id != tx.producer_id


def test_a_new_producer_ends_what_the_old_one_began(cluster: RunningBroker, tx: Tx, topic: str) -> None:
    tx.add_one(topic)
    tx.produce(topic, "a")
    old = (tx.producer_id, tx.epoch)
    assert tx.initialize() == (E.CONCURRENT_TRANSACTIONS, -1, -1)
    assert tx.end() in (E.PRODUCER_FENCED, E.CONCURRENT_TRANSACTIONS)
    tx.begin()
    assert (tx.producer_id, tx.epoch) == (old[0], old[1] + 2)
    assert fetch(cluster, topic, 1)[:3] == (2, 2, [(old[0], 0)])
    assert tx.end(producer_epoch=old[1]) == E.PRODUCER_FENCED
    assert tx.end(producer_epoch=old[1], version=1) == E.INVALID_PRODUCER_EPOCH
    # The marker brought the epoch that fences.
    assert tx.produce(topic, "b", producer_epoch=old[1], base_sequence=1) == E.INVALID_PRODUCER_EPOCH


# --- AddPartitionsToTxn, AddOffsetsToTxn


@pytest.mark.parametrize("version", [0, 1, 2])
def test_adding_partitions_as_somebody_else(tx: Tx, topic: str, version: int) -> None:
    fenced = E.PRODUCER_FENCED if version == 2 else E.INVALID_PRODUCER_EPOCH
    assert tx.add_one(topic, version=version, producer_id=tx.producer_id + 1) == E.INVALID_PRODUCER_ID_MAPPING
    assert tx.add_one(topic, version=version, epoch=1) == fenced
    assert tx.add_one(topic, version=version, epoch=-1) == fenced
    assert tx.add_one(topic, version=version) == E.NONE
    assert tx.add_one(topic, version=version) == E.NONE
    other = Tx(tx.broker, tx.transactional_id + "-unknown")
    other.producer_id, other.epoch = tx.producer_id, tx.epoch
    assert other.add_one(topic, version=version) == E.INVALID_PRODUCER_ID_MAPPING
    other.transactional_id = ""
    assert other.add_one(topic, version=version) == E.INVALID_REQUEST
    assert other.end(version=version) == E.INVALID_REQUEST
    assert other.add_offsets("g", version=version) == E.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 2])
def test_one_impossible_partition_stands_for_all(tx: Tx, topic: str, version: int) -> None:
    absent = topic + "-absent"
    answers = tx.add((topic, 0), (topic, 9), (absent, 0), ("__consumer_offsets", 0), version=version)
    assert answers == {
        (topic, 0): E.OPERATION_NOT_ATTEMPTED,
        (topic, 9): E.UNKNOWN_TOPIC_OR_PARTITION,
        (absent, 0): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("__consumer_offsets", 0): E.TOPIC_AUTHORIZATION_FAILED,
    }
    assert tx.end() == E.INVALID_TXN_STATE


@pytest.mark.parametrize("version", [0, 1, 2])
def test_adding_offsets(tx: Tx, name: str, version: int) -> None:
    fenced = E.PRODUCER_FENCED if version == 2 else E.INVALID_PRODUCER_EPOCH
    assert tx.add_offsets(name, version, producer_id=tx.producer_id + 1) == E.INVALID_PRODUCER_ID_MAPPING
    assert tx.add_offsets(name, version, producer_epoch=5) == fenced
    ask(tx.broker.bootstrap_servers, FindCoordinatorRequest(name, 0), 2)
    assert tx.add_offsets(name, version) == E.NONE
    assert tx.end() == E.NONE


# --- EndTxn


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_outcome_is_for_ever(tx: Tx, topic: str, is_commit: bool) -> None:
    assert tx.end(is_commit) == E.INVALID_TXN_STATE
    tx.add_one(topic)
    assert tx.end(is_commit) == E.NONE
    assert tx.until_told(lambda: tx.end(is_commit)) == E.NONE
    assert tx.end(not is_commit) == E.INVALID_TXN_STATE
    assert tx.end(is_commit, producer_id=tx.producer_id + 1) == E.INVALID_PRODUCER_ID_MAPPING


def test_a_transaction_that_takes_too_long(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"})
    create(broker, name)
    tx = Tx(broker, name).begin(timeout_ms=300)
    tx.add_one(name)
    assert tx.produce(name, "a") == E.NONE
    until(lambda: end_offset(broker, name, 1) == 2)
    assert fetch(broker, name, 1)[:3] == (2, 2, [(tx.producer_id, 0)])
    assert tx.until_told(lambda: tx.end()) == E.PRODUCER_FENCED
    assert tx.produce(name, "b") == E.INVALID_PRODUCER_EPOCH
    assert tx.begin().epoch == 2


def test_an_id_that_nobody_uses_is_forgotten(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(
        **{"transaction.remove.expired.transaction.cleanup.interval.ms": "100", "transactional.id.expiration.ms": "300"}
    )
    tx = Tx(broker, name).begin()
    until(lambda: tx.end() == E.INVALID_PRODUCER_ID_MAPPING)
    first = tx.producer_id
    tx.begin()
    assert (tx.epoch, tx.producer_id != first) == (0, True)


# --- Produce


def test_what_a_producer_may_not_write(cluster: RunningBroker, tx: Tx, topic: str) -> None:
    tx.add_one(topic)
    assert tx.produce(topic, "a") == E.NONE
    assert tx.produce(topic, "b", is_transactional=False, base_sequence=1) == E.INVALID_TXN_STATE
    assert tx.produce(topic, "c", base_sequence=5) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert tx.produce(topic, "a", base_sequence=0) == E.NONE
    assert tx.produce(topic, "d", base_sequence=0, producer_epoch=1) == E.NONE
    assert tx.produce(topic, "e", base_sequence=1) == E.INVALID_PRODUCER_EPOCH
    # Not added: 2.7 does not ask.
    assert tx.produce(topic, "f", partition=1) == E.NONE


# --- WriteTxnMarkers


def markers(producer_id: int, epoch: int, is_commit: bool, topics: Iterable[tuple[str, list[int]]], coordinator: int):
    parts = [WritableTxnMarkerTopic(name, partitions) for name, partitions in topics]
    return WritableTxnMarker(producer_id, epoch, is_commit, parts, coordinator)


def written(broker: RunningBroker, *parts: WritableTxnMarker) -> dict[tuple[int, str, int], E]:
    answer = ask(broker.bootstrap_servers, WriteTxnMarkersRequest(list(parts)), 0)
    return {
        (marker.producer_id, topic.name, each.partition_index): E(each.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for each in topic.partitions
    }


def test_markers_of_any_coordinator(cluster: RunningBroker, topic: str) -> None:
    old = topic + "-old"
    create(cluster, old, message_format_version="0.10.2")
    wanted = [(topic, [0, 9]), (old, [0]), (topic + "-absent", [0])]
    pid = 4_000_000
    assert written(cluster, markers(pid, 3, True, wanted, 5)) == {
        (pid, topic, 0): E.NONE,
        (pid, topic, 9): E.UNKNOWN_TOPIC_OR_PARTITION,
        (pid, old, 0): E.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        (pid, topic + "-absent", 0): E.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert fetch(cluster, topic, 1) == (1, 1, [], [(0, True)])
    place = [(topic, [0])]
    assert written(cluster, markers(pid, 2, True, place, 5)) == {(pid, topic, 0): E.INVALID_PRODUCER_EPOCH}
    assert written(cluster, markers(pid, 3, True, place, 4)) == {(pid, topic, 0): E.TRANSACTION_COORDINATOR_FENCED}
    both = (markers(pid, 3, False, place, 5), markers(pid + 1, 0, True, [(topic, [1])], 0))
    assert written(cluster, *both) == {(pid, topic, 0): E.NONE, (pid + 1, topic, 1): E.NONE}
    assert written(cluster) == {}
