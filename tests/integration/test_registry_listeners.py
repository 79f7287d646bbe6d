"""A broker that serves its registry: what survives a kill, what does not, and what nobody can do to it from there."""

import asyncio
import random
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.broker.server.environment import machine_environment
from barnabas.broker.server.node import Node
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError, StartupError
from barnabas.testing import Broker
from barnabas.wire.quotas.limits import QuotaKind
from tests import zookeeper_client as zk
from tests.integration.live_broker import LISTENERS, Running, play
from tests.zookeeper_client import ClosedError, RawClient, word
from tools.kafka.server import free_port

ANY_PORT = {"barnabas.registry.listeners": ":0"}


def port_of(running: Running) -> int:
    assert running.node.registry_listeners is not None
    return running.node.registry_listeners.addresses[0][1]


def test_a_port_alone_is_one_of_this_machine(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        listeners = running.node.registry_listeners
        assert listeners is not None
        assert [host for host, _ in listeners.addresses] == ["127.0.0.1"] * 2
        for _, port in listeners.addresses:
            assert await asyncio.to_thread(word, port, b"ruok") == b"imok"

    play(tmp_path, story, {"barnabas.registry.listeners": ":0,0"})


def test_it_is_off_unless_it_is_set(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        assert running.node.registry_listeners is None

    play(tmp_path, story, {})


@pytest.mark.parametrize("text", ["localhost:", "PLAINTEXT://127.0.0.1:2181", "127.0.0.1:65536", "a b:1"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"barnabas\.registry\.listeners.*127\.0\.0\.1:2181"):
        BrokerConfig.single_broker({"barnabas.registry.listeners": text})


def test_a_port_in_use_ends_the_start_and_leaves_nothing_open(tmp_path: Path) -> None:
    async def start(settings: Mapping[str, str]) -> None:
        config = BrokerConfig.single_broker({**LISTENERS, **settings, "log.dirs": str(tmp_path / "second")})
        node = Node(machine_environment(asyncio.get_running_loop()), config, lambda reason: None)
        try:
            await node.start()
        finally:
            await node.stop()

    async def story(running: Running) -> None:
        taken = {"barnabas.registry.listeners": f":0,{port_of(running)}"}
        with pytest.raises(StartupError, match="in use"):
            await start(taken)
        await start(ANY_PORT)

    play(tmp_path / "first", story, ANY_PORT)


def test_what_was_answered_survives_a_kill_and_so_do_sessions(tmp_path: Path) -> None:
    port = free_port()
    config = {"barnabas.registry.listeners": f":{port}"}
    with Broker(config=config, data_dir=tmp_path) as broker:
        with RawClient.connected(port) as client:
            assert client.ask(zk.CREATE, zk.creation("/kept", b"x", acl=[(1, "world", "anyone")])).error == 0
            assert client.ask(zk.CREATE, zk.creation("/ephemeral", flags=1)).error == 0
            before = client.last_zxid
        broker.kill()
        broker.restart()
        with RawClient(port) as again:
            again.connect(10_000, client.session_id, client.password, before)
            assert (again.session_id, again.password) == (client.session_id, client.password)
            assert again.ask(zk.EXISTS, zk.watching("/ephemeral")).error == 0
            again.ask(zk.CLOSE_SESSION)
        with RawClient.connected(port) as client:
            assert client.ask(zk.EXISTS, zk.watching("/ephemeral")).error == -101
            assert client.ask(zk.GET_DATA, zk.watching("/kept")).error == 0
            assert client.ask(zk.SET_DATA, zk.setting("/kept", b"y")).error == -102
            assert client.ask(zk.CREATE, zk.creation("/new")).zxid > before


@pytest.mark.parametrize("seed", range(3))
def test_malformed_frames_cost_their_connection_alone(tmp_path: Path, seed: int) -> None:
    """Random bytes, damaged requests and half frames; somebody else works beside it all the time."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    bodies = [
        (zk.CREATE, zk.creation("/a", b"x", 3)),
        (zk.MULTI, zk.multi((zk.CREATE, zk.creation("/a")), (zk.SET_DATA, zk.setting("/a", b"1")))),
        (zk.SET_WATCHES, zk.watch_lists(0, ["/a"], ["/b"], ["/c"])),
        (zk.SET_ACL, zk.text("/a") + zk.acls(zk.OPEN) + zk.integer(-1)),
        (zk.AUTH, zk.integer(0) + zk.text("digest") + zk.buffer(b"a:b")),
    ]

    def hostile(port: int) -> bytes:
        """One connection; what it sent that made trouble is in no way special."""
        with RawClient(port) as client:
            if rng.random() < 0.7:
                client.connect(10_000)
            operation, body = rng.choice(bodies)
            frame = bytearray(struct.pack(">ii", rng.randrange(-10, 10), operation) + body)
            for _ in range(rng.randrange(4)):
                frame[rng.randrange(len(frame))] = rng.randrange(256)
            if rng.random() < 0.3:
                frame = bytearray(rng.randbytes(rng.randrange(60)))
            length = len(frame) if rng.random() < 0.8 else rng.choice([-1, 0, 3, 1 << 20, 1 << 30, len(frame) + 5])
            try:
                client.send(struct.pack(">i", length) + bytes(frame))
                if length == len(frame) >= 8:
                    client.send_frame(struct.pack(">ii", -2, zk.PING))
                    client.frame()
            except (ClosedError, OSError):
                return b"closed"
        return b""

    def attack(port: int) -> None:
        with RawClient.connected(port) as good:
            assert good.ask(zk.CREATE, zk.creation(f"/good-{seed}")).error == 0
            for number in range(300):
                hostile(port)
                if number % 10 == 0:
                    assert good.ask(zk.SET_DATA, zk.setting(f"/good-{seed}", b"%d" % number)).error == 0

    async def story(running: Running) -> None:
        await asyncio.to_thread(attack, port_of(running))
        data, _ = await running.registry.get(f"/good-{seed}")
        assert data == b"290"

    play(tmp_path, story, ANY_PORT)


def test_a_quota_whose_node_is_written_holds_without_a_notification(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        def write(rate: str) -> None:
            with RawClient.connected(port_of(running)) as client:
                data = b'{"version":1,"config":{"producer_byte_rate":"%s"}}' % rate.encode()
                client.ask(zk.CREATE, zk.creation("/config/clients/loader"))
                assert client.ask(zk.SET_DATA, zk.setting("/config/clients/loader", data)).error == 0

        for rate in ("1000", "2000"):
            await asyncio.to_thread(write, rate)
            while running.node.quotas.resolve(QuotaKind.PRODUCE, "ANONYMOUS", "loader").limit != float(rate):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    play(tmp_path, story, ANY_PORT)
