"""`barnabas adopt` and `barnabas release` when they are pointed at the wrong thing: one line that says so, exit code 1,
and neither the directory nor the tree is changed."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kazoo.security import make_acl

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.migration.tree_copy import read_tree
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import bootstrap
from tests import commands
from tests.zookeeper_client import kazoo_client
from tools.kafka.zookeeper import ZooKeeper


def run(*arguments: object) -> tuple[int, str]:
    """A command's exit code and what it says."""
    result = commands.run(*arguments)
    assert "Traceback" not in result.stderr
    return result.returncode, result.stdout + result.stderr


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def make_tree(zookeeper: ZooKeeper, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Make a tree as Kafka's first broker does, without topics; its address."""

    def make(name: str) -> str:
        connect = f"{zookeeper.connect}/{request.node.name.replace('[', '-').rstrip(']')}/{name}"

        async def story() -> None:
            registry = await ZooKeeperRegistry.open(connect)
            await registry.create_chroot()
            await bootstrap(registry, Random(1))
            await registry.close()

        asyncio.run(story())
        return connect

    return make


def nodes_of(connect: str) -> dict[str, bytes | None]:
    async def story() -> dict[str, bytes | None]:
        registry = await ZooKeeperRegistry.open(connect)
        try:
            return (await read_tree(registry, connect)).nodes
        finally:
            await registry.close()

    return asyncio.run(story())


def write(connect: str, path: str, data: bytes) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(connect)
        await registry.create(path, data)
        await registry.close()

    asyncio.run(story())


def make_unreadable(connect: str, path: str) -> None:
    with kazoo_client(connect) as client:
        client.set_acls(path, [make_acl("ip", "192.0.2.1", all=True)])


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """As Kafka left it, with one log of no records, from before clusters had ids."""
    directory = tmp_path / "data"
    (directory / "t-0").mkdir(parents=True)
    LogDirectory(LocalFileSystem(), directory).write_identity(0, "c" * 22, 0)
    text = (directory / "meta.properties").read_text()
    (directory / "meta.properties").write_text(text.replace(f"cluster.id={'c' * 22}\n", ""))
    return directory


@pytest.fixture
def adopted(data_dir: Path) -> Path:
    code, said = run("adopt", data_dir, "--execute")
    assert code == 0, said
    return data_dir


class TestAdopt:
    def refused(self, directory: Path, *arguments: object) -> str:
        before = sorted(directory.rglob("*"))
        code, said = run("adopt", directory, *arguments, "--execute")
        assert code == 1, said
        assert sorted(directory.rglob("*")) == before
        return said

    def test_a_chroot_that_is_not_there(self, data_dir: Path, make_tree: Callable[[str], str]) -> None:
        connect = make_tree("cluster")
        assert "the chroot does not exist in this ZooKeeper" in self.refused(data_dir, "--zookeeper", f"{connect}x")

    def test_a_chroot_above_or_below_the_tree(self, data_dir: Path, make_tree: Callable[[str], str]) -> None:
        connect = make_tree("cluster")
        for wrong in (connect.rpartition("/")[0], f"{connect}/config"):
            assert "is not a Kafka tree" in self.refused(data_dir, "--zookeeper", wrong)

    def test_no_zookeeper(self, data_dir: Path) -> None:
        assert "is not a ZooKeeper address" in self.refused(data_dir, "--zookeeper", "127.0.0.1:none")

    def test_a_directory_that_is_empty_or_not_there(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        assert "has no meta.properties: it is not a Kafka data directory" in self.refused(empty)
        assert "the directory does not exist" in self.refused(tmp_path / "none")

    def test_a_node_that_may_not_be_read(self, data_dir: Path, make_tree: Callable[[str], str]) -> None:
        connect = make_tree("cluster")
        make_unreadable(connect, paths.CONFIG_USERS)
        said = self.refused(data_dir, "--zookeeper", connect)
        assert f"could not be read (AccessDeniedError: {paths.CONFIG_USERS})" in said

    def test_a_node_that_cannot_be_understood(self, data_dir: Path, make_tree: Callable[[str], str]) -> None:
        connect = make_tree("cluster")
        write(connect, paths.topic("t"), b'{"version":1,"partiti')
        said = self.refused(data_dir, "--zookeeper", connect)
        assert f"blocked: {connect}{paths.topic('t')}: has invalid data" in said


class TestRelease:
    def refused(self, directory: Path, connect: str) -> str:
        before, nodes = sorted(directory.rglob("*")), nodes_of(connect)
        code, said = run("release", directory, "--zookeeper", connect, "--execute")
        assert code == 1, said
        assert (sorted(directory.rglob("*")), nodes_of(connect)) == (before, nodes)
        return said

    def test_the_tree_of_another_cluster(self, adopted: Path, make_tree: Callable[[str], str]) -> None:
        assert "is the tree of cluster" in self.refused(adopted, make_tree("cluster"))

    def test_a_directory_that_is_empty_or_not_there(self, tmp_path: Path, make_tree: Callable[[str], str]) -> None:
        connect = make_tree("cluster")
        empty = tmp_path / "empty"
        empty.mkdir()
        for directory in (empty, tmp_path / "none"):
            said = self.refused(directory, connect)
            assert f"{REGISTRY_FILE} does not exist: these directories were not adopted" in said

    def test_nodes_that_may_not_be_read_or_not_be_understood(
        self, data_dir: Path, make_tree: Callable[[str], str]
    ) -> None:
        connect = make_tree("cluster")
        write(connect, paths.topic("t"), b'{"version":1,"partitions":{"0":[0]}}')
        assert run("adopt", data_dir, "--zookeeper", connect, "--execute")[0] == 0
        write(connect, paths.topic("torn"), b'{"version":1,"partiti')
        said = self.refused(data_dir, connect)
        assert f"blocked: {connect}{paths.topic('torn')}: has invalid data" in said
        make_unreadable(connect, paths.topic("torn"))
        code, said = run("release", data_dir, "--zookeeper", connect, "--execute")
        assert code == 1
        assert f"could not be read (AccessDeniedError: {paths.topic('torn')})" in said
        assert (data_dir / REGISTRY_FILE).exists()

    def test_a_chroot_with_a_spelling_mistake_is_told_before_anything_is_written(
        self, data_dir: Path, make_tree: Callable[[str], str]
    ) -> None:
        connect = make_tree("cluster")
        write(connect, paths.topic("t"), b'{"version":1,"partitions":{"0":[0]}}')
        assert run("adopt", data_dir, "--zookeeper", connect, "--execute")[0] == 0
        code, said = run("release", data_dir, "--zookeeper", f"{connect}x")
        assert code == 0
        assert (
            f"note: {connect}x: is not the tree that was adopted from {connect}: all missing nodes are written" in said
        )
        code, said = run("release", data_dir, "--zookeeper", connect)
        assert "is not the tree" not in said


def test_the_table_and_the_json_of_a_release(adopted: Path, make_tree: Callable[[str], str]) -> None:
    connect = f"{make_tree('cluster')}/fresh"
    code, said = run("release", adopted, "--zookeeper", connect, "--execute", "--json")
    assert code == 0, said
    answer: dict[str, Any] = json.loads(said)
    assert answer["executed"]
    assert answer["missing"] == []
    (topic,) = answer["tree"]["topics"]
    assert (topic["topic"], topic["partitions"]) == ("t", [{"partition": 0, "leader": 0, "leader_epoch": 0}])
    assert run("adopt", adopted, "--zookeeper", connect, "--execute")[0] == 0
    code, said = run("release", adopted, "--zookeeper", connect, "--execute")
    assert code == 0, said
    lines = [line for line in said.splitlines() if not line.startswith("note: ")]
    assert lines[0] == f"{connect} is already complete."
    assert lines[1] == f"{connect} now contains, for cluster {answer['cluster_id']}:"
    assert lines[2].split() == ["topic", "partitions", "leader", "leader", "epoch", "settings"]
    assert lines[3].split() == ["t", "1", "0", "0", "retention.bytes=-1", "retention.ms=-1"]
    assert lines[4] == "Topics: 1. With settings: users 0, clients 0, brokers 0. Quotas: 0. Access rules: 0."
    assert lines[5].startswith("Released. Start Kafka with broker.id=0")
