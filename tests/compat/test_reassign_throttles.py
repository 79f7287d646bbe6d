"""Kafka's own kafka-reassign-partitions moves a partition of ours, throttled: on whom, changed in flight, and cleared.

The tool works by ZooKeeper (2.7 still may) or by the brokers. In mixed clusters one of Kafka's gives and one of ours
takes, or the other way round. With three brokers of Kafka the same story shows that it asks for nothing that they
don't do.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_topics import NewTopic, TopicAdmin
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from tests.clusters import Members, cluster_of, servers_of
from tests.patience import until
from tests.replicas import wait_for_equal_replicas
from tools.kafka.java import run_tool

_RECORD_BYTES = 100_000
_SIZE_BYTES = 6_000_000
# So that hardly more comes than the rate allows.
_CONFIG = {"replica.fetch.max.bytes": str(_RECORD_BYTES), "replica.fetch.response.max.bytes": str(_RECORD_BYTES)}


class Tool:
    """kafka-reassign-partitions for one file."""

    def __init__(self, members: Members, zookeeper: str, file: Path) -> None:
        self._zookeeper = ("--zookeeper", zookeeper)
        self._brokers = ("--bootstrap-server", servers_of(members))
        self._file = ("--reassignment-json-file", str(file))

    def run(self, *arguments: str, by_zookeeper: bool) -> str:
        where = self._zookeeper if by_zookeeper else self._brokers
        done = run_tool("kafka.admin.ReassignPartitionsCommand", *where, *self._file, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


async def _fill(members: Members, topic: str) -> None:
    async with Pool(servers_of(members)) as pool:
        await TopicAdmin(pool).create_topic(NewTopic(topic, assignments={0: [1], 1: [3]}))
        async with Producer(pool, acks=1, batch_size_bytes=_RECORD_BYTES) as producer:
            for _ in range(_SIZE_BYTES // _RECORD_BYTES):
                await producer.send(topic, bytes(_RECORD_BYTES), partition=0)


def throttles(members: Members, topic: str) -> dict[str, Mapping[str, str | None]]:
    """What is set of throttles, by broker and for the topic; of those that have any."""

    async def ask() -> dict[str, Mapping[str, str | None]]:
        async with Pool(servers_of(members)) as pool:
            brokers = [ConfigResource(ResourceType.BROKER, str(each)) for each in members]
            found = await ConfigAdmin(pool).describe_configs([*brokers, ConfigResource(ResourceType.TOPIC, topic)])
        own = (ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        told = {
            resource.name: {
                each.name: each.value for each in entries if "throttled" in each.name and each.source in own
            }
            for resource, entries in found.items()
        }
        return {name: each for name, each in told.items() if each}

    return asyncio.run(ask())


def rates(rate: int) -> dict[str, str]:
    return {f"{role}.replication.throttled.rate": str(rate) for role in ("leader", "follower")}


def copied_bytes(members: Members, topic: str) -> int:
    return sum(each.stat().st_size for each in (members[2].data_dir / f"{topic}-0").glob("*.log"))


def is_moving(members: Members) -> bool:
    async def ask() -> bool:
        async with Pool(servers_of(members)) as pool:
            return bool(await ReplicaAdmin(pool).reassignments())

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(("kafka",) * 3, id="kafka", marks=pytest.mark.whole),
        pytest.param(("barnabas",) * 3, id="barnabas"),
        pytest.param(("barnabas", "kafka", "barnabas"), id="to-kafka", marks=pytest.mark.whole),
        pytest.param(("kafka", "barnabas", "barnabas"), id="from-kafka", marks=pytest.mark.whole),
    ],
)
@pytest.mark.parametrize("by_zookeeper", [True, False], ids=["zookeeper", "brokers"])
def test_only_who_takes_part_is_throttled_changed_in_flight_and_cleared(
    kinds: Sequence[str], by_zookeeper: bool, tmp_path: Path, connect: str, name: str
) -> None:
    with cluster_of(kinds, tmp_path, connect, _CONFIG) as members:
        asyncio.run(_fill(members, name))
        assert throttles(members, name) == {}
        file = tmp_path / "moves.json"
        file.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [2]}]}))
        tool = Tool(members, connect, file)

        began = time.monotonic()
        told = tool.run("--execute", "--throttle", "200000", by_zookeeper=by_zookeeper)
        assert f"Successfully started partition reassignment for {name}-0" in told
        lists = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "0:2"}
        until(lambda: throttles(members, name) == {"1": rates(200_000), "2": rates(200_000), name: lists})
        until(lambda: copied_bytes(members, name) > 0)
        assert "is still in progress" in tool.run("--verify", by_zookeeper=by_zookeeper)
        # Nothing is cleared while it moves.
        assert throttles(members, name)["2"] == rates(200_000)
        copied = copied_bytes(members, name)
        # One second's worth comes at once, and one answer too many.
        assert copied <= 200_000 * (time.monotonic() - began + 1) + 2 * _RECORD_BYTES

        told = tool.run("--execute", "--additional", "--throttle", "100000000", by_zookeeper=False)
        assert f"Successfully started partition reassignment for {name}-0" in told
        # 2.7.2's tool takes those that come for some to be copied from: it is leaders who throttle then.
        lists = {"leader.replication.throttled.replicas": "0:1,0:2", "follower.replication.throttled.replicas": ""}
        assert throttles(members, name) == {"1": rates(100_000_000), "2": rates(100_000_000), name: lists}
        until(lambda: not is_moving(members))
        assert f"Reassignment of partition {name}-0 is complete." in tool.run("--verify", by_zookeeper=by_zookeeper)
        until(lambda: throttles(members, name) == {})
        assert copied_bytes(members, name) > _SIZE_BYTES
        wait_for_equal_replicas({2: members[2].data_dir}, name, 1)
