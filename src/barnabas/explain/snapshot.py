"""A snapshot of a cluster as plain values, the input of rules.

Parts that were not requested are empty. Brokers that did not answer are in `silent`; brokers that do not support the
request `Facts`, such as Kafka's, are not in `reporters`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from barnabas.clients.cluster_state import Cluster, Partition
from barnabas.clients.transaction_log import TransactionState
from barnabas.core.types import TopicPartition
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.security.acls import Binding

T = TypeVar("T")

Row = Mapping[str, Any]
"""A row of a `Facts` response, with the `broker_id` of the reporting broker; its fields are in explain/facts.json."""
Series = list[tuple[int, int]]
"""Pairs of a time in wall milliseconds and the offset at that time, oldest first."""


PACE_S: Final = 30
"""The time over which read rates are measured."""
_LOOKS_APART_MS: Final = 10_000


class Member(NamedTuple):
    """A member of a group and its assignment."""

    member_id: str
    client_id: str
    host: str
    assignment: list[TopicPartition]


@dataclass(slots=True)
class Group:
    """A group as reported by its coordinator.

    Attributes:
        state: Stable, Empty, PreparingRebalance, CompletingRebalance or Dead.
        coordinator_id: The broker that reported it.
        committed: Committed offsets by partition.
        commits: The committed offsets over time, by partition; the last point is current.
    """

    name: str
    state: str
    coordinator_id: int
    members: list[Member] = field(default_factory=list)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    commits: dict[TopicPartition, Series] = field(default_factory=dict)

    @property
    def owners(self) -> dict[TopicPartition, Member]:
        """Return the member that reads each partition."""
        return {partition: member for member in self.members for partition in member.assignment}


class Log(NamedTuple):
    """The start and end of a partition's log, and its end over time.

    Attributes:
        stable_offset: The last stable offset.
        end_offset: The high watermark.
        ends: The end offset over time; the last point is current.
    """

    start_offset: int
    stable_offset: int
    end_offset: int
    ends: Series


class UnreadRecords(NamedTuple):
    """The records between a committed offset and the last stable offset.

    Attributes:
        first_ms: The timestamp of the first readable record; None: no such record, or it has no timestamp.
        record_count: Number of readable records: no markers, no aborted records.
        is_whole: Whether the whole range was read; if not, the part beyond the read limit may contain more.
    """

    first_ms: int | None
    record_count: int
    is_whole: bool


class OpenTransaction(NamedTuple):
    """An open transaction in a partition.

    Attributes:
        is_hanging: No transaction coordinator will end it.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    first_offset: int
    started_ms: int
    is_hanging: bool


class Directory(NamedTuple):
    """A log directory of a broker.

    Attributes:
        failure: The reason why it is unusable; empty: it is usable.
        logs: Size in bytes by partition.
        behind: By partition, the number of offsets that the replica is behind the high watermark.
        total_bytes, free_bytes: Size and free space of its disk; None: unknown.
    """

    broker_id: int
    path: str
    failure: str
    logs: dict[TopicPartition, int]
    behind: dict[TopicPartition, int]
    total_bytes: int | None = None
    free_bytes: int | None = None


class Setting(NamedTuple):
    """An effective setting with its source: `topic`, `broker`, `all brokers`, `the broker's file` or `default`."""

    value: str
    where: str


class Scope(NamedTuple):
    """The subject of a question; None: any."""

    name: str | None = None
    user: str | None = None
    client_id: str | None = None
    host: str | None = None
    operation: str | None = None
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None


_NOTHING: Final = Scope()


@dataclass(slots=True)
class Snapshot:
    """The snapshot.

    Attributes:
        now_ms: The local wall clock.
        since_ms: The start of the time window of events.
        reporters: Brokers that answered `Facts`.
        deniers: Brokers that refused the user a subject of `Facts`.
        silent: By broker id, the reason why a broker did not answer.
        refused: The data that the user may not see, as parts of a sentence.
        rules: Access rules; None: not visible.
        limits: The answers of ExplainQuotas, by broker.
        configured_quotas: All quotas by entity, from the first level to the last.
        fetched: By broker and client id, bytes sent in each of the last 30 s; only the largest clients.
        use: By broker, the recent usage of clients, in descending order.
        round_trips_ms: The round trip of a trivial request, by broker.
    """

    now_ms: int
    since_ms: int
    scope: Scope = _NOTHING
    cluster: Cluster | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    members_before: dict[str, list[Member]] = field(default_factory=dict)
    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    unread: dict[tuple[str, TopicPartition], UnreadRecords] = field(default_factory=dict)
    open_transactions: list[OpenTransaction] = field(default_factory=list)
    transactional_ids: dict[str, TransactionState] = field(default_factory=dict)
    directories: list[Directory] = field(default_factory=list)
    settings: dict[str, dict[str, Setting]] = field(default_factory=dict)
    rules: list[Binding] | None = None
    limits: list[Row] = field(default_factory=list)
    configured_quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    fetched: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    use: dict[int, list[Row]] = field(default_factory=dict)
    round_trips_ms: dict[int, float] = field(default_factory=dict)
    facts: dict[str, list[Row]] = field(default_factory=dict)
    reporters: set[int] = field(default_factory=set)
    deniers: set[int] = field(default_factory=set)
    silent: dict[int, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    # Indexes for rules that look up thousands of rows: by subject and field, the number of indexed rows and the index.
    _indexes: dict[tuple[str, str], tuple[int, dict[Any, list[Any]]]] = field(default_factory=dict, repr=False)
    _partitions: dict[TopicPartition, Partition] = field(default_factory=dict, repr=False)

    def rows(self, subject: str, **wanted: object) -> Iterator[Row]:
        """Yield the rows of a subject of `Facts` whose fields have these values."""
        rows: Sequence[Row] = self.facts.get(subject, ())
        if wanted:
            first, value = next(iter(wanted.items()))
            rows = self._index(subject, first, rows, lambda row: row[first]).get(value, ())
        for row in rows:
            if all(row[name] == value for name, value in wanted.items()):
                yield row

    def bad_logs(self, trouble: str) -> dict[tuple[int, TopicPartition], str]:
        """Return errors of logs that can't be opened (`damaged`) or compacted (`uncleanable`), by broker and log."""
        return {
            (row["broker_id"], TopicPartition(each["topic"], each["partition"])): each["reason"]
            for row in self.rows("broker")
            for each in row.get("bad_logs", ())
            if each["trouble"] == trouble
        }

    def logs_of(self, topic: str) -> Sequence[TopicPartition]:
        """Return the partitions of a topic whose logs are in the snapshot."""
        return self._index("", "topic", self.logs, lambda name: name.topic).get(topic, ())

    def _index(
        self, subject: str, field_name: str, rows: Collection[T], key_of: Callable[[T], object]
    ) -> dict[Any, list[T]]:
        count, index = self._indexes.get((subject, field_name), (-1, {}))
        if count != len(rows):
            index = {}
            for row in rows:
                index.setdefault(key_of(row), []).append(row)
            self._indexes[subject, field_name] = len(rows), index
        return index

    @property
    def partitions(self) -> Mapping[TopicPartition, Partition]:
        """Return the partitions of the cluster, by name."""
        if self.cluster is not None and len(self._partitions) != len(self.cluster.partitions):
            self._partitions = {each.name: each for each in self.cluster.partitions}
        return self._partitions

    def address(self, broker_id: int) -> str:
        """Return the name of a broker, with its address if that is known."""
        broker = None if self.cluster is None else self.cluster.brokers.get(broker_id)
        if broker is None or broker.address is None:
            return f"broker {broker_id}"
        return f"broker {broker_id} ({broker.address[0]}:{broker.address[1]})"


def rate_per_s(series: Series, now_ms: int) -> float | None:
    """Return the increase of an offset per second in the last 30 to 40 s; None: the samples cover less than a second.

    The start is rounded to a multiple of ten seconds, because all brokers sample at these times.
    """
    begin_ms = (now_ms - PACE_S * 1_000) // _LOOKS_APART_MS * _LOOKS_APART_MS
    first = None
    for at_ms, offset in series:
        if first is None or at_ms <= begin_ms:
            first = (max(at_ms, begin_ms), offset)
    if first is None:
        return None
    last_ms, last = series[-1]
    elapsed_ms = max(last_ms, now_ms) - first[0]
    return (last - first[1]) * 1_000 / elapsed_ms if elapsed_ms >= 1_000 else None


def still_since_ms(series: Series) -> int | None:
    """Return the time when the current offset was first seen; at the earliest, the time of the first sample."""
    since = None
    for at_ms, offset in reversed(series):
        if offset != series[-1][1]:
            break
        since = at_ms
    return since
