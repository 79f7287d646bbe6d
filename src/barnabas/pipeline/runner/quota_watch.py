"""Asks a cluster again and again which quotas hold a run's client, and who leads what it reads and writes.

It has connections of its own, with the same user and client id as Spark's connector, as quotas go by these. Asking
Barnabas about oneself takes no right. Kafka is asked for the limits of all, which takes DescribeConfigs on the cluster.

Invariants: nothing here stops a run: what is not told is warned of once, and what was told last holds on. A run that
quotas hold says so each time, and is counted by the broker as one that keeps to its limit by itself.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.clients import Pool
from barnabas.clients.admin import LATEST, Admin
from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_quota_states import QuotaStateAdmin, View
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.questions import Questions
from barnabas.pipeline.runner.quota_state import KINDS, READ, WRITE, Quota, explained, resolved, user_of
from barnabas.pipeline.tables.table import Offsets
from barnabas.wire.quotas.limits import QuotaKind

EVERY_S, KAFKA_EVERY_S = 1.0, 2.0
"""So often it asks; the limits of all, which Kafka is asked for, less often."""

_TIMEOUT_MS = 5_000
# Who says that he paces himself and does not say so again is no longer counted.
_LASTING_S = 6
# Of so many partitions, so much of each.
_SAMPLED_COUNT, _LEAST_SAMPLE_BYTES, _MOST_SAMPLE_BYTES = 2, 1_024, 32_768
# Of what the strictest quota allows in a second.
_SAMPLE_PART = 0.02
_VIEWS = {READ: View.PACE_READS, WRITE: View.PACE_WRITES}


class Sample(NamedTuple):
    """What records take on the wire, compressed as they are: bytes of an offset, and of a batch in the log."""

    offset_bytes: float
    batch_bytes: float


Leaders = Mapping[str, Mapping[int, int]]
"""Broker ids by topic and partition; -1 where a partition has no leader now."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was told last; an empty one before anything was.

    Attributes:
        quotas: By kind and broker.
    """

    quotas: Mapping[tuple[QuotaKind, int], Quota] = field(default_factory=dict)
    leaders: Leaders = field(default_factory=dict)


class QuotaWatch:
    """A thread that asks, for one user and client id."""

    def __init__(
        self,
        kafka: KafkaOptions,
        peers: Sequence[str],
        is_held: Callable[[QuotaKind], bool],
        on_seen: Callable[[Seen], None],
        warn: Callable[[str], None],
    ) -> None:
        """Nothing is asked before `ask`.

        Args:
            kafka: The cluster, and as whom.
            peers: Client ids of the runs in this process, its own included.
            is_held: Whether the run could be faster but for a limit of a kind.
            on_seen: Given what was told; called in the thread.
            warn: Told in one line, and once, what is not told.
        """
        self._kafka = kafka
        self._client_id = kafka.options.get("client.id", "")
        self._peers = tuple(peers) or (self._client_id,)
        self._is_held = is_held
        self._on_seen = on_seen
        self._warn = warn
        self._warned: set[str] = set()
        self._topics: frozenset[str] = frozenset()
        self._questions = Questions()
        # By the limits of all, as they were told last.
        self._resolved_last: list[Quota] = []
        # The kinds for which brokers count this run.
        self._counted: frozenset[QuotaKind] = frozenset()
        self._sample_of: Offsets = {}
        self._sampled: Sample | None = None
        self._condition = threading.Condition()
        self._wanted_count = self._asked_count = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def follow(self, topics: Iterable[str]) -> None:
        """Ask who leads these topics from now on, beside those that are followed already."""
        self._topics |= frozenset(topics)

    def ask(self, timeout_s: float) -> None:
        """Ask now, and go on asking; returns once all is told, or the time is over."""
        with self._condition:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="barnabas-quotas", daemon=True)
                self._thread.start()
            self._wanted_count = wanted = max(self._wanted_count, self._asked_count + 1)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._asked_count >= wanted, timeout_s)

    def ask_soon(self) -> None:
        """Let the thread ask now where the answer says what was used; nobody waits for it."""
        if self._questions.is_kafka:
            return
        with self._condition:
            self._wanted_count = max(self._wanted_count, self._asked_count + 1)
            self._condition.notify_all()

    def sample(self, starts: Offsets, timeout_s: float) -> Sample | None:
        """Fetch a few records, to see what they take.

        Args:
            starts: From where, by topic and partition.
            timeout_s: How long to wait for that.

        Returns:
            None where there is no record, or it could not be read in time.
        """
        with self._condition:
            self._sample_of, self._sampled = starts, None
        self.ask(timeout_s)
        return self._sampled

    def close(self) -> None:
        """Ask no more."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            pool: Pool | None = None
            while not self._is_closed:
                wanted = self._wanted_count
                try:
                    pool = pool or self._new_pool()
                    self._on_seen(runner.run(self._look(pool)))
                except ConfigError as error:
                    self._tell(f"quotas can't be asked for with these options: {error}")
                except Exception as error:
                    if isinstance(error, BarnabasError):
                        # Spark's own clients say it where the cluster is away for long.
                        self._tell_refusal(error)
                    else:
                        # Without this thread a hold would go by a limit that may long be another one.
                        self._tell(f"quotas could not be asked for, and are asked for again: {error!r}")
                    if pool is not None:
                        runner.run(pool.close())
                        pool = None
                with self._condition:
                    self._asked_count = max(wanted, self._asked_count)
                    self._condition.notify_all()
                    pause_s = KAFKA_EVERY_S if self._questions.is_kafka else EVERY_S
                    self._condition.wait_for(lambda: self._is_closed or self._wanted_count > self._asked_count, pause_s)
            if pool is not None:
                runner.run(self._leave(pool))

    async def _leave(self, pool: Pool) -> None:
        """Let others have this run's part of what they share."""
        try:
            for kind in self._counted:
                await QuotaStateAdmin(pool, _TIMEOUT_MS).pace(_VIEWS[kind], 0)
        except BarnabasError:
            # It is forgotten without that, a little later.
            pass
        await pool.close()

    def _new_pool(self) -> Pool:
        return Pool(
            self._kafka.bootstrap_servers,
            self._client_id,
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
            security=client_security(self._kafka.options),
        )

    async def _look(self, pool: Pool) -> Seen:
        metadata = await pool.metadata(sorted(self._topics))
        leaders = {
            name: {number: part.leader_id for number, part in topic.partitions.items()}
            for name, topic in metadata.topics.items()
        }
        admin = QuotaStateAdmin(pool, _TIMEOUT_MS)
        quotas = await self._explained(admin)
        if quotas is None:
            quotas = await self._resolved(admin, list(metadata.brokers))
        if quotas and self._sample_of:
            starts, self._sample_of = self._sample_of, {}
            wanted = round(_SAMPLE_PART * min(each.limit for each in quotas))
            sample_bytes = min(max(wanted, _LEAST_SAMPLE_BYTES), _MOST_SAMPLE_BYTES)
            self._sampled = await _sample(admin, starts, sample_bytes)
        return Seen({(each.kind, each.broker_id): each for each in quotas}, leaders)

    async def _explained(self, admin: QuotaStateAdmin) -> list[Quota] | None:
        """Ask each broker; None where they are none of Barnabas's."""
        if self._questions.is_kafka:
            return None
        found = []
        try:
            for kind in KINDS:
                is_held = self._is_held(kind)
                if is_held or kind in self._counted:
                    told = await admin.pace(_VIEWS[kind], _LASTING_S if is_held else 0)
                    self._counted = self._counted | {kind} if is_held else self._counted - {kind}
                else:
                    told = await admin.explain()
                found += [quota for each in told if (quota := explained(each, kind, is_held)) is not None]
        except KafkaError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION or self._questions.has_explained:
                raise
            self._questions.note_refused()
            return None
        self._questions.note_explained()
        return found

    async def _resolved(self, admin: QuotaStateAdmin, broker_ids: list[int]) -> list[Quota]:
        user = user_of(self._kafka.options)
        if user is None:
            self._tell("the broker alone knows which user this login is: its quotas are not kept to by themselves")
            return []
        if not self._questions.may_see_limits(time.monotonic()):
            return self._resolved_last
        try:
            limits = await admin.limits()
        except KafkaError as error:
            if error.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                self._questions.note_denied(time.monotonic())
            raise
        self._resolved_last = [
            quota for kind in KINDS for quota in resolved(limits, kind, user, self._client_id, self._peers, broker_ids)
        ]
        return self._resolved_last

    def _tell_refusal(self, error: BarnabasError) -> None:
        if not isinstance(error, KafkaError):
            return
        match error.code:
            case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                self._tell(
                    f"user {user_of(self._kafka.options)} may not ask for quotas, which on Kafka takes DescribeConfigs "
                    "on the cluster: --max-bytes-per-s alone paces the run"
                )
            case ErrorCode.UNSUPPORTED_VERSION:
                self._tell("the broker has no request that tells quotas: --max-bytes-per-s alone paces the run")
            case ErrorCode.SASL_AUTHENTICATION_FAILED | ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                self._tell(f"quotas can't be asked for: {error}")

    def _tell(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


async def _sample(admin: AdminCalls, starts: Offsets, sample_bytes: int) -> Sample | None:
    """Read a little from where some partitions begin."""
    positions = {
        TopicPartition(topic, number): offset
        for topic, partitions in starts.items()
        for number, offset in partitions.items()
    }
    ends = await Admin(admin.pool, admin.timeout_ms).offsets(list(positions), LATEST)
    left = {each: ends[each] - offset for each, offset in positions.items() if ends[each] > offset}
    byte_count = offset_count = batch_count = 0
    for partition in sorted(left, key=lambda each: -left[each])[:_SAMPLED_COUNT]:
        start, end = positions[partition], ends[partition]
        sampled_bytes = 0
        async with aclosing(read_batches(admin, partition, start, end, sample_bytes)) as found:
            async for header, batch in found:
                sampled_bytes += len(batch)
                batch_count += 1
                offset_count += header.last_offset - header.base_offset + 1
                if 2 * sampled_bytes >= sample_bytes:
                    break
        byte_count += sampled_bytes
    return Sample(byte_count / offset_count, byte_count / batch_count) if offset_count else None
