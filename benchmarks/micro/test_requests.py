"""The path of a request through connection, session and exchange, in one process: frames in, answers out.

The channel is a list and the handler does nothing. So this is the cost of every request before and after its own work.
benchmarks/regressions.py measures the same with sockets and a whole broker.
"""

import struct
import time
from types import SimpleNamespace

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.handlers import heartbeat
from barnabas.broker.requests.handlers.api_versions import HANDLER as API_VERSIONS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.table import Handler, RouteTable
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

_BODY = struct.pack(">hhih", 12, 0, 7, 2) + b"me" + struct.pack(">h", 1) + b"g" + struct.pack(">ih", 3, 1) + b"m"
_FRAME = struct.pack(">i", len(_BODY)) + _BODY
_ANSWER_BYTES = 10


class FakeChannel:
    """Returns the test's data, and accepts all sent data."""

    def __init__(self) -> None:
        self.arrived = b""
        self.sent_bytes = 0
        self.readable = lambda: None

    def recv_into(self, space: memoryview) -> int:
        space[: len(self.arrived)] = self.arrived
        return len(self.arrived)

    def send(self, data) -> int:
        self.sent_bytes += len(data)
        return len(data)

    send_more = send

    def watch_reads(self, callback) -> None:
        self.readable = callback

    def stop_reads(self) -> None: ...

    def watch_writes(self, callback) -> None: ...

    def stop_writes(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("count", [1, 16], ids=["alone", "sixteen-together"])
def test_a_request(benchmark, count):
    answer = HeartbeatResponse(0, 0)
    handler = Handler(HeartbeatRequest, 0, 4, lambda ctx, request: answer, heartbeat.refuse)
    table = RouteTable((API_VERSIONS, handler), response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version)
    table.count_requests()
    services = SimpleNamespace(clock=SimpleNamespace(monotonic_ns=time.monotonic_ns))
    scheduler = Scheduler(lambda run: run(), time.monotonic_ns)
    reactor = Reactor(ReceiveMemory(1 << 30), scheduler, time.monotonic_ns)
    channel = FakeChannel()
    peer = ("10.1.2.3", 5_000)
    connection = Connection(reactor, channel, peer, 1 << 20, SimpleNamespace(tick=0), lambda connection: None)
    connection.start(Session(connection, ConnectionInfo(*peer, "PLAINTEXT"), services, table, 100))
    channel.arrived = _FRAME * count

    def arrive() -> None:
        channel.readable()
        scheduler.finish()

    benchmark(arrive)
    assert channel.sent_bytes == table.times[12].count * _ANSWER_BYTES
