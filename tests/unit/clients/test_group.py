"""A member's membership: what it does when its coordinator refuses, moves or forgets it."""

import asyncio

import pytest

from barnabas.clients.consumer_protocol import decode_subscription, encode_assignment
from barnabas.clients.group import GroupMember
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from barnabas.wire.protocol.messages.leave_group import LeaveGroupResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
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
from barnabas.wire.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.clients.memory_broker import MemoryBroker

PARTITION = TopicPartition("t", 0)


def joined(error_code=ErrorCode.NONE, member_id="m-1", generation=1):
    leader = JoinGroupResponseMember("m-1", None, b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff")
    return lambda request: JoinGroupResponse(0, error_code, generation, None, "range", "m-1", member_id, [leader])


def synced(error_code=ErrorCode.NONE):
    return lambda request: SyncGroupResponse(0, error_code, assignment=encode_assignment([PARTITION]))


def beaten(error_code=ErrorCode.NONE):
    return lambda request: HeartbeatResponse(0, error_code)


def committed(error_code=ErrorCode.NONE):
    def answer(request):
        parts = [
            OffsetCommitResponsePartition(each.partition_index, error_code) for each in request.topics[0].partitions
        ]
        return OffsetCommitResponse(0, [OffsetCommitResponseTopic("t", parts)])

    return answer


def fetched(request):
    return OffsetFetchResponse(0, [OffsetFetchResponseTopic("t", [OffsetFetchResponsePartition(0, 7)])])


def broker(**answers):
    given = {
        ApiKey.JOIN_GROUP: joined(),
        ApiKey.SYNC_GROUP: synced(),
        ApiKey.HEARTBEAT: beaten(),
        ApiKey.OFFSET_COMMIT: committed(),
        ApiKey.OFFSET_FETCH: fetched,
        ApiKey.LEAVE_GROUP: lambda request: LeaveGroupResponse(0, 0),
        **{ApiKey[name]: answer for name, answer in answers.items()},
    }
    return MemoryBroker(given)


def play(test, **answers):
    """Run a test with a pool of a broker with these answers, and with that broker."""
    made = broker(**answers)
    made.run(lambda pool: test(pool, made))


pytestmark = pytest.mark.played(by=play)


def member(pool, **options):
    return GroupMember(pool, "g", ["t"], **options)


async def test_the_leader_divides_and_goes_on_where_the_group_left_off(pool, broken_in, /):
    made = member(pool)
    assert await made.join() == {PARTITION: 7}
    assert made.assignment == [PARTITION]
    (sync,) = broken_in.requests[ApiKey.SYNC_GROUP]
    assert [each.member_id for each in sync.assignments] == ["m-1"]
    await made.leave()
    (leave,) = broken_in.requests[ApiKey.LEAVE_GROUP]
    assert leave.member_id == "m-1"


@pytest.mark.parametrize("is_read_committed", [False, True])
async def test_without_offsets_it_begins_at_the_end_of_its_isolation_level(pool, made, /, is_read_committed):
    """With read_committed, records of open transactions are still to be read."""
    topics = [ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(0, 0, offset=5)])]
    made.will_answer(
        {
            ApiKey.OFFSET_FETCH: lambda request: OffsetFetchResponse(0, []),
            ApiKey.LIST_OFFSETS: lambda request: ListOffsetsResponse(topics=topics),
        }
    )
    one = member(pool, is_read_committed=is_read_committed)
    assert await one.join() == {PARTITION: 5}
    (request,) = made.requests[ApiKey.LIST_OFFSETS]
    assert (request.isolation_level, request.topics[0].partitions[0].timestamp) == (int(is_read_committed), -1)
    await one.leave()


@pytest.mark.played(by=play, OFFSET_FETCH=lambda request: OffsetFetchResponse(0, []))
async def test_a_caller_may_look_up_missing_offsets_itself(pool, made, /):
    one = member(pool)
    assert await one.join(None) == {}
    assert one.assignment == [PARTITION]
    assert not made.requests[ApiKey.LIST_OFFSETS]
    await one.leave()


@pytest.mark.played(by=play, JOIN_GROUP=[joined(ErrorCode.MEMBER_ID_REQUIRED), joined()])
async def test_it_joins_again_with_the_id_that_it_is_given(pool, joins, /):
    made = member(pool)
    await made.join()
    assert [each.member_id for each in joins.requests[ApiKey.JOIN_GROUP]] == ["", "m-1"]
    await made.leave()


@pytest.mark.parametrize(
    ("code", "second_id"),
    [(ErrorCode.REBALANCE_IN_PROGRESS, "m-1"), (ErrorCode.ILLEGAL_GENERATION, ""), (ErrorCode.UNKNOWN_MEMBER_ID, "")],
)
async def test_a_sync_that_comes_too_late_joins_again(pool, late, /, code, second_id):
    late.will_answer({ApiKey.SYNC_GROUP: [synced(code), synced()]})
    made = member(pool)
    await made.join()
    assert [each.member_id for each in late.requests[ApiKey.JOIN_GROUP]] == ["", second_id]
    assert not made.needs_rejoin
    await made.leave()


@pytest.mark.played(by=play, JOIN_GROUP=[joined(ErrorCode.NOT_COORDINATOR), joined()])
async def test_a_coordinator_that_moved_is_looked_for(pool, moved, /):
    made = member(pool)
    await made.join()
    assert len(moved.requests[ApiKey.FIND_COORDINATOR]) == 2
    await made.leave()


@pytest.mark.played(by=play, JOIN_GROUP=joined(ErrorCode.GROUP_AUTHORIZATION_FAILED))
async def test_a_refusal_that_joining_again_does_not_heal_is_raised(pool, made, /):
    with pytest.raises(KafkaError) as caught:
        await member(pool).join()
    assert caught.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("code", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID])
async def test_a_heartbeat_tells_of_a_rebalance(pool, broker, /, code):
    broker.will_answer({ApiKey.HEARTBEAT: [beaten(), beaten(code)]})
    made = member(pool, heartbeat_interval_ms=1_000)
    await made.join()
    start_s = asyncio.get_running_loop().time()
    await made.wait_for_rebalance()
    assert asyncio.get_running_loop().time() - start_s == pytest.approx(2)
    assert made.needs_rejoin
    made.raise_failure()
    await made.leave()


async def test_heartbeats_wait_for_a_broker_that_restarts(pool, broker, /):
    made = member(pool, heartbeat_interval_ms=1_000)
    await made.join()
    for each in (await pool.any_broker(), await pool.coordinator("g")):
        await each.close()
    broker.is_up = False
    asyncio.get_running_loop().call_later(3, setattr, broker, "is_up", True)
    await asyncio.sleep(5)
    assert broker.requests[ApiKey.HEARTBEAT]
    await made.commit({PARTITION: 8})
    assert not made.needs_rejoin
    await made.leave()


@pytest.mark.played(by=play, HEARTBEAT=[beaten(ErrorCode.GROUP_AUTHORIZATION_FAILED), beaten()])
async def test_a_member_that_joins_again_has_left_its_failure_behind(pool, refused, /):
    """Its heartbeats were refused; the coordinator takes it again, and it commits."""
    made = member(pool)
    await made.join()
    await made.wait_for_rebalance()
    with pytest.raises(KafkaError) as caught:
        await made.commit({PARTITION: 8})
    assert caught.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    await made.join()
    await made.commit({PARTITION: 8})
    assert len(refused.requests[ApiKey.OFFSET_COMMIT]) == 1
    await made.leave()


async def test_a_commit_names_the_generation_and_what_is_assigned_alone(pool, commits, /):
    made = member(pool)
    await made.join()
    await made.commit({PARTITION: 8, TopicPartition("other", 0): 9})
    (request,) = commits.requests[ApiKey.OFFSET_COMMIT]
    assert (request.generation_id, request.member_id) == (1, "m-1")
    assert [(topic.name, len(topic.partitions)) for topic in request.topics] == [("t", 1)]
    await made.commit({TopicPartition("other", 0): 9})
    assert len(commits.requests[ApiKey.OFFSET_COMMIT]) == 1
    await made.leave()


@pytest.mark.played(by=play, OFFSET_COMMIT=committed(ErrorCode.ILLEGAL_GENERATION))
async def test_a_commit_of_another_generation_fails_and_asks_to_join(pool, made, /):
    made = member(pool)
    await made.join()
    with pytest.raises(KafkaError) as caught:
        await made.commit({PARTITION: 8})
    assert caught.value.code is ErrorCode.ILLEGAL_GENERATION
    assert made.needs_rejoin
    await made.leave()


@pytest.mark.parametrize(
    ("member_id", "topics", "partition_count", "is_due"),
    [
        ("m-1", ["t"], 1, False),
        ("m-1", ["t"], 2, True),
        ("m-1", ["t", "t2"], 1, True),
        # The leader alone watches the numbers of partitions.
        ("m-2", ["t"], 2, False),
        ("m-2", ["t", "t2"], 1, True),
    ],
)
async def test_new_partitions_and_topics_make_a_member_join_again(
    pool, made, /, member_id, topics, partition_count, is_due
):
    made.will_answer({ApiKey.JOIN_GROUP: joined(member_id=member_id)})
    one = member(pool)
    await one.join()
    made.partition_count = partition_count
    await one.subscribe(topics)
    assert one.needs_rejoin is is_due
    await one.join()
    assert decode_subscription(made.requests[ApiKey.JOIN_GROUP][-1].protocols[0].metadata) == topics
    await one.subscribe(topics)
    assert not one.needs_rejoin
    await one.leave()


async def test_a_topic_that_a_broker_cannot_describe_is_no_reason_to_join_again(pool, made, /):
    one = member(pool)
    await one.join()
    unknown = MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "t")
    brokers = [MetadataResponseBroker(0, "memory", 9092)]
    made.will_answer({ApiKey.METADATA: lambda request: MetadataResponse(0, brokers, "memory", 0, [unknown])})
    await one.subscribe(["t"])
    assert not one.needs_rejoin
    await one.leave()


async def test_who_never_joined_leaves_nothing(pool, unasked, /):
    await member(pool).leave()
    assert unasked.requests == {}
