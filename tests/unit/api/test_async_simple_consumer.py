"""The simple consumer before a broker in memory: what it asks, what it makes of answers, and when it asks again."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.api.async_simple_consumer import (
    EARLIEST_TIME,
    LATEST_TIME,
    AsyncSimpleConsumer,
    FetchRequest,
    OffsetAndMetadata,
)
from barnabas.api.broker_connection import OLD_BROKERS, versions_of
from barnabas.api.broker_errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    DisconnectedError,
    InvalidMessageError,
    LeaderNotAvailableError,
    MessageSizeTooLargeError,
    NotCoordinatorError,
    NotLeaderError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from barnabas.api.errors import ClosedError
from barnabas.api.simple_consumer_settings import overridden
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
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
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.clients.memory_broker import MemoryBroker, closes

Story = Callable[[AsyncSimpleConsumer, MemoryBroker], Awaitable[None]]
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LARGE = 5_000


def play(
    story: Story, answers: dict[ApiKey, Any] | None = None, *, setup=lambda broker: None, config=None, **options: Any
) -> None:
    """Run a story with a consumer of a broker with these answers, and with that broker."""
    broker = MemoryBroker(answers or {})
    setup(broker)

    async def use(pool) -> None:
        settings = {"socket.receive.buffer.bytes": -1, **(config or {})}
        async with AsyncSimpleConsumer("memory", 9092, settings, env=pool.env, **options) as consumer:
            await story(consumer, broker)

    broker.run(use)


pytestmark = pytest.mark.played({}, by=play)


def log_of(*sizes: int) -> bytes:
    """Messages with payloads of these sizes, one each."""
    builder = MessageSetBuilder(0)
    for offset, size in enumerate(sizes):
        builder.append(offset, -1, None, bytes(size))
    return bytes(builder.build())


LARGE_LOG = log_of(LARGE)


def answered(request: Any, part: Callable[[Any], PartitionData]) -> FetchResponse:
    """An answer that says of each partition what the function does."""
    topics = [FetchableTopicResponse(each.topic, [part(one) for one in each.partitions]) for each in request.topics]
    return FetchResponse(responses=topics)


def cutting(data: bytes) -> Callable[[Any], FetchResponse]:
    """A broker before KIP-74: it gives as much as was asked for, and cuts the rest off."""

    def part(asked: Any) -> PartitionData:
        return PartitionData(asked.partition, 0, 99, records=memoryview(data)[: asked.partition_max_bytes])

    return lambda request: answered(request, part)


def failing(code: ErrorCode) -> Callable[[Any], FetchResponse]:
    return lambda request: answered(request, lambda asked: PartitionData(asked.partition, code, -1))


def sizes_asked(broker: MemoryBroker) -> list[int]:
    return [request.topics[0].partitions[0].partition_max_bytes for request in broker.requests[ApiKey.FETCH]]


# --- fetch


@pytest.mark.played(
    {ApiKey.FETCH: cutting(log_of(10, 10))}, by=play, config={"fetch.size": "2000", "fetch.min.bytes": 3}
)
async def test_what_is_fetched_is_given_with_where_to_go_on(consumer: AsyncSimpleConsumer, broker, /) -> None:
    messages = await consumer.fetch("t", 3, 1, 1_000, max_wait_ms=7, min_bytes=5)
    assert [(each.offset, each.next_offset) for each in messages] == [(1, 2)]
    assert (messages.next_offset, messages.high_watermark) == (2, 99)
    await consumer.fetch(FetchRequest("t", 3, 0))
    first, second = broker.requests[ApiKey.FETCH]
    assert (first.replica_id, first.max_wait_ms, first.min_bytes, first.max_bytes) == (-1, 7, 5, 1_000)
    assert (first.session_id, first.session_epoch, first.isolation_level) == (0, -1, 0)
    assert (first.topics[0].topic, first.topics[0].partitions[0].partition) == ("t", 3)
    assert (second.max_wait_ms, second.min_bytes, second.max_bytes) == (100, 3, 2_000)


@pytest.mark.parametrize(
    ("first_bytes", "asked"), [(100, [100, 6_400]), (5, [5, 10, 20, 5_120])], ids=["with its head", "without"]
)
async def test_a_message_that_does_not_fit_is_asked_for_again_with_twice_the_size(
    consumer: AsyncSimpleConsumer, broker, /, first_bytes: int, asked: list[int]
) -> None:
    """Of one the head tells how large it is, so that one more request is enough; of 5 bytes it can't."""
    broker.will_answer({ApiKey.FETCH: cutting(LARGE_LOG)})
    (found,) = await consumer.fetch("t", 0, 0, first_bytes)
    assert len(found.message.payload) == LARGE
    assert sizes_asked(broker) == asked


@pytest.mark.played(
    {ApiKey.FETCH: cutting(LARGE_LOG)}, by=play, max_message_size=len(LARGE_LOG), config={"fetch.size": 100}
)
async def test_the_last_doubling_ends_at_the_limit(consumer: AsyncSimpleConsumer, broker, /) -> None:
    assert len(list(await consumer.fetch("t", 0, 0, 4_000))) == 1
    assert sizes_asked(broker) == [4_000, len(LARGE_LOG)]


@pytest.mark.played(
    {ApiKey.FETCH: cutting(LARGE_LOG)}, by=play, max_message_size=len(LARGE_LOG) - 1, config={"fetch.size": 100}
)
async def test_a_message_above_the_limit_is_an_error_that_names_the_wanted_size(
    consumer: AsyncSimpleConsumer, broker, /
) -> None:
    size = len(LARGE_LOG)
    with pytest.raises(MessageSizeTooLargeError, match=rf"offset 0 of t-0 .* {size} bytes.* is {size - 1}") as raised:
        await consumer.fetch("t", 0, 0, 100)
    assert (raised.value.wanted_bytes, raised.value.max_bytes) == (size, size - 1)
    assert raised.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert sizes_asked(broker) == [100]


@pytest.mark.played(by=play, max_message_size=800, config={"fetch.size": 100})
async def test_a_broker_that_does_not_say_how_much_it_wants_is_not_asked_for_ever(
    consumer: AsyncSimpleConsumer, broker, /
) -> None:
    # Kafka, where it makes an old message of a new one that does not fit: a head of none, one byte too large.
    def answer(request: Any) -> FetchResponse:
        size = request.topics[0].partitions[0].partition_max_bytes
        return cutting(struct.pack(">qi", -1, max(size + 1 - 12, 61)) + bytes(size - 12))(request)

    broker.will_answer({ApiKey.FETCH: answer})
    with pytest.raises(MessageSizeTooLargeError) as raised:
        await consumer.fetch("t", 0, 0, 100)
    assert raised.value.wanted_bytes == 801
    assert sizes_asked(broker) == [100, 200, 400, 800]


@pytest.mark.played({ApiKey.FETCH: cutting(log_of(10, LARGE))}, by=play)
async def test_a_set_with_a_whole_message_is_not_asked_for_again(consumer: AsyncSimpleConsumer, broker, /) -> None:
    messages = await consumer.fetch("t", 0, 0, 200)
    assert [each.offset for each in messages] == [0]
    assert messages.is_partial
    assert sizes_asked(broker) == [200]


@pytest.mark.played({ApiKey.FETCH: cutting(struct.pack(">qi", 0, -5) + bytes(30))}, by=play)
async def test_damage_waits_for_who_reads_it(consumer: AsyncSimpleConsumer, broker, /) -> None:
    messages = await consumer.fetch("t", 0, 0)
    with pytest.raises(InvalidMessageError, match="length -5"):
        list(messages)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.OFFSET_OUT_OF_RANGE, OffsetOutOfRangeError),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, NotLeaderError),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopicOrPartitionError),
        (ErrorCode.KAFKA_STORAGE_ERROR, BrokerError),
        (ErrorCode(4_711), BrokerError),
    ],
)
async def test_an_error_of_the_broker_is_an_exception_of_its_own(
    consumer: AsyncSimpleConsumer, broker, /, code: ErrorCode, kind: type[BrokerError]
) -> None:
    broker.will_answer({ApiKey.FETCH: failing(code)})
    with pytest.raises(BrokerError, match=rf"cannot fetch offset 8 of t-2: {code.name}") as raised:
        await consumer.fetch("t", 2, 8)
    assert type(raised.value) is kind
    assert raised.value.code == code
    # Asked once: it is for the program to decide what follows.
    assert len(broker.requests[ApiKey.FETCH]) == 1


@pytest.mark.played({ApiKey.FETCH: lambda request: FetchResponse(0, ErrorCode.UNKNOWN_SERVER_ERROR)}, by=play)
async def test_a_refusal_of_the_whole_fetch_is_raised(consumer: AsyncSimpleConsumer, broker, /) -> None:
    with pytest.raises(BrokerError, match="UNKNOWN_SERVER_ERROR"):
        await consumer.multifetch([FetchRequest("t", 0, 0)])


async def test_several_partitions_are_fetched_in_one_request_and_fail_alone(consumer: AsyncSimpleConsumer, broker, /):
    small, large = log_of(10), log_of(LARGE)

    def answer(request: Any) -> FetchResponse:
        parts = {"a": [], "b": []}
        for topic in request.topics:
            for each in topic.partitions:
                data = large if (topic.topic, each.partition) == ("b", 1) else small
                code = ErrorCode.OFFSET_OUT_OF_RANGE if (topic.topic, each.partition) == ("a", 1) else 0
                parts[topic.topic].append(
                    PartitionData(each.partition, code, 5, records=memoryview(data)[: each.partition_max_bytes])
                )
        # A broker may answer in any order.
        return FetchResponse(responses=[FetchableTopicResponse(name, parts[name]) for name in "ba" if parts[name]])

    broker.will_answer({ApiKey.FETCH: answer})
    asked = [FetchRequest("a", 0, 0), FetchRequest("b", 1, 0, 100), FetchRequest("a", 1, 7), FetchRequest("a", 2, 0)]
    first, second, third, fourth = await consumer.multifetch(asked)
    assert [len(each.message.payload) for each in first] == [10]
    assert [len(each.message.payload) for each in second] == [LARGE]
    assert isinstance(third.error, OffsetOutOfRangeError)
    with pytest.raises(OffsetOutOfRangeError, match="offset 7 of a-1"):
        list(third)
    assert len(list(fourth)) == 1
    assert await consumer.multifetch([]) == []
    requests = broker.requests[ApiKey.FETCH]
    named = [
        [(topic.topic, [each.partition for each in topic.partitions]) for topic in each.topics] for each in requests
    ]
    # Only what was cut off is asked for again, and nothing is waited for then.
    assert named == [[("a", [0, 1, 2]), ("b", [1])], [("b", [1])]]
    assert (requests[1].max_wait_ms, requests[1].min_bytes) == (0, 0)


async def test_what_others_left_no_room_for_is_asked_for_alone(consumer: AsyncSimpleConsumer, broker, /) -> None:
    def answer(request: Any) -> FetchResponse:
        data = {request.topics[0].partitions[0].partition: log_of(10)}
        return answered(
            request,
            lambda asked: PartitionData(asked.partition, 0, 2, records=memoryview(data.get(asked.partition, b""))),
        )

    broker.will_answer({ApiKey.FETCH: answer})
    asked = [FetchRequest("t", 0, 0), FetchRequest("t", 1, 0), FetchRequest("t", 2, 2)]
    assert [len(list(messages)) for messages in await consumer.multifetch(asked)] == [1, 1, 0]
    asked = [[each.partition for each in request.topics[0].partitions] for request in broker.requests[ApiKey.FETCH]]
    # There is nothing more of the last one.
    assert asked == [[0, 1, 2], [1]]


@pytest.mark.played({ApiKey.FETCH: lambda request: FetchResponse()}, by=play)
async def test_a_partition_that_is_not_answered_is_an_error(consumer: AsyncSimpleConsumer, broker, /) -> None:
    with pytest.raises(BrokerError, match="did not answer for t-0"):
        await consumer.fetch("t", 0, 0)


@pytest.mark.played(
    {ApiKey.FETCH: [lambda request: FetchResponse(throttle_time_ms=2_000), cutting(log_of(10))]}, by=play
)
async def test_what_a_quota_keeps_back_is_asked_for_again(consumer: AsyncSimpleConsumer, broker, /) -> None:
    assert len(list(await consumer.fetch("t", 0, 0))) == 1
    assert len(broker.requests[ApiKey.FETCH]) == 2
    # A batch larger than ten seconds of the quota is never returned.
    broker.will_answer({ApiKey.FETCH: lambda request: FetchResponse(throttle_time_ms=2_000)})
    with pytest.raises(RequestTimedOutError, match="a quota throttles the fetch for longer than 30000 ms"):
        await consumer.fetch("t", 0, 0)


async def test_what_can_not_be_asked_is_said(consumer: AsyncSimpleConsumer, broker, /) -> None:
    with pytest.raises(ValueError, match="each partition only once"):
        await consumer.multifetch([FetchRequest("t", 0, 0), FetchRequest("t", 0, 9)])
    with pytest.raises(ValueError, match="max_wait_ms=30000"):
        await consumer.fetch("t", 0, 0, max_wait_ms=30_000)
    assert broker.dial_count == 0


# --- offsets of the log


async def test_offsets_before_a_time_are_asked_for_as_segments(consumer: AsyncSimpleConsumer, broker, /) -> None:
    def answer(request: Any) -> ListOffsetsResponse:
        wanted = request.topics[0].partitions[0]
        assert (wanted.partition_index, wanted.timestamp, wanted.max_num_offsets) == (1, 123, 3)
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(1, 0, [30, 20, 0])])]
        )

    broker.will_answer({ApiKey.LIST_OFFSETS: answer})
    assert await consumer.get_offsets_before("t", 1, 123, 3) == [30, 20, 0]
    assert broker.requests[ApiKey.LIST_OFFSETS][0].replica_id == -1


async def test_a_broker_that_forgot_the_oldest_version_still_tells_both_ends(consumer: AsyncSimpleConsumer, broker, /):
    def answer(request: Any) -> ListOffsetsResponse:
        offset = {LATEST_TIME: 40, EARLIEST_TIME: 10}[request.topics[0].partitions[0].timestamp]
        answered = ListOffsetsPartitionResponse(0, 0, timestamp=-1, offset=offset)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [answered])])

    broker.versions[ApiKey.LIST_OFFSETS] = (1, 5)
    broker.will_answer({ApiKey.LIST_OFFSETS: answer})
    assert await consumer.get_offsets_before("t", 0, LATEST_TIME, 5) == [40]
    assert await consumer.get_offsets_before("t", 0, EARLIEST_TIME) == [10]
    with pytest.raises(UnsupportedVersionError, match="one of the ends"):
        await consumer.get_offsets_before("t", 0, 123)


async def test_an_error_of_the_offsets_is_raised(consumer: AsyncSimpleConsumer, broker, /) -> None:
    refused = ListOffsetsPartitionResponse(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [refused])])
    broker.will_answer({ApiKey.LIST_OFFSETS: lambda request: response})
    with pytest.raises(UnknownTopicOrPartitionError, match="offsets of t-0"):
        await consumer.get_offsets_before("t", 0, LATEST_TIME)


# --- offsets of groups


def committed(*codes: ErrorCode) -> OffsetCommitResponse:
    parts = [OffsetCommitResponsePartition(index, code) for index, code in enumerate(codes)]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic("t", parts)])


@pytest.mark.played({ApiKey.OFFSET_COMMIT: lambda request: committed(ErrorCode.NONE, ErrorCode.NONE)}, by=play)
async def test_offsets_are_committed_in_the_version_that_is_wanted(consumer: AsyncSimpleConsumer, broker, /) -> None:
    await consumer.commit_offsets("g", {T0: 5, T1: 6})
    await consumer.commit_offsets("g", {T0: OffsetAndMetadata(7, "m"), T1: 8}, version=1)
    await consumer.commit_offsets("g", {}, version=1)
    first, second = broker.requests[ApiKey.OFFSET_COMMIT]
    assert [[(each.partition_index, each.committed_offset) for each in asked.topics[0].partitions] for asked in (
        first, second,
    )] == [[(0, 5), (1, 6)], [(0, 7), (1, 8)]]  # fmt: skip
    assert (second.group_id, second.generation_id, second.member_id) == ("g", -1, "")
    assert [each.committed_metadata for each in second.topics[0].partitions] == ["m", ""]


async def test_all_partitions_that_were_not_kept_are_told(consumer: AsyncSimpleConsumer, broker, /) -> None:
    codes = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    broker.will_answer({ApiKey.OFFSET_COMMIT: lambda request: committed(*codes)})
    with pytest.raises(UnknownTopicOrPartitionError, match=r"group g: t-1: UNKNOWN.* \(and 1 more\)") as raised:
        await consumer.commit_offsets("g", {T0: 5, T1: 6, TopicPartition("t", 2): 7})
    assert raised.value.partitions == {
        T1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        TopicPartition("t", 2): ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }


def fetched(*answers: tuple[int, ErrorCode], error_code: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponse:
    parts = [OffsetFetchResponsePartition(index, offset, -1, "m", code) for index, (offset, code) in enumerate(answers)]
    return OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", parts)], error_code=error_code)


@pytest.mark.parametrize("version", [0, 1])
async def test_offsets_are_fetched_and_what_is_not_there_is_no_error(
    consumer: AsyncSimpleConsumer, broker, /, version: int
) -> None:
    response = fetched((9, ErrorCode.NONE), (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    broker.will_answer({ApiKey.OFFSET_FETCH: lambda request: response})
    found = await consumer.fetch_offsets("g", [("t", 0), T1, T0], version=version)
    assert (found[T0], found[T1].offset) == (OffsetAndMetadata(9, "m"), -1)
    assert await consumer.fetch_offsets("g", []) == {}
    assert [each.partition_indexes for each in broker.requests[ApiKey.OFFSET_FETCH][0].topics] == [[0, 1]]


@pytest.mark.parametrize(
    "response", [fetched((-1, ErrorCode.NOT_COORDINATOR)), fetched(error_code=ErrorCode.NOT_COORDINATOR)]
)
async def test_a_group_is_asked_for_where_it_is_coordinated(
    consumer: AsyncSimpleConsumer, broker, /, response: OffsetFetchResponse
) -> None:
    broker.will_answer({ApiKey.OFFSET_FETCH: lambda request: response})
    with pytest.raises(NotCoordinatorError, match="group g"):
        await consumer.fetch_offsets("g", [T0], version=2)


async def test_a_version_that_the_broker_does_not_know_is_not_replaced_by_another(
    consumer: AsyncSimpleConsumer, broker, /
) -> None:
    broker.versions |= {ApiKey.OFFSET_COMMIT: (0, 0), ApiKey.OFFSET_FETCH: (1, 5)}
    with pytest.raises(UnsupportedVersionError, match="version 1 of OffsetCommit"):
        await consumer.commit_offsets("g", {T0: 1}, version=1)
    with pytest.raises(UnsupportedVersionError, match="version 0 of OffsetFetch"):
        await consumer.fetch_offsets("g", [T0])
    assert broker.requests[ApiKey.OFFSET_COMMIT] == broker.requests[ApiKey.OFFSET_FETCH] == []
    assert broker.dial_count == 1


# --- who to ask


async def test_the_leader_and_the_coordinator_are_found(consumer: AsyncSimpleConsumer, broker, /) -> None:
    assert await consumer.find_leader("t", 0) == ("memory", 9092)
    assert await consumer.find_coordinator("g") == ("memory", 9092)
    with pytest.raises(UnknownTopicOrPartitionError, match="partition t-1 does not exist"):
        await consumer.find_leader("t", 1)
    assert broker.requests[ApiKey.METADATA][0].allow_auto_topic_creation is False


@pytest.mark.parametrize(
    ("topic_code", "leader", "kind"),
    [
        (ErrorCode.NONE, -1, LeaderNotAvailableError),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0, UnknownTopicOrPartitionError),
    ],
)
async def test_no_leader_is_an_error(
    consumer: AsyncSimpleConsumer, broker, /, topic_code: ErrorCode, leader: int, kind: type[BrokerError]
) -> None:
    topic = MetadataResponseTopic(topic_code, "t", partitions=[MetadataResponsePartition(0, 0, leader)])
    response = MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], topics=[topic])
    broker.will_answer({ApiKey.METADATA: lambda request: response})
    with pytest.raises(kind):
        await consumer.find_leader("t", 0)


async def test_no_coordinator_is_an_error(consumer: AsyncSimpleConsumer, broker, /) -> None:
    response = FindCoordinatorResponse(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, None, -1, "", -1)
    broker.will_answer({ApiKey.FIND_COORDINATOR: lambda request: response})
    with pytest.raises(CoordinatorNotAvailableError):
        await consumer.find_coordinator("g")


# --- the connection


@pytest.mark.played({ApiKey.FETCH: cutting(log_of(1))}, by=play)
async def test_it_connects_once_for_all_who_ask(consumer: AsyncSimpleConsumer, broker, /) -> None:
    await asyncio.gather(*(consumer.fetch("t", index, 0) for index in range(5)))
    assert broker.dial_count == 1


@pytest.mark.played({ApiKey.FETCH: [closes, cutting(log_of(1))]}, by=play)
async def test_a_connection_that_breaks_is_made_once_more(consumer: AsyncSimpleConsumer, broker, /) -> None:
    assert len(list(await consumer.fetch("t", 0, 0))) == 1
    assert (broker.dial_count, len(broker.requests[ApiKey.FETCH])) == (2, 2)


@pytest.mark.played({ApiKey.FETCH: [closes, closes, cutting(log_of(1))]}, by=play)
async def test_and_not_a_third_time(consumer: AsyncSimpleConsumer, broker, /) -> None:
    with pytest.raises(DisconnectedError, match="the broker closed it"):
        await consumer.fetch("t", 0, 0)
    # The next request is another one, and begins anew.
    assert len(list(await consumer.fetch("t", 0, 0))) == 1
    assert (broker.dial_count, len(broker.requests[ApiKey.FETCH])) == (3, 3)


@pytest.mark.played({ApiKey.FETCH: lambda request: None}, by=play, config={"socket.timeout.ms": 500})
async def test_a_broker_that_does_not_answer_is_asked_twice(consumer: AsyncSimpleConsumer, broker, /) -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(RequestTimedOutError, match="within 500 ms"):
        await consumer.fetch("t", 0, 0)
    assert asyncio.get_running_loop().time() - began == pytest.approx(1)
    assert (broker.dial_count, len(broker.requests[ApiKey.FETCH])) == (2, 2)


async def test_a_broker_that_is_down_is_an_error_that_names_it(consumer: AsyncSimpleConsumer, broker, /) -> None:
    broker.is_up = False
    with pytest.raises(DisconnectedError, match="cannot connect to memory:9092"):
        await consumer.get_offsets_before("t", 0, LATEST_TIME)


async def test_who_is_closed_asks_nothing_more(consumer: AsyncSimpleConsumer, broker, /) -> None:
    asked = asyncio.Event()
    broker.will_answer({ApiKey.FETCH: lambda request: asked.set()})
    waiting = asyncio.ensure_future(consumer.fetch("t", 0, 0))
    await asked.wait()
    await consumer.close()
    with pytest.raises(ClosedError):
        await waiting
    with pytest.raises(ClosedError, match="memory:9092"):
        await consumer.fetch("t", 0, 0)
    assert broker.dial_count == 1


# --- old brokers


def of_0_8(broker: MemoryBroker) -> None:
    """It closes the connection when it is asked for its versions."""
    broker.answers[ApiKey.API_VERSIONS] = [closes]


@pytest.mark.played(by=play, setup=of_0_8)
async def test_a_broker_that_can_not_be_asked_is_taken_for_an_old_one(consumer: AsyncSimpleConsumer, broker, /) -> None:
    kept = committed(ErrorCode.NONE)
    broker.will_answer({ApiKey.FETCH: cutting(log_of(1)), ApiKey.OFFSET_COMMIT: lambda request: kept})
    assert len(list(await consumer.fetch("t", 0, 0))) == 1
    assert await consumer.find_leader("t", 0) == ("memory", 9092)
    await consumer.commit_offsets("g", {T0: 5}, version=1)
    with pytest.raises(UnsupportedVersionError):
        await consumer.commit_offsets("g", {T0: 5}, version=2)
    assert (broker.dial_count, len(broker.requests[ApiKey.API_VERSIONS])) == (2, 1)


@pytest.mark.played({ApiKey.FETCH: cutting(log_of(1))}, by=play, setup=of_0_8, broker_version="0.8.1.1")
async def test_who_says_the_version_saves_the_question(consumer: AsyncSimpleConsumer, broker, /) -> None:
    await consumer.fetch("t", 0, 0)
    with pytest.raises(UnsupportedVersionError):
        await consumer.find_coordinator("g")
    assert (broker.dial_count, broker.requests[ApiKey.API_VERSIONS]) == (1, [])


@pytest.mark.played({ApiKey.FETCH: closes}, by=play, setup=of_0_8)
async def test_who_hangs_up_again_is_perhaps_no_broker_at_all(consumer: AsyncSimpleConsumer, broker, /) -> None:
    with pytest.raises(DisconnectedError, match=r"does not speak Kafka's protocol.* security\.protocol"):
        await consumer.fetch("t", 0, 0)


def test_versions_of_brokers() -> None:
    assert versions_of("0.8") is OLD_BROKERS["0.8.0"]
    assert versions_of("0.8.2.2") is OLD_BROKERS["0.8.2"]
    assert versions_of("0.9.0.1") is OLD_BROKERS["0.9.0"]
    assert versions_of("0.10.0.0") is versions_of("2.7.2") is None
    for wrong in ("0.7.2", "0.7", "8", "old", "0.8.x", ""):
        with pytest.raises(ConfigError, match="broker_version="):
            versions_of(wrong)


# --- settings


def test_settings_that_can_not_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.wait\.max\.ms=100 must be below socket\.timeout\.ms=100"):
        AsyncSimpleConsumer("h", 1, {"socket.timeout.ms": 100})
    with pytest.raises(
        ConfigError, match=r"fetch\.sice is not a setting of the simple consumer: did you mean fetch\.size"
    ):
        AsyncSimpleConsumer("h", 1, {"fetch.sice": 100})
    with pytest.raises(ConfigError, match="max_message_size=268435456 exceeds"):
        AsyncSimpleConsumer("h", 1, max_message_size=1 << 28)
    with pytest.raises(ConfigError, match=r"fetch\.message\.max\.bytes"):
        AsyncSimpleConsumer("h", 1, {"fetch.message.max.bytes": 1 << 28})


def test_what_is_an_argument_replaces_the_setting_under_each_of_its_names() -> None:
    config = {"socket.buffersize": 1, "client.id": "a", "fetch.size": 9}
    assert overridden(config, {"socket.receive.buffer.bytes": 2}) == {
        "socket.receive.buffer.bytes": 2,
        "client.id": "a",
        "fetch.size": 9,
    }


@pytest.mark.played({ApiKey.FETCH: cutting(log_of(10))}, by=play)
async def test_no_more_is_asked_for_than_an_answer_may_hold(consumer: AsyncSimpleConsumer, broker, /) -> None:
    await consumer.multifetch([FetchRequest("t", index, 0, 1 << 30) for index in range(3)], max_wait_ms=0)
    (request,) = broker.requests[ApiKey.FETCH]
    assert request.max_bytes == 255 << 20
    assert {each.partition_max_bytes for each in request.topics[0].partitions} == {255 << 20}
