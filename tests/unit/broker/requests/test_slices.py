"""Requests that name very many partitions: others have their turns between, and the answers are the same."""

import asyncio
import struct
from collections.abc import Callable

import pytest

from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.requests.exchange import Exchange
from barnabas.broker.requests.handlers import (
    delete_records,
    fetch,
    join_group,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
    sync_group,
)
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, SLICE_STEPS, Slices, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.protocol.messages.fetch import FetchRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from barnabas.wire.protocol.wire import Message
from tests.replacing import replaces
from tests.unit.broker.groups.asking import Client, join_request
from tests.unit.broker.groups.conftest import Service
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests.conftest import batch, fetch_request, wanted
from tests.unit.broker.requests.wire import answering, header, heartbeat, until

pytestmark = pytest.mark.played(by="play")

MANY = range(4 * MOST_ELEMENTS_AT_ONCE)
LIMIT = 100_000


class Loop:
    """Turns of a loop that a test lets come, on a clock that goes on by some time with each look at it."""

    def __init__(self, look_ns: int = 0) -> None:
        self._due: list[Callable[[], object]] = []
        self._look_ns = look_ns
        self._now_ns = 0
        self.slices = Slices(Scheduler(self._due.append, self.now_ns), self.now_ns, InlineExecutor())

    def now_ns(self) -> int:
        self._now_ns += self._look_ns
        return self._now_ns

    def turn(self) -> bool:
        """One turn; whether there was anything to do."""
        due, self._due[:] = list(self._due), []
        for task in due:
            task()
        return bool(due)


def counting(name: str, done: list[str], count: int) -> Steps[str]:
    for _ in range(count):
        done.append(name)
        yield MORE
    yield f"{name} is done"


def test_a_slice_is_bounded_by_its_steps():
    loop, done = Loop(), []
    pending = loop.slices.run(counting("a", done, 3 * SLICE_STEPS))
    for number in (1, 2, 3):
        assert loop.turn()
        assert len(done) == number * SLICE_STEPS
    loop.turn()
    assert pending.value == "a is done"
    assert not loop.turn()


def test_a_slice_is_bounded_by_its_time():
    loop, done = Loop(look_ns=30_000), []
    loop.slices.run(counting("a", done, 1_000))
    loop.turn()
    assert len(done) == 4


def test_all_large_requests_share_one_slice_a_turn():
    loop, done = Loop(), []
    pendings = [loop.slices.run(counting(name, done, 2 * SLICE_STEPS)) for name in "abc"]
    turns = []
    while loop.turn():
        turns.append("".join(sorted(set(done))))
        done.clear()
    assert turns == ["a", "b", "c", "a", "b", "c", "", "", ""]
    assert [each.value for each in pendings] == ["a is done", "b is done", "c is done"]


def test_a_small_request_is_answered_at_once():
    loop = Loop()
    assert loop.slices.answer(counting("a", [], 0)) == "a is done"
    assert not loop.turn()


def test_an_exception_costs_nobody_else_anything():
    def failing() -> Steps[str]:
        yield MORE
        raise ZeroDivisionError("a bug")

    loop = Loop()
    failed, other = loop.slices.run(failing()), loop.slices.run(counting("b", [], 5))
    while loop.turn():
        pass
    assert isinstance(failed.error, ZeroDivisionError)
    assert other.value == "b is done"


def test_who_is_waited_for_no_longer_goes_no_further():
    loop, done = Loop(), []
    pending = loop.slices.run(counting("a", done, 10 * SLICE_STEPS))
    loop.turn()
    pending.cancel()
    while loop.turn():
        pass
    assert len(done) == SLICE_STEPS


@pytest.mark.parametrize("is_failing", [False, True])
def test_a_step_may_wait_for_something(is_failing):
    awaited: Pending[int] = Pending()

    def waiting() -> Steps[str]:
        yield Step(awaited)
        yield f"got {awaited.value}"

    loop = Loop()
    pending = loop.slices.answer(waiting())
    assert isinstance(pending, Pending)
    assert not loop.turn()
    if is_failing:
        awaited.fail(ZeroDivisionError("a bug"))
    else:
        awaited.complete(7)
    loop.turn()
    assert isinstance(pending.error, ZeroDivisionError) if is_failing else pending.value == "got 7"


def test_who_leaves_gives_up_what_is_waited_for():
    awaited: Pending[int] = Pending()

    def waiting() -> Steps[str]:
        yield Step(awaited)
        yield "never"

    loop = Loop()
    pending = loop.slices.answer(waiting())
    assert isinstance(pending, Pending)
    pending.cancel()
    assert awaited.is_done
    assert not loop.turn()


def test_an_answer_may_be_one_that_comes_later():
    later: Pending[str] = Pending()

    def steps() -> Steps[str]:
        yield MORE
        yield later

    loop = Loop()
    pending = loop.slices.run(steps())
    loop.turn()
    assert not pending.is_done
    later.complete("late")
    assert pending.value == "late"


# --- the handlers: all partitions but the first do not exist


def of_many(topic, partition, **values):
    """A topic with very many partitions, of classes that a request has."""
    return topic("t", [partition(each, **values) for each in MANY])


def _fetch() -> FetchRequest:
    return fetch_request(*[wanted(partition=each) for each in MANY])


def _produce() -> ProduceRequest:
    return ProduceRequest(None, 1, 1_000, [of_many(TopicProduceData, PartitionProduceData, records=bytes(batch()))])


LARGE: list[tuple[Handler, int, Callable[[], Message]]] = [
    (fetch.HANDLER, 11, _fetch),
    (fetch.HANDLER, 4, _fetch),
    (produce.HANDLER, 7, _produce),
    (
        list_offsets.HANDLER,
        4,
        lambda: ListOffsetsRequest(-1, 0, [of_many(ListOffsetsTopic, ListOffsetsPartition, timestamp=-1)]),
    ),
    (
        offset_for_leader_epoch.HANDLER,
        3,
        lambda: OffsetForLeaderEpochRequest(-1, [of_many(OffsetForLeaderTopic, OffsetForLeaderPartition)]),
    ),
    (
        delete_records.HANDLER,
        1,
        lambda: DeleteRecordsRequest([of_many(DeleteRecordsTopic, DeleteRecordsPartition, offset=1)], 1_000),
    ),
    (metadata.HANDLER, 5, lambda: MetadataRequest([MetadataRequestTopic(name=f"t{each}") for each in MANY])),
]


@pytest.mark.parametrize(
    ("handler", "version", "make"), LARGE, ids=[f"{each[0].request_class.SCHEMA_NAME}-{each[1]}" for each in LARGE]
)
def test_a_large_request_is_handled_in_many_turns_and_answered_as_a_small_one(data_path, handler, version, make):
    data_path.create("t")
    data_path.produce("t", batch())
    data_path.config.auto_create_topics_enable = False
    large = data_path.begin(handler, version, make(), is_large=True)
    assert isinstance(large, Pending)
    assert data_path.run_due() >= len(MANY) // SLICE_STEPS
    small = data_path.call(handler, version, make())
    answered = data_path.finish(handler, version, large)
    if handler is produce.HANDLER:
        assert [each.base_offset for each in answered.responses[0].partition_responses] == [1, *[-1] * (len(MANY) - 1)]
        small.responses[0].partition_responses[0].base_offset -= 1
    assert answered == small


# --- a long poll of very many partitions

TOPICS = [f"t{number}" for number in range(2 * SLICE_STEPS)]


@pytest.fixture
def waiting(data_path):
    """A fetch of partitions that are all there, and hold nothing yet."""
    for topic in TOPICS:
        data_path.create(topic)
    made = fetch_request(wanted(), topics=TOPICS, max_wait_ms=500)
    return data_path.begin(fetch.HANDLER, 11, made, is_large=True)


def fetched_topics(data_path, waiting) -> list[str]:
    """The topics whose records are in the answer."""
    answered = data_path.finish(fetch.HANDLER, 11, waiting)
    assert [each.topic for each in answered.responses] == TOPICS
    return [each.topic for each in answered.responses if each.partitions[0].records]


def test_a_large_fetch_waits_and_is_told(data_path, waiting):
    data_path.run_due()
    assert not waiting.is_done
    data_path.produce("t7", batch())
    assert data_path.run_due() >= 2
    assert fetched_topics(data_path, waiting) == ["t7"]
    assert (len(data_path.services.fetches), data_path.clock.timer_count) == (0, 0)


def test_what_comes_while_a_large_fetch_reads_is_not_missed(data_path, waiting):
    # Two turns for what is named, and one for the first half of the partitions.
    for _ in range(3):
        data_path.run_one_turn()
    assert len(data_path.services.fetches) == 1
    data_path.produce("t7", batch())
    data_path.run_due()
    assert waiting.is_done
    assert fetched_topics(data_path, waiting) == ["t7"]


def test_a_large_fetch_ends_at_its_deadline(data_path, waiting):
    data_path.run_due()
    data_path.clock.advance(499)
    data_path.run_due()
    assert not waiting.is_done
    data_path.clock.advance(1)
    data_path.run_due()
    assert fetched_topics(data_path, waiting) == []
    assert data_path.clock.timer_count == 0


def test_a_large_fetch_whose_client_leaves_is_forgotten(data_path, waiting):
    for _ in range(3):
        data_path.run_one_turn()
    assert len(data_path.services.fetches) == 1
    waiting.cancel()
    data_path.run_due()
    assert (len(data_path.services.fetches), data_path.clock.timer_count, data_path.errors) == (0, 0, [])


# --- over a connection


def large_produce(count: int = 2 * MOST_ELEMENTS_AT_ONCE) -> bytes:
    data = [PartitionProduceData(each, bytes([each % 256]) * 100) for each in range(count)]
    request = ProduceRequest(None, 1, 1_000, [TopicProduceData("t", data)])
    return header(produce.HANDLER.api_key, 7) + encoded(request, 7)


def metadata_handler(handle) -> Handler:
    return Handler(MetadataRequest, 0, 9, handle, metadata.refuse)


def large_metadata() -> bytes:
    request = MetadataRequest([MetadataRequestTopic(name=f"t{each}") for each in range(600)])
    return header(metadata.HANDLER.api_key, 1) + encoded(request, 1)


async def test_what_arrives_meanwhile_does_not_touch_a_large_request(connect, /):
    """Its records are handled where they arrived."""
    seen = []

    def handle(ctx, request):
        seen.extend(bytes(each.records) for each in request.topic_data[0].partition_data)

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse), answering(), most_elements=LIMIT)
    # The next requests' bytes come with it, and after it.
    await wire.send(large_produce(), heartbeat(8))
    await until(lambda: wire.codec.waiting_count)
    await wire.send(*[heartbeat(number) for number in range(9, 1_000)])
    for _ in range(10):
        await asyncio.sleep(0)
    assert not wire.has_answer()
    wire.codec.run_all()
    for number in range(8, 1_000):
        assert await wire.answer() == struct.pack(">ih", number, 0)
    assert seen == [bytes([each % 256]) * 100 for each in range(2 * MOST_ELEMENTS_AT_ONCE)]


async def test_a_large_answer_is_encoded_elsewhere(connect, /):
    def handle(ctx, request):
        return MetadataResponse(controller_id=len(request.topics))

    wire = connect(metadata_handler(handle), answering(), most_elements=LIMIT)
    await wire.send(large_metadata(), heartbeat(8))
    await until(lambda: wire.codec.waiting_count)
    wire.codec.run_next()
    await until(lambda: wire.codec.waiting_count)
    assert not wire.has_answer()
    wire.codec.run_next()
    answer = memoryview(await wire.answer())
    response, end = MetadataResponse.decode(1, answer, 4)
    assert (response.controller_id, end) == (600, len(answer))
    assert await wire.answer() == struct.pack(">ih", 8, 0)
    assert wire.codec.waiting_count == 0


@pytest.mark.parametrize("where", ["handler", "step", "encoding"])
async def test_a_large_request_that_fails_is_answered(connect, /, where):
    def handle(ctx, request):
        if where == "handler":
            raise ZeroDivisionError("a bug")
        return MetadataResponse(controller_id=1 << 40) if where == "encoding" else ctx.services.slices.run(steps())

    def steps():
        yield MORE
        raise ZeroDivisionError("a bug")

    wire = connect(metadata_handler(handle), most_elements=LIMIT)
    await wire.send(large_metadata())
    answering = asyncio.ensure_future(wire.answer())
    while not answering.done():
        wire.codec.run_all()
        await asyncio.sleep(0)
    response, _ = MetadataResponse.decode(1, memoryview(answering.result()), 4)
    assert {each.error_code for each in response.topics} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(response.topics) == 600


async def test_a_large_frame_that_is_no_request_costs_the_connection(connect, /):
    wire = connect(
        Handler(ProduceRequest, 0, 8, lambda ctx, request: None, produce.refuse), answering(), most_elements=LIMIT
    )
    await wire.send(large_produce()[:-1], heartbeat())
    await until(lambda: wire.codec.waiting_count or wire.connection.is_closed)
    wire.codec.run_all()
    assert await wire.answer() == b""


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_large_request_that_changes_something_goes_on_when_its_peer_has_left(connect, /, goes_on):
    done = []

    def handle(ctx, request):
        return ctx.services.slices.run(counting("a", done, 300))

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse, goes_on=goes_on), most_elements=LIMIT)
    await wire.send(large_produce())
    await until(lambda: wire.codec.waiting_count)
    wire.client.close()
    await until(lambda: wire.connection.is_closed)
    wire.codec.run_all()
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(done) == (300 if goes_on else 0)


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("when", ["decoding", "waiting", "failing", "in that turn", "encoding"])
async def test_the_memory_of_a_large_request_is_given_back_whenever_its_peer_leaves(connect, /, when, goes_on):
    waiting: list[Pending] = []

    def handle(ctx, request):
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse, goes_on=goes_on), most_elements=LIMIT)
    await wire.send(large_produce())
    await until(lambda: wire.codec.waiting_count)
    assert wire.memory.used_bytes > 50_000
    if when == "decoding":
        wire.connection.close()
    wire.codec.run_next()
    if when in ("waiting", "failing"):
        wire.connection.close()
    for pending in waiting:
        if when == "failing":
            pending.fail(ZeroDivisionError("a bug"))
        else:
            pending.complete(ProduceResponse([]))
    if when == "encoding":
        await until(lambda: wire.codec.waiting_count)
    wire.connection.close()
    wire.codec.run_all()
    for _ in range(10):
        await asyncio.sleep(0)
    assert wire.memory.used_bytes == 0


@replaces("barnabas.broker.requests.session")
async def test_a_large_request_whose_peer_has_left_counts_until_its_turn_and_is_not_decoded(connect, /, monkeypatch):
    decoded = []
    monkeypatch.setattr("barnabas.broker.requests.session._decode", lambda *_: decoded.append(True))
    wire = connect(metadata_handler(None), most_elements=LIMIT)
    await wire.send(large_metadata() + bytes(50_000))
    await until(lambda: wire.codec.waiting_count)
    wire.connection.close()
    assert wire.memory.used_bytes > 30_000
    wire.codec.run_all()
    assert (wire.memory.used_bytes, decoded) == (0, [])


@replaces("barnabas.broker.requests.exchange")
async def test_a_large_answer_whose_peer_has_left_is_not_encoded(connect, /, monkeypatch):
    encoded_answers = []
    monkeypatch.setattr(Exchange, "_encoded", lambda *each: encoded_answers.append(each))
    wire = connect(metadata_handler(lambda ctx, request: MetadataResponse()), most_elements=LIMIT)
    await wire.send(large_metadata())
    await until(lambda: wire.codec.waiting_count)
    wire.codec.run_next()
    await until(lambda: wire.codec.waiting_count)
    wire.connection.close()
    wire.codec.run_all()
    assert encoded_answers == []


@pytest.mark.parametrize("is_late", [False, True])
async def test_the_memory_of_a_large_request_without_an_answer_is_given_back(connect, /, is_late):
    """Produce with acks=0 has no answer."""

    def handle(ctx, request):
        return ctx.services.slices.run(steps()) if is_late else None

    def steps():
        yield MORE
        yield None

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse), answering(), most_elements=LIMIT)
    await wire.send(large_produce(), heartbeat(8))
    await until(lambda: wire.codec.waiting_count)
    assert wire.memory.used_bytes > 50_000
    wire.codec.run_all()
    assert await wire.answer() == struct.pack(">ih", 8, 0)
    assert wire.memory.used_bytes == 0


async def test_a_waiting_follower_keeps_nothing_of_a_large_sync(connect, /):
    service = Service(ManualClock())
    client = Client(service)
    joins = [client.begin(join_group, 0, join_request()) for _ in range(2)]
    for _ in range(2):
        service.clock.advance(0)
    follower, leader = sorted((each.value for each in joins), key=lambda each: each.member_id == each.leader)
    wire = connect(sync_group.HANDLER, most_elements=LIMIT)
    wire.services.groups = service.groups
    assignments = [SyncGroupRequestAssignment(f"m{number}", bytes(500)) for number in range(2 * MOST_ELEMENTS_AT_ONCE)]
    request = SyncGroupRequest("g", follower.generation_id, follower.member_id, assignments=assignments)
    await wire.send(header(sync_group.HANDLER.api_key, 2) + encoded(request, 2))
    await until(lambda: wire.codec.waiting_count)
    assert wire.memory.used_bytes > 50_000
    wire.codec.run_all()
    member = service.groups.describe("g")[1].members[follower.member_id]
    await until(lambda: member.is_awaiting_sync)
    assert wire.memory.used_bytes == 0
    request.member_id, request.assignments = leader.member_id, [SyncGroupRequestAssignment(follower.member_id, b"all")]
    assert client.ask(sync_group, 2, request).error_code == ErrorCode.NONE
    await until(lambda: wire.codec.waiting_count)
    wire.codec.run_all()
    answer, _ = SyncGroupResponse.decode(2, memoryview(await wire.answer()), 4)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"all")


async def test_others_have_their_turns_meanwhile(connect, /):
    def handle(ctx, request):
        return ctx.services.slices.answer(counting("a", [], 50 * SLICE_STEPS))

    wire = connect(Handler(ProduceRequest, 0, 8, handle, produce.refuse), answering(), most_elements=LIMIT)
    await wire.send(large_produce(), heartbeat(8))
    answer = asyncio.ensure_future(wire.answer())
    turn_count = 0
    while not answer.done():
        wire.codec.run_all()
        await asyncio.sleep(0)
        turn_count += 1
    assert turn_count >= 50
