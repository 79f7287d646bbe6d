"""Fetch and ListOffsets for those who read committed records only."""

import pytest

from barnabas.broker.requests.handlers import fetch
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker

COMMITTED = 1


@pytest.fixture
def topic(data_path):
    data_path.create("t")
    return "t"


def write(data_path, producer_id=7, sequence=0, count=1):
    """Append as the broker's own: a client's transactions need a coordinator."""
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=producer_id >= 0
    )
    for index in range(count):
        builder.append(data_path.clock.now_ms() + index, b"k", b"v")
    return append(data_path, builder.build())


def end(data_path, producer_id=7, kind=MarkerType.ABORT):
    marker = EndTransactionMarker(kind, 0)
    return append(data_path, build_marker(producer_id, 0, marker, data_path.clock.now_ms()))


def append(data_path, records):
    answer = data_path.replicas.append(TopicPartition("t", 0), records, -1, 1_000)
    assert answer.value.error_code == 0
    return answer.value.base_offset


def offsets(answer):
    return [read_header(batch).base_offset for batch in batches(answer.records)]


def test_an_open_transaction_hides_what_follows(data_path, topic):
    write(data_path, -1)
    write(data_path)
    write(data_path, -1)

    committed = data_path.fetch(topic, isolation=COMMITTED)
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    assert offsets(committed) == [0]
    assert committed.aborted_transactions == []
    uncommitted = data_path.fetch(topic)
    assert (uncommitted.high_watermark, uncommitted.last_stable_offset) == (3, 1)
    assert offsets(uncommitted) == [0, 1, 2]
    assert uncommitted.aborted_transactions is None
    beyond = data_path.fetch(topic, 2, isolation=COMMITTED)
    assert (beyond.error_code, bytes(beyond.records), beyond.aborted_transactions) == (0, b"", [])


def test_aborted_transactions_are_named(data_path, topic):
    write(data_path)
    write(data_path, 8)
    end(data_path)
    end(data_path, 8, MarkerType.COMMIT)

    answer = data_path.fetch(topic, isolation=COMMITTED)
    assert offsets(answer) == [0, 1, 2, 3]
    assert [(each.producer_id, each.first_offset) for each in answer.aborted_transactions] == [(7, 0)]
    assert answer.last_stable_offset == 4
    assert data_path.fetch(topic, 3, isolation=COMMITTED).aborted_transactions == []


def test_a_waiting_reader_is_woken_by_the_marker(data_path, topic):
    write(data_path)
    pending = data_path.begin(fetch.HANDLER, 11, data_path.fetch_request(topic, isolation=COMMITTED, wait_ms=500))
    write(data_path, sequence=1)
    data_path.run_due()
    assert not pending.is_done
    end(data_path, kind=MarkerType.COMMIT)
    answer = data_path.finish(fetch.HANDLER, 11, pending)
    assert offsets(answer.responses[0].partitions[0]) == [0, 1, 2]


def test_the_latest_offset_is_the_last_stable_one(data_path, topic):
    write(data_path, -1)
    write(data_path)
    assert data_path.list_offsets(topic, -1).offset == 2
    assert data_path.list_offsets(topic, -1, isolation=COMMITTED).offset == 1
    assert data_path.list_offsets(topic, -1, isolation=COMMITTED, replica_id=-2).offset == 2


def test_a_time_above_the_last_stable_offset_is_not_found(data_path, topic):
    start_ms = data_path.clock.now_ms()
    write(data_path, -1)
    data_path.clock.advance(1_000)
    write(data_path)
    assert data_path.list_offsets(topic, start_ms + 1).offset == 1
    assert data_path.list_offsets(topic, start_ms + 1, isolation=COMMITTED).offset == -1
    assert data_path.list_offsets(topic, start_ms, isolation=COMMITTED).offset == 0


def test_all_of_it_survives_a_restart(data_path, topic):
    write(data_path)
    end(data_path)
    write(data_path, 8)
    data_path.stop()
    data_path.start()

    answer = data_path.fetch(topic, isolation=COMMITTED)
    assert (answer.last_stable_offset, offsets(answer)) == (2, [0, 1])
    assert [(each.producer_id, each.first_offset) for each in answer.aborted_transactions] == [(7, 0)]
    end(data_path, 8, MarkerType.COMMIT)
    assert data_path.fetch(topic, isolation=COMMITTED).last_stable_offset == 4
