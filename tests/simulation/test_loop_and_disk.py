"""What the event loop itself asks of the disk while topics live and die: the list in docs/design.md, and no more."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import DATA, IS_IN_EXECUTOR, Simulation
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import encode_change, encode_config
from tests.simulation.histories import BROKER, SERVERS, SETTINGS

# Rule 1 of docs/design.md names them.
ON_THE_LOOP = {
    # The append's own write.
    "append <n>.log",
    # A prepared segment gets its name when the log rolls, and is opened.
    "rename <n>.log",
    "open_records <n>.log",
}
# Asked of the page cache first.
READS = {"read <n>.log"}


class Watched:
    """A disk, or an open file on it, that notes what the loop asks for."""

    def __init__(self, watched: Any, asked: set[str]) -> None:
        self._watched = watched
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._watched, name)
        return self._noting(name, found) if callable(found) else found

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            path = next((each for each in reversed(args) if isinstance(each, Path)), None)
            path = getattr(self._watched, "path", None) if path is None else path
            # Without a path it is a power cut, or the end of the process.
            if path is not None and not IS_IN_EXECUTOR.get():
                self._asked.add(f"{name} {kind(path)}")
            result = method(*args, **kwargs)
            return Watched(result, self._asked) if name == "open_records" else result

        return call


def kind(path: Path) -> str:
    name = re.sub(r"^\d{20}", "<n>", path.name)
    return re.sub(r"-\d+(\.[0-9a-f]{32}-delete)?$", "-<p>", name) if path.parent == DATA else name


class Life:
    """A broker that does with its logs whatever brokers do."""

    def __init__(self) -> None:
        self.simulation = Simulation(1)
        settings = {
            **SETTINGS,
            "log.retention.check.interval.ms": "5000",
            "log.cleaner.backoff.ms": "1000",
            "log.segment.delete.delay.ms": "1000",
        }
        self.host = self.simulation.add_broker(BROKER, settings)
        self.asked: set[str] = set()
        self.host.disk = Watched(self.host.disk, self.asked)  # type: ignore[assignment]
        self.registry: Any = None

    async def run(self) -> None:
        opener = self.host.registry
        opening = opener.open

        async def opened(*args: Any) -> Any:
            self.registry = await opening(*args)
            return self.registry

        opener.open = opened  # type: ignore[assignment, method-assign]
        self.host.start()
        await asyncio.sleep(5)
        self.asked.clear()
        async with Pool(SERVERS, "c", env=self.simulation.client("c")) as pool:
            admin = Admin(pool)
            for name, configs in (
                ("kept", {"preallocate": "true"}),
                ("short", {"retention.ms": "10000", "segment.ms": "2000"}),
                ("compacted", {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}),
            ):
                await admin.create_topic(NewTopic(name, 1, 1, configs))
            await self._write(pool, ["kept", "short", "compacted"], 60)
            await self._set_config("kept", {"retention.bytes": "6000", "segment.bytes": "2000"})
            await asyncio.sleep(60)
            await self._write(pool, ["kept", "short", "compacted"], 30)
            await self._read(pool, "kept")
            await asyncio.sleep(60)
            await admin.delete_topic("short")
            await asyncio.sleep(60)
            await self._stop()
            # What it did not look at since it started it has to learn again.
            self.host.start()
            await asyncio.sleep(5)
            await self._write(pool, ["kept", "compacted"], 30)
            await self._set_config("kept", {"retention.ms": "1000", "segment.bytes": "2000"})
            await asyncio.sleep(60)
            await self._stop()

    async def _stop(self) -> None:
        self.host.stop()
        await asyncio.sleep(60)
        assert not self.host.is_up

    async def _write(self, pool: Pool, topics: list[str], count: int) -> None:
        async with Producer(pool, enable_idempotence=True) as producer:
            for number in range(count):
                for topic in topics:
                    value = b"%d" % number + b"." * 300
                    await (await producer.send(topic, value, key=b"k%d" % (number % 5), partition=0))
                await asyncio.sleep(0.2)

    async def _set_config(self, topic: str, settings: dict[str, str]) -> None:
        await self.registry.set(paths.topic_config(topic), encode_config(settings))
        change = f"{paths.CONFIG_CHANGES}/{paths.CONFIG_CHANGE_PREFIX}"
        await self.registry.create(change, encode_change(f"topics/{topic}"), sequence=True)

    async def _read(self, pool: Pool, topic: str) -> None:
        consumer = Consumer(pool, auto_offset_reset="earliest")
        consumer.assign({TopicPartition(topic, 0): 0})
        for _ in range(20):
            await consumer.poll(500)
        await consumer.close()


def test_the_loop_asks_the_disk_for_no_more_than_the_design_names():
    life = Life()
    life.simulation.run(life.run())
    assert life.simulation.loop.errors == []
    assert life.simulation.errors == []
    assert sorted(life.asked - READS) == sorted(ON_THE_LOOP)
