"""Queries to brokers; failures and refusals are recorded in the snapshot, and do not affect queries to other brokers.

Also the queries for settings, quotas and open transactions, which keep a last stable offset below a partition's end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from typing import Final, TypeVar

from barnabas.clients.admin_calls import EARLIEST, LATEST, AdminCalls
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_quota_states import QuotaStateAdmin, by_level
from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Log, OpenTransaction, Setting, Snapshot

A = TypeVar("A")
T = TypeVar("T")

# One attempt: a broker that does not answer is reported as silent, without a retry.
_ONCE_MS: Final = 1
_AT_ONCE: Final = 6
# The number of partitions in a request, which takes 10 ms of computation in this process.
_LOGS_AT_ONCE: Final = 500
REFUSED: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.SECURITY_DISABLED,
    ErrorCode.UNSUPPORTED_VERSION,
)
MOST_READ: Final = 200
"""The most partitions that are read."""


class Queries:
    """The queries for one snapshot of a cluster."""

    def __init__(self, pool: Pool, patience_s: float, snapshot: Snapshot) -> None:
        """Args:
        patience_s: The time limit for one answer of a broker.
        snapshot: The snapshot, in which silent brokers and refusals are recorded.
        """
        self.pool = pool
        self.snapshot = snapshot
        self._patience_s = patience_s

    def admin(self, kind: Callable[[Pool, int], T]) -> T:
        """Return an admin client without retries: a class of `clients/admin_*.py`."""
        return kind(self.pool, _ONCE_MS)

    async def of_each(
        self, ask: Callable[[int], Awaitable[T]], broker_ids: Iterable[int] | None = None
    ) -> dict[int, T]:
        """Query brokers in parallel; failed ones are recorded and not in the result."""
        snapshot = self.snapshot
        there = (
            []
            if snapshot.cluster is None
            else [each.broker_id for each in snapshot.cluster.brokers.values() if each.address]
        )
        wanted = [each for each in there if each not in snapshot.silent and (broker_ids is None or each in broker_ids)]

        async def one(broker_id: int) -> list[T]:
            try:
                async with asyncio.timeout(self._patience_s):
                    return [await ask(broker_id)]
            except TimeoutError:
                snapshot.silent[broker_id] = f"no answer came within {self._patience_s:.3g} s"
            except KafkaError as error:
                if error.code in REFUSED:
                    snapshot.refused.append(error.message)
                else:
                    snapshot.silent[broker_id] = error.message
            return []

        answers = await asyncio.gather(*map(one, wanted))
        return {broker_id: each for broker_id, answer in zip(wanted, answers, strict=True) for each in answer}

    async def attempt(self, what: str, query: Awaitable[T]) -> T | None:
        """Send a query that is not about one broker; record a failure and return None."""
        try:
            async with asyncio.timeout(self._patience_s):
                return await query
        except TimeoutError:
            self.snapshot.refused.append(f"{what}: no answer came within {self._patience_s:.3g} s")
        except KafkaError as error:
            self.snapshot.refused.append(f"{what}: {error.message}")
        return None

    async def logs(self, names: AbstractSet[TopicPartition]) -> dict[TopicPartition, Log]:
        """Query each leader for the start and end of its partitions."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for name, partition in self.snapshot.partitions.items():
            if name in names:
                by_leader.setdefault(partition.leader_id, []).append(name)
        admin = self.admin(OffsetAdmin)

        async def ask(broker_id: int) -> dict[TopicPartition, Log]:
            led, logs = by_leader[broker_id], dict[TopicPartition, Log]()
            for begin in range(0, len(led), _LOGS_AT_ONCE):
                some = led[begin : begin + _LOGS_AT_ONCE]
                # In this order, concurrent changes can only increase the lag.
                start = await admin.offsets(some, EARLIEST)
                stable = await admin.offsets(some, LATEST, is_read_committed=True)
                end = await admin.offsets(some, LATEST)
                logs |= {each: Log(start[each], stable[each], end[each], []) for each in some}
            return logs

        found = await self.of_each(ask, by_leader.keys())
        return {name: log for of_leader in found.values() for name, log in of_leader.items()}

    async def of_leader(self, name: TopicPartition, query: Coroutine[object, object, T]) -> T | None:
        """Return the result of a query to a partition's leader; None: the leader does not answer."""
        leader_id = self.snapshot.partitions[name].leader_id

        async def ask(_: int) -> T:
            return await query

        try:
            return (await self.of_each(ask, [leader_id])).get(leader_id)
        finally:
            query.close()


async def some_at_once(ask: Callable[[A], Awaitable[T]], about: Iterable[A]) -> list[T]:
    """Return many answers, with limited parallelism, so that a slow connection delays few other queries."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(each: A) -> T:
        async with places:
            return await ask(each)

    return await asyncio.gather(*map(one, about))


_WHERE: Final = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "the broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
}


async def read_settings(queries: Queries) -> None:
    """Read the settings of the topic in the scope or, without one, of degraded topics and of the largest topics."""
    snapshot = queries.snapshot
    sizes: dict[str, int] = {}
    for directory in snapshot.directories:
        for name, size in directory.logs.items():
            sizes[name.topic] = sizes.get(name.topic, 0) + size
    assert snapshot.cluster is not None
    there = {each.name.topic for each in snapshot.cluster.partitions}
    lacking = {each.name.topic for each in snapshot.cluster.partitions if len(each.isr) < len(each.replicas)}
    largest = sorted(sizes, key=lambda topic: -sizes[topic])[:MOST_READ]
    wanted = (
        [queries.snapshot.scope.name] if queries.snapshot.scope.name in there else sorted({*lacking, *largest} & there)
    )
    resources = [ConfigResource(ResourceType.TOPIC, str(topic)) for topic in wanted]
    if not resources:
        return
    describing = queries.admin(ConfigAdmin).describe_configs(resources, include_synonyms=False)
    found = await queries.attempt("settings", describing)
    for resource, entries in (found or {}).items():
        snapshot.settings[resource.name] = {
            each.name: Setting(each.value, _WHERE.get(each.source, "unknown"))
            for each in entries
            if each.value is not None
        }


async def read_quotas(queries: Queries) -> None:
    """Read all quotas."""
    limits = await queries.attempt("limits", queries.admin(QuotaStateAdmin).limits()) or {}
    queries.snapshot.configured_quotas = {limited.entity: values for limited, values in by_level(limits.items())}


# A broker returns at least one batch, even if it is larger than this limit.
_FIRST_BATCH_BYTES: Final = 4_096


async def find_open_transactions(queries: Queries, where: Iterable[TopicPartition], *, with_ids: bool) -> None:
    """Find open transactions at last stable offsets, and hanging ones among them."""
    snapshot = queries.snapshot
    missing = {each for each in where if each not in snapshot.logs}
    logs = {**snapshot.logs, **(await queries.logs(missing) if missing else {})}
    unstable = {name: log for name, log in logs.items() if log.stable_offset < log.end_offset}
    found = await some_at_once(
        lambda each: queries.of_leader(each[0], _first_open(queries, *each)), list(unstable.items())[:MOST_READ]
    )
    opened = [each for each in found if each is not None]
    if not opened and not with_ids:
        return
    answer = await queries.attempt("transactional ids", queries.admin(TransactionAdmin).coordinated())
    snapshot.transactional_ids = answer or {}
    known = {
        (state.producer_id, partition)
        for state in snapshot.transactional_ids.values()
        if state.status.is_open
        for partition in state.partitions
    }
    suspects = [each for each in opened if answer is not None and (each.producer_id, each.partition) not in known]
    # Read the offsets again: a transaction that ended during the query has its marker now.
    again = await queries.logs({each.partition for each in suspects}) if suspects else {}
    for each in opened:
        is_suspect = each in suspects
        if not is_suspect:
            snapshot.open_transactions.append(each)
        elif each.partition in again and again[each.partition].stable_offset == each.first_offset:
            snapshot.open_transactions.append(each._replace(is_hanging=True))


async def _first_open(queries: Queries, name: TopicPartition, log: Log) -> OpenTransaction | None:
    """Read the first batch at a last stable offset, which belongs to the open transaction."""
    reading = read_batches(queries.admin(AdminCalls), name, log.stable_offset, log.end_offset, _FIRST_BATCH_BYTES)
    async with aclosing(reading) as batches:
        async for header, _ in batches:
            if not header.is_transactional or header.is_control:
                return None
            began_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms
            return OpenTransaction(name, header.producer_id, header.producer_epoch, header.base_offset, began_ms, False)
    return None
