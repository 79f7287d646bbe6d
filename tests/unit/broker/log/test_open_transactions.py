"""What a start says of transactions that nobody ended."""

import asyncio
import logging

import pytest

from barnabas.broker.log.producers.open_transactions import MOST_WARNINGS, OpenTransaction, open_transactions
from barnabas.broker.transactions.loading import coordinated_transactions
from barnabas.broker.transactions.storage import transition_batch
from barnabas.broker.transactions.transaction import TransactionState
from barnabas.core.types import TopicPartition
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from tests.unit.broker.log.conftest import started
from tests.unit.broker.transactions.test_storage import transition


def begin(log, make_batch, producer_id, sequence=0, **settings):
    batch = make_batch(producer_id=producer_id, producer_epoch=3, base_sequence=sequence, is_transactional=True)
    log.append(batch, 0)


def end(log, clock, producer_id):
    marker = EndTransactionMarker(MarkerType.COMMIT, 0)
    log.append(memoryview(build_marker(producer_id, 3, marker, clock.now_ms())), 0, is_client=False)


@pytest.fixture
def start(make_manager):
    """Start a broker's logs on one directory, as often as wanted."""
    return lambda: started(make_manager(read_coordinated=coordinated_transactions))


def make(manager, name, partition=0):
    return manager.get_or_create(TopicPartition(name, partition)).value


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_start_names_each_partition(start, clock, make_batch, disk, caplog, is_clean):
    manager = start()
    stuck, ended, groups = make(manager, "stuck"), make(manager, "ended"), make(manager, "__consumer_offsets", 7)
    stuck.append(make_batch(5), 0)
    begin(stuck, make_batch, 40)
    clock.advance(60_000)
    begin(stuck, make_batch, 40, sequence=1)
    begin(stuck, make_batch, 41)
    begin(ended, make_batch, 40)
    end(ended, clock, 40)
    begin(groups, make_batch, 42)
    assert warnings(caplog) == []
    if is_clean:
        asyncio.run(manager.close())
    else:
        disk.kill()
    start()
    said = sorted(line for line in warnings(caplog) if "transaction" in line)
    assert len(said) == 2
    assert said[0].startswith(
        "__consumer_offsets-7: the offsets that were committed in it do not count: "
        "producer 42 (epoch 3) has a hanging transaction, open since 2020-09-13 12:27:40 UTC; no coordinator knows it"
    )
    assert said[1].startswith(
        "stuck-0: readers with isolation.level=read_committed get nothing from offset 5 on: "
        "producer 40 (epoch 3) has a hanging transaction, open since 2020-09-13 12:26:40 UTC, "
        "and 1 more producers have; "
    )


def test_a_damaged_batch_does_not_end_the_start(start, make_batch, root, caplog):
    manager = start()
    log = make(manager, "stuck")
    log.append(make_batch(5), 0)
    begin(log, make_batch, 40)
    log.roll()
    log.append(make_batch(5), 0)
    asyncio.run(manager.close())
    path = root / "stuck-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    # The first batch has no length.
    data[8:12] = bytes(4)
    path.write_bytes(data)

    manager = start()
    assert len([line for line in warnings(caplog) if "open since an unknown time" in line]) == 1
    (found,) = open_transactions(manager.get(TopicPartition("stuck", 0)))
    assert (found.producer_id, found.since) == (40, None)


def test_what_a_coordinator_will_end_is_not_warned_of(start, make_batch, disk, caplog):
    manager = start()
    known = transition(TransactionState.ONGOING, frozenset((TopicPartition("t", 0),)))._replace(producer_id=40)
    make(manager, "__transaction_state", 3).append(memoryview(transition_batch("tx", known, 0)), 0, is_client=False)
    begin(make(manager, "t", 0), make_batch, 40)
    # Not added to the transaction.
    begin(make(manager, "t", 1), make_batch, 40)
    begin(make(manager, "t", 0), make_batch, 41)
    disk.kill()
    start()
    said = sorted(line for line in warnings(caplog) if "transaction" in line)
    assert [line.partition(": ")[0] for line in said] == ["t-0", "t-1"]
    assert "producer 41 (epoch 3)" in said[0]
    assert "more producers" not in said[0]


@pytest.mark.parametrize(
    ("state_partition_count", "hosted_count", "warns"),
    [(0, 0, True), (1, 1, True), (2, 1, False), (1, 0, False)],
)
def test_a_broker_without_all_logs_of_the_coordinators_calls_no_transaction_hanging(
    start, make_manager, make_batch, disk, caplog, state_partition_count, hosted_count, warns
):
    caplog.set_level(logging.INFO)
    manager = start()
    for partition in range(hosted_count):
        make(manager, "__transaction_state", partition)
    begin(make(manager, "t"), make_batch, 40)
    disk.kill()
    manager = make_manager(read_coordinated=coordinated_transactions)
    asyncio.run(manager.lock())

    async def count_state_partitions() -> int:
        return state_partition_count

    asyncio.run(manager.load("abc", 1, count_state_partitions))
    assert any("no coordinator knows it" in line for line in warnings(caplog)) == warns
    assert ("1 partitions have open transactions: `barnabas transactions hanging`" in caplog.text) != warns


def test_the_lines_are_bounded(start, make_batch, caplog):
    manager = start()
    for partition in range(MOST_WARNINGS + 5):
        begin(make(manager, "t", partition), make_batch, 40)
    asyncio.run(manager.close())
    start()
    said = [line for line in warnings(caplog) if "transaction" in line]
    assert len(said) == MOST_WARNINGS + 1
    assert said[-1] == (
        "5 more partitions have hanging transactions, which no coordinator knows: "
        "list them with `barnabas transactions hanging`"
    )


def test_when_it_began_is_not_known_where_its_records_are_gone(open_partition_log, make_batch):
    log = open_partition_log()
    begin(log, make_batch, 40)
    assert open_transactions(log)[0].since is not None
    log.roll()
    log.append(make_batch(3), 0)
    log.delete_oldest_segments(1)
    assert open_transactions(log) == [OpenTransaction(40, 3, 0, -1)]
    assert open_transactions(log)[0].since is None
