"""What each of three brokers is for itself: its quotas, its id, and the copies that it has."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from barnabas.clients.pool import PartitionMetadata, Pool
from barnabas.clients.producer import Producer
from barnabas.core.errors import StartupError
from barnabas.pipeline.sources.topics import BrokerTopics
from barnabas.testing import Broker
from tests import commands
from tests.clusters import (
    Members,
    barnabas_member,
    cluster_of,
    create_topic,
    leader_of,
    registry_broker,
    servers_of,
    wait_for_in_sync,
    wait_for_members,
)
from tests.patience import PATIENCE_S
from tests.replicas import stored_batches, wait_for_equal_replicas

_LIMITED = "importer"
# A broker lets ten seconds' worth go at once.
_BYTES_PER_S, _SENT_BYTES = 10_000, 120_000


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with registry_broker() as (_, connect):
        yield connect


@pytest.fixture(scope="module")
def members(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with cluster_of(("barnabas",) * 3, tmp_path_factory.mktemp("cluster"), f"{registry}/members") as members:
        yield members


def command(*arguments: str) -> str:
    ended = commands.run(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def explained(members: Members, broker_id: int) -> dict[str, Any]:
    """Return what a broker says of the limit on what its clients of the limited id produce."""
    asked = ["--client-id", _LIMITED, "--user", "ANONYMOUS", "--bootstrap-server", servers_of(members), "--json"]
    (told,) = [each for each in json.loads(command("quotas", "explain", *asked)) if each["broker_id"] == broker_id]
    (limit,) = [each for each in told["quotas"] if each["key"] == "producer_byte_rate"]
    found: dict[str, Any] = limit
    return found


def send(servers: str, topic: str, partition: int, count: int, client_id: str = "writer", size: int = 1) -> None:
    async def sent() -> None:
        async with Pool(servers, client_id) as pool, Producer(pool) as producer:
            futures = [await producer.send(topic, b"x" * size, partition=partition) for _ in range(count)]
            await producer.flush()
            await asyncio.gather(*futures)

    asyncio.run(sent())


def partitions_of(servers: str, topic: str) -> dict[int, PartitionMetadata]:
    async def asked() -> dict[int, PartitionMetadata]:
        async with Pool(servers, "judge") as pool:
            return dict((await pool.metadata([topic])).topics[topic].partitions)

    return asyncio.run(asked())


def test_a_limit_is_set_once_and_holds_on_each_broker_for_itself(members: Members) -> None:
    create_topic(members, "limited", 3)
    led = {asyncio.run(leader_of(members, "limited", index)): index for index in range(3)}
    assert led.keys() == members.keys()
    limit = f"producer_byte_rate={_BYTES_PER_S}"
    # By one broker; the others hear of it from the tree.
    command(
        *("configs", "--alter", "--client", _LIMITED, "--add-config", limit),
        *("--bootstrap-server", members[1].bootstrap_servers),
    )
    deadline = time.monotonic() + PATIENCE_S
    while any(explained(members, each)["limit"] != _BYTES_PER_S for each in members):
        assert time.monotonic() < deadline
    held: set[int] = set()
    for broker_id in (2, 3):
        send(members[broker_id].bootstrap_servers, "limited", led[broker_id], 10, _LIMITED, _SENT_BYTES // 10)
        held.add(broker_id)
        for each in members:
            assert (explained(members, each).get("throttle_total_ms", 0) > 0) == (each in held), each


def test_a_topic_that_a_feeder_makes_has_as_many_replicas_as_the_cluster_gives(members: Members) -> None:
    topics = BrokerTopics({"bootstrap.servers": servers_of(members)})
    assert topics.create({"fed": 2}) == {"fed": 2}
    assert [len(each.replicas) for each in partitions_of(servers_of(members), "fed").values()] == [3, 3]


def test_a_broker_whose_id_is_taken_is_refused_and_costs_nobody_anything(
    members: Members, registry: str, tmp_path: Path
) -> None:
    servers = servers_of(members)
    create_topic(members, "taken", 3)
    send(servers, "taken", 0, 10)
    before = partitions_of(servers, "taken")
    addresses = {broker_id: member.bootstrap_servers for broker_id, member in members.items()}
    with closing(
        barnabas_member(tmp_path, f"{registry}/members", 2, {"zookeeper.session.timeout.ms": "1000"})
    ) as second:
        with pytest.raises(StartupError, match="broker id 2 is taken by a broker that is alive"):
            second.start()
        lines = second.log_text().splitlines()
    # It has waited for a session that might have ended, and says so once.
    (waited,) = [line for line in lines if "is taken" in line and line != lines[-1]]
    assert "INFO" in waited
    assert not [line for line in lines if "ERROR" in line or "Traceback" in line]
    send(servers, "taken", 0, 10)
    assert partitions_of(servers, "taken") == before

    async def told() -> dict[int, str]:
        async with Pool(servers, "judge") as pool:
            return {each: f"{place[0]}:{place[1]}" for each, place in (await pool.metadata([])).brokers.items()}

    assert asyncio.run(told()) == addresses
    for member in members.values():
        assert isinstance(member, Broker)
        assert "is registered again" not in member.log_text()


def test_an_id_that_comes_back_on_an_empty_disk_copies_what_it_had(
    members: Members, registry: str, tmp_path: Path
) -> None:
    create_topic(members, "copied", 3)
    for index in range(3):
        send(servers_of(members), "copied", index, 200, size=1_000)
    wait_for_in_sync(members, "copied")
    had = {index: stored_batches(members[3].data_dir, "copied", index) for index in range(3)}
    members[3].kill()
    # On another machine, for all that the others know: it has another address, too.
    with barnabas_member(tmp_path, f"{registry}/members", 3, {}) as again:
        now = {**members, 3: again}
        wait_for_members(now)
        for index in range(3):
            send(servers_of(now), "copied", index, 20)
        wait_for_in_sync(now, "copied")
        wait_for_equal_replicas({each: member.data_dir for each, member in now.items()}, "copied", 3)
        for index, batches in had.items():
            found = stored_batches(again.data_dir, "copied", index)
            assert found[: len(batches)] == batches
            assert len(found) > len(batches)
    # For the other tests.
    members[3].restart()
    wait_for_members(members)
