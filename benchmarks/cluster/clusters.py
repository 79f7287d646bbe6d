"""The measured clusters: brokers of one kind on one ZooKeeper, in temporary directories.

Kafka's brokers have the JVM options with which `scripts/bench` measures one broker, not those of `QuickKafkaServer`.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import PartitionMetadata, Pool
from barnabas.testing.cluster import member_config
from benchmarks.load.process import cpu
from tools.kafka.java import die_with_parent
from tools.kafka.server import KafkaServer, free_port
from tools.kafka.zookeeper import ZooKeeper
from tools.wheel import compiled_environment

T = TypeVar("T")

_START_TIMEOUT_S = 180.0


class Member(Protocol):
    """One broker."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def data_dir(self) -> Path: ...

    def start_broker(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


class BarnabasMember:
    """The `barnabas broker` of a Python environment, started as users start it."""

    def __init__(self, python: Path, directory: Path, settings: Mapping[str, str]) -> None:
        self._program, self._directory, self._settings = python.with_name("barnabas"), directory, settings
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def data_dir(self) -> Path:
        return self._directory / "data"

    def start_broker(self) -> None:
        """Start the process without waiting for it."""
        self._directory.mkdir(parents=True, exist_ok=True)
        command = [str(self._program), "broker", "--port", str(self._port), "--data-dir", str(self.data_dir)]
        for name, value in self._settings.items():
            command += ["--override", f"{name}={value}"]
        with (self._directory / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent)

    def stop(self) -> None:
        """Stop the process (SIGTERM)."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process (`kill -9`)."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Pause the broker (SIGSTOP) until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused broker."""
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, signal_number: int) -> None:
        if self._process is not None:
            self._process.send_signal(signal_number)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()


class Cluster:
    """Brokers with the ids 1, 2, ... that know each other.

    Attributes:
        members: By id.
        zookeeper_connect: Address of their tree.
        is_jvm: Whether a member runs on a JVM, which compiles at run time.
    """

    def __init__(self, members: Mapping[int, Member], zookeeper_connect: str, is_jvm: bool) -> None:
        self.members, self.zookeeper_connect, self.is_jvm = members, zookeeper_connect, is_jvm

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(member.bootstrap_servers for member in self.members.values())

    def cpu(self) -> float:
        """Return the CPU that all brokers together have used."""
        return sum(cpu(member.pid) for member in self.members.values())

    def ask(self, question: Callable[[Pool], Awaitable[T]]) -> T:
        """Run a query with a new client of the cluster."""

        async def run() -> T:
            async with Pool(self.bootstrap_servers, "bench") as pool:
                return await question(pool)

        return asyncio.run(run())

    def create(self, topic: str, assignments: Sequence[Sequence[int]], **configs: str) -> None:
        """Create a topic with these replicas for each partition, and wait until all of them are in sync."""
        new = NewTopic(topic, configs=configs, assignments=dict(enumerate(assignments)))
        self.ask(lambda pool: Admin(pool, timeout_ms=120_000).create_topic(new))
        self.wait_for(topic, lambda found: set(found.isr) == set(assignments[found.partition]), len(assignments))

    def wait_for(self, topic: str, is_so: Callable[[PartitionMetadata], bool], count: int) -> None:
        """Wait until a condition holds for all partitions of a topic, according to broker 1."""

        async def wait() -> None:
            async with Pool(self.members[1].bootstrap_servers, "bench") as pool, asyncio.timeout(_START_TIMEOUT_S):
                while not await _is_so(pool, topic, is_so, count):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

        asyncio.run(wait())

    def is_so(self, topic: str, is_so: Callable[[PartitionMetadata], bool], count: int) -> bool:
        """Return whether a condition holds for all partitions of a topic, according to broker 1."""

        async def ask() -> bool:
            async with Pool(self.members[1].bootstrap_servers, "bench") as pool:
                return await _is_so(pool, topic, is_so, count)

        return asyncio.run(ask())

    def wait_for_members(self) -> None:
        """Wait until each broker answers and knows all brokers."""
        for member in self.members.values():
            end = time.monotonic() + _START_TIMEOUT_S
            while not asyncio.run(_knows(member, self.members.keys())):
                if time.monotonic() > end:
                    raise RuntimeError(f"the broker on {member.bootstrap_servers} does not know all others")
                time.sleep(0.05)


async def _is_so(pool: Pool, topic: str, is_so: Callable[[PartitionMetadata], bool], count: int) -> bool:
    found = (await pool.metadata([topic])).topics[topic].partitions.values()
    return len(found) == count and all(map(is_so, found))


async def _knows(member: Member, ids: object) -> bool:
    with contextlib.suppress(Exception):
        async with Pool(member.bootstrap_servers, "bench") as pool:
            return (await pool.metadata([])).brokers.keys() == ids
    return False


@contextlib.contextmanager
def cluster(kinds: Sequence[str], config: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start a cluster, and remove it with its data at the end.

    Args:
        kinds: The kind of each broker: `kafka`, `barnabas` or `barnabas-compiled`.
        config: Their settings, in addition to those with which a cluster of three survives the loss of one broker.
    """
    directory = Path(tempfile.mkdtemp(prefix="barnabas-cluster-"))
    members: dict[int, Member] = {}
    try:
        with ZooKeeper(directory / "zookeeper") as zookeeper:
            for broker_id, kind in enumerate(kinds, 1):
                place = directory / f"broker-{broker_id}"
                settings = {**member_config(broker_id, zookeeper.connect), **(config or {})}
                if kind == "kafka":
                    members[broker_id] = KafkaServer(place, settings, zookeeper_connect=zookeeper.connect)
                else:
                    members[broker_id] = BarnabasMember(_python(kind), place, settings)
            try:
                for member in members.values():
                    member.start_broker()
                started = Cluster(members, zookeeper.connect, "kafka" in kinds)
                started.wait_for_members()
                yield started
            finally:
                for member in members.values():
                    member.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _python(kind: str) -> Path:
    return Path(sys.executable) if kind == "barnabas" else compiled_environment()


KINDS = ("kafka", "barnabas", "barnabas-compiled")
