"""Batches on their way from one log into another: what is copied whole, what is written anew, what can't be."""

from struct import pack_into

import pytest

from barnabas.clients.mirror.batches import FoundBatch, can_be_copied, find_batches, mark_at, outgoing, stamp
from barnabas.clients.mirror.offsets import BatchMark
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import (
    BATCH_LENGTH_POSITION,
    MAGIC_POSITION,
    RECORD_COUNT_POSITION,
    Buffer,
    Codec,
    is_crc_valid,
    read_header,
    set_crc,
    set_max_timestamp,
)
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import Record, iterate_records

TIME_MS = 1_700_000_000_000
HERE = TopicPartition("t", 0)
END = 1 << 40


def batch(
    base_offset: int, count: int, codec: Codec = Codec.NONE, producer_id: int = -1, is_transactional: bool = False
) -> bytearray:
    builder = BatchBuilder(codec, producer_id, 3, 5, is_transactional=is_transactional)
    for index in range(count):
        builder.append(TIME_MS + index, b"k%d" % index, b"v" * index, [("h", None), ("h", b"x")])
    return builder.build(base_offset, leader_epoch=7)


def marker(base_offset: int, producer_id: int, kind: MarkerType) -> bytearray:
    return build_marker(producer_id, 3, EndTransactionMarker(kind, 1), TIME_MS, base_offset, 7)


def find(*batches: Buffer, aborted: list[tuple[int, int]] | None = None, position: int = 0) -> list[FoundBatch]:
    return find_batches(HERE, memoryview(b"".join(batches)), aborted or [], position, END)


def records(data: Buffer, first_offset: int = 0) -> list[Record]:
    return [each._replace(offset=each.offset + first_offset) for each in iterate_records(data)]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_is_copied_whole_and_only_its_header_is_new(codec: Codec) -> None:
    source = batch(40, 3, codec, producer_id=9, is_transactional=True)
    (found,) = find(source)
    (made,) = outgoing(found, 40)
    stamp(made.data, 77, 2, 100)
    header = read_header(made.data)
    assert (header.base_offset, header.leader_epoch, header.is_transactional, header.codec) == (0, -1, True, codec)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 2, 100)
    assert is_crc_valid(made.data, 0, len(made.data))
    assert made.data[61:] == source[61:]
    assert records(made.data, 40) == list(iterate_records(source))
    assert made.source_offsets == range(40, 43)


def test_what_was_aborted_and_markers_are_no_data() -> None:
    found = find(
        batch(0, 2, producer_id=1, is_transactional=True),
        batch(2, 1),
        batch(3, 1, producer_id=2, is_transactional=True),
        marker(4, 1, MarkerType.ABORT),
        marker(5, 2, MarkerType.COMMIT),
        batch(6, 1, producer_id=1, is_transactional=True),
        marker(7, 1, MarkerType.COMMIT),
        # It began before what was asked for.
        batch(8, 1, producer_id=3, is_transactional=True),
        aborted=[(3, -5), (1, 0)],
    )
    assert [each.is_data for each in found] == [False, True, True, False, False, True, False, False]
    assert [each.end_offset for each in found] == [2, 3, 4, 5, 6, 7, 8, 9]


def test_what_is_wanted_begins_and_ends_where_it_was_said() -> None:
    data = memoryview(batch(0, 2) + batch(2, 2) + batch(4, 2))
    assert [each.header.last_offset for each in find_batches(HERE, data, [], 2, 4)] == [3]
    # The last one was cut short, as it is in an answer.
    assert len(find_batches(HERE, data[:-1], [], 0, 6)) == 2


def test_a_batch_is_taken_apart_where_its_first_records_are_there_already() -> None:
    (found,) = find(batch(10, 4, Codec.GZIP), position=12)
    (made,) = outgoing(found, 12)
    assert [each[1:] for each in records(made.data)] == [each[1:] for each in records(batch(0, 4))[2:]]
    assert (list(made.source_offsets), read_header(made.data).codec) == ([12, 13], Codec.GZIP)


def test_a_batch_that_compaction_has_been_in_keeps_the_records_that_it_has() -> None:
    source = batch(10, 3)
    source[23:27] = (9).to_bytes(4, "big")  # last offset delta
    set_crc(source, 0, len(source))
    (found,) = find(source)
    assert not can_be_copied(found.header, 10)
    assert found.end_offset == 20
    (made,) = outgoing(found, 10)
    header = read_header(made.data)
    assert (header.record_count, header.last_offset_delta, list(made.source_offsets)) == (3, 2, [10, 11, 12])


def test_append_times_become_the_records_own() -> None:
    source = batch(0, 2)
    set_max_timestamp(source, 0, len(source), TIME_MS + 500, is_log_append_time=True)
    (made,) = outgoing(find(source)[0], 0)
    assert [each.timestamp_ms for each in records(made.data)] == [TIME_MS + 500] * 2
    assert not read_header(made.data).is_log_append_time


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_messages_of_old_formats_are_written_anew(magic: int, codec: Codec) -> None:
    builder = MessageSetBuilder(magic, codec)
    for offset in (4, 5, 7):
        builder.append(offset, TIME_MS + offset, None, b"%d" % offset)
    found = find(bytes(builder.build()), position=5)
    # What lies side by side makes one batch.
    made = [each for one in found for each in outgoing(one, 5)]
    assert (len(found), len(made), found[0].end_offset) == (1, 1, 8)
    assert [offset for each in made for offset in each.source_offsets] == [5, 7]
    assert [each.value for one in made for each in records(one.data)] == [b"5", b"7"]
    times = {each.timestamp_ms for one in made for each in records(one.data)}
    assert times == ({-1} if magic == 0 else {TIME_MS + 5, TIME_MS + 7})


def test_a_batch_that_was_refused_becomes_smaller_ones() -> None:
    source = batch(3, 4)
    made = list(outgoing(find(source)[0], 3, rewritten_bytes=1))
    assert [list(each.source_offsets) for each in made] == [[3], [4], [5], [6]]
    # The first record's value is empty, not null.
    assert [each[1:] for one in made for each in records(one.data)] == [each[1:] for each in iterate_records(source)]


def damaged(position: int, value: int, *, has_crc: bool) -> bytes:
    data = batch(2, 2)
    pack_into(">i" if position != MAGIC_POSITION else ">b", data, position, value)
    if has_crc:
        set_crc(data, 0, len(data))
    return bytes(data)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (damaged(70, 1, has_crc=False), "CRC"),
        (damaged(BATCH_LENGTH_POSITION, 60, has_crc=False), "CRC"),
        (damaged(BATCH_LENGTH_POSITION, 5, has_crc=False), "length 5"),
        (damaged(MAGIC_POSITION, 3, has_crc=False), "magic 3"),
        (damaged(23, -2, has_crc=True), "offsets 2 to 0"),
        (bytes(batch(1, 2)), "offsets 1 to 2"),
    ],
)
def test_a_batch_that_is_not_what_it_says_is_told_by_its_place(second: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordsError, match=rf"partition t-0, at offset 2: .*{reason}"):
        find(batch(0, 2), second)


def test_a_wrong_count_shows_when_a_batch_is_unpacked() -> None:
    source = batch(0, 2)
    pack_into(">i", source, RECORD_COUNT_POSITION, 3)
    pack_into(">i", source, 23, 2)
    set_crc(source, 0, len(source))
    with pytest.raises(CorruptRecordsError):
        list(outgoing(find(source)[0], 0, rewritten_bytes=1))


def test_another_batch_at_the_same_place_has_another_mark() -> None:
    source = batch(5, 3)
    mark = find(source)[0].mark
    assert mark == BatchMark(7, TIME_MS + 2, read_header(source).crc)
    assert mark_at(memoryview(source), 7) == mark
    assert mark_at(memoryview(batch(5, 4)), 7) != mark
    assert mark_at(memoryview(batch(6, 2)), 7) != mark
    # Compaction has taken it, or has been in it: that is no other topic.
    assert mark_at(memoryview(batch(9, 2)), 7) is None
    pack_into(">i", source, RECORD_COUNT_POSITION, 2)
    assert mark_at(memoryview(source), 7) is None


def messages(magic: int, codec: Codec, *offsets: int) -> bytes:
    builder = MessageSetBuilder(magic, codec)
    for offset in offsets:
        builder.append(offset, TIME_MS + offset, b"k", b"%d" % offset)
    return bytes(builder.build())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
@pytest.mark.parametrize("kept", [(), (7,), (5, 7), (4, 7), (4, 5)])
def test_compaction_of_messages_of_old_formats_makes_no_other_topic(
    magic: int, codec: Codec, kept: tuple[int, ...]
) -> None:
    mark = find(messages(magic, codec, 4, 5, 7), position=4)[-1].mark
    cleaned = messages(magic, codec, *kept) if kept else b""
    there = mark_at(memoryview(cleaned + messages(magic, codec, 8, 9)), 7)
    # The bytes of a message without a codec stay as they are.
    assert there == (mark if codec is Codec.NONE and 7 in kept else None)


@pytest.mark.parametrize("magic", [0, 1])
def test_another_message_of_an_old_format_at_the_same_place_has_another_mark(magic: int) -> None:
    mark = find(messages(magic, Codec.NONE, 6, 7), position=6)[-1].mark
    builder = MessageSetBuilder(magic)
    builder.append(7, TIME_MS + 7, b"k", b"another")
    assert mark_at(memoryview(builder.build()), 7) not in (None, mark)
