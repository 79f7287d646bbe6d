"""Writes one partition's records into the target, each once.

    a fresh writer:     init_transactions ─► read its place in the table ─► leave out what is before it
    each transaction:   records ─► their offsets in the target are known ─► place into the table ─► commit

Invariants:
- What is committed is records and the place behind them, or nothing. A place is therefore never behind or ahead of what
  the target's readers see.
- One writer of a partition can commit at a time: the transactional id is the partition's, so whoever comes later fences
  who came before, and ends what that one had begun, before it asks where to go on.
- What fails in any way is not gone on with: the next writer finds out what was committed.

librdkafka is the producer: it has transactions and makes large batches without the interpreter.

Source: KIP-98; librdkafka's INTRODUCTION.md, "Transactional Producer".
"""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.clients.librdkafka import librdkafka_options
from barnabas.clients.mirror.places import advanced
from barnabas.clients.mirror_offsets import (
    TABLE_TOPIC,
    Owner,
    Place,
    RecordMark,
    Run,
    SourcePartition,
    owner_record,
    place_record,
    segment_record,
    segment_tombstone,
)
from barnabas.core.errors import ConfigError
from barnabas.pipeline.mirror.rows import Rows
from barnabas.pipeline.mirror.table import MirrorFencedError, OffsetTable
from barnabas.pipeline.runner.cluster import ClusterUnavailableError, KafkaOptions

T = TypeVar("T")

# A transaction holds so much at the least, if there is so much: its end costs two round trips and a marker. At the most
# it holds so many records, and takes so long before it is brought to its end.
_FULL_BYTES = 16 << 20
_FULL_COUNT = 20_000
_FULL_S = 10.0
_TIMEOUT_S = 60.0
_OPTIONS: dict[str, str | int] = {
    "client.id": "barnabas-mirror",
    # Of a message it is the same: librdkafka wants that not to be longer.
    "transaction.timeout.ms": 60_000,
    # So much is under way: a link of 150 kB/s is fast enough.
    "queue.buffering.max.kbytes": 8 << 10,
    # What the source took the target may take, too: its own max.message.bytes decides.
    "message.max.bytes": 100_000_000,
    "batch.size": 1_000_000,
    "linger.ms": 20,
    "reconnect.backoff.max.ms": 500,
    # What matters is raised; a kept writer whose broker is away would say so several times a second.
    "log_level": 2,
}
# librdkafka takes a timestamp of 0 for none, and puts its own time there.
_FIRST_TIMESTAMP_MS = 1


class WriterError(ClusterUnavailableError):
    """The writer is done with: one line with the reason. A new one may fare better."""


@dataclass(frozen=True, slots=True)
class Route:
    """Whose records go where, and on whose behalf.

    Attributes:
        source: Of the mirror, the partition that is read.
        alias: What the source cluster is called.
        target: The cluster that is written.
        target_topic: The topic there; the partition's number is the same.
        generation: Of the process that mirrors.
    """

    source: SourcePartition
    alias: str
    target: KafkaOptions
    target_topic: str
    generation: int


@dataclass(frozen=True, slots=True)
class Hint:
    """The driver's knowledge of a partition, for a task.

    Attributes:
        place: As the table had it up to `table_offset`; None: it had none.
        table_offset: Where to read the table on.
        start_offset: Of the batch.
        end_offset: Of the batch: what follows the last offset that is read, records or not.
        token: Of the writer that committed last; it is the partition's as long as nobody else was.
        forgotten: The segments, by first source offset and end, that are below the source's log start.
    """

    place: Place | None
    table_offset: int
    start_offset: int
    end_offset: int
    token: str = ""
    forgotten: tuple[tuple[int, int], ...] = ()


class PartitionWriter:
    """One partition's transactional producer, and how far it has committed.

    Attributes:
        token: Of this writer alone.
    """

    def __init__(self, route: Route, hint: Hint) -> None:
        """Fence who wrote this partition before, and find out where to go on.

        Raises:
            ClusterUnavailableError: the target did not do it.
            MirrorFencedError: a later process mirrors the same source, or one mirrors it to another topic.
        """
        self.token = uuid.uuid4().hex
        self._route = route
        self._began_s = 0.0
        self._chunk: list[Rows] = []
        self._asked: list[int] = []
        self._given: list[int] = []
        self._failure: KafkaError | None = None
        self._is_open = False
        self._is_shared = False
        source = route.source
        name = f"barnabas-mirror-{source.mirror}-{source.cluster_id}-{source.topic}-{source.partition}"
        self._producer = transactional_producer(route.target, name)
        self._place = self._read_place(hint)

    @property
    def position(self) -> int:
        """The next source offset to be mirrored."""
        return self._place.position

    @property
    def generation(self) -> int:
        """Of the process that it writes for."""
        return self._place.generation

    @property
    def is_full(self) -> bool:
        """Whether what was added is enough for a transaction."""
        return (
            sum(rows.payload_bytes for rows in self._chunk) >= _FULL_BYTES
            or sum(len(rows.offsets) for rows in self._chunk) >= _FULL_COUNT
            or (bool(self._chunk) and time.monotonic() > self._began_s + _FULL_S)
        )

    def add(self, rows: Rows) -> None:
        """Write records; nobody sees them before `commit`."""
        self._chunk.append(rows)
        self._send(rows)

    def commit(self, position: int, mark: RecordMark | None, forgotten: Iterable[tuple[int, int]] = ()) -> None:
        """Commit what was added, and the place behind it.

        Args:
            position: The next source offset to be mirrored.
            mark: The last record that was read; None: the one of before.
            forgotten: Segments to be dropped from the table, by first source offset and end.

        Raises:
            WriterError: it may be committed or not; this writer does not know.
        """
        pairs = self._settled()
        if pairs is None:
            # Somebody else writes to the target's partition, too: every record is asked for its offset from now on.
            self._is_shared = True
            self._do("abort_transaction", lambda: self._producer.abort_transaction(_TIMEOUT_S))
            self._is_open = False
            for rows in self._chunk:
                self._send(rows)
            pairs = self._settled()
            assert pairs is not None  # each record was asked
        source, dropped = self._route.source, list(forgotten)
        runs = [Run(*pair, 1) for pair in pairs]
        place, segments = advanced(self._place, position, mark, runs, (end for _, end in dropped))
        records = [
            *((segment_tombstone(source, first), None) for first, _ in dropped),
            *(segment_record(source, segment) for segment in segments),
        ]
        self._put(records, place)

    def reset(self, position: int | None, segments: Iterable[int]) -> None:
        """Go on from another source offset, as the records there are others than those of before.

        Args:
            position: Where to go on; None: the partition is no more, and is forgotten.
            segments: Of the partition in the table, by first source offset: they speak of what was before.

        Raises:
            WriterError: it may have happened or not.
        """
        source, route = self._route.source, self._route
        forgotten = [(segment_tombstone(source, first), None) for first in segments]
        if position is None:
            self._transact([*forgotten, (place_record(source, self._place)[0], None)])
        else:
            self._put(forgotten, Place(route.target_topic, position, route.generation, (), None, position))

    def close(self) -> None:
        """Let go of the connections. What was not committed never will be."""
        self._producer.purge()
        # Not its `close`, which aborts what is open first, and waits for a broker that may be away for good.
        del self._producer

    def _read_place(self, hint: Hint) -> Place:
        source = self._route.source
        with OffsetTable(self._route.target, hint.table_offset) as table:
            if hint.place is not None:
                table.offsets.places[source] = hint.place
            table.refresh()
        table.check_owner(source.mirror, self._route.alias, source.cluster_id, self._route.generation)
        found = table.offsets.places.get(source)
        if found is None:
            start = hint.start_offset
            return Place(self._route.target_topic, start, self._route.generation, (), None, start)
        if found.target_topic != self._route.target_topic:
            raise MirrorFencedError(mirrored_elsewhere(source, found, self._route.target_topic))
        return replace(found, generation=self._route.generation)

    def _send(self, rows: Rows) -> None:
        # hot path (benchmarks/pipeline/mirror.py): a record's offset in the target costs a call of Python, so only the
        # first and the last one of a run are asked for theirs, as long as nobody else writes there.
        self._begin()
        producer, topic, partition = self._producer, self._route.target_topic, self._route.source.partition
        last = len(rows.offsets) - 1
        fields = zip(rows.keys, rows.values, rows.timestamps_ms, rows.headers, strict=True)
        for index, (key, value, timestamp_ms, headers) in enumerate(fields):
            is_asked = self._is_shared or index in (0, last)
            while True:
                try:
                    producer.produce(
                        topic,
                        value,
                        key,
                        partition,
                        on_delivery=self._delivered if is_asked else None,
                        timestamp=timestamp_ms or _FIRST_TIMESTAMP_MS,
                        headers=headers,  # type: ignore[arg-type]  # it takes bytes as well as what is wider
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
                except KafkaException as error:
                    raise WriterError(f"{self._where}: {error.args[0].str()}") from None
            if is_asked:
                self._asked.append(rows.offsets[index])
        producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = self._failure or error
        offset = message.offset()
        self._given.append(-1 if offset is None else offset)

    def _settled(self) -> list[tuple[int, int]] | None:
        """Wait until all that was added is in the target's log; gives the offsets, source's and target's, of each.

        None: they are not known, as another producer's records are among them.
        """
        if not self._chunk:
            return []
        left = self._producer.flush(_TIMEOUT_S)
        if self._failure is not None:
            raise WriterError(f"{self._where}: {self._failure.str()}")
        if left or len(self._given) != len(self._asked) or min(self._given, default=0) < 0:
            raise WriterError(f"{self._where}: {left} records were not acknowledged in time")
        asked, given = self._asked, self._given
        self._asked, self._given = [], []
        if self._is_shared:
            return list(zip(asked, given, strict=True))
        pairs: list[tuple[int, int]] = []
        at = 0
        for rows in self._chunk:
            count = len(rows.offsets)
            if not count:
                continue
            first = given[at]
            at += min(count, 2)
            if given[at - 1] - first != count - 1:
                return None
            pairs += zip(rows.offsets, range(first, first + count), strict=True)
        return pairs

    def _put(self, records: Sequence[tuple[bytes, bytes | None]], place: Place) -> None:
        """Commit, with these records of the table and the place."""
        self._transact([*records, place_record(self._route.source, place)])
        self._place = place
        self._chunk = []

    def _transact(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        self._begin()
        for key, value in records:
            self._do("produce", partial(self._producer.produce, TABLE_TOPIC, value, key, 0))
        self._do("commit_transaction", lambda: self._producer.commit_transaction(_TIMEOUT_S))
        self._is_open = False

    def _begin(self) -> None:
        if not self._is_open:
            self._do("begin_transaction", self._producer.begin_transaction)
            self._is_open = True
            self._began_s = time.monotonic()

    def _do(self, what: str, call: Callable[[], object]) -> None:
        done(call, f"{self._where}: {what}")

    @property
    def _where(self) -> str:
        return f"{self._route.target.bootstrap_servers}: {self._route.target_topic}-{self._route.source.partition}"


def write_owner(target: KafkaOptions, mirror: str, cluster_id: str, owner_of_now: Callable[[], Owner]) -> Owner:
    """Write down in the table who mirrors a source from now on; gives it.

    Args:
        target: Whose table.
        mirror: Its name.
        cluster_id: Of the source.
        owner_of_now: Makes the owner from what the table says; called when nobody else can write one of this mirror
            and cluster any more, so that no two have the same generation.

    Raises:
        WriterError: it may be written or not.
        Exception: `owner_of_now`'s; nothing is written then.
    """
    name = f"barnabas-mirror-{mirror}-{cluster_id}"
    producer = transactional_producer(target, name)
    owner = owner_of_now()
    key, value = owner_record(owner)
    done(producer.begin_transaction, name)
    done(partial(producer.produce, TABLE_TOPIC, value, key, 0), name)
    done(partial(producer.commit_transaction, _TIMEOUT_S), name)
    return owner


def mirrored_elsewhere(source: SourcePartition, place: Place, target_topic: str) -> str:
    """Say that a place is of another target topic: what is there is not in this one, and offsets are others."""
    return (
        f"mirror {source.mirror}: {source.topic} of this cluster is mirrored to {place.target_topic}, not to "
        f"{target_topic}: give this one another --name"
    )


def transactional_producer(target: KafkaOptions, transactional_id: str) -> Producer:
    """Return a producer that has fenced the others of its id.

    Raises:
        WriterError: the target did not do it.
        ConfigError: librdkafka can't reach it so, or refuses a setting.
    """
    options = librdkafka_options(target.bootstrap_servers, target.options)
    try:
        producer = Producer({**_OPTIONS, **options, "transactional.id": transactional_id})
    except KafkaException as error:
        raise ConfigError(f"{target.bootstrap_servers}: librdkafka refuses: {error.args[0].str()}") from None
    done(lambda: producer.init_transactions(_TIMEOUT_S), f"{target.bootstrap_servers}: {transactional_id}")
    return producer


def done(call: Callable[[], T], what: str) -> T:
    """Do what a transactional producer can be asked to do again.

    Raises:
        WriterError: it failed for good, or for too long.
    """
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            return call()
        except KafkaException as failure:
            error = failure.args[0]
            if not error.retriable() or time.monotonic() > deadline:
                raise WriterError(f"{what}: {error.str()}") from None
