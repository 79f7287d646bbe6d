"""Administration: what time heals is asked again until the time is over, and offsets are asked where they are."""

import asyncio

import pytest

from barnabas.clients.admin import EARLIEST, Admin, retry
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_topics import TopicAdmin
from barnabas.clients.channel import UnreachableError
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.loop import VirtualLoop
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from barnabas.wire.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from barnabas.wire.protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from barnabas.wire.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchResponse
from tests.unit.clients.memory_broker import MemoryBroker


def run(coroutine):
    loop = VirtualLoop()  # type: ignore[abstract]  # it has what clients ask of a loop
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


def failing(*errors):
    """Something that fails with one error after the other, and then says how long that took."""
    left = list(errors)

    async def attempt():
        if left:
            raise left.pop(0)
        return asyncio.get_running_loop().time()

    return attempt


def kafka_error(code):
    return KafkaError(code)


def test_what_time_heals_is_tried_again_after_a_moment():
    errors = [kafka_error(ErrorCode.NOT_CONTROLLER), kafka_error(ErrorCode.NETWORK_EXCEPTION)]
    assert run(retry(failing(*errors), 10_000)) == pytest.approx(0.2)


def test_the_last_error_is_raised_when_the_time_is_over():
    with pytest.raises(KafkaError) as caught:
        run(retry(failing(*[kafka_error(ErrorCode.NOT_CONTROLLER)] * 99), 1_000))
    assert caught.value.code is ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize(
    "error",
    [
        KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS),
        UnreachableError(ErrorCode.NETWORK_EXCEPTION, "nobody there"),
        KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_time_does_not_heal_is_raised_at_once(error):
    with pytest.raises(KafkaError) as caught:
        run(retry(failing(error), 10_000, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]))
    assert caught.value is error


def test_offsets_of_a_partition_that_moved_are_asked_for_again_and_of_the_others_are_not():
    refusals = [{0: ErrorCode.NOT_LEADER_OR_FOLLOWER}, {}]

    def offsets(request):
        codes = refusals.pop(0)
        parts = [
            ListOffsetsPartitionResponse(each.partition_index, codes.get(each.partition_index, 0), offset=7)
            for each in reversed(request.topics[0].partitions)
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", parts)])

    async def use(pool):
        wanted = [TopicPartition("t", 0), TopicPartition("t", 1)]
        assert await Admin(pool).offsets(wanted, EARLIEST) == dict.fromkeys(wanted, 7)
        asked = [request.topics[0].partitions for request in broker.requests[ApiKey.LIST_OFFSETS]]
        assert [[each.partition_index for each in partitions] for partitions in asked] == [[0, 1], [0]]

    broker = MemoryBroker({ApiKey.LIST_OFFSETS: offsets})
    broker.partition_count = 2
    broker.run(use)


def test_a_broker_that_falls_silent_is_waited_for_as_long_as_was_said():
    broker = MemoryBroker({ApiKey.METADATA: lambda request: None})

    async def use(_):
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with Pool("memory:9092", env=broker.environment(), request_timeout_ms=5_000) as pool:
            with pytest.raises(KafkaError) as caught:
                await Admin(pool, 5_000).topics()
        assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
        assert loop.time() - begin == pytest.approx(5)

    broker.run(use)


def test_a_refusal_to_show_log_directories_is_not_taken_for_a_broker_without_any():
    broker = MemoryBroker({ApiKey.DESCRIBE_LOG_DIRS: lambda request: DescribeLogDirsResponse()})

    async def use(pool):
        with pytest.raises(KafkaError) as caught:
            await ReplicaAdmin(pool).log_dirs([0])
        assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    broker.run(use)


@pytest.mark.parametrize(
    ("code", "text"),
    [(ErrorCode.REQUEST_TIMED_OUT, "not yet"), (ErrorCode.TOPIC_DELETION_DISABLED, "was not")],
)
def test_what_still_happens_is_told_from_what_does_not(code, text):
    answer = DeleteTopicsResponse(0, [DeletableTopicResult("t", code)])
    broker = MemoryBroker({ApiKey.DELETE_TOPICS: lambda request: answer})

    async def use(pool):
        with pytest.raises(KafkaError, match=text) as caught:
            await TopicAdmin(pool, 1_000).delete_topic("t")
        assert caught.value.code is code

    broker.run(use)


def test_an_assignment_that_is_not_of_the_consumer_protocol_hides_no_group():
    def describe(request):
        member = DescribedGroupMember("m", member_assignment=b'{"partitions": [0]}')
        groups = [DescribedGroup(0, name, "Stable", "consumer", "own", [member]) for name in request.groups]
        return DescribeGroupsResponse(groups=groups)

    async def use(pool):
        described = await Admin(pool).describe_group("odd")
        assert [(member.member_id, member.assignment) for member in described.members] == [("m", [])]
        found = await Admin(pool).coordinated_by(0)
        assert [group.group_id for group, _ in found] == ["odd", "other"]

    broker = MemoryBroker(
        {
            ApiKey.DESCRIBE_GROUPS: describe,
            ApiKey.LIST_GROUPS: lambda request: ListGroupsResponse(
                groups=[ListedGroup("odd", "consumer"), ListedGroup("other", "consumer")]
            ),
            ApiKey.OFFSET_FETCH: lambda request: OffsetFetchResponse(),
        }
    )
    broker.run(use)
