"""The walk over records: it finds what reading would find, and lists what breaks the topic's rules."""

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import HEADER, Codec, read_header
from barnabas.wire.records.builder import BatchBuilder, encode_varint
from barnabas.wire.records.compression import compress
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import read_payload
from barnabas.wire.records.record_rules import RecordRefusal, Walked, WalkRules
from barnabas.wire.records.walk import Scan, scan_payload, walk_batch

NOW_MS = 1_600_000_000_000


def sized(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


def record(delta: int, delta_ms: int = 0, key: bytes | None = b"k", value: bytes | None = b"v") -> bytes:
    body = b"\x00" + encode_varint(delta_ms) + encode_varint(delta)
    for data in (key, value):
        body += b"\x01" if data is None else sized(data)
    return sized(body + b"\x00")


def batch_with(payload: bytes, record_count: int, codec: Codec = Codec.NONE, base_timestamp_ms: int = NOW_MS) -> bytes:
    packed = compress(codec, payload)
    head = (0, 49 + len(packed), -1, 2, 0, codec, record_count - 1, base_timestamp_ms, 0, -1, -1, -1, record_count)
    return HEADER.pack(*head) + packed


def refusal(batch: bytes | bytearray, rules: WalkRules | None = None, max_bytes: int = 1 << 20) -> RecordRefusal:
    result = walk_batch(batch, rules or WalkRules(), NOW_MS, max_bytes=max_bytes)
    assert isinstance(result, RecordRefusal)
    return result


@pytest.mark.parametrize("codec", list(Codec))
def test_the_walk_says_what_the_records_come_to(codec: Codec) -> None:
    builder = BatchBuilder(codec)
    for number in range(300):
        builder.append(NOW_MS + number * 37 % 211, b"key", bytes(number * 10), [("h", None)] if number == 7 else ())
    largest_ms = max(NOW_MS + number * 37 % 211 for number in range(300))
    first = next(number for number in range(300) if NOW_MS + number * 37 % 211 == largest_ms)
    batch = builder.build()
    result = walk_batch(batch, WalkRules(1_000, is_compacted=True), NOW_MS)
    payload = read_payload(batch, read_header(batch))
    assert result == Walked(300, largest_ms, first, NOW_MS, is_numbered=True, has_headers=True, payload=payload)


def test_lengths_and_deltas_of_any_width_are_read() -> None:
    deltas_ms = [0, 64, -64, 8191, 8192, -8193, 1 << 40, -(1 << 61)]
    payload = b"".join(
        record(number, delta_ms, b"k" * (1 << number), b"v" * (3 << 2 * number))
        for number, delta_ms in enumerate(deltas_ms)
    )
    assert scan_payload(payload, 8) == Scan(-(1 << 61), 1 << 40, 6, True, False, False)
    many = b"".join(record(number) for number in range(20_000))
    assert scan_payload(many, 20_000).is_numbered


@pytest.mark.parametrize(
    "deltas", [[1], [0, 2], [0, 1, 1], [0, -1], [*range(64), 65], [*range(9_000), 8_999], [-20_000]]
)
def test_offset_deltas_with_gaps_are_refused_unless_they_are_written_anew(deltas: list[int]) -> None:
    batch = batch_with(b"".join(map(record, deltas)), len(deltas))
    assert refusal(batch).error_code == ErrorCode.INVALID_RECORD
    result = walk_batch(batch, WalkRules(), NOW_MS, is_rebuilt=True)
    assert isinstance(result, Walked)
    assert not result.is_numbered


def test_null_keys_and_values_of_any_width_are_told() -> None:
    null = b"\xff\xff\xff\xff\x0f"  # -(1 << 31), the longest way to say less than 0
    payload = sized(b"\x00\x00\x00" + null + b"\x81\x00" + b"\x00")
    assert scan_payload(payload, 1) == Scan(0, 0, 0, True, True, False)
    assert not scan_payload(record(0, value=None), 1).has_null_key


def test_records_that_break_rules_are_listed_by_index() -> None:
    rules = WalkRules(10, is_compacted=True, topic_partition="orders-3")
    payload = record(0, 11) + record(1, 11, None) + record(2) + record(3, -11) + record(4, -NOW_MS - 1)
    result = refusal(batch_with(payload, 5, Codec.ZSTD), rules)
    assert result.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in result.record_errors] == [0, 1, 3]
    assert result.record_errors[1][1] == (
        "Compacted topic cannot accept message without key in topic partition orders-3."
    )
    append_time_rules = WalkRules(10, is_create_time=False, is_compacted=True)
    result = refusal(batch_with(payload, 5), append_time_rules)
    assert (result.error_code, len(result.record_errors)) == (ErrorCode.INVALID_RECORD, 1)


def test_no_more_than_ten_thousand_records_are_listed() -> None:
    rules = WalkRules(is_compacted=True)
    payload = b"".join(record(number, key=None) for number in range(10_050))
    assert len(refusal(batch_with(payload, 10_050, Codec.GZIP), rules).record_errors) == 10_000
    messages = MessageSetBuilder(1, Codec.GZIP)
    for offset in range(10_050):
        messages.append(offset, NOW_MS, None, b"")
    assert len(refusal(messages.build(), rules).record_errors) == 10_000


def test_timestamps_beyond_64_bits_are_refused() -> None:
    for base_ms, delta_ms in (((1 << 63) - 1, 1), (-(1 << 63), -1)):
        batch = batch_with(record(0, delta_ms), 1, base_timestamp_ms=base_ms)
        assert "64 bits" in refusal(batch).reason


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_bombs_and_damage_are_refused(codec: Codec) -> None:
    bomb = batch_with(record(0, value=bytes(1 << 20)), 1, codec)
    assert refusal(bomb, max_bytes=1 << 16).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert refusal(batch_with(b"", 1)[:21] + b"\x00" + bytes((codec,)) + bomb[23:-9]).record_errors == ()
    if codec != Codec.ZSTD:
        messages = MessageSetBuilder(1, codec)
        messages.append(0, NOW_MS, None, bytes(1 << 20))
        assert refusal(messages.build(), max_bytes=1 << 16).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_emptied_batch_has_nothing_to_say() -> None:
    assert walk_batch(batch_with(b"", 0), WalkRules(), NOW_MS) == Walked(0, -1, -1, NOW_MS, True, False, b"")


def test_no_walk_is_needed_where_no_rule_looks_at_records() -> None:
    assert not WalkRules().need_a_walk
    assert not WalkRules(5, is_create_time=False).need_a_walk
    assert WalkRules(5).need_a_walk
    assert WalkRules(is_compacted=True).need_a_walk


GOOD = b"\x00\x00\x00\x02k\x02v\x00"


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x80",
        b"\x01" + GOOD,
        sized(GOOD)[:-1],
        sized(GOOD + b"\x00"),
        sized(GOOD) + b"\x00",
        sized(b""),
        sized(b"\x00\x00\x00\x10k\x02v\x00"),
        sized(b"\x00\x00\x00\x02k\x02v\x01"),
        sized(b"\x00\x00\x00\x02k\x02v\x04") + bytes(99),
        sized(b"\x00\x00\x00\x02k\x02v\x02\x01\x01"),
        sized(b"\x00\x00\x00\x02k\x02v\x02\x02h\x08v"),
        sized(b"\x00\x00" + b"\x80" * 5 + b"\x01\x01\x01\x00"),
        sized(b"\x00" + b"\x80" * 10 + b"\x01\x00\x01\x01\x00"),
    ],
)
def test_records_that_cannot_be_are_refused(payload: bytes) -> None:
    with pytest.raises(CorruptRecordsError):
        scan_payload(payload, 1)
    assert refusal(batch_with(payload, 1)).error_code == ErrorCode.INVALID_RECORD
