"""Our own clients find leaders, coordinators and the controller wherever they go, in a cluster of three brokers."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clusters import Member, controller_of, leader_of, servers_of
from tests.compat.cluster_load import ClusterLoad
from tests.replicas import wait_for_equal_replicas
from tools.kafka.cluster import KafkaCluster


@pytest.fixture
def kafkas(tmp_path: Path, connect: str) -> Iterator[Mapping[int, Member]]:
    """Three brokers of Kafka 2.7.2."""
    with KafkaCluster(tmp_path, connect) as cluster:
        yield cluster.brokers


@pytest.mark.whole
def test_nothing_is_lost_or_doubled_while_kafkas_brokers_come_and_go(kafkas: Mapping[int, Member], name: str) -> None:
    """A leader is killed, the controller is killed, a leader stands still and comes back late, another one is stopped."""
    load = ClusterLoad(servers_of(kafkas), name)

    async def story() -> None:
        await load.start()
        await load.goes_on()
        for found in (leader_of(kafkas, name, 0), controller_of(kafkas)):
            killed = kafkas[await found]
            killed.kill()
            await load.goes_on()
            await asyncio.to_thread(killed.restart)
            await load.goes_on()
        standing = kafkas[await leader_of(kafkas, name, 1)]
        standing.pause()
        await load.goes_on()
        standing.resume()
        await load.goes_on()
        stopped = kafkas[await leader_of(kafkas, name, 2)]
        await asyncio.to_thread(stopped.stop)
        await load.goes_on()
        await asyncio.to_thread(stopped.restart)
        await load.end()

    asyncio.run(story())
    assert load.wrong() == []
    for topic in (name, f"{name}-copied"):
        wait_for_equal_replicas({broker_id: each.data_dir for broker_id, each in kafkas.items()}, topic, 3)
