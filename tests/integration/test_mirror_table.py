"""A mirror's offset table is read behind transactions that are still open, and without those that were aborted."""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from barnabas.clients import Admin, Pool
from barnabas.clients.admin import LATEST, NewTopic
from barnabas.clients.mirror.offsets import (
    TABLE_CONFIGS,
    TABLE_TOPIC,
    MirrorOffsets,
    Place,
    SourcePartition,
    place_record,
)
from barnabas.clients.mirror.table_reader import read_table
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from tests.patience import PATIENCE_S, until


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_what_is_committed_is_read_whatever_is_open(broker: Broker) -> None:
    offsets = MirrorOffsets()

    def read(from_offset: int) -> int:
        async def work() -> int:
            async with Pool(broker.bootstrap_servers) as pool:
                return await read_table(pool, offsets, from_offset)

        return asyncio.run(work())

    assert read(0) == 0, "there is no table yet"
    create_table(broker)
    assert read(0) == 0

    open_one, other = transactional(broker, "open"), transactional(broker, "other")
    put(open_one, 0, 10)
    put(other, 1, 20)
    other.commit_transaction(PATIENCE_S)
    # Offsets 0, 1, and a marker.
    await_end(broker, 3)
    assert read(0) == 0, "to be read on from the open transaction's first record"
    assert positions(offsets) == {1: 20}

    other.begin_transaction()
    put(other, 1, 30)
    other.abort_transaction(PATIENCE_S)
    await_end(broker, 5)
    assert read(0) == 0
    assert positions(offsets) == {1: 20}

    open_one.commit_transaction(PATIENCE_S)
    # Five records and markers, and the last marker.
    await_end(broker, 6)
    assert read(0) == 6
    assert positions(offsets) == {0: 10, 1: 20}
    assert read(6) == 6, "nothing new"

    other.begin_transaction()
    put(other, 1, 40)
    other.commit_transaction(PATIENCE_S)
    await_end(broker, 8)
    assert read(6) == 8
    assert positions(offsets) == {0: 10, 1: 40}
    assert read(100) == 8, "beyond the end: all is read again"


def test_who_follows_finds_what_an_earlier_life_committed(broker: Broker) -> None:
    """An earlier life's transaction ends when the next one is initialised: its records do not count, then or ever."""
    create_table(broker)
    first = transactional(broker, "same")
    put(first, 0, 10)
    first.commit_transaction(PATIENCE_S)
    first.begin_transaction()
    put(first, 0, 20)
    transactional(broker, "same")
    await_end(broker, 4)

    async def work() -> tuple[MirrorOffsets, int]:
        offsets = MirrorOffsets()
        async with Pool(broker.bootstrap_servers) as pool:
            return offsets, await read_table(pool, offsets, 0)

    offsets, end = asyncio.run(work())
    assert positions(offsets) == {0: 10}
    assert end == 4


def test_of_a_key_the_last_record_counts_whichever_transaction_ends_last(broker: Broker) -> None:
    create_table(broker)
    first, second = transactional(broker, "first"), transactional(broker, "second")
    put(first, 1, 10)
    put(second, 1, 20)
    second.commit_transaction(PATIENCE_S)
    first.commit_transaction(PATIENCE_S)
    await_end(broker, 4)
    offsets = MirrorOffsets()

    async def read() -> None:
        async with Pool(broker.bootstrap_servers) as pool:
            await read_table(pool, offsets, 0)

    asyncio.run(read())
    assert positions(offsets) == {1: 20}


def create_table(broker: Broker) -> None:
    async def work() -> None:
        async with Pool(broker.bootstrap_servers) as pool:
            await Admin(pool).create_topic(NewTopic(TABLE_TOPIC, 1, 1, TABLE_CONFIGS))

    asyncio.run(work())


def transactional(broker: Broker, transactional_id: str) -> Producer:
    """A producer with an open transaction."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    return producer


def put(producer: Producer, partition: int, position: int) -> None:
    """Write a place, and wait until it is in the log."""
    key, value = place_record(SourcePartition("m", "c", "t", partition), Place("t", position, 1, ()))
    producer.produce(TABLE_TOPIC, value, key)
    assert producer.flush(PATIENCE_S) == 0


def await_end(broker: Broker, end_offset: int) -> None:
    """Wait for a marker: a transaction's end is answered when it is decided, and its markers come after that."""

    table = TopicPartition(TABLE_TOPIC, 0)

    async def end() -> int:
        async with Pool(broker.bootstrap_servers) as pool:
            return (await Admin(pool).offsets([table], LATEST))[table]

    until(lambda: asyncio.run(end()) >= end_offset)


def positions(offsets: MirrorOffsets) -> dict[int, int]:
    return {source.partition: place.position for source, place in offsets.places.items()}
