"""Reads offset ranges of partitions with librdkafka, inside a Spark Python worker.

A worker keeps its consumer for the next task: its connections and metadata are ready then. The consumer is assigned
offsets and is no member of a group. librdkafka skips records of aborted transactions, obeys throttle times and tries
failed requests again.

Source: librdkafka's CONFIGURATION.md; Kafka's protocol guide, Fetch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

# Messages that are taken from librdkafka at once.
_CHUNK_COUNT = 10_000
# librdkafka hands messages over in chunks, and waits this long for a full one.
_POLL_S = 0.05
_SETTINGS: Mapping[str, str | int | bool] = {
    # librdkafka wants a group; nothing is committed to it.
    "group.id": "barnabas-pipeline",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # An offset that the log no longer has is an error: what is lost is found at the next start.
    "auto.offset.reset": "error",
    # Fetched records that a task does not take are lost to it: these bound them.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 100,
    "reconnect.backoff.max.ms": 500,
    # Failures are raised, and not printed beside.
    "log_level": 0,
}


class ReadError(Exception):
    """Records can't be read: the broker's or librdkafka's reason."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of a partition: `start` up to `end`, which is excluded."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass(slots=True)
class Records:
    """Records of one topic, in columns of equal length; times in milliseconds since 1970, -1 where there is none."""

    topic: str
    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps_ms: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, start: int, end: int) -> Records:
        """Return the records of some places in the columns."""
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
        positions: By topic and partition, the offset up to which records were returned, or up to which there are none.
    """

    def __init__(self, options: Mapping[str, str | int | bool], ranges: Sequence[OffsetRange]) -> None:
        """Args:
        options: librdkafka's, some of them secrets.
        ranges: At most one of each partition.
        """
        self.positions = {(each.topic, each.partition): each.start for each in ranges}
        self._ends = {(each.topic, each.partition): each.end for each in ranges if each.end > each.start}
        self._options = options

    def read(self, seconds: float) -> Iterator[Records]:
        """Return records as they come, until all ranges are read or the time is over; the caller may leave before.

        A quota can have nothing come in that time.

        Raises:
            ReadError: an offset is gone, or the cluster refuses or does not answer.
        """
        from confluent_kafka import TopicPartition

        client = _client(self._options)
        client.failure, consumer = "", client.consumer
        deadline_s = time.monotonic() + seconds
        consumer.assign([TopicPartition(*place, self.positions[place]) for place in self._ends])
        try:
            while self._ends and time.monotonic() < deadline_s:
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
                    # After the records that came before it.
                    client.failure = self._note(event) or client.failure
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

    def _note(self, event: Message) -> str:
        """Take in an event; return its text if it is an error that may pass.

        Raises:
            ReadError: it does not pass.
        """
        from confluent_kafka import KafkaError

        error = event.error()
        assert error is not None
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            place = _topic_partition(event)
            if place in self._ends:
                # Behind the last record there may be control records, or such of aborted transactions.
                offset = _offset(event)
                self.positions[place] = max(self.positions[place], min(offset, self._ends[place]))
                if offset >= self._ends[place]:
                    del self._ends[place]
            return ""
        if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
            # librdkafka looks for the coordinator of a group that this consumer does not use.
            return ""
        if code == KafkaError._AUTO_OFFSET_RESET:
            raise ReadError(f"partition {event.topic()}-{event.partition()}: offset {event.offset()} is out of range")
        if code in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED) or error.fatal():
            raise ReadError(error.str())
        return str(error.str())


def _topic_partition(message: Message) -> tuple[str, int]:
    # Each message that a consumer gives has one.
    return message.topic(), message.partition()  # type: ignore[return-value]


def _offset(message: Message) -> int:
    return message.offset()  # type: ignore[return-value]


class _Client:
    """A consumer that a worker keeps.

    Attributes:
        failure: The last error that may pass, as text; empty after records came.
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
    """Close what this process has open."""
    while _clients:
        _clients.popitem()[1].consumer.close()
