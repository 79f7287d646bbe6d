"""Our own clients at work on a cluster whose brokers come and go: what they were told is held against what is there.

Numbers are written by an idempotent producer, copied in transactions of some each, and read by a member of a group that
commits. Every client has a pool of its own, so that none is helped by what another one learned.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer as ForeignConsumer
from confluent_kafka import TopicPartition as ForeignPartition

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.group import GroupMember
from barnabas.clients.mirror.transactional import TransactionalProducer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.builder import BatchBuilder
from tests.clusters import Members, controller_of, leader_of, servers_of, wait_for_in_sync
from tests.patience import PATIENCE_S
from tests.replicas import wait_for_equal_replicas
from tests.simulation.checker import Append, Commit, Found, Observed, Read

_PARTITIONS = 3
_IN_ORDER = 20
# What a client waits for a broker that stands still: less than the default, as a test has less time.
_REQUEST_TIMEOUT_MS = 5_000


class ClusterLoad:
    """Writers and readers of two topics, `<name>` and `<name>-copied`.

    Attributes:
        acknowledged: The numbers that a broker said were written, by partition.
        copied: Those whose transaction was said to be committed.
        read: What the member of the group saw, by partition; a number may come again after a rebalance.
        observed: The same with times and places, for who judges it as simulated histories are; in nanoseconds.

    Args:
        servers: Of the cluster.
        name: Of the topic.
        pause_s: What a writer waits between two handfuls.
    """

    def __init__(self, servers: str, name: str, pause_s: float = 0.01) -> None:
        self.name = name
        self.observed = Observed()
        self._pause_s = pause_s
        self.acknowledged: dict[int, list[int]] = {index: [] for index in range(_PARTITIONS)}
        self.copied: list[int] = []
        self.read: dict[int, list[int]] = {index: [] for index in range(_PARTITIONS)}
        self._servers = servers
        self._is_ending = False
        self._tasks: list[asyncio.Task[None]] = []

    def _pool(self, name: str) -> Pool:
        return Pool(self._servers, f"{self.name}-{name}", request_timeout_ms=_REQUEST_TIMEOUT_MS)

    async def start(self) -> None:
        """Create the topics and begin, once each broker knows who leads."""
        topics = (self.name, f"{self.name}-copied")
        async with self._pool("admin") as pool:
            for topic in topics:
                await Admin(pool).create_topic(NewTopic(topic, _PARTITIONS, 3, {"min.insync.replicas": "2"}))
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(self._wait_for_leaders(each, topics) for each in self._servers.split(",")))
        self._tasks = [
            asyncio.create_task(work) for work in (*map(self._write, range(_PARTITIONS)), self._copy(), self._consume())
        ]

    async def _wait_for_leaders(self, server: str, topics: Sequence[str]) -> None:
        async with Pool(server, f"{self.name}-admin") as pool:
            channel = await pool.any_broker()
            while True:
                told = (await pool.metadata(topics, channel=channel)).topics.values()
                partitions = [each for topic in told for each in topic.partitions.values()]
                if len(partitions) == _PARTITIONS * len(topics) and all(each.leader_id >= 0 for each in partitions):
                    return
                await asyncio.sleep(0.02)

    def _check(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something that the clients bring about. Raises what one of them failed with."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                self._check()
                await asyncio.sleep(0.02)

    async def goes_on(self, count: int = 60) -> None:
        """Wait until each of the clients has got on by so many numbers in every partition."""
        lists = [*self.acknowledged.values(), *self.read.values()]
        ends = [len(each) + count for each in lists]
        copied = len(self.copied) + count
        await self.until(
            lambda: len(self.copied) >= copied and all(len(a) >= b for a, b in zip(lists, ends, strict=True))
        )

    async def end(self) -> None:
        """Stop writing, and let the reader reach the end."""
        self._is_ending = True
        await self.until(lambda: all(task.done() for task in self._tasks))

    async def close(self) -> None:
        """Give up what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wrong(self) -> list[str]:
        """Tell what is not as it should be: one line for each."""
        found = []
        there = values_of(self._servers, self.name)
        for index, numbers in self.acknowledged.items():
            # An idempotent producer's: in order, and each once.
            if there[index] != numbers:
                found.append(f"{self.name}-{index}: {_difference(numbers, there[index])}")
            # A rebalance reads again from what was committed; what is read first is in order.
            seen = list(dict.fromkeys(self.read[index]))
            if seen != numbers:
                found.append(f"{self.name}-{index}, read by the group: {_difference(numbers, seen)}")
        copies = values_of(self._servers, f"{self.name}-copied")
        counts = Counter(value for values in copies.values() for value in values)
        # Whether a transaction in doubt was committed nobody knows; that it is in all partitions or in none is sure.
        if lost := [number for number in self.copied if number not in counts]:
            found.append(f"{len(lost)} transactions are missing: {lost[:5]}")
        if torn := [number for number, count in counts.items() if count != _PARTITIONS]:
            found.append(f"{len(torn)} transactions are not in every partition once: {torn[:5]}")
        return found

    async def _write(self, index: int) -> None:
        number = index
        async with (
            self._pool(f"writer-{index}") as pool,
            Producer(pool, enable_idempotence=True, request_timeout_ms=_REQUEST_TIMEOUT_MS) as producer,
        ):
            while not self._is_ending:
                numbers = [number + _PARTITIONS * step for step in range(_IN_ORDER)]
                begin_ns = time.monotonic_ns()
                futures = [await producer.send(self.name, b"%d" % each, partition=index) for each in numbers]
                places = await asyncio.gather(*futures)
                end_ns = time.monotonic_ns()
                self.observed.appends += [
                    Append(f"writer-{index}", f"{self.name}-{index}", str(each), begin_ns, end_ns, place.offset)
                    for each, place in zip(numbers, places, strict=True)
                ]
                self.acknowledged[index] += numbers
                number = numbers[-1] + _PARTITIONS
                await asyncio.sleep(self._pause_s)

    async def _copy(self) -> None:
        number = 0
        partitions = [TopicPartition(f"{self.name}-copied", index) for index in range(_PARTITIONS)]
        async with self._pool("copier") as pool:
            while not self._is_ending:
                writer = TransactionalProducer(pool, f"{self.name}-copier", 30_000)
                try:
                    await writer.fence()
                    while not self._is_ending:
                        number += 1
                        await writer.begin(*partitions)
                        for partition in partitions:
                            batch = BatchBuilder(
                                producer_id=0, producer_epoch=0, base_sequence=0, is_transactional=True
                            )
                            batch.append(int(time.time() * 1000), None, b"%d" % number, ())
                            await writer.send(partition, batch.build(), 1)
                        await writer.commit()
                        self.copied.append(number)
                        await asyncio.sleep(self._pause_s)
                except KafkaError as error:
                    # The last transaction's end may take as long as a hung leader's session, and the election.
                    if error.code not in RETRIABLE | {ErrorCode.CONCURRENT_TRANSACTIONS}:
                        raise
                finally:
                    writer.close()

    async def _consume(self) -> None:
        async with self._pool("reader") as pool:
            member = GroupMember(
                pool,
                f"{self.name}-group",
                [self.name],
                session_timeout_ms=6_000,
                heartbeat_interval_ms=300,
                rebalance_timeout_ms=30_000,
            )
            consumer = Consumer(pool, auto_offset_reset="none")
            try:
                while not self._has_read_all():
                    begin_ns = time.monotonic_ns()
                    positions = await member.join("earliest")
                    self.observed.found += [
                        Found(self.name, str(partition), offset, begin_ns, time.monotonic_ns())
                        for partition, offset in positions.items()
                    ]
                    consumer.assign(positions)
                    await self._read(consumer, member)
            finally:
                await consumer.close()
                await member.leave()

    async def _read(self, consumer: Consumer, member: GroupMember) -> None:
        """Read and commit until the group rebalances, or all was read."""
        reader = f"reader-{time.monotonic_ns()}"
        while not (member.needs_rejoin or self._has_read_all()):
            for batch in await consumer.poll(200):
                self.read[batch.partition.partition] += [int(record.value or b"") for record in batch.records]
                self.observed.reads += [
                    Read(reader, str(batch.partition), record.offset, bytes(record.value or b"").decode())
                    for record in batch.records
                ]
            begin_ns, end_ns, positions = time.monotonic_ns(), None, dict(consumer.positions)
            try:
                await member.commit(positions)
                end_ns = time.monotonic_ns()
            except KafkaError:
                if not member.needs_rejoin:
                    raise
            finally:
                self.observed.commits += [
                    Commit(self.name, str(partition), offset, begin_ns, end_ns)
                    for partition, offset in positions.items()
                ]

    def _has_read_all(self) -> bool:
        return (
            self._is_ending
            and all(task.done() for task in self._tasks[:_PARTITIONS])
            and all(set(self.acknowledged[index]) <= set(self.read[index]) for index in self.acknowledged)
        )


def values_of(servers: str, topic: str) -> dict[int, list[int]]:
    """Return the numbers that somebody else's reader of committed records finds in each partition."""
    reader = ForeignConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            # The end is told by a fetch that finds nothing.
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
    )
    found: dict[int, list[int]] = {index: [] for index in range(_PARTITIONS)}
    try:
        reader.assign([ForeignPartition(topic, index, 0) for index in found])
        deadline = time.monotonic() + PATIENCE_S
        at_end: set[int] = set()
        while len(at_end) < len(found):
            assert time.monotonic() < deadline, f"{topic}: partitions {found.keys() - at_end} can't be read to the end"
            message = reader.poll(1)
            index = None if message is None else message.partition()
            if message is None or index is None:
                continue
            if message.error() is not None:
                at_end.add(index)
            else:
                found[index].append(int(message.value() or b""))
        return found
    finally:
        reader.close()


def play_ends(members: Members, name: str, count: int = 60, *, is_short: bool = False) -> list[str]:
    """Have brokers come to an end in every way while clients work: a leader is killed, then the controller; a leader
    stands still for longer than its session and comes back; another one is stopped in good order.

    Args:
        members: All brokers; at the end all run.
        name: Of the topic.
        count: By how many numbers each client must get on after each end.
        is_short: Kill the controller alone, which leads one of three partitions, too.

    Returns:
        What was lost, doubled or torn, and where replicas differ; nothing.
    """
    load = ClusterLoad(servers_of(members), name)

    async def story() -> None:
        await load.start()
        try:
            await load.goes_on(count)
            for is_leader in [False] if is_short else [True, False]:
                killed = members[await (leader_of(members, name, 0) if is_leader else controller_of(members))]
                killed.kill()
                await load.goes_on(count)
                await asyncio.to_thread(killed.restart)
                await load.goes_on(count)
            standing = members[await leader_of(members, name, 1)]
            standing.pause()
            await load.goes_on(count)
            standing.resume()
            await load.goes_on(count)
            stopped = members[await leader_of(members, name, 2)]
            await asyncio.to_thread(stopped.stop)
            await load.goes_on(count)
            await asyncio.to_thread(stopped.restart)
            await load.end()
        finally:
            await load.close()

    asyncio.run(story())
    wrong = load.wrong()
    for topic in (name, f"{name}-copied"):
        wait_for_equal_replicas({broker_id: each.data_dir for broker_id, each in members.items()}, topic, _PARTITIONS)
    return wrong


def play_rolling_restart(members: Members, name: str, count: int = 60) -> list[str]:
    """Stop and start one broker after the other while clients work, each when all are in sync.

    Args: as of `play_ends`.

    Returns:
        What was lost, doubled or torn; nothing.
    """
    load = ClusterLoad(servers_of(members), name)

    async def story() -> None:
        await load.start()
        try:
            for broker_id, member in members.items():
                await load.goes_on(count)
                await asyncio.to_thread(wait_for_in_sync, members, name)
                await asyncio.to_thread(member.stop)
                others = {each: other for each, other in members.items() if each != broker_id}
                # The broker's log says that leaders moved before its end; it takes a moment until all others know.
                async with Pool(servers_of(others), "judge") as pool, asyncio.timeout(PATIENCE_S):
                    leaders = {broker_id}
                    while not leaders <= others.keys():
                        await asyncio.sleep(0.05)
                        found = (await pool.metadata([name])).topics[name].partitions.values()
                        leaders = {each.leader_id for each in found}
                await load.goes_on(count)
                await asyncio.to_thread(member.restart)
            await load.end()
        finally:
            await load.close()

    asyncio.run(story())
    return load.wrong()


def _difference(expected: list[int], found: list[int]) -> str:
    missing, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    return f"{len(expected)} expected, {len(found)} there, missing {sorted(missing)[:5]}, too many {sorted(more)[:5]}"
