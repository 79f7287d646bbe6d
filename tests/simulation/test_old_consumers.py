"""A group that lives in the registry, while its members come, go, crash, lose their connections and their sessions.

All of the consumer is the real one, but that nobody blocks in its streams. At any time

    - a member whose session lives gives only messages of partitions that are its own in the tree;
    - of one ownership it gives each message once, in order;
    - no stored offset goes back.

When nothing changes any more the owners are those of the rule, and stay; and everything that was written was given.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection
from random import Random

import pytest

from barnabas.api.connector.assignment import Assignment, assign_ranges
from barnabas.api.connector.decoders import DefaultDecoder
from barnabas.api.connector.errors import ConsumerRebalanceFailedError, ConsumerTimeoutError
from barnabas.api.connector.group_view import topics_of
from barnabas.api.connector.running import RunningConsumer
from barnabas.api.connector.settings import TABLE
from barnabas.api.connector.stream import KafkaStream, MessageAndMetadata, Sink
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_topics import NewPartitions
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.sessions import GuestRegistry
from barnabas.testing.simulation.world import Simulation
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import EventType, WatchEvent
from barnabas.wire.registry.znodes.consumers import (
    ConsumerThread,
    Pattern,
    Subscription,
    decode_offset,
    decode_owner,
    decode_subscription,
)
from barnabas.wire.registry.znodes.topics import decode_assignment
from tests.simulation.histories import BROKER, SERVERS, SETTINGS

# One with offsets in the registry and one with offsets in Kafka are always run: the shortest.
SEED_COUNT, USUAL = 40, (1, 21)
GROUP = "g"
TOPICS = ("t", "u")


class Member:
    """One consumer of the group, and the task that reads its streams."""

    def __init__(self, history: "GroupHistory", number: int, topics: dict[str, int] | None) -> None:
        dice = history.dice
        self.history = history
        self.name = f"{GROUP}_m{number}"
        self.registry = GuestRegistry(history.tree, Random(dice.getrandbits(64)), (number + 1) << 40)
        storage = {"offsets.storage": "kafka"} if history.seed % 3 == 0 else {}
        settings = TABLE.read(
            {
                "group.id": GROUP,
                "zookeeper.connect": "embedded",
                "auto.offset.reset": "smallest",
                "rebalance.backoff.ms": dice.choice([50, 500]),
                "rebalance.max.retries": 1_000,
                "auto.commit.interval.ms": dice.choice([20, 500]),
                "fetch.message.max.bytes": 2_000,
                **storage,
            }
        )
        if topics is not None:
            subscription = Subscription(topics)
        elif dice.random() < 0.3:
            subscription = Subscription({"[tu]": dice.randint(1, 3)}, Pattern.WHITE_LIST)
        else:
            subscription = Subscription({t: dice.randint(1, 3) for t in dice.sample(TOPICS, dice.randint(1, 2))})
        self.streams = [KafkaStream(2, self._note_room, 0, DefaultDecoder(), DefaultDecoder()) for _ in range(3)]
        client = history.simulation.client(self.name)
        self.running = RunningConsumer(self.registry, settings, client, self.name, subscription, self._sink_of)
        self.is_ended = False
        self.joining = asyncio.create_task(self._join())
        self.reading = asyncio.create_task(self._read())

    def _sink_of(self, partition: TopicPartition, thread: ConsumerThread) -> Sink:
        return self.streams[thread.number]

    def _note_room(self) -> None:
        self.running.fetchers.note_room()

    async def _join(self) -> None:
        try:
            await self.running.start()
        except ConsumerRebalanceFailedError:
            self.is_ended = True

    async def _read(self) -> None:
        while not self.is_ended:
            for stream in self.streams:
                try:
                    self.history.take(self, next(stream))
                except ConsumerTimeoutError:
                    pass
            await asyncio.sleep(self.history.dice.choice([0.005, 0.05, 0.2]))

    async def leave(self) -> None:
        await self._end_joining()
        try:
            await self.running.stop()
        except BarnabasError:
            # Its connection is lost: nothing is stored.
            pass
        self.is_ended = True
        await self.reading

    async def crash(self) -> None:
        """Its process ends; its session does so later."""
        self.is_ended = True
        self.registry.disconnect()
        await self._end_joining()
        await asyncio.sleep(self.history.dice.uniform(0, 6))
        await self.registry.expire()
        await self.leave()

    async def _end_joining(self) -> None:
        self.joining.cancel()
        await asyncio.gather(self.joining, return_exceptions=True)

    async def interrupt(self) -> None:
        """Its connection is lost for a while, and perhaps its session, now or only later."""
        dice = self.history.dice
        self.registry.disconnect()
        is_expired = dice.random() < 0.6
        await asyncio.sleep(dice.choice([0, 0.05, 3]))
        if is_expired:
            await self.registry.expire()
            await asyncio.sleep(dice.choice([0, 0.05, 3]))
        await self.registry.reconnect(is_expired)


class GroupHistory:
    """One history of a group."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.simulation = Simulation(seed)
        self.dice = Random(seed)
        self.host = self.simulation.add_broker(BROKER, SETTINGS)
        self.members: list[Member] = []
        self.member_count = 0
        self.written: dict[TopicPartition, int] = defaultdict(int)
        self.given: dict[TopicPartition, set[int]] = defaultdict(set)
        # Of each member and partition: which ownership it was, and what was given last in it.
        self.last: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        self.stored: dict[str, int] = {}
        self.faults: list[str] = []
        self.is_ending = False

    @property
    def tree(self) -> EmbeddedRegistry:
        registry = self.host.registry.session
        assert isinstance(registry, EmbeddedRegistry)
        return registry

    async def run(self) -> None:
        self.host.start()
        await asyncio.sleep(10)
        self.tree.observe(self._watch)
        async with Pool(SERVERS, "admin", env=self.simulation.client("admin")) as pool:
            for topic in TOPICS:
                await Admin(pool).create_topic(NewTopic(topic, self.dice.randint(1, 4), 1))
            self._add_member()
            writing = asyncio.create_task(self._write(pool))
            for _ in range(20):
                await asyncio.sleep(self.dice.choice([0, 0.1, 1, 4]))
                await self._change(pool)
            self.is_ending = True
            await writing
        # Whoever else is there, somebody reads everything.
        self._add_member(dict.fromkeys(TOPICS, 1))
        await self._settle()
        for member in self.members:
            await member.leave()

    def _add_member(self, topics: dict[str, int] | None = None) -> None:
        self.members.append(Member(self, self.member_count, topics))
        self.member_count += 1

    async def _change(self, pool: Pool) -> None:
        dice, what = self.dice, self.dice.random()
        if what < 0.3 or not self.members:
            self._add_member()
        elif what < 0.45:
            await self.members.pop(dice.randrange(len(self.members))).leave()
        elif what < 0.55:
            await self.members.pop(dice.randrange(len(self.members))).crash()
        elif what < 0.85:
            await dice.choice(self.members).interrupt()
        else:
            topic = dice.choice(TOPICS)
            count = len(await self._partitions(topic))
            if count < 8:
                await Admin(pool).create_partitions({topic: NewPartitions(count + dice.randint(1, 2))})

    async def _write(self, pool: Pool) -> None:
        async with Producer(pool) as producer:
            while not self.is_ending:
                topic = self.dice.choice(TOPICS)
                partition = TopicPartition(topic, self.dice.choice(await self._partitions(topic)))
                try:
                    await (await producer.send(topic, b"%d" % self.written[partition], partition=partition.partition))
                except BarnabasError:
                    # The partition is so new that no leader knows of it.
                    await asyncio.sleep(0.1)
                    continue
                self.written[partition] += 1
                await asyncio.sleep(0.05)

    async def _partitions(self, topic: str) -> list[int]:
        data, _ = await self.tree.get(paths.topic(topic))
        return list(decode_assignment(data).replicas)

    def take(self, member: Member, message: MessageAndMetadata[bytes, bytes]) -> None:
        """A member was given a message."""
        partition = TopicPartition(message.topic, message.partition)
        if message.raw_message != b"%d" % message.offset:
            self.faults.append(f"{partition} has {message.raw_message!r} at {message.offset}")
        if not member.is_ended:
            self.given[partition].add(message.offset)
        if not member.registry.is_alive:
            self.last.pop((member.name, partition), None)
            return
        node = self.tree.tree.get(paths.consumer_owner(GROUP, *partition))
        if node is None or decode_owner(node.data).consumer != member.name:
            self.faults.append(f"{member.name} gives {message!r}, and the owner is {node and node.data!r}")
            return
        ownership = node.stat().czxid
        before = self.last.get((member.name, partition))
        if before is not None and before[0] == ownership and message.offset != before[1] + 1:
            self.faults.append(f"{member.name} gives {message!r} after {before[1]}")
        self.last[member.name, partition] = (ownership, message.offset)

    def _watch(self, event: WatchEvent) -> None:
        if event.type in (EventType.CREATED, EventType.CHANGED) and event.path.startswith(
            paths.consumer_offsets(GROUP) + "/"
        ):
            node = self.tree.tree.get(event.path)
            if node is None or not node.data:
                return
            offset = decode_offset(node.data)
            if offset < self.stored.get(event.path, 0):
                self.faults.append(f"{event.path} goes back from {self.stored[event.path]} to {offset}")
            self.stored[event.path] = offset

    async def _settle(self) -> None:
        """Wait until the owners are those of the rule, stay so, and everything was given."""
        async with asyncio.timeout(600):
            while (owners := await self._owners()) != await self._rule() or not self._is_all_given():  # noqa: ASYNC110
                await asyncio.sleep(1)
        owned = await self._ownerships(owners)
        await asyncio.sleep(20)
        assert await self._owners() == await self._rule()
        assert await self._ownerships(owners) == owned, "partitions changed hands for nothing"

    def _is_all_given(self) -> bool:
        return all(len(self.given[partition]) == count for partition, count in self.written.items())

    async def _owners(self) -> Assignment:
        found: Assignment = {}
        for topic in TOPICS:
            for number in await self._partitions(topic):
                node = self.tree.tree.get(paths.consumer_owner(GROUP, topic, number))
                if node is not None:
                    found[TopicPartition(topic, number)] = decode_owner(node.data)
        return found

    async def _ownerships(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        stats = {each: await self.tree.exists(paths.consumer_owner(GROUP, *each)) for each in partitions}
        return {each: stat.czxid for each, stat in stats.items() if stat is not None}

    async def _rule(self) -> Assignment:
        threads: dict[str, list[ConsumerThread]] = {topic: [] for topic in TOPICS}
        names = {member.name for member in self.members}
        for consumer in await self.tree.children(paths.consumer_ids(GROUP)):
            data, _ = await self.tree.get(paths.consumer_id(GROUP, consumer))
            for topic, count in topics_of(decode_subscription(data), TOPICS, True).items():
                threads[topic] += [ConsumerThread(consumer, number) for number in range(count)]
            names.discard(consumer)
        if names:
            # Somebody is not there yet.
            return {TopicPartition("nobody", 0): ConsumerThread("", 0)}
        return assign_ranges({topic: await self._partitions(topic) for topic in TOPICS}, threads)


def play(seed: int) -> GroupHistory:
    history = GroupHistory(seed)
    print(f"seed {seed}")
    history.simulation.run(history.run())
    return history


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed in USUAL else pytest.mark.whole) for seed in range(SEED_COUNT)]
)
def test_every_partition_has_one_reader_and_all_is_read(seed: int) -> None:
    history = play(seed)
    assert history.faults == []
    assert history.simulation.loop.errors == []
    assert history.simulation.errors == []
    assert sum(history.written.values()) > 100
