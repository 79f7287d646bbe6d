"""The registry's contract, against a real ZooKeeper."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.core.errors import StartupError
from barnabas.registry.store import CreateOp, NodeExistsError, RegistryClosedError, SetOp
from barnabas.registry.zookeeper import ZooKeeperRegistry
from tests.unit.registry.contract import OpenRegistry, RegistryContract
from tools.kafka.server import free_port
from tools.kafka.zookeeper import ZooKeeper

_numbers = itertools.count()


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def address(zookeeper: ZooKeeper) -> str:
    """An address with a chroot of the test's own, which is not there yet."""
    return f"{zookeeper.connect}/test-{next(_numbers)}/tree"


class TestZooKeeperRegistry(RegistryContract):
    @pytest.fixture
    def open_registry(self, address: str) -> OpenRegistry:
        async def open_one() -> ZooKeeperRegistry:
            registry = await ZooKeeperRegistry.open(address)
            await registry.create_chroot()
            return registry

        return open_one


def test_null_data_is_null_in_transactions_too(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        await registry.multi([CreateOp("/a"), CreateOp("/b", b"x"), CreateOp("/e", b""), SetOp("/b", None)])
        assert [(await registry.get(path))[0] for path in ("/a", "/b", "/e")] == [None, None, b""]
        await registry.close()

    asyncio.run(story())


def test_after_close_everything_is_refused(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.close()
        await registry.close()
        with pytest.raises(RegistryClosedError):
            await registry.get("/")
        with pytest.raises(RegistryClosedError):
            await registry.multi([CreateOp("/a")])

    asyncio.run(story())


def test_nobody_answers() -> None:
    with pytest.raises(StartupError, match="no ZooKeeper answers at"):
        asyncio.run(ZooKeeperRegistry.open(f"127.0.0.1:{free_port()}", 300))


def test_an_address_that_is_none() -> None:
    with pytest.raises(StartupError, match="is no ZooKeeper address"):
        asyncio.run(ZooKeeperRegistry.open("host:port:port"))


def test_a_server_that_dies_ends_what_waits(tmp_path: Path) -> None:
    async def story(server: ZooKeeper) -> None:
        registry = await ZooKeeperRegistry.open(server.connect, 1_000)
        await registry.create("/a")
        server.close()
        with pytest.raises(RegistryClosedError):
            await registry.get("/a")
        await registry.close()

    with ZooKeeper(tmp_path) as server:
        asyncio.run(story(server))


def test_a_refused_transaction_names_the_node(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        await registry.create("/there")
        with pytest.raises(NodeExistsError, match="/there"):
            await registry.multi([CreateOp("/first"), CreateOp("/there"), CreateOp("/last")])
        await registry.close()

    asyncio.run(story())
