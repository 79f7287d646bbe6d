"""Quotas as clients meet them: counted, answered at once, held."""

import asyncio
import struct
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.cluster.image import PartitionState
from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.net.framing import READ_AHEAD_BYTES
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.requests.fetches.sizes import answer_bytes
from barnabas.broker.requests.handlers import (
    create_partitions,
    create_topics,
    delete_topics,
    fetch,
    produce,
    update_metadata,
)
from barnabas.broker.requests.handlers.api_versions import HANDLER as API_VERSIONS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.metering import meter
from barnabas.broker.requests.table import RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.authorizer import AllowAll
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests import conftest
from tests.unit.broker.requests.conftest import produce_request
from tests.unit.broker.requests.wire import answering, header, heartbeat, heartbeat1, heartbeats, until, working_for

pytestmark = pytest.mark.played(by="play")

USER = "ANONYMOUS"
HELD = struct.Struct(">iih")


def batch(value_bytes: int) -> bytes:
    return bytes(conftest.batch(value=bytes(value_bytes), key=None))


def produce_frame(
    version: int, acks: int, correlation_id: int = 7, client_id: bytes = b"me", value_bytes: int = 100
) -> bytes:
    request = encoded(produce_request({"t": batch(value_bytes)}, acks), version)
    return header(0, version, correlation_id, client_id) + request


def api_versions_frame(client_id: bytes) -> bytes:
    return header(18, 0, 1, client_id)


async def turns(count: int = 100) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def quotas(data_path):
    """Of a broker that leads the topic `t`."""
    data_path.create("t")
    return data_path.services.quotas


@pytest.mark.parametrize("version", range(13))
def test_the_size_of_a_fetch_answer_is_known_before_it_is_encoded(version):
    aborted = [AbortedTransaction(1, 2), AbortedTransaction(3, 4)]
    for name, partition_count, length, listed in [
        ("t", 1, 0, None),
        ("é" * 70, 3, 127, []),
        ("x" * 200, 130, 126, aborted),
        ("y", 2, 20_000, aborted * 70),
    ]:
        partitions = [
            PartitionData(
                index,
                diverging_epoch=EpochEndOffset(1, 2) if index == 1 and version >= 12 else None,
                aborted_transactions=listed if version >= 4 else None,
                records=bytes(length),
            )
            for index in range(partition_count)
        ]
        topics = [FetchableTopicResponse(name, partitions), FetchableTopicResponse("z", [])]
        for response in (FetchResponse(responses=topics), FetchResponse(responses=[])):
            out = WireBuffer()
            response.encode(version, out)
            # The size field is counted, the header is not.
            assert answer_bytes(response, version) == out.total_bytes() + 4


def test_a_slice_of_a_file_counts_as_long_as_it_is(data_path):
    data_path.create("t")
    data_path.produce("t", batch(20_000))
    response = data_path.begin(fetch.HANDLER, 11, data_path.fetch_request("t"))
    assert isinstance(response, FetchResponse)
    records = response.responses[0].partitions[0].records
    assert isinstance(records, FileSlice)
    out = WireBuffer()
    response.encode(11, out)
    assert answer_bytes(response, 11) == out.total_bytes() + 4


async def test_a_produce_over_its_quota_is_appended_answered_and_held(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    frame = produce_frame(8, 1)
    size = len(frame)
    for _ in range(2):
        await wire.send(frame)
    first, second = await wire.answer(), None
    throttle_ms = round((size / 10 - 10) / 10 * 10_000)
    assert first[-4:] == struct.pack(">i", throttle_ms)
    await turns()
    assert data_path.log("t").log_end_offset == 1
    assert quotas.throttled_connection_counts == [1, 0, 0, 0]
    data_path.clock.advance(throttle_ms - 1)
    await turns()
    assert not wire.has_answer()
    data_path.clock.advance(1)
    second = await wire.answer()
    assert data_path.log("t").log_end_offset == 2
    assert struct.unpack(">i", second[-4:])[0] > 0
    (bucket,) = quotas.buckets(QuotaKind.PRODUCE)
    assert bucket.throttle_count == 2
    assert quotas.clients[USER, "me"].produced_bytes == 2 * size


@pytest.mark.parametrize("acks", [0, 1])
async def test_an_old_client_is_held_as_well(connect, /, data_path, quotas, acks):
    quotas.set_override(Entity(USER, None), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    frame = produce_frame(3, acks)
    await wire.send(frame, frame)
    await turns()
    assert data_path.log("t").log_end_offset == 1
    data_path.clock.advance(60_000)
    await turns()
    assert data_path.log("t").log_end_offset == 2


def test_who_connects_again_gains_nothing(play, data_path, quotas):
    quotas.set_override(Entity(None, DEFAULT), QuotaKind.PRODUCE, 10)
    size = len(produce_frame(8, 1))
    told = [0]

    async def story(connect):
        wire = connect(produce.HANDLER)
        await wire.send(produce_frame(8, 1))
        if told[-1]:
            await turns()
            data_path.clock.advance(told[-1] - 1)
            await turns()
            assert not wire.has_answer()
            assert quotas.throttled_connection_counts == [1, 0, 0, 0]
            data_path.clock.advance(1)
        told.append(struct.unpack(">i", (await wire.answer())[-4:])[0])

    for count in range(1, 4):
        play(story)
        # Nobody is waited for who has left.
        assert len(data_path.services.throttled) == 0
        assert quotas.throttled_connection_counts == [0, 0, 0, 0]
        assert data_path.log("t").log_end_offset == count
    # As on one connection: the first windows still count when the second request comes, and not with the third.
    once = size * 100 - 10_000
    assert told == [0, once, 2 * size * 100 - once, once]


async def test_another_client_of_a_user_who_is_held_waits_as_well(connect, /, data_path, quotas):
    quotas.set_override(Entity(USER, None), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1, client_id=b"first"))
    throttle_ms = struct.unpack(">i", (await wire.answer())[-4:])[0]
    other = connect(produce.HANDLER)
    # Only what the limit is on waits.
    await other.send(api_versions_frame(b"second"), produce_frame(8, 1, client_id=b"second"))
    await other.answer()
    await turns()
    assert not other.has_answer()
    data_path.clock.advance(throttle_ms)
    assert await other.answer()


def test_without_acks_nothing_is_gained_by_another_connection(play, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)

    async def story(connect):
        await connect(produce.HANDLER).send(produce_frame(8, 0))
        await turns()
        if data_path.services.throttled and len(quotas.clients) == 1:
            ends.append(data_path.log("t").log_end_offset)

    ends: list[int] = []
    for _ in range(3):
        play(story)
    assert ends == [1, 1, 1]


async def test_who_leaves_while_his_records_are_appended_pays_for_them(connect, /, data_path):
    data_path.create("t", compression_type="gzip")
    data_path.services.quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 1_000)
    data_path.preparing.is_holding = True
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1, value_bytes=500_000))
    await until(lambda: data_path.preparing.waiting_count)
    wire.client.close()
    await until(lambda: wire.connection.is_closed)
    data_path.preparing.run_all()
    assert data_path.log("t").log_end_offset == 1
    bucket = data_path.services.quotas.bucket(QuotaKind.PRODUCE, USER, "me", 0)
    assert bucket.rate_per_s(data_path.clock.monotonic_ms()) == pytest.approx(50_000, rel=0.01)
    assert bucket.used_up_until_ms == pytest.approx(data_path.clock.monotonic_ms() + 490_000, abs=500)


async def test_large_requests_of_many_connections_are_received_one_after_the_other(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 50_000)
    frame = produce_frame(8, 1, value_bytes=500_000)
    data = struct.pack(">i", len(frame)) + frame
    wire = connect(produce.HANDLER)
    send = asyncio.get_running_loop().sock_sendall
    peers = [wire, *(connect(produce.HANDLER) for _ in range(9))]
    for each in peers:
        # None of them is whole yet, and none is counted.
        await send(each.client, data[:20_000])
        await turns(10)
    assert len(data_path.services.throttled) == 9
    # Those who wait hold what they read ahead.
    rests = [asyncio.create_task(send(each.client, data[20_000:])) for each in peers[1:]]
    await turns(1_000)
    assert all(each.memory.used_bytes <= READ_AHEAD_BYTES for each in peers[1:])
    await send(wire.client, data[20_000:])
    await wire.answer()
    assert data_path.log("t").log_end_offset == 1
    for count in range(2, 11):
        # A little more than ten seconds' worth.
        data_path.clock.advance(10_003)
        await until(lambda count=count: data_path.log("t").log_end_offset == count)
    await asyncio.gather(*rests)


async def test_who_leaves_gives_his_place_up(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1))
    throttle_ms = struct.unpack(">i", (await wire.answer())[-4:])[0]
    for _ in range(5):
        other = connect(produce.HANDLER)
        await other.send(produce_frame(8, 1))
        await turns()
        assert len(data_path.services.throttled) == 2
        other.close()
    other = connect(produce.HANDLER)
    await other.send(produce_frame(8, 1))
    await turns()
    data_path.clock.advance(throttle_ms)
    assert await other.answer()


async def test_a_large_request_that_nobody_asked_about_is_not_kept(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1))
    await wire.answer()
    other = connect(produce.HANDLER)
    # As where the certificate is asked for with the first frame.
    other.connection.on_part = None
    await other.send(produce_frame(8, 1, value_bytes=400_000))
    assert await other.answer() == b""
    assert data_path.log("t").log_end_offset == 1


def test_what_others_still_wait_for_counts_when_the_windows_have_forgotten_it():
    quotas = Quotas(Windows(11, 1_000))
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 1_000)
    bucket = quotas.bucket(QuotaKind.PRODUCE, USER, "me", 0)
    assert bucket.record(0, 100_000) == 90_000
    # Kafka says 90 seconds again.
    assert bucket.record(20_000, 100_000) == 70_000 + 100_000
    # Who waited for all of it is told what Kafka tells.
    assert bucket.record(190_000, 100_000) == 90_000


async def test_a_hold_stays_where_another_limit_changes(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 1)
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1), produce_frame(8, 1))
    await wire.answer()
    # The windows have forgotten it.
    data_path.clock.advance(60_000)
    quotas.set_override(Entity(None, "somebody"), QuotaKind.PRODUCE, 5)
    data_path.clock.advance(1)
    await turns()
    assert not wire.has_answer()


@pytest.mark.parametrize(("handler", "first_strict"), [(create_topics, 6), (delete_topics, 5), (create_partitions, 3)])
def test_old_requests_wait_for_what_newer_ones_are_refused(handler, first_strict):
    table = RouteTable(
        (API_VERSIONS, handler.HANDLER), response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version
    )
    routes = {route.api_version: route.waits_for for route in table.of(handler.HANDLER.api_key)}
    assert all((kind is QuotaKind.CONTROLLER_MUTATION) == (version < first_strict) for version, kind in routes.items())


async def test_all_connections_of_a_user_share_his_quota_whatever_they_call_themselves(connect, /, data_path, quotas):
    quotas.set_override(Entity(USER, None), QuotaKind.PRODUCE, 1_000)
    sizes = []
    wire = connect(produce.HANDLER)
    for number in range(3):
        frame = produce_frame(8, 1, client_id=b"c%d" % number)
        sizes.append(len(frame))
        await wire.send(frame)
        await wire.answer()
    (bucket,) = quotas.buckets(QuotaKind.PRODUCE)
    assert bucket.rate_per_s(data_path.clock.monotonic_ms()) == pytest.approx(sum(sizes) / 10)
    assert len(quotas.clients) == 3


async def test_a_hold_ends_sooner_where_the_limit_is_raised(connect, /, data_path, quotas):
    entity = Entity(None, "me")
    quotas.set_override(entity, QuotaKind.PRODUCE, 1)
    wire = connect(produce.HANDLER)
    frame = produce_frame(8, 1)
    await wire.send(frame, frame)
    await wire.answer()
    data_path.clock.advance(10)
    await turns()
    assert not wire.has_answer()
    quotas.set_override(entity, QuotaKind.PRODUCE, 1_000_000)
    data_path.clock.advance(1)
    assert await wire.answer()
    # And where it goes altogether.
    quotas.set_override(entity, QuotaKind.PRODUCE, 1)
    await wire.send(frame, frame)
    await wire.answer()
    quotas.set_override(entity, QuotaKind.PRODUCE, None)
    data_path.clock.advance(1)
    assert await wire.answer()


async def test_a_hold_is_not_made_longer_by_another_limit(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    frame = produce_frame(8, 1)
    await wire.send(frame, frame)
    throttle_ms = struct.unpack(">i", (await wire.answer())[-4:])[0]
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 1)
    data_path.clock.advance(throttle_ms)
    assert await wire.answer()


async def test_nothing_is_read_beyond_its_bound_from_who_is_held_and_his_leaving_is_seen(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    wire = connect(produce.HANDLER)
    await wire.send(produce_frame(8, 1))
    await wire.answer()
    wire.client.close()
    await turns()
    assert wire.connection.is_closed
    assert len(data_path.services.throttled) == 0


def test_a_fetch_over_its_quota_is_answered_empty_and_held(data_path, quotas):
    for _ in range(10):
        data_path.produce("t", batch(10_000))
    quotas.set_override(Entity(None, "client"), QuotaKind.FETCH, 10_000)
    bucket = quotas.bucket(QuotaKind.FETCH, USER, "client", 0)
    response = data_path.begin(fetch.HANDLER, 11, data_path.fetch_request("t"))
    # All that all windows but one let through at once would be read, and with what stands around it is too much.
    assert response.responses == []
    assert bucket.rate_per_s(0) == 0
    first = data_path.call(fetch.HANDLER, 11, data_path.fetch_request("t", max_bytes=95_000))
    assert len(first.responses[0].partitions[0].records) == 95_000
    before = bucket.rate_per_s(0)
    assert before > 0
    second = data_path.call(fetch.HANDLER, 11, data_path.fetch_request("t", max_bytes=95_000))
    assert (second.responses, second.error_code) == ([], 0)
    # It did not leave, so it does not count.
    assert bucket.rate_per_s(0) == before
    data_path.clock.advance(11_000)
    third = data_path.call(fetch.HANDLER, 11, data_path.fetch_request("t", max_bytes=95_000))
    assert third.responses


def test_a_session_goes_on_after_an_empty_answer(data_path, quotas):
    data_path.produce("t", batch(5_000))
    request = data_path.fetch_request("t")
    request.session_epoch = 0
    opened = data_path.call(fetch.HANDLER, 11, request)
    assert opened.session_id
    quotas.set_override(Entity(None, "client"), QuotaKind.FETCH, 1)
    bucket = quotas.bucket(QuotaKind.FETCH, USER, "client", 0)
    data_path.produce("t", batch(5_000))
    bucket.record(0, 10_000)
    request = data_path.fetch_request("t", 1)
    request.session_id, request.session_epoch = opened.session_id, 1
    empty = data_path.call(fetch.HANDLER, 11, request)
    assert (empty.responses, empty.error_code, empty.session_id) == ([], 0, opened.session_id)
    quotas.set_override(Entity(None, "client"), QuotaKind.FETCH, None)
    request.session_epoch = 2
    filled = data_path.call(fetch.HANDLER, 11, request)
    assert filled.responses[0].partitions[0].records
    # One that began nothing: there is no session to go on with.
    quotas.set_override(Entity(None, "client"), QuotaKind.FETCH, 1)
    quotas.bucket(QuotaKind.FETCH, USER, "client", 0).record(0, 10_000)
    request = data_path.fetch_request("t")
    request.session_epoch = 0
    assert data_path.call(fetch.HANDLER, 11, request).session_id == 0


def assigned(data_path, *replicas: int) -> None:
    """The cluster says so of the topic t."""
    view = data_path.services.cluster
    partition = PartitionState(replicas[0], 1, replicas, replicas, ())
    view.image = replace(view.image, topics={"t": {0: partition}})


@pytest.mark.parametrize(("replica_id", "is_follower"), [(3, True), (1, False), (7, False)])
def test_without_access_rules_only_a_replica_of_the_partitions_is_a_follower(
    data_path, quotas, replica_id, is_follower
):
    data_path.produce("t", batch(5_000))
    assigned(data_path, 1, 3)
    quotas.set_override(Entity(None, "client"), QuotaKind.FETCH, 1)
    quotas.set_override(Entity(None, "client"), QuotaKind.REQUEST, 50)
    request = data_path.fetch_request("t", wait_ms=1)
    request.replica_id, request.session_epoch = replica_id, 0
    fetched = data_path.begin(fetch.HANDLER, 11, request)
    if isinstance(fetched, Pending):
        data_path.clock.advance(2)
        data_path.run_due()
        fetched = fetched.value
    assert any(each.records for topic in fetched.responses for each in topic.partitions) == is_follower
    assert quotas.bucket(QuotaKind.FETCH, USER, "client", 0).rate_per_s(0) == 0
    exchange = data_path.exchange(fetch.HANDLER, 11, request)
    meter(exchange, data_path.clock.monotonic_ns() + 1_000_000)
    assert (quotas.exempt.rate_per_s(100) > 0) == is_follower


@pytest.mark.parametrize(
    ("replica_id", "has_session", "is_follower"),
    [(3, True, True), (1, True, False), (7, True, False), (-1, True, False), (3, False, False)],
)
def test_a_follower_that_names_no_partition_is_known_by_those_of_its_session(
    data_path, quotas, replica_id, has_session, is_follower
):
    data_path.produce("t", batch(100))
    assigned(data_path, 1, 3)
    request = data_path.fetch_request("t")
    request.replica_id, request.session_epoch = replica_id, 0
    session_id = data_path.call(fetch.HANDLER, 11, request).session_id
    assert session_id > 0
    quotas.set_override(Entity(None, "client"), QuotaKind.REQUEST, 50)
    request.session_id, request.session_epoch, request.topics = session_id if has_session else 5, 1, []
    exchange = data_path.exchange(fetch.HANDLER, 11, request)
    meter(exchange, data_path.clock.monotonic_ns() + 1_000_000)
    counted = quotas.bucket(QuotaKind.REQUEST, USER, "client", 0).rate_per_s(100) > 0
    assert (quotas.exempt.rate_per_s(100) > 0, counted) == (is_follower, not is_follower)


async def test_who_takes_too_much_of_the_time_is_held_for_a_window(connect, /, data_path, quotas):
    quotas.thread_count = 11
    quotas.set_override(Entity(None, "me"), QuotaKind.REQUEST, 5)
    wire = connect(heartbeats(working_for(data_path, 20)))
    # 20 ms are 22 percent of a second in one of eleven threads, 2.2 over ten seconds.
    await wire.send(heartbeat1(1), heartbeat1(2), heartbeat1(3), heartbeat1(4))
    assert HELD.unpack(await wire.answer()) == (1, 0, 0)
    assert HELD.unpack(await wire.answer()) == (2, 0, 0)
    assert HELD.unpack(await wire.answer()) == (3, 1_000, 0)
    await turns()
    assert not wire.has_answer()
    data_path.clock.advance(1_000)
    assert HELD.unpack(await wire.answer()) == (4, 1_000, 0)
    assert quotas.clients[USER, "me"].request_ns == 80_000_000


async def test_what_was_waited_for_is_not_the_brokers_time(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.REQUEST, 50)
    waiting: list[Pending] = []

    def handle(ctx, request):
        data_path.clock.advance(7)
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat1(1))
    await turns()
    data_path.clock.advance(5_000)
    waiting[0].complete(HeartbeatResponse(0, 0))
    await wire.answer()
    (bucket,) = quotas.buckets(QuotaKind.REQUEST)
    assert bucket.rate_per_s(data_path.clock.monotonic_ms()) == pytest.approx(0.07)
    assert quotas.clients[USER, "me"].request_ns == 7_000_000


async def test_the_longer_of_two_throttle_times_counts_and_is_waited_once(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 10)
    quotas.set_override(Entity(None, "me"), QuotaKind.REQUEST, 0.0001)
    quotas.bucket(QuotaKind.REQUEST, USER, "me", 0).record(0, 100)
    wire = connect(produce.HANDLER)
    frame = produce_frame(8, 1)
    await wire.send(frame)
    # It waits for what others took of the time.
    await turns()
    assert not wire.has_answer()
    data_path.clock.advance(1_000)
    throttle_ms = struct.unpack(">i", (await wire.answer())[-4:])[0]
    assert throttle_ms == round((len(frame) / 10 - 10) / 10 * 10_000)
    assert quotas.throttled_connection_counts == [1, 0, 0, 0]
    assert quotas.bucket(QuotaKind.REQUEST, USER, "me", 0).throttle_count == 0
    # With a wider one the other is the longer one.
    quotas.set_override(Entity(None, "me"), QuotaKind.PRODUCE, 1_000_000)
    data_path.clock.advance(1)
    await wire.send(frame)
    assert struct.unpack(">i", (await wire.answer())[-4:])[0] == 1_000
    assert quotas.throttled_connection_counts == [0, 0, 1, 0]


async def test_a_produce_without_answer_is_not_held_for_its_time(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.REQUEST, 0.0001)
    wire = connect(produce.HANDLER)
    quotas.bucket(QuotaKind.REQUEST, USER, "me", 0).record(0, 100)
    await wire.send(produce_frame(8, 0), produce_frame(8, 0))
    await turns()
    assert data_path.log("t").log_end_offset == 2
    assert quotas.throttled_connection_counts == [0, 0, 0, 0]


def update_metadata_frame(partition_count: int) -> bytes:
    states = [UpdateMetadataPartitionState2(index, 1, 2, 1, [2], 1, [2]) for index in range(partition_count)]
    return header(6, 5) + encoded(UpdateMetadataRequest(2, 1, topic_states=[UpdateMetadataTopicState("u", states)]), 5)


def fetch_frame(replica_id: int, partition_count: int = 1) -> bytes:
    partitions = [conftest.wanted(partition=index) for index in range(partition_count)]
    return header(1, 11) + encoded(conftest.fetch_request(*partitions, replica_id=replica_id), 11)


@pytest.mark.parametrize(
    ("frame", "may_control", "waits"),
    [
        pytest.param(update_metadata_frame(1), True, False, id="UpdateMetadata"),
        pytest.param(update_metadata_frame(600), True, False, id="too large to be decoded at once"),
        pytest.param(update_metadata_frame(1), False, True, id="UpdateMetadata without ClusterAction"),
        pytest.param(fetch_frame(3), True, False, id="Fetch of a follower"),
        pytest.param(fetch_frame(7), True, True, id="Fetch of no replica"),
        pytest.param(fetch_frame(-1), True, True, id="Fetch of a consumer"),
        pytest.param(fetch_frame(-1, 600), True, True, id="Fetch of a consumer, too large to be decoded at once"),
    ],
)
async def test_a_brokers_first_request_does_not_wait_for_the_time_of_others(
    connect, /, data_path, quotas, frame, may_control, waits
):
    assigned(data_path, 1, 3)
    if not may_control:
        data_path.services.authorizer = NoRights()
    quotas.set_override(Entity(DEFAULT, None), QuotaKind.REQUEST, 1)
    quotas.bucket(QuotaKind.REQUEST, USER, "another client", 0).record(0, 100)
    wire = connect(update_metadata.HANDLER, fetch.HANDLER, most_elements=1_000)
    await wire.send(frame)
    await turns()
    assert quotas.throttled_connection_counts == [0, 0, int(waits), 0]


class NoRights(AllowAll):
    allows_everything = False

    def may(self, *_: Any) -> bool:
        return False

    def rights(self, *_: Any) -> int:
        return 0


@pytest.mark.parametrize("may", [True, False])
def test_only_who_may_do_what_brokers_do_takes_their_time_for_nothing(data_path, quotas, may):
    quotas.set_override(Entity(None, "client"), QuotaKind.REQUEST, 50)
    request = data_path.fetch_request("t")
    request.replica_id = 3
    assigned(data_path, 1, 3)
    exchange = data_path.exchange(fetch.HANDLER, 11, request)
    if not may:
        data_path.services.authorizer = NoRights()
    data_path.clock.advance(100)
    meter(exchange, data_path.clock.monotonic_ns())
    counted = quotas.bucket(QuotaKind.REQUEST, USER, "client", 0).rate_per_s(100) > 0
    exempt = quotas.exempt.rate_per_s(100) > 0
    assert (counted, exempt) == ((False, True) if may else (True, False))


async def test_a_refusal_is_counted_once(connect, /, data_path, quotas):
    quotas.set_override(Entity(None, "me"), QuotaKind.REQUEST, 50)

    def handle(ctx, request):
        data_path.clock.advance(10)
        raise ZeroDivisionError

    wire = connect(heartbeats(handle))
    await wire.send(heartbeat(1))
    assert (await wire.answer())[-2:] == struct.pack(">h", ErrorCode.UNKNOWN_SERVER_ERROR)
    (bucket,) = quotas.buckets(QuotaKind.REQUEST)
    assert bucket.rate_per_s(data_path.clock.monotonic_ms()) == pytest.approx(0.1)


async def test_without_quotas_nothing_is_looked_up(connect, /, quotas):
    wire = connect(answering())
    await wire.send(heartbeat(1))
    await wire.answer()
    assert not wire.connection.is_timed
    assert all(not list(quotas.buckets(kind)) for kind in QuotaKind)


def test_the_time_of_threads_beside_the_loop_counts(data_path):
    data_path.create("t", compression_type="gzip")
    data_path.clock.advance(1)
    data_path.preparing.is_holding = True
    exchange = data_path.exchange(produce.HANDLER, 8, produce_request({"t": batch(500_000)}))
    exchange.admitted_ns = data_path.clock.monotonic_ns()
    log = data_path.log("t")
    prepare = type(log).preparation

    def slow_preparation(*arguments):
        work = prepare(*arguments)

        def slow():
            data_path.clock.advance(30)
            return work()

        return slow

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(log), "preparation", slow_preparation)
        exchange.begin()
        data_path.clock.advance(5_000)
        assert exchange.worked_ns(data_path.clock.monotonic_ns()) == 0
        data_path.preparing.run_all()
    assert exchange.worked_ns(data_path.clock.monotonic_ns()) == 30_000_000
