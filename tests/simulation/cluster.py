"""Random histories of a cluster on one ZooKeeper, with producers, a group and one that reads all the time.

    producers    idempotent, acks=all, each writes its own numbered records
    members      of one group, read everything and commit
    watcher      reads everything, and remembers it
    faults       cluster_faults.py

How many brokers and replicas there are, min.insync.replicas, inter.broker.protocol.version and more is drawn. In the
end all is mended, and once all replicas are in sync `checker.py` judges what was seen and what the disks hold.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from barnabas.broker.replicas.partition import Partition
from barnabas.clients.admin import LATEST, Admin, NewTopic
from barnabas.clients.consumer import Consumer, Fetched
from barnabas.clients.group import GroupMember
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer, RecordMetadata
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import PORT, BrokerHost, Simulation
from barnabas.wire.registry import paths
from tests.simulation.checker import Append, Commit, Found, Led, Observed, Read, Replica, violations
from tests.simulation.cluster_faults import Faults
from tests.simulation.histories import Outcome
from tests.simulation.replica_logs import PADDING, directory_of, entries_of, text_of

T = TypeVar("T")

TOPIC = "t"
GROUP = "g"
PASSING = "passing"
"""A topic that is deleted and made again: its epochs and offsets begin anew."""

SETTINGS = {
    "log.segment.bytes": "3000",
    "offsets.topic.segment.bytes": "3000",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "zookeeper.session.timeout.ms": "6000",
    "zookeeper.connection.timeout.ms": "12000",
    "replica.lag.time.max.ms": "5000",
    "controlled.shutdown.retry.backoff.ms": "500",
}

MOST_REPLICAS = 3
_PROTOCOLS = ("2.7", "2.7", "2.7", "2.6", "2.3", "1.1", "0.11.0")
# After the last fault all must have come to its end: timeouts of clients are half a minute.
_MOST_TO_HEAL_S = 600
_MOST_TO_REST_S = 120
_LOOKING_S = 0.05


class ClusterHistory:
    """One history; `play` plays it."""

    def __init__(self, seed: int, duration_s: float = 60.0, most_replicas: int = MOST_REPLICAS) -> None:
        self.simulation = Simulation(seed)
        self.ensemble = self.simulation.add_ensemble(3)
        dice = self.simulation.new_dice()
        self.outcome = Outcome(seed, lines=self.simulation.history)
        self.answered = asyncio.Event()
        self.decided = asyncio.Event()
        self.ensemble.on_commit = self._note_commit
        self.disk_was_full = False
        self._end_s = duration_s
        broker_count = dice.randint(1, 5)
        self.replica_count = dice.randint(1, min(broker_count, most_replicas))
        self.min_insync = dice.randint(1, self.replica_count)
        self.is_flushed = dice.random() < 0.5
        self.observed = Observed()
        self.partition_count = dice.randint(1, 3)
        self.log_dirs = [Path(f"/data{number}") for number in range(dice.randint(1, 2))]
        settings = SETTINGS | {
            "inter.broker.protocol.version": dice.choice(_PROTOCOLS),
            "min.insync.replicas": str(self.min_insync),
            "offsets.topic.replication.factor": str(self.replica_count),
            "log.dirs": ",".join(str(each) for each in self.log_dirs),
            # A batch at a time: who is behind is so for a while.
            "replica.fetch.max.bytes": dice.choice(("1", "1048576")),
            "leader.imbalance.check.interval.seconds": dice.choice(("5", "300")),
        }
        settings |= self.settings()
        if self.is_flushed:
            settings["log.flush.interval.messages"] = "1"
        self.simulation.note(f"{broker_count} brokers, {self.replica_count} replicas, {settings}")
        # Ids that are no indexes.
        self._ids = {f"b{number}": number for number in range(1, broker_count + 1)}
        self.hosts = [
            self.simulation.add_broker(name, {**settings, "broker.id": str(number)}, self.ensemble)
            for name, number in self._ids.items()
        ]
        self.servers = ",".join(f"{name}:{PORT}" for name in self._ids)
        self.partitions = [TopicPartition(TOPIC, number) for number in range(self.partition_count)]
        self._last_led: dict[tuple[str, str], Led] = {}

    def settings(self) -> dict[str, str]:
        """Settings of brokers for what a history does beside."""
        return {}

    # --- what is so

    def now_s(self) -> float:
        return self.simulation.loop.time()

    def now_us(self) -> int:
        return self.simulation.loop.now_us

    def is_over(self) -> bool:
        """Whether nothing new is begun."""
        return self.now_s() >= self._end_s

    def broker_id(self, host: BrokerHost) -> int:
        return self._ids[host.name]

    def controller_id(self) -> int:
        """The broker that is the controller, as ZooKeeper has it; -1: none."""
        node = self.ensemble.tree.get(paths.CONTROLLER)
        return -1 if node is None else int(json.loads(node.data or b"{}")["brokerid"])

    def leader_id(self, partition: TopicPartition) -> int:
        """The broker that leads a partition, as ZooKeeper has it; -1: none."""
        node = self.ensemble.tree.get(paths.partition_state(*partition))
        return -1 if node is None else int(json.loads(node.data or b"{}")["leader"])

    def _note_commit(self, changes: Iterable[str]) -> None:
        if any(paths.partition_state(*partition) in changes for partition in self.partitions):
            self.decided.set()

    def _assignment(self) -> dict[TopicPartition, list[int]]:
        """The replicas of all partitions, as ZooKeeper has them."""
        found: dict[TopicPartition, list[int]] = {}
        tree = self.ensemble.tree
        for topic in tree.children(paths.BROKER_TOPICS):
            node = tree.get(paths.topic(topic))
            assert node is not None
            partitions = json.loads(node.data or b"{}")["partitions"]
            found |= {TopicPartition(topic, int(number)): replicas for number, replicas in partitions.items()}
        return found

    def are_registered(self) -> bool:
        """Return whether all brokers live, and are registered."""
        for host in self.hosts:
            # Not the registration of the process before.
            node = self.ensemble.tree.get(paths.broker(self.broker_id(host)))
            if not host.is_up or host.session is None or node is None:
                return False
            if node.ephemeral_owner != host.session.session_id or host.is_standing or host.is_stopping:
                return False
        return True

    def is_whole(self) -> bool:
        """Return whether all brokers live, all partitions have leaders, and all their replicas are in sync."""
        if not self.are_registered():
            return False
        tree = self.ensemble.tree
        for partition, replicas in self._assignment().items():
            node = tree.get(paths.partition_state(*partition))
            state: dict[str, Any] = {"leader": -1, "isr": []} if node is None else json.loads(node.data or b"{}")
            if state["leader"] < 0 or set(state["isr"]) != set(replicas):
                return False
        return True

    def hosted(self, host: BrokerHost) -> dict[TopicPartition, Partition]:
        """What the broker of a host has, as it sees itself."""
        replication = None if host.node is None or not host.is_up else host.node._replication
        found = () if replication is None else replication.replicas.partitions
        return {each.topic_partition: each for each in found}

    # --- the story

    def play(self) -> Outcome:
        """Let it happen, and judge it."""
        simulation, outcome = self.simulation, self.outcome
        try:
            simulation.run(asyncio.wait_for(self._story(), self._end_s + _MOST_TO_HEAL_S))
        except Exception as error:
            outcome.violations.append(f"the history broke off: {error!r}")
        else:
            outcome.violations += violations(self.observed)
        outcome.violations += [f"a callback raised: {each}" for each in simulation.loop.errors]
        if not self.disk_was_full:
            outcome.violations += [f"logged as an error: {text}" for text in simulation.errors]
        outcome.counts["lines"] = len(outcome.lines)
        outcome.counts["records acknowledged"] = sum(each.offset is not None for each in self.observed.appends)
        outcome.counts["records of unknown fate"] = sum(each.offset is None for each in self.observed.appends)
        outcome.counts["records read"] = len(self.observed.reads)
        outcome.counts["commits"] = len(self.observed.commits)
        outcome.counts["changes of leaders"] = len({(each.partition, each.epoch) for each in self.observed.led})
        return outcome

    async def _story(self) -> None:
        for host in self.hosts:
            host.start()
        looking = asyncio.ensure_future(self._look())
        async with Pool(self.servers, env=self.simulation.client("admin")) as pool:
            topic = NewTopic(TOPIC, self.partition_count, self.replica_count)
            await self.until_it_works(lambda: Admin(pool).create_topic(topic))
            self._end_s += self.now_s()
            async with asyncio.TaskGroup() as group:
                self.begin(group)
                group.create_task(Faults(self).run())
            await self.come_to_rest()
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self.read_in_the_end(pool)
            self._note_replicas()

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Begin what goes on until the end."""
        dice = self.simulation.new_dice()
        for number in range(dice.randint(1, 2)):
            group.create_task(self._produce(f"p{number}"))
        for number in range(dice.randint(1, 2)):
            group.create_task(self._consume(f"m{number}"))
        group.create_task(self._watch())

    async def until_it_works(self, attempt: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await attempt()
            except BarnabasError as error:
                self.simulation.note(f"again: {error}")
                await asyncio.sleep(0.2)

    # --- producers

    async def _produce(self, name: str) -> None:
        dice = self.simulation.new_dice()
        count = 0
        async with Pool(self.servers, name, env=self.simulation.client(name)) as pool:
            while not self.is_over():
                count += 1
                producer = Producer(pool, enable_idempotence=True, request_timeout_ms=3_000, delivery_timeout_ms=30_000)
                async with producer:
                    await self._produce_some(producer, f"{name}.{count}", dice)

    async def _produce_some(self, producer: Producer, name: str, dice: Random) -> None:
        """Write until the end, or until the producer can't go on."""
        failures: list[BaseException] = []
        count = 0
        while not self.is_over() and not failures:
            value, partition = f"{name}-{count}", dice.randrange(self.partition_count)
            count += 1
            begin = self.now_us()
            try:
                padding = PADDING * dice.choice((0, 10, 300))
                future = await producer.send(TOPIC, value.encode() + padding, partition=partition)
            except RuntimeError:
                return
            except BarnabasError:
                await asyncio.sleep(0.2)
                continue
            # In its place: who is told later was handed over now.
            self.observed.appends.append(Append(name, f"{TOPIC}-{partition}", value, begin, None, None))
            place = len(self.observed.appends) - 1
            future.add_done_callback(lambda done, place=place: self._written(place, done, failures))
            await asyncio.sleep(dice.choice((0.0, 0.01, 0.1, 1.0)))

    def _written(self, place: int, future: "asyncio.Future[RecordMetadata]", failures: list[BaseException]) -> None:
        append = self.observed.appends[place]
        error = future.exception()
        if error is not None:
            self.simulation.note(f"{append.value} failed: {error}")
            failures.append(error)
            return
        self.answered.set()
        offset = future.result().offset
        self.simulation.note(f"{append.value} at {append.partition}:{offset}")
        self.observed.appends[place] = append._replace(end=self.now_us(), offset=offset)

    # --- consumers

    def _note_read(self, reader: str, fetched: Fetched) -> None:
        for batch in fetched:
            partition = f"{TOPIC}-{batch.partition.partition}"
            for record in batch.records:
                self.observed.reads.append(Read(reader, partition, record.offset, text_of(record.value)))

    async def _watch(self) -> None:
        """Read everything from the beginning, again and again from where it was."""
        async with Pool(self.servers, "watcher", env=self.simulation.client("watcher")) as pool:
            consumer = Consumer(pool, auto_offset_reset="none")
            consumer.assign(dict.fromkeys(self.partitions, 0))
            while not self.is_over():
                try:
                    self._note_read("watcher", await consumer.poll(500))
                except BarnabasError as error:
                    # A leader that nobody has told yet that it is none any more may not know what was read elsewhere.
                    self.simulation.note(f"watcher: {error}")
                    await asyncio.sleep(0.2)
            await consumer.close()

    async def _consume(self, name: str) -> None:
        dice = self.simulation.new_dice()
        count = 0
        async with Pool(self.servers, name, env=self.simulation.client(name)) as pool:
            while not self.is_over():
                member = GroupMember(
                    pool,
                    GROUP,
                    [TOPIC],
                    session_timeout_ms=6_000,
                    rebalance_timeout_ms=10_000,
                    heartbeat_interval_ms=500,
                )
                # Nor may it go back where a leader that is none any more does not know its position (KIP-320).
                consumer = Consumer(pool, auto_offset_reset="none")
                try:
                    for _ in range(dice.randint(5, 100)):
                        if self.is_over():
                            break
                        count += 1
                        await self._consume_some(f"{name}.{count}", member, consumer)
                except BarnabasError as error:
                    self.simulation.note(f"{name} begins anew: {error}")
                    await asyncio.sleep(0.2)
                finally:
                    await consumer.close()
                await member.leave()

    async def _consume_some(self, reader: str, member: GroupMember, consumer: Consumer) -> None:
        if member.needs_rejoin:
            begin = self.now_us()
            positions = await member.join("earliest")
            self._note_found(positions, begin)
            consumer.assign(positions)
        fetched = await consumer.poll(500)
        if not fetched:
            return
        self._note_read(reader, fetched)
        begin, commits = self.now_us(), self.observed.commits
        offsets = {each: consumer.positions[each] for each in member.assignment}
        places = range(len(commits), len(commits) + len(offsets))
        commits += [Commit(GROUP, str(partition), offset, begin, None) for partition, offset in offsets.items()]
        await member.commit(offsets)
        for place in places:
            commits[place] = commits[place]._replace(end=self.now_us())

    def _note_found(self, positions: dict[TopicPartition, int], begin: int) -> None:
        self.simulation.note(f"{GROUP} is at {sorted(positions.items())}")
        self.observed.found += [
            Found(GROUP, str(partition), offset, begin, self.now_us()) for partition, offset in positions.items()
        ]

    # --- leaders and replicas

    async def _look(self) -> None:
        """Note what leaders say of themselves, often."""
        while True:
            await asyncio.sleep(_LOOKING_S)
            for host in self.hosts:
                if not host.is_standing:
                    self._note_led(host)

    def _note_led(self, host: BrokerHost) -> None:
        for partition in self.hosted(host).values():
            is_passing = partition.topic_partition.topic == PASSING
            if partition.is_leader and not partition.log.is_closed and not is_passing:
                led = Led(
                    host.process_name,
                    self.broker_id(host),
                    str(partition.topic_partition),
                    partition.leader_epoch,
                    partition.high_watermark,
                    partition.log.log_start_offset,
                    0,
                    partition.last_stable_offset,
                )
                key = led.process, led.partition
                if self._last_led.get(key) != led:
                    self._last_led[key] = led
                    self.observed.led.append(led._replace(at=self.now_us()))

    async def come_to_rest(self) -> None:
        """Wait until all replicas are in sync and have the same end."""
        deadline_s = self.now_s() + _MOST_TO_REST_S
        while self.now_s() < deadline_s:
            if self.is_whole() and self._are_ends_equal():
                return
            for host in self.hosts:
                # One that was starting when all was mended may have failed for what was before.
                if not host.is_up:
                    host.start()
            await asyncio.sleep(0.5)
        self.outcome.violations.append(f"the cluster did not come to rest in {_MOST_TO_REST_S} s")

    def _assigned(self, host: BrokerHost) -> dict[TopicPartition, Partition]:
        """What the broker of a host has and is to have.

        One that was away when a reassignment took a partition from it is never told so, as with Kafka: its copy stays.
        """
        assignment, broker_id = self._assignment(), self.broker_id(host)
        return {key: each for key, each in self.hosted(host).items() if broker_id in assignment.get(key, ())}

    def _are_ends_equal(self) -> bool:
        hosted = [self._assigned(host) for host in self.hosts]
        for partition, replicas in self._assignment().items():
            found = [each[partition] for each in hosted if partition in each]
            ends = {(each.log.log_end_offset, each.high_watermark) for each in found}
            if len(found) != len(replicas) or len(ends) != 1 or len({*next(iter(ends))}) != 1:
                return False
        return True

    async def read_in_the_end(self, pool: Pool) -> None:
        begin = self.now_us()
        found = await self.until_it_works(lambda: Admin(pool).committed_offsets(GROUP, self.partitions))
        self._note_found(dict.fromkeys(self.partitions, 0) | found, begin)
        ends = await self.until_it_works(lambda: Admin(pool).offsets(self.partitions, LATEST))
        self.simulation.note(f"in the end {sorted(ends.items())}")
        consumer = Consumer(pool, auto_offset_reset="none")
        consumer.assign(dict.fromkeys(self.partitions, 0))
        while any(consumer.positions[partition] < end for partition, end in ends.items()):
            with suppress(BarnabasError):
                self._note_read("in the end", await consumer.poll(1_000))
        await consumer.close()

    def _note_replicas(self) -> None:
        for host in self.hosts:
            for key, partition in self._assigned(host).items():
                directory = directory_of(host.disk, self.log_dirs, key)
                if directory is None:
                    continue
                start, end = partition.log.log_start_offset, partition.log.log_end_offset
                self.observed.replicas.append(
                    Replica(
                        self.broker_id(host),
                        str(key),
                        partition.high_watermark,
                        start,
                        end,
                        # What is compacted goes on each broker at its own time.
                        entries_of(host.disk, directory, start) if key.topic == TOPIC else [],
                    )
                )
