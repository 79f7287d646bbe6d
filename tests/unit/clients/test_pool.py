"""Connections and what is known of the cluster: opened when needed, asked for again when wrong or old."""

import asyncio

import pytest

from barnabas.clients.admin_calls import retry
from barnabas.clients.channel import UnreachableError
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.clients.memory_broker import MemoryBroker, closes

PARTITION = TopicPartition("t", 0)


def metadata(error_code=ErrorCode.NONE, leader=0, controller=0, partition_count=1):
    def answer(request):
        partitions = [MetadataResponsePartition(0, n, leader, 0, [0], [0], []) for n in range(partition_count)]
        topics = [MetadataResponseTopic(error_code, each.name, partitions=partitions) for each in request.topics or []]
        return MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", controller, topics)

    return answer


def play(test, answers):
    """Run a test with a pool of a broker with these answers, and with that broker."""
    broker = MemoryBroker(answers)
    broker.run(lambda pool: test(pool, broker))


pytestmark = pytest.mark.played({}, by=play)


async def test_a_connection_is_opened_once_and_again_when_it_broke(pool, broker, /):
    channel = await pool.any_broker()
    assert await pool.any_broker() is channel
    assert await pool.leader(PARTITION) is channel
    assert broker.dial_count == 1
    await channel.close()
    again = await pool.any_broker()
    assert again is not channel
    assert again.is_open
    assert broker.dial_count == 2


@pytest.mark.parametrize(
    ("servers", "dial_counts"), [("memory:9092", (2, 3)), ("memory:9092,other:9092", (4, 6))], ids=["one", "two"]
)
@pytest.mark.played({ApiKey.METADATA: closes}, by=play)
async def test_a_broker_that_answers_nothing_but_api_versions_is_tried_twice(pool, broker, /, servers, dial_counts):
    pool.use_bootstrap_servers(servers)
    for dial_count in dial_counts:
        with pytest.raises(UnreachableError, match=r"is security\.protocol right"):
            await retry(lambda: pool.metadata([]), 30_000)
        assert broker.dial_count == dial_count


@pytest.mark.played({ApiKey.METADATA: lambda request: None}, by=play)
async def test_a_broker_that_is_silent_has_not_hung_up(pool, broker, /):
    """The client itself closes a connection whose request timed out."""
    pool.request_timeout_ms = 500
    with pytest.raises(KafkaError) as failure:
        await retry(lambda: pool.metadata([]), 5_000)
    assert failure.value.code == ErrorCode.REQUEST_TIMED_OUT
    assert broker.dial_count > 3


@pytest.mark.parametrize(
    ("servers", "answers"),
    [
        pytest.param("memory:9092", [closes, metadata()], id="closed once"),
        pytest.param("memory:9092", [metadata(), closes, closes, closes, metadata()], id="answered before"),
        pytest.param("memory:9092,other:9092", [closes, closes, metadata()], id="each of two closed once"),
    ],
)
async def test_a_broker_that_closes_a_connection_is_tried_again(pool, broker, /, servers, answers):
    pool.use_bootstrap_servers(servers)
    broker.will_answer({ApiKey.METADATA: answers})
    while broker.answers[ApiKey.METADATA] != answers[-1:]:
        assert (await retry(lambda: pool.metadata([]), 30_000)).brokers
    assert len(broker.requests[ApiKey.METADATA]) >= len(answers) - 1


async def test_a_groups_coordinator_has_a_connection_of_its_own(pool, broker, /):
    """A join holds up whatever is asked after it on its connection."""
    channels = [await pool.any_broker(), await pool.coordinator("g"), await pool.coordinator("h")]
    assert len({id(channel) for channel in channels}) == 3
    assert await pool.any_broker() is channels[0]
    assert await pool.coordinator("g") is channels[1]
    assert len(broker.requests[ApiKey.FIND_COORDINATOR]) == 2
    pool.forget_coordinator("g")
    await pool.coordinator("g")
    assert len(broker.requests[ApiKey.FIND_COORDINATOR]) == 3


async def test_what_is_known_is_not_asked_until_it_is_old_or_wrong(pool, broker, /):
    for _ in range(3):
        await pool.topic("t")
    assert len(broker.requests[ApiKey.METADATA]) == 1
    pool.env.clock.advance(pool.metadata_max_age_ms)
    await pool.topic("t")
    assert len(broker.requests[ApiKey.METADATA]) == 2
    pool.forget("t")
    await pool.topic("t")
    assert len(broker.requests[ApiKey.METADATA]) == 3


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic t does not exist"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "'t' is not a valid topic name"),
        (ErrorCode.LEADER_NOT_AVAILABLE, "topic t has no leader now"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "you may not describe topic t"),
    ],
)
async def test_what_a_broker_says_of_a_topic_is_said_in_words_and_not_remembered(pool, broker, /, code, text):
    broker.will_answer({ApiKey.METADATA: [metadata(code), metadata()]})
    with pytest.raises(KafkaError, match=text) as caught:
        await pool.topic("t")
    assert caught.value.code is code
    assert (await pool.topic("t")).partitions.keys() == {0}


@pytest.mark.played({ApiKey.METADATA: [metadata(leader=-1), metadata()]}, by=play)
async def test_a_partition_without_a_leader_is_looked_up_again(pool, broker, /):
    with pytest.raises(KafkaError, match="partition t-0 has no leader now") as caught:
        await pool.leader(PARTITION)
    assert caught.value.code is ErrorCode.LEADER_NOT_AVAILABLE
    await pool.leader(PARTITION)


@pytest.mark.played({ApiKey.METADATA: [metadata(), metadata(partition_count=2)]}, by=play)
async def test_a_topic_that_has_grown_is_looked_up_again(pool, broker, /):
    await pool.leader(PARTITION)
    assert (await pool.leader(PARTITION._replace(partition=1))).is_open


async def test_a_partition_that_is_not_there_is_told(pool, broker, /):
    with pytest.raises(KafkaError, match="topic t has no partition 7") as caught:
        await pool.leader(TopicPartition("t", 7))
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.played({ApiKey.METADATA: [metadata(controller=-1), metadata()]}, by=play)
async def test_a_cluster_without_a_controller_is_told(pool, broker, /):
    with pytest.raises(KafkaError) as caught:
        await pool.controller()
    assert caught.value.code is ErrorCode.NOT_CONTROLLER
    await pool.controller()


async def test_a_broker_that_the_cluster_lacks_is_told(pool, broker, /):
    with pytest.raises(KafkaError, match="broker 9 is not registered") as caught:
        await pool.broker(9)
    assert caught.value.code is ErrorCode.BROKER_NOT_AVAILABLE


async def test_nobody_there_is_told_at_once(pool, broker, /):
    broker.is_up = False
    with pytest.raises(UnreachableError, match="cannot connect to memory:9092: connection refused"):
        await pool.any_broker()
    assert broker.dial_count == 1


@pytest.mark.parametrize("away_s", [3, 7])
async def test_a_cluster_that_has_answered_is_waited_for(pool, broker, /, away_s):
    loop = asyncio.get_running_loop()
    await pool.metadata([])
    await (await pool.any_broker()).close()
    broker.is_up = False
    loop.call_later(away_s, setattr, broker, "is_up", True)
    begin_s = loop.time()
    if away_s < 5:
        assert (await retry(lambda: pool.metadata([]), 5_000)).brokers
    else:
        with pytest.raises(KafkaError, match="cannot connect to memory:9092: connection refused"):
            await retry(lambda: pool.metadata([]), 5_000)
    assert loop.time() - begin_s == pytest.approx(min(away_s, 5), abs=0.2)


async def test_the_first_address_that_answers_is_enough(unused, broker, /):
    async def dial(host, port):
        if host == "gone":
            raise ConnectionRefusedError(111, "refused")
        return await broker.dial(host, port)

    environment = broker.environment()
    environment.dial = dial
    async with Pool("gone:1,memory:9092", env=environment) as pool:
        assert (await pool.any_broker()).host == "memory"


async def test_a_group_that_will_never_have_a_coordinator_is_told_why(pool, broker, /):
    def find(request):
        return FindCoordinatorResponse(0, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    metadatas = metadata(ErrorCode.INVALID_REPLICATION_FACTOR)
    broker.will_answer({ApiKey.FIND_COORDINATOR: find, ApiKey.METADATA: metadatas})
    with pytest.raises(KafkaError, match=r"offsets\.topic\.replication\.factor to 1") as caught:
        await pool.coordinator("g")
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def creating(*there):
    """Answer Metadata as brokers do: creating what is named and may be created."""
    topics = set(there)

    def answer(request):
        named = [each.name for each in request.topics or ()]
        topics.update(name for name in named if request.allow_auto_topic_creation or name.startswith("__"))
        names = [name for name in named if name in topics] if named else sorted(topics)
        partitions = [MetadataResponsePartition(0, 0, 0, 0, [0], [0], [])]
        found = [MetadataResponseTopic(0, name, partitions=partitions) for name in names]
        return MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, found)

    return topics, answer


def offsets_refused(code):
    def answer(request):
        assert request.replica_id == -1
        parts = [ListOffsetsPartitionResponse(0, code)]
        return ListOffsetsResponse(0, [ListOffsetsTopicResponse(each.name, parts) for each in request.topics])

    return answer


@pytest.mark.parametrize(
    ("name", "versions"),
    [("__transaction_state", (0, 9)), ("__consumer_offsets", (0, 4)), ("t", (1, 3)), ("t", (0, 0))],
)
async def test_metadata_creates_no_topic_unless_it_is_told_to(pool, broker, /, name, versions):
    topics, answer = creating("other")
    refused = offsets_refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker.will_answer({ApiKey.METADATA: answer, ApiKey.LIST_OFFSETS: refused})
    broker.versions[ApiKey.METADATA] = versions
    found = await pool.metadata([name])
    assert [(each.name, each.error_code) for each in found.topics.values()] == [
        (name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    assert topics == {"other"}
    assert (await pool.metadata([name], allow_auto_topic_creation=True)).topics[name].partitions.keys() == {0}
    assert list((await pool.metadata([name])).topics) == [name]


async def test_a_list_of_all_topics_ends_the_metadata_of_deleted_ones(pool, broker, /):
    topics, answer = creating("old", "kept")
    broker.will_answer({ApiKey.METADATA: answer})
    await pool.metadata(None)
    topics.remove("old")
    # A list without all topics says nothing about the others.
    await pool.metadata(["kept"])
    assert pool.known_leader_id(TopicPartition("old", 0)) == 0
    await pool.metadata(None)
    assert [pool.known_leader_id(TopicPartition(name, 0)) for name in ("old", "kept")] == [None, 0]


async def test_a_coordinator_is_looked_for_only_where_groups_may_exist(pool, broker, /):
    topics, answer = creating()
    refused = offsets_refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker.will_answer({ApiKey.METADATA: answer, ApiKey.LIST_OFFSETS: refused})
    assert await pool.existing_coordinator("g") is None
    assert not broker.requests[ApiKey.FIND_COORDINATOR]
    topics.add("__consumer_offsets")
    assert await pool.existing_coordinator("g") is await pool.coordinator("g")
    assert topics == {"__consumer_offsets"}


async def test_who_may_not_see_the_offsets_topic_finds_the_coordinator_all_the_same(pool, broker, /):
    refused = offsets_refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    broker.will_answer({ApiKey.METADATA: creating()[1], ApiKey.LIST_OFFSETS: refused})
    assert await pool.existing_coordinator("g") is await pool.coordinator("g")
