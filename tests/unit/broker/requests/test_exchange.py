"""The life of a request: whatever fails, and whenever, its client gets an answer in its request's shape."""

import asyncio
import struct
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Client, Quotas
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.exchange import Exchange
from barnabas.broker.requests.handlers import HANDLERS
from barnabas.broker.requests.request_times import ALL_COUNTED, RequestTimes, add_sent
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError, StorageError
from barnabas.core.executor import ThreadExecutor, submit
from barnabas.core.histogram import index_of
from barnabas.core.pending import Pending, Spawner
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.wire import Message, Part
from tests.unit.broker.handling import encoded, recoded
from tests.unit.broker.requests.conftest import produce_request, route_of
from tests.unit.broker.requests.wire import answering, heartbeat, heartbeat1, heartbeats, until, working_for

pytestmark = pytest.mark.played(by="play")

VECTORS: dict[tuple[str, int], list[bytes]] = {}
for _line in (Path(__file__).resolve().parents[3] / "golden/message-vectors.tsv").read_text().splitlines():
    if not _line.startswith("#"):
        _name, _version, _body, _ = _line.split("\t")
        VECTORS.setdefault((_name, int(_version)), []).append(b"" if _body == "-" else bytes.fromhex(_body))


def request_frame(handler: Handler, version: int, body: bytes, correlation_id: int = 7) -> bytes:
    """A request with a body that Kafka's own client wrote."""
    header = struct.pack(">hhih", handler.api_key, version, correlation_id, 2) + b"me"
    return header + (b"\0" if version >= FIRST_FLEXIBLE_VERSION[handler.api_key] else b"") + body


def bodies(handler: Handler, version: int) -> list[bytes]:
    """Requests that want an answer."""
    if handler.is_private:
        # Kafka's clients have none.
        return [encoded(handler.request_class(), version)]
    if handler.api_key != 0:
        return VECTORS[handler.request_class.SCHEMA_NAME, version]
    # Kafka's own are random: most want none, or have fewer bytes than a batch.
    return [encoded(produce_request({"t": bytes(100)}), version)]


def names_something(part: Part) -> bool:
    """Whether no array is empty, so that there is a place for an error."""
    for name in part.FIELDS:
        value = getattr(part, name)
        if isinstance(value, list) and not (value and all(names_something(e) for e in value if isinstance(e, Part))):
            return False
    return True


def bug() -> None:
    raise ZeroDivisionError("a bug")


def in_the_handler(spawner, executor):
    return lambda ctx, request: bug()


def after_a_wait(spawner, executor):
    def handle(ctx, request):
        pending = Pending()
        asyncio.get_running_loop().call_soon(pending.fail, ZeroDivisionError("a bug"))
        return pending

    return handle


def in_a_callback_after_a_wait(spawner, executor):
    def handle(ctx, request):
        pending = Pending()
        asyncio.get_running_loop().call_soon(pending.complete, None)
        return pending.shaped(lambda _: bug())

    return handle


def in_a_coroutine(spawner, executor):
    async def fails() -> None:
        await asyncio.sleep(0)
        bug()

    return lambda ctx, request: spawner.spawn(fails())


def in_an_executor(spawner, executor):
    return lambda ctx, request: submit(executor, bug)


def in_the_encoding(spawner, executor):
    # No response that any version could say.
    return lambda ctx, request: object()


def in_the_encoding_after_a_wait(spawner, executor):
    def handle(ctx, request):
        pending = Pending()
        asyncio.get_running_loop().call_soon(pending.complete, object())
        return pending

    return handle


FAILURES = [
    in_the_handler,
    after_a_wait,
    in_a_callback_after_a_wait,
    in_a_coroutine,
    in_an_executor,
    in_the_encoding,
    in_the_encoding_after_a_wait,
]


def error_codes(part: Part) -> set[int]:
    """All error codes that an answer holds, wherever they stand."""
    found: set[int] = set()
    for name in part.FIELDS:
        value = getattr(part, name)
        if name == "error_code":
            found.add(value)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Part):
                found |= error_codes(each)
    return found - {0}


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.request_class.SCHEMA_NAME)
def test_a_request_that_fails_is_answered_in_its_own_shape(play, handler, fails):
    """Every API, every version: an answer with the code where its client looks for it; the next request goes on."""

    async def story(wire):
        for version in range(handler.min_version, handler.max_version + 1):
            for body in bodies(handler, version):
                decoded, _ = handler.request_class.decode(version, memoryview(bytearray(body)))
                await wire.send(request_frame(handler, version, body), heartbeat(99))
                data = await wire.answer()
                assert data[:4] == struct.pack(">i", 7), f"version {version}: the connection closed"
                is_tagged = version >= FIRST_FLEXIBLE_VERSION[handler.api_key] and handler.api_key != 18
                response = response_class(handler.api_key)
                answered, end = response.decode(version, memoryview(data), 5 if is_tagged else 4)
                assert end == len(data)
                assert answered == refusal(wire, handler, version, decoded, ErrorCode.UNKNOWN_SERVER_ERROR)
                assert (await wire.answer())[:4] == struct.pack(">i", 99)
        assert not wire.connection.is_closed

    with_loop(play, story, handler, fails)


def refusal(wire, handler: Handler, version: int, request: Part, code: ErrorCode) -> Message:
    """What a client of that version reads when its request is refused as a whole."""
    info = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
    answer = handler.refuse(RequestContext(wire.services, info, "me", version, 1), request, code)
    assert isinstance(answer, Message)
    return recoded(answer, version, response_class(handler.api_key))


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.request_class.SCHEMA_NAME)
async def test_a_refusal_names_its_error_for_all_that_was_asked(connect, /, handler):
    wire = connect()
    version = handler.max_version
    for body in bodies(handler, version):
        request, _ = handler.request_class.decode(version, memoryview(bytearray(body)))
        if not names_something(request):
            continue
        # The answer of DescribeLogDirs has a place for the errors of directories alone, and names none.
        has_place = handler.request_class.SCHEMA_NAME != "DescribeLogDirsRequest"
        refused = refusal(wire, handler, version, request, ErrorCode.NOT_CONTROLLER)
        assert error_codes(refused) == ({ErrorCode.NOT_CONTROLLER} if has_place else set())


def with_loop(play, story, handler, fails) -> None:
    errors: list[BaseException] = []
    spawner = Spawner(errors.append)
    others = [] if handler.api_key == 12 else [heartbeats(lambda ctx, request: HeartbeatResponse(0, 0))]
    executors = []

    def handle(ctx, request):
        if not executors:
            executors.append(ThreadExecutor(asyncio.get_running_loop(), "test"))
        # Of Heartbeat the second request is the one that goes well.
        if handler.api_key == 12 and ctx.correlation_id == 99:
            return HeartbeatResponse(0, 0)
        return fails(spawner, executors[0])(ctx, request)

    made = Handler(handler.request_class, handler.min_version, handler.max_version, handle, handler.refuse)
    if handler.api_key == 18:
        play(lambda connect: story(connect(*others, api_versions=made, most_elements=1_000)))
    else:
        play(lambda connect: story(connect(made, *others, most_elements=1_000)))
    for executor in executors:
        executor.close()
    # Of the executors alone: other tests of this process have threads of their own.
    assert sum(thread.name.startswith("test") for thread in threading.enumerate()) < 20


@pytest.mark.parametrize("fails", FAILURES)
def test_a_failed_produce_without_acks_closes_the_connection(play, fails):
    """There is no answer that could say it."""
    handler = next(each for each in HANDLERS if each.api_key == 0)

    async def story(wire):
        body = struct.pack(">hhii", -1, 0, 1_000, 0)
        await wire.send(request_frame(handler, 3, body))
        assert await wire.answer() == b""
        assert wire.connection.is_closed

    with_loop(play, story, handler, fails)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError(ErrorCode.NOT_CONTROLLER), ErrorCode.NOT_CONTROLLER),
        (StorageError("the disk failed"), ErrorCode.KAFKA_STORAGE_ERROR),
        (RuntimeError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (MemoryError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_an_error_is_told_by_its_code(connect, /, error, code):
    def handle(ctx, request):
        raise error

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat())
    assert await wire.answer() == struct.pack(">ih", 7, code)


async def test_a_late_protocol_error_closes_the_connection(connect, /):
    def handle(ctx, request):
        pending = Pending()
        asyncio.get_running_loop().call_soon(pending.fail, ProtocolError("no such thing"))
        return pending

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat())
    assert await wire.answer() == b""


async def test_a_refusal_that_fails_itself_closes_the_connection(connect, /):
    def handle(ctx, request):
        pending: Pending[object] = Pending()
        asyncio.get_running_loop().call_soon(pending.fail, ZeroDivisionError("a bug"))
        return pending

    wire = connect(Handler(HeartbeatRequest, 0, 4, handle, lambda ctx, request, error_code: bug()))
    await wire.send(heartbeat())
    assert await wire.answer() == b""


async def test_completing_an_answer_runs_no_other_request_inside(connect, /):
    """The next request of the same client is handled after whoever completed this one has gone on."""
    waiting: list[Pending] = []
    events: list[str] = []

    def handle(ctx, request):
        events.append(request.group_id)
        if request.group_id != "first":
            return HeartbeatResponse(0, 0)
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat(1, b"first"), heartbeat(2, b"second"))
    await until(lambda: waiting)
    waiting[0].complete(HeartbeatResponse(0, 0))
    events.append("completed")
    assert [(await wire.answer())[:4] for _ in range(2)] == [struct.pack(">i", 1), struct.pack(">i", 2)]
    assert events == ["first", "completed", "second"]


async def test_a_throttled_client_is_answered_at_once_and_then_held(connect, /, data_path):
    def handle(ctx, request):
        ctx.throttle_time_ms = 250
        return HeartbeatResponse(0, 0)

    wire = connect(heartbeats(handle))
    wire.table.count_requests()
    await wire.send(heartbeat1(1), heartbeat1(2))
    assert await wire.answer() == struct.pack(">iih", 1, 250, 0)
    for _ in range(100):
        await asyncio.sleep(0)
    data_path.clock.advance(249)
    assert not wire.has_answer()
    data_path.clock.advance(1)
    assert await wire.answer() == struct.pack(">iih", 2, 250, 0)
    assert wire.table.times[12].throttle_ms == 500


async def test_the_stages_of_a_request_are_measured(connect, /, data_path):
    waiting: list[Pending] = []

    def handle(ctx, request):
        data_path.clock.advance(3)
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(heartbeats(handle))
    wire.table.count_requests()
    await wire.send(heartbeat())
    await until(lambda: waiting)
    data_path.clock.advance(20)
    waiting[0].complete(HeartbeatResponse(0, 0))
    await wire.answer()
    times = wire.table.times[12]
    assert (times.count, times.failure_count) == (1, 0)
    assert (times.local_ns, times.remote_ns) == (3_000_000, 20_000_000)


async def test_frames_that_come_together_are_measured_each_by_itself(connect, /, data_path):
    wire = connect(heartbeats(working_for(data_path, 3)))
    wire.table.count_requests()
    await wire.send(heartbeat(1), heartbeat(2))
    await wire.answer()
    await wire.answer()
    times = wire.table.times[12]
    assert times.count == 2
    assert (times.local_ns, times.remote_ns) == (6_000_000, 0)
    # The second waits for the first, whose answer leaves with that of the second.
    assert (times.request_queue_ns, times.response_queue_ns) == (3_000_000, 3_000_000)


async def test_what_requests_took_is_counted_in_detail_where_somebody_looks(connect, /, data_path):
    def handle(ctx, request):
        data_path.clock.advance(3)
        return HeartbeatResponse(0, ErrorCode.UNKNOWN_MEMBER_ID if ctx.correlation_id == 2 else ErrorCode.NONE)

    wire = connect(heartbeats(handle))
    wire.table.count_requests()
    frames = [heartbeat(1), heartbeat(2), heartbeat1(3)]
    await wire.send(*frames)
    for _ in frames:
        await wire.answer()
    stages = wire.table.times[12]
    # The first two leave together.
    three_ms, six_ms, nine_ms = (index_of(ms * 1_000_000) for ms in (3, 6, 9))
    assert (stages.local[three_ms], sum(stages.local)) == (3, 3)
    assert [stages.total[each] for each in (three_ms, six_ms, nine_ms)] == [0, 2, 1]
    assert [stages.request_queue[each] for each in (three_ms, six_ms)] == [1, 1]
    assert sum(stages.remote) == 0
    assert stages.versions[:2] == [2, 1]
    assert stages.errors == {0: 2, 25: 1}
    assert stages.size_bytes == sum(map(len, frames))


def test_of_many_requests_a_sample_is_counted_in_detail():
    times = RequestTimes("any", 7)
    request = SimpleNamespace(
        route=SimpleNamespace(api_version=7, times=times),
        frame_bytes=100,
        received_ns=0,
        admitted_ns=1_000,
        handled_ns=0,
        completed_ns=2_000,
    )
    for _ in range(2 * ALL_COUNTED):
        add_sent([request], 3_000)
    assert times.count == times.versions[7] == 2 * ALL_COUNTED
    assert times.size_bytes == 200 * ALL_COUNTED
    sample_count = times.sample_count
    assert ALL_COUNTED < sample_count < 1.1 * ALL_COUNTED
    assert sum(times.total) == sum(times.sizes) == sum(times.request_queue) == sample_count


class CountingClock:
    """A clock that knows how often it was read."""

    def __init__(self) -> None:
        self.read_count = 0

    def monotonic_ms(self) -> int:
        return 0

    def monotonic_ns(self) -> int:
        self.read_count += 1
        return self.read_count


async def test_a_request_that_comes_alone_costs_two_readings_of_the_clock(connect, /, data_path):
    clock = data_path.services.clock = CountingClock()
    wire = connect(answering())
    await wire.send(heartbeat(1))
    await wire.answer()
    assert clock.read_count == 2
    await wire.send(heartbeat(2))
    await wire.answer()
    assert clock.read_count == 4
    assert not wire.table.times


async def test_it_costs_a_third_one_where_somebody_looks_at_figures(connect, /, data_path):
    clock = data_path.services.clock = CountingClock()
    wire = connect(answering())
    wire.table.count_requests()
    await wire.send(heartbeat(1))
    await wire.answer()
    assert clock.read_count == 3
    await wire.send(heartbeat(2))
    await wire.answer()
    assert clock.read_count == 6
    times = wire.table.times[12]
    assert (times.request_queue_ns, times.local_ns, times.response_queue_ns, times.response_send_ns) == (0, 2, 0, 2)


def test_a_frame_is_kept_once_however_often_that_is_asked():
    kept, let_go = [], []

    def keep_frame():
        kept.append("frame")
        return lambda: let_go.append("frame")

    session: Any = SimpleNamespace(keep_frame=keep_frame)
    connection = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
    client = Client(Quotas(Windows(11, 1_000)), "", "", 0)
    exchange = Exchange(None, connection, "", 7, 1, route_of(HANDLERS[0], 0), None, session, 0, client, 0)

    releases = [exchange.keep_frame(), exchange.keep_frame()]
    assert (len(kept), let_go) == (1, [])
    for release in releases:
        release()
    assert let_go == ["frame"]
