"""A session of the broker over a connection on a real pair of sockets, and requests for it."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.net.selector import Selector
from barnabas.broker.net.sockets import PlainChannel
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.handlers import heartbeat as heartbeat_handler
from barnabas.broker.requests.handlers.api_versions import HANDLER as API_VERSIONS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.slices import Slices
from barnabas.broker.requests.table import Handler, RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

HEARTBEAT = 12
MOST_ELEMENTS = 10


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until something has happened."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to that")


class Ticks:
    tick = 0


class Wire:
    """The broker's side of a connection and the client's socket."""

    def __init__(self, services, handlers, api_versions=API_VERSIONS, most_elements=MOST_ELEMENTS) -> None:
        self.services = services
        self.waiting: list[Pending] = []
        table = self.table = RouteTable(
            (api_versions, *handlers), response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version
        )
        services.offered = table.offered
        ours, self.client = socket.socketpair()
        ours.setblocking(False)
        self.client.setblocking(False)
        loop = asyncio.get_running_loop()
        scheduler = Scheduler(loop.call_soon, services.clock.monotonic_ns)
        self.codec = ManualExecutor()
        services.slices = Slices(scheduler, services.clock.monotonic_ns, self.codec)
        self.memory = ReceiveMemory(1 << 30)
        reactor = Reactor(self.memory, scheduler, services.clock.monotonic_ns)
        self.connection = Connection(
            reactor,
            PlainChannel(loop, Selector(loop, time.monotonic_ns), ours),
            ("10.1.2.3", 5_000),
            1 << 20,
            Ticks(),
            lambda connection: None,
        )
        info = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
        self.connection.start(Session(self.connection, info, services, table, most_elements))

    async def send(self, *frames: bytes) -> None:
        data = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
        await asyncio.get_running_loop().sock_sendall(self.client, data)

    async def answer(self) -> bytes:
        """The next answer without its size; empty when the connection is closed."""
        size = await self._read(4)
        return await self._read(struct.unpack(">i", size)[0]) if size else b""

    async def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                part = await asyncio.get_running_loop().sock_recv(self.client, count - len(data))
            except ConnectionError:
                part = b""
            if not part:
                assert data == b""
                return b""
            data += part
        return data

    def has_answer(self) -> bool:
        """Whether anything has come that was not read."""
        try:
            return bool(self.client.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.connection.close()
        self.client.close()


def header(api_key, version, correlation_id=7, client_id=b"me", *, is_flexible=False):
    start = struct.pack(">hhi", api_key, version, correlation_id)
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return start + name + (b"\0" if is_flexible else b"")


def heartbeat(correlation_id=7, group=b"g"):
    return (
        header(HEARTBEAT, 0, correlation_id) + struct.pack(">h", len(group)) + group + struct.pack(">ih", 3, 1) + b"m"
    )


def heartbeat1(correlation_id: int) -> bytes:
    """Version 1, whose answer has a throttle time."""
    frame = bytearray(heartbeat(correlation_id))
    frame[2:4] = struct.pack(">h", 1)
    return bytes(frame)


def answering(error_code=ErrorCode.NONE):
    return heartbeats(lambda ctx, request: HeartbeatResponse(0, error_code))


def heartbeats(handle):
    """Heartbeat, answered by a function."""
    return Handler(HeartbeatRequest, 0, 4, handle, heartbeat_handler.refuse)


def working_for(data_path, ms: int):
    """Answers heartbeats after some time of work."""

    def handle(ctx, request):
        data_path.clock.advance(ms)
        return HeartbeatResponse(0, 0)

    return handle
