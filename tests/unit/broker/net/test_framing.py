"""The receive buffer, without a socket."""

import mmap
import random
import struct

import pytest

from barnabas.broker.net.framing import (
    COPIED_BUFFER_BYTES,
    FIRST_BUFFER_BYTES,
    KEPT_BUFFER_BYTES,
    READ_AHEAD_BYTES,
    ReceiveBuffer,
)
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.core.errors import ProtocolError

LIMIT = 100 * 1024 * 1024


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def feed(buffer: ReceiveBuffer, data: bytes) -> list[bytes]:
    """Hand bytes in as a socket would, and take out every frame that is whole."""
    frames = []
    while data:
        space = buffer.space()
        count = min(len(space), len(data))
        space[:count] = data[:count]
        buffer.received(count)
        data = data[count:]
        while (frame := buffer.next_frame()) is not None:
            frames.append(bytes(frame))
    return frames


def test_frames_come_out_whole_however_the_bytes_arrive():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    payloads = [source.randbytes(source.choice((0, 1, 10, 1_000, 20_000, 300_000))) for _ in range(60)]
    stream = b"".join(framed(payload) for payload in payloads)
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    frames = []
    while stream:
        count = source.choice((1, 3, 100, 5_000, 70_000, 400_000))
        frames += feed(buffer, stream[:count])
        stream = stream[count:]
    assert frames == payloads
    assert buffer.buffered_bytes == 0


@pytest.fixture
def buffer():
    return ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))


def test_a_claimed_size_alone_takes_no_memory(buffer):
    assert feed(buffer, struct.pack(">i", LIMIT) + b"half") == []
    assert buffer.capacity_bytes == FIRST_BUFFER_BYTES


def test_the_buffer_stays_within_twice_what_arrived(buffer):
    arrived = 0
    feed(buffer, struct.pack(">i", 50 * 1024 * 1024))
    for _ in range(200):
        feed(buffer, b"x" * 10_000)
        arrived += 10_000
        assert buffer.capacity_bytes <= max(READ_AHEAD_BYTES, 2 * (arrived + 4) + FIRST_BUFFER_BYTES)


def test_what_has_arrived_of_a_large_frame_is_not_copied_again():
    memory = ReceiveMemory(1 << 40)
    buffer = ReceiveBuffer(LIMIT, memory)
    size = 50 * 1024 * 1024
    feed(buffer, struct.pack(">i", size))
    arrived, owners = 4, set()
    while arrived < 4 + size:
        if arrived > COPIED_BUFFER_BYTES:
            owners.add(id(buffer.space().obj))
        piece = bytes(min(300_000, 4 + size - arrived))
        arrived += len(piece)
        frames = feed(buffer, piece)
        assert buffer.capacity_bytes <= max(READ_AHEAD_BYTES, 2 * arrived + FIRST_BUFFER_BYTES)
        assert memory.used_bytes == buffer.capacity_bytes - FIRST_BUFFER_BYTES
    assert [len(frame) for frame in frames] == [size]
    assert len(owners) == 1


def test_nobody_writes_beyond_what_the_receive_memory_counts(buffer):
    feed(buffer, struct.pack(">i", LIMIT))
    for _ in range(20):
        assert len(buffer.space()) <= buffer.capacity_bytes - buffer.end
        feed(buffer, bytes(300_000))


@pytest.mark.parametrize("count", [1, 3])
def test_large_frames_that_follow_each_other_come_out_whole(count):
    source = random.Random(1)
    payloads = [source.randbytes(3_000_000 + 1_000_000 * number) for number in range(count)] + [b"small"]
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    stream = b"".join(framed(payload) for payload in payloads)
    frames = []
    for start in range(0, len(stream), 700_000):
        frames += feed(buffer, stream[start : start + 700_000])
    assert frames == payloads


def test_where_addresses_are_short_large_frames_come_as_well(monkeypatch):
    def refused(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(mmap, "mmap", refused)
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    payload = random.Random(1).randbytes(5_000_000)
    assert feed(buffer, framed(payload)) == [payload]


def test_a_large_buffer_is_given_back_once_it_is_empty(buffer):
    assert len(feed(buffer, framed(b"x" * (KEPT_BUFFER_BYTES + 1)))) == 1
    buffer.space()
    assert buffer.capacity_bytes == READ_AHEAD_BYTES


def test_a_buffer_at_rest_takes_no_memory_and_goes_on_when_bytes_come():
    memory = ReceiveMemory(1 << 40)
    buffer = ReceiveBuffer(LIMIT, memory)
    assert len(feed(buffer, framed(b"x" * 100_000))) == 1
    data = framed(b"frame")
    buffer.space()[: len(data)] = data
    buffer.received(len(data))
    frame = buffer.next_frame()
    assert memory.used_bytes > 0
    assert buffer.rest()
    assert (buffer.capacity_bytes, memory.used_bytes) == (0, 0)
    assert not buffer.rest(), "it rests already"
    assert feed(buffer, framed(b"another")) == [b"another"]
    assert bytes(frame) == b"frame"
    assert buffer.capacity_bytes == FIRST_BUFFER_BYTES


def test_a_buffer_in_which_something_waits_does_not_rest(buffer):
    data = framed(b"frame")
    assert feed(buffer, data[:3]) == []
    assert not buffer.rest()
    assert feed(buffer, data[3:]) == [b"frame"]


@pytest.mark.parametrize("size", [-1, -(1 << 31), LIMIT + 1, 0x47455420])
def test_a_size_out_of_bounds_is_refused(buffer, size):
    with pytest.raises(ProtocolError, match=r"socket\.request\.max\.bytes"):
        feed(buffer, struct.pack(">i", size))


@pytest.mark.parametrize("hello", [b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x03\x00\xf0\x01"])
def test_a_peer_that_speaks_tls_is_told_from_its_first_bytes(buffer, hello):
    with pytest.raises(ProtocolError, match="it speaks TLS, and this listener does not"):
        feed(buffer, hello)


def test_frames_are_writable_views(buffer):
    space = buffer.space()
    space[:5] = framed(b"a")
    buffer.received(5)
    frame = buffer.next_frame()
    assert frame is not None
    frame[0] = ord("b")
    assert bytes(frame) == b"b"


class TestHandOver:
    def test_a_frame_stays_as_it_is_while_others_come(self, buffer):
        data = framed(b"kept") + framed(b"next") + framed(b"half")[:6]
        buffer.space()[: len(data)] = data
        buffer.received(len(data))
        kept = buffer.next_frame()

        buffer.hand_over()

        assert feed(buffer, framed(b"half")[6:] + framed(b"more")) == [b"next", b"half", b"more"]
        feed(buffer, framed(b"x" * 100_000))
        assert bytes(kept) == b"kept"

    def test_its_memory_counts_until_it_is_given_back(self):
        memory = ReceiveMemory(1 << 40)
        buffer = ReceiveBuffer(LIMIT, memory)
        feed(buffer, framed(b"x" * 1_000_000))
        used_bytes = memory.used_bytes
        assert used_bytes > 900_000

        handed_over_bytes = buffer.hand_over()
        assert (handed_over_bytes, buffer.capacity_bytes) == (used_bytes, FIRST_BUFFER_BYTES)
        assert memory.used_bytes == used_bytes
        buffer.free()
        assert memory.used_bytes == used_bytes
        memory.resized(-handed_over_bytes)
        assert memory.used_bytes == 0

    def test_what_was_not_taken_yet_counts_for_the_new_buffer(self):
        memory = ReceiveMemory(1 << 40)
        buffer = ReceiveBuffer(LIMIT, memory)
        feed(buffer, framed(bytes(200_000))[:-1])
        handed_over_bytes = buffer.hand_over()
        memory.resized(-handed_over_bytes)
        assert memory.used_bytes == buffer.extra_bytes > 180_000
        assert feed(buffer, b"\0") == [bytes(200_000)]
