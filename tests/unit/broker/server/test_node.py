"""The order in which a broker comes up and goes down, and what is left of one that could not start."""

import struct
from asyncio import IncompleteReadError
from random import Random

import pytest

from barnabas.broker.security.passwords import decode_passwords, encode_passwords
from barnabas.broker.server.node import Node
from barnabas.clients.admin_configs import ConfigOperation, ResourceType
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StartupError, StorageError
from barnabas.testing.simulation.world import DATA, PORT, BrokerHost, Simulation
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.znodes.configs import decode_config
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests.wire import header

pytestmark = pytest.mark.played(by="play")

SETTINGS = {"listeners": f"PLAINTEXT://one:{PORT}", "log.dirs": str(DATA), "broker.id": "0"}
JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
KEY_PASSWORD = "listener.name.tls.ssl.key.password"
THIS_BROKER = f"{paths.BROKERS}/0"


class Watched:
    """What is given to a node, with a note of what it does to it."""

    def __init__(self, inner, note, **calls):
        self._inner = inner
        self._note = note
        self._calls = calls

    def __getattr__(self, name):
        value = getattr(self._inner, name)
        if name not in self._calls:
            return value

        def call(*args, **options):
            self._note(self._calls[name])
            return value(*args, **options)

        return call


class House:
    """A machine in a simulation; `events` says what its broker did, in order."""

    def __init__(self) -> None:
        self.simulation = Simulation(7)
        self.host = BrokerHost(self.simulation, "one", {})
        self.events: list[str] = []
        self.running: set[str] = set()

    def node(self, settings=None, **changes) -> Node:
        env = self.host._environment()
        note = self.events.append
        new_executor, network = env.new_executor, env.network

        def watched_executor(name, thread_count):
            self.running.add(name)
            return Watched(new_executor(name, thread_count), lambda _: self.running.discard(name), close=name)

        class WatchedNetwork(Watched):
            def bind(self, *args):
                note("bind")
                return Watched(network.bind(*args), note, listen="accept connections", close="refuse connections")

        env.new_executor = watched_executor
        env.network = WatchedNetwork(network, note)
        env.files = Watched(self.host.disk, note, lock="lock")
        env.registry = Watched(env.registry, note, open="open the registry")
        env.limits = Watched(env.limits, note, close="let go of the machine")
        for name, value in changes.items():
            setattr(env, name, value)
        return Node(env, BrokerConfig.single_broker({**SETTINGS, **(settings or {})}), note)

    def run(self, story):
        self.simulation.network.power_on("one")
        return self.simulation.run(story)


@pytest.fixture
def house():
    return House()


@pytest.fixture
def play(house):
    return lambda story: house.run(story())


async def test_ports_come_first_then_the_directories_then_the_registry_and_clients_last(house):
    node = house.node()
    assert (node.routes, node.failure) == (None, None)
    await node.start()
    assert house.events == ["bind", "lock", "open the registry", "accept connections"]
    assert node.address == ("one", PORT)
    assert node.routes is not None
    assert {"registry", "log", "cleaner", "cold-read", "closing"} <= house.running
    del house.events[:]
    await node.stop()
    assert house.events[0] == "refuse connections"
    assert house.events[-1] == "let go of the machine"
    assert house.running == set()
    assert node.failure is None


async def test_transaction_apis_are_not_offered_with_an_old_inter_broker_protocol(house):
    node = house.node({"inter.broker.protocol.version": "0.10.2", "log.message.format.version": "0.10.2"})
    await node.start()
    reader, writer = await house.simulation.network.connect("one", "one", PORT)
    request = header(ApiVersionsRequest.API_KEY, 0)
    writer.write(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    answer, _ = ApiVersionsResponse.decode(0, memoryview(await reader.readexactly(size)), 4)
    assert {each.api_key for each in answer.api_keys} & set(range(21, 29)) == {21, 22, 23}
    writer.close()
    await node.stop()


async def test_a_broker_that_stopped_in_order_can_be_started_again_with_its_identity(house):
    first = house.node()
    await first.start()
    await first.stop()
    second = house.node()
    await second.start()
    assert (second.cluster_id, second.broker_id) == (first.cluster_id, 0)
    await second.stop()


async def test_a_port_in_use_costs_nothing_and_leaves_nothing(house):
    class Taken:
        def bind(self, host, port, options):
            raise StartupError(f"{host}:{port} is in use")

    node = house.node(network=Taken())
    with pytest.raises(StartupError, match="is in use"):
        await node.start()
    await node.stop()
    assert house.running == set()
    assert "lock" not in house.events


async def test_a_registry_that_cannot_be_opened_lets_go_of_the_port_and_the_directories(house):
    class Unreadable:
        def holds(self, path):
            return True

        async def open(self, path, clock, executor, keeps_sessions):
            raise StartupError(f"{path} can't be read")

    node = house.node(registry=Unreadable())
    with pytest.raises(StartupError, match="can't be read"):
        await node.start()
    await node.stop()
    assert house.running == set()
    assert house.events.count("refuse connections") >= 1
    assert "accept connections" not in house.events
    # Another one can have them.
    again = house.node()
    await again.start()
    await again.stop()


async def test_a_node_that_was_never_started_stops(house):
    await house.node().stop()
    assert house.running == set()


async def test_a_disk_that_fails_is_the_reason_to_stop_and_the_first_one_is_told(house):
    node = house.node()
    await node.start()
    del house.events[:]
    node._on_storage_failure(OSError("first"))
    node._on_storage_failure(OSError("second"))
    assert house.events == ["the disk failed: first"]
    assert str(node.failure) == "the disk failed: first"
    await node.stop()


async def test_a_broker_ends_when_the_directory_of_its_registry_fails(house):
    node = house.node({"log.dirs": f"{DATA},/other"})
    await node.start()
    node._logs.note_failure(StorageError("full", DATA / "t-0"))
    assert str(node.failure) == "the disk failed: full"
    await node.stop()


def users(name):
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return f'{module} username="{name}" password="secret" user_{name}="secret";'


async def logs_in(house, name):
    """Log in by PLAIN, as clients of Kafka before 1.0."""
    reader, writer = await house.simulation.network.connect("one", "one", PORT)
    handshake = header(SaslHandshakeRequest.API_KEY, 0) + encoded(SaslHandshakeRequest("PLAIN"), 0)
    for frame in (handshake, b"\0" + name.encode() + b"\0secret"):
        writer.write(struct.pack(">i", len(frame)) + frame)
        try:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
        except IncompleteReadError:
            writer.close()
            return False
        await reader.readexactly(size)
    writer.close()
    return True


@pytest.mark.parametrize("of_file", [{}, {JAAS: users("alice")}])
async def test_login_settings_in_the_registry_take_effect_with_the_next_start(house, of_file):
    settings = {
        "listeners": f"SASL_PLAINTEXT://one:{PORT}",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "password.encoder.secret": "s",
    }
    first = house.node({**settings, JAAS: users("alice")})
    await first.start()
    assert (await logs_in(house, "alice"), await logs_in(house, "bob")) == (True, False)
    stored = encode_passwords(first.config, {JAAS: users("bob")}, Random(1).randbytes)
    await change_config(first._registry, THIS_BROKER, stored)
    await first.stop()
    second = house.node({**settings, **of_file})
    await second.start()
    assert (await logs_in(house, "alice"), await logs_in(house, "bob")) == (False, True)
    await second.stop()


async def test_a_new_secret_needs_the_old_one_for_one_start_only(house):
    names = ("password.encoder.secret", "password.encoder.old.secret")
    for secrets in (("a",), ("b", "a"), ("b",)):
        node = house.node(dict(zip(names, secrets, strict=False)))
        await node.start()
        if secrets == ("a",):
            stored = encode_passwords(node.config, {KEY_PASSWORD: "secret"}, Random(1).randbytes)
            await change_config(node._registry, THIS_BROKER, stored)
        data, _ = await node._registry.get(paths.config(THIS_BROKER))
        assert decode_passwords(node.config, decode_config(data)) == ({KEY_PASSWORD: "secret"}, []), secrets
        await node.stop()


@pytest.mark.parametrize(
    ("name", "value", "is_accepted"),
    [
        (JAAS, users("bob"), True),
        (JAAS, "a typo", False),
        ("listener.name.sasl_plaintext.sasl.enabled.mechanisms", "SCRAM-SHA-25", False),
        ("listener.name.sasl_plaintext.sasl.enabled.mechanisms", "GSSAPI", False),
    ],
)
async def test_login_settings_that_would_prevent_the_next_start_are_refused(house, name, value, is_accepted):
    node = house.node(
        {
            "listeners": f"PLAINTEXT://one:{PORT},SASL_PLAINTEXT://one:{PORT + 1}",
            "sasl.enabled.mechanisms": "PLAIN",
            "password.encoder.secret": "s",
            JAAS: users("alice"),
        }
    )
    await node.start()
    reader, writer = await house.simulation.network.connect("one", "one", PORT)
    change = AlterConfigsResource(ResourceType.BROKER, "0", [AlterableConfig(name, ConfigOperation.SET, value)])
    frame = header(IncrementalAlterConfigsRequest.API_KEY, 0) + encoded(IncrementalAlterConfigsRequest([change]), 0)
    writer.write(struct.pack(">i", len(frame)) + frame)
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    answer, _ = IncrementalAlterConfigsResponse.decode(0, memoryview(await reader.readexactly(size)), 4)
    assert answer.responses[0].error_code == (ErrorCode.NONE if is_accepted else ErrorCode.INVALID_REQUEST)
    writer.close()
    await node.stop()
