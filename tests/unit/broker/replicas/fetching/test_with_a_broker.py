"""A follower of our own broker, and of one that answers whatever it likes, over the network in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from struct import pack, unpack_from

import pytest

from barnabas.broker.interbroker.channels import BrokerChannels
from barnabas.broker.net.channel import Channel, SocketOptions
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.clients.admin import Admin
from barnabas.clients.admin_topics import NewTopic
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.config import BrokerConfig
from barnabas.core.pending import Spawner
from barnabas.core.timers import LoopTimers
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import PORT, Simulation
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from tests.unit.broker.handling import encoded
from tests.unit.broker.replicas.fetching.followers import MemoryFollower, batch

KEYS = [TopicPartition("t", number) for number in range(3)]
LEADER = "leader"


class Follower:
    """Fetchers of broker 7, whose only leader is broker 0."""

    def __init__(self, simulation: Simulation, **settings: str) -> None:
        self.errors: list[BaseException] = []
        timers = LoopTimers(simulation.loop)
        channels = BrokerChannels(
            simulation.network.host("follower"),
            {0: (LEADER, PORT)}.get,
            "broker-7",
            timers,
            Spawner(self.errors.append),
            lambda: 30_000,
        )
        properties = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.from_properties(properties, None, "test")
        self.fetchers = Fetchers(7, config, channels, ReplicationQuota(Windows(11, 1_000)), timers, simulation.clock)
        self.followed = [MemoryFollower(key, leader=0, leader_epoch=0) for key in KEYS]
        self._channels = channels

    def follow(self, epoch: int) -> None:
        for each in self.followed:
            each.leader_epoch = epoch
        self.fetchers.follow([(each, 0, epoch) for each in self.followed])

    def close(self) -> None:
        self.fetchers.close()
        self._channels.close()
        assert self.errors == []


async def until(claim: Callable[[], bool]) -> None:
    """Let time pass until something is so."""
    for _ in range(3_000):
        if claim():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it does not come to be")


async def epoch_of(pool: Pool) -> int:
    topic = (await pool.metadata(["t"])).topics["t"]
    return topic.partitions[0].leader_epoch


async def write(pool: Pool, count: int, size: int = 50) -> None:
    async with Producer(pool) as producer:
        for number in range(count):
            await (await producer.send("t", b"%d" % number + b"." * size, partition=number % 3))


@pytest.mark.parametrize("spoken", ["2.7", "2.0", "0.11.0"])
def test_a_follower_has_what_our_broker_has(spoken: str) -> None:
    simulation = Simulation(3)
    host = simulation.add_broker(LEADER, {"group.initial.rebalance.delay.ms": "0"})

    async def story() -> None:
        host.start()
        await asyncio.sleep(5)
        async with Pool(f"{LEADER}:{PORT}", env=simulation.client("client")) as pool:
            admin = Admin(pool)
            await admin.create_topic(NewTopic("t", 3, 1))
            await write(pool, 30)
            follower = Follower(simulation, inter_broker_protocol_version=spoken, log_message_format_version="0.8.2")
            follower.follow(await epoch_of(pool))
            await until(lambda: [each.log_end_offset for each in follower.followed] == [10, 10, 10])
            # Answers larger than what is asked for.
            await write(pool, 6, 900_000)
            await until(lambda: [each.log_end_offset for each in follower.followed] == [12, 12, 12])
            await until(lambda: [each.high_watermark for each in follower.followed] == [12, 12, 12])
            follower.close()

    simulation.run(story())
    assert (simulation.loop.errors, simulation.errors) == ([], [])


def test_a_follower_follows_its_leader_up_and_down() -> None:
    simulation = Simulation(4)
    host = simulation.add_broker(LEADER, {})

    async def story() -> None:
        host.start()
        await asyncio.sleep(5)
        async with Pool(f"{LEADER}:{PORT}", env=simulation.client("client")) as pool:
            admin = Admin(pool)
            await admin.create_topic(NewTopic("t", 3, 1))
            await write(pool, 30)
            await admin.delete_records({KEYS[0]: 4})
            follower = Follower(simulation)
            ahead, behind = follower.followed[1], follower.followed[2]
            # It begins where the leader does not begin any more, and another has more than the leader.
            ahead.put(0, 19, 0, batch(0, 20))
            ahead.high_watermark = 20
            epoch = await epoch_of(pool)
            follower.follow(epoch)
            await until(lambda: [each.log_end_offset for each in follower.followed] == [10, 10, 10])
            assert ("truncate fully", 4) in follower.followed[0].done
            assert follower.followed[0].log_start_offset == 4
            assert ahead.done[0] == ("truncate", 10)
            await admin.delete_records({KEYS[2]: 7})
            await until(lambda: behind.log_start_offset == 7)
            # What only the follower has is cut off when it begins anew.
            follower.fetchers.forget(KEYS)
            behind.put(10, 14, epoch, batch(10, 5, epoch))
            follower.follow(epoch)
            await until(lambda: behind.log_end_offset == 10)
            # It goes on with a leader that comes back.
            host.kill()
            await asyncio.sleep(3)
            host.start()
            await asyncio.sleep(5)
            await write(pool, 3)
            await until(lambda: [each.log_end_offset for each in follower.followed] == [11, 11, 11])
            assert ("truncate", 10) in behind.done
            assert follower.fetchers.failed_count == 0
            follower.close()

    simulation.run(story())
    assert (simulation.loop.errors, simulation.errors) == ([], [])


class Liar:
    """A leader that answers what the test says."""

    def __init__(self, simulation: Simulation) -> None:
        self.channels: list[Channel] = []
        self.requests: list[FetchRequest] = []
        self.answer: Callable[[FetchRequest], bytes] = lambda request: b""
        self._acceptor = simulation.network.host(LEADER).bind(LEADER, PORT, SocketOptions())
        self._acceptor.listen(self._accept)

    def _accept(self) -> None:
        channel, _ = self._acceptor.accept()
        self.channels.append(channel)
        data = bytearray()

        def read() -> None:
            space = bytearray(65_536)
            try:
                count = channel.recv_into(memoryview(space))
            except BlockingIOError:
                return
            except OSError:
                count = 0
            if not count:
                channel.stop_reads()
            data.extend(space[:count])
            while len(data) >= 4 and len(data) >= 4 + unpack_from(">i", data)[0]:
                (size,) = unpack_from(">i", data)
                frame = bytes(data[4 : 4 + size])
                del data[: 4 + size]
                header = decode_request_header(memoryview(frame))
                self.requests.append(FetchRequest.decode(11, memoryview(frame), header[-1])[0])
                self._say(channel, header[2])

        channel.watch_reads(read)

    def _say(self, channel: Channel, correlation_id: int) -> None:
        body = self.answer(self.requests[-1])
        if body[:4] == b"\0\0\0\0":
            body = pack(">i", correlation_id) + body[4:]
        left = bytearray(body if body[:3] == b"raw" else pack(">i", len(body)) + body) if body else bytearray()
        if left[:3] == b"raw":
            del left[:3]

        def push() -> None:
            try:
                while left:
                    del left[: channel.send(left)]
            except BlockingIOError:
                return
            except OSError:
                left.clear()
            channel.stop_writes()

        channel.watch_writes(push)


def fetch_answer(*parts: PartitionData, session_id: int = 9) -> bytes:
    topics = [FetchableTopicResponse("t", list(parts))]
    return bytes(4) + encoded(FetchResponse(session_id=session_id, responses=topics), 11)


def part(number: int, data: bytes = b"", end: int = 0) -> PartitionData:
    return PartitionData(number, 0, end, end, 0, records=data)


def lie(story: Callable[[Follower, Liar, Simulation], Awaitable[None]]) -> None:
    simulation = Simulation(5)

    async def told() -> None:
        liar = Liar(simulation)
        follower = Follower(simulation, inter_broker_protocol_version="2.6", replica_socket_timeout_ms="5000")
        await story(follower, liar, simulation)
        follower.close()

    simulation.run(told())
    assert simulation.loop.errors == []


pytestmark = pytest.mark.played(by=lie)


@pytest.mark.parametrize(
    "bad",
    [
        b"raw" + pack(">i", 2_000_000_000),
        b"raw" + pack(">i", 200_000) + bytes(100_000),
        pack(">ii", 0, 7),
        b"raw" + bytes(200_000),
        fetch_answer(part(0, batch(0), 1), part(1), part(2), part(3)),
        fetch_answer(part(0)),
    ],
    ids=["endless", "half", "torn", "nothing asked", "a stranger", "too few"],
)
async def test_an_answer_that_is_none_costs_a_new_attempt(
    follower: Follower, liar: Liar, simulation: Simulation, /, bad: bytes
) -> None:
    liar.answer = lambda request: bad
    follower.follow(0)
    await asyncio.sleep(20)
    assert all(each.batches == [] for each in follower.followed)
    # Not in a hurry: each second at most, or when the time for an answer is over.
    assert 2 <= len(liar.requests) <= 30
    assert all(request.session_epoch == 0 for request in liar.requests)
    good = [part(number, batch(0, 4), 4) for number in range(3)]
    liar.answer = lambda request: b"" if liar.requests[-1].session_epoch else fetch_answer(*good)
    await until(lambda: [each.log_end_offset for each in follower.followed] == [4, 4, 4])
    assert follower.fetchers.failed_count == 0


async def test_bad_records_cost_their_partition_alone(follower: Follower, liar: Liar, simulation: Simulation, /):
    wrong_crc = bytearray(batch(0, 4))
    wrong_crc[-1] ^= 1
    answers = [
        fetch_answer(part(0, batch(0, 4), 4), part(1, bytes(wrong_crc), 4), part(2, batch(0, 4), 4)),
        fetch_answer(part(0, batch(4), 5), part(2, batch(2, 4), 6)),
    ]
    liar.answer = lambda request: answers.pop(0) if answers else b""
    follower.follow(0)
    await until(lambda: not answers and follower.followed[0].log_end_offset == 5)
    assert [each.log_end_offset for each in follower.followed] == [5, 0, 4]
    # The offsets went back; the CRC may be right the next time.
    assert follower.fetchers.failed_count == 1
    await until(lambda: len(liar.requests) == 3)
    named = {each.partition for topic in liar.requests[1].topics for each in topic.partitions}
    assert (named, liar.requests[1].max_wait_ms) == ({0, 2}, 50)
