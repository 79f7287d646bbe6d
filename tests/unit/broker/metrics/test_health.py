"""Whether a broker lives, and whether clients should be sent to it, from its first moment to its last."""

import asyncio
import json

import pytest

from barnabas.broker.server.node import Node
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError
from barnabas.testing.simulation.world import DATA, PORT, BrokerHost, Simulation

pytestmark = pytest.mark.played(by="play")

SETTINGS = {
    "listeners": f"PLAINTEXT://one:{PORT}",
    "log.dirs": str(DATA),
    "broker.id": "0",
    "barnabas.http.listeners": "9644",
}


class House:
    """A machine in a simulation, and a broker that is looked at whenever it reads its registry."""

    def __init__(self, **settings: str) -> None:
        self.simulation = Simulation(7)
        self.host = BrokerHost(self.simulation, "one", {})
        self.node = Node(self.host._environment(), BrokerConfig.single_broker({**SETTINGS, **settings}), lambda _: None)

    def run(self, story):
        self.simulation.network.power_on("one")
        return self.simulation.run(story)

    async def get(self, path):
        answer = await self.host.http.get(path)
        return answer.status, json.loads(answer.body)


@pytest.fixture
def house():
    return House()


@pytest.fixture
def play(house):
    return lambda story: house.run(story())


async def test_a_port_alone_is_one_of_this_machine(house):
    await house.node.start()
    assert house.host.http.addresses == [("127.0.0.1", 9644)]
    await house.node.stop()


def test_a_broker_is_ready_when_clients_can_connect_and_says_before_why_it_is_not(play, house):
    seen = []

    async def story():
        open_registry = house.node._env.registry.open

        async def watched_open(*args):
            seen.append((await house.get("/health"), await house.get("/ready"), await house.get("/metrics")))
            return await open_registry(*args)

        house.host.registry.open = watched_open
        await house.node.start()
        status, ready = await house.get("/ready")
        assert (status, ready["status"], ready["reasons"]) == (200, "ready", [])
        assert ready["checks"] == dict.fromkeys(["running", "logs", "registered", "controller", "listeners"], True)
        assert await house.get("/health") == (200, {"status": "up", "state": "running", "longest_stall_ms": 0})
        await house.node.stop()

    play(story)
    ((_, health), (status, ready), (metrics_status, _)) = seen[0]
    assert health["state"] == "starting"
    assert metrics_status == 503
    assert (status, ready["status"]) == (503, "not ready")
    assert ready["reasons"] == [
        "the broker is starting: its logs are not all read yet",
        "the broker is not registered",
        "the broker does not know the controller",
        "listeners that are not open: PLAINTEXT",
    ]


async def test_a_broker_that_stops_is_not_ready_and_lives(house):
    await house.node.start()
    close, seen = house.node._registry.close, []

    async def watched_close():
        seen.append((await house.get("/health"), await house.get("/ready")))
        await close()

    house.node._registry.close = watched_close
    await house.node.stop()
    ((_, health), (status, ready)) = seen[0]
    assert health["state"] == "shutting down"
    assert (status, ready["reasons"][0]) == (503, "the broker is stopping")


def test_a_broker_whose_session_is_lost_is_not_ready_until_it_is_registered_again():
    simulation = Simulation(7)
    ensemble = simulation.add_ensemble(3)
    settings = {"barnabas.http.listeners": "9644", "zookeeper.session.timeout.ms": "6000"}
    host = simulation.add_broker("one", settings, ensemble)

    async def ready():
        answer = await host.http.get("/ready")
        return answer.status, json.loads(answer.body)["reasons"]

    async def until_ready():
        async with asyncio.timeout(60):
            while (await ready())[0] != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def story():
        host.start()
        while not host.http.addresses:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        # Not before it was told of the cluster.
        while (
            host.node.http_monitoring.services is None or not host.node.http_monitoring.services.cluster.image.brokers
        ):
            assert (await ready())[0] == 503
            await asyncio.sleep(0.001)
        await until_ready()
        simulation.network.part(["one"], ensemble.servers)
        await asyncio.sleep(5)
        assert (await ready())[0] == 200
        await asyncio.sleep(10)
        assert await ready() == (503, ["the broker is not registered"])
        simulation.network.heal()
        await until_ready()

    simulation.run(story())


def test_without_the_setting_nothing_is_served():
    house = House(**{"barnabas.http.listeners": ""})

    async def story():
        await house.node.start()
        assert house.node.http_monitoring is None
        await house.node.stop()

    house.run(story())


@pytest.mark.parametrize(
    "text", ["localhost", "1.2.3.4:", "1.2.3.4:70000", "http://x:80", "::1:80", "80,80", "0.0.0.0:-1"]
)
def test_addresses_that_can_not_be_are_told_at_the_start(text):
    with pytest.raises(ConfigError, match=r"barnabas\.http\.listeners"):
        BrokerConfig.single_broker({"barnabas.http.listeners": text})
