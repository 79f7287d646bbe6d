"""Random histories of one broker with producers and a group, and what must hold for each of them.

    producers    idempotent, each writes its own numbered records
    members      of one group, read everything and commit
    faults       kills, power cuts, orderly stops, cut connections, hosts apart, a slow disk, a full one

In the end all is healed, and the log is read from its beginning. Then:

    - no acknowledged record is missing, and each stands where the acknowledgement said;
    - no record stands there twice, acknowledged or not;
    - what a producer wrote into a partition stands in the order in which it was written;
    - the group's committed offsets are never behind what was acknowledged, in the end or when somebody joins;
    - nothing was logged as an error, but for what a full disk explains.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from barnabas.clients.admin import LATEST, Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.group import GroupMember
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer, RecordMetadata
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import PORT, BrokerHost, Simulation

T = TypeVar("T")

BROKER = "broker"
SERVERS = f"{BROKER}:{PORT}"
TOPIC = "t"
GROUP = "g"

SETTINGS = {
    "log.flush.interval.messages": "1",
    "log.segment.bytes": "3000",
    "offsets.topic.segment.bytes": "3000",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}


# After the last fault all must have come to its end: timeouts of clients are half a minute.
_MOST_TO_HEAL_S = 600


@dataclass
class Outcome:
    """What became of a history.

    Attributes:
        violations: What should have held and did not.
        counts: How much of everything happened.
        lines: The history.
    """

    seed: int
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()


class History:
    """One history; `play` plays it.

    Attributes:
        SETTINGS: Of the broker.
    """

    SETTINGS = SETTINGS

    def __init__(self, seed: int, duration_s: float = 60.0) -> None:
        self.simulation = Simulation(seed)
        self.dice = self.simulation.new_dice()
        self.outcome = Outcome(seed, lines=self.simulation.history)
        self.host: BrokerHost = self.simulation.add_broker(BROKER, self.SETTINGS)
        self.partition_count = self.dice.randint(1, 3)
        # Where the broker writes batches anew it prepares the large ones in threads, and others wait behind them.
        self.is_rewritten = self.dice.random() < 0.4
        self.sizes = (0, 10, 300, 40_000) if self.is_rewritten else (0, 10, 300)
        self.end_s = duration_s
        # By record: where it was acknowledged to be; None where nobody knows whether it was written.
        self.written: dict[str, tuple[int, int] | None] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.disk_was_full = False
        self.answered = asyncio.Event()

    # --- the story

    def play(self) -> Outcome:
        simulation, outcome = self.simulation, self.outcome
        try:
            simulation.run(asyncio.wait_for(self._story(), self.end_s + _MOST_TO_HEAL_S))
        except Exception as error:
            outcome.violations.append(f"the history broke off: {error!r}")
        outcome.violations += [f"a callback raised: {each}" for each in simulation.loop.errors]
        if not self.disk_was_full:
            outcome.violations += [f"logged as an error: {text}" for text in simulation.errors]
        outcome.counts["lines"] = len(outcome.lines)
        return outcome

    def _now(self) -> float:
        return self.simulation.loop.time()

    def _is_over(self) -> bool:
        return self._now() >= self.end_s

    async def _story(self) -> None:
        self.host.start()
        async with Pool(SERVERS, env=self.simulation.client("admin")) as pool:
            configs = {"compression.type": "gzip"} if self.is_rewritten else {}
            topic = NewTopic(TOPIC, self.partition_count, 1, configs)
            await self._until_it_works(lambda: Admin(pool).create_topic(topic))
            async with asyncio.TaskGroup() as group:
                self._begin(group)
                group.create_task(self._break_things())
            await self._check(pool)

    def _begin(self, group: asyncio.TaskGroup) -> None:
        """Let the clients begin."""
        for number in range(self.dice.randint(1, 2)):
            group.create_task(self._produce(f"p{number}"))
        for number in range(self.dice.randint(1, 2)):
            group.create_task(self._consume(f"m{number}"))

    async def _until_it_works(self, attempt: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await attempt()
            except BarnabasError:
                await asyncio.sleep(0.2)

    async def _produce(self, name: str) -> None:
        dice = self.simulation.new_dice()
        count = 0
        async with Pool(SERVERS, name, env=self.simulation.client(name)) as pool:
            while not self._is_over():
                count = await self._produce_some(
                    Producer(pool, enable_idempotence=True, request_timeout_ms=3_000, delivery_timeout_ms=30_000),
                    name,
                    dice,
                    count,
                )

    async def _produce_some(self, producer: Producer, name: str, dice: Random, count: int) -> int:
        """Write until the end, or until the producer can't go on; returns the number of the next record."""
        async with producer:
            while not self._is_over():
                value = f"{name}-{count}"
                partition = dice.randrange(self.partition_count)
                try:
                    future = await producer.send(
                        TOPIC, value.encode() + b"." * dice.choice(self.sizes), partition=partition
                    )
                except RuntimeError:
                    break
                except BarnabasError:
                    await asyncio.sleep(0.2)
                    continue
                count += 1
                self.written[value] = None
                failures: list[BaseException] = []
                future.add_done_callback(
                    lambda done, value=value, failures=failures: self._written(value, done, failures)
                )
                await asyncio.sleep(dice.choice((0.0, 0.01, 0.1, 1.0)))
                if failures:
                    break
        return count

    def _written(self, value: str, future: "asyncio.Future[RecordMetadata]", failures: list[BaseException]) -> None:
        error = future.exception()
        if error is not None:
            self.outcome.counts["records of unknown fate"] += 1
            self.simulation.note(f"{value} failed: {error}")
            failures.append(error)
            return
        self.answered.set()
        metadata = future.result()
        self.outcome.counts["records acknowledged"] += 1
        self.simulation.note(f"{value} at {metadata.partition}:{metadata.offset}")
        self.written[value] = (metadata.partition, metadata.offset)

    async def _consume(self, name: str) -> None:
        dice = self.simulation.new_dice()
        async with Pool(SERVERS, name, env=self.simulation.client(name)) as pool:
            while not self._is_over():
                member = GroupMember(
                    pool,
                    GROUP,
                    [TOPIC],
                    session_timeout_ms=6_000,
                    rebalance_timeout_ms=10_000,
                    heartbeat_interval_ms=500,
                )
                consumer = Consumer(pool, auto_offset_reset="earliest")
                try:
                    await self._consume_some(name, member, consumer, dice)
                except BarnabasError as error:
                    self.simulation.note(f"{name} begins anew: {error}")
                    await asyncio.sleep(0.2)
                finally:
                    await consumer.close()
                await member.leave()

    async def _consume_some(self, name: str, member: GroupMember, consumer: Consumer, dice: Random) -> None:
        for _ in range(dice.randint(5, 100)):
            if self._is_over():
                return
            if member.needs_rejoin:
                before = dict(self.committed)
                positions = await member.join("earliest")
                self.outcome.counts["joins"] += 1
                self.simulation.note(f"{name} joined: {_text(positions)}")
                for partition, position in positions.items():
                    if position < before.get(partition, 0):
                        self.outcome.violations.append(
                            f"{name} found {partition} at {position}, {before[partition]} was committed"
                        )
                consumer.assign(positions)
            if await consumer.poll(500):
                offsets = {each: consumer.positions[each] for each in member.assignment}
                await member.commit(offsets)
                self.outcome.counts["commits"] += 1
                self.simulation.note(f"{name} committed: {_text(offsets)}")
                for partition, offset in offsets.items():
                    self.committed[partition] = max(offset, self.committed.get(partition, 0))

    # --- faults

    async def _break_things(self) -> None:
        dice = self.simulation.new_dice()
        faults = (
            self._kill,
            self._kill,
            self._cut_power,
            self._cut_power,
            self._stop,
            self._cut_connections,
            self._part,
            self._slow_down,
            self._fill_disk,
        )
        while not self._is_over():
            await asyncio.sleep(dice.uniform(0.2, 8))
            fault = dice.choice(faults)
            self.outcome.counts[fault.__name__.strip("_").replace("_", " ")] += 1
            await fault(dice)
            if not self.host.is_up:
                await asyncio.sleep(dice.uniform(0, 3))
                self.host.start()
        self.simulation.network.heal()
        self.simulation.network.loss = 0.0
        self.host.slowness = 1
        # One that is stopping, as its disk was full, is not there to stay.
        while not self.host.is_up or self.host.is_stopping:
            if not self.host.is_up:
                self.host.start()
            await asyncio.sleep(1)

    async def _wait_for_a_bad_moment(self, dice: Random) -> None:
        """Any moment, or one right after an answer: what was promised then must hold already."""
        if dice.random() < 0.7:
            self.answered.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self.answered.wait()
            await asyncio.sleep(dice.choice((0.0, dice.uniform(0, 0.002))))

    async def _kill(self, dice: Random) -> None:
        await self._wait_for_a_bad_moment(dice)
        self.host.kill()

    async def _cut_power(self, dice: Random) -> None:
        await self._wait_for_a_bad_moment(dice)
        self.host.cut_power()

    async def _stop(self, dice: Random) -> None:
        self.host.stop()
        for _ in range(100):
            if not self.host.is_up:
                return
            await asyncio.sleep(0.1)
        self.host.kill()

    async def _cut_connections(self, dice: Random) -> None:
        network = self.simulation.network
        network.loss = dice.choice((0.0, 0.05, 0.3))
        for pair in list(network.open_connections()):
            if dice.random() < 0.5:
                network.cut(pair)

    async def _part(self, dice: Random) -> None:
        clients = [name for name in ("p0", "p1", "m0", "m1") if dice.random() < 0.5]
        self.simulation.note(f"apart {clients}")
        self.simulation.network.part(clients, [BROKER])
        await asyncio.sleep(dice.uniform(0.1, 10))
        self.simulation.note("together")
        self.simulation.network.heal()

    async def _slow_down(self, dice: Random) -> None:
        self.host.slowness = dice.choice((1, 20, 200))

    async def _fill_disk(self, dice: Random) -> None:
        self.disk_was_full = True
        self.simulation.note("full")
        self.host.disk.free_bytes = dice.randint(0, 3_000)
        await asyncio.sleep(dice.uniform(0.1, 5))
        self.host.disk.free_bytes = None
        self.simulation.note("room again")

    # --- what must hold

    async def _check(self, pool: Pool) -> None:
        partitions = [TopicPartition(TOPIC, number) for number in range(self.partition_count)]
        ends = await self._until_it_works(lambda: Admin(pool).offsets(partitions, LATEST))
        found: dict[str, list[tuple[int, int]]] = {}
        for partition, end_offset in sorted(ends.items()):
            await self._read(pool, partition, end_offset, found)
        violations = self.outcome.violations
        for value, place in self.written.items():
            places = found.get(value, [])
            if len(places) > 1:
                violations.append(f"{value} stands at {places}")
            elif place is not None and places != [place]:
                violations.append(f"{value} was acknowledged at {place} and stands at {places}")
        violations += [f"{value} was never written" for value in found if value not in self.written]
        self._check_order(found)
        committed = await self._until_it_works(lambda: Admin(pool).committed_offsets(GROUP, partitions))
        self.simulation.note(f"in the end {_text(ends)}, committed {_text(committed)}")
        for partition, offset in self.committed.items():
            if committed.get(partition, 0) < offset:
                violations.append(f"{partition} is at {committed.get(partition)}, {offset} was committed")
            if offset > ends[partition]:
                violations.append(f"{partition} ends at {ends[partition]}, {offset} was committed")

    async def _read(
        self, pool: Pool, partition: TopicPartition, end_offset: int, found: dict[str, list[tuple[int, int]]]
    ) -> None:
        consumer = Consumer(pool, auto_offset_reset="none")
        consumer.assign({partition: 0})
        offset = 0
        while consumer.positions[partition] < end_offset:
            for batch in await consumer.poll(1_000):
                for record in batch.records:
                    if record.offset != offset:
                        self.outcome.violations.append(f"{partition} has {record.offset} where {offset} should be")
                    offset = record.offset + 1
                    value = bytes(record.value or b"").rstrip(b".").decode()
                    found.setdefault(value, []).append((partition.partition, record.offset))
        await consumer.close()

    def _check_order(self, found: dict[str, list[tuple[int, int]]]) -> None:
        last: dict[tuple[str, int], tuple[int, str]] = {}
        for value in self.written:
            for partition, offset in found.get(value, [])[:1]:
                key = (value.partition("-")[0], partition)
                if key in last and last[key][0] > offset:
                    self.outcome.violations.append(f"{value} stands before {last[key][1]}")
                last[key] = (offset, value)


def _text(offsets: dict[TopicPartition, int]) -> str:
    return ", ".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
