"""`barnabas.testing.Cluster`, `Registry` and the fixture `kafka_cluster`, with real processes."""

import asyncio
import os
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.core.errors import StartupError
from barnabas.testing import Cluster, Registry
from tests.patience import PATIENCE_S, until

pytest_plugins = "pytester"

TOPIC = "views"


def produce(cluster: Cluster, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    producer.produce(TOPIC, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def consume(cluster: Cluster, count: int) -> list[bytes]:
    with closing(Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "kit"})) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        return [message.value() for message in consumer.consume(count, timeout=PATIENCE_S)]


def wait_for_leader_other_than(cluster: Cluster, broker_id: int) -> int:
    """Wait until another broker leads the topic's partition; its id."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})

    def leader() -> int:
        return producer.list_topics(TOPIC).topics[TOPIC].partitions[0].leader

    until(lambda: leader() not in (-1, broker_id))
    return leader()


def test_a_cluster_goes_on_without_one_of_its_brokers_and_leaves_nothing_behind() -> None:
    with Cluster(log_level="warning") as cluster:
        directories = [broker.data_dir.parent for broker in cluster.brokers.values()]
        produce(cluster, b"one")
        leader = wait_for_leader_other_than(cluster, -1)
        cluster.kill(leader)
        assert not cluster.brokers[leader].is_running
        second = wait_for_leader_other_than(cluster, leader)
        produce(cluster, b"two")
        cluster.restart(leader)
        cluster.pause(second)
        wait_for_leader_other_than(cluster, second)
        produce(cluster, b"three")
        cluster.resume(second)
        added = cluster.add()
        assert cluster.brokers[3] is added
        assert added.bootstrap_servers in cluster.bootstrap_servers
        assert consume(cluster, 3) == [b"one", b"two", b"three"]
        assert cluster.registry is not None
        directories += [added.data_dir.parent, cluster.registry.data_dir.parent]
    assert not any(broker.is_running for broker in cluster.brokers.values())
    assert not cluster.registry.is_running
    assert not any(map(Path.exists, directories))


def test_a_cluster_in_async_code_keeps_a_directory_of_the_callers_own(tmp_path: Path) -> None:
    async def use() -> None:
        async with Cluster(2, data_dir=tmp_path, config={"auto.create.topics.enable": True}) as cluster:
            await asyncio.to_thread(produce, cluster, b"one")

    asyncio.run(use())
    assert {"broker-0", "broker-1", "registry"} == set(os.listdir(tmp_path))
    with Cluster(2, data_dir=tmp_path) as cluster:
        assert consume(cluster, 1) == [b"one"]
        with pytest.raises(RuntimeError, match="was started before"):
            cluster.start()


def test_a_cluster_of_a_registry_that_is_there() -> None:
    with Registry() as registry, Cluster(1, zookeeper_connect=f"{registry.connect}/one") as cluster:
        assert cluster.registry is None
        assert cluster.zookeeper_connect == f"{registry.connect}/one"
        # The brokers go on while it is away, and nothing of it is lost.
        registry.kill()
        assert list(Producer({"bootstrap.servers": cluster.bootstrap_servers}).list_topics().brokers) == [0]
        registry.start()
        produce(cluster, b"one")


def test_a_cluster_that_can_not_start_says_why_in_one_line_and_leaves_nothing() -> None:
    cluster = Cluster(2, config={"num.partitions": "many"})
    with pytest.raises(RuntimeError, match="no registry before it is started"):
        _ = cluster.zookeeper_connect
    with pytest.raises(StartupError, match=r"num\.partitions"), cluster:
        pass
    assert cluster.registry is not None
    assert not cluster.registry.is_running
    assert not any(broker.is_running for broker in cluster.brokers.values())


PLUGIN_TESTS = """
import pytest

@pytest.mark.kafka_broker(config={"num.partitions": 2})
def test_which_fails(kafka_cluster):
    assert list(kafka_cluster.brokers) == [0, 1]
"""


def test_a_failed_test_shows_what_each_broker_logged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PLUGIN_TESTS)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "--strict-markers")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*Log of kafka_cluster, broker {each}*" for each in range(3)])
