"""Three processes of ours are a cluster: what they acknowledged is there, whichever of them comes to an end.

The cluster's state is in a fourth one's registry, which is spoken to as a ZooKeeper: no JVM is needed.
"""

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.clients.pool import Pool
from tests.cluster_load import play_ends, play_rolling_restart
from tests.clusters import Members, create_topic, leader_of, make_controller, servers_of, three_brokers


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    """Three brokers and a registry that outlives them; each test has topics of its own, and leaves all running."""
    with three_brokers(tmp_path_factory.mktemp("cluster")) as members:
        yield members


# test_cluster_limits.py and test_cluster_mirror.py kill a leader that is not the controller.
@pytest.mark.parametrize("is_short", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_nothing_acknowledged_is_lost_while_brokers_come_and_go(members: Members, is_short: bool) -> None:
    assert play_ends(members, f"ends-{is_short}", 20, is_short=is_short) == []


def test_a_rolling_restart_moves_leaders_before_each_broker_ends(members: Members) -> None:
    def counts() -> list[int]:
        return [member.log_text().count("other brokers lead this broker's partitions") for member in members.values()]

    before = counts()
    assert play_rolling_restart(members, "rolling", 20) == []
    assert all(now > then for now, then in zip(counts(), before, strict=True))


def test_each_broker_can_be_the_controller_and_creates_topics_on_all(members: Members) -> None:
    for broker_id in members:
        make_controller(members, broker_id)
        topic = f"controlled-{broker_id}"
        create_topic(members, topic, 3)
        assert {asyncio.run(leader_of(members, topic, index)) for index in range(3)} == {1, 2, 3}


def test_each_broker_tells_the_settings_of_a_topic_that_it_has_no_replica_of(members: Members) -> None:
    async def told() -> list[str | None]:
        resource, found = ConfigResource(ResourceType.TOPIC, "set"), []
        async with Pool(servers_of(members)) as pool:
            await Admin(pool).create_topic(NewTopic("set", configs={"retention.ms": "4000"}, assignments={0: [2]}))
        for broker_id, member in members.items():
            await leader_of({broker_id: member}, "set", 0)
            async with Pool(member.bootstrap_servers) as pool:
                described = await ConfigAdmin(pool).describe_configs([resource], names=["retention.ms"])
                found += [entry.value for entry in described[resource]]
        return found

    assert asyncio.run(told()) == ["4000"] * 3
