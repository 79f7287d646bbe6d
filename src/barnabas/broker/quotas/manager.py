"""All quotas of a broker: limits, measured use, and clients.

    Session ─► Client (user, client id) ─► Bucket (tags, one for each kind) ─► throttle time

Invariants:

- For a kind without any limit, only sums per client are measured.
- A bucket belongs to tags, not to a connection: a client that reconnects finds its earlier use.
- A change of limits does not visit the clients: it increments `generation`, and each client looks up its limits again.
- The number of clients and buckets is bounded; the most recently used are kept. A peer with a new client id for each
  takes no more memory than that. They are kept under short names (`entities.kept_name`).

Source: semantics, quotas; Kafka 2.7.2, ClientQuotaManager.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from barnabas.broker.quotas.bucket import Bucket, Windows
from barnabas.broker.quotas.pacers import Pacers
from barnabas.core.windowed_rate import WindowedRate
from barnabas.wire.quotas.entities import Entity, kept_name
from barnabas.wire.quotas.levels import LevelLimit, Limits, Resolution, Tags
from barnabas.wire.quotas.limits import KINDS_BY_KEY, QuotaKind

UNUSED_MS = 60 * 60 * 1000
"""Clients and buckets unused for this long are forgotten."""
# differs from Kafka (quota-clients): Kafka is limited only by memory.
MOST_REMEMBERED = 20_000
# Number of entries checked when one must be removed: entries in use move to the end.
_CHANCES = 8
# Kafka measures exempt time like its other metrics: over two windows of 30 s.
_EXEMPT_WINDOW_MS, _EXEMPT_SAMPLES = 30_000, 2
PERCENT_PER_NS = 100 / 1_000_000_000

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Client:
    """A user with a client id, on any number of connections.

    Attributes:
        user, client_id: Their shortened names (`kept_name`).
        produced_bytes, fetched_bytes: Bytes of its produce requests and fetch answers since it was first seen.
        request_ns: Broker time of its requests since it was first seen, including time exempt from quotas.
        mutation_count: Partitions that it created and deleted since it was first seen.
        throttled_ms: The sum of its throttle times.
        session_count: The number of its open connections.
        buckets: Its bucket for each kind, or None; valid while `generation` is the one of `Quotas`.
        last_used_ms: When its last connection was closed.
    """

    __slots__ = (
        "_quotas",
        "buckets",
        "client_id",
        "fetched_bytes",
        "generation",
        "last_used_ms",
        "mutation_count",
        "produced_bytes",
        "request_ns",
        "session_count",
        "throttled_ms",
        "user",
    )

    def __init__(self, quotas: "Quotas", user: str, client_id: str, now_ms: int) -> None:
        self.user = user
        self.client_id = client_id
        self.produced_bytes = self.fetched_bytes = self.request_ns = self.mutation_count = self.throttled_ms = 0
        self.session_count = 0
        self.last_used_ms = now_ms
        self._quotas = quotas
        self.generation = -1
        self.buckets: list[Bucket | None] = [None, None, None, None]

    def bucket(self, kind: QuotaKind, now_ms: int) -> Bucket:
        """Return the bucket that counts a kind under the current limits."""
        # hot path: benchmarks/load (every request of a client that has a quota)
        quotas = self._quotas
        if self.generation != quotas.generation:
            self.generation = quotas.generation
            self.buckets = [None, None, None, None]
        bucket = self.buckets[kind]
        if bucket is None:
            bucket = quotas.bucket(kind, self.user, self.client_id, now_ms)
            if self.generation == quotas.generation:
                # Otherwise a bucket was removed to make room, perhaps one in this list.
                self.buckets[kind] = bucket
        return bucket


class Quotas:
    """All limits, and the buckets that measure their use. Owned by the event loop.

    Attributes:
        generation: Number of changes of limits and removals of buckets: earlier look-ups may be outdated.
        thread_count: `num.network.threads` plus `num.io.threads`: this many times 100 percent is all of the broker's
            time (docs/quotas.md).
        exempt: Time of requests exempt from quotas, in percent.
        throttled_connection_counts: How many connections each kind throttles now.
        throttled_until_ns: The end of the last throttle time: after that no client waits for use by another.
        on_change: Called after each change of a limit.
        pacers: The clients that limit themselves.
        clients: The known clients, by user and client id.
        is_any: Whether there is a limit of any kind.
    """

    __slots__ = (
        "_buckets",
        "_limits",
        "_most_remembered",
        "_mutation_windows",
        "clients",
        "exempt",
        "generation",
        "is_any",
        "is_enabled",
        "on_change",
        "pacers",
        "thread_count",
        "throttled_connection_counts",
        "throttled_until_ns",
        "windows",
    )

    def __init__(
        self,
        windows: Windows,
        producer_default: float | None = None,
        consumer_default: float | None = None,
        most_remembered: int = MOST_REMEMBERED,
        mutation_windows: Windows | None = None,
    ) -> None:
        """Args:
        producer_default, consumer_default: The old static limits of client ids; None: no limit.
        mutation_windows: The windows for created and deleted partitions; None: the same windows.
        """
        self.windows = windows
        self._mutation_windows = windows if mutation_windows is None else mutation_windows
        self.generation = 0
        self.thread_count = 1
        self.exempt = WindowedRate(_EXEMPT_WINDOW_MS, _EXEMPT_SAMPLES)
        self.throttled_connection_counts = [0, 0, 0, 0]
        self.throttled_until_ns = 0
        self.on_change: Callable[[], object] = _nothing
        self.pacers = Pacers()
        self.clients: dict[tuple[str, str], Client] = {}
        self._limits = (Limits(producer_default), Limits(consumer_default), Limits(), Limits())
        self._buckets: tuple[dict[Tags, Bucket], ...] = ({}, {}, {}, {})
        self._most_remembered = most_remembered
        # By kind: whether any limit is set.
        self.is_enabled = [each.is_enabled for each in self._limits]
        self.is_any = any(self.is_enabled)

    # --- limits

    def set_override(self, entity: Entity, kind: QuotaKind, limit: float | None) -> bool:
        """Set or remove a limit; return whether that changed anything.

        Raises:
            ValueError: The limit is invalid; nothing has changed.
        """
        if limit is not None:
            kind.check(limit)
        limits = self._limits[kind]
        if not limits.set(entity.kept(), limit):
            return False
        if self.is_enabled[kind] and not limits.is_enabled:
            # Nothing is measured without limits: measuring starts from zero when one is set again.
            self._buckets[kind].clear()
        self.is_enabled[kind] = limits.is_enabled
        self.is_any = any(self.is_enabled)
        self.generation += 1
        self.on_change()
        return True

    def set_settings(self, entity: Entity, settings: Mapping[str, str]) -> list[str]:
        """Apply an entity's znode: set the limits that it names, and remove the others.

        Returns:
            An error text for each invalid limit; these limits are unchanged.
        """
        problems = []
        for key, kind in KINDS_BY_KEY.items():
            text = settings.get(key)
            try:
                limit = None if text is None else kind.parse(text)
            except ValueError as error:
                problems.append(str(error))
            else:
                self.set_override(entity, kind, limit)
        return problems

    def overrides(self, kind: QuotaKind) -> Mapping[Entity, float]:
        """Return the limits of a kind by entity."""
        return self._limits[kind].by_entity

    def resolve(self, kind: QuotaKind, user: str, client_id: str) -> Resolution:
        """Find the limits in force for a client."""
        return self._limits[kind].resolve(user, client_id)

    def levels(self, kind: QuotaKind, user: str, client_id: str) -> list[LevelLimit]:
        """Return all quota levels for a client, from the first to the last."""
        return self._limits[kind].levels(user, client_id)

    # --- clients

    def enter(self, user: str, client_id: str, now_ms: int) -> Client:
        """Return the client to which a connection belongs from now on, until `leave`."""
        user, client_id = kept_name(user), kept_name(client_id)
        client = self.clients.get((user, client_id))
        if client is None:
            if len(self.clients) >= self._most_remembered:
                _make_room(self.clients, _is_away)
            client = self.clients[user, client_id] = Client(self, user, client_id, now_ms)
        client.session_count += 1
        return client

    def leave(self, client: Client, now_ms: int) -> None:
        """End a connection's use by this client."""
        client.session_count -= 1
        client.last_used_ms = now_ms

    def pacer_count(self, kind: QuotaKind, tags: Tags, now_ms: int) -> int:
        """Count the clients that share these tags and keep to the limit by themselves."""
        return self.pacers.count(kind, self._limits[kind], tags, now_ms)

    def drop_unused(self, now_ms: int, most_looks: int = 1_000) -> None:
        """Forget some of the clients and buckets unused for an hour; call it regularly.

        Args:
            most_looks: The number of clients, and of buckets per kind, to check.
        """

        def is_unused(bucket: Bucket) -> bool:
            is_owed = bucket.throttled_connection_count or now_ms < bucket.used_up_until_ms
            return not is_owed and now_ms - bucket.last_used_ms >= UNUSED_MS

        def is_gone(client: Client) -> bool:
            return not client.session_count and now_ms - client.last_used_ms >= UNUSED_MS

        dropped_count = sum([_look_at(buckets, is_unused, most_looks) for buckets in self._buckets])
        _look_at(self.clients, is_gone, most_looks)
        if dropped_count:
            self.generation += 1

    # --- measured use

    def bucket(self, kind: QuotaKind, user: str, client_id: str, now_ms: int) -> Bucket:
        """Return a client's bucket under the current limits, creating it if needed."""
        limits, buckets = self._limits[kind], self._buckets[kind]
        resolution = limits.resolve(kept_name(user), kept_name(client_id))
        bucket = buckets.get(resolution.tags)
        if bucket is None:
            if len(buckets) >= self._most_remembered:
                _make_room(buckets, lambda each: _is_idle(each, now_ms))
                self.generation += 1
            windows = self._mutation_windows if kind is QuotaKind.CONTROLLER_MUTATION else self.windows
            bucket = buckets[resolution.tags] = Bucket(kind, resolution, windows, now_ms)
        elif bucket.resolution != resolution:
            bucket.set_limit(resolution)
        return bucket

    def record(self, kind: QuotaKind, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Count a client's use; return for how many milliseconds to throttle the client."""
        return self.bucket(kind, user, client_id, now_ms).record(now_ms, value) if self.is_enabled[kind] else 0

    def percent_of(self, ns: int) -> float:
        """Convert nanoseconds of the broker's time to the percent of `request_percentage`."""
        return ns * PERCENT_PER_NS * self.thread_count

    def buckets(self, kind: QuotaKind) -> Iterator[Bucket]:
        """Yield all buckets of a kind, with their current limits."""
        limits = self._limits[kind]
        for tags, bucket in self._buckets[kind].items():
            resolution = limits.of_tags(tags)
            if bucket.resolution != resolution:
                bucket.set_limit(resolution)
            yield bucket

    def bucket_of(self, kind: QuotaKind, user: str, client_id: str) -> Bucket | None:
        """Return a client's bucket without creating it; None: nothing was counted yet."""
        resolution = self._limits[kind].resolve(user, client_id)
        bucket = self._buckets[kind].get(resolution.tags)
        if bucket is not None and bucket.resolution != resolution:
            bucket.set_limit(resolution)
        return bucket


def _nothing() -> None:
    return


def _is_away(client: Client) -> bool:
    return not client.session_count


def _is_idle(bucket: Bucket, now_ms: int) -> bool:
    """Return whether the bucket's measured use no longer throttles anyone."""
    is_owed = bucket.throttled_connection_count or now_ms < bucket.used_up_until_ms
    return not is_owed and not bucket.rate_per_s(now_ms) and not bucket.excess_ms(now_ms)


def _look_at(table: dict[_Key, _Value], is_unused: Callable[[_Value], bool], most_looks: int) -> int:
    """Check the first entries: remove unused ones, move the others to the end. Return the number removed."""
    count = 0
    for key in list(islice(table, most_looks)):
        value = table.pop(key)
        if is_unused(value):
            count += 1
        else:
            table[key] = value
    return count


def _make_room(table: dict[_Key, _Value], is_idle: Callable[[_Value], bool]) -> None:
    """Remove one entry: the first idle one of the first few, or else the one checked longest ago."""
    for key in list(islice(table, _CHANCES)):
        value = table.pop(key)
        if is_idle(value):
            return
        table[key] = value
    del table[next(iter(table))]
