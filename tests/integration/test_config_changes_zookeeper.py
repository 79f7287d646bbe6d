"""Changes of settings in a real ZooKeeper: those that Kafka's own tool makes are seen here, and ours by Kafka."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random

from kazoo.client import KazooClient

from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.pending import Spawner
from barnabas.core.timers import LoopTimers
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.registry.bootstrap import bootstrap
from barnabas.wire.registry.configs import change_config
from tests.compat.raw import ask
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import QuickKafkaServer
from tools.kafka.zookeeper import ZooKeeper

Told = list[tuple[str, dict[str, str]]]


def watch(connect: str, story: Callable[[ZooKeeperRegistry, ConfigWatcher, Told], Awaitable[None]]) -> None:
    """Play a story with a watcher of all types of entities that is started."""
    errors: list[object] = []

    async def run() -> None:
        registry = await ZooKeeperRegistry.open(connect)
        await bootstrap(registry, Random(1))
        spawner = Spawner(errors.append)
        watcher = ConfigWatcher(registry, SystemClock(), LoopTimers(asyncio.get_running_loop()), spawner)
        told: Told = []

        def teller(entity_type: str) -> Callable[[str, Mapping[str, str]], None]:
            return lambda name, overrides: told.append((f"{entity_type}/{name}", dict(overrides)))

        for entity_type in ("topics", "brokers", "clients", "users"):
            watcher.subscribe(entity_type, teller(entity_type))
        await watcher.start()
        await story(registry, watcher, told)
        await spawner.close()
        await registry.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert errors == []


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_what_kafkas_own_tool_changes_is_told(tmp_path: Path) -> None:
    with ZooKeeper(tmp_path) as server:

        async def alter(*arguments: str) -> None:
            result = await asyncio.to_thread(
                run_tool, "kafka.admin.ConfigCommand", "--zookeeper", server.connect, "--alter", *arguments
            )
            assert result.returncode == 0, result.stdout + result.stderr

        async def story(registry: ZooKeeperRegistry, watcher: ConfigWatcher, told: Told) -> None:
            await alter(
                *("--add-config", "log.retention.ms=5,message.max.bytes=1000"),
                *("--entity-type", "brokers", "--entity-default"),
            )
            await alter(
                *("--add-config", "producer_byte_rate=1000"),
                *("--entity-type", "users", "--entity-name", "ref user", "--entity-type", "clients"),
                *("--entity-default",),
            )
            await alter("--delete-config", "log.retention.ms", "--entity-type", "brokers", "--entity-default")
            await until(lambda: len(told) == 3)
            assert told == [
                ("brokers/<default>", {"log.retention.ms": "5", "message.max.bytes": "1000"}),
                ("users/ref%20user/clients/<default>", {"producer_byte_rate": "1000"}),
                ("brokers/<default>", {"message.max.bytes": "1000"}),
            ]

        watch(server.connect, story)


def test_what_changed_while_the_session_was_gone_is_told_though_its_notification_is_gone(tmp_path: Path) -> None:
    with ZooKeeper(tmp_path) as server:

        async def story(registry: ZooKeeperRegistry, watcher: ConfigWatcher, told: Told) -> None:
            other = await ZooKeeperRegistry.open(server.connect)
            await change_config(other, "topics/t", {"retention.ms": "1"})
            await until(lambda: told == [("topics/t", {"retention.ms": "1"})])
            # No notification: as if it had been deleted while this one was away.
            await other.set("/config/topics/t", b'{"version":1,"config":{"retention.ms":"2"}}')
            # Whoever has its password may end a session; to the client that looks as if it had expired.
            twin = KazooClient(server.connect, client_id=registry._client.client_id)
            await asyncio.to_thread(twin.start)
            await asyncio.to_thread(twin.stop)
            twin.close()
            await until(lambda: told[1:] == [("topics/t", {"retention.ms": "2"})])
            await change_config(other, "topics/t", {"retention.ms": "3"})
            await until(lambda: told[2:] == [("topics/t", {"retention.ms": "3"})])
            await other.close()

        watch(server.connect, story)


def test_kafka_goes_by_what_is_changed_here() -> None:
    with QuickKafkaServer() as kafka:

        async def described() -> tuple[str | None, int]:
            request = DescribeConfigsRequest([DescribeConfigsResource(4, "0", ["message.max.bytes"])])
            answer = await asyncio.to_thread(ask, kafka.bootstrap_servers, request, 2)
            (entry,) = answer.results[0].configs
            return entry.value, entry.config_source

        async def story() -> None:
            registry = await ZooKeeperRegistry.open(kafka.zookeeper_connect)
            await change_config(registry, "brokers/<default>", {"message.max.bytes": "1000"})
            while await described() != ("1000", 3):
                continue
            await change_config(registry, "brokers/0", {"message.max.bytes": "2000"})
            while await described() != ("2000", 2):
                continue
            await change_config(registry, "brokers/0", {})
            while await described() != ("1000", 3):
                continue
            await registry.close()

        asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
