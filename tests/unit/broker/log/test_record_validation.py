"""What a client's records must be, and what is made ready at once."""

from struct import pack_into

import pytest

from barnabas.broker.log.appends.prepared_batches import ClientBatch
from barnabas.broker.log.appends.record_validation import prepare, prepare_own
from barnabas.broker.log.appends.rules import AppendRules
from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.record_rules import RecordRefusal


def batch(count=2, codec=Codec.NONE, **producer) -> bytearray:
    builder = BatchBuilder(codec, **producer)
    for index in range(count):
        builder.append(1000 + index, b"key", b"value")
    return builder.build()


def patched(data, position, layout, value, crc=True) -> bytearray:
    pack_into(layout, data, position, value)
    if crc:
        set_crc(data, 0, len(data))
    return data


@pytest.fixture
def prepare_client(topic_config):
    def prepared(data, most_bytes=1_000_000):
        rules = AppendRules(topic_config(max_message_bytes=most_bytes), "t-0", validates_records=False, has_zstd=True)
        return prepare(memoryview(data), rules, 0, lambda: 0)

    return prepared


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_passes(prepare_client, codec):
    data = batch(3, codec)
    prepared = prepare_client(data)
    assert isinstance(prepared, ClientBatch)
    assert (prepared.data, prepared.last_offset_delta, prepared.max_timestamp_ms) == (data, 2, 1002)


@pytest.mark.parametrize(
    ("data", "error_code", "is_before_log"),
    [
        (b"", ErrorCode.INVALID_RECORD, True),
        (bytes(batch())[:50], ErrorCode.INVALID_RECORD, True),
        (bytes(batch())[:-1], ErrorCode.INVALID_RECORD, True),
        (bytes(batch()) + bytes(batch()), ErrorCode.INVALID_RECORD, True),
        (bytes(batch()) + bytes(8) + b"\0\0\0\1" + bytes(20), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 16, ">b", 1), ErrorCode.INVALID_RECORD, True),
        (patched(batch(), 16, ">b", 3), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 16, ">b", -1), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 8, ">i", 13), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 8, ">i", -5), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 8, ">i", 40, crc=False)[:52] + bytes(20), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 0, ">q", 1), ErrorCode.INVALID_RECORD, False),
        (patched(batch(), 17, ">I", 1, crc=False), ErrorCode.CORRUPT_MESSAGE, True),
        (patched(batch(), 23, ">i", 7), ErrorCode.INVALID_RECORD, False),
        (patched(batch(), 57, ">i", 1), ErrorCode.INVALID_RECORD, False),
        (patched(patched(batch(), 57, ">i", 0), 23, ">i", -1), ErrorCode.INVALID_RECORD, False),
        (patched(batch(), 21, ">h", 0x20), ErrorCode.INVALID_RECORD, False),
        (patched(batch(), 21, ">h", 0x08), ErrorCode.INVALID_TIMESTAMP, False),
        (patched(batch(), 21, ">h", 0x05), ErrorCode.UNKNOWN_SERVER_ERROR, True),
        (batch(producer_id=5, producer_epoch=0), ErrorCode.INVALID_RECORD, False),
    ],
)
def test_refusals(prepare_client, data, error_code, is_before_log):
    refusal = prepare_client(bytes(data))
    assert isinstance(refusal, RecordRefusal)
    assert (refusal.error_code, refusal.is_before_log) == (error_code, is_before_log), refusal.reason


def test_a_large_batch_is_refused_before_its_crc_is_looked_at(prepare_client):
    data = patched(batch(), 17, ">I", 1, crc=False)
    refusal = prepare_client(data, len(data) - 1)
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_log_append_time_from_a_client_lists_every_record(prepare_client):
    refusal = prepare_client(patched(batch(), 21, ">h", 0x08))

    assert [index for index, _ in refusal.record_errors] == [0, 1]
    assert "Producer should not set timestamp type to LogAppendTime" in refusal.record_errors[0][1]


def test_log_append_time_is_refused_in_a_batch_that_is_no_batch(prepare_client):
    data = batch(2)
    data[61] = 0x7E
    set_crc(data, 0, len(data))
    refused = prepare_client(patched(data, 21, ">h", 0x08))
    assert refused.error_code == ErrorCode.INVALID_RECORD


class TestWhereRecordsAreWalked:
    """The rules themselves are tested with the walk; here is that a log asks for it, and what it answers."""

    def test_timestamps_too_far_from_now_are_listed(self, open_partition_log, clock):
        log = open_partition_log(message_timestamp_difference_max_ms=10)
        clock_ms = clock.now_ms()
        builder = BatchBuilder()
        for delta_ms in (-11, -10, 10, 11):
            builder.append(clock_ms + delta_ms, b"k", b"v")
        result = log.append(memoryview(builder.build()), 0)

        assert result.error_code == ErrorCode.INVALID_TIMESTAMP
        assert [index for index, _ in result.record_errors] == [0, 3]
        assert result.message == "One or more records have been rejected due to invalid timestamp"
        assert f"Timestamp {clock_ms - 11} of message with offset 0 is out of range" in result.record_errors[0][1]
        assert (result.base_offset, result.log_start_offset, log.log_end_offset) == (-1, 0, 0)

    def test_records_without_a_timestamp_are_never_too_far(self, open_partition_log):
        log = open_partition_log(message_timestamp_difference_max_ms=10)
        builder = BatchBuilder()
        builder.append(-1, None, b"")
        assert log.append(memoryview(builder.build()), 0).error_code == ErrorCode.NONE
        assert log.active_segment.max_timestamp_ms == -1

    def test_compacted_topics_want_keys(self, open_partition_log):
        log = open_partition_log(cleanup_policy="compact")
        builder = BatchBuilder()
        builder.append(1, b"key", b"")
        builder.append(1, None, b"")
        result = log.append(memoryview(builder.build()), 0)

        assert result.error_code == ErrorCode.INVALID_RECORD
        assert [index for index, _ in result.record_errors] == [1]
        assert result.message == "One or more records have been rejected"

    def test_full_validation_finds_damaged_records_behind_a_right_crc(self, env, open_partition_log):
        data = batch(2)
        data[61] = 0x7E
        set_crc(data, 0, len(data))
        assert open_partition_log().append(memoryview(bytearray(data)), 0).error_code == ErrorCode.NONE
        env.validates_records = True
        result = open_partition_log().append(memoryview(data), 0)
        assert (result.error_code, result.message, result.log_start_offset) == (ErrorCode.INVALID_RECORD, None, 0)


# A timestamp below the first record's cannot be the largest, so it is put right without `validates_records` as well:
# Sarama before 1.45.1 sends -1.
@pytest.mark.parametrize(("validates", "sent"), [(True, 5), (True, 2000), (False, -1), (False, 999)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_wrong_largest_timestamp_is_put_right(env, open_partition_log, validates, sent, codec):
    env.validates_records = validates
    log = open_partition_log()
    data = patched(batch(2, codec, producer_id=9, producer_epoch=0, base_sequence=0), 35, ">q", sent)
    log.append(memoryview(data), 0)

    assert log.active_segment.max_timestamp_ms == 1001
    assert log.producers.get(9).last_timestamp_ms == 1001


IN_A_TRANSACTION = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
MARKER = build_marker(7, 0, EndTransactionMarker(MarkerType.COMMIT, 0), 0)


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize(
    ("data", "most_bytes", "is_refused"),
    [
        (batch(), len(batch()), False),
        (batch(), len(batch()) - 1, True),
        (batch(**IN_A_TRANSACTION), len(batch()), False),
        (batch(**IN_A_TRANSACTION), len(batch()) - 1, True),
        # The limit applies to each of several batches.
        (batch(2) + batch(3), len(batch(3)), False),
        (batch(2) + batch(3), len(batch(3)) - 1, True),
        (MARKER, 1, False),
        (MARKER + batch(), len(batch()) - 1, True),
    ],
)
def test_own_batches_keep_to_the_size_limit_except_markers(topic_config, data, most_bytes, is_refused, timestamp_type):
    config = topic_config(max_message_bytes=most_bytes, message_timestamp_type=timestamp_type)
    rules = AppendRules(config, "t-0", validates_records=False, has_zstd=True)
    own = bytearray(data)
    prepared = prepare_own(memoryview(own), rules, lambda: 5)
    assert isinstance(prepared, RecordRefusal) == is_refused
    if is_refused:
        assert prepared.error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert own == data
