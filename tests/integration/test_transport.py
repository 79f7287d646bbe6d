"""Connections on real sockets: order, back-pressure, file slices, hostile peers."""

import asyncio
import fcntl
import os
import socket
import struct
import termios
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.broker.net.channel import SocketOptions
from barnabas.broker.net.connection import TURN_FRAMES, Connection, Pause
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.net.sockets import SocketNetwork
from barnabas.core.timers import LoopTimers
from barnabas.wire.protocol.wire import WireBuffer

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

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
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


def deliver(sock: socket.socket, data: bytes) -> None:
    """Send, and return when the peer's kernel has all of it."""
    sock.sendall(data)
    waiting = bytearray(b"\1" * 4)
    while any(waiting):
        fcntl.ioctl(sock, termios.TIOCOUTQ, waiting)


class Server:
    """A listener in the running loop, with the handlers it made."""

    def __init__(
        self, answer=echo, max_idle_ms: int = -1, memory_bytes: int = 1 << 30, now_ns=time.monotonic_ns
    ) -> None:
        loop = asyncio.get_running_loop()
        self.handlers: list[Echo] = []
        self.answer = answer
        self.memory = ReceiveMemory(memory_bytes)

        def new_handler(connection: Connection) -> Echo:
            self.handlers.append(Echo(connection, self.answer))
            return self.handlers[-1]

        acceptor = SocketNetwork(loop, now_ns).bind("127.0.0.1", 0, SocketOptions())
        self.listener = Listener(acceptor, LoopTimers(loop), LIMIT, max_idle_ms)
        self.address = acceptor.address
        reactor = Reactor(self.memory, Scheduler(loop.call_soon, now_ns), now_ns)
        self.listener.start(new_handler, reactor)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address, limit=1 << 26)

    async def close(self) -> None:
        self.listener.close()
        await asyncio.sleep(0)


def run(scenario: Callable[[], Coroutine[Any, Any, object]]) -> None:
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


def test_a_peer_that_leaves_while_its_answer_is_pending_is_noticed():
    async def scenario():
        held: list[Connection] = []

        def answer(connection: Connection, payload: bytes) -> None:
            connection.pause(Pause.ANSWER)
            held.append(connection)

        server = Server(answer)
        _, writer = await server.connect()
        writer.write(framed(b"wait"))
        await until(lambda: held)
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
            out.add_region(Slice(fd, 0, 16 << 20))
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
            out.add_region(Slice(fd, 0, 1_000))
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

    with caplog.at_level("INFO", "barnabas.broker.net"):
        run(scenario)
    assert len([record for record in caplog.records if "closing the connection" in record.message]) == 1


def test_an_error_of_ours_closes_its_connection_and_no_other(caplog):
    async def scenario():
        def answer(connection, payload):
            if payload == b"bug":
                raise ZeroDivisionError
            if payload == b"large":
                raise MemoryError
            return echo(connection, payload)

        server = Server(answer)
        standing = await server.connect()
        for payload in (b"bug", b"large"):
            reader, writer = await server.connect()
            # The second frame would have a callback that raises called again and again.
            writer.write(framed(payload) + framed(b"never read"))
            assert await reader.read() == b""
            writer.close()
        await until(lambda: server.listener.connection_count == 1)
        standing[1].write(framed(b"still here"))
        assert await read_frame(standing[0]) == b"still here"
        standing[1].close()
        await server.close()

    run(scenario)
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


def test_half_frames_beyond_the_memory_wait_and_all_are_answered():
    async def scenario():
        server = Server(memory_bytes=LIMIT)
        payloads = [bytes([number]) * (LIMIT - number) for number in range(20)]
        clients = [await server.connect() for _ in payloads]
        for (_, writer), payload in zip(clients, payloads, strict=True):
            writer.write(framed(payload)[: LIMIT * 9 // 10])
        await until(lambda: server.memory.parked_count >= 10)
        assert server.memory.used_bytes <= 2 * LIMIT
        small = await server.connect()
        small[1].write(framed(b"small"))
        assert await read_frame(small[0]) == b"small"
        for (_, writer), payload in zip(clients, payloads, strict=True):
            writer.write(framed(payload)[LIMIT * 9 // 10 :])
        for (reader, _), payload in zip(clients, payloads, strict=True):
            assert await read_frame(reader) == payload
        assert server.memory.parked_count == 0
        for _, writer in (*clients, small):
            writer.close()
        await until(lambda: server.listener.connection_count == 0)
        assert server.memory.used_bytes == 0
        await server.close()

    run(scenario)


def test_who_pipelines_waits_for_the_others_turns():
    """Beside peers that each have thousands of requests waiting, one request is answered after a turn of each."""

    async def scenario():
        served: list[tuple[int, bytes]] = []

        def answer(connection: Connection, payload: bytes) -> WireBuffer | None:
            served.append((connection.peer_port, payload))
            return WireBuffer(framed(b"")) if payload == b"small" else None

        # With a clock that stands still a turn has so many frames, however slow the machine is.
        server = Server(answer, now_ns=lambda: 1)
        greedy = [socket.create_connection(server.address) for _ in range(3)]
        modest = socket.create_connection(server.address)
        await until(lambda: server.listener.connection_count == 4)
        # All of it is there when the loop looks at the sockets again.
        for other in greedy:
            deliver(other, framed(b"x") * 10 * TURN_FRAMES)
        deliver(modest, framed(b"small"))
        await until(lambda: (modest.getsockname()[1], b"small") in served)
        before = [payload for _, payload in served].index(b"small")
        assert before <= len(greedy) * TURN_FRAMES
        await until(lambda: len(served) == 1 + len(greedy) * 10 * TURN_FRAMES)
        # And among each other they take turns too: none is done before the others have come far.
        ports = [port for port, payload in served if payload == b"x"]
        for port in set(ports):
            last = len(ports) - 1 - ports[::-1].index(port)
            assert last >= (10 * len(greedy) - len(greedy)) * TURN_FRAMES
        for other in (*greedy, modest):
            other.close()
        await server.close()

    run(scenario)


def test_a_connection_whose_answer_never_comes_is_idle_too():
    async def scenario():
        server = Server(lambda connection, payload: connection.pause(Pause.ANSWER), max_idle_ms=100)
        reader, writer = await server.connect()
        writer.write(framed(b"wait"))
        assert await reader.read() == b""
        await until(lambda: server.handlers[0].is_closed)
        writer.close()
        await server.close()

    run(scenario)
