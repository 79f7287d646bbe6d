"""Headers: reading, checking, patching in place, cutting a run of batches."""

import pytest

from barnabas.wire.records.batch import (
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    MAGIC_POSITION,
    BatchHeader,
    Codec,
    batch_crc,
    batches,
    is_crc_valid,
    read_header,
    set_base_offset,
    set_leader_epoch,
    set_max_timestamp,
)
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import iterate_records


def batch_of(record_count: int = 3, codec: Codec = Codec.NONE, base_offset: int = 0) -> bytearray:
    builder = BatchBuilder(codec, producer_id=7, producer_epoch=1, base_sequence=0)
    for number in range(record_count):
        builder.append(1000 + number, b"key", b"value %d" % number)
    return builder.build(base_offset)


def test_header_takes_61_bytes() -> None:
    assert HEADER.size == HEADER_BYTES == 61


def test_header_is_read_at_any_position() -> None:
    batch = batch_of(3, base_offset=40)
    header = read_header(b"before" + bytes(batch), 6)
    assert header == BatchHeader(40, len(batch) - 12, -1, 2, header.crc, 0, 2, 1000, 1002, 7, 1, 0, 3)
    assert header.size_in_bytes == len(batch)
    assert header.last_offset == 42
    assert header.has_producer_id


def test_header_says_what_its_attributes_say() -> None:
    header = BatchHeader(0, 49, -1, 2, 0, 0x3C, 0, 0, 0, -1, -1, -1, 0)
    assert header.codec == Codec.ZSTD
    assert header.is_log_append_time
    assert header.is_transactional
    assert header.is_control
    plain = header._replace(attributes=0)
    assert plain.codec == Codec.NONE
    assert not plain.is_log_append_time
    assert not plain.is_transactional
    assert not plain.is_control
    assert not plain.has_producer_id


@pytest.mark.parametrize(
    ("base_sequence", "last_offset_delta", "last_sequence"),
    [(-1, 9, -1), (0, 9, 9), (2147483647, 0, 2147483647), (2147483647, 1, 0), (2147483640, 10, 2)],
)
def test_sequences_wrap_to_zero(base_sequence: int, last_offset_delta: int, last_sequence: int) -> None:
    header = BatchHeader(0, 49, -1, 2, 0, 0, last_offset_delta, 0, 0, 1, 0, base_sequence, 1)
    assert header.last_sequence == last_sequence


def test_header_cut_short_is_corrupt() -> None:
    with pytest.raises(CorruptRecordsError, match="60 bytes"):
        read_header(bytes(60))


def test_crc_covers_all_from_the_attributes_on() -> None:
    batch = batch_of()
    assert is_crc_valid(batch, 0, len(batch))
    for position in range(len(batch)):
        damaged = bytearray(batch)
        damaged[position] ^= 1
        assert is_crc_valid(damaged, 0, len(batch)) == (position < CRC_POSITION), position


def test_numbering_a_batch_leaves_its_crc_right() -> None:
    run = bytearray(b"before") + batch_of()
    size = len(run) - 6
    set_base_offset(run, 6, 1 << 40)
    set_leader_epoch(memoryview(run), 6, 12)
    header = read_header(run, 6)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 12)
    assert header.crc == batch_crc(run, 6, size)


@pytest.mark.parametrize("codec", list(Codec))
def test_log_append_time_is_the_time_of_every_record(codec: Codec) -> None:
    batch = batch_of(3, codec)
    set_max_timestamp(batch, 0, len(batch), 5_000, is_log_append_time=True)
    assert is_crc_valid(batch, 0, len(batch))
    assert read_header(batch).is_log_append_time
    assert [record.timestamp_ms for record in iterate_records(batch)] == [5_000, 5_000, 5_000]


def test_create_time_is_put_back() -> None:
    batch = batch_of(3)
    before = bytes(batch)
    set_max_timestamp(batch, 0, len(batch), 5_000, is_log_append_time=True)
    set_max_timestamp(batch, 0, len(batch), 1_002, is_log_append_time=False)
    assert batch == before


def test_a_run_is_cut_into_its_batches() -> None:
    run = batch_of(1) + batch_of(2, base_offset=1) + batch_of(3, base_offset=3)
    assert [read_header(batch).last_offset for batch in batches(run)] == [0, 2, 5]
    assert b"".join(batches(run)) == run


@pytest.mark.parametrize("cut", [1, 12, 13, 30, 60, 61, 70])
def test_a_last_batch_cut_short_is_left_out(cut: int) -> None:
    first = batch_of(1)
    run = first + batch_of(2)
    found = list(batches(run[: len(first) + cut]))
    assert found == [first]


def test_a_run_of_nothing_has_no_batches() -> None:
    assert list(batches(b"")) == []
    assert list(batches(b"\x00" * 11)) == []


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_an_impossible_length_is_corrupt(length: int) -> None:
    run = batch_of(1)
    run[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptRecordsError, match=f"length {length}"):
        list(batches(run))


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_are_refused(magic: int) -> None:
    run = batch_of(1)
    run[MAGIC_POSITION] = magic
    with pytest.raises(CorruptRecordsError, match=f"magic {magic}"):
        list(batches(run))
