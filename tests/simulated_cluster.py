"""A small cluster in the simulated world, for tests of what brokers do together."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas.broker.server.broker_state import BrokerState
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.testing.simulation.world import PORT, BrokerHost, Simulation
from barnabas.wire.registry import paths

SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "2000",
    "barnabas.http.listeners": "9644",
    # Longer than any test: who waits for it is seen.
    "controlled.shutdown.retry.backoff.ms": "3600000",
}
ANY_TIME_S = 60


class Cluster:
    """Brokers 1, 2, ... of which the first is the controller, with a topic `t` that all of them hold."""

    def __init__(self, simulation: Simulation, count: int, settings: dict[str, str]) -> None:
        self.simulation = simulation
        self.ensemble = simulation.add_ensemble(3)
        self.hosts = [
            simulation.add_broker(f"b{number}", {**SETTINGS, **settings, "broker.id": str(number)}, self.ensemble)
            for number in range(1, count + 1)
        ]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(ANY_TIME_S):
            while not is_so():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def start(self, partition_count: int) -> None:
        for host in self.hosts:
            host.start()
            await self.until(lambda host=host: state_of(host) is BrokerState.RUNNING)
        async with Pool(f"b1:{PORT}", env=self.simulation.client("admin")) as pool:
            await Admin(pool).create_topic(NewTopic("t", partition_count, len(self.hosts)))
        everybody = set(range(1, len(self.hosts) + 1))
        await self.until(lambda: all(set(self.partition(n)["isr"]) == everybody for n in range(partition_count)))

    async def settle(self) -> None:
        """Let what was written be answered and told."""
        await asyncio.sleep(1)

    def partition(self, number: int) -> dict[str, Any]:
        """A partition's leader and replicas in sync, as ZooKeeper has them."""
        node = self.ensemble.tree.get(paths.partition_state("t", number))
        return json.loads((node and node.data) or b'{"isr": []}')

    def led(self, broker_id: int) -> list[int]:
        """The partitions that a broker leads."""
        count = len(self.ensemble.tree.children(f"{paths.topic('t')}/partitions"))
        return [number for number in range(count) if self.partition(number)["leader"] == broker_id]

    async def stop(self, host: BrokerHost) -> float:
        """Stop a broker; the seconds that took."""
        began = self.simulation.loop.time()
        host.stop()
        await self.until(lambda: not host.is_up)
        return self.simulation.loop.time() - began


def state_of(host: BrokerHost) -> BrokerState | None:
    return None if host.node is None else host.node.state


def play(story: Callable[[Cluster], Awaitable[None]], count: int = 3, partitions: int = 3, **settings: str) -> None:
    simulation = Simulation(1)
    cluster = Cluster(simulation, count, {name.replace("_", "."): value for name, value in settings.items()})

    async def told() -> None:
        await cluster.start(partitions)
        await story(cluster)

    simulation.run(told())
