"""Whatever goes wrong, every record gets an outcome, and `flush`, `close` and who waits for a group come to an end."""

import asyncio

import pytest

from barnabas.clients import Consumer, GroupMember, Pool, Producer
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchResponse
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorResponse
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdResponse
from barnabas.wire.protocol.messages.join_group import JoinGroupResponse
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas.wire.protocol.messages.sync_group import SyncGroupResponse
from barnabas.wire.protocol.wire import Message
from tests.integration.scripted_broker import ScriptedBroker

UNKNOWN_CODE = 4242


def produced(error_code=0, base_offset=0):
    partitions = [PartitionProduceResponse(0, error_code, base_offset)]
    return ProduceResponse([TopicProduceResponse("views", partition_responses=partitions)])


def first_then_fine(first):
    """Answer the first Produce request with `first`, all later ones as a broker does."""
    answers = iter([first])
    return lambda version, request: next(answers, produced(base_offset=7))


def run(broker, use):
    asyncio.run(broker.run(use))


async def outcome(future):
    """What became of a record: its metadata or its exception; waits no longer than a test may."""
    done, _ = await asyncio.wait([future], timeout=30)
    assert done, "the record has no outcome"
    return future.exception() or future.result()


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (produced(error_code=UNKNOWN_CODE), KafkaError, "4242"),
        (b"\xff" * 8, ProtocolError, "ProduceResponse"),
        (ProduceResponse([]), ProtocolError, "without a partition"),
        (ProduceResponse([TopicProduceResponse("views")]), ProtocolError, "without a partition"),
    ],
    ids=["unknown code", "garbage", "no topics", "no partitions"],
)
def test_an_impossible_answer_fails_its_records_and_the_producer_goes_on(answer, kind, text):
    broker = ScriptedBroker({ApiKey.PRODUCE: first_then_fine(answer)})

    async def use(servers):
        async with Pool(servers) as pool, Producer(pool) as producer:
            first = await producer.send("views", b"a")
            error = await outcome(first)
            assert isinstance(error, kind)
            assert text in str(error)
            assert (await outcome(await producer.send("views", b"b"))).offset == 7

    run(broker, use)


def test_an_idempotent_producer_sends_nothing_more_when_it_cannot_know_what_was_written():
    broker = ScriptedBroker(
        {
            ApiKey.PRODUCE: first_then_fine(b"\xff" * 8),
            ApiKey.INIT_PRODUCER_ID: lambda version, request: InitProducerIdResponse(0, 0, 1, 0),
        }
    )

    async def use(servers):
        async with Pool(servers) as pool, Producer(pool, enable_idempotence=True) as producer:
            error = await outcome(await producer.send("views", b"a"))
            assert isinstance(error, ProtocolError)
            assert await outcome(await producer.send("views", b"b")) is error

    run(broker, use)
    assert sum(isinstance(request, ProduceRequest) for request in broker.requests) == 1


@pytest.mark.parametrize("is_idempotent", [False, True])
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"value": "text"}, "TypeError"),
        ({"value": b"a", "timestamp_ms": "now"}, "TypeError"),
        ({"value": b"a", "headers": ((None, b"x"),)}, "AttributeError"),
        ({"value": b"a", "timestamp_ms": 1 << 80}, "error"),
    ],
    ids=["value", "timestamp", "header", "range"],
)
def test_a_record_that_cannot_be_encoded_fails_and_the_producer_goes_on(wrong, text, is_idempotent):
    broker = ScriptedBroker(
        {
            ApiKey.PRODUCE: first_then_fine(produced(base_offset=7)),
            ApiKey.INIT_PRODUCER_ID: lambda version, request: InitProducerIdResponse(0, 0, 1, 0),
        }
    )

    async def use(servers):
        async with Pool(servers) as pool, Producer(pool, enable_idempotence=is_idempotent) as producer:
            error = await outcome(await producer.send("views", **wrong))
            assert isinstance(error, KafkaError)
            assert text in error.message
            assert error.__cause__ is not None
            assert (await outcome(await producer.send("views", b"b"))).offset == 7

    run(broker, use)


def test_a_producer_id_that_is_refused_with_an_unknown_code_fails_the_records():
    broker = ScriptedBroker(
        {
            ApiKey.PRODUCE: first_then_fine(produced()),
            ApiKey.INIT_PRODUCER_ID: lambda version, request: InitProducerIdResponse(0, UNKNOWN_CODE),
        }
    )

    async def use(servers):
        async with Pool(servers) as pool, Producer(pool, enable_idempotence=True) as producer:
            assert "4242" in str(await outcome(await producer.send("views", b"a")))

    run(broker, use)


def test_acks_0_to_a_broker_that_reads_nothing_ends():
    broker = ScriptedBroker({ApiKey.PRODUCE: first_then_fine(None)}, reads_produce=False)

    async def use(servers):
        async with (
            Pool(servers) as pool,
            Producer(
                pool, acks=0, request_timeout_ms=50, delivery_timeout_ms=200, batch_size_bytes=1 << 20
            ) as producer,
        ):
            futures = [await producer.send("views", bytes(1 << 20)) for _ in range(30)]
            # What the system's buffers took counts as sent.
            outcomes = [await outcome(future) for future in futures]
            assert isinstance(outcomes[-1], KafkaError)
            assert outcomes[-1].code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT)

    run(broker, use)


def test_batches_that_wait_behind_a_silent_broker_fail_at_their_own_deadline():
    broker = ScriptedBroker({ApiKey.PRODUCE: lambda version, request: None})

    async def use(servers):
        async with Pool(servers) as pool:
            producer = Producer(pool, request_timeout_ms=50, delivery_timeout_ms=50, batch_size_bytes=1)
            futures = [await producer.send("views", b"a") for _ in range(200)]
            await producer.close()
            errors = [future.exception() for future in futures]
            assert {isinstance(error, KafkaError) and error.code for error in errors} == {ErrorCode.REQUEST_TIMED_OUT}

    run(broker, use)
    assert sum(isinstance(request, ProduceRequest) for request in broker.requests) < 200


def test_a_sender_that_waits_for_room_is_told_that_the_producer_was_closed():
    broker = ScriptedBroker({ApiKey.PRODUCE: lambda version, request: None})

    async def use(servers):
        async with Pool(servers) as pool:
            producer = Producer(pool, request_timeout_ms=50, delivery_timeout_ms=50, buffer_memory_bytes=10)
            first = await producer.send("views", b"a")
            second = asyncio.create_task(producer.send("views", b"b"))
            await asyncio.sleep(0)
            await producer.close()
            assert isinstance(first.exception(), KafkaError)
            with pytest.raises(RuntimeError, match="closed"):
                await second

    run(broker, use)


def test_records_of_a_producer_whose_close_is_cut_short_fail():
    is_asked = asyncio.Event()
    broker = ScriptedBroker({ApiKey.PRODUCE: lambda version, request: is_asked.set()})

    async def use(servers):
        async with Pool(servers) as pool:
            producer = Producer(pool, batch_size_bytes=1)
            futures = [await producer.send("views", b"a") for _ in range(3)]
            closing = asyncio.create_task(producer.close())
            await is_asked.wait()
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            for future in futures:
                assert "closed" in str(await outcome(future))

    run(broker, use)


def group_answers(heartbeat):
    address: list[tuple[str, int]] = []

    def find(version, request):
        return FindCoordinatorResponse(0, 0, None, 0, *address[0])

    def join(version, request: Message):
        return JoinGroupResponse(0, 0, 1, None, "range", "somebody-else", "me")

    answers = {
        ApiKey.FIND_COORDINATOR: find,
        ApiKey.JOIN_GROUP: join,
        ApiKey.SYNC_GROUP: lambda version, request: SyncGroupResponse(),
        ApiKey.HEARTBEAT: lambda version, request: heartbeat,
        ApiKey.LEAVE_GROUP: lambda version, request: b"\xff",
    }
    return address, answers


@pytest.mark.parametrize(
    ("heartbeat", "kind"),
    [(HeartbeatResponse(0, UNKNOWN_CODE), KafkaError), (b"\xff", ProtocolError)],
    ids=["unknown code", "garbage"],
)
def test_a_member_is_told_that_its_heartbeats_ended(heartbeat, kind):
    address, answers = group_answers(heartbeat)
    broker = ScriptedBroker(answers)

    async def use(servers):
        host, _, port = servers.rpartition(":")
        address.append((host, int(port)))
        async with Pool(servers) as pool:
            member = GroupMember(pool, "readers", ["views"], heartbeat_interval_ms=1)
            await member.join()
            await member.wait_for_rebalance()
            assert member.needs_rejoin
            with pytest.raises(kind):
                member.raise_failure()
            await member.leave()

    run(broker, use)


def test_a_fetch_that_is_refused_as_a_whole_is_not_asked_for_again_at_once():
    broker = ScriptedBroker({ApiKey.FETCH: lambda version, request: FetchResponse(0, UNKNOWN_CODE)})

    async def use(servers):
        async with Pool(servers) as pool:
            consumer = Consumer(pool)
            consumer.assign({TopicPartition("views", 0): 0})
            with pytest.raises(KafkaError, match="4242"):
                await consumer.poll(10_000)
            await consumer.close()

    run(broker, use)
