"""Transactions that hang: what a partition's batches and the coordinators' log say of them, and the marker's epoch."""

import struct

import pytest

from barnabas.clients.admin_transactions import OpenTransaction, TransactionAdmin, track
from barnabas.clients.transaction_log import TransactionState, TransactionStatus, replay
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError, ProtocolError
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
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
from barnabas.wire.protocol.messages.transaction_log_key import TransactionLogKey
from barnabas.wire.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.records.batch import Codec, batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.record import Record
from tests.unit.clients.memory_broker import MemoryBroker

PARTITION = TopicPartition("t", 0)


def data(offset, producer_id, timestamp_ms=1_000, count=1, *, is_transactional=True):
    builder = BatchBuilder(Codec.NONE, producer_id, 0, base_sequence=0, is_transactional=is_transactional)
    for _ in range(count):
        builder.append(timestamp_ms, None, b"")
    return bytes(builder.build(offset))


def marker(offset, producer_id, kind=MarkerType.COMMIT):
    return bytes(build_marker(producer_id, 0, EndTransactionMarker(kind, 0), 2_000, offset))


def tracked(*written):
    is_open = {}
    for batch in batches(b"".join(written)):
        track(read_header(batch), PARTITION, is_open)
    return list(is_open.values())


def test_a_transaction_is_open_from_its_first_batch_to_its_marker():
    first = data(5, 1, 1_000)
    assert tracked(first, data(6, 1, 3_000), data(7, 1, 2_000)) == [OpenTransaction(PARTITION, 1, 0, 5, 1_000, 3_000)]
    assert tracked(first, marker(6, 1)) == tracked(first, marker(6, 1, MarkerType.ABORT)) == []
    assert [each.first_offset for each in tracked(first, marker(6, 1), data(7, 1))] == [7]


def test_transactions_of_several_producers():
    left = tracked(data(0, 1, count=3), data(3, 2), data(4, 3, is_transactional=False), marker(5, 1), data(6, 4))
    assert [(each.producer_id, each.first_offset) for each in left] == [(2, 3), (4, 6)]


def entry(transactional_id, status=TransactionStatus.Ongoing, producer_id=7, partitions=()):
    key, value = WireBuffer(struct.pack(">h", 0)), WireBuffer(struct.pack(">h", 0))
    TransactionLogKey(transactional_id).encode(0, key)
    topics = [PartitionsSchema(topic, list(indexes)) for topic, indexes in partitions] or None
    TransactionLogValue(producer_id, 1, 60_000, status, topics, 30, 20).encode(0, value)
    return Record(0, 0, bytes(key), bytes(value))


def test_the_newest_record_of_an_id_counts():
    states = {}
    replay([entry("a"), entry("b"), entry("a", TransactionStatus.PrepareCommit, 8, [("t", [1, 0])])], 4, states)
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert states["a"] == TransactionState("a", 4, 8, 1, 60_000, TransactionStatus.PrepareCommit, partitions, 30, 20)
    assert states["b"].partitions == []
    gone = entry("b")
    replay([Record(1, 0, gone.key, None)], 4, states)
    assert list(states) == ["a"]


def test_a_coordinator_ends_what_is_ongoing_or_decided():
    is_open = [each.name for each in TransactionStatus if each.is_open]
    assert is_open == ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"]


@pytest.mark.parametrize(
    "record",
    [
        Record(0, 0, None, b""),
        Record(0, 0, b"\0", b""),
        Record(0, 0, b"\0\0\0", b""),
        Record(0, 0, entry("a").key, b""),
        Record(0, 0, entry("a").key, b"\0\0\0"),
        Record(0, 0, entry("a").key, b"\0\1" + (entry("a").value or b"")[2:]),
        Record(0, 0, entry("a").key, (entry("a").value or b"").replace(b"\0\0\xea\x60\1", b"\0\0\xea\x60\x09")),
    ],
)
def test_what_is_no_record_of_the_log_is_said(record):
    with pytest.raises(ProtocolError):
        replay([record], 0, {})


def test_records_of_kinds_to_come_are_passed_over():
    states = {}
    replay([Record(0, 0, struct.pack(">h", 3) + b"anything", b"")], 0, states)
    assert states == {}


def offsets(stable, end):
    """The answer to ListOffsets of a partition that is unstable from an offset on."""

    def answer(request):
        offset = stable if request.isolation_level else end
        return ListOffsetsResponse(0, [ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(0, offset=offset)])])

    return answer


def fetched(*written):
    part = PartitionData(0, records=memoryview(b"".join(written)))
    return lambda request: FetchResponse(responses=[FetchableTopicResponse("t", [part])])


def only_t(request):
    """Metadata of a cluster that has never had a transactional id."""
    answer = metadata(request)
    answer.topics = [each for each in answer.topics if each.name == "t"]
    return answer


def test_a_transaction_that_ended_while_its_coordinator_was_asked_does_not_hang():
    begun = data(5, 1)
    broker = MemoryBroker(
        {
            ApiKey.LIST_OFFSETS: [*[offsets(5, 6)] * 2, offsets(5, 7)],
            ApiKey.FETCH: [fetched(begun), fetched(begun, marker(6, 1))],
            ApiKey.METADATA: only_t,
        }
    )

    async def use(pool):
        admin = TransactionAdmin(pool)
        found = await admin.open_transactions([PARTITION])
        assert [each.first_offset for each in found] == [5]
        assert await admin.uncoordinated(found) == []

    broker.run(use)


def test_what_stays_open_and_is_unknown_hangs():
    answers = {ApiKey.LIST_OFFSETS: offsets(5, 6), ApiKey.FETCH: fetched(data(5, 1)), ApiKey.METADATA: only_t}
    broker = MemoryBroker(answers)

    async def use(pool):
        admin = TransactionAdmin(pool)
        assert len(await admin.uncoordinated(await admin.open_transactions([PARTITION]))) == 1

    broker.run(use)


def test_a_user_who_may_not_see_the_transactional_ids_is_not_told_that_there_are_none():
    part = ListOffsetsPartitionResponse(0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    refusal = ListOffsetsResponse(0, [ListOffsetsTopicResponse(TRANSACTION_STATE_TOPIC, [part])])
    broker = MemoryBroker({ApiKey.METADATA: only_t, ApiKey.LIST_OFFSETS: lambda request: refusal})

    async def use(pool):
        with pytest.raises(KafkaError) as caught:
            await TransactionAdmin(pool).coordinated()
        assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED

    broker.run(use)


@pytest.mark.parametrize(
    ("status", "says"),
    [(TransactionStatus.Ongoing, "ends it after 60000 ms"), (TransactionStatus.PrepareCommit, "missing markers")],
)
def test_what_a_coordinator_knows_does_not_hang_and_ends_at_its_timeout_unless_it_is_decided(status, says):
    record = entry("pay", status, 1, [("t", [0])])
    builder = BatchBuilder()
    builder.append(0, record.key, record.value)
    part = PartitionData(0, records=memoryview(bytes(builder.build(0))))
    log = FetchResponse(responses=[FetchableTopicResponse(TRANSACTION_STATE_TOPIC, [part])])

    def bound(request):
        # -1 asks for the end, -2 for the beginning.
        offset = 2 + request.topics[0].partitions[0].timestamp
        found = [ListOffsetsPartitionResponse(0, offset=offset)]
        return ListOffsetsResponse(0, [ListOffsetsTopicResponse(TRANSACTION_STATE_TOPIC, found)])

    broker = MemoryBroker({ApiKey.METADATA: metadata, ApiKey.LIST_OFFSETS: bound, ApiKey.FETCH: lambda request: log})

    async def use(pool):
        with pytest.raises(BarnabasError) as caught:
            await TransactionAdmin(pool).check_hanging(OpenTransaction(PARTITION, 1, 0, 5, 0, 0))
        assert says in str(caught.value)

    broker.run(use)


def written(code):
    results = [WritableTxnMarkerTopicResult("t", [WritableTxnMarkerPartitionResult(0, code)])]
    return lambda request: WriteTxnMarkersResponse([WritableTxnMarkerResult(1, results)])


def metadata(request):
    part = MetadataResponsePartition(0, 0, 0, leader_epoch=3, replica_nodes=[0], isr_nodes=[0])
    names = ["t", TRANSACTION_STATE_TOPIC] if request.topics is None else [topic.name for topic in request.topics]
    topics = [MetadataResponseTopic(0, name, partitions=[part]) for name in names]
    return MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, topics)


@pytest.mark.parametrize(("accepted_from", "expected"), [(0, 0), (2, 2), (3, 3), (4, None)])
def test_the_marker_has_the_least_epoch_that_is_accepted_and_none_that_no_coordinator_has(accepted_from, expected):
    def write(request):
        is_fenced = request.markers[0].coordinator_epoch < accepted_from
        return written(ErrorCode.TRANSACTION_COORDINATOR_FENCED if is_fenced else 0)(request)

    broker = MemoryBroker({ApiKey.WRITE_TXN_MARKERS: write, ApiKey.METADATA: metadata})

    async def use(pool):
        admin, transaction = TransactionAdmin(pool), OpenTransaction(PARTITION, 1, 0, 5, 0, 0)
        if expected is not None:
            assert await admin.abort(transaction) == expected
            return
        with pytest.raises(KafkaError) as caught:
            await admin.abort(transaction)
        assert caught.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED

    broker.run(use)
    epochs = [request.markers[0].coordinator_epoch for request in broker.requests[ApiKey.WRITE_TXN_MARKERS]]
    assert epochs == list(range(min(accepted_from, 3) + 1))
    assert not any(request.markers[0].transaction_result for request in broker.requests[ApiKey.WRITE_TXN_MARKERS])
