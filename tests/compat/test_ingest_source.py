"""Offset ranges as a task of the pipeline reads them: markers, aborted records, gaps, offsets that are gone, bounds."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.pipeline.ingest import source
from barnabas.pipeline.ingest.source import OffsetRange, ReadError, Source, close_consumers
from barnabas.pipeline.runner.cluster import mark_of_record
from barnabas.pipeline.tables.table import Mark
from tests.patience import PATIENCE_S


@pytest.fixture
def topic(cluster, name: str) -> Iterator[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result()
    yield name
    close_consumers()


class Reading:
    def __init__(self, cluster, topic: str, isolation_level: str = "read_committed") -> None:
        self._options = {"bootstrap.servers": cluster.bootstrap_servers, "isolation.level": isolation_level}
        self._topic = topic

    def __call__(self, end: int, start: int = 0, seconds: float = PATIENCE_S) -> tuple[list[int], int]:
        own = Source(self._options, [OffsetRange(self._topic, 0, start, end)])
        offsets = [offset for records in own.read(seconds) for offset in records.offsets]
        return offsets, own.positions[self._topic, 0]


def send(cluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, f"{number}".encode(), partition=0)
    producer.flush(PATIENCE_S)


def send_in_transaction(cluster, topic: str, count: int, *, is_aborted: bool) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, f"{number}".encode(), partition=0)
    producer.flush(PATIENCE_S)
    (producer.abort_transaction if is_aborted else producer.commit_transaction)(PATIENCE_S)


def test_a_range_ends_before_its_end(cluster, topic: str):
    send(cluster, topic, 10)
    assert Reading(cluster, topic)(end=7, start=2) == ([2, 3, 4, 5, 6], 7)


def test_markers_and_aborted_records_at_the_end_are_passed_over(cluster, topic: str):
    send(cluster, topic, 2)
    send_in_transaction(cluster, topic, 3, is_aborted=True)
    send_in_transaction(cluster, topic, 1, is_aborted=False)
    # Offsets 2 to 4 aborted, 5 and 7 markers.
    assert Reading(cluster, topic)(end=8) == ([0, 1, 6], 8)
    assert Reading(cluster, topic)(end=6) == ([0, 1], 6)
    assert Reading(cluster, topic, "read_uncommitted")(end=8) == ([0, 1, 2, 3, 4, 6], 8)


def test_the_end_of_a_partition_may_come_together_with_its_last_records(
    cluster, topic: str, monkeypatch: pytest.MonkeyPatch
):
    # Long enough for both to be in one chunk of librdkafka's.
    monkeypatch.setattr(source, "_POLL_S", 1.0)
    send(cluster, topic, 2)
    send_in_transaction(cluster, topic, 3, is_aborted=True)
    assert Reading(cluster, topic)(end=6) == ([0, 1], 6)


def test_an_offset_that_is_gone_is_an_error(cluster, topic: str):
    send(cluster, topic, 10)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 5)]).values():
        deleted.result()
    with pytest.raises(ReadError):
        Reading(cluster, topic)(end=10)
    assert Reading(cluster, topic)(end=10, start=5) == ([5, 6, 7, 8, 9], 10)


def test_a_read_begins_at_the_record_that_was_read_last_and_without_it_at_its_own(cluster, topic: str):
    def read(mark: Mark) -> list[int]:
        own = Source(options, [OffsetRange(topic, 0, 6, 10, frozenset([mark]))])
        return [offset for records in own.read(PATIENCE_S) for offset in records.offsets]

    options = {"bootstrap.servers": cluster.bootstrap_servers, "isolation.level": "read_committed"}
    send(cluster, topic, 10)
    (records,) = Source(options, [OffsetRange(topic, 0, 5, 6)]).read(PATIENCE_S)
    mark = mark_of_record(5, records.timestamps_ms[0], records.keys[0], records.values[0])
    assert read(mark) == [6, 7, 8, 9]
    with pytest.raises(ReadError, match="another record is at offset 5"):
        read(replace(mark, checksum=0))
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        deleted.result()
    assert read(mark) == [6, 7, 8, 9]


def test_a_worker_reads_on_with_the_consumer_that_it_has(cluster, topic: str):
    for number in range(3):
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for partition in (0, 1):
            producer.produce(topic, b"1", partition=partition)
            producer.produce(topic, b"2", partition=partition)
        producer.flush(PATIENCE_S)
        options = {"bootstrap.servers": cluster.bootstrap_servers, "isolation.level": "read_committed"}
        # Each partition has more than is read of it, and ends at another time.
        ranges = [OffsetRange(topic, 0, 2 * number, 2 * number + 1), OffsetRange(topic, 1, 2 * number, 2 * number + 2)]
        own = Source(options, ranges)
        assert sum(len(records) for records in own.read(PATIENCE_S)) == 3
        assert own.positions == {(topic, 0): 2 * number + 1, (topic, 1): 2 * number + 2}


def test_what_is_not_there_in_time_is_left_to_the_next_task(cluster, topic: str):
    send(cluster, topic, 3)
    assert Reading(cluster, topic)(end=5, seconds=1) == ([0, 1, 2], 3)


def test_a_cluster_that_does_not_answer_is_an_error():
    own = Source({"bootstrap.servers": "127.0.0.1:1"}, [OffsetRange("views", 0, 0, 1)])
    with pytest.raises(ReadError):
        list(own.read(2))
    close_consumers()
