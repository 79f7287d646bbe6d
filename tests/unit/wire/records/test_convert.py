"""Conversion down: Kafka 2.7.2's output for the same batches, one batch at a time."""

from collections.abc import Iterator

import pytest

from barnabas.wire.records.batch import HEADER, Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.convert import down_convert, overflow_message, write_batch, write_messages
from barnabas.wire.records.errors import CorruptRecordsError, UnsupportedCodecError
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records, read_any_header
from barnabas.wire.records.record import Record
from tests.unit.wire.records.java_vectors import MAX_BYTES, gathered, unpacked


@pytest.mark.parametrize(("name", "settings", "data", "outcome", "answer"), gathered("down", 4))
def test_batches_are_converted_down_as_kafka_does(name: str, settings: str, data: str, outcome: str, answer: list[str]):
    to_magic, first_offset = map(int, settings.split())
    converted = down_convert(batches_of_any_magic(bytes.fromhex(data)), to_magic, first_offset, MAX_BYTES)
    if outcome == "error":
        assert int(answer[0]) == 76
        with pytest.raises(UnsupportedCodecError):
            list(converted)
        return
    result = b"".join(converted)
    expected = bytes.fromhex(answer[0]) if answer else b""
    assert unpacked(result) == unpacked(expected)
    if "none" in name:
        assert result == expected


def test_batches_are_taken_one_by_one() -> None:
    taken: list[int] = []

    def batches() -> Iterator[bytearray]:
        for number in range(3):
            taken.append(number)
            builder = BatchBuilder(Codec.LZ4)
            builder.append(0, None, b"value")
            yield builder.build(number)

    converted = down_convert(batches(), 1, 0)
    next(converted)
    assert taken == [0]


def test_what_is_damaged_or_too_large_is_corrupt() -> None:
    builder = BatchBuilder(Codec.GZIP)
    for _ in range(1_000):
        builder.append(0, None, None)
    size = builder.uncompressed_bytes
    with pytest.raises(CorruptRecordsError, match="more than"):
        list(down_convert([builder.build()], 1, 0, max_bytes=size))
    payload = b"\x10\x00\x00\x00\x02k\x02v\x00"
    for fields, count in (((5, 0), 1), ((0, 1 << 62), 2)):
        # An unknown codec, and two records of one offset.
        batch = bytearray(
            HEADER.pack(fields[1], 49 + len(payload) * count, 0, 2, 0, fields[0], 0, 0, 0, -1, -1, -1, count)
        )
        batch += payload * count
        set_crc(batch, 0, len(batch))
        with pytest.raises(CorruptRecordsError):
            list(down_convert([batch], 1, 0))


def test_an_overflow_message_reads_as_one_that_was_cut_short() -> None:
    for remaining_bytes in (0, 5, 12, 60, 61, 500):
        filler = overflow_message(remaining_bytes)
        assert len(filler) == remaining_bytes
        assert list(batches_of_any_magic(filler)) == []


def test_records_written_anew_are_numbered_without_gaps() -> None:
    records = [Record(5, 1000, b"key", b"value", (("h", b"x"),)), Record(9, 999, None, None)]
    for written in (
        write_batch(iter(records), Codec.ZSTD, 70),
        write_messages(iter(records), 1, Codec.LZ4, 70),
        write_messages(iter(records), 0, Codec.GZIP, 70),
    ):
        magic = read_any_header(written.data).magic
        assert list(iterate_any_records(written.data)) == [
            Record(70, 1000 if magic else -1, b"key", b"value", (("h", b"x"),) if magic == 2 else ()),
            Record(71, 999 if magic else -1, None, None),
        ]
        assert (written.record_count, written.last_offset) == (2, 71)


def test_a_batch_written_anew_is_bounded() -> None:
    with pytest.raises(CorruptRecordsError, match="more than 100"):
        write_batch([Record(0, 0, None, bytes(100))], Codec.NONE, 0, max_bytes=100)
    with pytest.raises(CorruptRecordsError, match="64 bits"):
        write_batch([Record(0, 1 << 63, None, b"")], Codec.NONE, 0)
