"""Requests to brokers, over the network in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from struct import pack, unpack_from

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.interbroker.channels import BrokerChannels
from barnabas.broker.net.channel import Channel, SocketOptions
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.pending import Spawner
from barnabas.core.timers import LoopTimers
from barnabas.testing.simulation.world import Simulation
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

HOST, PORT = "other", 9_092
LISTENER = "INTERNAL"


class Peer:
    """A broker that answers, or does something else.

    Attributes:
        frames: The requests that came, without their sizes.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.frames: list[bytes] = []
        self.channels: list[Channel] = []
        self.answers: Callable[[int], bytes] = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
        self._data = bytearray()
        self._acceptor = simulation.network.host(HOST).bind(HOST, PORT, SocketOptions())
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
        view = ClusterView("c")
        endpoint = UpdateMetadataEndpoint(PORT, HOST, LISTENER)
        view.update_metadata(UpdateMetadataRequest(live_brokers=[UpdateMetadataBroker(2, endpoints=[endpoint])]))
        errors: list[BaseException] = []
        channels = BrokerChannels(
            simulation.network.host("this"),
            view,
            lambda: LISTENER,
            "broker-1",
            LoopTimers(simulation.loop),
            Spawner(errors.append),
            lambda: 5_000,
        )
        await story(channels, Peer(simulation), simulation)
        channels.close()
        assert errors == []

    simulation.run(told())


def ask(channels: BrokerChannels, broker_id: int = 2, name: str = "tx") -> "asyncio.Future[EndTxnResponse]":
    return channels.send(broker_id, EndTxnRequest(name, 1, 2, True), 1, EndTxnResponse).future()


def test_requests_go_one_after_the_other_over_one_connection() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
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

    play(story)


def test_a_request_that_the_connection_does_not_take_at_once_goes_on() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        marker = WritableTxnMarker(1, 0, True, [WritableTxnMarkerTopic("t", list(range(40_000)))], 0)
        answer = channels.send(2, WriteTxnMarkersRequest([marker]), 0, EndTxnResponse)
        async with asyncio.timeout(60):
            assert (await answer.future()).error_code == 0
        assert len(peer.frames[0]) > 160_000

    play(story)


def test_who_is_not_known_or_not_there_can_not_be_asked() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        with pytest.raises(KafkaError, match="can't be reached"):
            await ask(channels, 3)
        simulation.network.kill(HOST)
        with pytest.raises(KafkaError, match="can't be reached"):
            await ask(channels)

    play(story)


def test_a_lost_connection_fails_what_is_on_its_way_and_the_rest_takes_a_new_one() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        peer.answers = lambda correlation_id: b""
        first, second = ask(channels), ask(channels)
        await asyncio.sleep(1)
        peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
        peer.channels[0].close()
        with pytest.raises(KafkaError, match="closed"):
            await first
        assert (await second).error_code == 0
        assert len(peer.channels) == 2

    play(story)


def test_a_connection_that_went_while_nobody_asked_is_replaced() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        await ask(channels)
        peer.channels[0].close()
        await asyncio.sleep(1)
        assert (await ask(channels)).error_code == 0

    play(story)


def test_who_does_not_answer_in_time_is_given_up() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        peer.answers = lambda correlation_id: b""
        asked_s = simulation.loop.time()
        with pytest.raises(KafkaError, match="in time"):
            await ask(channels)
        assert 5 <= simulation.loop.time() - asked_s < 6

    play(story)


@pytest.mark.parametrize("answer", [pack(">iih", 99, 0, 0), pack(">ih", 1, 0)])
def test_an_answer_that_is_none_ends_the_connection(answer: bytes) -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        peer.answers = lambda correlation_id: answer
        with pytest.raises(ProtocolError):
            await ask(channels)
        peer.answers = lambda correlation_id: pack(">iih", correlation_id, 0, 0)
        assert (await ask(channels)).error_code == 0
        assert len(peer.channels) == 2

    play(story)


def test_who_waits_when_the_broker_stops_is_told() -> None:
    async def story(channels: BrokerChannels, peer: Peer, simulation: Simulation) -> None:
        peer.answers = lambda correlation_id: b""
        first, second = ask(channels), ask(channels)
        await asyncio.sleep(1)
        channels.close()
        for each in (first, second, ask(channels)):
            with pytest.raises(KafkaError, match="stops"):
                await each

    play(story)
