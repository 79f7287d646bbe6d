"""A small cluster in which causes are made for `barnabas explain`, and the clients that make them.

    World      brokers, topics, writers; asks questions as `barnabas explain` does
    Member     of a group: joins, reads, commits, leaves, and does none of it when it is told to
    Transactor a producer with a transactional id, one step at a time

All of it is real but for time, network and disk (docs/contributing/simulation.md).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_acls import AclAdmin
from barnabas.clients.admin_calls import LATEST
from barnabas.clients.admin_configs import ConfigAdmin
from barnabas.clients.admin_groups import GroupAdmin
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_topics import TopicAdmin
from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.clients.consumer import Consumer
from barnabas.clients.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.clients.group import assign_range
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.collector import Collector
from barnabas.explain.finding import Finding
from barnabas.explain.questions import EVERYTHING, QUESTIONS
from barnabas.explain.snapshot import Scope, Snapshot
from barnabas.testing.simulation.world import PORT, BrokerHost, Simulation
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.security.jaas import JaasEntry

GROUP = "g"
TOPIC = "t"
_SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "100",
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "5000",
    "auto.create.topics.enable": "false",
}
_PATIENCE_MS = 5_000
_MINUTE_MS = 60_000
_MOST_TO_WAIT_S = 180
_TIMEOUT_MS = 70_000


class WorldAdmin(TransactionAdmin, TopicAdmin, GroupAdmin, ConfigAdmin, ReplicaAdmin, AclAdmin, QuotaStateAdmin):
    """Administers all that a cause needs."""


class World:
    """One cluster.

    Attributes:
        dice: Decide on what a cause leaves open.
        hosts: Brokers, by id.
        admin: Of who may do everything.
    """

    def __init__(self, seed: int, broker_count: int, settings: Mapping[str, str]) -> None:
        self.simulation = Simulation(seed)
        self.dice = self.simulation.new_dice()
        copies = str(min(broker_count, 2))
        factors = {f"{each}.replication.factor": copies for each in ("offsets.topic", "transaction.state.log")}
        ensemble = self.simulation.add_ensemble() if broker_count > 1 else None
        self.hosts: dict[int, BrokerHost] = {
            number: self.simulation.add_broker(
                f"b{number}", {**_SETTINGS, **factors, **settings, "broker.id": str(number)}, ensemble
            )
            for number in range(1, broker_count + 1)
        }
        self._settings = settings
        self._pools: list[Pool] = []
        self._tasks: list[asyncio.Task[object]] = []
        self.admin = WorldAdmin(self.pool("admin"))

    async def start(self) -> None:
        """Start all brokers, and wait until they serve."""
        for host in self.hosts.values():
            host.start()
        await self.until(self._is_complete)

    async def _is_complete(self) -> bool:
        cluster = await self.admin.pool.metadata(None)
        return len(cluster.brokers) == len(self.hosts) and cluster.controller_id > 0

    async def live_beside(self) -> None:
        """Let others write and read, who have nothing to do with any cause."""
        await self.create("quiet", replicas=tuple(self.hosts))
        self.member("bystander", ["quiet"], group="bystanders").start()

        async def write() -> None:
            async with self.writing(self.dice.choice((0.5, 1)), topic="quiet", client_id="quiet-writer"):
                await asyncio.sleep(_MOST_TO_WAIT_S)

        self.begin(write())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(pool.close() for pool in self._pools))

    # --- clients

    def pool(
        self, client_id: str, user: str | None = None, password: str = "", mechanism: str = "PLAIN", **options: str
    ) -> Pool:
        """Connections of one client, from a machine of its own; kept open until the end.

        Args:
            password: Empty: the user's name.
            options: Of its JAAS line.
        """
        pool = self._new_pool(client_id, user, password, mechanism, options)
        self._pools.append(pool)
        return pool

    def _new_pool(
        self, client_id: str, user: str | None, password: str, mechanism: str, options: Mapping[str, str]
    ) -> Pool:
        security = None
        if user is not None:
            login = JaasEntry("", {"username": user, "password": password or user, **options})
            security = ClientSecurity(mechanism=mechanism, login=login)
        port = PORT if user is None else PORT + 1
        servers = ",".join(f"b{number}:{port}" for number in self.hosts)
        env = self.simulation.client(client_id)
        return Pool(servers, client_id, env=env, security=security, request_timeout_ms=10_000)

    def begin(self, work: object) -> None:
        """Let something go on until the end."""
        self._tasks.append(asyncio.ensure_future(work))  # type: ignore[call-overload]

    async def until(self, holds: Callable[[], object], most_s: float = _MOST_TO_WAIT_S) -> None:
        """Wait until something holds; what fails meanwhile does not hold yet. Raises TimeoutError."""
        async with asyncio.timeout(most_s):
            while True:
                with suppress(BarnabasError):
                    found = holds()
                    if await found if asyncio.iscoroutine(found) else found:
                        return
                await asyncio.sleep(0.2)

    # --- topics

    async def create(
        self, topic: str = TOPIC, partitions: int = 1, replicas: Sequence[int] = (), **configs: str
    ) -> None:
        """Create a topic; its partitions have these replicas, or where they are left out one anywhere."""
        assignments = dict.fromkeys(range(partitions), replicas) if replicas else None
        named = {name.replace("_", "."): value for name, value in configs.items()}
        new = NewTopic(topic, -1 if assignments else partitions, -1, named, assignments)
        await self.admin.create_topic(new)

    async def write(
        self,
        count: int,
        topic: str = TOPIC,
        partition: int = 0,
        *,
        size: int = 1,
        timestamp_ms: int | None = None,
        acks: int = -1,
    ) -> None:
        """Write records, as a client of its own."""
        async with Producer(self.pool("writer"), linger_ms=0, acks=acks) as producer:
            for _ in range(count):
                sent = await producer.send(topic, b"x" * size, b"k", partition=partition, timestamp_ms=timestamp_ms)
                if size > 1:
                    # One a batch.
                    await sent

    @asynccontextmanager
    async def writing(
        self, per_s: float, partitions: Sequence[int] = (0,), topic: str = TOPIC, client_id: str = "writer"
    ) -> AsyncIterator[None]:
        """Write that many records per second into some partitions, in turn, while the block lasts."""

        async def work() -> None:
            async with Producer(self.pool(client_id), linger_ms=0) as producer:
                number = 0
                while True:
                    number += 1
                    with suppress(BarnabasError):
                        sent = await producer.send(topic, b"x", partition=partitions[number % len(partitions)])
                        sent.add_done_callback(asyncio.Future.exception)
                    await asyncio.sleep(1 / per_s)

        task = asyncio.ensure_future(work())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def others(self) -> list[int]:
        """Brokers that are not the controller: what is cut off between them it still hears of."""
        known = await self.admin.pool.metadata([])
        return [each for each in self.hosts if each != known.controller_id]

    # --- groups

    async def group(self, count: int, topics: Sequence[str] = (TOPIC,), **more: int) -> "list[Member]":
        """Let a group form, and wait until that is no news any more."""
        members = [self.member(f"reader-{number}", topics, **more) for number in range(count)]
        for member in members:
            member.start()
        await self.until(lambda: all(member.is_settled for member in members))
        await asyncio.sleep(61 + self.dice.random() * 20)
        return members

    def member(self, client_id: str, topics: Sequence[str] = (TOPIC,), **more: object) -> "Member":
        return Member(self, client_id, topics, **more)  # type: ignore[arg-type]

    async def stable(self, *members: "Member") -> None:
        """Wait until a group of these members is stable."""
        # Whoever has to is told by a heartbeat.
        await asyncio.sleep(3)
        await self.until(
            lambda: all(each.is_settled for each in members) and len({each.generation for each in members}) <= 1
        )

    # --- questions

    async def ask(
        self, question: str | None, asked: Scope, minutes: int, client_id: str = "asker", user: str | None = None
    ) -> tuple[list[Finding], Snapshot]:
        """Answer a question as `barnabas explain` does, run anew."""
        asking = EVERYTHING if question is None else QUESTIONS[question]
        async with self._new_pool(client_id, user, "", "PLAIN", {}) as pool:
            snapshot = await Collector(pool, _PATIENCE_MS, asked, minutes * _MINUTE_MS).collect(
                asking.parts, asking.facts
            )
        return asking.rule(snapshot), snapshot


class Member:
    """A member of a group; its attributes say what it does from the next second on.

    Attributes:
        topics: What it subscribes to.
        is_leader: It assigns the partitions of its group.
        must_join: It joins again though nobody asked it to.
        is_busy: It sends heartbeats and does nothing else.
        reads, commits: Whether it does.
        most_per_s: So many records of a partition it works on each second; None: all.
        isolated: It reads committed records alone.
        works_s: It works so long after each fetch that brought something.
    """

    def __init__(
        self,
        world: World,
        client_id: str,
        topics: Sequence[str],
        *,
        group: str = GROUP,
        instance_id: str | None = None,
        protocols: Sequence[str] = ("range", "roundrobin"),
        rebalance_ms: int = 20_000,
        **fetching: Any,
    ) -> None:
        self.world = world
        self.client_id = client_id
        self.topics = list(topics)
        self.must_join = True
        self.is_leader = False
        self.is_busy = self.isolated = False
        self.reads = self.commits = True
        self.most_per_s: int | None = None
        self.works_s = 0.0
        self.member_id, self.generation = "", -1
        self.assignment: list[TopicPartition] = []
        self.failure = E.NONE
        self._group = group
        self._instance_id = instance_id
        self._protocols = protocols
        self._rebalance_ms = rebalance_ms
        self.pool = world.pool(client_id)
        self._consumer = Consumer(self.pool, auto_offset_reset="earliest", **fetching)
        self._committed: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it has what the group gave it."""
        return self.generation > 0 and not self.must_join

    def start(self) -> "Member":
        self._task = asyncio.ensure_future(self._live())
        self.world.begin(self._task)
        return self

    async def die(self) -> None:
        """Do nothing more, without a word."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.pool.close()

    async def leave(self) -> None:
        """Leave the group in order."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        channel = await self.pool.coordinator(self._group)
        await channel.send(LeaveGroupRequest(self._group, self.member_id), LeaveGroupResponse, max_version=2)

    async def remove(self, other: "Member") -> None:
        """Remove another member, as an administrator does."""
        channel = await self.pool.coordinator(self._group)
        members = [MemberIdentity(other.member_id)]
        await channel.send(LeaveGroupRequest(self._group, members=members), LeaveGroupResponse, max_version=3)

    async def fetch_freely(self) -> None:
        """Fetch as much at a time as a client does that nobody set anything for."""
        before, self._consumer = self._consumer, Consumer(self.pool, auto_offset_reset="earliest")
        self._consumer.assign(before.positions)
        await before.close()

    async def _live(self) -> None:
        beating = asyncio.ensure_future(self._beat())
        try:
            while True:
                try:
                    if self.must_join and not self.is_busy:
                        await self._join()
                    if self.generation > 0 and not self.is_busy:
                        await self._read()
                except KafkaError as error:
                    self._met(error.code)
                await asyncio.sleep(1)
        finally:
            beating.cancel()

    def _met(self, code: int) -> None:
        """Do what an error asks for."""
        if code in (E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION):
            self.member_id = ""
            self.must_join = True
        elif code == E.REBALANCE_IN_PROGRESS:
            self.must_join = True
        elif code:
            self.failure = E(code)
            self.pool.forget_coordinator(self._group)
            for topic in self.topics:
                self.pool.forget(topic)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(1)
            if self.generation <= 0 or self.must_join:
                continue
            request = HeartbeatRequest(self._group, self.generation, self.member_id, self._instance_id)
            with suppress(BarnabasError):
                channel = await self.pool.coordinator(self._group)
                code = (await channel.send(request, HeartbeatResponse, timeout_ms=2_000)).error_code
                if code != E.REBALANCE_IN_PROGRESS or not self.is_busy:
                    self._met(code)

    async def _join(self) -> None:
        channel = await self.pool.coordinator(self._group)
        subscription = encode_subscription(self.topics)
        protocols = [JoinGroupRequestProtocol(each, subscription) for each in self._protocols]
        request = JoinGroupRequest(
            self._group, 6_000, self._rebalance_ms, self.member_id, self._instance_id, PROTOCOL_TYPE, protocols
        )
        joined = await channel.send(request, JoinGroupResponse, max_version=5, timeout_ms=_TIMEOUT_MS)
        if joined.error_code == E.MEMBER_ID_REQUIRED:
            self.member_id = request.member_id = joined.member_id
            joined = await channel.send(request, JoinGroupResponse, max_version=5, timeout_ms=_TIMEOUT_MS)
        if joined.error_code:
            raise KafkaError(E(joined.error_code), "JoinGroup")
        self.member_id, self.is_leader = joined.member_id, joined.leader == joined.member_id
        assignments = []
        if self.is_leader and joined.members:
            subscriptions = {each.member_id: decode_subscription(each.metadata) for each in joined.members}
            known = (
                await self.pool.metadata(sorted({name for names in subscriptions.values() for name in names}))
            ).topics
            counts = {name: len(each.partitions) for name, each in known.items()}
            divided = assign_range(subscriptions, counts)
            assignments = [
                SyncGroupRequestAssignment(each, encode_assignment(parts)) for each, parts in divided.items()
            ]
        sync = SyncGroupRequest(
            self._group, joined.generation_id, self.member_id, self._instance_id, assignments=assignments
        )
        synced = await channel.send(sync, SyncGroupResponse, max_version=3, timeout_ms=_TIMEOUT_MS)
        if synced.error_code:
            raise KafkaError(E(synced.error_code), "SyncGroup")
        self.generation, self.must_join = joined.generation_id, False
        self.assignment = decode_assignment(synced.assignment)
        await self._find_positions()

    async def _find_positions(self) -> None:
        self._committed = await GroupAdmin(self.pool).committed_offsets(self._group, self.assignment)
        missing = [each for each in self.assignment if each not in self._committed]
        earliest = await Admin(self.pool).offsets(missing, -2) if missing else {}
        self._consumer.assign({**self._committed, **earliest})

    async def _read(self) -> None:
        """Read and commit once."""
        if self.reads and self.assignment:
            before = dict(self._consumer.positions)
            fetched = await self._consumer.poll(200)
            if self.most_per_s is not None:
                most = self.most_per_s
                positions = self._consumer.positions.items()
                self._consumer.assign({each: min(at, before.get(each, at) + most) for each, at in positions})
            if fetched:
                await asyncio.sleep(self.works_s)
        if not self.commits or not self.assignment:
            return
        offsets = dict(self._consumer.positions)
        if self.isolated:
            stable = await OffsetAdmin(self.pool).offsets(list(offsets), LATEST, is_read_committed=True)
            offsets = {each: min(at, stable[each]) for each, at in offsets.items()}
        changed = {each: at for each, at in offsets.items() if self._committed.get(each) != at}
        if changed:
            await self._commit(changed)

    async def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for each, offset in offsets.items():
            by_topic.setdefault(each.topic, []).append(OffsetCommitRequestPartition(each.partition, offset))
        topics = [OffsetCommitRequestTopic(topic, partitions=parts) for topic, parts in by_topic.items()]
        request = OffsetCommitRequest(
            self._group, self.generation, self.member_id, topics=topics, group_instance_id=self._instance_id
        )
        channel = await self.pool.coordinator(self._group)
        answer = await channel.send(request, OffsetCommitResponse, max_version=7, timeout_ms=5_000)
        self._committed = {**self._committed, **offsets}
        for topic in answer.topics:
            for part in topic.partitions:
                self._met(part.error_code)


class Transactor:
    """A producer with a transactional id, which does what it is told."""

    def __init__(self, world: World, client_id: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self.producer_id = self.epoch = -1
        self._pool = world.pool(client_id)
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._sequences: dict[int, int] = {}
        self._now_ms = world.simulation.clock.now_ms

    async def _coordinated(self, request: object, answer: type) -> object:
        while True:
            try:
                channel = await self._pool.transaction_coordinator(self._id)
            except KafkaError:
                # Its topic is being made.
                await asyncio.sleep(0.1)
                continue
            told = await channel.send(request, answer, timeout_ms=_TIMEOUT_MS)  # type: ignore[arg-type]
            results = getattr(told, "results", None)
            code = told.error_code if results is None else results[0].results[0].error_code
            if code not in (E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR):
                return told
            await asyncio.sleep(0.1)

    async def begin(self) -> "Transactor":
        """Take the id over, from whoever had it."""
        told = await self._coordinated(InitProducerIdRequest(self._id, self._timeout_ms), InitProducerIdResponse)
        assert isinstance(told, InitProducerIdResponse)
        assert told.error_code == E.NONE, told.error_code
        self.producer_id, self.epoch = told.producer_id, told.producer_epoch
        self._sequences.clear()
        return self

    async def write(self, count: int, topic: str = TOPIC, partition: int = 0, *, is_registered: bool = True) -> None:
        """Write records; a partition that the coordinator is not told of has a transaction that hangs."""
        topics = [AddPartitionsToTxnTopic(topic, [partition])]
        if is_registered:
            request = AddPartitionsToTxnRequest(self._id, self.producer_id, self.epoch, topics)
            await self._coordinated(request, AddPartitionsToTxnResponse)
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = sequence + count
        builder = BatchBuilder(
            producer_id=self.producer_id, producer_epoch=self.epoch, base_sequence=sequence, is_transactional=True
        )
        for _ in range(count):
            builder.append(self._now_ms(), None, b"x")
        data = [TopicProduceData(topic, [PartitionProduceData(partition, memoryview(builder.build()))])]
        channel = await self._pool.leader(TopicPartition(topic, partition))
        answer = await channel.send(ProduceRequest(self._id, -1, 5_000, data), ProduceResponse)
        (told,) = answer.responses[0].partition_responses
        assert told.error_code == E.NONE, told.error_code

    async def end(self, *, is_commit: bool) -> None:
        await self._coordinated(EndTxnRequest(self._id, self.producer_id, self.epoch, is_commit), EndTxnResponse)
