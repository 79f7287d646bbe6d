"""The receive buffer, without a socket."""

import random
import struct

import pytest

from barnabas.core.errors import ProtocolError
from barnabas.net.framing import FIRST_BUFFER_BYTES, KEPT_BUFFER_BYTES, READ_AHEAD_BYTES, ReceiveBuffer
from barnabas.net.memory import ReceiveMemory

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


def test_a_claimed_size_alone_takes_no_memory():
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    assert feed(buffer, struct.pack(">i", LIMIT) + b"half") == []
    assert buffer.capacity_bytes == FIRST_BUFFER_BYTES


def test_the_buffer_stays_within_twice_what_arrived():
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    arrived = 0
    feed(buffer, struct.pack(">i", 50 * 1024 * 1024))
    for _ in range(200):
        feed(buffer, b"x" * 10_000)
        arrived += 10_000
        assert buffer.capacity_bytes <= max(READ_AHEAD_BYTES, 2 * (arrived + 4) + FIRST_BUFFER_BYTES)


def test_a_large_buffer_is_given_back_once_it_is_empty():
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    assert len(feed(buffer, framed(b"x" * (KEPT_BUFFER_BYTES + 1)))) == 1
    buffer.space()
    assert buffer.capacity_bytes == READ_AHEAD_BYTES


@pytest.mark.parametrize("size", [-1, -(1 << 31), LIMIT + 1, 0x47455420])
def test_a_size_out_of_bounds_is_refused(size):
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    with pytest.raises(ProtocolError, match=r"socket\.request\.max\.bytes"):
        feed(buffer, struct.pack(">i", size))


def test_frames_are_writable_views():
    buffer = ReceiveBuffer(LIMIT, ReceiveMemory(1 << 40))
    space = buffer.space()
    space[:5] = framed(b"a")
    buffer.received(5)
    frame = buffer.next_frame()
    assert frame is not None
    frame[0] = ord("b")
    assert bytes(frame) == b"b"
