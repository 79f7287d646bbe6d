"""The passes over usual records do what the general way does, record by record, and leave everything else to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.records.batch import MAGIC, Codec, read_header, set_max_timestamp
from barnabas.wire.records.convert import (
    down_convert,
    write_batch,
    write_batch_of_messages,
    write_messages,
    write_messages_of_batch,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.message_walk import walk_usual_messages
from barnabas.wire.records.record import iterate_payload, iterate_records, read_payload
from barnabas.wire.records.record_rules import RecordRefusal, Walked, WalkRules
from barnabas.wire.records.transcode import (
    messages_of_records,
    newest_starts,
    number_messages,
    records_of_messages,
    scan_messages,
)
from barnabas.wire.records.walk import walk_batch
from tests.property.malformed_batches import kinds
from tests.property.test_records_formats import Fields, build, fields, old_codecs, read

NOW_MS = 1_000
MAX_BYTES = 1 << 20
PAYLOADS = [bytes(kind.data) for kind in kinds() if len(kind.data) < 4096]
sizes = st.sampled_from([0, 1, 62, 63, 64, 127, 128, 2045, 2048, 8191, 8192, 20_000, 1 << 20])
wide_fields = st.lists(
    st.tuples(
        st.sampled_from([-1, 0, 1, 63, 64, 8191, 8192, 1 << 40, (1 << 63) - 1]),
        st.none() | sizes.map(lambda size: b"k" * size),
        st.none() | sizes.map(lambda size: b"v" * size),
    ),
    min_size=1,
    max_size=4,
)
append_times = st.none() | st.just(5)


@given(st.integers(0, 1), fields | wide_fields, old_codecs, append_times)
def test_messages_become_the_records_that_each_of_them_is(
    magic: int, records: list[Fields], codec: Codec, append_time_ms: int | None
) -> None:
    data = bytes(build(magic, Codec.NONE, records, 7))
    scan = scan_messages(data, magic)
    assert scan is not None
    general = write_batch(iter(read(data)), codec, 70, 3, append_time_ms=append_time_ms)
    assert write_batch_of_messages(data, magic, codec, 70, 3, append_time_ms) == general


@given(st.integers(0, 1), fields | wide_fields, old_codecs, append_times)
def test_records_become_the_messages_that_each_of_them_is(
    magic: int, records: list[Fields], codec: Codec, append_time_ms: int | None
) -> None:
    batch = build(MAGIC, Codec.NONE, records)
    header = read_header(batch)
    payload = read_payload(batch, header)
    general = write_messages(iterate_records(batch), magic, codec, 70, append_time_ms)
    assert write_messages_of_batch(payload, header, magic, codec, 70, append_time_ms) == general


@given(st.integers(0, 1), fields | wide_fields, old_codecs, st.integers(0, 9), append_times)
def test_a_batch_is_converted_down_as_record_by_record(
    magic: int, records: list[Fields], codec: Codec, first_offset: int, append_time_ms: int | None
) -> None:
    batch = build(MAGIC, codec, records, 3)
    if append_time_ms is not None:
        set_max_timestamp(batch, 0, len(batch), append_time_ms, is_log_append_time=True)
    expected = MessageSetBuilder(magic, codec, append_time_ms)
    for record in iterate_records(batch):
        if codec != Codec.NONE or record.offset >= first_offset:
            expected.append(*record[:4])
    converted = list(down_convert([batch], magic, first_offset))
    assert converted == ([expected.build()] if expected.record_count else [])


@given(st.integers(0, 1), fields, st.integers(0, 1 << 60))
def test_messages_are_numbered_as_each_of_them(magic: int, records: list[Fields], offset: int) -> None:
    data = build(magic, Codec.NONE, records, 7)
    number_messages(memoryview(data), offset)
    assert data == build(magic, Codec.NONE, records, offset)
    position, expected = 0, []
    for index, message in enumerate(batches_of_any_magic(data)):
        expected.append((offset + index, position))
        position += len(message)
    assert newest_starts(data, offset, 1_000) == expected
    assert newest_starts(data, offset, 2) == expected[-2:]


def test_the_newest_of_very_many_messages_are_found() -> None:
    size = len(build(1, Codec.NONE, [(0, None, b"")]))
    data = build(1, Codec.NONE, [(0, None, b"")]) * 100_000
    number_messages(memoryview(data), 7)
    expected = [(7 + index, index * size) for index in range(99_984, 100_000)]
    assert newest_starts(data, 7, 16) == expected


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_large_value_is_written_as_a_small_one(magic: int, codec: Codec) -> None:
    """In pieces: `records.gil`."""
    value = bytes(range(256)) * 10_000
    records: list[Fields] = [(1, b"a", b"b"), (2, b"key", value), (3, None, value), (4, b"c", b"d")]
    data = bytes(build(magic, Codec.NONE, records))
    times = [(fields[0] if magic else -1, *fields[1:]) for fields in records]
    batch = build(MAGIC, codec, times)
    assert write_batch_of_messages(data, magic, codec, 0, -1, None).data == batch
    header = read_header(batch)
    written = write_messages_of_batch(read_payload(batch, header), header, magic, Codec.NONE, 0)
    assert written is not None
    assert written.data == data


def test_many_tiny_records_are_joined_piece_by_piece() -> None:
    records: list[Fields] = [(number % 7, None, b"v" * (number % 3)) for number in range(10_000)]
    data = bytes(build(1, Codec.NONE, records))
    batch = build(MAGIC, Codec.NONE, records)
    assert write_batch_of_messages(data, 1, Codec.NONE, 0, -1, None).data == batch
    header = read_header(batch)
    written = write_messages_of_batch(read_payload(batch, header), header, 1, Codec.NONE, 0)
    assert written is not None
    assert written.data == data


rule_sets = st.builds(
    WalkRules, st.sampled_from([0, 1 << 40, (1 << 63) - 1]), is_create_time=st.booleans(), is_compacted=st.booleans()
)


@given(
    st.one_of(
        st.binary(max_size=90), st.sampled_from(PAYLOADS), fields.map(lambda some: bytes(build(1, Codec.NONE, some)))
    ),
    st.integers(0, 1),
    rule_sets,
    st.data(),
)
def test_only_what_the_general_way_accepts_is_accepted(
    data: bytes, magic: int, rules: WalkRules, noise: st.DataObject
) -> None:
    changed = bytearray(data)
    for position in noise.draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=3)):
        changed[position : position + 1] = bytes([noise.draw(st.integers(0, 255))])
    walked = walk_usual_messages(bytes(changed), magic, rules, NOW_MS, MAX_BYTES)
    if walked is None:
        return
    each = [walk_batch(message, rules, NOW_MS) for message in batches_of_any_magic(changed)]
    assert not any(isinstance(one, RecordRefusal) for one in each)
    usual = [one for one in each if isinstance(one, Walked)]
    largest_ms = max(one.max_timestamp_ms for one in usual)
    assert walked.record_count == len(each) == sum(one.record_count for one in usual)
    assert walked.max_timestamp_ms == largest_ms
    assert walked.least_timestamp_ms == min(one.least_timestamp_ms for one in usual)
    expected = -1 if largest_ms == -1 else [one.max_timestamp_ms for one in usual].index(largest_ms)
    assert walked.index_of_max_timestamp == expected
    run = records_of_messages(bytes(changed), magic)
    assert run.record_count == len(read(changed))


@given(
    st.one_of(st.binary(max_size=90), fields.map(lambda some: bytes(build(2, Codec.NONE, some))[61:])),
    st.integers(0, 9),
    st.data(),
)
def test_any_records_become_messages_or_are_left_to_the_general_way(
    payload: bytes, record_count: int, noise: st.DataObject
) -> None:
    changed = bytearray(payload)
    for position in noise.draw(st.lists(st.integers(0, max(len(payload) - 1, 0)), max_size=3)):
        changed[position : position + 1] = bytes([noise.draw(st.integers(0, 255))])
    header = read_header(build(2, Codec.NONE, [(0, None, None)]))._replace(record_count=record_count)
    try:
        run = messages_of_records(bytes(changed), record_count, 0, 0, 1, None, 0, MAX_BYTES, is_relative=False)
    except CorruptRecordsError:
        run = None
    if run is not None:
        found = [record[:4] for message in batches_of_any_magic(run.data) for record in iterate_any_records(message)]
        assert found == [record[:4] for record in iterate_payload(bytes(changed), header)]
