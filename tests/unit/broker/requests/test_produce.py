"""Produce over real logs: every refusal and what the answer says with it."""

import pytest

from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import produce
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ProtocolError, UnanswerableError
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from tests.unit.broker.requests.conftest import batch, produce_request

NEWEST = 8


@pytest.fixture
def path(data_path):
    data_path.create("t")
    return data_path


def answer(error_code, base_offset=-1, append_time_ms=-1, log_start_offset=-1):
    return error_code, base_offset, append_time_ms, log_start_offset


def said(response):
    return answer(response.error_code, response.base_offset, response.log_append_time_ms, response.log_start_offset)


def test_offsets_go_on(path):
    assert said(path.produce("t", batch(2))) == answer(0, 0, -1, 0)
    assert said(path.produce("t", batch(3))) == answer(0, 2, -1, 0)
    assert path.log("t").log_end_offset == 5


@pytest.mark.parametrize("version", range(produce.HANDLER.min_version, produce.HANDLER.max_version + 1))
@pytest.mark.parametrize("acks", [1, -1])
def test_every_version_appends(path, version, acks):
    response = path.produce("t", batch(2), version, acks=acks)
    assert (response.error_code, response.base_offset) == (0, 0)


def test_log_append_time_is_told(path):
    path.create("u", message_timestamp_type="LogAppendTime")
    assert said(path.produce("u", batch())) == answer(0, 0, path.clock.now_ms(), 0)


def test_several_partitions_have_an_answer_each(path):
    path.create("u")
    request = produce_request({"t": batch(), "u": batch(2)})
    request.topic_data[0].partition_data.append(PartitionProduceData(5, bytes(batch())))
    first, second = path.call(produce.HANDLER, NEWEST, request).responses
    assert [(each.index, each.error_code) for each in first.partition_responses] == [
        (0, ErrorCode.NONE),
        (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert second.name == "u"
    assert path.log("u").log_end_offset == 2


def test_a_partition_that_is_named_twice_gets_the_later_records_and_one_answer(path):
    path.create("u")

    def data(topic, *records):
        return TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(each)) for each in records])

    request = ProduceRequest(None, 1, 1_000, [data("t", batch(1), batch(2)), data("u", batch(1)), data("t", batch(3))])
    answered = path.call(produce.HANDLER, NEWEST, request).responses

    assert [(topic.name, len(topic.partition_responses)) for topic in answered] == [("t", 1), ("u", 1)]
    assert (path.log("t").log_end_offset, path.log("u").log_end_offset) == (3, 1)
    twice = ProduceRequest(None, 1, 1_000, [data("t", batch(1), batch(2))])
    assert len(path.call(produce.HANDLER, NEWEST, twice).responses[0].partition_responses) == 1
    assert path.log("t").log_end_offset == 5


# --- refusals, in the order of the checks


def test_unknown_topics_are_refused(path):
    assert said(path.produce("unknown", batch())) == answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_other_acks_are_refused(path, acks):
    assert said(path.produce("t", batch(), acks=acks)) == answer(ErrorCode.INVALID_REQUIRED_ACKS)
    assert path.log("t").log_end_offset == 0


@pytest.mark.parametrize(
    ("topic", "acks", "error_code"),
    [
        ("elsewhere", 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("elsewhere", 2, ErrorCode.INVALID_REQUIRED_ACKS),
        ("__consumer_offsets", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("unknown", 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_errors_of_the_topic_precede_the_lack_of_a_replica(path, topic, acks, error_code):
    path.led_elsewhere("elsewhere", "__consumer_offsets")
    assert said(path.produce(topic, batch(), acks=acks)) == answer(error_code)


@pytest.mark.parametrize(("version", "error_code"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)])
def test_zstd_needs_version_7(path, version, error_code):
    assert path.produce("t", batch(codec=Codec.ZSTD), version).error_code == error_code


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_clients_dont_write_internal_topics(path, topic):
    path.create(topic)
    assert said(path.produce(topic, batch())) == answer(ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_the_admin_client_may_write_internal_topics(path):
    path.create("__consumer_offsets")
    data = [TopicProduceData("__consumer_offsets", [PartitionProduceData(0, memoryview(batch()))])]
    request = ProduceRequest(None, 1, 1_000, data)
    context = RequestContext(path.services, ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT"), "__admin_client", NEWEST, 1)
    (answered,) = produce.produce(context, request).responses
    assert answered.partition_responses[0].error_code == ErrorCode.NONE


def test_who_does_not_lead_refuses(path):
    path.partition("t").resign(leader=2, leader_epoch=5)
    assert said(path.produce("t", batch())) == answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize(("acks", "error_code"), [(-1, ErrorCode.NOT_ENOUGH_REPLICAS), (1, ErrorCode.NONE)])
def test_acks_of_all_need_enough_in_sync_replicas(path, acks, error_code):
    path.create("u", min_insync_replicas=2)
    response = path.produce("u", batch(), acks=acks)
    assert (response.error_code, response.log_start_offset) == (error_code, 0)
    assert path.log("u").log_end_offset == (1 if error_code is ErrorCode.NONE else 0)


def let_time_out(path):
    path.clock.advance(1_000)


def shrink_isr(path):
    path.partition("u").min_insync_replicas = 2
    path.leadership("u", 1, (1, 2), (1,))


def resign(path):
    path.leadership("u", 2, (1, 2))


@pytest.mark.parametrize(
    ("interrupt", "error_code"),
    [
        (let_time_out, ErrorCode.REQUEST_TIMED_OUT),
        (shrink_isr, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        (resign, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_an_error_after_the_append_has_its_offset_time_and_log_start(path, interrupt, error_code):
    path.create("u", message_timestamp_type="LogAppendTime")
    path.produce("u", batch(3))
    path.partition("u").delete_records(1)
    path.leadership("u", 1, (1, 2))
    appended_ms = path.clock.now_ms()
    begun = path.begin(produce.HANDLER, NEWEST, produce_request({"u": batch(2)}, acks=-1))
    interrupt(path)
    (topic,) = path.finish(produce.HANDLER, NEWEST, begun).responses
    assert said(topic.partition_responses[0]) == answer(error_code, 3, appended_ms, 1)


def changed(position, *values):
    made = batch()
    made[position : position + len(values)] = bytes(values)
    return made


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(batch() + batch(), answer(ErrorCode.INVALID_RECORD), id="two-batches"),
        pytest.param(changed(16, 1), answer(ErrorCode.INVALID_RECORD), id="magic-1"),
        pytest.param(changed(7, 1), answer(ErrorCode.INVALID_RECORD, log_start_offset=0), id="base-offset"),
        pytest.param(changed(20, 0xFF), answer(ErrorCode.CORRUPT_MESSAGE), id="crc"),
        pytest.param(changed(8, 0, 0, 0, 5), answer(ErrorCode.CORRUPT_MESSAGE), id="length"),
        pytest.param(batch(value=b"x" * 2_000_000), answer(ErrorCode.MESSAGE_TOO_LARGE), id="too-large"),
        pytest.param(
            batch(is_control=True, producer_id=1, producer_epoch=0, base_sequence=0),
            answer(ErrorCode.INVALID_RECORD, log_start_offset=0),
            id="control",
        ),
        pytest.param(
            batch(producer_id=1, producer_epoch=0, base_sequence=-1),
            answer(ErrorCode.INVALID_RECORD, log_start_offset=0),
            id="no-sequence",
        ),
    ],
)
def test_bad_batches_are_refused(path, records, expected):
    response = path.produce("t", records)
    assert said(response) == expected
    assert (response.record_errors, response.error_message) == ([], None)
    assert path.log("t").log_end_offset == 0


def test_records_too_far_from_now_are_listed(path):
    path.create("u", message_timestamp_difference_max_ms=1_000)
    response = path.produce("u", batch(timestamp_ms=path.clock.now_ms() - 1_001))
    assert said(response) == answer(ErrorCode.INVALID_TIMESTAMP, log_start_offset=0)
    assert [each.batch_index for each in response.record_errors] == [0]
    assert "out of range" in response.record_errors[0].batch_index_error_message
    assert response.error_message is not None
    older = path.produce("u", batch(timestamp_ms=path.clock.now_ms() - 1_001), 7)
    assert older.error_code == ErrorCode.INVALID_TIMESTAMP


# --- idempotent producers


def test_a_repeated_batch_is_answered_as_the_first_time(path):
    sent = batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
    path.produce("t", batch())
    assert said(path.produce("t", sent)) == answer(0, 1, -1, 0)
    # The append time of a repeat is its largest timestamp.
    assert said(path.produce("t", sent)) == answer(0, 1, 1_600_000_000_000, 0)
    assert path.log("t").log_end_offset == 3


# --- no acks, no records, no disk


def without_acks(path, records, topic="t"):
    return path.begin(produce.HANDLER, NEWEST, produce_request({topic: records}, acks=0))


def test_without_acks_there_is_no_answer(path):
    assert without_acks(path, batch(2)) is None
    assert path.log("t").log_end_offset == 2


def test_without_acks_an_error_costs_the_connection(path):
    with pytest.raises(UnanswerableError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        without_acks(path, batch(), "unknown")
    with pytest.raises(UnanswerableError, match="CORRUPT_MESSAGE"):
        without_acks(path, changed(20, 0xFF))


@pytest.mark.parametrize("records", [None, b""])
def test_a_request_without_records_costs_the_connection(path, records):
    request = ProduceRequest(None, 1, 1_000, [TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])])
    with pytest.raises(ProtocolError):
        path.begin(produce.HANDLER, NEWEST, request)


def test_a_request_that_lacks_records_somewhere_appends_nothing_anywhere(path):
    partitions = [PartitionProduceData(0, memoryview(batch(2))), PartitionProduceData(1, None)]
    request = ProduceRequest(None, 1, 1_000, [TopicProduceData("t", partition_data=partitions)])
    with pytest.raises(ProtocolError):
        path.begin(produce.HANDLER, NEWEST, request)
    assert path.log("t").log_end_offset == 0


def test_an_empty_request_is_answered_at_once(path):
    assert path.call(produce.HANDLER, NEWEST, ProduceRequest(None, -1, 1_000, [])).responses == []


def test_a_full_disk_is_an_error_of_the_partition_and_ends_the_broker(path):
    path.produce("t", batch(2))
    path.disk.free_bytes = 10
    assert said(path.produce("t", batch(5))) == answer(ErrorCode.KAFKA_STORAGE_ERROR)
    assert [type(error).__name__ for error in path.errors] == ["StorageError"]
    assert path.log("t").log_end_offset == 2
    path.disk.free_bytes = None
    assert said(path.produce("t", batch())) == answer(0, 2, -1, 0)


@pytest.mark.parametrize("version", [3, 8])
def test_who_waits_for_a_flush_that_fails_is_told(path, version):
    path.create("u", flush_messages=2)
    path.create("v")
    assert path.produce("u", batch(), version).error_code == 0
    path.disk.fails_to_sync = True
    answers = path.call(produce.HANDLER, version, produce_request(dict.fromkeys(("u", "v"), batch()))).responses
    unflushed, other = (each.partition_responses[0] for each in answers)
    wanted = ErrorCode.KAFKA_STORAGE_ERROR if version > 3 else ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (unflushed.error_code, unflushed.base_offset, unflushed.log_start_offset) == (wanted, -1, -1)
    assert (other.error_code, other.base_offset) == (0, 0)
    assert path.errors


def test_flush_messages_answers_once_it_is_on_disk(path):
    path.create("u", flush_messages=1)
    before = path.disk.sync_count
    assert path.produce("u", batch()).error_code == 0
    assert path.disk.sync_count > before
    assert path.log("u").recovery_point == 1
