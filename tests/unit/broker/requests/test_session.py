"""A session over a connection on a real pair of sockets: frames in, answers in order, what is wrong closes it."""

import logging
import struct
from types import SimpleNamespace

import pytest

from barnabas.broker.requests.handlers import fetch, list_groups, produce, update_metadata
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import UnanswerableError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.wire.protocol.messages.produce import ProduceRequest
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from tests import old_requests
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests.wire import HEARTBEAT, MOST_ELEMENTS, answering, header, heartbeat, heartbeats, until

pytestmark = pytest.mark.played(by="play")

PRODUCE, UPDATE_METADATA, LIST_GROUPS, API_VERSIONS_KEY = 0, 6, 16, 18


async def test_a_request_is_answered(connect, /):
    wire = connect(answering())
    await wire.send(heartbeat())
    assert await wire.answer() == struct.pack(">ih", 7, 0)


async def test_a_flexible_request_is_answered_with_a_tagged_header(connect, /):
    wire = connect(answering())
    # compact strings, and tagged fields at the end of header and body
    await wire.send(header(HEARTBEAT, 4, is_flexible=True) + b"\x02g" + struct.pack(">i", 3) + b"\x02m" + b"\0\0")
    assert await wire.answer() == struct.pack(">iBih", 7, 0, 0, 0) + b"\0"


async def test_handlers_see_who_asks(connect, /):
    seen = []

    def handle(ctx, request):
        seen.append((ctx.client_id, ctx.api_version, ctx.correlation_id, ctx.connection.host, request.group_id))
        return HeartbeatResponse(0, 0)

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat())
    await wire.answer()
    await wire.send(header(HEARTBEAT, 0, 8, None) + heartbeat()[12:])
    await wire.answer()
    assert seen == [("me", 0, 7, "10.1.2.3", "g"), ("", 0, 8, "10.1.2.3", "g")]


async def test_answers_keep_the_order_of_the_requests(connect, /):
    waiting: list[Pending] = []
    groups: list[str] = []

    def handle(ctx, request):
        groups.append(request.group_id)
        if request.group_id == "slow":
            waiting.append(Pending())
            return waiting[-1]
        return HeartbeatResponse(0, 0)

    wire = connect(heartbeats(handle))
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


async def test_no_answer_lets_the_next_request_through(connect, /):
    wire = connect(heartbeats(lambda ctx, request: None if request.group_id == "silent" else HeartbeatResponse(0, 0)))
    await wire.send(heartbeat(1, b"silent"), heartbeat(2))
    assert await wire.answer() == struct.pack(">ih", 2, 0)


async def test_an_answer_that_comes_to_nothing_lets_the_next_request_through(connect, /):
    waiting: list[Pending] = []

    def handle(ctx, request):
        if request.group_id != "silent":
            return HeartbeatResponse(0, 0)
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat(1, b"silent"), heartbeat(2))
    await until(lambda: waiting)
    waiting[0].complete(None)
    assert await wire.answer() == struct.pack(">ih", 2, 0)


async def test_who_leaves_is_waited_for_no_longer(connect, /):
    waiting: list[Pending] = []
    cancelled = []

    def handle(ctx, request):
        waiting.append(Pending())
        waiting[-1].on_cancel = lambda: cancelled.append(request.group_id)
        return waiting[-1]

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat())
    await until(lambda: waiting)
    wire.client.close()
    await until(lambda: cancelled)
    assert wire.connection.is_closed
    waiting[0].complete(HeartbeatResponse(0, 0))


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
async def test_what_is_no_request_costs_the_connection_and_one_line(connect, /, frame, caplog):
    caplog.set_level(logging.INFO)
    wire = connect(answering())
    await wire.send(frame, heartbeat())
    assert await wire.answer() == b""
    assert wire.connection.is_closed
    wire.close()
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
async def test_a_client_of_kafka_0_7_costs_its_connection_and_one_line_in_a_while(connect, /, frame, caplog):
    async def story(wire):
        await wire.send(frame, heartbeat())
        assert await wire.answer() == b""
        assert wire.connection.is_closed

    caplog.set_level(logging.INFO)
    wire = connect(fetch.HANDLER, produce.HANDLER)
    await story(wire)
    (line,) = [each for each in caplog.records if each.name.startswith("barnabas")]
    assert (line.levelno, "Kafka 0.7 client at 10.1.2.3" in line.getMessage()) == (logging.WARNING, True)
    caplog.clear()
    second = connect(fetch.HANDLER, produce.HANDLER)
    await story(second)
    second.close()
    wire.close()
    assert [each for each in caplog.records if each.name.startswith("barnabas")] == []


async def test_too_many_array_elements_cost_the_connection(connect, /):
    def request(count):
        return header(LIST_GROUPS, 4, is_flexible=True) + bytes([count + 1]) + b"\x02x" * count + b"\0"

    wire = connect(Handler(ListGroupsRequest, 0, 4, lambda ctx, request: ListGroupsResponse(), list_groups.refuse))
    await wire.send(request(MOST_ELEMENTS))
    assert (await wire.answer())[:4] == struct.pack(">i", 7)
    await wire.send(request(MOST_ELEMENTS + 1))
    assert await wire.answer() == b""


async def test_produce_may_have_more_elements_if_its_bytes_allow(connect, /):
    seen = []

    def request(count):
        partition = struct.pack(">ii", 0, 100) + b"r" * 100
        body = struct.pack(">hhiih", -1, 1, 1_000, 1, 1) + b"t" + struct.pack(">i", count) + partition * count
        return header(PRODUCE, 3) + body

    def handle(ctx, request):
        seen.append(len(request.topic_data[0].partition_data))

    wire = connect(Handler(ProduceRequest, 3, 8, handle, produce.refuse), answering())
    await wire.send(request(2 * MOST_ELEMENTS - 1), heartbeat())
    assert await wire.answer() == struct.pack(">ih", 7, 0)
    await wire.send(request(2 * MOST_ELEMENTS))
    assert await wire.answer() == b""
    assert seen == [2 * MOST_ELEMENTS - 1]


async def test_produce_of_the_smallest_messages_to_several_topics(connect, /):
    """A message of format 0 without key and value takes 26 bytes."""
    seen = []

    def handle(ctx, request):
        seen.append([topic.name for topic in request.topic_data])

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse), answering())
    topics = [struct.pack(">hsiii", 1, name, 1, 0, 26) + b"m" * 26 for name in (b"a", b"b", b"c")]
    for count in (1, 3):
        body = struct.pack(">hii", -1, 1_000, count) + b"".join(topics[:count])
        await wire.send(header(PRODUCE, 0, 7, None) + body, heartbeat())
        assert await wire.answer() == struct.pack(">ih", 7, 0)
    assert seen == [["a"], ["a", "b", "c"]]


async def test_a_controller_may_tell_of_more_than_others_may_ask(connect, /):
    """But only where it may tell anything."""
    seen = []

    def request(count):
        states = [UpdateMetadataPartitionState2(index, isr=[1, 2], replicas=[1, 2]) for index in range(count)]
        request = UpdateMetadataRequest(topic_states=[UpdateMetadataTopicState("t", states)])
        return header(UPDATE_METADATA, 5) + encoded(request, 5)

    def handle(ctx, request):
        seen.append(len(request.topic_states[0].partition_states))
        return UpdateMetadataResponse()

    handler = Handler(UpdateMetadataRequest, 5, 5, handle, update_metadata.refuse)
    allowed = connect(handler)
    await allowed.send(request(MOST_ELEMENTS))
    # It is decoded and its answer encoded elsewhere.
    for _ in range(2):
        await until(lambda: allowed.codec.waiting_count)
        allowed.codec.run_next()
    assert await allowed.answer() == struct.pack(">ih", 7, 0)
    assert seen == [MOST_ELEMENTS]
    denied = connect(handler)
    denied.services.authorizer = SimpleNamespace(allows_everything=False, rights=lambda *_: 0)
    await denied.send(request(MOST_ELEMENTS))
    assert await denied.answer() == b""
    assert seen == [MOST_ELEMENTS]


async def test_a_bug_in_a_handler_is_answered_and_logged_with_its_traceback(connect, /, caplog):
    def handle(ctx, request):
        raise ZeroDivisionError("a bug")

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat(), heartbeat(2))
    assert await wire.answer() == struct.pack(">ih", 7, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert await wire.answer() == struct.pack(">ih", 2, ErrorCode.UNKNOWN_SERVER_ERROR)
    wire.close()
    assert "ZeroDivisionError: a bug" in caplog.text


async def test_a_controller_of_a_newer_protocol_is_told_of(connect, /, caplog):
    caplog.set_level(logging.INFO)
    wire = connect(answering())
    await wire.send(header(UPDATE_METADATA, 7, is_flexible=True) + b"whatever it may hold")
    assert await wire.answer() == b""
    wire.close()
    assert (
        "UpdateMetadata version 7 is not supported: the controller's inter.broker.protocol.version is above 2.7"
        in caplog.text
    )


async def test_a_handler_may_close_the_connection(connect, /):
    def handle(ctx, request):
        raise UnanswerableError("produced with acks=0")

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat())
    assert await wire.answer() == b""


async def test_a_newer_api_versions_is_answered_in_version_0(connect, /):
    wire = connect(answering())
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


async def test_the_header_of_api_versions_answers_is_never_flexible(connect, /):
    wire = connect(answering())
    await wire.send(header(API_VERSIONS_KEY, 3, is_flexible=True) + b"\x02a\x021\0")
    data = await wire.answer()
    answered, _ = ApiVersionsResponse.decode(3, memoryview(data[4:]))
    assert answered.error_code == ErrorCode.NONE
