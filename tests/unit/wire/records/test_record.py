"""Walking the records of a batch: what Kafka wrote, and what nobody should have written."""

import pytest

from barnabas.wire.records.batch import HEADER, LOG_OVERHEAD, Codec, read_header, set_crc
from barnabas.wire.records.builder import BatchBuilder, encode_varint
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record, iterate_records

LONG_AGO_MS = -(1 << 62)


def batch_with(payload: bytes, record_count: int = 1, attributes: int = 0) -> bytearray:
    batch = bytearray(HEADER.pack(0, 49 + len(payload), -1, 2, 0, attributes, 0, 0, 0, -1, -1, -1, record_count))
    batch += payload
    set_crc(batch, 0, len(batch))
    return batch


def sized(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back_as_they_went_in(codec: Codec) -> None:
    builder = BatchBuilder(codec)
    builder.append(100, b"key", b"value", [("a", b"1"), ("a", None), ("", b"")])
    builder.append(LONG_AGO_MS, None, None)
    builder.append(99, b"", b"v" * 100_000, [("ключ", b"k" * 200)])
    assert list(iterate_records(builder.build(base_offset=1 << 40))) == [
        Record(1 << 40, 100, b"key", b"value", (("a", b"1"), ("a", None), ("", b""))),
        Record((1 << 40) + 1, LONG_AGO_MS, None, None),
        Record((1 << 40) + 2, 99, b"", b"v" * 100_000, (("ключ", b"k" * 200),)),
    ]


def test_records_outlive_the_buffer() -> None:
    builder = BatchBuilder()
    builder.append(1, b"key", b"value", [("header", b"value")])
    batch = builder.build()
    records = list(iterate_records(memoryview(batch)))
    batch[:] = bytes(len(batch))
    assert records == [Record(0, 1, b"key", b"value", (("header", b"value"),))]


def test_what_follows_the_batch_is_left_alone() -> None:
    builder = BatchBuilder()
    builder.append(1, b"key", b"value")
    assert len(list(iterate_records(builder.build() + b"more"))) == 1


@pytest.mark.parametrize("codec", list(Codec))
def test_an_emptied_batch_has_no_records(codec: Codec) -> None:
    assert list(iterate_records(batch_with(b"", 0, codec))) == []


def test_numbers_wrap_as_in_java() -> None:
    # Five bytes hold 35 bits; an int keeps 32.
    offset_delta = b"\xfe\xff\xff\xff\x7f"
    batch = batch_with(sized(b"\x00\x00" + offset_delta + b"\x01\x01\x00"))
    assert next(iterate_records(batch)).offset == 0x7FFFFFFF


def test_a_damaged_header_key_is_read_with_replacements() -> None:
    batch = batch_with(sized(b"\x00\x00\x00\x01\x01\x02\x02\xff\x01"))
    assert next(iterate_records(batch)).headers == (("\ufffd", None),)


GOOD = b"\x00\x00\x00\x02k\x02v\x00"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "end within"),
        (b"\x80", "end within"),
        (b"\x01" + GOOD, "record of -1 bytes"),
        (sized(GOOD)[:-1], "record of 8 bytes"),
        (sized(GOOD + b"\x00"), "holds 8"),
        (sized(GOOD) + b"\x00", "1 bytes follow the 1 records"),
        (sized(GOOD) * 2, "9 bytes follow the 1 records"),
        (sized(b""), "end within"),
        (sized(b"\x00"), "end within"),
        (sized(b"\x00\x00\x00\x10k\x02v\x00"), "8 bytes in a record with 4 left"),
        (sized(b"\x00\x00\x00\x02k\x02v\x01"), "-1 record headers"),
        (sized(b"\x00\x00\x00\x02k\x02v\x04") + bytes(99), "2 record headers in 0 bytes"),
        (sized(b"\x00\x00\x00\x02k\x02v\x02\x01\x01"), "header without a key"),
        (sized(b"\x00\x00" + b"\x80" * 5 + b"\x01\x01\x01\x00"), "varint of more than 5 bytes"),
        (sized(b"\x00" + b"\x80" * 10 + b"\x01\x00\x01\x01\x00"), "varint of more than 10 bytes"),
    ],
)
def test_records_that_cannot_be_are_corrupt(payload: bytes, message: str) -> None:
    with pytest.raises(CorruptRecordsError, match=message):
        list(iterate_records(batch_with(payload)))


def test_a_record_that_reads_into_the_next_is_corrupt() -> None:
    # The first one's fields take nine bytes, its length says seven; the second makes up for it.
    payload = encode_varint(7) + GOOD + b"\x00" * 20
    with pytest.raises(CorruptRecordsError):
        list(iterate_records(batch_with(payload, 2)))


def test_good_records_are_given_before_the_bad_one() -> None:
    records = iterate_records(batch_with(sized(GOOD) + b"\x7f", 2))
    assert next(records) == Record(0, 0, b"k", b"v")
    with pytest.raises(CorruptRecordsError):
        next(records)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (8, b"\x00\x00\x00\x30", "of 60 bytes"),
        (8, b"\x7f\xff\xff\xff", "in a buffer of"),
        (8, b"\xff\xff\xff\xff", "in a buffer of"),
        (16, b"\x01", "magic 1"),
        (57, b"\xff\xff\xff\xff", "record count -1"),
        (57, b"\x7f\xff\xff\xff", "end within"),
        (21, b"\x00\x05", "codec 5 does not exist"),
    ],
)
def test_headers_that_cannot_be_are_corrupt(position: int, value: bytes, message: str) -> None:
    batch = batch_with(sized(GOOD))
    batch[position : position + len(value)] = value
    with pytest.raises(CorruptRecordsError, match=message):
        list(iterate_records(batch))


def test_a_batch_of_header_and_less_is_corrupt() -> None:
    with pytest.raises(CorruptRecordsError):
        list(iterate_records(bytes(LOG_OVERHEAD)))


def test_records_larger_than_allowed_are_refused() -> None:
    builder = BatchBuilder(Codec.GZIP)
    builder.append(0, None, bytes(10_000))
    batch = builder.build()
    uncompressed_bytes = builder.uncompressed_bytes - 61
    assert len(list(iterate_records(batch, uncompressed_bytes))) == 1
    with pytest.raises(CorruptRecordsError, match="more than"):
        list(iterate_records(batch, uncompressed_bytes - 1))
    assert read_header(batch).codec == Codec.GZIP
