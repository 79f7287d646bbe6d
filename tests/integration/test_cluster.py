"""Three processes of ours are a cluster: what they acknowledged is there, whichever of them comes to an end.

The cluster's state is in a fourth one's registry, which is spoken to as a ZooKeeper: no JVM is needed.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.clients.pool import Pool
from barnabas.testing import Broker
from tests.cluster_load import play_ends, play_rolling_restart
from tests.clusters import cluster_of, create_topic, leader_of, make_controller, servers_of
from tools.kafka.server import free_port

TOPIC = "numbers"


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """A registry that outlives the brokers of a test; each uses a tree of its own."""
    port = free_port()
    with Broker(config={"barnabas.registry.listeners": f":{port}"}):
        yield f"127.0.0.1:{port}"


def test_nothing_acknowledged_is_lost_while_brokers_come_and_go(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 3, tmp_path, f"{registry}/ends") as members:
        assert play_ends(members, TOPIC) == []


def test_a_rolling_restart_moves_leaders_before_each_broker_ends(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 3, tmp_path, f"{registry}/rolling") as members:
        assert play_rolling_restart(members, TOPIC) == []
        for member in members.values():
            assert isinstance(member, Broker)
            assert "others lead what this broker led" in member.log_text()


def test_each_broker_can_be_the_controller_and_creates_topics_on_all(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 3, tmp_path, f"{registry}/controllers") as members:
        for broker_id in members:
            make_controller(members, broker_id)
            create_topic(members, f"{TOPIC}-{broker_id}", 3)
            assert {asyncio.run(leader_of(members, f"{TOPIC}-{broker_id}", index)) for index in range(3)} == {1, 2, 3}


def test_each_broker_tells_the_settings_of_a_topic_that_it_has_no_replica_of(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 2, tmp_path, f"{registry}/settings") as members:

        async def told() -> list[str | None]:
            resource, found = ConfigResource(ResourceType.TOPIC, TOPIC), []
            async with Pool(servers_of(members)) as pool:
                topic = NewTopic(TOPIC, configs={"retention.ms": "4000"}, assignments={0: [2]})
                await Admin(pool).create_topic(topic)
            for broker_id, member in members.items():
                await leader_of({broker_id: member}, TOPIC, 0)
                async with Pool(member.bootstrap_servers) as pool:
                    described = await ConfigAdmin(pool).describe_configs([resource], names=["retention.ms"])
                    found += [entry.value for entry in described[resource]]
            return found

        assert asyncio.run(told()) == ["4000", "4000"]
