"""Reads offset ranges of partitions with librdkafka, inside a Spark Python worker.

A worker keeps its consumer for the next task, with its connections and metadata. The consumer is assigned offsets and
is not a member of a group. librdkafka skips records of aborted transactions, obeys throttle times and retries failed
requests.

Source: librdkafka's CONFIGURATION.md; Kafka's protocol guide, Fetch.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipeline.runner.cluster import mark_of_record
from barnabas.pipeline.tables.table import Mark

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

# Maximum number of messages per call of librdkafka.
_CHUNK_COUNT = 10_000
# Maximum time that librdkafka waits for a full chunk of messages.
_POLL_S = 0.05
# Maximum time of a read without progress: librdkafka may skip many records of aborted transactions, with a quota.
_SKIP_S = 600.0
# Marks further before a range are not compared: each batch would skip the records of aborted transactions in between.
_MARK_DISTANCE = 1_000
_SETTINGS: Mapping[str, str | int | bool] = {
    # librdkafka requires a group; no offsets are committed to it.
    "group.id": "barnabas-pipeline",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # An offset out of range is an error: the next start finds the lost records.
    "auto.offset.reset": "error",
    # Limits of prefetched records, which are wasted if a task ends before it reads them.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 100,
    "reconnect.backoff.max.ms": 500,
    # Failures are raised, so librdkafka need not print them.
    "log_level": 0,
}


class ReadError(Exception):
    """Records can't be read; the message is the broker's or librdkafka's reason."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of a partition, from `start` up to `end` (exclusive); `marks` are records that jobs have read of it."""

    topic: str
    partition: int
    start: int
    end: int
    marks: frozenset[Mark] = frozenset()


@dataclass(slots=True)
class Records:
    """Records of one topic, as columns of equal length; timestamps in milliseconds since 1970, -1 if there is none."""

    topic: str
    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps_ms: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, start: int, end: int) -> Records:
        """Return the records from index `start` up to `end` (exclusive)."""
        return Records(
            self.topic,
            self.partitions[start:end],
            self.offsets[start:end],
            self.timestamps_ms[start:end],
            self.keys[start:end],
            self.values[start:end],
        )


class Source:
    """Reads the ranges of one task.

    Attributes:
        positions: By topic and partition, the next offset to read; all records before it were returned.
    """

    def __init__(self, options: Mapping[str, str | int | bool], ranges: Sequence[OffsetRange]) -> None:
        """Create a source without reading.

        Args:
            options: librdkafka's options, some of them secret.
            ranges: At most one for each partition.
        """
        self.positions = {(each.topic, each.partition): each.start for each in ranges}
        self._ends = {(each.topic, each.partition): each.end for each in ranges if each.end > each.start}
        self._marks = {
            (each.topic, each.partition): [mark for mark in each.marks if each.start - mark.offset <= _MARK_DISTANCE]
            for each in ranges
        }
        self._options = options

    def read(self, seconds: float) -> Iterator[Records]:
        """Yield records as they arrive, until all ranges are read or the time is over; the caller may stop earlier.

        If none of the unfinished ranges has progress, the read continues until one has, or a request fails: the next
        read would start from the same offsets, and skip the same records of aborted transactions again.

        Raises:
            ReadError: an offset is out of range, the topic was created again (another record is at the offset of a
                mark), or the cluster rejects a request or does not answer.
        """
        from confluent_kafka import TopicPartition

        client = _client(self._options)
        client.failure, consumer = "", client.consumer
        began_s = time.monotonic()
        starts = dict(self.positions)
        # The record of a mark is usually the one before the range, so it needs no request of its own.
        consumer.assign(
            [
                TopicPartition(*place, min([self.positions[place], *(mark.offset for mark in self._marks[place])]))
                for place in self._ends
            ]
        )
        try:
            while self._ends:
                has_progress = client.failure or any(self.positions[place] > starts[place] for place in self._ends)
                if time.monotonic() - began_s >= (seconds if has_progress else max(seconds, _SKIP_S)):
                    break
                messages = consumer.consume(_CHUNK_COUNT, _POLL_S)
                by_place: dict[tuple[str, int], list[Message]] = {}
                events = []
                for message in messages:
                    if message.error() is not None:
                        events.append(message)
                        continue
                    place = _topic_partition(message)
                    found = by_place.get(place)
                    if found is None:
                        by_place[place] = [message]
                    else:
                        found.append(message)
                if by_place:
                    client.failure = ""
                finished = []
                for place, own in by_place.items():
                    records = self._taken(place, own)
                    if place not in self._ends:
                        finished.append(TopicPartition(*place))
                    if records:
                        yield records
                for event in events:
                    # Events are processed after the records that came before them.
                    client.failure = self._note(event, consumer) or client.failure
                if finished and self._ends:
                    consumer.incremental_unassign(finished)
            if self._ends and client.failure:
                raise ReadError(client.failure)
        finally:
            consumer.unassign()

    def _taken(self, place: tuple[str, int], messages: list[Message]) -> Records | None:
        # hot path: benchmarks/pipeline (every record)
        end = self._ends.get(place)
        if end is None:
            return None
        self._check(place, messages)
        messages = messages[bisect_left(messages, self.positions[place], key=_offset) :]
        if not messages:
            return None
        last = _offset(messages[-1])
        if last >= end - 1:
            messages = [each for each in messages if _offset(each) < end] if last >= end else messages
            del self._ends[place]
            self.positions[place] = end
        else:
            self.positions[place] = last + 1
        if not messages:
            return None
        topic, partition = place
        return Records(
            topic,
            [partition] * len(messages),
            [each.offset() for each in messages],  # type: ignore[misc]
            [each.timestamp()[1] for each in messages],
            [each.key() for each in messages],
            [each.value() for each in messages],
        )

    def _check(self, place: tuple[str, int], messages: list[Message]) -> None:
        for mark in self._marks[place]:
            number = bisect_left(messages, mark.offset, key=_offset)
            for each in messages[number : number + 1]:
                there = mark_of_record(_offset(each), each.timestamp()[1], each.key(), each.value())
                # A later record: compaction has deleted the one of the mark.
                if there.offset == mark.offset and there != mark:
                    text = f"another record is at offset {mark.offset}: the topic was created again"
                    raise ReadError(f"partition {place[0]}-{place[1]}: {text}")

    def _note(self, event: Message, consumer: Consumer) -> str:
        """Process an event; return its text if it is an error that may be temporary, else an empty string.

        Raises:
            ReadError: the error is permanent.
        """
        from confluent_kafka import KafkaError, TopicPartition

        error = event.error()
        assert error is not None
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            place = _topic_partition(event)
            if place in self._ends:
                # The last record may be followed by control records or records of aborted transactions.
                offset = _offset(event)
                self.positions[place] = max(self.positions[place], min(offset, self._ends[place]))
                if offset >= self._ends[place]:
                    del self._ends[place]
            return ""
        if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
            # librdkafka looks for the coordinator of a group that this consumer does not use.
            return ""
        if code == KafkaError._AUTO_OFFSET_RESET:
            place = _topic_partition(event)
            if self._marks.get(place):
                # Retention has deleted the record of a mark.
                self._marks[place] = []
                consumer.incremental_unassign([TopicPartition(*place)])
                consumer.incremental_assign([TopicPartition(*place, self.positions[place])])
                return ""
            raise ReadError(f"partition {event.topic()}-{event.partition()}: offset {event.offset()} is out of range")
        if code in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED) or error.fatal():
            raise ReadError(error.str())
        return str(error.str())


def _topic_partition(message: Message) -> tuple[str, int]:
    # Each message from a consumer has a topic and a partition.
    return message.topic(), message.partition()  # type: ignore[return-value]


def _offset(message: Message) -> int:
    return message.offset()  # type: ignore[return-value]


class _Client:
    """A consumer that a worker keeps.

    Attributes:
        failure: Text of the last error that may be temporary; empty after records arrived.
    """

    def __init__(self, options: Mapping[str, str | int | bool]) -> None:
        from confluent_kafka import Consumer

        self.failure = ""
        self.consumer: Consumer = Consumer({**_SETTINGS, **options, "error_cb": self._note})

    def _note(self, error: KafkaError) -> None:
        self.failure = error.str()


_clients: dict[tuple[tuple[str, object], ...], _Client] = {}


def _client(options: Mapping[str, str | int | bool]) -> _Client:
    key = tuple(sorted(options.items()))
    if key not in _clients:
        _clients[key] = _Client(options)
    return _clients[key]


def close_consumers() -> None:
    """Close all consumers of this process."""
    while _clients:
        _clients.popitem()[1].consumer.close()
