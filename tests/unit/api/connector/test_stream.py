"""Streams: what is given, what is not any more, and what counts as consumed."""

import contextlib
import threading
from collections.abc import Callable

import pytest

from barnabas.api.broker_errors import InvalidMessageError
from barnabas.api.connector.decoders import DefaultDecoder, StringDecoder
from barnabas.api.connector.errors import ConsumerTimeoutError
from barnabas.api.connector.stream import KafkaStream, OwnedPartition
from barnabas.api.message_set import MessageSet
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import Codec, set_base_offset
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker

Stream = KafkaStream[bytes, bytes]


def chunk(first_offset: int, count: int, codec: Codec = Codec.NONE) -> MessageSet:
    batch = BatchBuilder(codec)
    for number in range(count):
        batch.append(0, None, b"%d" % (first_offset + number), ())
    data = bytearray(batch.build())
    set_base_offset(data, 0, first_offset)
    return MessageSet(data, first_offset)


def stream_of(timeout_ms: int = 0, most_chunks: int = 2, note_room: Callable[[], object] = lambda: None) -> Stream:
    return KafkaStream(most_chunks, note_room, timeout_ms, DefaultDecoder(), DefaultDecoder())


def owned(stream: Stream, number: int = 0, offset: int = 0) -> OwnedPartition:
    return OwnedPartition(TopicPartition("t", number), stream, offset)


def test_a_message_is_consumed_when_it_was_given() -> None:
    stream = stream_of()
    partition = owned(stream)
    stream.put(partition, chunk(0, 3, Codec.GZIP))
    assert partition.consumed_offset == 0
    assert [next(stream).message, partition.consumed_offset] == [b"0", 1]
    assert [next(stream).offset, partition.consumed_offset] == [1, 2]
    assert partition.release() == 2


def test_nothing_is_given_of_what_was_released_be_it_begun_or_waiting() -> None:
    stream = stream_of()
    before, after = owned(stream), owned(stream, offset=1)
    stream.put(before, chunk(0, 3))
    stream.put(before, chunk(3, 3))
    next(stream)
    assert before.release() == 1
    stream.put(after, chunk(1, 1))
    assert next(stream).offset == 1
    assert after.consumed_offset == 2
    assert before.consumed_offset == 1
    with pytest.raises(ConsumerTimeoutError):
        next(stream)


def test_clearing_forgets_chunks_and_keeps_errors() -> None:
    stream = stream_of()
    partition = owned(stream)
    stream.put(partition, chunk(0, 1))
    stream.fail(InvalidMessageError(ErrorCode.CORRUPT_MESSAGE, "damaged"))
    partition.release()
    stream.clear()
    with pytest.raises(InvalidMessageError):
        next(stream)
    with pytest.raises(ConsumerTimeoutError):
        next(stream)


def test_a_full_stream_says_when_there_is_room_again_and_only_then() -> None:
    calls: list[None] = []
    stream = stream_of(most_chunks=2, note_room=lambda: calls.append(None))
    partition = owned(stream)
    stream.put(partition, chunk(0, 1))
    assert stream.has_room
    stream.put(partition, chunk(1, 1))
    assert not stream.has_room
    next(stream)
    assert (len(calls), stream.has_room) == (1, True)
    next(stream)
    assert len(calls) == 1


def test_what_is_damaged_is_told_once_and_the_partition_left_alone() -> None:
    stream = stream_of()
    partition = owned(stream)
    data = bytearray(chunk(0, 2).data)
    data[-1] ^= 1
    stream.put(partition, MessageSet(data, 0))
    other = owned(stream, 1)
    stream.put(other, chunk(0, 1))
    with pytest.raises(InvalidMessageError):
        next(stream)
    assert partition.is_failed
    assert next(stream).partition == 1


def test_an_interrupt_loses_nothing() -> None:
    class Interrupting(MessageSet):
        def __iter__(self):
            for each in super().__iter__():
                yield each
                if each.offset == 1:
                    raise KeyboardInterrupt

    stream = stream_of()
    partition = owned(stream)
    stream.put(partition, Interrupting(chunk(0, 4).data, 0))
    assert [next(stream).offset for _ in range(2)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert [next(stream).offset for _ in range(2)] == [2, 3]


def test_the_first_offset_is_what_a_reset_found_and_never_moves_what_was_given() -> None:
    stream = stream_of()
    partition = owned(stream, offset=-1)
    assert partition.consumed_offset == -1
    partition.begin_at(7)
    assert partition.consumed_offset == 7
    partition.begin_at(100)
    assert partition.consumed_offset == 7


def with_marker(first_offset: int, count: int) -> MessageSet:
    """Messages and the marker that commits them."""
    marker = build_marker(7, 0, EndTransactionMarker(MarkerType.COMMIT, 0), 0, first_offset + count)
    return MessageSet(bytes(chunk(first_offset, count).data) + marker, first_offset)


@pytest.mark.parametrize(
    ("messages", "read_count", "is_forgotten"),
    [
        (chunk(5, 2), 0, False),
        (chunk(5, 2), 1, False),
        # The program has taken the last message, and has not asked for another one since.
        (chunk(5, 2), 2, True),
        (chunk(5, 2), 3, True),
        (with_marker(5, 2), 2, False),
        (with_marker(5, 2), 3, True),
    ],
)
def test_an_offset_is_forgotten_when_everything_before_it_was_read(
    messages: MessageSet, read_count: int, is_forgotten: bool
) -> None:
    stream = stream_of()
    partition = owned(stream, offset=5)
    partition.fetch_offset = messages.next_offset
    stream.put(partition, messages)
    with contextlib.suppress(ConsumerTimeoutError):
        for _ in range(read_count):
            next(stream)
    assert stream.forget_offset(partition) is is_forgotten
    partition.begin_at(3)
    with contextlib.suppress(ConsumerTimeoutError):
        while True:
            next(stream)
    assert partition.consumed_offset == (3 if is_forgotten else messages.next_offset)


def test_the_end_wakes_whoever_waits_and_stays_the_end() -> None:
    stream = stream_of(timeout_ms=-1)
    stream.put(owned(stream), chunk(0, 1))
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.extend(each.offset for each in stream))
    reader.start()
    stream.end()
    reader.join()
    # What waited when it ended may be given or not; what comes after the end is the end.
    assert found in ([], [0])
    assert list(stream) == []


def test_null_is_none_for_every_decoder() -> None:
    batch = BatchBuilder(Codec.NONE)
    batch.append(5, None, None, ())
    batch.append(6, "ü".encode(), "ß".encode("latin-1"), ())
    stream = KafkaStream(1, lambda: None, 0, StringDecoder(), StringDecoder("latin-1"))
    stream.put(OwnedPartition(TopicPartition("t", 0), stream, 0), MessageSet(batch.build(), 0))
    null, text = next(stream), next(stream)
    assert (null.key, null.message, null.timestamp_ms) == (None, None, 5)
    assert (text.key, text.message, text.raw_message) == ("ü", "ß", b"\xdf")
