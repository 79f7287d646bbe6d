"""Requests to brokers, over the network in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from struct import pack, unpack_from

import pytest

from barnabas.broker.interbroker.channels import BrokerChannels, InTheClear
from barnabas.broker.net.channel import Channel, SocketOptions
from barnabas.clients.login import Login
from barnabas.clients.security import ClientSecurity
from barnabas.core.clock import SystemClock
from barnabas.core.errors import ConfigError, KafkaError, ProtocolError
from barnabas.core.pending import Spawner
from barnabas.core.timers import LoopTimers
from barnabas.testing.simulation.world import Simulation
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeResponse
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas.wire.security.jaas import JaasEntry
from tests.unit.broker.handling import encoded

HOST, PORT = "other", 9_092
OTHER_PORT = 9_093


class Peer:
    """A broker that answers, or does something else.

    Attributes:
        frames: The requests that came, without their sizes.
    """

    def __init__(self, simulation: Simulation, port: int = PORT) -> None:
        self.frames: list[bytes] = []
        self.channels: list[Channel] = []
        self.answers: Callable[[int], bytes] = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
        self._data = bytearray()
        self._acceptor = simulation.network.host(HOST).bind(HOST, port, SocketOptions())
        self._acceptor.listen(self._accept)

    def _accept(self) -> None:
        channel, _ = self._acceptor.accept()
        self.channels.append(channel)
        self._data.clear()
        channel.watch_reads(lambda: self._read(channel))

    def _read(self, channel: Channel) -> None:
        space = bytearray(4_096)
        try:
            count = channel.recv_into(memoryview(space))
        except (BlockingIOError, OSError):
            return
        if not count:
            channel.stop_reads()
        self._data += space[:count]
        while len(self._data) >= 4 and len(self._data) >= 4 + unpack_from(">i", self._data)[0]:
            (size,) = unpack_from(">i", self._data)
            self.frames.append(bytes(self._data[4 : 4 + size]))
            del self._data[: 4 + size]
            body = self.answers(decode_request_header(memoryview(self.frames[-1]))[2])
            if body:
                channel.send(bytearray(pack(">i", len(body)) + body))


def play(story: Callable[[BrokerChannels, Peer, Simulation], Awaitable[None]]) -> None:
    simulation = Simulation(1)

    async def told() -> None:
        errors: list[BaseException] = []
        channels = BrokerChannels(
            simulation.network.host("this"),
            {2: (HOST, PORT)}.get,
            "broker-1",
            LoopTimers(simulation.loop),
            Spawner(errors.append),
            lambda: 5_000,
        )
        await story(channels, Peer(simulation), simulation)
        channels.close()
        assert errors == []

    simulation.run(told())


pytestmark = pytest.mark.played(by=play)


def ask(channels: BrokerChannels, broker_id: int = 2, name: str = "tx") -> "asyncio.Future[EndTxnResponse]":
    return channels.send(broker_id, EndTxnRequest(name, 1, 2, True), 1, EndTxnResponse).future()


async def test_requests_go_one_after_the_other_over_one_connection(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    peer.answers = lambda correlation_id: b""
    asked = [ask(channels, name=name) for name in "abc"]
    await asyncio.sleep(1)
    assert len(peer.frames) == 1
    for number in range(3):
        body = pack(">iih", number + 1, 0, number)
        peer.channels[0].send(bytearray(pack(">i", len(body)) + body))
        assert (await asked[number]).error_code == number
    assert len(peer.channels) == 1
    headers = [decode_request_header(memoryview(frame)) for frame in peer.frames]
    assert [(header[0], header[1], header[3]) for header in headers] == [(26, 1, "broker-1")] * 3


async def test_a_request_that_the_connection_does_not_take_at_once_goes_on(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    marker = WritableTxnMarker(1, 0, True, [WritableTxnMarkerTopic("t", list(range(40_000)))], 0)
    answer = channels.send(2, WriteTxnMarkersRequest([marker]), 0, EndTxnResponse)
    async with asyncio.timeout(60):
        assert (await answer.future()).error_code == 0
    assert len(peer.frames[0]) > 160_000


async def test_who_is_not_known_or_not_there_can_not_be_asked(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    with pytest.raises(KafkaError, match="can't be reached"):
        await ask(channels, 3)
    simulation.network.kill(HOST)
    with pytest.raises(KafkaError, match="can't be reached"):
        await ask(channels)


async def test_a_lost_connection_fails_what_is_on_its_way_and_the_rest_takes_a_new_one(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    peer.answers = lambda correlation_id: b""
    first, second = ask(channels), ask(channels)
    await asyncio.sleep(1)
    peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
    peer.channels[0].close()
    with pytest.raises(KafkaError, match="closed"):
        await first
    assert (await second).error_code == 0
    assert len(peer.channels) == 2


async def test_a_connection_that_went_while_nobody_asked_is_replaced(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    await ask(channels)
    peer.channels[0].close()
    await asyncio.sleep(1)
    assert (await ask(channels)).error_code == 0


async def test_who_does_not_answer_in_time_is_given_up(channels: BrokerChannels, peer: Peer, simulation: Simulation, /):
    peer.answers = lambda correlation_id: b""
    asked_s = simulation.loop.time()
    with pytest.raises(KafkaError, match="in time"):
        await ask(channels)
    assert 5 <= simulation.loop.time() - asked_s < 6


@pytest.mark.parametrize("answer", [pack(">iih", 99, 0, 0), pack(">ih", 1, 0)])
async def test_an_answer_that_is_none_ends_the_connection(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /, answer: bytes
) -> None:
    peer.answers = lambda correlation_id: answer
    with pytest.raises(ProtocolError):
        await ask(channels)
    peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
    assert (await ask(channels)).error_code == 0
    assert len(peer.channels) == 2


async def test_who_waits_when_the_broker_stops_is_told(channels: BrokerChannels, peer: Peer, simulation: Simulation, /):
    peer.answers = lambda correlation_id: b""
    first, second = ask(channels), ask(channels)
    await asyncio.sleep(1)
    channels.close()
    for each in (first, second, ask(channels)):
        with pytest.raises(KafkaError, match="stops"):
            await each


async def test_lanes_do_not_wait_for_each_other_and_each_has_its_own_name_and_time(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    peer.answers = lambda correlation_id: b""
    request = EndTxnRequest("tx", 1, 2, True)
    slow = channels.send(2, request, 1, EndTxnResponse, "fetcher-0", 60_000).future()
    await asyncio.sleep(1)
    peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
    assert (await ask(channels)).error_code == 0
    asked_s = simulation.loop.time()
    with pytest.raises(KafkaError, match="in time"):
        await slow
    assert 57 <= simulation.loop.time() - asked_s < 60
    names = [decode_request_header(memoryview(frame))[3] for frame in peer.frames]
    assert names == ["broker-1-fetcher-0", "broker-1"]


async def test_a_broker_that_has_moved_gets_a_new_connection_and_one_that_is_not_known_keeps_it(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    await ask(channels)
    channels.address_of = lambda broker_id: None
    await ask(channels)
    assert (len(peer.channels), len(peer.frames)) == (1, 2)
    other = Peer(simulation, OTHER_PORT)
    channels.address_of = lambda broker_id: (HOST, OTHER_PORT)
    await ask(channels)
    assert (len(peer.frames), len(other.frames)) == (2, 1)
    await asyncio.sleep(1)
    assert peer.channels[0].has_peer_left()


async def test_a_lane_that_is_dropped_tells_who_waits_and_a_new_request_goes_over_a_new_connection(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    peer.answers = lambda correlation_id: b""
    first, second = ask(channels), ask(channels)
    await asyncio.sleep(1)
    channels.drop(2)
    channels.drop(2)
    for each in (first, second):
        with pytest.raises(KafkaError, match="no longer needed"):
            await each
    # While it dials, too.
    third = ask(channels)
    channels.drop(2)
    with pytest.raises(KafkaError, match="no longer needed"):
        await third
    peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
    assert (await ask(channels)).error_code == 0
    await asyncio.sleep(1)
    assert [channel.has_peer_left() for channel in peer.channels] == [True] * (len(peer.channels) - 1) + [False]


async def test_why_a_broker_is_not_reached_is_logged_once(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    def told(simulation: Simulation) -> list[str]:
        return [line for line in simulation.history if "cannot connect" in line]

    for _ in range(3):
        with pytest.raises(KafkaError, match="can't be reached"):
            await ask(channels, 3)
    assert len(told(simulation)) == 1
    simulation.network.cut_power(HOST)
    for _ in range(2):
        with pytest.raises(KafkaError, match="can't be reached: other:9092: it does not answer in time"):
            await ask(channels)
    assert len(told(simulation)) == 2


def test_why_a_connection_ends_before_it_brings_anything_is_logged_once() -> None:
    def told(simulation: Simulation) -> list[str]:
        return [line for line in simulation.history if "cannot connect" in line]

    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        async def hang_up() -> None:
            peer.answers = lambda correlation_id: b""
            asked = ask(channels)
            await asyncio.sleep(1)
            peer.channels[-1].close()
            with pytest.raises(KafkaError, match="closed"):
                await asked

        for _ in range(3):
            await hang_up()
        assert [line.split("cannot ")[1] for line in told(simulation)] == [
            "connect to broker 2: other:9092: the broker closed the connection"
        ]
        # One that has answered may go without a word, and what is wrong after it is told again.
        peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
        await ask(channels)
        await hang_up()
        assert len(told(simulation)) == 1
        await hang_up()
        assert len(told(simulation)) == 2

    play(story)


class NoLogin(InTheClear):
    """Every login fails before anything is sent."""

    def new_login(self, where: str) -> None:
        raise ConfigError(f"no credentials for {where}")


async def test_a_failed_login_fails_all_waiting_requests_and_connects_once(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    channels.security = NoLogin()
    asked = [ask(channels, name=name) for name in "ab"]
    for each in asked:
        with pytest.raises(KafkaError, match="refuses the login"):
            await each
    await asyncio.sleep(10)
    assert len(peer.channels) == 1


class PlainLogin(InTheClear):
    def new_login(self, where: str) -> Login:
        security = ClientSecurity(mechanism="PLAIN", login=JaasEntry("Plain", {"username": "u", "password": "p"}))
        return Login(security, Random(1), SystemClock(), where)


async def test_a_login_uses_versions_that_the_broker_has(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    """Kafka 2.0 and 2.1 close a connection on SaslAuthenticate 1."""
    channels.security = PlainLogin()
    versions = ApiVersionsResponse(api_keys=[ApiVersion(17, 0, 1), ApiVersion(36, 0, 0)])
    answers = [encoded(versions, 0), encoded(SaslHandshakeResponse(0, ["PLAIN"]), 1)]
    answers += [encoded(SaslAuthenticateResponse(), 0), encoded(EndTxnResponse(), 1)]
    peer.answers = lambda correlation_id: pack(">i", correlation_id) + answers[len(peer.frames) - 1]
    assert (await ask(channels)).error_code == 0
    headers = [decode_request_header(memoryview(frame)) for frame in peer.frames]
    assert [header[:2] for header in headers] == [(18, 0), (17, 1), (36, 0), (26, 1)]


async def test_a_login_on_an_expired_session_is_the_first_thing_sent(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    """The receiver closes an expired session on anything else, and has told its versions before."""
    channels.security = PlainLogin()
    versions = ApiVersionsResponse(api_keys=[ApiVersion(17, 0, 1), ApiVersion(36, 0, 1)])
    login = [encoded(SaslHandshakeResponse(0, ["PLAIN"]), 1)]
    login += [encoded(SaslAuthenticateResponse(session_lifetime_ms=60_000), 1), encoded(EndTxnResponse(), 1)]
    answers = [encoded(versions, 0), *login, *login]
    peer.answers = lambda correlation_id: pack(">i", correlation_id) + answers[len(peer.frames) - 1]
    assert (await ask(channels)).error_code == 0
    await asyncio.sleep(70)
    assert (await ask(channels)).error_code == 0
    headers = [decode_request_header(memoryview(frame)) for frame in peer.frames]
    assert [header[:2] for header in headers] == [(18, 0), *[(17, 1), (36, 1), (26, 1)] * 2]


def records_answer(correlation_id: int, records: bytes) -> bytes:
    data = PartitionData(0, 0, 7, 7, 0, records=records)
    answer = pack(">i", correlation_id) + encoded(FetchResponse(responses=[FetchableTopicResponse("t", [data])]), 11)
    return pack(">i", len(answer)) + answer


def fetch(channels: BrokerChannels, max_bytes: int = 10_000_000) -> "asyncio.Future[FetchResponse]":
    return channels.send(2, FetchRequest(replica_id=3), 11, FetchResponse, max_answer_bytes=max_bytes).future()


def records_of(response: FetchResponse) -> memoryview:
    records = response.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    return records


async def say(channel: Channel, data: bytes) -> None:
    """Send all of it, as the peer takes it."""
    view = memoryview(data)
    while view:
        try:
            view = view[channel.send(view) :]
        except BlockingIOError:
            await asyncio.sleep(0.001)


async def test_large_answers_are_received_in_one_piece_and_small_ones_let_the_space_go(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /
) -> None:
    peer.answers = lambda correlation_id: b""
    lengths = [10, 3_000_000, 2_900_000, 70_000, 10, 100_000, 1, 90_000, 65_500]
    for number, length in enumerate(lengths):
        answer = fetch(channels)
        await asyncio.sleep(1)
        assert len(peer.frames) == number + 1
        records = simulation.dice.randbytes(length)
        await say(peer.channels[0], records_answer(number + 1, records))
        async with asyncio.timeout(600):
            got = records_of(await answer)
        assert got == records
        # It stays as it is until something else is asked for.
        await asyncio.sleep(1)
        assert got == records
    assert len(peer.channels) == 1


@pytest.mark.parametrize("start", [pack(">i", 10_000_001), pack(">i", -1), pack(">i", 4) + bytes(100)])
async def test_an_answer_that_is_longer_than_it_may_be_or_than_it_says_ends_the_connection(
    channels: BrokerChannels, peer: Peer, simulation: Simulation, /, start: bytes
) -> None:
    peer.answers = lambda correlation_id: b""
    answer = fetch(channels)
    await asyncio.sleep(1)
    await say(peer.channels[0], start)
    with pytest.raises((KafkaError, ProtocolError)):
        await answer
    assert simulation.loop.time() < 3


async def test_half_an_answer_and_silence_is_given_up(channels: BrokerChannels, peer: Peer, simulation: Simulation, /):
    peer.answers = lambda correlation_id: b""
    answer = fetch(channels)
    await asyncio.sleep(1)
    await say(peer.channels[0], records_answer(1, bytes(500_000))[:300_000])
    with pytest.raises(KafkaError, match="in time"):
        await answer
    assert 5 <= simulation.loop.time() < 7
