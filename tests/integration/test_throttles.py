"""Throttles of replication on three brokers of ours: held to a tenth, and set and cleared by `barnabas reassign`."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_topics import NewTopic, TopicAdmin
from barnabas.clients.pool import Pool
from tests.clusters import Members, cluster_of, registry_broker, servers_of
from tests.commands import run
from tests.patience import until
from tests.throttling import MOVED, SMALL_ANSWERS, TOPIC, fill, hold


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with registry_broker() as (_, connect):
        yield connect


@pytest.mark.alone
def test_a_throttle_is_held_halved_and_doubled_and_what_is_in_sync_does_not_wait(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 3, tmp_path, f"{registry}/held", SMALL_ANSWERS) as members:
        held = asyncio.run(hold(members, 2_000_000, 4, print))
    assert held.worst < 0.1, held
    assert held.excess <= 0, held
    assert held.isr_changes == 0
    # A hundred of them would take a minute if each waited as what lags does.
    assert held.ack_count > 100


def throttled(members: Members) -> dict[str, list[str]]:
    """The values of throttles that are set, by broker or topic; of those that have any."""

    async def ask() -> dict[str, list[str]]:
        async with Pool(servers_of(members)) as pool:
            brokers = [ConfigResource(ResourceType.BROKER, str(each)) for each in members]
            found = await ConfigAdmin(pool).describe_configs([*brokers, ConfigResource(ResourceType.TOPIC, TOPIC)])
        own = (ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        told = {
            resource.name: [f"{each.value}" for each in entries if "throttled" in each.name and each.source in own]
            for resource, entries in found.items()
        }
        return {name: each for name, each in told.items() if each}

    return asyncio.run(ask())


def test_a_reassignment_is_proposed_throttled_told_of_and_cleared(registry: str, tmp_path: Path) -> None:
    with cluster_of(("barnabas",) * 3, tmp_path, f"{registry}/moved", SMALL_ANSWERS) as members:
        where = ("--bootstrap-server", servers_of(members))

        async def create() -> None:
            async with Pool(servers_of(members)) as pool:
                await TopicAdmin(pool).create_topic(NewTopic(TOPIC, assignments={0: [1]}))
                await fill(pool, 4_000_000)

        asyncio.run(create())
        topics, moves = tmp_path / "topics.json", tmp_path / "moves.json"
        topics.write_text(json.dumps({"version": 1, "topics": [{"topic": TOPIC}]}))
        proposal = ("reassign", "--generate", "--topics-to-move-json-file", topics, "--broker-list")
        proposed = run(*proposal, "2", *where)
        assert json.loads(proposed.stdout)["partitions"][0]["replicas"] == [2]
        assert '"replicas":[1]' in proposed.stderr
        assert "broker 7 does not exist: the brokers are 1, 2, 3" in run(*proposal, "7", *where).stderr
        moves.write_text(proposed.stdout)

        file = ("--reassignment-json-file", moves, *where)
        begun = run("reassign", "--execute", "--throttle", 200_000, *file)
        assert begun.returncode == 0, begun.stderr
        # Each broker hears of a change from ZooKeeper.
        until(lambda: throttled(members) == {"1": ["200000"] * 2, "2": ["200000"] * 2, TOPIC: ["0:2", "0:1"]})
        told = ""

        def is_told() -> bool:
            nonlocal told
            told = run("reassign", "--verify", *file).stdout
            return " left." in told

        until(is_told)
        progress = (
            rf"Reassignment of partition {MOVED} is still in progress: \S+ .?B of 3.98 MB, \S+ .?B/s, \d+ s left.\n"
        )
        assert re.fullmatch(progress, told), told
        other = run("reassign", "--execute", "--throttle", 100_000, *file)
        assert "other partitions are being reassigned" in other.stderr

        again = run("reassign", "--execute", "--additional", "--throttle", 100_000_000, *file)
        assert again.returncode == 0, again.stderr
        until(lambda: throttled(members) == {"1": ["100000000"] * 2, "2": ["100000000"] * 2, TOPIC: ["0:2", "0:1"]})
        until(lambda: "is complete" in run("reassign", "--verify", "--preserve-throttles", *file).stdout)
        assert throttled(members) != {}
        ended = run("reassign", "--verify", *file)
        assert ended.stderr == f"Cleared the throttles of brokers 1, 2\nCleared the throttles of topic {TOPIC}\n"
        until(lambda: throttled(members) == {})
        assert run("reassign", "--verify", *file).stderr == ""
