"""Message sets of all formats and codecs: what is whole is read, what is cut off is known, what is damaged is said."""

import gzip
import random
import struct
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.api.broker_errors import InvalidMessageError, OffsetOutOfRangeError, broker_error
from barnabas.api.message_set import Message, MessageAndOffset, MessageSet
from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import (
    CRC_POSITION,
    LAST_OFFSET_DELTA_POSITION,
    Codec,
    set_base_offset,
    set_crc,
    set_max_timestamp,
)
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.legacy import message_crc
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.wire.records.java_vectors import gathered

HEADERS = (("h", b"1"), ("n", None))
FORMATS = [*product((0, 1), (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)), *product((2,), Codec)]


def pair(offset: int, magic: int = 2) -> tuple[int, Message]:
    """A message with its offset, as `written` writes it."""
    key = None if offset % 3 == 0 else b"k%d" % offset
    payload = None if offset % 5 == 4 else b"v%d" % offset * 3
    headers = HEADERS if magic == 2 and offset % 2 else ()
    return offset, Message(key, payload, offset * 1_000 if magic else -1, headers, magic)


def written(magic: int, codec: Codec, first_offset: int, count: int) -> bytes:
    """One batch, or messages of magic 0 or 1 written together."""
    offsets = range(first_offset, first_offset + count)
    if magic < 2:
        builder = MessageSetBuilder(magic, codec)
        for offset, message in (pair(each, magic) for each in offsets):
            builder.append(offset, message.timestamp_ms, message.key, message.payload)
        return bytes(builder.build())
    batch = BatchBuilder(codec)
    for _, message in map(pair, offsets):
        batch.append(message.timestamp_ms, message.key, message.payload, message.headers)
    data = bytearray(batch.build())
    set_base_offset(data, 0, first_offset)
    return bytes(data)


def marker(offset: int) -> bytes:
    """The marker of a transaction."""
    batch = BatchBuilder(producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    batch.append(0, b"\0\0\0\1", b"\0" * 6)
    data = bytearray(batch.build())
    set_base_offset(data, 0, offset)
    return bytes(data)


def pairs(messages: MessageSet) -> list[tuple[int, Message]]:
    return [(offset, message) for offset, _, message in messages]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_every_format_and_codec_is_read(magic: int, codec: Codec) -> None:
    data = written(magic, codec, 10, 4) + written(magic, codec, 14, 3)
    messages = MessageSet(data, 10)
    assert pairs(messages) == [pair(offset, magic) for offset in range(10, 17)]
    assert [each.next_offset for each in messages] == list(range(11, 18))
    assert (messages.size_in_bytes, messages.valid_bytes, messages.is_partial) == (len(data), len(data), False)
    assert (messages.next_offset, messages.wanted_bytes) == (17, None)


@pytest.mark.parametrize(("name", "data", "records"), gathered("message-sets", 2))
def test_what_java_wrote_is_read(name: str, data: str, records: list[str]) -> None:
    def text(each: MessageAndOffset) -> str:
        key, payload = (
            "-" if part is None else letter + part.hex()
            for letter, part in (("k", each.message.key), ("v", each.message.payload))
        )
        return f"{each.offset},{each.message.timestamp_ms},{key},{payload}"

    assert [text(each) for each in MessageSet(bytes.fromhex(data))] == records


def test_formats_may_be_mixed() -> None:
    data = b"".join(written(magic, codec, 3 * number, 3) for number, (magic, codec) in enumerate(FORMATS))
    magics = [magic for magic, _ in FORMATS for _ in range(3)]
    assert pairs(MessageSet(data)) == [pair(offset, magic) for offset, magic in enumerate(magics)]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_what_is_cut_off_at_any_byte_is_left_out_and_known(magic: int, codec: Codec) -> None:
    parts = [written(magic, codec, offset, 1 if codec is Codec.NONE else 2) for offset in (0, 2, 4)]
    data = b"".join(parts)
    ends = [sum(map(len, parts[:count])) for count in range(4)]
    for length in range(len(data) + 1):
        messages = MessageSet(data[:length])
        whole = sum(end <= length for end in ends) - 1
        given = pairs(messages)
        assert given == [each for count in range(whole) for each in pairs(MessageSet(parts[count]))]
        assert messages.valid_bytes == ends[whole]
        assert messages.is_partial is (length not in ends)
        assert messages.next_offset == (given[-1][0] + 1 if given else 0)
        cut = length - ends[whole]
        assert messages.wanted_bytes == (len(parts[whole]) if cut >= 12 else None)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("fetch_offset", [9, 10, 12, 14, 15])
def test_what_lies_before_the_offset_is_left_out(magic: int, codec: Codec, fetch_offset: int) -> None:
    messages = MessageSet(written(magic, codec, 10, 5), fetch_offset)
    assert pairs(messages) == [pair(offset, magic) for offset in range(max(fetch_offset, 10), 15)]
    assert messages.next_offset == 15


def test_nothing_is_decoded_before_it_is_asked_for() -> None:
    good, bad = written(2, Codec.GZIP, 0, 2), bytearray(written(2, Codec.GZIP, 2, 2))
    bad[-1] ^= 1
    messages = MessageSet(good + bad)
    # Whole it is, by its size.
    assert (messages.is_partial, messages.next_offset) == (False, 4)
    iterator = iter(messages)
    assert [next(iterator).offset, next(iterator).offset] == [0, 1]
    with pytest.raises(InvalidMessageError, match="batch 2 has a wrong CRC") as raised:
        next(iterator)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    # It can be walked again.
    assert next(iter(messages)).offset == 0


@pytest.mark.parametrize(("magic", "codec"), [(0, Codec.NONE), (1, Codec.NONE), (0, Codec.GZIP), (2, Codec.LZ4)])
def test_a_wrong_checksum_is_an_error_of_that_message_alone(magic: int, codec: Codec) -> None:
    data = bytearray(written(magic, codec, 0, 1))
    data[CRC_POSITION if magic == 2 else 12] ^= 0x40
    with pytest.raises(InvalidMessageError, match=r"from offset 0 is damaged: .* wrong CRC"):
        list(MessageSet(bytes(data)))


def test_the_checksums_inside_a_compressed_message_count_too() -> None:
    inner = MessageSetBuilder(1)
    inner.append(0, 5, None, b"payload")
    damaged = inner.build()
    damaged[-1] ^= 1
    wrapper = MessageSetBuilder(1)
    wrapper.append(7, 5, None, gzip.compress(damaged, mtime=0))
    data = wrapper.build()
    data[17] |= Codec.GZIP
    struct.pack_into(">I", data, 12, message_crc(data, 0, len(data)))
    with pytest.raises(InvalidMessageError, match="message 7 has a wrong CRC"):
        list(MessageSet(bytes(data)))


@pytest.mark.parametrize("size", [-1, 0, 13])
def test_a_size_that_no_message_has_is_said(size: int) -> None:
    data = written(0, Codec.NONE, 0, 1) + struct.pack(">qi", 1, size) + bytes(40)
    messages = MessageSet(data)
    with pytest.raises(InvalidMessageError, match=f"length {size}"):
        list(messages)
    with pytest.raises(InvalidMessageError):
        _ = messages.is_partial


def test_a_magic_of_tomorrow_is_said() -> None:
    data = bytearray(written(2, Codec.NONE, 0, 1))
    data[16] = 3
    with pytest.raises(InvalidMessageError, match="magic 3"):
        list(MessageSet(bytes(data)))


def test_what_is_larger_than_it_may_be_when_unpacked_is_refused() -> None:
    batch = BatchBuilder(Codec.GZIP)
    batch.append(0, None, bytes(100_000))
    with pytest.raises(InvalidMessageError):
        list(MessageSet(batch.build(), max_bytes=50_000))


def test_markers_of_transactions_are_passed_over() -> None:
    data = marker(0) + written(2, Codec.NONE, 1, 2) + marker(3)
    messages = MessageSet(data)
    assert pairs(messages) == [pair(1), pair(2)]
    # Who went on from the last message alone would read the marker again, and go on for ever where there is no other.
    assert messages.next_offset == 4
    assert MessageSet(marker(0)).next_offset == 1


def test_what_compaction_took_is_passed_over() -> None:
    data = bytearray(written(2, Codec.NONE, 0, 2))
    struct.pack_into(">i", data, LAST_OFFSET_DELTA_POSITION, 9)
    set_crc(data, 0, len(data))
    messages = MessageSet(bytes(data))
    assert [(each.offset, each.next_offset) for each in messages] == [(0, 1), (1, 10)]
    assert messages.next_offset == 10
    emptied = bytearray(written(2, Codec.NONE, 0, 1))[:61]
    struct.pack_into(">i", emptied, 8, 49)
    struct.pack_into(">i", emptied, 57, 0)
    set_crc(emptied, 0, len(emptied))
    assert pairs(MessageSet(bytes(emptied))) == []


def test_with_log_append_time_all_have_that_of_the_batch() -> None:
    data = bytearray(written(2, Codec.NONE, 0, 2))
    set_max_timestamp(data, 0, len(data), 12_345, is_log_append_time=True)
    assert [each.message.timestamp_ms for each in MessageSet(bytes(data))] == [12_345, 12_345]


def test_an_empty_set() -> None:
    messages = MessageSet(b"", 17, high_watermark=17)
    assert (list(messages), messages.is_partial, messages.next_offset) == ([], False, 17)
    assert messages.high_watermark == 17


def test_the_error_of_a_partition_waits_for_who_reads_it() -> None:
    error = broker_error(ErrorCode.OFFSET_OUT_OF_RANGE, "offset 5 of t-0 is not in the log")
    messages = MessageSet(error=error)
    for use in (list, MessageSet.raise_for_error):
        read: Callable[[MessageSet], object] = use
        with pytest.raises(OffsetOutOfRangeError, match="offset 5"):
            read(messages)


def test_random_damage_is_noticed() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for magic, codec in FORMATS:
        data = written(magic, codec, 0, 1)
        for _ in range(100):
            damaged = bytearray(data)
            # From the CRC on; it does not cover offset, size and epoch.
            damaged[rng.randrange(17 if magic == 2 else 12, len(data))] ^= 1 << rng.randrange(8)
            with pytest.raises(InvalidMessageError):
                list(MessageSet(bytes(damaged)))


@given(st.binary(max_size=200), st.integers(0, 100))
def test_any_bytes_are_messages_or_an_invalid_message(data: bytes, fetch_offset: int) -> None:
    messages = MessageSet(data, fetch_offset, max_bytes=1 << 16)
    try:
        assert all(offset >= fetch_offset for offset, _ in pairs(messages))
        assert 0 <= messages.valid_bytes <= messages.size_in_bytes
        assert messages.next_offset >= fetch_offset
    except InvalidMessageError:
        pass


@given(
    st.lists(st.tuples(st.sampled_from(FORMATS), st.integers(1, 5)), max_size=6),
    st.integers(0, 2_000),
    st.integers(0, 40),
)
def test_any_run_that_is_cut_anywhere(runs: list[tuple[tuple[int, Codec], int]], length: int, fetch_offset: int):
    parts, expected, offset = [], [], 0
    for (magic, codec), count in runs:
        parts.append(written(magic, codec, offset, count))
        if len(b"".join(parts)) <= length:
            expected += [pair(each, magic) for each in range(offset, offset + count) if each >= fetch_offset]
        offset += count
    messages = MessageSet(b"".join(parts)[:length], fetch_offset)
    found = pairs(messages)
    # Messages without a codec of magic 0 and 1 stand alone: some of a run may be whole though the run is not.
    assert found[: len(expected)] == expected
    if found:
        assert [each for each, _ in found] == list(range(found[0][0], found[-1][0] + 1))
