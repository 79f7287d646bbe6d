"""The registry's contract, against a real ZooKeeper."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from kazoo.client import KazooClient

from barnabas.broker.controller.context import ControllerContext, Meters
from barnabas.broker.controller.leader_election import Strategy
from barnabas.broker.controller.partition_states import bring_online, read_states, set_phases
from barnabas.broker.controller.sender import Sender
from barnabas.broker.controller.state import ControllerState, LiveBroker, PartitionPhase
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.registry import TooLargeError, ZooKeeperRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import StartupError
from barnabas.core.timers import LoopTimers
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import bootstrap
from barnabas.wire.registry.store import (
    ConnectionLostError,
    CreateOp,
    EventType,
    NodeExistsError,
    RegistryClosedError,
    SessionState,
    SetOp,
    WatchEvent,
)
from barnabas.wire.registry.znodes.brokers import BrokerRegistration
from barnabas.wire.registry.znodes.topics import TopicAssignment, encode_assignment
from tests.compat.zookeeper_outages import Gate
from tests.unit.broker.registry.contract import OpenRegistry, RegistryContract
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
        asyncio.run(ZooKeeperRegistry.open(ZooKeeperOptions(f"127.0.0.1:{free_port()}", 300, 300)))


def test_an_address_that_is_none() -> None:
    with pytest.raises(StartupError, match="is not a ZooKeeper address"):
        asyncio.run(ZooKeeperRegistry.open("host:port:port"))


def test_a_server_that_dies_ends_what_waits_and_one_that_comes_back_goes_on(tmp_path: Path) -> None:
    async def story(server: ZooKeeper) -> None:
        # A server that is about to start may leave a Connect without an answer, until the session has expired.
        gate = Gate(server.port)
        registry = await ZooKeeperRegistry.open(ZooKeeperOptions(f"127.0.0.1:{await gate.start()}", 5_000))
        try:
            events: list[WatchEvent] = []
            states: list[SessionState] = []
            registry.on_session(states.append)
            await registry.create("/a", b"kept")
            await registry.get("/a", events.append)
            server.close()
            gate.cut()
            with pytest.raises(ConnectionLostError):
                await registry.get("/a")
            await asyncio.to_thread(server.start)
            gate.open()
            while True:
                try:
                    data, _ = await registry.get("/a")
                    break
                except ConnectionLostError:
                    await asyncio.sleep(0.05)
            assert data == b"kept"
            assert events == [WatchEvent(EventType.NONE, "")]
            assert states == [SessionState.SUSPENDED, SessionState.CONNECTED]
        finally:
            # Else its client would try again for as long as the process lives.
            await registry.close()
            await gate.close()
        with pytest.raises(RegistryClosedError):
            await registry.get("/a")

    with ZooKeeper(tmp_path) as server:
        asyncio.run(asyncio.wait_for(story(server), 120))


def test_a_session_that_expired_is_followed_by_another_and_who_wants_to_know_is_told(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        states: list[SessionState] = []
        is_back = asyncio.Event()
        registry.on_session(states.append)
        forget = registry.on_session(lambda state: is_back.set() if state is SessionState.CONNECTED else None)
        await registry.create("/mine", ephemeral=True)
        before = registry.session_id
        await end_session(registry, address)
        await is_back.wait()
        forget()
        assert states == [SessionState.SUSPENDED, SessionState.EXPIRED, SessionState.CONNECTED]
        assert registry.session_id != before
        assert await registry.exists("/mine") is None
        await registry.create("/mine", ephemeral=True)
        _, stat = await registry.get("/mine")
        assert stat.ephemeral_owner == registry.session_id
        await registry.close()

    asyncio.run(asyncio.wait_for(story(), 120))


async def end_session(registry: ZooKeeperRegistry, address: str) -> None:
    """Whoever has its password may end a session; to the client that looks as if it had expired."""
    twin = KazooClient(address.partition("/")[0], client_id=registry._client.client_id)
    await asyncio.to_thread(twin.start)
    await asyncio.to_thread(twin.stop)
    twin.close()


def test_what_is_asked_for_while_there_is_no_connection_waits_for_it_and_is_not_done_later(tmp_path: Path) -> None:
    async def story(server: ZooKeeper) -> None:
        registry = await ZooKeeperRegistry.open(ZooKeeperOptions(server.connect, 2_000))
        is_suspended = asyncio.Event()
        registry.on_session(lambda state: is_suspended.set() if state is SessionState.SUSPENDED else None)
        server.close()
        await is_suspended.wait()
        with pytest.raises(ConnectionLostError):
            await registry.create("/abandoned")
        await asyncio.to_thread(server.start)
        while True:
            try:
                await registry.create("/wanted")
                break
            except ConnectionLostError:
                continue
        assert await registry.exists("/abandoned") is None
        await registry.close()

    with ZooKeeper(tmp_path) as server:
        asyncio.run(asyncio.wait_for(story(server), 120))


def test_what_is_larger_than_zookeeper_takes_is_refused_and_the_session_goes_on(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        with pytest.raises(TooLargeError):
            await registry.create("/a", bytes(1_100_000))
        with pytest.raises(TooLargeError):
            await registry.multi([CreateOp(f"/{number}", bytes(100_000)) for number in range(11)])
        await registry.create("/a", bytes(900_000))
        await registry.close()

    asyncio.run(story())


def test_a_refused_transaction_names_the_node(address: str) -> None:
    async def story() -> None:
        registry = await ZooKeeperRegistry.open(address)
        await registry.create_chroot()
        await registry.create("/there")
        with pytest.raises(NodeExistsError, match="/there"):
            await registry.multi([CreateOp("/first"), CreateOp("/there"), CreateOp("/last")])
        await registry.close()

    asyncio.run(story())


def test_states_of_very_many_partitions_with_the_longest_name_are_written(address: str) -> None:
    topic, count = "t" * 249, 1_200

    async def story() -> None:
        registry = await ZooKeeperRegistry.open(f"{address}{'/long' * 20}")
        await registry.create_chroot()
        await bootstrap(registry, Random(1))
        await registry.create(paths.CONTROLLER_EPOCH, b"1")
        state = ControllerState(1, 0, {0: LiveBroker(BrokerRegistration(0, ()), 1)})
        state.topics[topic] = TopicAssignment({index: [0] for index in range(count)})
        await registry.create(paths.topic(topic), encode_assignment(state.topics[topic]))
        partitions = state.partitions_of(topic)
        set_phases(state, partitions, PartitionPhase.NEW)
        config, timers = BrokerConfig.single_broker(), LoopTimers(asyncio.get_running_loop())
        sender = Sender(timers, SystemClock(), lambda broker_id: pytest.fail("nobody is told"))
        context = ControllerContext(0, state, registry, sender, config, "PLAINTEXT", asyncio.Queue(), Meters())
        assert len(await bring_online(context, partitions, Strategy.OFFLINE)) == count
        again = ControllerState(1, 0, topics=state.topics)
        await read_states(registry, again, partitions)
        assert again.leaders == state.leaders
        await registry.close()

    asyncio.run(asyncio.wait_for(story(), 120))
