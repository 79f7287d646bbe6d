"""Formats of any magic: round trips between them, and no bytes at all that crash a reader or a leader."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.assign import AppendTarget, Assigned, assign_offsets
from barnabas.wire.records.batch import HEADER, MAGIC, BatchHeader, Buffer, Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.compression import compress
from barnabas.wire.records.convert import down_convert
from barnabas.wire.records.errors import CorruptRecordsError, UnsupportedCodecError
from barnabas.wire.records.formats import batches_of_any_magic, is_any_crc_valid, iterate_any_records
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import Record, iterate_payload
from barnabas.wire.records.record_rules import RecordRefusal, WalkRules
from barnabas.wire.records.walk import scan_payload, walk_batch

MAX_BYTES = 1 << 20
Fields = tuple[int, bytes | None, bytes | None]

old_codecs = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
codecs = st.sampled_from(Codec)
fields = st.lists(
    st.tuples(st.integers(-1, 1 << 60), st.none() | st.binary(max_size=90), st.none() | st.binary(max_size=300)),
    min_size=1,
    max_size=8,
)
targets = st.builds(
    AppendTarget,
    magic=st.integers(0, 2),
    codec=st.none() | codecs,
    max_message_bytes=st.just(MAX_BYTES),
    base_offset=st.integers(0, 1 << 40),
    leader_epoch=st.integers(0, 99),
    rules=st.builds(
        WalkRules,
        st.sampled_from([0, 1 << 40, (1 << 63) - 1]),
        is_create_time=st.booleans(),
        is_compacted=st.booleans(),
    ),
    max_bytes=st.just(MAX_BYTES),
)


def build(magic: int, codec: Codec, records: list[Fields], start: int = 0) -> bytearray:
    if magic == MAGIC:
        builder = BatchBuilder(codec)
        for record in records:
            builder.append(*record)
        return builder.build(start)
    messages = MessageSetBuilder(magic, codec)
    for offset, record in enumerate(records, start):
        messages.append(offset, *record)
    return messages.build()


def read(data: Buffer) -> list[Record]:
    return [record for batch in batches_of_any_magic(data) for record in iterate_any_records(batch)]


@given(st.integers(0, 1), old_codecs, fields, st.integers(0, 1 << 60))
def test_message_sets_come_back(magic: int, codec: Codec, records: list[Fields], start: int) -> None:
    data = build(magic, codec, records, start)
    assert all(is_any_crc_valid(batch) for batch in batches_of_any_magic(data))
    assert read(data) == [
        Record(offset, record[0] if magic else NO_TIMESTAMP, record[1], record[2])
        for offset, record in enumerate(records, start)
    ]


@given(st.integers(0, 2), old_codecs, fields, targets)
def test_what_is_assigned_holds_the_same_records(
    magic: int, codec: Codec, records: list[Fields], target: AppendTarget
) -> None:
    data = build(magic, codec, records)
    before = bytes(data)
    result = assign_offsets(data, target, 1_000)
    if isinstance(result, RecordRefusal):
        assert data == before
        return
    assert all(is_any_crc_valid(batch) for batch in batches_of_any_magic(result.data))
    assert result.last_offset == target.base_offset + len(records) - 1
    found = read(result.data)
    assert [(record.offset, record.key, record.value) for record in found] == [
        (offset, key, value) for offset, (_, key, value) in enumerate(records, target.base_offset)
    ]
    for record, (timestamp_ms, _, _) in zip(found, records, strict=True):
        if target.magic == 0 or (magic == 0 and target.rules.is_create_time):
            assert record.timestamp_ms == NO_TIMESTAMP
        else:
            assert record.timestamp_ms == (timestamp_ms if target.rules.is_create_time else 1_000)
    # Assigned once more to the same topic, it stays where it is.
    again = bytearray(result.data)
    if target.magic == MAGIC:
        again[:8] = bytes(8)
    if target.rules.is_create_time:
        second = assign_offsets(again, target, 1_000)
        assert isinstance(second, Assigned)
        assert read(second.data) == found


@given(st.integers(1, 2), st.integers(0, 1), old_codecs, fields, st.integers(0, 1 << 40))
def test_down_and_up_again_keeps_what_the_older_format_has(
    magic: int, to_magic: int, codec: Codec, records: list[Fields], start: int
) -> None:
    down = (
        b"".join(down_convert([build(magic, codec, records, start)], to_magic, start))
        if magic == MAGIC
        else b"".join(down_convert(batches_of_any_magic(build(magic, codec, records, start)), to_magic, start))
    )
    expected = [
        Record(offset, record[0] if to_magic else NO_TIMESTAMP, record[1], record[2])
        for offset, record in enumerate(records, start)
    ]
    assert read(down) == expected
    up = assign_offsets(bytearray(down), AppendTarget(MAGIC, None, MAX_BYTES, start), 0)
    assert isinstance(up, Assigned)
    assert read(up.data) == expected


def use(data: bytes | bytearray, target: AppendTarget) -> None:
    """Do all that a broker does with bytes of others."""
    before = bytes(data)
    buffer = bytearray(data)
    result = assign_offsets(buffer, target, 1_000)
    if isinstance(result, RecordRefusal):
        assert buffer == before
    try:
        for batch in batches_of_any_magic(before):
            walk_batch(batch, target.rules, 1_000, max_bytes=MAX_BYTES)
            list(iterate_any_records(batch, MAX_BYTES))
    except CorruptRecordsError:
        pass
    try:
        list(down_convert(batches_of_any_magic(before), min(target.magic, 1), 3, MAX_BYTES))
    except (CorruptRecordsError, UnsupportedCodecError):
        pass


@given(st.binary(max_size=300), targets)
def test_any_bytes_are_used_or_refused(data: bytes, target: AppendTarget) -> None:
    use(data, target)


@given(st.integers(0, 2), old_codecs, fields, targets, st.data())
def test_damaged_data_is_used_or_refused(
    magic: int, codec: Codec, records: list[Fields], target: AppendTarget, data: st.DataObject
) -> None:
    damaged = build(magic, codec, records)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    use(damaged, target)


@given(st.integers(0, 255), st.binary(max_size=200), st.integers(-2, 9), codecs, st.integers(), targets)
def test_any_records_with_a_right_crc_are_used_or_refused(
    attributes: int, payload: bytes, record_count: int, codec: Codec, seed: int, target: AppendTarget
) -> None:
    timestamp_ms = seed % (1 << 64) - (1 << 63)
    packed = compress(codec, payload)
    head = (
        0,
        49 + len(packed),
        0,
        2,
        0,
        attributes & ~7 | codec,
        record_count - 1,
        timestamp_ms,
        0,
        -1,
        -1,
        -1,
        record_count,
    )
    batch = bytearray(HEADER.pack(*head)) + packed
    set_crc(batch, 0, len(batch))
    use(batch, target)


@given(st.integers(0, 1), old_codecs, st.binary(max_size=120), fields, targets, st.data())
def test_any_inner_messages_with_a_right_crc_are_used_or_refused(
    magic: int, codec: Codec, noise: bytes, records: list[Fields], target: AppendTarget, data: st.DataObject
) -> None:
    inner = build(data.draw(st.integers(0, 1)), Codec.NONE, records) + noise
    for _ in range(data.draw(st.integers(0, 4))):
        inner[data.draw(st.integers(0, len(inner) - 1))] = data.draw(st.integers(0, 255))
    wrapper = MessageSetBuilder(magic)
    wrapper.append(data.draw(st.integers(0, 9)), 5, None, compress(codec, inner))
    message = wrapper.build()
    message[17] = codec
    message[12:16] = crc32(message[16:]).to_bytes(4, "big")
    use(message, target)


@given(st.binary(max_size=200), st.integers(0, 9))
def test_the_scan_refuses_exactly_what_reading_refuses(payload: bytes, record_count: int) -> None:
    compare_scan(payload, record_count)


@given(fields, st.data())
def test_the_scan_of_damaged_records_is_reading(records: list[Fields], data: st.DataObject) -> None:
    payload = build(2, Codec.NONE, records)[61:]
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    compare_scan(bytes(payload), len(records))


def compare_scan(payload: bytes, record_count: int) -> None:
    header = BatchHeader(0, 49, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, record_count)
    try:
        records = list(iterate_payload(payload, header))
    except CorruptRecordsError:
        records = None
    try:
        scan = scan_payload(payload, record_count)
    except CorruptRecordsError:
        assert records is None
        return
    assert records is not None
    assert scan.is_numbered == all(record.offset == index for index, record in enumerate(records))
    assert scan.has_null_key == any(record.key is None for record in records)
    assert scan.has_headers == any(record.headers for record in records)
    timestamps = [record.timestamp_ms for record in records] or [0]
    assert (scan.least_delta_ms, scan.largest_delta_ms) == (min(timestamps), max(timestamps))
    assert timestamps[scan.index_of_largest] == max(timestamps)
