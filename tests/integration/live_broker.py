"""A broker that runs in the test's own process: threads, disk and network are the machine's."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from barnabas.broker.server.environment import RegistryOpener, machine_environment
from barnabas.broker.server.node import Node
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.executor import Executor
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.brokers import decode_registration
from tests.compat.raw import ask
from tests.patience import PATIENCE_S

LISTENERS = {"listeners": "PLAINTEXT://127.0.0.1:0"}


class KeptRegistry:
    """Opens a registry that keeps the session for the test; see `RegistryOpener`."""

    def __init__(self, opener: RegistryOpener) -> None:
        self._opener = opener
        self.session: Registry | None = None

    def holds(self, path: Path) -> bool:
        return self._opener.holds(path)

    async def open(self, path: Path, clock: Clock, executor: Executor, keeps_sessions: bool) -> Registry:
        self.session = await self._opener.open(path, clock, executor, keeps_sessions)
        return self.session


class Running:
    """A broker in this process, and a client of it."""

    def __init__(self, node: Node, registry: Registry) -> None:
        self.servers = f"{node.address[0]}:{node.address[1]}"
        self.pool = Pool(self.servers, "test")
        self.node = node
        self.registry = registry

    async def change(self, entity: str, overrides: Mapping[str, str]) -> None:
        await change_config(self.registry, entity, overrides)

    async def create_topic(self, name: str, configs: Mapping[str, str]) -> None:
        await Admin(self.pool).create_topic(NewTopic(name, 1, 1, dict(configs)))

    async def endpoints(self) -> dict[str, str]:
        """`host:port` of each listener, as it is registered."""
        # The registry is in memory: who asks it again and again must let others do something.
        await asyncio.sleep(0)
        data, _ = await self.registry.get(paths.broker(self.node.broker_id))
        points = decode_registration(self.node.broker_id, data).endpoints
        return {point.listener_name: f"{point.host}:{point.port}" for point in points}

    async def alter(self, kind: int, name: str, settings: Mapping[str, str | None]) -> None:
        """Set settings, or delete those whose value is None, by request."""
        changes = [AlterableConfig(key, 1 if value is None else 0, value) for key, value in settings.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, changes)])
        answer = await asyncio.to_thread(ask, self.servers, request, 1)
        assert [(each.error_code, each.error_message) for each in answer.responses] == [(0, None)]

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


def play(directory: Path, story: Callable[[Running], Awaitable[None]], settings: Mapping[str, str]) -> None:
    """Run a story with a broker of these settings that listens on a port of the system's choice."""

    async def run() -> None:
        env = machine_environment(asyncio.get_running_loop())
        opener = KeptRegistry(env.registry)
        config = BrokerConfig.single_broker({**LISTENERS, **settings, "log.dirs": str(directory)})
        node = Node(replace(env, registry=opener), config, lambda reason: None)
        await node.start()
        try:
            assert opener.session is not None
            running = Running(node, opener.session)
            try:
                await asyncio.wait_for(story(running), PATIENCE_S)
            finally:
                await running.pool.close()
        finally:
            await node.stop()

    asyncio.run(run())
