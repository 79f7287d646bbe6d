"""Ask a cluster what rules want to see: its public APIs, and of our brokers their facts.

Whatever fails for one broker costs what that one alone knows: it is in `Seen.silent` with the reason, and the others
are asked all the same. What the asker has no right to is in `Seen.refused`. Brokers of Kafka close the connection on
the request `Facts`; who did is not asked again, and what moves there is looked at twice.

All is bounded: groups' lag is read in so many partitions and bytes of each, transactions are looked for where a last
stable offset stands below an end, and of one that is found only its first batch is read.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

from barnabas.clients.admin_acls import AclAdmin
from barnabas.clients.admin_calls import EARLIEST, LATEST, AdminCalls
from barnabas.clients.admin_cluster import ClusterAdmin
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_facts import FactsAdmin, Told
from barnabas.clients.admin_groups import GroupAdmin
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_quota_states import QuotaStateAdmin, by_level
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.cluster_state import Broker, Cluster, Partition
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.reading import RecordCount
from barnabas.explain.seen import PACE_S, Ahead, Asked, Directory, Group, Log, Member, Open, Row, Seen, Series, Setting
from barnabas.explain.told import fitting
from barnabas.wire.security.acls import BindingFilter

A = TypeVar("A")
T = TypeVar("T")

# One attempt: a broker that does not answer is named, and not waited for.
_ONCE_MS: Final = 1
# Without facts the cluster is looked at twice, so long apart.
_LOOKS_APART_S: Final = 2.0
_MOST_LOOKS: Final = 60
# What is told of a partition begins when something changes there: how fast it goes now is seen by looking.
_LOOKS_OF_TELLERS_MS: Final = 45_000
# How many partitions are read, how many at a time, and how much of one, and of all of them together.
_MOST_READ: Final = 200
_READ_AT_ONCE: Final = 6
_READ_BYTES: Final = 1 << 20
_ALL_READ_BYTES: Final = 4 << 20
# Whatever is asked for, a broker gives one batch at least.
_FIRST_BATCH_BYTES: Final = 4_096
# So many are looked at before others are served.
_ROWS_AT_ONCE: Final = 1_000
_USE_OF_LAST_S: Final = 10
_REFUSED: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.SECURITY_DISABLED,
    ErrorCode.UNSUPPORTED_VERSION,
)
# What a broker tells of the asker's own client.
_FETCHED: Final = "consumer_byte_rate"
_OWN: Final = ("holds", "refusals", "requests")
_WHERE: Final = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "the broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
}


class Part(Enum):
    """What may be asked for.

    LOGS are those of partitions that groups read, LAG is what lies ahead of them there, too. READERS are the logs of
    the topic that is asked about, and all groups as they are now: any of them may read it. USE is what clients use, and
    all limits that are set.
    """

    GROUPS = auto()
    READERS = auto()
    LOGS = auto()
    LAG = auto()
    DIRECTORIES = auto()
    SETTINGS = auto()
    TRANSACTIONS = auto()
    RULES = auto()
    LIMITS = auto()
    USE = auto()
    ROUND_TRIPS = auto()


class _Look(NamedTuple):
    """What moves, at one moment."""

    at_ms: int
    groups: dict[str, Group]
    logs: dict[TopicPartition, Log]


class _Read(NamedTuple):
    """What was found ahead of a committed offset, up to a stable one, or as far as so many bytes reach."""

    offset: int
    stable_offset: int
    most_bytes: int
    ahead: Ahead

    def still_tells(self, offset: int, stable_offset: int, most_bytes: int) -> bool:
        """Whether reading again would find the same."""
        is_same_end = self.stable_offset == stable_offset if self.ahead.is_whole else self.most_bytes >= most_bytes
        return self.offset == offset and is_same_end


class Gatherer:
    """Asks one cluster, as often as it is wanted."""

    def __init__(self, pool: Pool, timeout_ms: int, asked: Asked, window_ms: int) -> None:
        """Args:
        pool: The cluster's.
        timeout_ms: How long one broker may take for one answer.
        asked: What is asked about.
        window_ms: How far back events count.
        """
        self._pool = pool
        self._patience_s = timeout_ms / 1_000
        self._asked = asked
        self._window_ms = window_ms
        self._looks: deque[_Look] = deque(maxlen=_MOST_LOOKS)
        self._without_facts: set[int] = set()
        self._without_limits = ""
        self._read: dict[tuple[str, TopicPartition], _Read] = {}
        self._seen = Seen(0, 0)

    async def gather(self, parts: Collection[Part], facts: Collection[str]) -> Seen:
        """Ask for what is wanted.

        Args:
            parts: What to see beside the cluster.
            facts: Of which subjects to ask our brokers for what happened.

        Raises:
            KafkaError: No broker can be asked, or what is asked about does not exist.
        """
        now_ms = self._pool.env.clock.now_ms()
        seen = self._seen = Seen(now_ms, now_ms - self._window_ms, self._asked)
        seen.cluster = await self._cluster()
        for each in seen.cluster.brokers.values():
            if each.failure and each.address is not None:
                seen.silent[each.broker_id] = each.failure
        if Part.ROUND_TRIPS in parts:
            seen.round_trips_ms = await self._of_each(self._round_trip)
        if Part.DIRECTORIES in parts:
            found = await self._of_each(self._directories)
            seen.directories = [each for directories in found.values() for each in directories]
        if Part.READERS in parts:
            seen.logs = await self._logs({each for each in seen.partitions if each.topic == self._asked.name})
            groups = await self._of_each(lambda broker_id: self._groups(broker_id, None))
            seen.groups = {each.name: each for of_broker in groups.values() for each in of_broker}
        with_logs = Part.LOGS in parts or Part.LAG in parts
        if Part.GROUPS in parts or with_logs:
            await self._look(facts, with_logs=with_logs)
        elif facts:
            await self._facts(facts)
        self._measure_disks()
        if Part.LAG in parts:
            await self._read_ahead()
            for broker_id, told in (await self._of_each(self._recorded, seen.tellers)).items():
                for ring in told.get("rings", ()):
                    if ring["key"] == _FETCHED and ring["client_id"] is not None:
                        known = seen.fetched.setdefault((broker_id, ring["client_id"]), [0] * len(ring["values"]))
                        known[:] = map(sum, zip(known, ring["values"], strict=False))
        if Part.TRANSACTIONS in parts:
            await self._transactions(seen.partitions, with_ids=True)
        elif Part.LAG in parts:
            await self._transactions(seen.logs, with_ids=False)
        if Part.SETTINGS in parts:
            await self._settings()
        if Part.RULES in parts:
            seen.rules = await self._try("access rules", self._admin(AclAdmin).describe_acls(BindingFilter()))
        if Part.LIMITS in parts:
            await self._limits()
        if Part.USE in parts:
            # A Kafka closes the connection where it is asked.
            seen.use = await self._of_each(self._use, seen.tellers)
            await self._configured()
        return seen

    async def _cluster(self) -> Cluster:
        """Ask for the cluster, with what its brokers run where the asker may know that. Raises KafkaError."""
        try:
            return await ClusterAdmin(self._pool, round(self._patience_s * 1_000)).cluster()
        except KafkaError as error:
            if error.code not in _REFUSED:
                raise
            self._seen.refused.append(f"what brokers run, and min.insync.replicas: {error.message}")
        known = await self._pool.metadata(None)
        brokers = {each: Broker(each, address, None, None, "") for each, address in sorted(known.brokers.items())}
        partitions = [
            Partition(TopicPartition(name, index), part.leader_id, part.replicas, part.isr, 1, [])
            for name, topic in sorted(known.topics.items())
            for index, part in topic.partitions.items()
        ]
        return Cluster(known.cluster_id, known.controller_id, brokers, partitions)

    def _admin(self, kind: Callable[[Pool, int], T]) -> T:
        return kind(self._pool, _ONCE_MS)

    async def _of_each(
        self, ask: Callable[[int], Awaitable[T]], broker_ids: Iterable[int] | None = None
    ) -> dict[int, T]:
        """Ask brokers at the same time; those that fail are left out and noted."""
        seen = self._seen
        there = (
            [] if seen.cluster is None else [each.broker_id for each in seen.cluster.brokers.values() if each.address]
        )
        wanted = [each for each in there if each not in seen.silent and (broker_ids is None or each in broker_ids)]

        async def one(broker_id: int) -> list[T]:
            try:
                async with asyncio.timeout(self._patience_s):
                    return [await ask(broker_id)]
            except TimeoutError:
                seen.silent[broker_id] = f"no answer came within {self._patience_s:.3g} s"
            except KafkaError as error:
                if error.code in _REFUSED:
                    seen.refused.append(error.message)
                else:
                    seen.silent[broker_id] = error.message
            return []

        answers = await asyncio.gather(*map(one, wanted))
        return {broker_id: each for broker_id, answer in zip(wanted, answers, strict=True) for each in answer}

    async def _try(self, what: str, asking: Awaitable[T]) -> T | None:
        """Ask for what is no broker's own; where it is not told, that is noted."""
        try:
            async with asyncio.timeout(self._patience_s):
                return await asking
        except TimeoutError:
            self._seen.refused.append(f"{what}: no answer came within {self._patience_s:.3g} s")
        except KafkaError as error:
            self._seen.refused.append(f"{what}: {error.message}")
        return None

    async def _recorded(self, broker_id: int) -> Told:
        return await self._admin(QuotaStateAdmin).recorded_by(broker_id, PACE_S)

    async def _round_trip(self, broker_id: int) -> float:
        channel = await self._pool.broker(broker_id)
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        await self._pool.metadata([], channel=channel)
        return (loop.time() - begin_s) * 1_000

    async def _directories(self, broker_id: int) -> list[Directory]:
        found = (await self._admin(ReplicaAdmin).log_dirs([broker_id]))[broker_id]
        return [
            Directory(
                broker_id,
                each.path,
                each.error_code.name if each.error_code else "",
                {log.partition: log.size_bytes for log in each.logs if not log.is_future},
                {log.partition: log.offset_lag for log in each.logs if not log.is_future},
            )
            for each in found
        ]

    # --- what happened

    async def _facts(self, subjects: Collection[str]) -> None:
        """Ask our brokers for what happened; for the asker's own client that is one subject, which takes no right."""
        seen = self._seen
        is_own = "client" in subjects and self._asked.client_id is None
        subjects = [each for each in subjects if (each == "client") is is_own]
        there = set() if seen.cluster is None else seen.cluster.brokers.keys() - self._without_facts

        async def ask(broker_id: int) -> list[tuple[str, Told]]:
            return [(each, told) for each in subjects if (told := await self._fact(broker_id, each)) is not None]

        for broker_id, answers in (await self._of_each(ask, there)).items():
            for subject, told in answers:
                seen.tellers.add(broker_id)
                seen.since_ms = max(seen.since_ms, told.get("kept_since_ms") or 0)
                rows = told.get(subject, [])
                rows = rows if isinstance(rows, list) else [rows]
                for begin in range(0, len(rows), _ROWS_AT_ONCE):
                    await asyncio.sleep(0)
                    self._take(broker_id, subject, rows[begin : begin + _ROWS_AT_ONCE], is_own=is_own)

    def _take(self, broker_id: int, subject: str, told: Sequence[Row], *, is_own: bool) -> None:
        """Keep of what a broker tells what has the form that is known."""
        seen = self._seen
        fit, wrong = fitting(subject, told)
        if wrong:
            seen.refused.append(f"some of what broker {broker_id} keeps, as it has another form: {wrong[:200]}")
        for row in fit:
            parts = {kind: row[kind] for kind in _OWN} if is_own else {subject: [row]}
            for kind, rows in parts.items():
                seen.facts.setdefault(kind, []).extend({**each, "broker_id": broker_id} for each in rows)

    async def _fact(self, broker_id: int, subject: str) -> Told | None:
        """Ask one broker for one subject; None where it does not tell."""
        if broker_id in self._without_facts:
            return None
        try:
            return await self._admin(FactsAdmin).ask(broker_id, subject, self._names_of(subject), self._seen.since_ms)
        except KafkaError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                self._without_facts.add(broker_id)
            elif error.code in _REFUSED:
                self._seen.refused.append(f"{subject}: {error.message}")
            elif error.code is ErrorCode.INVALID_REQUEST:
                # One of ours, of a release that does not know this subject.
                self._seen.tellers.add(broker_id)
            else:
                raise
        return None

    def _names_of(self, subject: str) -> list[str] | None:
        """Name what is asked about, which takes fewer rights than all; None: all."""
        if self._asked.name is None:
            return None
        match subject:
            case "groups":
                return sorted(self._seen.groups)
            case "ends":
                return sorted({each.topic for each in self._seen.logs})
            case "leaders" | "segments" | "transactions":
                return [self._asked.name]
        return None

    def _measure_disks(self) -> None:
        """Add to directories what only our brokers tell: how large their disks are."""
        seen = self._seen
        disks = {
            (row["broker_id"], disk["directory"]): disk for row in seen.rows("broker") for disk in row.get("disks", ())
        }
        for index, each in enumerate(seen.directories):
            disk = disks.get((each.broker_id, each.path))
            if disk is not None:
                seen.directories[index] = each._replace(total_bytes=disk["total"], free_bytes=disk["free"])

    # --- groups and their lag

    async def _look(self, facts: Collection[str], *, with_logs: bool) -> None:
        """See groups and logs, and how they moved since they were seen first."""
        seen = self._seen
        now = await self._look_once(with_logs=with_logs)
        seen.groups, seen.logs = now.groups, now.logs
        await self._facts(facts)
        tellers = {each.coordinator_id for each in now.groups.values()} - seen.tellers
        tellers |= {seen.partitions[each].leader_id for each in now.logs} - seen.tellers
        if len(self._looks) == 1 and tellers:
            # They tell nothing of the time before.
            await asyncio.sleep(_LOOKS_APART_S)
            await self._look_once(with_logs=with_logs)
        before, now = self._looks[0], self._looks[-1]
        while not tellers and now.at_ms - self._looks[0].at_ms > _LOOKS_OF_TELLERS_MS:
            # They know better what was before, and looks take much memory.
            self._looks.popleft()
        seen.now_ms, seen.groups, seen.groups_before = now.at_ms, now.groups, before.groups
        ends = {TopicPartition(row["topic"], row["partition"]): _points(row["ends"]) for row in seen.rows("ends")}
        seen.logs = {
            name: log._replace(ends=sorted([*ends.get(name, ()), *self._ends(name)])) for name, log in now.logs.items()
        }
        for name, group in now.groups.items():
            # Of thousands: the loop has others to serve.
            await asyncio.sleep(0)
            told = {
                TopicPartition(each["topic"], each["partition"]): _points(each["offsets"])
                or [(int(each["at_ms"]), int(each["offset"]))]
                for row in seen.rows("groups", group=name, broker_id=group.coordinator_id)
                for each in row["commits"]
            }
            group.commits = {
                partition: sorted([*told.get(partition, ()), *self._commits(name, partition)])
                for partition in group.committed
            }

    async def _look_once(self, *, with_logs: bool) -> _Look:
        wanted = self._asked.name
        names = None if wanted is None else {wanted}
        found = await self._of_each(lambda broker_id: self._groups(broker_id, names))
        groups = {each.name: each for of_broker in found.values() for each in of_broker}
        if wanted is not None and not groups and not self._seen.silent:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"consumer group {wanted} does not exist")
        read = {partition for each in groups.values() for partition in each.committed}
        shared = {partition.topic for each in groups.values() for partition in each.owners}
        read |= {partition for partition in self._seen.partitions if partition.topic in shared}
        logs = await self._logs(read) if with_logs else {}
        look = _Look(self._pool.env.clock.now_ms(), groups, logs)
        self._looks.append(look)
        return look

    async def _groups(self, broker_id: int, names: Collection[str] | None) -> list[Group]:
        return [
            Group(
                described.group_id,
                described.state,
                broker_id,
                [Member(each.member_id, each.client_id, each.host, each.assignment) for each in described.members],
                committed,
            )
            for described, committed in await self._admin(GroupAdmin).coordinated_by(broker_id, names)
        ]

    async def _logs(self, names: AbstractSet[TopicPartition]) -> dict[TopicPartition, Log]:
        """Ask each leader where its partitions begin and end."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for name, partition in self._seen.partitions.items():
            if name in names:
                by_leader.setdefault(partition.leader_id, []).append(name)
        admin = self._admin(OffsetAdmin)

        async def ask(broker_id: int) -> dict[TopicPartition, Log]:
            led = by_leader[broker_id]
            # In this order: what is written or becomes stable meanwhile only makes the lag larger.
            start = await admin.offsets(led, EARLIEST)
            stable = await admin.offsets(led, LATEST, is_read_committed=True)
            end = await admin.offsets(led, LATEST)
            return {each: Log(start[each], stable[each], end[each], []) for each in led}

        found = await self._of_each(ask, by_leader.keys())
        return {name: log for of_leader in found.values() for name, log in of_leader.items()}

    def _ends(self, name: TopicPartition) -> Series:
        return [(look.at_ms, look.logs[name].end_offset) for look in self._looks if name in look.logs]

    def _commits(self, group: str, name: TopicPartition) -> Series:
        return [
            (look.at_ms, look.groups[group].committed[name])
            for look in self._looks
            if group in look.groups and name in look.groups[group].committed
        ]

    async def _read_ahead(self) -> None:
        """Read what groups have not committed yet, where that is most first."""
        seen = self._seen
        behind = sorted(
            (
                (log.stable_offset - offset, (group.name, name), offset, log.stable_offset)
                for group in seen.groups.values()
                for name, offset in group.committed.items()
                if (log := seen.logs.get(name)) is not None and log.start_offset <= offset < log.end_offset
            ),
            key=lambda each: -each[0],
        )[:_MOST_READ]
        most_bytes = min(_READ_BYTES, _ALL_READ_BYTES // max(len(behind), 1))

        async def read(wanted: tuple[int, tuple[str, TopicPartition], int, int]) -> None:
            _, key, offset, stable_offset = wanted
            before = self._read.get(key)
            if before is None or not before.still_tells(offset, stable_offset, most_bytes):
                found = await self._of_leader(key[1], self._ahead(key[1], offset, stable_offset, most_bytes))
                before = None if found is None else _Read(offset, stable_offset, most_bytes, found)
            if before is not None:
                kept[key] = before

        kept: dict[tuple[str, TopicPartition], _Read] = {}
        await _some_at_once(read, behind)
        self._read = kept
        seen.ahead = {key: found.ahead for key, found in kept.items()}

    async def _of_leader(self, name: TopicPartition, asking: Coroutine[object, object, T]) -> T | None:
        """Wait for what a partition's leader tells; None where it does not answer."""
        leader_id = self._seen.partitions[name].leader_id

        async def ask(_: int) -> T:
            return await asking

        try:
            return (await self._of_each(ask, [leader_id])).get(leader_id)
        finally:
            asking.close()

    async def _ahead(self, name: TopicPartition, offset: int, end_offset: int, most_bytes: int) -> Ahead:
        counted = RecordCount(offset)
        read_bytes = 0
        reading = read_batches(self._admin(AdminCalls), name, offset, end_offset, most_bytes)
        async with aclosing(reading) as batches:
            async for header, batch in batches:
                counted.add(header, batch)
                read_bytes += header.size_in_bytes
                if read_bytes >= most_bytes:
                    return counted.ahead(is_whole=False)
        return counted.ahead(is_whole=True)

    # --- transactions

    async def _transactions(self, where: Iterable[TopicPartition], *, with_ids: bool) -> None:
        """Find the transactions that hold last stable offsets, and those that nobody will end."""
        seen = self._seen
        missing = {each for each in where if each not in seen.logs}
        logs = {**seen.logs, **(await self._logs(missing) if missing else {})}
        unstable = {name: log for name, log in logs.items() if log.stable_offset < log.end_offset}
        found = await _some_at_once(
            lambda each: self._of_leader(each[0], self._first_open(*each)), list(unstable.items())[:_MOST_READ]
        )
        opened = [each for each in found if each is not None]
        if not opened and not with_ids:
            return
        told = await self._try("transactional ids", self._admin(TransactionAdmin).coordinated())
        seen.transactional_ids = told or {}
        known = {
            (state.producer_id, partition)
            for state in seen.transactional_ids.values()
            if state.status.is_open
            for partition in state.partitions
        }
        suspects = [each for each in opened if told is not None and (each.producer_id, each.partition) not in known]
        # One that ended while its coordinator was asked has left its marker by now.
        again = await self._logs({each.partition for each in suspects}) if suspects else {}
        for each in opened:
            is_suspect = each in suspects
            if not is_suspect:
                seen.open_transactions.append(each)
            elif each.partition in again and again[each.partition].stable_offset == each.first_offset:
                seen.open_transactions.append(each._replace(is_hanging=True))

    async def _first_open(self, name: TopicPartition, log: Log) -> Open | None:
        """Read the first batch behind a last stable offset: it is of the transaction that holds it there."""
        reading = read_batches(self._admin(AdminCalls), name, log.stable_offset, log.end_offset, _FIRST_BATCH_BYTES)
        async with aclosing(reading) as batches:
            async for header, _ in batches:
                if not header.is_transactional or header.is_control:
                    return None
                began_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms
                return Open(name, header.producer_id, header.producer_epoch, header.base_offset, began_ms, False)
        return None

    # --- what is set

    async def _settings(self) -> None:
        """Ask for the settings of the topics that are asked about, that lack something, or that take most room."""
        seen = self._seen
        sizes: dict[str, int] = {}
        for directory in seen.directories:
            for name, size in directory.logs.items():
                sizes[name.topic] = sizes.get(name.topic, 0) + size
        assert seen.cluster is not None
        there = {each.name.topic for each in seen.cluster.partitions}
        lacking = {each.name.topic for each in seen.cluster.partitions if len(each.isr) < len(each.replicas)}
        largest = sorted(sizes, key=lambda topic: -sizes[topic])[:_MOST_READ]
        wanted = [self._asked.name] if self._asked.name in there else sorted({*lacking, *largest} & there)
        resources = [ConfigResource(ResourceType.TOPIC, str(topic)) for topic in wanted]
        if not resources:
            return
        asking = self._admin(ConfigAdmin).describe_configs(resources, include_synonyms=False)
        found = await self._try("settings", asking)
        for resource, entries in (found or {}).items():
            seen.settings[resource.name] = {
                each.name: Setting(each.value, _WHERE.get(each.source, "unknown"))
                for each in entries
                if each.value is not None
            }

    async def _limits(self) -> None:
        """Ask what limits do, and, where nobody tells that, for the limits alone."""
        admin, asked, seen = self._admin(QuotaStateAdmin), self._asked, self._seen
        if self._without_limits:
            # A Kafka closes the connection where it is asked, and others may wait for answers on it.
            seen.refused.append(self._without_limits)
        else:
            told = await self._try("what limits do", admin.explain(asked.user, asked.client_id))
            seen.limits = [*told] if told else []
            if told is None and self._without_facts:
                self._without_limits = seen.refused[-1]
        if not seen.limits:
            await self._configured()

    async def _configured(self) -> None:
        limits = await self._try("limits", self._admin(QuotaStateAdmin).limits()) or {}
        self._seen.configured = {limited.entity: values for limited, values in by_level(limits.items())}

    async def _use(self, broker_id: int) -> list[Row]:
        told = await self._admin(QuotaStateAdmin).top_of(broker_id, _USE_OF_LAST_S)
        return list(told["clients"])


async def _some_at_once(ask: Callable[[A], Awaitable[T]], about: Iterable[A]) -> list[T]:
    """Wait for many answers; one that waits on a connection holds up few others."""
    places = asyncio.Semaphore(_READ_AT_ONCE)

    async def one(each: A) -> T:
        async with places:
            return await ask(each)

    return await asyncio.gather(*map(one, about))


def _points(told: Sequence[Sequence[int]]) -> Series:
    return [(at_ms, offset) for at_ms, offset in told]
