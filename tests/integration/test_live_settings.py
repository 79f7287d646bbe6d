"""A running broker whose settings are changed in its registry: threads, disk and network are the machine's own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import KafkaError
from barnabas.core.executor import Executor
from barnabas.core.types import TopicPartition
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.registry.configs import change_config
from barnabas.registry.store import Registry
from barnabas.server.environment import RegistryDoor, machine_environment
from barnabas.server.node import Node
from tests.compat.raw import ask
from tests.patience import PATIENCE_S

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    # It looks once, a second after the start, and not again by itself.
    "log.cleaner.backoff.ms": "3600000",
    "log.cleaner.min.compaction.lag.ms": "3600000",
    "log.cleaner.min.cleanable.ratio": "0.01",
}


class KeptRegistry:
    """A door to a registry that keeps the session for the test; see `RegistryDoor`."""

    def __init__(self, door: RegistryDoor) -> None:
        self._door = door
        self.session: Registry | None = None

    def holds(self, path: Path) -> bool:
        return self._door.holds(path)

    async def open(self, path: Path, clock: Clock, executor: Executor) -> Registry:
        self.session = await self._door.open(path, clock, executor)
        return self.session


class Running:
    """A broker in this process, and a client of it."""

    def __init__(self, node: Node, registry: Registry) -> None:
        self.servers = f"{node.address[0]}:{node.address[1]}"
        self.pool = Pool(self.servers, "test")
        self._registry = registry

    async def change(self, entity: str, overrides: Mapping[str, str]) -> None:
        await change_config(self._registry, entity, overrides)

    async def described(self, kind: int, name: str, setting: str) -> tuple[str | None, int]:
        """The value of a setting and the code of its source."""
        request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, [setting])], include_synonyms=True)
        answer = await asyncio.to_thread(ask, self.servers, request, 2)
        (entry,) = answer.results[0].configs
        return entry.value, entry.config_source

    async def until_largest(self, topic: str, expected: tuple[str, int]) -> None:
        """Wait until a topic's largest message, and its source, are so."""
        while await self.described(2, topic, "max.message.bytes") != expected:
            continue

    async def count(self, topic: str) -> int:
        """How many records a topic's partition 0 holds."""
        partition = TopicPartition(topic, 0)
        consumer = Consumer(self.pool, auto_offset_reset="none")
        consumer.assign({partition: 0})
        ends = await Admin(self.pool).offsets([partition], -1)
        count = 0
        while consumer.positions[partition] < ends[partition]:
            count += sum(len(batch.records) for batch in await consumer.poll(1_000))
        await consumer.close()
        return count


def play(directory: Path, story: Callable[[Running], Awaitable[None]]) -> None:
    async def run() -> None:
        env = machine_environment(asyncio.get_running_loop())
        door = KeptRegistry(env.registry)
        config = BrokerConfig.single_broker({**SETTINGS, "log.dirs": str(directory)})
        node = Node(replace(env, registry=door), config, lambda reason: None)
        await node.start()
        try:
            assert door.session is not None
            running = Running(node, door.session)
            try:
                await asyncio.wait_for(story(running), PATIENCE_S)
            finally:
                await running.pool.close()
        finally:
            await node.stop()

    asyncio.run(run())


def test_the_largest_message_changes_for_topics_that_inherit_it(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        admin, producer = Admin(running.pool), Producer(running.pool)
        await admin.create_topic(NewTopic("t", 1, 1))
        await admin.create_topic(NewTopic("own", 1, 1, {"max.message.bytes": "100000"}))

        async def send(topic: str) -> None:
            await (await producer.send(topic, b"x" * 5_000, partition=0))

        await send("t")
        await running.change("brokers/<default>", {"message.max.bytes": "1000"})
        await running.until_largest("t", ("1000", 3))
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            await send("t")
        await send("own")
        assert await running.described(2, "own", "max.message.bytes") == ("100000", 1)
        assert await running.described(4, "0", "message.max.bytes") == ("1000", 3)
        await running.change("brokers/0", {"message.max.bytes": "9000"})
        await running.until_largest("t", ("9000", 2))
        await send("t")
        await running.change("topics/own", {"max.message.bytes": "2000"})
        await running.until_largest("own", ("2000", 1))
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            await send("own")
        await producer.close()

        assert (await running.count("t"), await running.count("own")) == (2, 1)

    play(tmp_path, story)


def test_the_cleaner_goes_by_its_settings_at_once_with_more_threads(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        producer = Producer(running.pool)
        settings = {"cleanup.policy": "compact", "segment.bytes": "1000"}
        await Admin(running.pool).create_topic(NewTopic("c", 1, 1, settings))
        for number in range(20):
            await (await producer.send("c", b"%d" % number * 100, b"key", partition=0))
        await producer.close()
        assert await running.count("c") == 20
        await running.change(
            "brokers/<default>", {"log.cleaner.min.compaction.lag.ms": "0", "log.cleaner.threads": "2"}
        )
        while await running.count("c") >= 10:
            continue

    play(tmp_path, story)
