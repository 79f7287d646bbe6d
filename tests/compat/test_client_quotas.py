"""Quotas as Kafka 2.7.2 has them: `BARNABAS_COMPAT_TARGET=kafka` asks Kafka itself.

Source: semantics, quotas, ClientQuotas; cli page, kafka-configs.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.builder import BatchBuilder
from tests.clusters import registry_broker
from tests.compat.conftest import TARGET, RunningBroker, StartBroker, started
from tests.compat.raw import Peer, ask, create_topic, encoded
from tests.compat.test_kafka_tools import Tool, tool
from tests.patience import until
from tests.zookeeper_client import kazoo_client
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

__all__ = ["tool"]

CONFIGS = "kafka.admin.ConfigCommand"
PATIENCE_S = 10
USER = "ANONYMOUS"
Parts = list[tuple[str, str | None]]


class Client(Peer):
    """One connection of a client with an id."""

    def __init__(self, broker: RunningBroker, client_id: str, timeout_s: float = 60) -> None:
        super().__init__(broker.bootstrap_servers, client_id.encode(), timeout_s)

    def timed(self, request, version: int):
        """The answer, the request's size, and how long it took in milliseconds."""
        begun_s = time.monotonic()
        answer = self.ask(request, version)
        return answer, len(encoded(request, version, self.client_id)), (time.monotonic() - begun_s) * 1_000

    def produce(self, topic: str, size: int, version: int = 8):
        builder = BatchBuilder()
        builder.append(int(time.time() * 1_000), None, bytes(size))
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
        answer, sent, taken_ms = self.timed(ProduceRequest(None, 1, 1_000, data), version)
        assert answer.responses[0].partition_responses[0].error_code == 0
        return answer.throttle_time_ms, sent, taken_ms


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """One that no other test shares: limits of everybody are set."""
    with started({}) as running:
        yield running


def alter(broker: RunningBroker, parts: Parts, **ops: float | None) -> tuple[int, str | None]:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData(kind, name) for kind, name in parts],
        [OpData(key, value or 0.0, value is None) for key, value in ops.items()],
    )
    (answer,) = ask(broker.bootstrap_servers, AlterClientQuotasRequest([entry], False), 0).entries
    return answer.error_code, answer.error_message


def describe(broker: RunningBroker, *components: tuple[str, int, str | None], strict: bool = False):
    request = DescribeClientQuotasRequest([ComponentData(*each) for each in components], strict)
    answer = ask(broker.bootstrap_servers, request, 0)
    if answer.error_code:
        return answer.error_code, answer.error_message, answer.entries
    return {
        frozenset((part.entity_type, part.entity_name) for part in each.entity): {v.key: v.value for v in each.values}
        for each in answer.entries
    }


@pytest.fixture(autouse=True)
def without_quotas(broker: RunningBroker) -> Iterator[None]:
    yield
    for entity, limits in describe(broker).items():
        assert alter(broker, list(entity), **dict.fromkeys(limits)) == (0, None)


def until_in_force(broker: RunningBroker) -> None:
    """Kafka takes over a quota a moment after its answer."""
    if TARGET == "kafka":
        time.sleep(1)


USERS: list[Parts] = [[("user", USER)], [("user", None)]]
CLIENTS: list[Parts] = [[("client-id", "c")], [("client-id", None)]]
LEVELS: list[Parts] = [
    USERS[0] + CLIENTS[0], USERS[0] + CLIENTS[1], USERS[0], USERS[1] + CLIENTS[0], USERS[1] + CLIENTS[1], USERS[1],
    CLIENTS[0], CLIENTS[1],
]  # fmt: skip

REQUESTS = [
    ([], {"producer_byte_rate": 1.0}),
    ([("", "x")], {"producer_byte_rate": 1.0}),
    ([("ip", "x")], {"producer_byte_rate": 1.0}),
    ([("user", "")], {"producer_byte_rate": 1.0}),
    ([("client-id", "")], {"producer_byte_rate": 1.0}),
    ([("user", "u")], {"producer_byte_rate": 1.5}),
    ([("user", "u")], {"nonsense": 1.0}),
    ([("client-id", "u")], {"nonsense": None}),
    ([("client-id", "c")], {"producer_byte_rate": 1.0000000001, "request_percentage": 1.5}),
]
ANSWERS = [
    (42, "Invalid empty client quota entity"),
    (42, "Unhandled client quota entity type: "),
    (42, "Unhandled client quota entity type: ip"),
    (42, "Empty user not supported"),
    (42, "Empty client-id not supported"),
    (42, "Configuration producer_byte_rate must be a Long value"),
    (42, "Invalid configuration key nonsense"),
    (0, None),
    (0, None),
]


@pytest.mark.parametrize(("request_", "answer"), list(zip(REQUESTS, ANSWERS, strict=True)))
def test_what_is_altered_is_answered_alike(broker: RunningBroker, request_, answer) -> None:
    parts, ops = request_
    assert alter(broker, parts, **ops) == answer


@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.parametrize("kind", ["user", "client-id"])
def test_a_name_that_no_node_can_have_is_refused(broker: RunningBroker, kind: str, name: str) -> None:
    # differs from Kafka (quota-of-dots)
    says = (42, f"There can be no quota of a {kind} '{name}': no node can be called so")
    expected = (-1, None) if TARGET == "kafka" else says
    assert alter(broker, [(kind, name)], producer_byte_rate=1_000.0) == expected
    assert describe(broker) == {}


@pytest.mark.parametrize(
    ("components", "answer"),
    [
        ([("", 2, None)], (42, "Unexpected empty filter component entity type", None)),
        ([("ip", 2, None)], (35, "Custom entity type 'ip' not supported", None)),
        ([("user", 2, None), ("user", 2, None)], (42, "Duplicate user filter component entity type", None)),
        ([("client-id", 2, None)] * 2, (42, "Duplicate client filter component entity type", None)),
    ],
)
def test_a_filter_that_cannot_be_is_answered_alike(broker: RunningBroker, components, answer) -> None:
    assert describe(broker, *components) == answer


def test_filters_let_through_the_same(broker: RunningBroker) -> None:
    for number, level in enumerate(LEVELS, 1):
        assert alter(broker, level, producer_byte_rate=float(number), request_percentage=0.5) == (0, None)
    limits = {
        frozenset(level): {"producer_byte_rate": float(number), "request_percentage": 0.5}
        for number, level in enumerate(LEVELS, 1)
    }
    assert describe(broker) == limits
    for strict, user, client in product([False, True], [None, 0, 1, 2], [None, 0, 1, 2]):
        components = []
        if user is not None:
            components.append(("user", user, USER if user == 0 else None))
        if client is not None:
            components.append(("client-id", client, "c" if client == 0 else None))

        def lets_through(level: Parts, strict=strict, components=components) -> bool:
            named = dict(level)
            for kind, match, name in components:
                if kind not in named or (match != 2 and named[kind] != name):
                    return False
            return not strict or {kind for kind, _, _ in components} == named.keys()

        expected = {frozenset(level) for level in LEVELS if lets_through(level)}
        assert set(describe(broker, *components, strict=strict)) == expected, (strict, components)


def test_the_first_level_that_is_set_holds_a_producer(broker: RunningBroker, name: str) -> None:
    create_topic(broker.bootstrap_servers, name)
    of_user = 0
    for first in range(8):
        client_id = f"{name}-{first}"
        levels: list[Parts] = [[(kind, client_id if each == "c" else each) for kind, each in level] for level in LEVELS]
        # A limit of its own at each level from there on: the throttle time tells which one is in force.
        for rank, level in enumerate(levels):
            if rank >= first:
                assert alter(broker, level, producer_byte_rate=1_000.0 * (rank + 1)) == (0, None)
            elif rank not in (6, 7):
                alter(broker, level, producer_byte_rate=None)
        until_in_force(broker)
        limit = 1_000 * (first + 1)
        peer = Client(broker, client_id)
        # A little too much: who has this user's other limit waits for it, where the hold is the client's.
        throttle_ms, sent, _ = peer.produce(name, 12 * limit)
        peer.close()
        counted = sent
        if first in (2, 5):
            # What the user sent the other time still counts.
            of_user += sent
            counted = of_user
        assert throttle_ms == pytest.approx((counted / 10 - limit) / limit * 10_000, rel=0.09), first


@pytest.mark.parametrize("version", [*(pytest.param(each, marks=pytest.mark.whole) for each in (3, 5)), 8])
def test_a_producer_is_answered_at_once_and_then_held(broker: RunningBroker, name: str, version: int) -> None:
    create_topic(broker.bootstrap_servers, name)
    assert alter(broker, [("client-id", name)], producer_byte_rate=1_000.0) == (0, None)
    until_in_force(broker)
    peer = Client(broker, name)
    first, size, _ = peer.produce(name, 8_000, version)
    second, _, taken_ms = peer.produce(name, 4_000, version)
    assert first == 0
    assert second == pytest.approx((size + size - 4_000) / 1_000 * 1_000 - 10_000, abs=300)
    assert taken_ms < second / 2
    third, _, held_ms = peer.produce(name, 10, version)
    assert held_ms >= second - 50
    peer.close()
    # Another connection finds the same bucket.
    other = Client(broker, name)
    assert other.produce(name, 4_000)[0] > third
    other.close()


def test_a_consumer_is_answered_empty_and_then_held(broker: RunningBroker, name: str) -> None:
    create_topic(broker.bootstrap_servers, name)
    writer = Client(broker, "writer")
    for _ in range(12):
        writer.produce(name, 10_000)
    writer.close()
    assert alter(broker, [("client-id", name)], consumer_byte_rate=5_000.0) == (0, None)
    until_in_force(broker)
    peer = Client(broker, name)

    def fetch(max_bytes: int):
        wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=max_bytes)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 24,
            isolation_level=0,
            topics=[FetchTopic(name, partitions=[wanted])],
        )
        answer, _, taken_ms = peer.timed(request, 7)
        records = [len(each.records) for topic in answer.responses for each in topic.partitions]
        return answer.throttle_time_ms, records, taken_ms

    throttle_ms, records, _ = fetch(30_000)
    assert (throttle_ms, records) == (0, [30_000])
    throttle_ms, records, taken_ms = fetch(30_000)
    assert records == []
    # Of what did not leave, too, the throttle time is made.
    assert throttle_ms == pytest.approx((60_100 / 10 - 5_000) / 5_000 * 10_000, abs=300)
    assert taken_ms < throttle_ms / 2
    _, records, held_ms = fetch(1_000)
    assert held_ms >= throttle_ms - 50
    # One whole batch.
    assert len(records) == 1
    assert records[0] > 10_000
    # No more at once than ten windows let through; and with what stands around it that is a little too much.
    assert fetch(1 << 20)[1] in ([], [50_000])
    peer.close()


def test_partitions_beyond_a_quota_are_refused(broker: RunningBroker, name: str) -> None:
    assert alter(broker, [("client-id", name)], controller_mutation_rate=1.0) == (0, None)
    until_in_force(broker)
    peer = Client(broker, name)

    def new_topic(suffix: str, count: int, version: int):
        request = CreateTopicsRequest([CreatableTopic(name + suffix, count, 1)], 30_000, False)
        answer, _, _ = peer.timed(request, version) if version < 5 else (None, 0, 0)
        assert answer is not None
        return answer.topics[0].error_code, answer.throttle_time_ms

    # Eleven at once. Version 4 is held, not refused.
    assert new_topic("a", 10, 4) == (0, 0)
    error_code, throttle_ms = new_topic("b", 30, 4)
    assert error_code == 0
    # Less what it took to make them.
    assert 15_000 <= throttle_ms <= 29_100
    peer.close()
    request = CreateTopicsRequest([CreatableTopic(name + "c", 1, 1)], 30_000, False)
    assert alter(broker, [("client-id", "test")], controller_mutation_rate=0.1) == (0, None)
    until_in_force(broker)
    codes = []
    for number in range(4):
        request = CreateTopicsRequest([CreatableTopic(f"{name}{number}", 1, 1)], 30_000, False)
        answer = ask(broker.bootstrap_servers, request, 6)
        codes.append((answer.topics[0].error_code, answer.topics[0].error_message))
    assert codes[:2] == [(0, None), (0, None)]
    assert codes[2] == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
    assert answer.throttle_time_ms == pytest.approx(9_000, abs=1_500)


def test_a_request_quota_holds_for_a_second(start_broker: StartBroker, name: str) -> None:
    from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest

    broker = start_broker()
    assert alter(broker, [("client-id", name)], request_percentage=0.0001) == (0, None)
    until_in_force(broker)
    peer = Client(broker, name)
    throttle_times = [peer.timed(ApiVersionsRequest(), 1)[0].throttle_time_ms for _ in range(3)]
    assert throttle_times[1:] == [1_000, 1_000]
    peer.close()


KINDS = {
    "producer_byte_rate": "1000000.0",
    "consumer_byte_rate": "2000000.0",
    "request_percentage": "50.5",
    "controller_mutation_rate": "0.5",
}
OPTIONS = {
    "users": (("--entity-type", "users", "--entity-name", "a b"), "user-principal 'a b'"),
    "default users": (("--entity-type", "users", "--entity-default"), "the default user-principal"),
    "clients": (("--entity-type", "clients", "--entity-name", "c"), "client-id 'c'"),
    "default clients": (("--entity-type", "clients", "--entity-default"), "the default client-id"),
}


ENTITIES = [[each] for each in OPTIONS] + [
    [user, client] for user in ("users", "default users") for client in ("clients", "default clients")
]
# As they stand in the registry.
WRITTEN = {
    key: value if "rate" not in key or "mutation" in key else value.removesuffix(".0") for key, value in KINDS.items()
}


@pytest.mark.parametrize("names", ENTITIES, ids=" and ".join)
def test_kafka_configs_sets_lists_and_deletes_each_kind_at_each_level(
    broker: RunningBroker, run: Tool, names: list[str]
) -> None:
    entity = [option for each in names for option in OPTIONS[each][0]]
    called = ", ".join(OPTIONS[each][1] for each in names)
    added = ",".join(f"{key}={value.removesuffix('.0')}" for key, value in KINDS.items())
    run(CONFIGS, *entity, "--alter", "--add-config", added)
    until(lambda: len(next(iter(describe(broker).values()), {})) >= len(KINDS))
    text = run(CONFIGS, *entity, "--describe")
    assert text.startswith(f"Quota configs for {called} are ")
    listed = dict(each.split("=") for each in text.split(" are ")[1].strip().split(", "))
    assert {key: float(value) for key, value in listed.items()} == {key: float(each) for key, each in KINDS.items()}
    run(CONFIGS, *entity, "--alter", "--delete-config", ",".join(KINDS))
    assert describe(broker) == {}


@pytest.fixture
def run(broker: RunningBroker) -> Tool:
    """A tool of Kafka's, told where the broker is."""

    def run(main_class: str, *arguments: str) -> str:
        done = run_tool(main_class, "--bootstrap-server", broker.bootstrap_servers, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


# --- by way of the znodes


class Watched:
    """A broker with its state where ZooKeeper's clients reach it."""

    def __init__(self, broker: RunningBroker, connect: str) -> None:
        self.broker = broker
        self.connect = connect


@pytest.fixture(scope="module")
def with_znodes() -> Iterator[Watched]:
    with ExitStack() as stack:
        if TARGET == "kafka":
            server = stack.enter_context(QuickKafkaServer(config={}))
            yield Watched(server, server.zookeeper_connect)
        else:
            yield Watched(*stack.enter_context(registry_broker(ONE_BROKER)))


def until_held(broker: RunningBroker, topic: str, client_id: str, *, is_held: bool) -> float:
    """Produce until the client is told to wait, or is not any more; how many seconds that took."""
    started = time.monotonic()
    while True:
        peer = Client(broker, client_id, timeout_s=0.2)
        try:
            throttle_ms, _, _ = peer.produce(topic, 1_000)
        except TimeoutError:
            # It waits for the hold of the one before it.
            throttle_ms = 1
        peer.close()
        if (throttle_ms > 0) is is_held:
            return time.monotonic() - started
        assert time.monotonic() - started < PATIENCE_S


@pytest.mark.parametrize("names", ENTITIES, ids=" and ".join)
def test_kafka_configs_sets_lists_and_deletes_by_way_of_zookeeper(
    with_znodes: Watched, name: str, names: list[str]
) -> None:
    entity = [option for each in names for option in OPTIONS[each][0]]

    def configs(*arguments: str) -> str:
        done = run_tool(CONFIGS, "--zookeeper", with_znodes.connect, *entity, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    configs("--alter", "--add-config", ",".join(f"{key}={value}" for key, value in WRITTEN.items()))
    listed = configs("--describe").split(" are ")[1].strip()
    assert dict(each.split("=") for each in listed.split(",")) == WRITTEN
    expected = [{key: float(value) for key, value in WRITTEN.items()}]
    until(lambda: list(describe(with_znodes.broker).values()) == expected)
    configs("--alter", "--delete-config", ",".join(WRITTEN))
    until(lambda: not describe(with_znodes.broker))


@pytest.mark.alone
@pytest.mark.skipif(TARGET == "kafka", reason="Kafka learns of a quota by its notification alone")
@pytest.mark.parametrize("entity", ["clients/{}", "users/ANONYMOUS", "users/ANONYMOUS/clients/{}", "users/<default>"])
def test_a_bare_write_of_a_znode_is_in_force_within_a_second(with_znodes: Watched, name: str, entity: str) -> None:
    broker = with_znodes.broker
    create_topic(broker.bootstrap_servers, name)
    path = f"/config/{entity.format(name)}"
    with kazoo_client(with_znodes.connect) as zookeeper:
        assert until_held(broker, name, name, is_held=False) < 1
        zookeeper.ensure_path(path)
        zookeeper.set(path, b'{"version":1,"config":{"producer_byte_rate":"10"}}')
        assert until_held(broker, name, name, is_held=True) < 1
        # What is no quota changes nothing.
        zookeeper.set(path, b'{"version":1,"config":{"producer_byte_rate":-1}}')
        zookeeper.set(path, b"nonsense")
        zookeeper.set(path, b'{"version":1,"config":{"producer_byte_rate":"1e400"}}')
        assert until_held(broker, name, name, is_held=True) < 1
        zookeeper.set(path, b'{"version":1,"config":{}}')
        assert until_held(broker, name, name, is_held=False) < 1
        zookeeper.set(path, b'{"version":1,"config":{"producer_byte_rate":"10"}}')
        assert until_held(broker, name, name, is_held=True) < 1
        zookeeper.delete(path, recursive=True)
        assert until_held(broker, name, name, is_held=False) < 1
