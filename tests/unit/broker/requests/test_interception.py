"""Requests that a test kit takes in hand: it is asked before they are handled, and changes nothing that it leaves."""

import pytest

from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import HANDLERS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.interception import Interceptor
from barnabas.broker.requests.interception_messages import Verdict
from barnabas.broker.requests.table import RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import UnanswerableError
from barnabas.core.pending import Pending
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import Budget
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests.test_exchange import bodies

HEARTBEAT, PRODUCE, FETCH = 12, 0, 1
VERSION = 2


class Kit:
    """The kit's side of an interceptor, and the routes that it sits before."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.heard = []
        self.handled = []
        self.routes = RouteTable(HANDLERS, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version)
        for api_key in (HEARTBEAT, PRODUCE):
            for route in self.routes.of(api_key):
                route.handle = self.handle
        self.answer = HeartbeatResponse(0, 0)
        self.interceptor = Interceptor(self.routes, self.clock, lambda fields, body: self.heard.append((fields, body)))

    def handle(self, ctx, request):
        self.handled.append(request)
        return self.answer

    def watch(self, *api_keys):
        self.interceptor.on_message({"op": "watch", "id": 1, "api_keys": list(api_keys)}, bytearray())
        fields, _ = self.heard.pop()
        return fields["not_served"]

    def request(self, request=None, version=VERSION):
        request = request or HeartbeatRequest("g", 3, "m")
        ctx = RequestContext(None, ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT"), "me", version, 1)
        return self.routes.by_key(request.API_KEY << 16 | version).handle(ctx, request)

    def say(self, verdict, body=None):
        fields, _ = self.heard[-1]
        said = {"op": "verdict", "id": fields["id"], "verdict": verdict._asdict(), "is_changed": body is not None}
        self.interceptor.on_message(said, bytearray(body or b""))


@pytest.fixture
def kit():
    return Kit()


@pytest.fixture
def pending(kit):
    """Of a heartbeat that waits for its verdict."""
    kit.watch(HEARTBEAT)
    return kit.request()


def test_an_api_that_nobody_watches_has_the_handler_that_it_began_with(kit):
    original = kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle
    assert kit.watch(PRODUCE) == []
    assert kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle == original
    assert kit.watch(HEARTBEAT) == []
    assert kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle != original
    assert kit.watch() == []
    assert kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle == original


def test_an_api_that_is_not_served_is_named(kit):
    vote = 52  # Brokers with ZooKeeper do not serve it.
    assert kit.watch(HEARTBEAT, vote) == [vote]


def test_a_request_waits_for_its_verdict_and_is_handled_then(kit, pending):
    assert (kit.handled, pending.is_done) == ([], False)
    assert kit.heard == [
        (
            {"op": "request", "id": 1, "api_key": HEARTBEAT, "api_version": VERSION, "client_id": "me"},
            encoded(HeartbeatRequest("g", 3, "m"), VERSION),
        )
    ]
    kit.say(Verdict())
    assert kit.handled == [HeartbeatRequest("g", 3, "m")]
    assert pending.value is kit.answer


def test_a_request_outlives_the_buffer_that_it_came_in(kit):
    kit.watch(PRODUCE)
    frame = bytearray(b"records")
    topics = [TopicProduceData("t", partition_data=[PartitionProduceData(0, memoryview(frame))])]
    kit.request(ProduceRequest(None, 1, 1_000, topics), 8)
    frame[:] = b"another"
    kit.say(Verdict())
    (handled,) = kit.handled
    records = handled.topic_data[0].partition_data[0].records
    assert bytes(records) == b"records"
    # Base offsets are patched in place.
    assert not records.readonly


@pytest.mark.parametrize("handles_first", [False, True])
def test_a_refused_request_is_answered_with_the_error(kit, pending, handles_first):
    kit.say(Verdict(error_code=ErrorCode.NOT_COORDINATOR, handles_first=handles_first))
    assert pending.value == HeartbeatResponse(0, ErrorCode.NOT_COORDINATOR)
    assert len(kit.handled) == handles_first


@pytest.mark.parametrize(
    ("code", "above_partitions"),
    [(ErrorCode.OFFSET_OUT_OF_RANGE, 0), (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)],
)
def test_a_fetch_names_its_error_where_clients_expect_it(kit, code, above_partitions):
    kit.watch(FETCH)
    pending = kit.request(FetchRequest(topics=[FetchTopic("t", partitions=[FetchPartition(0)])]), 11)
    kit.say(Verdict(error_code=code))
    assert pending.value.error_code == above_partitions
    assert pending.value.responses[0].partitions[0].error_code == code


def test_what_cannot_be_refused_ends_its_connection(kit):
    kit.watch(PRODUCE)
    pending = kit.request(ProduceRequest(None, 0, 1_000, []), 8)
    kit.say(Verdict(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert isinstance(pending.error, UnanswerableError)


@pytest.mark.parametrize("handles_first", [False, True])
def test_a_dropped_request_ends_its_connection(kit, pending, handles_first):
    kit.say(Verdict(drops=True, handles_first=handles_first))
    assert isinstance(pending.error, UnanswerableError)
    assert len(kit.handled) == handles_first


@pytest.mark.parametrize("handles_first", [False, True])
def test_an_ignored_request_stays_pending(kit, pending, handles_first):
    kit.say(Verdict(ignores=True, handles_first=handles_first))
    kit.clock.advance(3_600_000)
    assert not pending.is_done
    assert len(kit.handled) == handles_first


def test_an_answer_is_kept_back(kit, pending):
    kit.say(Verdict(delay_ms=500))
    assert kit.handled
    kit.clock.advance(499)
    assert not pending.is_done
    kit.clock.advance(1)
    assert pending.value is kit.answer


def test_another_request_is_handled(kit):
    kit.watch(HEARTBEAT)
    kit.request()
    kit.say(Verdict(), encoded(HeartbeatRequest("other", 4, "n"), VERSION))
    assert kit.handled == [HeartbeatRequest("other", 4, "n")]


def test_another_answer_is_sent(kit, pending):
    kit.say(Verdict(shows_answer=True))
    assert kit.heard[-1] == ({"op": "answer", "id": 1}, encoded(HeartbeatResponse(0, 0), VERSION))
    kit.interceptor.on_message({"op": "answer", "id": 1}, bytearray(encoded(HeartbeatResponse(0, 27), VERSION)))
    assert pending.value == HeartbeatResponse(0, 27)


def test_what_has_no_answer_is_not_shown(kit):
    kit.answer = None
    kit.watch(HEARTBEAT)
    pending = kit.request()
    kit.say(Verdict(shows_answer=True))
    assert pending.value is None


def test_a_late_answer_is_waited_for(kit):
    kit.answer = Pending()
    kit.watch(HEARTBEAT)
    pending = kit.request()
    kit.say(Verdict())
    assert not pending.is_done
    kit.answer.complete(HeartbeatResponse(0, 0))
    assert pending.value == HeartbeatResponse(0, 0)


def test_who_leaves_while_his_request_is_handled_cancels_it(kit):
    kit.answer = Pending()
    cancelled = []
    kit.answer.on_cancel = lambda: cancelled.append(True)
    kit.watch(HEARTBEAT)
    pending = kit.request()
    kit.say(Verdict())
    pending.cancel()
    assert cancelled == [True]


def test_the_verdict_on_a_request_whose_peer_left_means_nothing(kit):
    kit.watch(HEARTBEAT)
    kit.request().cancel()
    kit.say(Verdict())
    assert kit.handled == []


def test_without_its_kit_the_broker_goes_on(kit):
    original = kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle
    kit.watch(HEARTBEAT)
    shown = kit.request()
    kit.say(Verdict(shows_answer=True))
    asked = kit.request()
    kit.interceptor.close()
    assert (shown.value, asked.value) == (kit.answer, kit.answer)
    assert kit.routes.by_key(HEARTBEAT << 16 | VERSION).handle == original


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.request_class.SCHEMA_NAME)
def test_what_passes_through_the_kit_is_what_came(kit, handler):
    """Requests as Kafka's own client wrote them, in every version; and the answers to them."""
    api_key = handler.api_key
    for version in range(handler.min_version, handler.max_version + 1):
        route = kit.routes.by_key(api_key << 16 | version)
        route.handle = kit.handle
        for body in bodies(handler, version):
            request, _ = route.decode(memoryview(bytearray(body)), 0, Budget())
            ctx = RequestContext(None, ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT"), "me", version, 1)
            kit.answer = handler.refuse(ctx, request, ErrorCode.NOT_COORDINATOR)
            kit.watch(api_key)
            pending = kit.request(request, version)
            kit.say(Verdict(shows_answer=True))
            assert kit.handled.pop() == request
            _, answer = kit.heard[-1]
            kit.interceptor.on_message({"op": "answer", "id": kit.heard[-1][0]["id"]}, bytearray(answer))
            assert encoded(pending.value, version) == encoded(kit.answer, version) == bytes(answer)
            kit.watch()
