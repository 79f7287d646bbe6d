"""What a consumer does with answers: every record once and in order, whatever the other partitions say."""

import pytest

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.consumer import Consumer
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
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
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.clients.memory_broker import MemoryBroker, closes

LOGS = {0: [b"a0", b"a1", b"a2"], 1: [b"b0", b"b1"]}


def batch(values, base_offset=0):
    builder = BatchBuilder(Codec.NONE, -1, -1, -1)
    for value in values:
        builder.append(0, None, value, ())
    built = builder.build()
    built[:8] = base_offset.to_bytes(8, "big")
    return bytes(built)


def serves(errors=None, spoilt=()):
    """Fetch from LOGS; `errors` by partition, whose batches are damaged where they are in `spoilt`."""

    def answer(request):
        topics = []
        for topic in request.topics:
            parts = []
            for asked in topic.partitions:
                code = (errors or {}).get(asked.partition, 0)
                values = LOGS[asked.partition]
                records = b"" if code or asked.fetch_offset >= len(values) else batch(values)
                if asked.partition in spoilt:
                    records = records[:-1] + b"!"
                parts.append(PartitionData(asked.partition, code, len(values), records=records))
            topics.append(FetchableTopicResponse(topic.topic, parts))
        # A long poll, where there is nothing to say.
        says_something = any(part.error_code or part.records for topic in topics for part in topic.partitions)
        return FetchResponse(responses=topics) if says_something else None

    return answer


def offsets(request):
    """ListOffsets: the earliest is 0, the latest the end."""
    topics = []
    for topic in request.topics:
        parts = [
            ListOffsetsPartitionResponse(
                each.partition_index, 0, offset=0 if each.timestamp == -2 else len(LOGS[each.partition_index])
            )
            for each in topic.partitions
        ]
        topics.append(ListOffsetsTopicResponse(topic.name, parts))
    return ListOffsetsResponse(topics=topics)


def broker(*fetches):
    made = MemoryBroker({ApiKey.FETCH: list(fetches) or serves(), ApiKey.LIST_OFFSETS: offsets})
    made.partition_count = len(LOGS)
    return made


def play(test, *answers):
    """Run a test with a pool of a broker with these answers, and with that broker."""
    made = broker(*answers)
    made.run(lambda pool: test(pool, made))


pytestmark = pytest.mark.played(by=play)


def values(fetched):
    return {(each.partition.partition, record.offset): record.value for each in fetched for record in each.records}


def at(partition, offset=0):
    return {TopicPartition("t", partition): offset}


ALL = {(index, offset): value for index, log in LOGS.items() for offset, value in enumerate(log)}


async def test_records_come_from_the_position_on_though_batches_are_sent_whole(pool, made, /):
    consumer = Consumer(pool)
    consumer.assign(at(0, 1))
    assert values(await consumer.poll(1_000)) == {(0, 1): b"a1", (0, 2): b"a2"}
    assert consumer.positions == at(0, 3)
    await consumer.close()


@pytest.mark.parametrize("failing", [0, 1])
async def test_an_error_of_one_partition_costs_the_others_no_record(pool, made, /, failing):
    """Whoever goes on after the error has read everything once."""
    made.will_answer({ApiKey.FETCH: [serves({failing: ErrorCode.OFFSET_OUT_OF_RANGE}), serves()]})
    consumer = Consumer(pool, auto_offset_reset="none")
    consumer.assign(at(0) | at(1))
    fetched, errors = {}, []
    for _ in range(4):
        try:
            more = values(await consumer.poll(1_000))
        except KafkaError as error:
            errors.append(error.code)
        else:
            assert not fetched.keys() & more.keys()
            fetched |= more
    assert fetched == ALL
    assert errors == [ErrorCode.OFFSET_OUT_OF_RANGE]
    await consumer.close()


@pytest.mark.parametrize("spoilt", [0, 1])
async def test_a_damaged_batch_costs_the_others_no_record_however_often_it_comes(pool, made, /, spoilt):
    made.will_answer({ApiKey.FETCH: serves(spoilt={spoilt})})
    consumer = Consumer(pool)
    consumer.assign(at(0) | at(1))
    fetched = values(await consumer.poll(1_000))
    assert fetched == {place: value for place, value in ALL.items() if place[0] != spoilt}
    with pytest.raises(KafkaError, match="CRC") as caught:
        await consumer.poll(1_000)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert consumer.positions[TopicPartition("t", spoilt)] == 0
    await consumer.close()


@pytest.mark.parametrize(("reset", "offset"), [("earliest", 0), ("latest", 3)])
@pytest.mark.played(serves({0: ErrorCode.OFFSET_OUT_OF_RANGE}), lambda request: None, by=play)
async def test_a_position_that_is_gone_is_set_anew(pool, made, /, reset, offset):
    consumer = Consumer(pool, auto_offset_reset=reset)
    consumer.assign(at(0, 99))
    await consumer.poll(10)
    assert consumer.positions == at(0, offset)
    await consumer.close()


def leaders(*leader_ids):
    def answer(request):
        parts = [MetadataResponsePartition(0, index, each, 0, [0], [0], []) for index, each in enumerate(leader_ids)]
        topics = [MetadataResponseTopic(0, each.name, partitions=parts) for each in request.topics]
        return MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, topics)

    return answer


@pytest.mark.parametrize("leader_ids", [(-1, 0), (0, -1)])
async def test_a_partition_without_a_leader_delays_no_other(pool, made, /, leader_ids):
    made.will_answer({ApiKey.METADATA: leaders(*leader_ids)})
    consumer = Consumer(pool)
    consumer.seek([*at(0), *at(1)], EARLIEST)
    led, other = leader_ids.index(0), leader_ids.index(-1)
    assert values(await consumer.poll(100)) == {place: value for place, value in ALL.items() if place[0] == led}
    assert consumer.sought == at(other, EARLIEST)
    made.will_answer({ApiKey.METADATA: leaders(0, 0)})
    # Its long poll would have no end here.
    del consumer.positions[TopicPartition("t", led)]
    assert values(await consumer.poll(1_000)) == {place: value for place, value in ALL.items() if place[0] == other}
    assert not consumer.sought
    await consumer.close()


@pytest.mark.parametrize(
    ("code", "is_raised"), [(ErrorCode.LEADER_NOT_AVAILABLE, False), (ErrorCode.TOPIC_AUTHORIZATION_FAILED, True)]
)
async def test_an_error_of_a_lookup_is_raised_unless_time_heals_it(pool, made, /, code, is_raised):
    failed = ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(0, code)])
    made.will_answer({ApiKey.LIST_OFFSETS: [lambda request: ListOffsetsResponse(topics=[failed]), offsets]})
    consumer = Consumer(pool)
    consumer.seek(at(0), EARLIEST)
    if is_raised:
        with pytest.raises(KafkaError) as caught:
            await consumer.poll(1_000)
        assert caught.value.code is code
    assert len(values(await consumer.poll(1_000))) == 3
    await consumer.close()


@pytest.mark.parametrize("is_read_committed", [False, True])
async def test_the_end_is_that_of_the_isolation_level(pool, made, /, is_read_committed):
    """With read_committed, records of open transactions are still to be read."""
    consumer = Consumer(pool, is_read_committed=is_read_committed)
    consumer.seek(at(0), LATEST)
    await consumer.poll(10)
    assert consumer.positions == at(0, 3)
    (request,) = made.requests[ApiKey.LIST_OFFSETS]
    assert (request.isolation_level, request.topics[0].partitions[0].timestamp) == (int(is_read_committed), LATEST)
    await consumer.close()


@pytest.mark.played(serves({0: ErrorCode.NOT_LEADER_OR_FOLLOWER}), closes, serves(), by=play)
async def test_what_time_heals_is_asked_again_after_a_moment(pool, made, /):
    consumer = Consumer(pool)
    consumer.assign(at(0))
    assert len(values(await consumer.poll(10_000))) == 3
    # For the leader, which was forgotten.
    assert len(made.requests[ApiKey.METADATA]) >= 2
    await consumer.close()


@pytest.mark.played(serves({0: ErrorCode.TOPIC_AUTHORIZATION_FAILED}), by=play)
async def test_what_time_does_not_heal_is_raised(pool, made, /):
    consumer = Consumer(pool)
    consumer.assign(at(0))
    with pytest.raises(KafkaError) as caught:
        await consumer.poll(10_000)
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await consumer.close()


@pytest.mark.played(lambda request: None, by=play)
async def test_a_poll_that_finds_nothing_ends_in_time(pool, made, /):
    consumer = Consumer(pool)
    consumer.assign(at(0, 3))
    assert await consumer.poll(700) == []
    await consumer.close()


@pytest.mark.parametrize(("offset", "first"), [(2, 2), (EARLIEST, 0)])
async def test_an_answer_to_a_question_of_before_is_dropped(pool, made, /, offset, first):
    consumer = Consumer(pool)
    consumer.assign(at(0, 1))
    await pool.leader(next(iter(at(0))))
    consumer._ask()
    assert consumer._polls
    consumer.seek(at(0), offset)
    assert values(await consumer.poll(1_000)) == {(0, each): LOGS[0][each] for each in range(first, 3)}
    await consumer.close()


def in_transaction(producer_id, base_offset, value):
    builder = BatchBuilder(Codec.NONE, producer_id, 0, 0, is_transactional=True)
    builder.append(0, None, value, ())
    return bytes(builder.build(base_offset))


@pytest.mark.parametrize(("is_read_committed", "shown"), [(False, [0, 1, 3, 4]), (True, [1, 4])])
async def test_read_committed_skips_what_was_aborted_and_nothing_else(pool, made, /, is_read_committed, shown):
    """Producer 7 aborts a transaction and commits the next one; producer 8 aborts one, producer 9 commits one."""
    marker = build_marker(7, 0, EndTransactionMarker(MarkerType.ABORT, 0), 0, base_offset=2)
    records = b"".join(
        [
            in_transaction(7, 0, b"aborted"),
            in_transaction(9, 1, b"committed"),
            bytes(marker),
            in_transaction(8, 3, b"aborted"),
            in_transaction(7, 4, b"committed"),
        ]
    )

    def fetch(request):
        assert request.isolation_level == int(is_read_committed)
        aborted = [AbortedTransaction(8, 3), AbortedTransaction(7, 0)] if is_read_committed else None
        part = PartitionData(0, 0, 5, 5, aborted_transactions=aborted, records=records)
        return FetchResponse(responses=[FetchableTopicResponse("t", [part])])

    made.will_answer({ApiKey.FETCH: [fetch, lambda request: None]})
    consumer = Consumer(pool, is_read_committed=is_read_committed)
    consumer.assign(at(0))
    assert [offset for _, offset in values(await consumer.poll(1_000))] == shown
    assert consumer.positions == at(0, 5)
    await consumer.close()


def message_set(magic, codec, first_offset, append_time_ms=None):
    """Three records with the times 1, 2 and 3."""
    builder = MessageSetBuilder(magic, codec, append_time_ms)
    for index in range(3):
        builder.append(first_offset + index, index + 1, b"k", b"%d" % (first_offset + index))
    return bytes(builder.build())


@pytest.mark.parametrize(
    ("magic", "codec", "append_time_ms", "times"),
    [
        (0, Codec.NONE, None, [-1, -1, -1]),
        (0, Codec.GZIP, None, [-1, -1, -1]),
        (0, Codec.LZ4, None, [-1, -1, -1]),
        (1, Codec.NONE, None, [1, 2, 3]),
        (1, Codec.SNAPPY, None, [1, 2, 3]),
        (1, Codec.GZIP, 9, [9, 9, 9]),
    ],
)
@pytest.mark.parametrize("position", [10, 11, 12])
async def test_messages_of_old_formats_are_read_from_the_position_on(
    pool, made, /, magic, codec, append_time_ms, times, position
):
    """The position may be inside a compressed message; a batch of the current format may follow."""
    records = message_set(magic, codec, 10, append_time_ms) + batch([b"13"], 13)

    def fetch(request):
        return FetchResponse(responses=[FetchableTopicResponse("t", [PartitionData(0, 0, 14, records=records)])])

    made.will_answer({ApiKey.FETCH: [fetch, lambda request: None]})
    consumer = Consumer(pool)
    consumer.assign(at(0, position))
    fetched = await consumer.poll(1_000)
    assert values(fetched) == {(0, offset): b"%d" % offset for offset in range(position, 14)}
    assert [record.timestamp_ms for each in fetched for record in each.records] == [*times[position - 10 :], 0]
    assert {each.is_log_append_time for each in fetched[:-1]} == {append_time_ms is not None}
    assert consumer.positions == at(0, 14)
    await consumer.close()


@pytest.mark.parametrize("magic", [0, 1])
async def test_a_damaged_message_of_an_old_format_is_an_error(pool, made, /, magic):
    records = message_set(magic, Codec.NONE, 0)[:-1] + b"!"

    def fetch(request):
        return FetchResponse(responses=[FetchableTopicResponse("t", [PartitionData(0, 0, 3, records=records)])])

    made.will_answer({ApiKey.FETCH: [fetch, lambda request: None]})
    consumer = Consumer(pool)
    consumer.assign(at(0))
    assert values(await consumer.poll(1_000)) == {(0, 0): b"0", (0, 1): b"1"}
    with pytest.raises(KafkaError, match="CRC"):
        await consumer.poll(1_000)
    await consumer.close()


async def test_a_partition_that_returned_records_is_requested_after_the_others(pool, made, /):
    """Brokers fill a response in the order of the request: a backlog of one partition must not delay the others."""

    def fetch(request):
        first = request.topics[0].partitions[0]
        part = PartitionData(first.partition, 0, 9, records=batch([b"x"], first.fetch_offset))
        return FetchResponse(responses=[FetchableTopicResponse("t", [part])])

    made.will_answer({ApiKey.FETCH: fetch})
    consumer = Consumer(pool)
    consumer.assign(at(0) | at(1))
    read = [next(iter(values(await consumer.poll(1_000)))) for _ in range(4)]
    assert read == [(0, 0), (1, 0), (0, 1), (1, 1)]
    await consumer.close()
