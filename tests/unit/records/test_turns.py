"""Long computations in a thread: what they do in pieces is what they would do at one stroke."""

import pytest

from barnabas.records.batch import read_header
from barnabas.records.builder import BatchBuilder
from barnabas.records.record import read_payload
from barnabas.records.turns import WALK_RECORDS, copied
from barnabas.records.walk import scan_payload


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_a_copy_in_pieces_is_whole(size):
    data = memoryview(bytes(range(256)) * (size // 256 + 1))[:size]
    assert copied(data) == data


@pytest.mark.parametrize("count", [WALK_RECORDS - 1, WALK_RECORDS, WALK_RECORDS + 1, 2 * WALK_RECORDS])
def test_a_walk_in_pieces_sees_every_record(count):
    builder = BatchBuilder()
    for number in range(count):
        builder.append(1_000 + number, b"k", None)
    batch = builder.build()
    header = read_header(batch)
    scan = scan_payload(read_payload(batch, header), header.record_count)
    assert (scan.largest_delta_ms, scan.index_of_largest, scan.is_numbered) == (count - 1, count - 1, True)
