"""Collects a snapshot of a cluster: public APIs from all brokers, diagnostic events from Barnabas's brokers.

If a query to a broker fails, only the data of that broker is missing: `Snapshot.silent` has the reason. Data that the
caller has no right to see is listed in `Snapshot.refused`. Kafka's brokers close the connection on the request `Facts`;
it is not sent to them again, and offsets are sampled twice instead.

All queries are bounded: uncommitted records are read in a limited number of partitions, up to a limit of bytes.
Transactions are searched only in partitions whose last stable offset is below the end, and only one batch of each is
read.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import Final

from barnabas.clients.admin_acls import AclAdmin
from barnabas.clients.admin_cluster import ClusterAdmin
from barnabas.clients.admin_facts import BrokerReport, FactsAdmin
from barnabas.clients.admin_groups import GroupAdmin
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.cluster_state import Broker, Cluster, Partition
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.explain.answers import since_ms, valid_rows
from barnabas.explain.offset_history import OffsetHistory
from barnabas.explain.queries import REFUSED, Queries, find_open_transactions, read_quotas, read_settings
from barnabas.explain.snapshot import PACE_S, Directory, Group, Member, Row, Scope, Series, Snapshot
from barnabas.explain.unread_records import UnreadRecordReader
from barnabas.wire.security.acls import BindingFilter

# The time between the two samples of a cluster without diagnostic events.
_SAMPLE_INTERVAL_S: Final = 2.0
_MAX_SAMPLES: Final = 60
# A broker records offsets only when they change. The current rate is computed from samples, kept this long.
_SAMPLES_BESIDE_EVENTS_MS: Final = 45_000
# The number of rows processed before other tasks run.
_ROWS_AT_ONCE: Final = 200
_GROUPS_AT_ONCE: Final = 10
_USE_OF_LAST_S: Final = 10
# Names in brokers' answers: the ring of fetched bytes, and the subjects about the caller's own client.
_FETCHED: Final = "consumer_byte_rate"
_OWN: Final = ("holds", "refusals", "requests")


class Part(Enum):
    """A part of the snapshot.

    LOGS are the logs of partitions that groups read, LAG adds the records ahead of them. READERS are the logs of
    the topic that the question is about, and all groups, any of which may read it. USE is the usage of clients, and
    all quotas.
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
    TOPIC = auto()
    USE = auto()
    ROUND_TRIPS = auto()


class Collector:
    """Collects snapshots of one cluster."""

    def __init__(self, pool: Pool, timeout_ms: int, scope: Scope, window_ms: int) -> None:
        """Args:
        pool: Connections to the cluster.
        timeout_ms: The time limit for one answer of a broker.
        scope: The resources that the question is about.
        window_ms: The length of the time window of events, up to now.
        """
        self._pool = pool
        self._patience_s = timeout_ms / 1_000
        self._scope = scope
        self._window_ms = window_ms
        self._ends = OffsetHistory[TopicPartition]()
        self._commits = OffsetHistory[tuple[str, TopicPartition]]()
        self._members: deque[dict[str, list[Member]]] = deque(maxlen=_MAX_SAMPLES)
        self._without_facts: set[int] = set()
        self._without_limits = ""
        self._unread = UnreadRecordReader()
        self._begin(Snapshot(0, 0))

    async def collect(self, parts: Collection[Part], facts: Collection[str]) -> Snapshot:
        """Collect the wanted parts.

        Args:
            parts: The parts besides the cluster.
            facts: The subjects of diagnostic events to read.

        Raises:
            KafkaError: No broker is reachable, or the subject does not exist.
        """
        now_ms = self._pool.env.clock.now_ms()
        snapshot = self._begin(Snapshot(now_ms, now_ms - self._window_ms, self._scope))
        snapshot.cluster = await self._cluster()
        for each in snapshot.cluster.brokers.values():
            if each.failure and each.address is not None:
                snapshot.silent[each.broker_id] = each.failure
        if Part.TOPIC in parts:
            await self._check_topic()
        if Part.ROUND_TRIPS in parts:
            snapshot.round_trips_ms = await self._queries.of_each(self._round_trip)
        if Part.DIRECTORIES in parts:
            found = await self._queries.of_each(self._directories)
            snapshot.directories = [each for directories in found.values() for each in directories]
        if Part.READERS in parts:
            snapshot.logs = await self._queries.logs(
                {each for each in snapshot.partitions if each.topic == self._scope.name}
            )
            groups = await self._queries.of_each(lambda broker_id: self._groups(broker_id, None))
            snapshot.groups = {each.name: each for of_broker in groups.values() for each in of_broker}
        with_logs = Part.LOGS in parts or Part.LAG in parts
        if Part.GROUPS in parts or with_logs:
            await self._read_groups(facts, with_logs=with_logs)
        elif facts:
            await self._read_events(facts)
        self._measure_disks()
        if Part.LAG in parts:
            await self._unread.read(self._queries)
            for broker_id, answer in (await self._queries.of_each(self._recorded, snapshot.reporters)).items():
                for ring in answer.get("rings", ()):
                    if ring["key"] == _FETCHED and ring["client_id"] is not None:
                        known = snapshot.fetched.setdefault((broker_id, ring["client_id"]), [0] * len(ring["values"]))
                        known[:] = map(sum, zip(known, ring["values"], strict=False))
        if Part.TRANSACTIONS in parts:
            await find_open_transactions(self._queries, snapshot.partitions, with_ids=True)
        elif Part.LAG in parts:
            await find_open_transactions(self._queries, snapshot.logs, with_ids=False)
        if Part.SETTINGS in parts:
            await read_settings(self._queries)
        if Part.RULES in parts:
            snapshot.rules = await self._queries.attempt(
                "access rules", self._queries.admin(AclAdmin).describe_acls(BindingFilter())
            )
        if Part.LIMITS in parts:
            await self._limits()
        if Part.USE in parts:
            # Kafka closes the connection on this request.
            snapshot.use = await self._queries.of_each(self._use, snapshot.reporters)
            await read_quotas(self._queries)
        # Drop the reference to the snapshot, which is large and now owned by the caller.
        self._begin(Snapshot(0, 0))
        return snapshot

    def _begin(self, snapshot: Snapshot) -> Snapshot:
        self._snapshot, self._queries = snapshot, Queries(self._pool, self._patience_s, snapshot)
        return snapshot

    async def _cluster(self) -> Cluster:
        """Read the cluster's state, with its brokers' versions if the caller may see them. Raises KafkaError."""
        try:
            return await ClusterAdmin(self._pool, round(self._patience_s * 1_000)).cluster()
        except KafkaError as error:
            if error.code not in REFUSED:
                raise
            self._snapshot.refused.append(f"versions of brokers, and min.insync.replicas: {error.message}")
        known = await self._pool.metadata(None)
        brokers = {each: Broker(each, address, None, None, "") for each, address in sorted(known.brokers.items())}
        partitions = [
            Partition(TopicPartition(name, index), part.leader_id, part.replicas, part.isr, 1, [])
            for name, topic in sorted(known.topics.items())
            for index, part in topic.partitions.items()
        ]
        return Cluster(known.cluster_id, known.controller_id, brokers, partitions)

    async def _check_topic(self) -> None:
        """Raise KafkaError if the subject is a topic that does not exist or that the caller may not see."""
        wanted = self._scope.name
        if wanted is not None and all(each.topic != wanted for each in self._snapshot.partitions):
            await self._pool.topic(wanted)

    async def _recorded(self, broker_id: int) -> BrokerReport:
        return await self._queries.admin(QuotaStateAdmin).recorded_by(broker_id, PACE_S)

    async def _round_trip(self, broker_id: int) -> float:
        channel = await self._pool.broker(broker_id)
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        await self._pool.metadata([], channel=channel)
        return (loop.time() - begin_s) * 1_000

    async def _directories(self, broker_id: int) -> list[Directory]:
        found = (await self._queries.admin(ReplicaAdmin).log_dirs([broker_id]))[broker_id]
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

    # --- events

    async def _read_events(self, subjects: Collection[str]) -> None:
        """Read diagnostic events of brokers; only the subject of the caller's own client needs no right."""
        snapshot = self._snapshot
        is_own = "client" in subjects and self._scope.client_id is None
        subjects = [each for each in subjects if (each == "client") is is_own]
        there = set() if snapshot.cluster is None else snapshot.cluster.brokers.keys() - self._without_facts

        async def ask(broker_id: int) -> list[tuple[str, BrokerReport]]:
            return [
                (each, answer) for each in subjects if (answer := await self._query_events(broker_id, each)) is not None
            ]

        for broker_id, answers in (await self._queries.of_each(ask, there)).items():
            for subject, answer in answers:
                snapshot.reporters.add(broker_id)
                snapshot.since_ms = max(snapshot.since_ms, since_ms(answer))
                rows = answer.get(subject, [])
                if not isinstance(rows, list):
                    self._take(broker_id, subject, rows, is_own=is_own)
                    continue
                for begin in range(0, len(rows), _ROWS_AT_ONCE):
                    await asyncio.sleep(0)
                    self._take(broker_id, subject, rows[begin : begin + _ROWS_AT_ONCE], is_own=is_own)

    def _take(self, broker_id: int, subject: str, answer: object, *, is_own: bool) -> None:
        """Store the valid rows of an answer."""
        snapshot = self._snapshot
        fit, wrong = valid_rows(subject, answer)
        if wrong:
            snapshot.refused.append(f"some data of broker {broker_id}, as its form is unknown: {wrong[:200]}")
        for row in fit:
            parts = {kind: row[kind] for kind in _OWN} if is_own else {subject: [row]}
            for kind, rows in parts.items():
                snapshot.facts.setdefault(kind, []).extend({**each, "broker_id": broker_id} for each in rows)

    async def _query_events(self, broker_id: int, subject: str) -> BrokerReport | None:
        """Query one broker for one subject; None if it does not support the subject or refuses the query."""
        if broker_id in self._without_facts:
            return None
        try:
            return await self._queries.admin(FactsAdmin).ask(
                broker_id, subject, self._names_of(subject), self._snapshot.since_ms
            )
        except KafkaError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                self._without_facts.add(broker_id)
            elif error.code in REFUSED:
                self._snapshot.deniers.add(broker_id)
                self._snapshot.refused.append(f"{subject}: {error.message}")
            elif error.code is ErrorCode.INVALID_REQUEST:
                # A Barnabas broker of a release that does not know this subject.
                self._snapshot.reporters.add(broker_id)
            else:
                raise
        return None

    def _names_of(self, subject: str) -> list[str] | None:
        """Return the names in the scope, because a query for all names needs more rights; None: all."""
        if self._scope.name is None:
            return None
        match subject:
            case "groups":
                return sorted(self._snapshot.groups)
            case "ends":
                return sorted({each.topic for each in self._snapshot.logs})
            case "leaders" | "segments" | "transactions":
                return [self._scope.name]
        return None

    def _measure_disks(self) -> None:
        """Add disk sizes, which only Barnabas's brokers report, to directories."""
        snapshot = self._snapshot
        disks = {
            (row["broker_id"], disk["directory"]): disk
            for row in snapshot.rows("broker")
            for disk in row.get("disks", ())
        }
        for index, each in enumerate(snapshot.directories):
            disk = disks.get((each.broker_id, each.path))
            if disk is not None:
                snapshot.directories[index] = each._replace(total_bytes=disk["total"], free_bytes=disk["free"])

    # --- groups and their lag

    async def _read_groups(self, facts: Collection[str], *, with_logs: bool) -> None:
        """Read groups and logs, and their changes since the first snapshot."""
        snapshot = self._snapshot
        await self._sample_groups(with_logs=with_logs)
        await self._read_events(facts)
        others = {each.coordinator_id for each in snapshot.groups.values()} - snapshot.reporters
        others |= {snapshot.partitions[each].leader_id for each in snapshot.logs} - snapshot.reporters
        if len(self._members) == 1 and others:
            # These brokers report no history.
            await asyncio.sleep(_SAMPLE_INTERVAL_S)
            await self._sample_groups(with_logs=with_logs)
        snapshot.members_before = self._members[0]
        # Brokers that report events have a better history, so fewer samples are needed.
        before_ms = snapshot.now_ms - (self._window_ms if others else _SAMPLES_BESIDE_EVENTS_MS)
        self._ends.forget(before_ms)
        self._commits.forget(before_ms)
        while not others and len(self._members) > 1:
            self._members.popleft()
        ends = {
            TopicPartition(row["topic"], row["partition"]): _points(row["ends"])
            async for row in in_time_slices(snapshot.rows("ends"))
        }
        snapshot.logs = {
            name: log._replace(ends=sorted([*ends.get(name, ()), *self._ends.of(name)]))
            async for name, log in in_time_slices(snapshot.logs.items())
        }
        async for name, group in in_time_slices(snapshot.groups.items(), _GROUPS_AT_ONCE):
            answer = {
                TopicPartition(each["topic"], each["partition"]): _points(each["offsets"])
                or [(int(each["at_ms"]), int(each["offset"]))]
                for row in snapshot.rows("groups", group=name, broker_id=group.coordinator_id)
                for each in row["commits"]
            }
            group.commits = {
                partition: sorted([*answer.get(partition, ()), *self._commits.of((name, partition))])
                for partition in group.committed
            }

    async def _sample_groups(self, *, with_logs: bool) -> None:
        snapshot, wanted = self._snapshot, self._scope.name
        names = None if wanted is None else {wanted}
        found = await self._queries.of_each(lambda broker_id: self._groups(broker_id, names))
        snapshot.groups = {each.name: each for of_broker in found.values() for each in of_broker}
        if wanted is not None and not snapshot.groups and not snapshot.silent:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"consumer group {wanted} does not exist")
        read = {partition for each in snapshot.groups.values() for partition in each.committed}
        shared = {partition.topic for each in snapshot.groups.values() for partition in each.owners}
        read |= {partition for partition in snapshot.partitions if partition.topic in shared}
        snapshot.logs = await self._queries.logs(read) if with_logs else {}
        snapshot.now_ms = self._pool.env.clock.now_ms()
        async for name, log in in_time_slices(snapshot.logs.items()):
            self._ends.record(name, snapshot.now_ms, log.end_offset)
        async for group in in_time_slices(snapshot.groups.values(), _GROUPS_AT_ONCE):
            for name, offset in group.committed.items():
                self._commits.record((group.name, name), snapshot.now_ms, offset)
        self._members.append({each.name: each.members for each in snapshot.groups.values()})

    async def _groups(self, broker_id: int, names: Collection[str] | None) -> list[Group]:
        return [
            Group(
                described.group_id,
                described.state,
                broker_id,
                [Member(each.member_id, each.client_id, each.host, each.assignment) for each in described.members],
                committed,
            )
            for described, committed in await self._queries.admin(GroupAdmin).coordinated_by(broker_id, names)
        ]

    async def _limits(self) -> None:
        """Read the effects of quotas or, if no broker reports them, the quotas alone."""
        admin, scope, snapshot = self._queries.admin(QuotaStateAdmin), self._scope, self._snapshot
        if self._without_limits:
            # Kafka closes the connection on this request, while other requests may wait for answers on it.
            snapshot.refused.append(self._without_limits)
        else:
            answer = await self._queries.attempt("effects of quotas", admin.explain(scope.user, scope.client_id))
            snapshot.limits = [*answer] if answer else []
            if answer is None and self._without_facts:
                self._without_limits = snapshot.refused[-1]
        if not snapshot.limits:
            await read_quotas(self._queries)

    async def _use(self, broker_id: int) -> list[Row]:
        answer = await self._queries.admin(QuotaStateAdmin).top_of(broker_id, _USE_OF_LAST_S)
        return list(answer["clients"])


def _points(answer: Sequence[Sequence[int]]) -> Series:
    return [(at_ms, offset) for at_ms, offset in answer]
