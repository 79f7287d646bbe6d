"""Causes that clients meet: limits, refusals, slow requests, transactions, and lag that comes of these."""

import asyncio
import struct
from collections.abc import AsyncGenerator
from contextlib import suppress

from barnabas.clients.admin import NewTopic
from barnabas.clients.admin_quota_states import Limited
from barnabas.clients.admin_topics import TopicAdmin
from barnabas.clients.producer import Producer
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Scope
from barnabas.testing.simulation.clocks import VirtualClock
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.security.acls import ANYBODY, Binding, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import USER, Principal
from tests.integration.hostile_peers import frame_of
from tests.simulation.explain_causes import cause
from tests.simulation.explain_groups import ASKED, one_reader, written
from tests.simulation.explain_world import TOPIC, Transactor, World

Acts = AsyncGenerator[Scope, None]
BUSY = "busy"
ALICE = Principal(USER, "alice")
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = {
    "listeners": "PLAINTEXT://b1:9092,SASL_PLAINTEXT://b1:9093",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{_MODULE} user_alice="alice" user_bob="bob";',
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}
REFUSED = Scope()


async def limit(world: World, quota: str, value: float | None, client_id: str = BUSY) -> None:
    await world.admin.alter_limits(Limited(None, client_id), {quota: value})
    await asyncio.sleep(1)


# --- held


@cause("client", "held:producer_byte_rate", happened=True)
async def producer_held(world: World) -> Acts:
    await world.create()
    await limit(world, "producer_byte_rate", world.dice.choice((1_000, 5_000)))
    async with Producer(world.pool(BUSY), linger_ms=0, request_timeout_ms=60_000) as producer:
        for _ in range(world.dice.randint(12, 30)):
            await (await producer.send(TOPIC, b"x" * 5_000, partition=0))
    yield Scope(client_id=BUSY)
    await limit(world, "producer_byte_rate", None)


@cause("client", "held:consumer_byte_rate", happened=True)
async def consumer_held(world: World) -> Acts:
    await world.create()
    await world.write(world.dice.randint(10, 30), size=5_000)
    await limit(world, "consumer_byte_rate", world.dice.choice((1_000, 5_000)))
    reader = world.member(BUSY, max_partition_fetch_bytes=5_000).start()
    await asyncio.sleep(15)
    yield Scope(client_id=BUSY)
    await reader.die()
    await limit(world, "consumer_byte_rate", None)


class BusyClock(VirtualClock):
    """Each look at it takes a while, as computing does elsewhere."""

    _taken_ns = 0

    def monotonic_ns(self) -> int:
        self._taken_ns += 2_000_000
        return super().monotonic_ns() + self._taken_ns


@cause("client", "held:request_percentage", happened=True)
async def requests_held(world: World) -> Acts:
    host = world.hosts[1]
    host.clock = BusyClock(world.simulation.loop)
    host.kill()
    host.start()
    await world.create()
    await limit(world, "request_percentage", 1)
    pool = world.pool(BUSY)
    for _ in range(world.dice.randint(200, 300)):
        await pool.metadata(None)
    yield Scope(client_id=BUSY)
    await limit(world, "request_percentage", None)


@cause("client", "held:controller_mutation_rate", happened=True)
async def mutations_held(world: World) -> Acts:
    await limit(world, "controller_mutation_rate", 1)
    admin = TopicAdmin(world.pool(BUSY), 1)
    for number in range(world.dice.randint(3, 8)):
        with suppress(KafkaError):
            await admin.create_topic(NewTopic(f"made-{number}", 20, 1))
    yield Scope(client_id=BUSY)
    await limit(world, "controller_mutation_rate", None)


RECEIVE_MEMORY = {"queued.max.request.bytes": "300000", "socket.request.max.bytes": "300000"}
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


@cause("client", "held:queued.max.request.bytes", happened=True, settings=RECEIVE_MEMORY)
async def receive_memory_full(world: World) -> Acts:
    await world.create()
    dialling = world.simulation.client("crowd")
    crowd = [await dialling.dial("b1", 9092) for _ in range(3)]
    for reader, writer in crowd:
        writer.write(_API_VERSIONS)
        await reader.read(4096)
        # Half of a request, the rest of which comes slowly, and not so slowly that it had to give way.
        writer.write(struct.pack(">i", 250_000) + bytes(120_000))
    async with Producer(world.pool(BUSY), linger_ms=0, request_timeout_ms=60_000) as producer:
        sent = await producer.send(TOPIC, b"x" * 200_000, partition=0)
        for _ in range(world.dice.randint(5, 12)):
            await asyncio.sleep(0.2)
            for _, writer in crowd:
                writer.write(bytes(10_000))
        for _, writer in crowd:
            writer.close()
        await sent
    yield Scope(client_id=BUSY)


@cause("lag", "held")
async def lag_by_quota(world: World) -> Acts:
    (member,) = await one_reader(world, max_partition_fetch_bytes=4_000)
    await limit(world, "consumer_byte_rate", 100, member.client_id)
    async with world.writing(world.dice.choice((10, 20))):
        await asyncio.sleep(world.dice.randint(60, 120))
        yield ASKED
        await limit(world, "consumer_byte_rate", None, member.client_id)
        # It keeps being late, for a reason of its own.
        member.commits = False
        await asyncio.sleep(30)


# --- refused


def grant(name: str, operation: Operation, permission: Permission, who: Principal) -> Binding:
    pattern = Pattern(ResourceType.TOPIC, name, PatternType.LITERAL)
    return Binding(pattern, Entry(who, "*", operation, permission))


async def attempt(world: World, user: str) -> None:
    """Write as a user, in vain."""
    with suppress(BarnabasError):
        async with Producer(world.pool("app", user), linger_ms=0, delivery_timeout_ms=3_000) as producer:
            await (await producer.send(TOPIC, b"x", partition=0))


@cause("refused", "denied", happened=True, settings=USERS)
async def denied(world: World) -> Acts:
    await world.create()
    allow = grant(TOPIC, Operation.ALL, Permission.ALLOW, ANYBODY)
    deny = grant(TOPIC, Operation.WRITE, Permission.DENY, ALICE)
    await world.admin.create_acls([allow, deny])
    await attempt(world, "alice")
    yield REFUSED


@cause("refused", "right-missing", happened=True, settings=USERS)
async def right_missing(world: World) -> Acts:
    await world.create()
    await world.admin.create_acls([grant(TOPIC, Operation.READ, Permission.ALLOW, ALICE)])
    await attempt(world, "alice")
    yield REFUSED


@cause("refused", "no-rule", happened=True, settings=USERS)
async def no_rule(world: World) -> Acts:
    await world.create()
    await attempt(world, "bob")
    yield REFUSED


async def log_in(world: World, user: str, password: str, mechanism: str = "PLAIN", **options: str) -> None:
    """Log in, in vain."""
    with suppress(BarnabasError):
        await world.pool("app", user, password, mechanism, **options).metadata([])


@cause("refused", "refused-login:Authentication failed: Invalid username or password", happened=True, settings=USERS)
async def wrong_password(world: World) -> Acts:
    await log_in(world, "alice", "guessed")
    yield REFUSED


@cause("refused", "refused-login:Authentication failed: Invalid username or password", happened=True, settings=USERS)
async def unknown_user(world: World) -> Acts:
    await log_in(world, "mallory", "mallory")
    yield REFUSED


@cause("refused", "refused-limit:max.connections.per.ip", happened=True, settings={"max.connections.per.ip": "3"})
async def too_many_connections(world: World) -> Acts:
    dialling = world.simulation.client("crowd")
    opened = [await dialling.dial("b1", 9092) for _ in range(world.dice.randint(5, 15))]
    await asyncio.sleep(1)
    yield REFUSED
    for _, writer in opened:
        writer.close()


# --- slow


@cause("slow", "slow-remote:followers", happened=True, brokers=3)
async def waits_for_followers(world: World) -> Acts:
    await world.create(replicas=(1, 2))
    await asyncio.sleep(1)
    world.simulation.network.slow_way(["b2"], ["b1"], world.dice.randint(1_500, 3_000) * 1_000)
    await world.write(world.dice.randint(1, 5))
    yield Scope()
    world.simulation.network.heal()


@cause("slow", "slow-remote:flush", happened=True, settings={"log.flush.interval.messages": "1"})
async def waits_for_flush(world: World) -> Acts:
    await world.create()
    world.hosts[1].slowness = 2_000
    await world.write(world.dice.randint(2, 6))
    world.hosts[1].slowness = 1
    yield Scope()


@cause("slow", "slow-send", happened=True)
async def answer_not_taken(world: World) -> Acts:
    await world.create()
    await world.write(world.dice.randint(10, 20), size=50_000)
    _, writer = await world.simulation.client(BUSY).dial("b1", 9092)
    writer.write(_API_VERSIONS)
    # It asks, and looks at no answer for a while.
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1_000_000)
    request = FetchRequest(replica_id=-1, max_bytes=1_000_000, topics=[FetchTopic(TOPIC, [partition])])
    writer.write(frame_of(request, 4, BUSY))
    await asyncio.sleep(world.dice.randint(2, 30))
    if world.dice.random() < 0.5:
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(1)
    writer.close()
    await asyncio.sleep(1)
    yield Scope()


@cause("broker", "stalled", ("may-not-stop",), happened=True)
async def stood_still(world: World) -> Acts:
    await world.create()
    await asyncio.sleep(2)
    world.hosts[1].stand_still()
    await asyncio.sleep(world.dice.uniform(0.5, 4))
    world.hosts[1].go_on()
    await asyncio.sleep(1)
    yield Scope("1")


# --- transactions


PAYMENTS = "payments"
ASKED_PAYMENTS = Scope(PAYMENTS)


async def one_transaction(world: World, timeout_ms: int = 60_000) -> Transactor:
    await world.create()
    await world.write(world.dice.randint(1, 10))
    transactor = await Transactor(world, "biller", PAYMENTS, timeout_ms).begin()
    await transactor.write(world.dice.randint(1, 10))
    return transactor


@cause("transaction", "aborted-producer", happened=True)
async def aborted_by_producer(world: World) -> Acts:
    transactor = await one_transaction(world)
    await transactor.end(is_commit=False)
    await asyncio.sleep(1)
    yield ASKED_PAYMENTS


@cause("transaction", "aborted-timeout", happened=True)
async def aborted_by_timeout(world: World) -> Acts:
    await one_transaction(world, 5_000)
    await asyncio.sleep(8)
    yield ASKED_PAYMENTS


@cause("transaction", "aborted-newer-producer", happened=True)
async def aborted_by_newer_producer(world: World) -> Acts:
    await one_transaction(world)
    await Transactor(world, "biller-2", PAYMENTS).begin()
    await asyncio.sleep(1)
    yield ASKED_PAYMENTS


@cause("transaction", "open")
async def open_for_long(world: World) -> Acts:
    transactor = await one_transaction(world, 600_000)
    await asyncio.sleep(world.dice.randint(70, 200))
    yield ASKED_PAYMENTS
    await transactor.end(is_commit=True)


@cause("transaction", "hanging", ("aborted-producer", "open"))
async def hanging(world: World) -> Acts:
    transactor = await one_transaction(world)
    await transactor.end(is_commit=True)
    await asyncio.sleep(1)
    await transactor.write(2, is_registered=False)
    await asyncio.sleep(world.dice.randint(1, 100))
    yield Scope()
    (found,) = await world.admin.open_transactions([TopicPartition(TOPIC, 0)])
    await world.admin.abort(found)


@cause("lag", "open-transaction", ("open",))
async def lag_by_transaction(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.isolated = True
    transactor = await Transactor(world, "biller", PAYMENTS, 600_000).begin()
    await transactor.write(world.dice.randint(1, 10))
    if world.dice.random() < 0.5:
        await world.write(world.dice.randint(1, 100))
    await asyncio.sleep(world.dice.randint(5, 100))
    yield ASKED
    await transactor.end(is_commit=world.dice.random() < 0.5)


@cause("lag", "markers-only")
async def markers_only(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.reads = False
    transactor = await Transactor(world, "biller", PAYMENTS).begin()
    await transactor.write(world.dice.randint(1, 10))
    await transactor.end(is_commit=False)
    await asyncio.sleep(2)
    yield ASKED
    member.reads = True
    await written(world, 1)
    await asyncio.sleep(3)
