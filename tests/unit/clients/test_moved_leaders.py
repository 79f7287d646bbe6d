"""Clients find leaders, coordinators and the controller where these have moved, and no silent broker holds them up."""

import asyncio

import pytest

from barnabas.clients.admin import EARLIEST, Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from tests.unit.clients.memory_cluster import MemoryCluster

pytestmark = pytest.mark.played(by="play")

MOVED = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
]


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster()


@pytest.fixture
def play(cluster: MemoryCluster):
    return cluster.run


def partition(index: int) -> TopicPartition:
    return TopicPartition("t", index)


def now() -> float:
    return asyncio.get_running_loop().time()


async def values(consumer: Consumer, count: int) -> dict[int, bytes | None]:
    """Poll until so many partitions gave their record."""
    found: dict[int, bytes | None] = {}
    for _ in range(100):
        for batch in await consumer.poll(1_000):
            found[batch.partition.partition] = batch.records[0].value
        if len(found) >= count:
            return found
    pytest.fail(f"only these partitions gave their record: {sorted(found)}")


@pytest.mark.parametrize("refusal", MOVED)
async def test_a_record_is_written_by_the_leader_that_there_is_now(
    pool: Pool, /, cluster: MemoryCluster, refusal: ErrorCode
) -> None:
    cluster.refusal = refusal
    async with Producer(pool) as producer:
        # The base offset says who answered.
        assert (await (await producer.send("t", b"x", partition=0))).offset == 1
        cluster.leaders[0] = 3
        assert (await (await producer.send("t", b"x", partition=0))).offset == 3


async def test_a_record_goes_past_a_leader_that_stands_still(pool: Pool, /, cluster: MemoryCluster) -> None:
    async with Producer(pool) as producer:
        await (await producer.send("t", b"x", partition=0))
        cluster.silent.add(1)
        asked = await producer.send("t", b"x", partition=0)
        await asyncio.sleep(1)
        cluster.leaders[0] = 2
        assert (await asked).offset == 2
        # One request and one question for the new leader may have waited for it.
        assert now() < 62


@pytest.mark.played(by="play", request_timeout_ms=5000)
async def test_who_did_not_answer_in_time_is_asked_last_where_the_leader_is(pool: Pool, /, cluster: MemoryCluster):
    async with Producer(pool, request_timeout_ms=5_000) as producer:
        await (await producer.send("t", b"x", partition=0))
        cluster.silent.add(1)
        begin = now()
        asked = await producer.send("t", b"x", partition=0)
        await asyncio.sleep(1)
        cluster.leaders[0] = 2
        assert (await asked).offset == 2
        # The one request, and not a new connection to the same broker.
        assert now() - begin < 6


@pytest.mark.played(by="play", request_timeout_ms=5000)
async def test_a_connection_that_agrees_on_nothing_is_given_up_as_a_request_is(pool: Pool, /, cluster: MemoryCluster):
    cluster.silent.add(1)
    await pool.metadata([])
    assert now() < 6


@pytest.mark.parametrize("refusal", MOVED)
async def test_a_partition_is_read_from_the_leader_that_there_is_now(
    pool: Pool, /, cluster: MemoryCluster, refusal: ErrorCode
) -> None:
    cluster.refusal = refusal
    await pool.topic("t")
    cluster.leaders[:] = [2, 3, 1]
    consumer = Consumer(pool)
    consumer.assign({partition(index): 0 for index in range(3)})
    assert await values(consumer, 3) == {0: b"2", 1: b"3", 2: b"1"}
    await consumer.close()


@pytest.mark.parametrize("epoch", [6, 4], ids=["behind", "ahead"])
async def test_a_leader_whose_epoch_is_another_one_is_asked_for_anew(pool: Pool, /, cluster: MemoryCluster, epoch: int):
    await pool.topic("t")
    # The same leaders; each request names the epoch, or it would be refused for good.
    cluster.epochs[:] = [epoch] * 3
    consumer = Consumer(pool)
    consumer.assign({partition(index): 0 for index in range(3)})
    assert await values(consumer, 3) == {0: b"1", 1: b"2", 2: b"3"}
    cluster.epochs[0] += 1
    assert await Admin(pool).offsets([partition(0)], EARLIEST) == {partition(0): 1}
    await consumer.close()


@pytest.mark.parametrize(("version", "told"), [(8, -1), (9, 5)])
@pytest.mark.played(by="play")
async def test_epochs_of_brokers_before_2_4_are_not_relied_on(
    pool: Pool, /, cluster: MemoryCluster, version: int, told: int
) -> None:
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.METADATA] = (0, version)
    await pool.topic("t")
    assert pool.known_leader_epoch(partition(0)) == told


async def test_others_are_read_while_a_leader_can_not_be_connected_to(pool: Pool, /, cluster: MemoryCluster) -> None:
    await pool.topic("t")
    cluster.silent.add(2)
    consumer = Consumer(pool)
    consumer.assign({partition(index): 0 for index in range(3)})
    assert await values(consumer, 2) == {0: b"1", 2: b"3"}
    assert now() < 1
    cluster.leaders[1] = 3
    assert await values(consumer, 1) == {1: b"3"}
    await consumer.close()


async def test_an_offset_that_a_new_leader_does_not_know_yet_is_asked_for_again(pool: Pool, /, cluster: MemoryCluster):
    cluster.refusal = ErrorCode.OFFSET_NOT_AVAILABLE
    await pool.topic("t")
    cluster.leaders[0] = 3
    assert await Admin(pool).offsets([partition(0), partition(1)], EARLIEST) == {partition(0): 3, partition(1): 2}


@pytest.mark.parametrize("refusal", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
async def test_offsets_are_committed_with_the_coordinator_that_there_is_now(
    pool: Pool, /, cluster: MemoryCluster, refusal: ErrorCode
) -> None:
    cluster.group_refusal = refusal
    admin = Admin(pool)
    await admin.commit_offsets("g", {partition(0): 1})
    cluster.coordinator = 2
    await admin.commit_offsets("g", {partition(0): 2})
    assert [cluster.asked(each, ApiKey.OFFSET_COMMIT) for each in (1, 2)] == [2, 1]


@pytest.mark.played(by="play", request_timeout_ms=5000)
async def test_a_coordinator_that_stands_still_is_looked_for_anew(pool: Pool, /, cluster: MemoryCluster) -> None:
    admin = Admin(pool, timeout_ms=60_000)
    await admin.commit_offsets("g", {partition(0): 1})
    cluster.silent.add(1)
    cluster.coordinator = 2
    await admin.commit_offsets("g", {partition(0): 2})
    assert cluster.asked(2, ApiKey.OFFSET_COMMIT) == 1


async def test_a_topic_is_created_by_the_controller_that_there_is_now(pool: Pool, /, cluster: MemoryCluster) -> None:
    channel = await pool.controller()
    cluster.controller = 3
    assert (channel.host, (await pool.controller()).host) == ("broker-1", "broker-3")
    cluster.controller = 2
    await Admin(pool).create_topic(NewTopic("new", 1, 1))
    assert [cluster.asked(each, ApiKey.CREATE_TOPICS) for each in (1, 2, 3)] == [0, 1, 0]


async def test_a_topic_that_one_broker_has_not_heard_of_is_asked_of_the_controller(
    pool: Pool, /, cluster: MemoryCluster
) -> None:
    cluster.controller = 3
    cluster.unaware.add(1)
    assert (await pool.any_broker()).host == "broker-1"
    assert len((await pool.topic("t")).partitions) == 3
    pool.forget("t")
    cluster.unaware.add(3)
    with pytest.raises(KafkaError, match="topic t does not exist"):
        await pool.topic("t")


async def test_a_leader_that_is_registered_no_more_is_no_leader_yet(pool: Pool, /, cluster: MemoryCluster) -> None:
    cluster.registered.discard(2)
    with pytest.raises(KafkaError) as caught:
        await pool.leader(partition(1))
    assert caught.value.code is ErrorCode.LEADER_NOT_AVAILABLE
    cluster.registered.add(2)
    assert (await pool.leader(partition(1))).host == "broker-2"


async def test_whoever_waits_for_a_connection_shares_its_outcome(pool: Pool, /, cluster: MemoryCluster) -> None:
    await pool.topic("t")
    cluster.silent.add(2)
    outcomes = await asyncio.gather(*(pool.leader(partition(1)) for _ in range(100)), return_exceptions=True)
    assert all(isinstance(each, KafkaError) for each in outcomes)
    assert cluster.brokers[2].dial_count == 1
    assert now() == pytest.approx(10, abs=1)


async def test_who_gives_up_waiting_for_a_connection_does_not_take_it_from_others(
    pool: Pool, /, cluster: MemoryCluster
) -> None:
    await pool.topic("t")
    first, second = (asyncio.ensure_future(pool.leader(partition(1))) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).is_open
    assert cluster.brokers[2].dial_count == 1


async def test_a_broker_that_failed_is_asked_last(pool: Pool, /, cluster: MemoryCluster) -> None:
    cluster.silent.add(1)
    channel = await pool.any_broker()
    assert channel.host == "broker-2"
    await channel.close()
    began = now()
    await pool.any_broker()
    assert now() == pytest.approx(began, abs=0.1)
    assert cluster.brokers[1].dial_count == 1
