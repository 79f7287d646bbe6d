"""A broker whose registry is elsewhere: connections are lost, and sessions expire, while all is used.

In the end the broker is registered and the controller, in its last session; every topic whose making was answered is
led, every one whose deletion was answered is gone; every record that was acknowledged is there, once.
"""

import asyncio
from random import Random
from typing import Any

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.sessions import RemoteRegistryOpener
from barnabas.testing.simulation.world import Simulation
from barnabas.wire.registry import paths
from tests.simulation.histories import BROKER, SERVERS, SETTINGS


class SessionHistory:
    """One history of interruptions."""

    def __init__(self, seed: int) -> None:
        self.simulation = Simulation(seed)
        self.dice = Random(seed)
        self.host = self.simulation.add_broker(BROKER, SETTINGS)
        self.opener = RemoteRegistryOpener(self.host.registry, Random(seed))
        self.host.registry = self.opener  # type: ignore[assignment]
        self.topics: dict[str, int] = {}
        self.gone: set[str] = set()
        self.acknowledged: list[bytes] = []

        self.is_ending = False

    async def run(self) -> None:
        self.host.start()
        await asyncio.sleep(10)
        async with Pool(SERVERS, "c", env=self.simulation.client("c")) as pool:
            await Admin(pool).create_topic(NewTopic("t", 1, 1))
            await asyncio.gather(self._interrupt(), self._administer(pool), self._write(pool))
            await self._heal(pool)
            assert await self._read(pool) == self.acknowledged

    async def _interrupt(self) -> None:
        for _ in range(8):
            await asyncio.sleep(self.dice.uniform(0.01, 3))
            session = self.opener.session
            assert session is not None
            session.disconnect()
            await asyncio.sleep(self.dice.choice([0, 0.1, 5]))
            await session.reconnect(is_expired=self.dice.random() < 0.5)
        self.is_ending = True

    async def _administer(self, pool: Pool) -> None:
        admin, number = Admin(pool), 0
        while not self.is_ending:
            number += 1
            name = f"made-{number}"
            await admin.create_topic(NewTopic(name, 2, 1))
            self.topics[name] = 2
            await asyncio.sleep(self.dice.uniform(0, 0.5))
            if number % 3 == 0:
                await admin.delete_topic(name)
                del self.topics[name]
                self.gone.add(name)

    async def _write(self, pool: Pool) -> None:
        number = 0
        while not self.is_ending:
            # Another one each time: each needs an id.
            async with Producer(pool, enable_idempotence=True) as producer:
                for _ in range(5):
                    value = b"%d" % number
                    number += 1
                    await (await producer.send("t", value, partition=0))
                    self.acknowledged.append(value)
                    await asyncio.sleep(0.05)

    async def _heal(self, pool: Pool) -> None:
        registry: Any = self.opener.session
        controller = paths.CONTROLLER
        while True:
            stats = [await registry.exists(path) for path in (paths.broker(0), controller)]
            if all(stat is not None and stat.ephemeral_owner == registry.session_id for stat in stats):
                break
            await asyncio.sleep(1)
        await Admin(pool).create_topic(NewTopic("afterwards", 1, 1))
        found = await Admin(pool).topics()
        assert {name: len(found[name].partitions) for name in self.topics} == self.topics
        assert all(each.leader_id == 0 for name in self.topics for each in found[name].partitions.values())
        assert not self.gone & found.keys()

    async def _read(self, pool: Pool) -> list[bytes]:
        consumer = Consumer(pool, auto_offset_reset="earliest")
        consumer.assign({TopicPartition("t", 0): 0})
        found: list[bytes] = []
        while batches := await consumer.poll(2_000):
            found += [record.value or b"" for batch in batches for record in batch.records]
        await consumer.close()
        return found


def play(seed: int) -> SessionHistory:
    history = SessionHistory(seed)
    history.simulation.run(history.run())
    return history


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.whole) for seed in (3, 4))])
def test_nothing_is_lost_with_a_session(seed: int) -> None:
    history = play(seed)
    assert history.simulation.loop.errors == []
    assert history.simulation.errors == []
    assert len(history.acknowledged) > 50
    assert history.topics
