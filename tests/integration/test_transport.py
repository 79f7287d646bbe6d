"""Connections on real sockets: order, back-pressure, file slices, hostile peers."""

import asyncio
import os
import socket
import struct
from collections.abc import Callable

import pytest

from barnabas.core.errors import ProtocolError
from barnabas.core.timers import LoopTimers
from barnabas.net.listener import Listener, SocketOptions
from barnabas.net.transport import Connection
from barnabas.protocol.wire import WireBuffer

LIMIT = 1024 * 1024


class Slice:
    def __init__(self, fd: int, position: int, length: int) -> None:
        self.fd, self.position, self.length = fd, position, length


class Echo:
    """Answers each frame with its own payload, by the function it is given."""

    def __init__(self, connection: Connection, answer: Callable[[Connection, bytes], WireBuffer | None]) -> None:
        self.connection = connection
        self.answer = answer
        self.is_closed = False

    def on_frame(self, frame: memoryview) -> None:
        made = self.answer(self.connection, bytes(frame))
        if made is not None:
            self.connection.send(made)

    def on_closed(self) -> None:
        self.is_closed = True


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def echo(connection: Connection, payload: bytes) -> WireBuffer:
    return WireBuffer(framed(payload))


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait for a condition."""
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "waited in vain"
        await asyncio.sleep(0.001)


class Server:
    """A listener in the running loop, with the handlers it made."""

    def __init__(self, answer=echo, max_idle_ms: int = -1) -> None:
        loop = asyncio.get_running_loop()
        self.handlers: list[Echo] = []
        self.answer = answer

        def new_handler(connection: Connection) -> Echo:
            self.handlers.append(Echo(connection, self.answer))
            return self.handlers[-1]

        self.listener = Listener(loop, LoopTimers(loop), SocketOptions(LIMIT, max_idle_ms, -1, -1))
        self.address = self.listener.bind("127.0.0.1", 0)
        self.listener.start(new_handler)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address, limit=1 << 26)

    async def close(self) -> None:
        self.listener.close()
        await asyncio.sleep(0)


def run(scenario: Callable[[], object]) -> None:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def test_pipelined_requests_are_answered_in_order():
    async def scenario():
        server = Server()
        reader, writer = await server.connect()
        writer.write(b"".join(framed(b"%d" % number) for number in range(1_000)))
        assert [await read_frame(reader) for _ in range(1_000)] == [b"%d" % number for number in range(1_000)]
        writer.close()
        await until(lambda: server.listener.connection_count == 0)
        await server.close()

    run(scenario)


def test_a_pending_answer_holds_the_next_request_back():
    async def scenario():
        seen: list[bytes] = []

        def answer(connection: Connection, payload: bytes) -> WireBuffer | None:
            seen.append(payload)
            if payload == b"wait":
                connection.hold()
                return None
            return WireBuffer(framed(payload))

        server = Server(answer)
        reader, writer = await server.connect()
        writer.write(framed(b"wait") + framed(b"next"))
        await until(lambda: seen)
        await asyncio.sleep(0)
        assert seen == [b"wait"]
        server.handlers[0].connection.send(WireBuffer(framed(b"waited")))
        assert [await read_frame(reader), await read_frame(reader)] == [b"waited", b"next"]
        writer.close()
        await server.close()

    run(scenario)


def test_a_peer_that_leaves_while_its_answer_is_pending_is_noticed():
    async def scenario():
        def answer(connection: Connection, payload: bytes) -> None:
            connection.hold()

        server = Server(answer)
        _, writer = await server.connect()
        writer.write(framed(b"wait"))
        await until(lambda: server.handlers and server.handlers[0].connection.is_waiting)
        writer.close()
        await until(lambda: server.handlers[0].is_closed)
        await server.close()

    run(scenario)


def test_a_slow_reader_holds_up_itself_alone(tmp_path):
    async def scenario():
        path = tmp_path / "segment"
        path.write_bytes(os.urandom(1 << 20) * 16)
        fd = os.open(path, os.O_RDONLY)

        def answer(connection: Connection, payload: bytes) -> WireBuffer:
            if payload != b"file":
                return WireBuffer(framed(payload))
            out = WireBuffer(struct.pack(">i", (16 << 20) + 6) + b"<<<")
            out.regions.append((len(out), Slice(fd, 0, 16 << 20)))
            out += b">>>"
            return out

        server = Server(answer)
        slow = socket.create_connection(server.address)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(slow, framed(b"file") * 3)
        reader, writer = await server.connect()
        for _ in range(100):
            writer.write(framed(b"quick"))
            assert await read_frame(reader) == b"quick"
        data = bytearray()
        whole = ((16 << 20) + 10) * 3
        while len(data) < whole:
            data += await loop.sock_recv(slow, 1 << 20)
        expected = struct.pack(">i", (16 << 20) + 6) + b"<<<" + path.read_bytes() + b">>>"
        assert bytes(data) == expected * 3
        slow.close()
        writer.close()
        os.close(fd)
        await server.close()

    run(scenario)


def test_a_file_shorter_than_promised_closes_the_connection(tmp_path):
    async def scenario():
        path = tmp_path / "segment"
        path.write_bytes(b"x" * 100)
        fd = os.open(path, os.O_RDONLY)

        def answer(connection: Connection, payload: bytes) -> WireBuffer:
            out = WireBuffer(struct.pack(">i", 1_000))
            out.regions.append((len(out), Slice(fd, 0, 1_000)))
            return out

        server = Server(answer)
        reader, writer = await server.connect()
        writer.write(framed(b"file"))
        assert len(await reader.read()) == 104
        writer.close()
        os.close(fd)
        await server.close()

    run(scenario)


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", LIMIT + 1)])
def test_garbage_costs_its_own_connection_and_one_log_line(garbage, caplog):
    async def scenario():
        server = Server()
        reader, writer = await server.connect()
        good_reader, good_writer = await server.connect()
        writer.write(garbage)
        assert await reader.read() == b""
        good_writer.write(framed(b"still here"))
        assert await read_frame(good_reader) == b"still here"
        writer.close()
        good_writer.close()
        await server.close()

    with caplog.at_level("INFO", "barnabas.net"):
        run(scenario)
    assert len([record for record in caplog.records if "closing the connection" in record.message]) == 1


def test_a_refused_frame_leaves_the_answers_before_it():
    async def scenario():
        def answer(connection: Connection, payload: bytes) -> WireBuffer:
            if payload == b"bad":
                raise ProtocolError("bad")
            return WireBuffer(framed(payload))

        server = Server(answer)
        reader, writer = await server.connect()
        writer.write(framed(b"good") + framed(b"bad") + framed(b"never"))
        assert await reader.read() == framed(b"good")
        writer.close()
        await server.close()

    run(scenario)


def test_a_half_sent_frame_is_one_log_line(caplog):
    async def scenario():
        server = Server()
        _, writer = await server.connect()
        writer.write(struct.pack(">i", 1_000) + b"half")
        await until(lambda: server.handlers and server.handlers[0].connection.last_active_tick >= 0)
        await asyncio.sleep(0)
        writer.close()
        await until(lambda: server.handlers[0].is_closed)
        await server.close()

    with caplog.at_level("INFO", "barnabas.net"):
        run(scenario)
    assert [record.message for record in caplog.records if "in the middle of a request" in record.message]


def test_silent_connections_are_closed():
    async def scenario():
        server = Server(max_idle_ms=1_000)
        reader, writer = await server.connect()
        assert await reader.read() == b""
        writer.close()
        await server.close()

    run(scenario)
