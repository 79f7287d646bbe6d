"""What a producer decides: what goes into a batch, when it leaves, what is tried again and what is given up."""

import asyncio

import pytest

from barnabas.clients.producer import Producer
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdResponse
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.record import iterate_records
from tests.unit.clients.memory_broker import MemoryBroker, closes


def produced(error_code=ErrorCode.NONE, base_offset=0, append_time_ms=-1):
    def answer(request):
        topic = request.topic_data[0]
        part = PartitionProduceResponse(topic.partition_data[0].index, error_code, base_offset, append_time_ms)
        return ProduceResponse([TopicProduceResponse(topic.name, [part])])

    return answer


def broker(*answers, partition_count=1):
    ids = InitProducerIdResponse(0, 0, 4_000, 3)
    made = MemoryBroker({ApiKey.PRODUCE: list(answers) or produced(), ApiKey.INIT_PRODUCER_ID: lambda request: ids})
    made.partition_count = partition_count
    return made


def play(test, *answers, **options):
    """Run a test with a pool of a broker with these answers, and with that broker."""
    made = broker(*answers, **options)
    made.run(lambda pool: test(pool, made))


pytestmark = pytest.mark.played(by=play)


def batches(made):
    """The batches that came, as (partition, values)."""
    sent = [request.topic_data[0].partition_data[0] for request in made.requests[ApiKey.PRODUCE]]
    return [(each.index, [bytes(record.value) for record in iterate_records(each.records)]) for each in sent]


def headers(made):
    return [read_header(request.topic_data[0].partition_data[0].records) for request in made.requests[ApiKey.PRODUCE]]


async def outcome(future):
    await asyncio.wait([future])
    return future.exception() or future.result()


@pytest.mark.played(produced(base_offset=5), produced(base_offset=6), by=play)
async def test_records_that_come_while_a_batch_is_on_its_way_go_together(pool, made, /):
    async with Producer(pool) as producer:
        first = await producer.send("t", b"0")
        await asyncio.sleep(0)
        futures = [await producer.send("t", b"%d" % number) for number in range(1, 4)]
        await producer.flush()
        assert first.result().offset == 5
        assert [future.result().offset for future in futures] == [6, 7, 8]
    assert batches(made) == [(0, [b"0"]), (0, [b"1", b"2", b"3"])]


async def test_records_linger_for_others(pool, made, /):
    loop = asyncio.get_running_loop()
    async with Producer(pool, linger_ms=50) as producer:
        start_s = loop.time()
        first = await producer.send("t", b"0")
        await asyncio.sleep(0.04)
        await producer.send("t", b"1")
        await outcome(first)
        assert loop.time() - start_s == pytest.approx(0.05)
    assert batches(made) == [(0, [b"0", b"1"])]


async def test_a_flush_waits_for_no_linger(pool, made, /):
    loop = asyncio.get_running_loop()
    async with Producer(pool, linger_ms=10_000) as producer:
        await producer.send("t", b"0")
        await producer.flush()
        assert loop.time() < 1


async def test_a_full_batch_waits_for_no_linger_and_the_next_record_begins_another(pool, made, /):
    async with Producer(pool, linger_ms=10_000, batch_size_bytes=200) as producer:
        futures = [await producer.send("t", bytes(100)) for _ in range(3)]
        await outcome(futures[0])
        assert asyncio.get_running_loop().time() < 1
    assert [len(values) for _, values in batches(made)] == [1, 1, 1]


async def test_a_record_larger_than_a_batch_goes_alone(pool, made, /):
    async with Producer(pool, batch_size_bytes=200) as producer:
        await producer.send("t", b"0")
        await producer.send("t", bytes(1_000))
    assert [len(values) for _, values in batches(made)] == [1, 1]


@pytest.mark.played(produced(ErrorCode.NOT_LEADER_OR_FOLLOWER), closes, produced(base_offset=9), by=play)
async def test_what_time_heals_is_sent_again_as_it_was(pool, made, /):
    async with Producer(pool) as producer:
        future = await producer.send("t", b"0")
        assert (await outcome(future)).offset == 9
    assert batches(made) == [(0, [b"0"])] * 3
    assert len(made.requests[ApiKey.METADATA]) == 3


async def test_records_wait_for_a_broker_that_restarts(pool, made, /):
    async with Producer(pool) as producer:
        await outcome(await producer.send("t", b"0"))
        await (await pool.any_broker()).close()
        made.is_up = False
        asyncio.get_running_loop().call_later(3, setattr, made, "is_up", True)
        futures = [await producer.send("t", b"1")]
        # The first failure has forgotten the topic.
        await asyncio.sleep(1)
        futures.append(await producer.send("t", b"2"))
        assert [(await outcome(each)).offset for each in futures] == [0, 0]


@pytest.mark.played(produced(ErrorCode.MESSAGE_TOO_LARGE), produced(), by=play)
async def test_what_time_does_not_heal_is_given_up_and_the_next_batch_goes_out(pool, made, /):
    async with Producer(pool) as producer:
        error = await outcome(await producer.send("t", b"0"))
        assert isinstance(error, KafkaError)
        assert error.code is ErrorCode.MESSAGE_TOO_LARGE
        assert (await outcome(await producer.send("t", b"1"))).offset == 0
    assert batches(made) == [(0, [b"0"]), (0, [b"1"])]


@pytest.mark.played(produced(ErrorCode.NOT_ENOUGH_REPLICAS), by=play)
async def test_it_is_tried_no_longer_than_a_delivery_may_take(pool, made, /):
    loop = asyncio.get_running_loop()
    async with Producer(pool, delivery_timeout_ms=1_000) as producer:
        error = await outcome(await producer.send("t", b"0"))
        assert error.code is ErrorCode.NOT_ENOUGH_REPLICAS
        assert loop.time() == pytest.approx(1, abs=0.11)


@pytest.mark.played(lambda request: None, by=play)
async def test_a_request_that_is_never_answered_is_given_up(pool, made, /):
    async with Producer(pool, request_timeout_ms=500, delivery_timeout_ms=400) as producer:
        error = await outcome(await producer.send("t", b"0"))
        assert error.code is ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.played(produced(), closes, produced(), by=play)
async def test_an_idempotent_producer_numbers_its_records_and_repeats_the_numbers(pool, made, /):
    async with Producer(pool, enable_idempotence=True) as producer:
        await outcome(await producer.send("t", b"0"))
        futures = [await producer.send("t", b"%d" % number) for number in (1, 2)]
        await outcome(futures[-1])
        await outcome(await producer.send("t", b"3"))
    sent = headers(made)
    assert {(each.producer_id, each.producer_epoch) for each in sent} == {(4_000, 3)}
    # The second was sent twice: the first time its answer was lost.
    assert [each.base_sequence for each in sent] == [0, 1, 1, 3]
    assert len(made.requests[ApiKey.INIT_PRODUCER_ID]) == 1


@pytest.mark.played(closes, produced(ErrorCode.DUPLICATE_SEQUENCE_NUMBER), by=play)
async def test_a_batch_that_was_written_already_is_no_failure(pool, made, /):
    async with Producer(pool, enable_idempotence=True) as producer:
        metadata = await outcome(await producer.send("t", b"0"))
        assert (metadata.partition, metadata.offset) == (0, -1)


@pytest.mark.played(produced(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), by=play)
async def test_after_a_lost_sequence_nothing_more_is_sent(pool, made, /):
    async with Producer(pool, enable_idempotence=True) as producer:
        for _ in range(2):
            error = await outcome(await producer.send("t", b"0"))
            assert error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(made.requests[ApiKey.PRODUCE]) == 1


@pytest.mark.played(lambda request: None, by=play)
async def test_without_answers_records_have_no_offset(pool, made, /):
    async with Producer(pool, acks=0) as producer:
        metadata = await outcome(await producer.send("t", b"0", timestamp_ms=17))
        assert (metadata.offset, metadata.timestamp_ms) == (-1, 17)


@pytest.mark.played(produced(append_time_ms=99), by=play)
async def test_a_topic_that_stamps_its_records_says_when(pool, made, /):
    async with Producer(pool) as producer:
        metadata = await outcome(await producer.send("t", b"0", timestamp_ms=17))
        assert metadata.timestamp_ms == 99


async def test_a_send_waits_while_the_buffer_is_full(pool, made, /):
    async with Producer(pool, buffer_memory_bytes=1_000, linger_ms=50) as producer:
        await producer.send("t", bytes(800))
        start_s = asyncio.get_running_loop().time()
        await producer.send("t", bytes(800))
        assert asyncio.get_running_loop().time() - start_s == pytest.approx(0.05)


@pytest.mark.played(by=play, partition_count=2)
async def test_a_partition_that_is_not_there_is_refused(pool, made, /):
    async with Producer(pool) as producer:
        with pytest.raises(KafkaError, match="topic t has no partition 2"):
            await producer.send("t", b"0", partition=2)


@pytest.mark.played(by=play, partition_count=3)
async def test_records_without_a_key_move_on_with_the_batches(pool, made, /):
    async with Producer(pool, batch_size_bytes=200, linger_ms=10) as producer:
        for _ in range(12):
            await producer.send("t", bytes(100))
    assert len({index for index, _ in batches(made)}) > 1


def leaders(*leader_ids):
    """Metadata of a topic whose partitions have these leaders; -1: none."""
    partitions = [
        MetadataResponsePartition(
            0 if leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE, index, leader_id, 0, [0], [0]
        )
        for index, leader_id in enumerate(leader_ids)
    ]
    topic = MetadataResponseTopic(0, "t", partitions=partitions)
    return lambda request: MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, [topic])


@pytest.mark.parametrize("leader_ids", [(0, -1, 0), (-1, 0, -1)])
async def test_records_without_a_key_go_to_partitions_with_a_leader(pool, made, /, leader_ids):
    made.will_answer({ApiKey.METADATA: leaders(*leader_ids)})
    async with Producer(pool, batch_size_bytes=100) as producer:
        futures = [await producer.send("t", bytes(90)) for _ in range(20)]
    assert [future.exception() for future in futures] == [None] * 20
    assert {index for index, _ in batches(made)} == {index for index, leader in enumerate(leader_ids) if leader >= 0}


@pytest.mark.parametrize("is_idempotent", [False, True])
async def test_a_batch_that_is_too_large_is_divided(pool, made, /, is_idempotent):
    """The broker takes two records at most, and none of 1,000 bytes."""

    def answer(request):
        values = [record.value for record in iterate_records(request.topic_data[0].partition_data[0].records)]
        is_too_large = len(values) > 2 or max(map(len, values)) == 1_000
        return produced(ErrorCode.MESSAGE_TOO_LARGE if is_too_large else ErrorCode.NONE)(request)

    made.will_answer({ApiKey.PRODUCE: answer})
    sent = [b"0", b"1", bytes(1_000), b"3", b"4", b"5", b"6"]
    async with Producer(pool, linger_ms=10, enable_idempotence=is_idempotent) as producer:
        outcomes = [await producer.send("t", value) for value in sent]
        await producer.flush()
        assert producer._buffered_bytes == 0
    refused = [index for index, future in enumerate(outcomes) if future.exception() is not None]
    assert refused == [2]
    written = [values for _, values in batches(made) if len(values) <= 2 and bytes(1_000) not in values]
    assert [value for values in written for value in values] == [value for value in sent if len(value) < 1_000]
    if is_idempotent:
        accepted = [each for each, (_, values) in zip(headers(made), batches(made), strict=True) if values in written]
        sizes = [len(values) for values in written]
        assert [each.base_sequence for each in accepted] == [sum(sizes[:index]) for index in range(len(sizes))]


async def test_records_keep_the_headers_that_were_given(pool, made, /):
    """The caller gives an iterator, or changes its list, and the batch is encoded twice because it is too large."""
    made.will_answer({ApiKey.PRODUCE: [produced(ErrorCode.MESSAGE_TOO_LARGE), produced()]})
    sent = [[("a", b"0")], [("b", b"1"), ("b", None)], []]
    reused: list = []
    async with Producer(pool, linger_ms=10) as producer:
        for record in sent:
            reused[:] = record
            await producer.send("t", b"list", headers=reused)
            await producer.send("t", b"iterator", headers=iter(record))
    written = [request.topic_data[0].partition_data[0].records for request in made.requests[ApiKey.PRODUCE]]
    assert len(written) == 3
    read = [list(record.headers) for batch in written[1:] for record in iterate_records(batch)]
    assert read == [record for record in sent for _ in range(2)]


async def test_a_closed_producer_takes_nothing(pool, made, /):
    producer = Producer(pool)
    await producer.close()
    with pytest.raises(RuntimeError, match="closed"):
        await producer.send("t", b"0")


def test_idempotence_needs_all_acknowledgements():
    with pytest.raises(ValueError, match="acks=-1"):
        Producer(None, acks=1, enable_idempotence=True)
