"""What happens to a cluster, a round each; all is healed at the end of each of them.

A fault ends with what it began: brokers that it killed run again, cuts are mended. A disk is lost only while all
replicas are in sync, and its broker stays away until the others have gone on (docs/cluster.md says why).
"""

import asyncio
import os
import random
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from barnabas.clients.admin_cluster import ClusterAdmin
from barnabas.clients.admin_replicas import ElectionType, ReplicaAdmin
from barnabas.clients.pool import Pool
from barnabas.testing import Broker
from tests.cluster_soak.network import Flapping, Network
from tests.clusters import Member, Members, controller_of, leader_of, make_controller, servers_of
from tools.kafka.server import KafkaServer
from tools.kafka.zookeeper import ZooKeeperEnsemble

# Of the file system that a broker's directory is on, where it is to be filled.
DISK_MB = 512
_AWAY_S = (1.0, 6.0)


@dataclass(frozen=True)
class Stage:
    """What faults need.

    Attributes:
        network: None where the kernel allows no namespaces.
        goes_on: Waits until records are acknowledged again.
        longest_pause_s: For which a process stands still at the most.
    """

    members: Members
    zookeeper: ZooKeeperEnsemble
    network: Network | None
    topic: str
    dice: random.Random
    goes_on: Callable[[], Awaitable[None]]
    longest_pause_s: float

    def any(self) -> int:
        return self.dice.choice(list(self.members))

    async def passes(self) -> None:
        """Let a moment go by, of any length: how long a fault lasts is part of it."""
        await asyncio.sleep(self.dice.uniform(*_AWAY_S))

    async def restart(self, *members: Member) -> None:
        for member in members:
            await asyncio.to_thread(member.restart)


Fault = Callable[[Stage], Awaitable[None]]


async def kill_one(stage: Stage) -> None:
    killed = stage.members[stage.any()]
    killed.kill()
    await stage.passes()
    await stage.restart(killed)


async def kill_leader(stage: Stage) -> None:
    killed = stage.members[await leader_of(stage.members, stage.topic, stage.dice.randrange(3))]
    killed.kill()
    await stage.goes_on()
    await stage.restart(killed)


async def kill_controller(stage: Stage) -> None:
    killed = stage.members[await controller_of(stage.members)]
    killed.kill()
    await stage.goes_on()
    await stage.restart(killed)


def _of_kind(stage: Stage, kind: type) -> list[int]:
    return [broker_id for broker_id, member in stage.members.items() if isinstance(member, kind)]


async def _wait_until_healthy(stage: Stage) -> None:
    async with Pool(servers_of(stage.members), "fault") as pool:
        while not (await ClusterAdmin(pool).cluster()).is_healthy:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def _kill_leader_of(kind: type, stage: Stage) -> None:
    """Kill a broker of one kind that leads a partition, as each does of which it has the first replica."""
    await _wait_until_healthy(stage)
    leading: set[int] = set()
    # Brokers hear one after the other who leads.
    while not leading:
        async with Pool(servers_of(stage.members), "fault") as pool:
            await ReplicaAdmin(pool).elect_leaders(ElectionType.PREFERRED, None)
        leaders = {await leader_of(stage.members, stage.topic, index) for index in range(3)}
        leading = leaders.intersection(_of_kind(stage, kind))
    killed = stage.members[stage.dice.choice(sorted(leading))]
    killed.kill()
    await stage.goes_on()
    await stage.restart(killed)


async def _kill_controller_of(kind: type, stage: Stage) -> None:
    broker_id = stage.dice.choice(_of_kind(stage, kind))
    await asyncio.to_thread(make_controller, stage.members, broker_id)
    # Where the controller dies just as a replica is to come into sync, a leader of Kafka 2.7.2 keeps it out until the
    # next election (KAFKA-12686), and two brokers are not enough.
    await _wait_until_healthy(stage)
    killed = stage.members[broker_id]
    killed.kill()
    await stage.goes_on()
    await stage.restart(killed)


async def kill_two(stage: Stage) -> None:
    killed = [stage.members[each] for each in stage.dice.sample(list(stage.members), 2)]
    for each in killed:
        each.kill()
    await stage.passes()
    await stage.restart(*killed)


async def stand_still(stage: Stage) -> None:
    standing = stage.members[stage.any()]
    standing.pause()
    try:
        await asyncio.sleep(stage.dice.uniform(1, stage.longest_pause_s))
    finally:
        standing.resume()


async def _cut(stage: Stage, links: list[tuple[str, str]]) -> None:
    assert stage.network is not None
    for link in links:
        stage.network.cut(*link)
    try:
        await stage.passes()
    finally:
        for link in links:
            stage.network.mend(*link)


def _both_ways(one: str, others: list[str]) -> list[tuple[str, str]]:
    return [link for other in others for link in ((one, other), (other, one))]


def _others(stage: Stage, broker_id: int) -> list[str]:
    return [f"broker-{each}" for each in stage.members if each != broker_id]


def _zookeepers(stage: Stage) -> list[str]:
    return [each.directory.name for each in stage.zookeeper.servers]


async def cut_from_brokers(stage: Stage) -> None:
    cut_off = stage.any()
    await _cut(stage, _both_ways(f"broker-{cut_off}", _others(stage, cut_off)))


async def cut_from_zookeeper(stage: Stage) -> None:
    await _cut(stage, _both_ways(f"broker-{stage.any()}", _zookeepers(stage)))


async def cut_one_way(stage: Stage) -> None:
    cut_off = stage.any()
    there = [(f"broker-{cut_off}", other) for other in [*_others(stage, cut_off), *_zookeepers(stage)]]
    await _cut(stage, there if stage.dice.random() < 0.5 else [(target, source) for source, target in there])


async def lossy_links(stage: Stage) -> None:
    assert stage.network is not None
    slow = stage.any()
    with Flapping(stage.network, _both_ways(f"broker-{slow}", [*_others(stage, slow), *_zookeepers(stage)])):
        await stage.passes()


async def lose_files(stage: Stage) -> None:
    broken = stage.members[await leader_of(stage.members, stage.topic, stage.dice.randrange(3))]
    broken.kill()
    await stage.goes_on()
    for each in broken.data_dir.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    await stage.restart(broken)


async def fill_disk(stage: Stage) -> None:
    full = stage.members[stage.any()]
    filler = full.data_dir / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 65_536)
    try:
        await stage.goes_on()
        await stage.passes()
    finally:
        filler.unlink()
    # As its only directory has failed, it has ended or takes no part until it is started anew.
    full.kill()
    await stage.restart(full)


async def kill_zookeeper_leader(stage: Stage) -> None:
    killed = stage.zookeeper.leader
    await asyncio.to_thread(killed.close)
    await stage.passes()
    await asyncio.to_thread(killed.start)


ANYWHERE: dict[str, Fault] = {
    each.__name__: each
    for each in (kill_one, kill_leader, kill_controller, kill_two, stand_still, lose_files, kill_zookeeper_leader)
}
IN_NAMESPACES: dict[str, Fault] = {
    each.__name__: each for each in (cut_from_brokers, cut_from_zookeeper, cut_one_way, lossy_links, fill_disk)
}
OF_EACH_KIND: dict[str, Fault] = {
    "kill_leader_of_barnabas": partial(_kill_leader_of, Broker),
    "kill_leader_of_kafka": partial(_kill_leader_of, KafkaServer),
    "kill_controller_of_barnabas": partial(_kill_controller_of, Broker),
    "kill_controller_of_kafka": partial(_kill_controller_of, KafkaServer),
}


@contextmanager
def small_disk(directory: Path) -> Iterator[None]:
    """Have a file system of its own, in memory, at a broker's directory."""
    directory.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", os.fspath(directory)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", os.fspath(directory)], check=True, capture_output=True)
