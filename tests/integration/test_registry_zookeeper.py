"""The registry's contract, against a real ZooKeeper."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from barnabas.core.errors import StartupError
from barnabas.registry.store import (
    ConnectionLostError,
    CreateOp,
    EventType,
    NodeExistsError,
    RegistryClosedError,
    SetOp,
    WatchEvent,
)
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


def test_a_server_that_dies_ends_what_waits_and_one_that_comes_back_goes_on(tmp_path: Path) -> None:
    async def story(server: ZooKeeper) -> None:
        registry = await ZooKeeperRegistry.open(server.connect, 5_000)
        events: list[WatchEvent] = []
        await registry.create("/a", b"kept")
        await registry.get("/a", events.append)
        server.close()
        with pytest.raises(ConnectionLostError):
            await registry.get("/a")
        await asyncio.to_thread(server.start)
        while True:
            try:
                data, _ = await registry.get("/a")
                break
            except ConnectionLostError:
                await asyncio.sleep(0.05)
        assert data == b"kept"
        assert events == [WatchEvent(EventType.NONE, "")]
        await registry.close()
        with pytest.raises(RegistryClosedError):
            await registry.get("/a")

    with ZooKeeper(tmp_path) as server:
        asyncio.run(asyncio.wait_for(story(server), 120))


def test_a_session_that_expired_is_followed_by_another(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        await registry.create("/mine", ephemeral=True)
        before = registry.session_id
        # Whoever has its password may end a session; to the client that looks as if it had expired.
        twin = KazooClient(address.partition("/")[0], client_id=registry._client.client_id)
        await asyncio.to_thread(twin.start)
        await asyncio.to_thread(twin.stop)
        twin.close()
        while True:
            try:
                is_there = await registry.exists("/mine") is not None
            except ConnectionLostError:
                await asyncio.sleep(0.05)
                continue
            if registry.session_id != before:
                break
            await asyncio.sleep(0.05)
        assert not is_there
        await registry.create("/mine", ephemeral=True)
        _, stat = await registry.get("/mine")
        assert stat.ephemeral_owner == registry.session_id != before
        await registry.close()

    asyncio.run(asyncio.wait_for(story(), 120))


def test_a_refused_transaction_names_the_node(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        await registry.create("/there")
        with pytest.raises(NodeExistsError, match="/there"):
            await registry.multi([CreateOp("/first"), CreateOp("/there"), CreateOp("/last")])
        await registry.close()

    asyncio.run(story())
