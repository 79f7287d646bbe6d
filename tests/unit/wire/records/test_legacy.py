"""Message sets: what Java wrote is read, and what we write is what Java writes."""

import gzip
import struct
from functools import partial
from zlib import crc32

import cramjam
import pytest
from kafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from lz4 import frame

from barnabas.wire.records.batch import Codec
from barnabas.wire.records.compression import compress, old_lz4
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records, read_any_header
from barnabas.wire.records.legacy import (
    base_offset,
    is_message_crc_valid,
    iterate_messages,
    read_message_header,
    set_offset,
    set_timestamp,
)
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import Record
from tests.unit.wire.records.java_vectors import gathered, unpacked

CODECS = {"none": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4}
APPEND_TIME_MS = 1_700_000_000_000
# Without the time of day, which would get into the names of tests: all workers must find the same.
gzipped = partial(gzip.compress, mtime=0)


def message(
    magic: int, offset: int, value: bytes | None, attributes: int = 0, timestamp_ms: int = 5, key: bytes | None = None
) -> bytes:
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp_ms) if magic else b"")
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def record_text(record: Record) -> str:
    key = "-" if record.key is None else "k" + record.key.hex()
    value = "-" if record.value is None else "v" + record.value.hex()
    return f"{record.offset},{record.timestamp_ms},{key},{value}"


@pytest.mark.parametrize(("name", "data", "records"), gathered("message-sets", 2))
def test_java_sets_are_read_and_written(name: str, data: str, records: list[str]) -> None:
    magic, codec, timestamp_type, first_offset = name.split()
    written = bytes.fromhex(data)
    builder = MessageSetBuilder(int(magic[1]), CODECS[codec], APPEND_TIME_MS if timestamp_type == "append" else None)
    found: list[str] = []
    for part in batches_of_any_magic(written):
        assert is_message_crc_valid(part, 0, len(part))
        assert base_offset(part) == int(first_offset) + len(found)
        for record in iterate_any_records(part):
            found.append(record_text(record))
            builder.append(record.offset, record.timestamp_ms, record.key, record.value)
    assert found == records
    ours = builder.build()
    assert unpacked(ours) == unpacked(written)
    if codec == "none":
        assert ours == written


def test_lz4_header_checksums_are_javas() -> None:
    assert old_lz4.compress(b"data")[:7] == bytes.fromhex("04224d1860401a")
    assert compress(Codec.LZ4, b"data")[:7] == bytes.fromhex("04224d18604082")


@pytest.mark.parametrize("flags", [0x60, 0x68, 0x64])
def test_magic_0_takes_any_lz4_header_checksum_and_magic_1_only_the_right_one(flags: int) -> None:
    packed = bytearray(frame.compress(b"data" * 50, block_linked=False, store_size=flags == 0x68,
                                      content_checksum=flags == 0x64))  # fmt: skip
    assert packed[4] == flags
    position = 14 if flags == 0x68 else 6
    for checksum in (packed[position], 0, 255):
        packed[position] = checksum
        assert old_lz4.decompress(packed, 1_000) == b"data" * 50
    inner = message(1, 0, b"value")
    wrapped = bytearray(compress(Codec.LZ4, inner))
    wrapped[6] ^= 1
    with pytest.raises(CorruptRecordsError, match="lz4"):
        list(iterate_messages(message(1, 0, bytes(wrapped), Codec.LZ4)))


@pytest.mark.parametrize("data", [b"", b"\x04\x22\x4d\x18", b"\x04\x22\x4d\x18\x68\x40\x00", b"else entirely"])
def test_old_lz4_frames_cut_short_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptRecordsError):
        old_lz4.decompress(data, 100)


@pytest.mark.parametrize("magic", [0, 1])
def test_both_snappy_framings_are_read(magic: int) -> None:
    inner = message(magic, 0, b"value")
    for value in (compress(Codec.SNAPPY, inner), bytes(cramjam.snappy.compress_raw(inner))):
        records = list(iterate_messages(message(magic, 0, value, Codec.SNAPPY)))
        assert [record.value for record in records] == [b"value"]


def test_inner_offsets_are_absolute_in_magic_0_and_relative_in_magic_1() -> None:
    def offsets(magic: int, wrapper_offset: int, inner_offsets: list[int]) -> list[int]:
        value = gzip.compress(b"".join(message(magic, offset, b"") for offset in inner_offsets))
        return [record.offset for record in iterate_messages(message(magic, wrapper_offset, value, Codec.GZIP))]

    assert offsets(0, 51, [32, 40, 51]) == [32, 40, 51]
    assert offsets(1, 51, [0, 1, 2]) == [49, 50, 51]
    assert offsets(1, 51, [0, 5, 9]) == [42, 47, 51]
    # librdkafka once left it at 0.
    assert offsets(1, 0, [0, 1, 2]) == [0, 1, 2]
    with pytest.raises(CorruptRecordsError, match="message 2"):
        offsets(1, 1, [0, 1, 2])


def test_append_time_of_a_wrapper_is_that_of_its_messages() -> None:
    value = gzip.compress(message(1, 0, b"", timestamp_ms=7) + message(0, 1, b""))
    records = list(iterate_messages(message(1, 1, value, Codec.GZIP | 8, 99)))
    assert [record.timestamp_ms for record in records] == [99, -1]


def test_an_inner_message_cut_short_is_left_out() -> None:
    value = gzip.compress(message(1, 0, b"one") + message(1, 1, b"two")[:-1])
    assert [record.value for record in iterate_messages(message(1, 0, value, Codec.GZIP))] == [b"one"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message(1, 0, None, Codec.GZIP), "no value"),
        (message(1, 0, gzipped(b""), Codec.GZIP), "holds no message"),
        (message(1, 0, gzipped(bytes(11)), Codec.GZIP), "holds no message"),
        (message(1, 0, gzipped(bytes(12)), Codec.GZIP), "of 0 bytes"),
        (message(1, 0, gzipped(message(1, 0, b"", Codec.GZIP)), Codec.GZIP), "compressed, too"),
        (message(1, 0, gzipped(message(2, 0, b"")), Codec.GZIP), "magic 2"),
        (message(1, 0, b"", Codec.ZSTD), "codec 4"),
        (message(0, 0, b"", 7), "codec 7"),
        (message(1, 0, b"damaged", Codec.GZIP), "gzip"),
        (message(1, 0, b"value")[:-1], "in a buffer of"),
        (message(1, 0, b"value")[:20], "too few for a message"),
        (b"", "too few for a message"),
        (struct.pack(">qiIbb", 0, 6, 0, 0, 0), "in a buffer of"),
        (struct.pack(">qiIbbi", 0, 14, 0, 0, 0, 1000) + bytes(4), "1000 bytes in a message"),
        (struct.pack(">qiIbbi", 0, 14, 0, 0, 0, 4) + bytes(4), "ends before"),
        (struct.pack(">qiIbbq", 0, 14, 0, 1, 0, 0) + bytes(4), "ends before"),
    ],
)
def test_damaged_messages_are_corrupt(data: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordsError, match=reason):
        list(iterate_messages(data))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_bomb_is_refused(magic: int, codec: Codec) -> None:
    builder = MessageSetBuilder(magic, codec)
    builder.append(0, 0, None, bytes(1 << 20))
    with pytest.raises(CorruptRecordsError, match="more than"):
        list(iterate_messages(builder.build(), 1 << 19))


def test_messages_are_patched_in_place() -> None:
    data = bytearray(message(1, 3, b"value", key=b"key"))
    set_offset(data, 0, 1 << 40)
    set_timestamp(data, 0, len(data), 77, is_log_append_time=True)
    assert is_message_crc_valid(data, 0, len(data))
    header = read_message_header(data)
    assert (header.last_offset, header.max_timestamp_ms, header.is_log_append_time) == (1 << 40, 77, True)
    set_timestamp(data, 0, len(data), 5, is_log_append_time=False)
    assert data[8:] == message(1, 3, b"value", key=b"key")[8:]


def test_a_message_answers_as_a_batch_would() -> None:
    header = read_any_header(message(0, 9, b""))
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.leader_epoch) == (-1, -1, -1, -1)
    assert (header.has_producer_id, header.is_control, header.is_transactional) == (False, False, False)
    assert (header.last_offset, header.size_in_bytes, header.max_timestamp_ms) == (9, 26, -1)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_kafka_python_and_we_understand_each_other(magic: int, codec: Codec) -> None:
    theirs = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    ours = MessageSetBuilder(magic, codec)
    for offset in range(5):
        key, value = (None if offset == 2 else b"key"), b"value %d" % offset
        theirs.append(offset, 1000 + offset, key, value)
        ours.append(offset, 1000 + offset, key, value)
    their_set = bytearray(theirs.build())
    if codec:
        # They leave the wrapper's offset and timestamp to the broker.
        set_offset(their_set, 0, 4)
        if magic:
            set_timestamp(their_set, 0, len(their_set), 1004, is_log_append_time=False)
    assert unpacked(ours.build()) == unpacked(their_set)
    read: list[tuple[int, int | None, bytes | None, bytes | None]] = []
    for part in batches_of_any_magic(ours.build()):
        batch = LegacyRecordBatch(bytes(part), magic)
        assert batch.validate_crc()
        read += [(record.offset, record.timestamp, record.key, record.value) for record in batch]
    timestamps = [None if magic == 0 else 1000 + offset for offset in range(5)]
    assert [entry[1] for entry in read] == timestamps
    assert [entry[3] for entry in read] == [b"value %d" % offset for offset in range(5)]


def test_builders_refuse_what_no_set_can_hold() -> None:
    for magic, codec in ((2, Codec.NONE), (1, Codec.ZSTD)):
        with pytest.raises(ValueError, match="no message set"):
            MessageSetBuilder(magic, codec)
    builder = MessageSetBuilder(1, max_bytes=100)
    with pytest.raises(ValueError, match="needs a record"):
        builder.build()
    builder.append(5, 0, None, None)
    with pytest.raises(ValueError, match="after 5"):
        builder.append(5, 0, None, None)
    with pytest.raises(CorruptRecordsError, match="64 bits"):
        builder.append(6, 1 << 63, None, None)
    with pytest.raises(CorruptRecordsError, match="more than 100"):
        builder.append(6, 0, None, bytes(80))
