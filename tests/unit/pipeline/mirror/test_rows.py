from struct import pack
from zlib import crc32

from barnabas.pipeline.mirror.provenance import PROVENANCE, Provenance
from barnabas.pipeline.mirror.rows import place_of, read_rows

WAY = Provenance("west", "east")
Header = tuple[str, bytes | None]


def packed(offset: int, key: bytes | None, value: bytes | None, *headers: Header, timestamp_ms: int = 5) -> bytes:
    """Pack a record of topic-3 as Spark does."""
    lengths = (-1 if data is None else len(data) for data in (key, value))
    out = pack(">qqiiii", offset, timestamp_ms, 3, *lengths, len(headers)) + (key or b"") + (value or b"")
    for name, data in headers:
        encoded = name.encode()
        out += pack(">ii", len(encoded), -1 if data is None else len(data)) + encoded + (data or b"")
    return out + b"topic"


def test_null_and_empty_are_two_things():
    (rows,) = read_rows([packed(7, None, b""), packed(9, b"", None, timestamp_ms=-1)], 0, WAY)
    assert (rows.keys, rows.values) == ([None, b""], [b"", None])
    assert (rows.offsets, rows.timestamps_ms, rows.end_offset) == ([7, 9], [5, -1], 10)
    assert rows.headers == [[(PROVENANCE, b"west")]] * 2


def test_headers_come_in_order_with_null_empty_and_repeated_ones():
    headers: list[Header] = [("a", b"1"), ("ü", None), ("a", b"")]
    (rows,) = read_rows([packed(0, b"k", b"v", *headers)], 0, WAY)
    assert rows.headers == [[*headers, (PROVENANCE, b"west")]]
    assert place_of(packed(0, b"k", b"v", *headers)) == ("topic", 3)


def test_what_is_before_the_place_is_left_out():
    records = [packed(offset, b"k", b"%d" % offset) for offset in range(5)]
    (rows,) = read_rows(records, 3, WAY)
    assert (rows.offsets, rows.payload_bytes, rows.skipped_count) == ([3, 4], 4, 0)
    assert list(read_rows(records, 5, WAY)) == []


def test_what_has_been_in_the_target_is_counted_and_its_offsets_are_done():
    records = [packed(0, None, b"a"), packed(1, None, b"b", (PROVENANCE, b"east"))]
    (rows,) = read_rows(records, 0, WAY)
    assert (rows.offsets, rows.skipped_count, rows.end_offset) == ([0], 1, 2)
    assert tuple(rows.mark) == (1, 5, crc32(b"b"))


def test_many_records_come_in_parts():
    parts = list(read_rows((packed(offset, None, b"") for offset in range(2_500)), 0, WAY))
    assert [len(rows.offsets) for rows in parts] == [1_000, 1_000, 500]
    assert parts[-1].end_offset == 2_500
