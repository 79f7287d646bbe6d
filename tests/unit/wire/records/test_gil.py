"""Long computations in a thread: what they do in pieces is what they would do at one stroke."""

import pytest

from barnabas.wire.records.batch import Codec, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.formats import batches_of_any_magic, is_any_crc_valid, iterate_any_records
from barnabas.wire.records.gil import PIECE_BYTES, WALK_RECORDS, copied
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import read_payload
from barnabas.wire.records.walk import scan_payload


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_a_copy_in_pieces_is_whole(size):
    data = memoryview(bytes(range(256)) * (size // 256 + 1))[:size]
    assert copied(data) == data


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_large_message_is_a_message(magic, codec):
    builder = MessageSetBuilder(magic, codec)
    values = [b"small", bytes(PIECE_BYTES) + b"end", bytes(3 * PIECE_BYTES)]
    for offset, value in enumerate(values):
        builder.append(offset, 1_000 + offset, b"key", value)
    data = builder.build()
    for message in batches_of_any_magic(data):
        assert is_any_crc_valid(message)
    records = [each for message in batches_of_any_magic(data) for each in iterate_any_records(message)]
    assert [(each.key, each.value) for each in records] == [(b"key", value) for value in values]


@pytest.mark.parametrize("count", [WALK_RECORDS - 1, WALK_RECORDS, WALK_RECORDS + 1, 2 * WALK_RECORDS])
def test_a_walk_in_pieces_sees_every_record(count):
    builder = BatchBuilder()
    for number in range(count):
        builder.append(1_000 + number, b"k", None)
    batch = builder.build()
    header = read_header(batch)
    scan = scan_payload(read_payload(batch, header), header.record_count)
    assert (scan.largest_delta_ms, scan.index_of_largest, scan.is_numbered) == (count - 1, count - 1, True)
