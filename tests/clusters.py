"""What tests of several brokers use of them, be they Kafka's or ours."""

import asyncio
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.testing import Broker
from barnabas.testing.cluster import member_config
from tests.patience import PATIENCE_S, until
from tools.kafka.server import QuickKafkaServer, free_port
from tools.wheel import compiled_environment

# Three brokers of Kafka and their ZooKeeper take about a gigabyte.
_JVM_OPTIONS = ("-Xmx256m",)
# The last broker of a cluster asks three times for other leaders; by default with 5 s between.
SOON_STOPPED = {"controlled.shutdown.retry.backoff.ms": "100"}


class Member(Protocol):
    """One broker of several, as `barnabas.testing.Broker` and `tools.kafka.server.KafkaServer` are."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def data_dir(self) -> Path: ...

    @property
    def pid(self) -> int: ...

    def log_text(self) -> str: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def restart(self) -> None: ...


Members = Mapping[int, Member]


@contextmanager
def cluster_of(
    kinds: Sequence[str],
    directory: Path,
    zookeeper_connect: str,
    config: Mapping[str, str] | None = None,
    own: Mapping[int, Mapping[str, str]] | None = None,
    first_port: int = 0,
) -> Iterator[Members]:
    """Start brokers with the ids 1, 2, ... on one ZooKeeper, or on a broker that serves its registry as one.

    Args:
        kinds: What each is, as `NEW_MEMBER` has them, in the order in which they are started: the first is the
            controller.
        directory: Where each has a directory of its own.
        zookeeper_connect: With a tree of the cluster's own.
        config: Settings of all, above those that make three a cluster that loses nothing with one of them.
        own: Settings of one of them, by its id, above those.
        first_port: Of broker 1; the others have the next ones. 0: each has any.
    """
    members: dict[int, Member] = {}
    with ExitStack() as stack:
        for broker_id, kind in enumerate(kinds, 1):
            place, port = directory / f"broker-{broker_id}", first_port and first_port + broker_id - 1
            settings = {**(config or {}), **(own or {}).get(broker_id, {})}
            member = members[broker_id] = NEW_MEMBER[kind](place, zookeeper_connect, broker_id, settings, port=port)
            stack.enter_context(member)
        wait_for_members(members)
        yield members


@contextmanager
def registry_broker(config: Mapping[str, str] | None = None) -> Iterator[tuple[Broker, str]]:
    """Start a broker that serves its registry; yield it and the registry's address, which is used as a ZooKeeper's."""
    port = free_port()
    settings = {**(config or {}), "barnabas.registry.listeners": f":{port}"}
    with Broker(config=settings, start_timeout_s=PATIENCE_S) as broker:
        yield broker, f"127.0.0.1:{port}"


@contextmanager
def three_brokers(directory: Path, config: Mapping[str, str] | None = None) -> Iterator[Members]:
    """Start three brokers of ours, and the registry that they need, which outlives them."""
    with registry_broker() as (_, connect), cluster_of(("barnabas",) * 3, directory, f"{connect}/x", config) as members:
        yield members


def barnabas_member(
    directory: Path,
    zookeeper_connect: str,
    broker_id: int,
    config: Mapping[str, str],
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
    port: int = 0,
) -> Broker:
    """Return a broker of ours that is to be one of several; it is not started."""
    settings = {**member_config(broker_id, zookeeper_connect), **config}
    return Broker(config=settings, host=host, port=port, data_dir=directory, start_timeout_s=PATIENCE_S, prefix=prefix)


def compiled_member(
    directory: Path,
    zookeeper_connect: str,
    broker_id: int,
    config: Mapping[str, str],
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
    port: int = 0,
) -> Broker:
    """Return a broker of ours as `barnabas_member` does, which runs as the compiled wheel has it."""
    # Another Python in the place of this one, in the same process; nothing but its environment says what it imports.
    python = (
        "env",
        "-u",
        "PYTHONPATH",
        "sh",
        "-c",
        f'shift; exec {shlex.quote(str(compiled_environment()))} "$@"',
        "sh",
    )
    return barnabas_member(directory, zookeeper_connect, broker_id, config, host, (*prefix, *python), port)


def kafka_member(
    directory: Path,
    zookeeper_connect: str,
    broker_id: int,
    config: Mapping[str, str],
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
    port: int = 0,
) -> QuickKafkaServer:
    """Return a broker of Kafka 2.7.2 that is to be one of several; it is not started."""
    settings = {**member_config(broker_id, zookeeper_connect), **config}
    return QuickKafkaServer(
        directory,
        settings,
        _JVM_OPTIONS,
        port=port,
        zookeeper_connect=zookeeper_connect,
        host=host,
        prefix=prefix,
    )


NEW_MEMBER: Mapping[str, Callable[..., Broker | QuickKafkaServer]] = {
    "barnabas": barnabas_member,
    "compiled": compiled_member,
    "kafka": kafka_member,
}


def wait_for_members(members: Members) -> None:
    """Wait until each broker knows all of them."""

    async def knows_all(member: Member) -> None:
        async with Pool(member.bootstrap_servers, "judge") as pool:
            while (await pool.metadata([])).brokers.keys() != members.keys():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def wait() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*map(knows_all, members.values()))

    asyncio.run(wait())


def servers_of(members: Members) -> str:
    """Return the addresses of all brokers, for a client."""
    return ",".join(member.bootstrap_servers for member in members.values())


def create_topic(members: Members, topic: str, partition_count: int, config: Mapping[str, str] | None = None) -> None:
    """Create a topic that each broker has a copy of, and of which two must have what is acknowledged."""

    async def create() -> None:
        async with Pool(servers_of(members), "judge") as pool:
            configs = {"min.insync.replicas": str(min(2, len(members))), **(config or {})}
            await Admin(pool).create_topic(NewTopic(topic, partition_count, len(members), configs))

    asyncio.run(create())


async def controller_of(members: Members) -> int:
    """Return the id of the broker that is the controller, as the cluster says; -1 while it says none."""
    async with Pool(servers_of(members), "judge") as pool:
        return (await pool.metadata([])).controller_id


async def leader_of(members: Members, topic: str, partition: int) -> int:
    """Return the id of the broker that leads a partition, as soon as a broker knows one."""
    async with Pool(servers_of(members), "judge") as pool, asyncio.timeout(PATIENCE_S):
        while True:
            found = (await pool.metadata([topic])).topics[topic].partitions.get(partition)
            if found is not None and found.leader_id >= 0:
                return found.leader_id
            await asyncio.sleep(0.05)


def make_controller(members: Members, broker_id: int) -> None:
    """Have a broker be the controller: the one that is stops, while no third one can stand for election."""
    now = asyncio.run(controller_of(members))
    if now == broker_id:
        return
    others = [member for each, member in members.items() if each not in (now, broker_id)]
    for other in others:
        other.pause()
    try:
        members[now].stop()
        until(
            lambda: asyncio.run(controller_of({broker_id: members[broker_id]})) == broker_id,
            lambda: f"broker {broker_id} is not elected",
        )
    finally:
        for other in others:
            other.resume()
    members[now].restart()
    wait_for_members(members)


def wait_for_in_sync(members: Members, topic: str) -> None:
    """Wait until all replicas of a topic are in sync, as every broker says."""

    async def is_in_sync(member: Member) -> None:
        async with Pool(member.bootstrap_servers, "judge") as pool:
            while True:
                found = (await pool.metadata([topic])).topics[topic].partitions.values()
                if found and all(set(each.isr) == set(each.replicas) for each in found):
                    return
                await asyncio.sleep(0.05)

    async def wait() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*map(is_in_sync, members.values()))

    asyncio.run(wait())
