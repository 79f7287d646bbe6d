"""A session over a connection on a real pair of sockets: frames in, answers in order, what is wrong closes it."""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.crowd import Crowd
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.sockets import PlainChannel
from barnabas.broker.net.turns import Turns
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.handlers import fetch, list_groups, produce, update_metadata
from barnabas.broker.requests.handlers import heartbeat as heartbeat_handler
from barnabas.broker.requests.handlers.api_versions import HANDLER as API_VERSIONS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.slices import Slices
from barnabas.broker.requests.table import Handler, RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import UnanswerableError
from barnabas.core.pending import Pending
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.wire.protocol.messages.produce import ProduceRequest
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from barnabas.wire.protocol.wire import WireBuffer
from tests import old_requests
from tests.patience import PATIENCE_S

PRODUCE, UPDATE_METADATA, HEARTBEAT, LIST_GROUPS, API_VERSIONS_KEY = 0, 6, 12, 16, 18
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
        turns = Turns(loop.call_soon, services.clock.monotonic_ns)
        self.codec = ManualExecutor()
        services.slices = Slices(turns, services.clock.monotonic_ns, self.codec)
        self.memory = ReceiveMemory(1 << 30)
        reactor = Reactor(self.memory, turns, services.clock.monotonic_ns)
        self.connection = Connection(
            reactor,
            PlainChannel(loop, Crowd(loop), ours),
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


@pytest.fixture
def play(data_path) -> Callable[..., None]:
    def run(story, *handlers: Handler, api_versions: Handler = API_VERSIONS, most_elements=MOST_ELEMENTS) -> None:
        async def main() -> None:
            wire = Wire(data_path.services, handlers, api_versions, most_elements)
            try:
                await asyncio.wait_for(story(wire), PATIENCE_S)
            finally:
                wire.close()

        asyncio.run(main())

    return run


def answering(error_code=ErrorCode.NONE):
    return heartbeats(lambda ctx, request: HeartbeatResponse(0, error_code))


def heartbeats(handle):
    """Heartbeat, answered by a function."""
    return Handler(HeartbeatRequest, 0, 4, handle, heartbeat_handler.refuse)


def test_a_request_is_answered(play):
    async def story(wire):
        await wire.send(heartbeat())
        assert await wire.answer() == struct.pack(">ih", 7, 0)

    play(story, answering())


def test_a_flexible_request_is_answered_with_a_tagged_header(play):
    async def story(wire):
        # compact strings, and tagged fields at the end of header and body
        await wire.send(header(HEARTBEAT, 4, is_flexible=True) + b"\x02g" + struct.pack(">i", 3) + b"\x02m" + b"\0\0")
        assert await wire.answer() == struct.pack(">iBih", 7, 0, 0, 0) + b"\0"

    play(story, answering())


def test_handlers_see_who_asks(play):
    seen = []

    def handle(ctx, request):
        seen.append((ctx.client_id, ctx.api_version, ctx.correlation_id, ctx.connection.host, request.group_id))
        return HeartbeatResponse(0, 0)

    async def story(wire):
        await wire.send(heartbeat())
        await wire.answer()
        await wire.send(header(HEARTBEAT, 0, 8, None) + heartbeat()[12:])
        await wire.answer()

    play(story, heartbeats(handle))
    assert seen == [("me", 0, 7, "10.1.2.3", "g"), ("", 0, 8, "10.1.2.3", "g")]


def test_answers_keep_the_order_of_the_requests(play):
    waiting: list[Pending] = []
    groups: list[str] = []

    def handle(ctx, request):
        groups.append(request.group_id)
        if request.group_id == "slow":
            waiting.append(Pending())
            return waiting[-1]
        return HeartbeatResponse(0, 0)

    async def story(wire):
        await wire.send(heartbeat(1, b"slow"), heartbeat(2, b"quick"), heartbeat(3, b"quick"))
        await until(lambda: waiting)
        # What comes after it is not even looked at.
        assert groups == ["slow"]
        waiting[0].complete(HeartbeatResponse(0, 27))
        assert [await wire.answer() for _ in range(3)] == [
            struct.pack(">ih", 1, 27),
            struct.pack(">ih", 2, 0),
            struct.pack(">ih", 3, 0),
        ]

    play(story, heartbeats(handle))


def test_no_answer_lets_the_next_request_through(play):
    async def story(wire):
        await wire.send(heartbeat(1, b"silent"), heartbeat(2))
        assert await wire.answer() == struct.pack(">ih", 2, 0)

    play(
        story,
        heartbeats(lambda ctx, request: None if request.group_id == "silent" else HeartbeatResponse(0, 0)),
    )


def test_an_answer_that_comes_to_nothing_lets_the_next_request_through(play):
    waiting: list[Pending] = []

    def handle(ctx, request):
        if request.group_id != "silent":
            return HeartbeatResponse(0, 0)
        waiting.append(Pending())
        return waiting[-1]

    async def story(wire):
        await wire.send(heartbeat(1, b"silent"), heartbeat(2))
        await until(lambda: waiting)
        waiting[0].complete(None)
        assert await wire.answer() == struct.pack(">ih", 2, 0)

    play(story, heartbeats(handle))


def test_who_leaves_is_waited_for_no_longer(play):
    waiting: list[Pending] = []
    cancelled = []

    def handle(ctx, request):
        waiting.append(Pending())
        waiting[-1].on_cancel = lambda: cancelled.append(request.group_id)
        return waiting[-1]

    async def story(wire):
        await wire.send(heartbeat())
        await until(lambda: waiting)
        wire.client.close()
        await until(lambda: cancelled)
        assert wire.connection.is_closed
        waiting[0].complete(HeartbeatResponse(0, 0))

    play(story, heartbeats(handle))


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\0\x0c\0", id="half-a-header"),
        pytest.param(header(HEARTBEAT, 5), id="unknown-version"),
        pytest.param(header(HEARTBEAT, -1), id="negative-version"),
        pytest.param(header(999, 0), id="unknown-api"),
        pytest.param(header(-1, 0), id="negative-api"),
        pytest.param(header(HEARTBEAT, 0), id="no-body"),
        pytest.param(heartbeat()[:-1], id="short-body"),
        pytest.param(header(HEARTBEAT, 0) + struct.pack(">h", 30_000) + b"g", id="string-too-long"),
        pytest.param(header(HEARTBEAT, 0) + struct.pack(">h", 2) + b"\xff\xfe" + b"\0" * 10, id="no-utf-8"),
        pytest.param(header(HEARTBEAT, 0, client_id=b"\xff"), id="client-id-no-utf-8"),
    ],
)
def test_what_is_no_request_costs_the_connection_and_one_line(play, frame, caplog):
    caplog.set_level(logging.INFO)

    async def story(wire):
        await wire.send(frame, heartbeat())
        assert await wire.answer() == b""
        assert wire.connection.is_closed

    play(story, answering())
    (line,) = [each for each in caplog.records if each.levelno >= logging.INFO and each.name.startswith("barnabas")]
    assert "closing the connection" in line.message


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(old_requests.produce("topic", -1, bytes(20)), id="malformed-header"),
        pytest.param(old_requests.fetch("abc"), id="malformed-body"),
        pytest.param(old_requests.multifetch([("t", 0, 0)] * 20), id="unknown-version"),
        pytest.param(old_requests.multiproduce([("topic", 0, bytes(20))]), id="of-several"),
        pytest.param(old_requests.offsets("a-longer-topic"), id="unknown-api"),
    ],
)
def test_a_client_of_kafka_0_7_costs_its_connection_and_one_line_in_a_while(play, frame, caplog):
    async def story(wire):
        await wire.send(frame, heartbeat())
        assert await wire.answer() == b""
        assert wire.connection.is_closed

    async def again(wire):
        await story(wire)
        (line,) = [each for each in caplog.records if each.name.startswith("barnabas")]
        assert (line.levelno, "a client of Kafka 0.7 at 10.1.2.3" in line.getMessage()) == (logging.WARNING, True)
        caplog.clear()
        second = Wire(wire.services, (fetch.HANDLER, produce.HANDLER))
        try:
            await story(second)
        finally:
            second.close()

    caplog.set_level(logging.INFO)
    play(again, fetch.HANDLER, produce.HANDLER)
    assert [each for each in caplog.records if each.name.startswith("barnabas")] == []


def test_too_many_array_elements_cost_the_connection(play):
    def request(count):
        return header(LIST_GROUPS, 4, is_flexible=True) + bytes([count + 1]) + b"\x02x" * count + b"\0"

    async def story(wire):
        await wire.send(request(MOST_ELEMENTS))
        assert (await wire.answer())[:4] == struct.pack(">i", 7)
        await wire.send(request(MOST_ELEMENTS + 1))
        assert await wire.answer() == b""

    play(story, Handler(ListGroupsRequest, 0, 4, lambda ctx, request: ListGroupsResponse(), list_groups.refuse))


def test_produce_may_have_more_elements_if_its_bytes_allow(play):
    seen = []

    def request(count):
        partition = struct.pack(">ii", 0, 100) + b"r" * 100
        body = struct.pack(">hhiih", -1, 1, 1_000, 1, 1) + b"t" + struct.pack(">i", count) + partition * count
        return header(PRODUCE, 3) + body

    async def story(wire):
        await wire.send(request(2 * MOST_ELEMENTS - 1), heartbeat())
        assert await wire.answer() == struct.pack(">ih", 7, 0)
        await wire.send(request(2 * MOST_ELEMENTS))
        assert await wire.answer() == b""

    def handle(ctx, request):
        seen.append(len(request.topic_data[0].partition_data))

    play(story, Handler(ProduceRequest, 3, 8, handle, produce.refuse), answering())
    assert seen == [2 * MOST_ELEMENTS - 1]


def test_a_controller_may_tell_of_more_than_others_may_ask(play):
    """But only where it may tell anything."""
    seen = []

    def request(count):
        states = [UpdateMetadataPartitionState2(index, isr=[1, 2], replicas=[1, 2]) for index in range(count)]
        out = WireBuffer()
        UpdateMetadataRequest(topic_states=[UpdateMetadataTopicState("t", states)]).encode(5, out)
        return header(UPDATE_METADATA, 5) + bytes(out)

    def handle(ctx, request):
        seen.append(len(request.topic_states[0].partition_states))
        return UpdateMetadataResponse()

    async def allowed(wire):
        await wire.send(request(MOST_ELEMENTS))
        # It is decoded and its answer encoded elsewhere.
        for _ in range(2):
            await until(lambda: wire.codec.waiting_count)
            wire.codec.run_next()
        assert await wire.answer() == struct.pack(">ih", 7, 0)

    async def denied(wire):
        wire.services.authorizer = SimpleNamespace(allows_everything=False, rights=lambda *_: 0)
        await wire.send(request(MOST_ELEMENTS))
        assert await wire.answer() == b""

    handler = Handler(UpdateMetadataRequest, 5, 5, handle, update_metadata.refuse)
    play(allowed, handler)
    assert seen == [MOST_ELEMENTS]
    play(denied, handler)
    assert seen == [MOST_ELEMENTS]


def test_a_bug_in_a_handler_is_answered_and_logged_with_its_traceback(play, caplog):
    def handle(ctx, request):
        raise ZeroDivisionError("a bug")

    async def story(wire):
        await wire.send(heartbeat(), heartbeat(2))
        assert await wire.answer() == struct.pack(">ih", 7, ErrorCode.UNKNOWN_SERVER_ERROR)
        assert await wire.answer() == struct.pack(">ih", 2, ErrorCode.UNKNOWN_SERVER_ERROR)

    play(story, heartbeats(handle))
    assert "ZeroDivisionError: a bug" in caplog.text


def test_a_controller_of_a_newer_protocol_is_told_of(play, caplog):
    caplog.set_level(logging.INFO)

    async def story(wire):
        await wire.send(header(UPDATE_METADATA, 7, is_flexible=True) + b"whatever it may hold")
        assert await wire.answer() == b""

    play(story, answering())
    assert (
        "UpdateMetadata version 7 is not served: the controller's inter.broker.protocol.version is above 2.7"
        in caplog.text
    )


def test_a_handler_may_close_the_connection(play):
    def handle(ctx, request):
        raise UnanswerableError("produced with acks=0")

    async def story(wire):
        await wire.send(heartbeat())
        assert await wire.answer() == b""

    play(story, heartbeats(handle))


def test_a_newer_api_versions_is_answered_in_version_0(play):
    async def story(wire):
        for version in (4, 100, 32_767, -1):
            await wire.send(header(API_VERSIONS_KEY, version, is_flexible=version > 2) + b"whatever it may hold")
            data = await wire.answer()
            assert data[:4] == struct.pack(">i", 7)
            answered, _ = ApiVersionsResponse.decode(0, memoryview(data[4:]))
            assert answered.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert [(each.api_key, each.min_version, each.max_version) for each in answered.api_keys] == [
                (API_VERSIONS_KEY, 0, 3)
            ]
        # And the connection goes on.
        await wire.send(header(API_VERSIONS_KEY, 0))
        answered, _ = ApiVersionsResponse.decode(0, memoryview((await wire.answer())[4:]))
        assert answered.error_code == ErrorCode.NONE

    play(story, answering())


def test_the_header_of_api_versions_answers_is_never_flexible(play):
    async def story(wire):
        await wire.send(header(API_VERSIONS_KEY, 3, is_flexible=True) + b"\x02a\x021\0")
        data = await wire.answer()
        answered, _ = ApiVersionsResponse.decode(3, memoryview(data[4:]))
        assert answered.error_code == ErrorCode.NONE

    play(story, answering())
