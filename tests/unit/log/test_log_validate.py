"""What a client's batch must be."""

from struct import pack_into

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.log.validate import RecordRules, Refusal, read_client_batch, walk_records
from barnabas.records.batch import BatchHeader, Codec, set_crc
from barnabas.records.builder import BatchBuilder


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


RULES = RecordRules(1_000_000)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_passes(codec):
    data = batch(3, codec)
    header = read_client_batch(memoryview(data), RULES)
    assert isinstance(header, BatchHeader)
    assert header.record_count == 3


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
def test_refusals(data, error_code, is_before_log):
    refusal = read_client_batch(memoryview(bytes(data)), RULES)
    assert isinstance(refusal, Refusal)
    assert (refusal.error_code, refusal.is_before_log) == (error_code, is_before_log), refusal.reason


def test_a_large_batch_is_refused_before_its_crc_is_looked_at():
    data = patched(batch(), 17, ">I", 1, crc=False)
    refusal = read_client_batch(memoryview(data), RecordRules(len(data) - 1))
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_log_append_time_from_a_client_lists_every_record():
    refusal = read_client_batch(memoryview(patched(batch(), 21, ">h", 0x08)), RULES)

    assert [index for index, _ in refusal.record_errors] == [0, 1]
    assert "Producer should not set timestamp type to LogAppendTime" in refusal.record_errors[0][1]


def test_timestamps_too_far_from_now_are_listed():
    rules = RecordRules(1_000_000, timestamp_difference_max_ms=10)
    data = batch(3)
    header = read_client_batch(memoryview(data), rules)
    assert rules.walks_records
    assert walk_records(data, rules, now_ms=1010) == 1002
    refusal = walk_records(data, rules, now_ms=1012)

    assert refusal.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [0, 1]
    assert "Timestamp 1000 of message with offset 0 is out of range" in refusal.record_errors[0][1]
    assert header.max_timestamp_ms == 1002


def test_records_without_a_timestamp_are_never_too_far():
    builder = BatchBuilder()
    builder.append(-1, None, b"")
    assert walk_records(builder.build(), RecordRules(1000, timestamp_difference_max_ms=1), 10**12) == -1


def test_compacted_topics_want_keys():
    rules = RecordRules(1_000_000, is_compacted=True)
    builder = BatchBuilder()
    builder.append(1, b"key", b"")
    builder.append(1, None, b"")
    refusal = walk_records(builder.build(), rules, 0)

    assert refusal.error_code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in refusal.record_errors] == [1]


def test_the_walk_finds_damaged_records_behind_a_right_crc():
    data = batch(2)
    data[61] = 0x7E
    set_crc(data, 0, len(data))
    assert walk_records(data, RecordRules(1000, is_full=True), 0).error_code == ErrorCode.INVALID_RECORD
    refused = read_client_batch(memoryview(patched(data, 21, ">h", 0x08)), RULES)
    assert refused.error_code == ErrorCode.INVALID_RECORD


def test_a_wrong_largest_timestamp_is_put_right(env, open_partition_log):
    env.validates_records = True
    log = open_partition_log()
    log.append(memoryview(patched(batch(2), 35, ">q", 5)), 0)

    assert log.active_segment.max_timestamp_ms == 1001
