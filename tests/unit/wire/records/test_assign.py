"""What a leader makes of produced data: Kafka 2.7.2's answers for the same data, and what is ours alone."""

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.assign import AppendTarget, Assigned, assign_offsets, recompress
from barnabas.wire.records.batch import Codec, is_crc_valid, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import iterate_records, read_payload
from barnabas.wire.records.record_rules import RecordRefusal, WalkRules
from tests.unit.wire.records.java_vectors import MAX_BYTES, gathered, unpacked

CODECS = {"producer": None, "uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

# The differences from Kafka: see the modules assign and walk.
OUR_ANSWERS = {
    "deltas plain": (ErrorCode.INVALID_RECORD, "not 0, 1, 2"),
    "deltas gz": (ErrorCode.INVALID_RECORD, "not 0, 1, 2"),
    "cut gz": (ErrorCode.UNKNOWN_SERVER_ERROR, "cut short"),
    "txn to v1": (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "magic 1"),
}
# Kafka's Log does not come to the validator with these; it appends nothing, and says so without an error.
WITHOUT_A_BATCH = {"partial"}


def target_of(settings: str) -> tuple[AppendTarget, int]:
    magic, codec, timestamp_type, limit_ms, is_compacted, offset, epoch, now_ms = settings.split()
    rules = WalkRules(int(limit_ms), timestamp_type == "create", is_compacted == "true", "topic-0")
    return AppendTarget(int(magic), CODECS[codec], MAX_BYTES, int(offset), int(epoch), rules, MAX_BYTES), int(now_ms)


@pytest.mark.parametrize(("name", "settings", "data", "outcome", "answer"), gathered("produce", 4))
def test_data_is_assigned_as_kafka_does(name: str, settings: str, data: str, outcome: str, answer: list[str]) -> None:
    target, now_ms = target_of(settings)
    buffer = bytearray.fromhex(data)
    result = assign_offsets(buffer, target, now_ms)
    if name in OUR_ANSWERS:
        assert isinstance(result, RecordRefusal)
        assert result.error_code == OUR_ANSWERS[name][0]
        assert OUR_ANSWERS[name][1] in result.reason
        return
    if name in WITHOUT_A_BATCH:
        assert isinstance(result, Assigned)
        assert result.record_count == 0
        return
    if outcome == "error":
        code, _message, *errors = answer
        assert isinstance(result, RecordRefusal)
        assert result.error_code == int(code)
        assert [f"{index}:{reason}" for index, reason in result.record_errors] == errors
        assert buffer == bytes.fromhex(data)
        return
    assert isinstance(result, Assigned), result
    expected, max_timestamp, offset_of_max = answer
    assert unpacked(result.data) == unpacked(bytes.fromhex(expected))
    assert result.max_timestamp_ms == int(max_timestamp)
    assert result.offset_of_max_timestamp == int(offset_of_max)


def batch(record_count: int = 3, codec: Codec = Codec.NONE) -> bytearray:
    builder = BatchBuilder(codec)
    for number in range(record_count):
        builder.append(1000 + number, b"key", bytes(100))
    return builder.build()


def test_data_around_a_slice_is_left_alone() -> None:
    messages = MessageSetBuilder(1)
    for offset in range(3):
        messages.append(offset, 5, b"key", b"value")
    data = messages.build()
    buffer = bytearray(b"before" + data + b"after")
    result = assign_offsets(
        memoryview(buffer)[6 : 6 + len(data)], AppendTarget(1, None, MAX_BYTES, base_offset=70), now_ms=9
    )
    assert isinstance(result, Assigned)
    assert (len(result.data), result.record_count, result.last_offset) == (len(data), 3, 72)
    assert buffer.startswith(b"before")
    assert buffer.endswith(b"after")


def test_a_wrong_crc_is_refused_in_any_format() -> None:
    messages = MessageSetBuilder(0)
    messages.append(0, -1, b"key", b"value")
    for data in (messages.build(), batch()):
        data[-1] ^= 1
        result = assign_offsets(data, AppendTarget(2, None, MAX_BYTES, 0), 0)
        assert isinstance(result, RecordRefusal)
        assert (result.error_code, result.is_before_log) == (ErrorCode.CORRUPT_MESSAGE, True)


def test_a_batch_is_measured_before_and_after() -> None:
    packed = batch(50, Codec.ZSTD)
    for target in (AppendTarget(2, None, len(packed) - 1, 0), AppendTarget(2, 0, len(packed), 0)):
        result = assign_offsets(bytearray(packed), target, 0)
        assert isinstance(result, RecordRefusal)
        assert result.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_base_offset_is_refused() -> None:
    data = batch()
    data[7] = 1
    result = assign_offsets(data, AppendTarget(2, None, MAX_BYTES, 0), 0)
    assert isinstance(result, RecordRefusal)
    assert result.error_code == ErrorCode.INVALID_RECORD


def test_a_length_below_any_message_is_corrupt() -> None:
    result = assign_offsets(bytearray(40), AppendTarget(2, None, MAX_BYTES, 0), 0)
    assert isinstance(result, RecordRefusal)
    assert result.error_code == ErrorCode.CORRUPT_MESSAGE


def test_what_grows_beyond_the_bound_when_written_anew_is_refused() -> None:
    builder = BatchBuilder(Codec.GZIP)
    for _ in range(1_000):
        builder.append(0, None, None)
    target = AppendTarget(1, None, MAX_BYTES, 0, max_bytes=builder.uncompressed_bytes)
    result = assign_offsets(builder.build(), target, 0)
    assert isinstance(result, RecordRefusal)
    assert "more than" in result.reason


@pytest.mark.parametrize("codec", list(Codec))
def test_another_codec_changes_nothing_else(codec: Codec) -> None:
    source = batch(40, Codec.LZ4)
    header = read_header(source)
    result = recompress(source, read_payload(source, header), codec)
    assert list(iterate_records(result)) == list(iterate_records(source))
    assert is_crc_valid(result, 0, len(result))
    assert read_header(result).codec == codec
