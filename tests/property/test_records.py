"""Batches: what goes in comes out, and no bytes at all give another exception than `CorruptRecordsError`."""

import gzip

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.records.batch import CODEC_MASK, HEADER, Codec, batches, is_crc_valid, read_header, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.compression import compress, decompress
from barnabas.wire.records.control import read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record, iterate_records

timestamps = st.integers(-1, 1 << 60)
codecs = st.sampled_from(Codec)
headers = st.lists(st.tuples(st.text(max_size=9), st.none() | st.binary(max_size=80)), max_size=4)
records = st.lists(
    st.tuples(timestamps, st.none() | st.binary(max_size=90), st.none() | st.binary(max_size=300), headers),
    min_size=1,
    max_size=8,
)


@given(codecs, records, st.integers(0, 1 << 62), st.integers(-1, (1 << 31) - 1))
def test_records_come_back(
    codec: Codec,
    given_records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    base_offset: int,
    leader_epoch: int,
) -> None:
    builder = BatchBuilder(codec)
    for record in given_records:
        builder.append(*record)
    batch = builder.build(base_offset, leader_epoch)
    assert [bytes(found) for found in batches(batch + batch[:-1])] == [batch]
    assert is_crc_valid(batch, 0, len(batch))
    header = read_header(batch)
    assert header.max_timestamp_ms == max(record[0] for record in given_records)
    assert header.last_offset == base_offset + len(given_records) - 1
    expected = [
        Record(base_offset + number, timestamp_ms, key, value, tuple(record_headers))
        for number, (timestamp_ms, key, value, record_headers) in enumerate(given_records)
    ]
    assert list(iterate_records(batch)) == expected
    theirs = DefaultRecordBatch(bytes(batch))
    assert theirs.validate_crc()
    # They refuse header values that are null.
    if all(value is not None for record in given_records for _, value in record[3]):
        assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs] == expected


@given(codecs, st.binary(max_size=5_000), st.integers(1, 300))
def test_codecs_round_trip(codec: Codec, piece: bytes, times: int) -> None:
    data = piece * times
    assert decompress(codec, compress(codec, data), len(data)) == data


def walk(data: bytes) -> None:
    """Read whatever is there, as far as it can be read."""
    try:
        for batch in batches(data):
            header = read_header(batch)
            is_crc_valid(batch, 0, len(batch))
            assert header.size_in_bytes == len(batch)
            for record in iterate_records(batch, max_bytes=1 << 20):
                if header.is_control:
                    read_marker(record)
    except CorruptRecordsError:
        return


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_corrupt(data: bytes) -> None:
    walk(data)


@given(st.binary(max_size=300), st.integers(0, 255), st.integers(-2, 40))
def test_any_payload_is_read_or_corrupt(payload: bytes, attributes: int, record_count: int) -> None:
    batch = bytearray(HEADER.pack(0, 49 + len(payload), 0, 2, 0, attributes, 0, 0, 0, -1, -1, -1, record_count))
    batch += payload
    set_crc(batch, 0, len(batch))
    walk(bytes(batch))


@given(codecs, st.binary(max_size=200), st.integers(0, 40))
def test_any_uncompressed_payload_is_read_or_corrupt(codec: Codec, payload: bytes, record_count: int) -> None:
    compressed = compress(codec, payload)
    batch = HEADER.pack(0, 49 + len(compressed), 0, 2, 0, codec, 0, 0, 0, -1, -1, -1, record_count) + compressed
    walk(batch)


@given(codecs, records, st.data())
def test_a_damaged_batch_is_read_or_corrupt(
    codec: Codec,
    given_records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    data: st.DataObject,
) -> None:
    builder = BatchBuilder(codec)
    for record in given_records:
        builder.append(*record)
    batch = builder.build()
    for _ in range(data.draw(st.integers(1, 5))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    walk(bytes(batch))


@given(st.integers(1, CODEC_MASK), st.binary(max_size=200), st.integers(0, 1 << 16))
def test_any_compressed_bytes_are_read_or_corrupt(codec: int, data: bytes, max_bytes: int) -> None:
    try:
        assert len(decompress(codec, data, max_bytes)) <= max_bytes
    except CorruptRecordsError:
        return


@given(codecs, st.binary(max_size=2_000), st.integers(0, 1 << 12), st.data())
def test_damaged_compressed_bytes_are_read_or_corrupt(
    codec: Codec, piece: bytes, max_bytes: int, data: st.DataObject
) -> None:
    compressed = bytearray(compress(codec, piece))
    for _ in range(data.draw(st.integers(0, 4))):
        if compressed:
            compressed[data.draw(st.integers(0, len(compressed) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert len(decompress(codec, compressed, max_bytes)) <= max_bytes
    except CorruptRecordsError:
        return


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_gzip_ignores_what_java_ignores(first: bytes, trailer: bytes) -> None:
    member = gzip.compress(first)
    if trailer[:2] == b"\x1f\x8b":
        with pytest.raises(CorruptRecordsError):
            decompress(Codec.GZIP, member + trailer, 1_000)
    else:
        assert decompress(Codec.GZIP, member + trailer, 1_000) == first
