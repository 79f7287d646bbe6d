"""Send records to topics in order, and read the last record of each partition.

Invariants: within a partition the records of one sender are in order and without a gap, because the producer is
idempotent and fails permanently at the first record that it can't deliver. A batch whose response was lost may still be
in the topic, so read the last records again after a failure.

Source: librdkafka's INTRODUCTION.md, Idempotent Producer; its CONFIGURATION.md.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.core.types import TopicPartition

ID_HEADER = "id"
"""`<log>:<line>`, with a suffix after a second colon if a line yields several records."""

PARTITIONS_HEADER = "partitions"
"""Number of partitions of the record's topic when the first record of its log was sent."""

_TIMEOUT_S = 5.0
_RETRY_S = 0.1
_PRODUCER = {
    "enable.idempotence": True,
    "enable.gapless.guarantee": True,
    "message.timeout.ms": 20_000,
    "request.timeout.ms": 5_000,
}
# A consumer must have a group, even if it never joins it.
_CONSUMER = {
    "group.id": "barnabas-feeder",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}


class TopicUnavailableError(Exception):
    """The broker is unreachable, refuses the request, or did not respond in time. Trying again later may succeed."""


class Outgoing(NamedTuple):
    """One record to send; its default timestamp is the time of sending."""

    partition: TopicPartition
    key: bytes | None
    value: bytes
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The last record of a partition."""

    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def header(self, name: str) -> bytes | None:
        """Return the value of the first header with this name; None if the record has no such header."""
        return next((value for found, value in self.headers if found == name), None)

    @property
    def log_position(self) -> tuple[str, int] | None:
        """Log and line in the header `ID_HEADER`; None if no feeder sent the record."""
        try:
            log, number, *_ = (self.header(ID_HEADER) or b"").decode().split(":")
            return log, int(number)
        except ValueError:
            return None


def counts_for(
    is_of_log: Callable[[str], bool],
    last_records: Mapping[TopicPartition, LastRecord],
    partition_counts: Mapping[str, int],
) -> dict[str, int]:
    """Return the numbers of partitions by which a log's records are distributed, by topic.

    A log that was begun before partitions were added keeps the earlier number: with another one, its lines would be in
    other partitions, where records would be sent twice or skipped.

    Args:
        is_of_log: Whether the log of a record, by its name in the header `ID_HEADER`, is this log.
        last_records: The last records of the topics' partitions.
        partition_counts: The present numbers of partitions.
    """
    counts = dict(partition_counts)
    for partition, record in last_records.items():
        place, count = record.log_position, record.header(PARTITIONS_HEADER) or b""
        if place is not None and is_of_log(place[0]) and count.isdigit():
            counts[partition.topic] = int(count)
    return counts


class BrokerTopics:
    """Topics of a cluster, accessed with librdkafka; each call may raise TopicUnavailableError."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Prepare; connections open when they are needed. `options` are librdkafka's settings, some of them secrets."""
        # Failures are raised; librdkafka would also log each reconnect.
        self._options: dict[str, Any] = {**options, "log_level": 0, "error_cb": self._note}
        self._producer: Producer | None = None
        self._reason = ""

    def create(self, partition_counts: Mapping[str, int]) -> dict[str, int]:
        """Create topics that keep their records forever, unless they exist; return their numbers of partitions."""
        admin = AdminClient(self._options)
        with self._telling_errors():
            there = admin.list_topics(timeout=_TIMEOUT_S).topics
            # Only these: a user who may write to topics need not have the right to create topics.
            missing = [
                NewTopic(name, count, config={"retention.ms": "-1"})
                for name, count in partition_counts.items()
                if name not in there
            ]
            made = admin.create_topics(missing, request_timeout=_TIMEOUT_S) if missing else {}
            for created in made.values():
                try:
                    created.result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
            deadline = time.monotonic() + _TIMEOUT_S
            # Brokers receive the metadata of new topics one after the other.
            while True:
                found = admin.list_topics(timeout=_TIMEOUT_S).topics
                counts = {name: len(found[name].partitions) for name in partition_counts if name in found}
                if len(counts) == len(partition_counts) and all(counts.values()):
                    return counts
                if time.monotonic() > deadline:
                    names = ", ".join(partition_counts)
                    raise TopicUnavailableError(f"topics {names} are not in the cluster's metadata")
                time.sleep(_RETRY_S)

    def last_records(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LastRecord]:
        """Return the last record of each partition that has one; without a value and headers, if no reader sees it.

        Readers see neither the marker at a transaction's end nor aborted records.
        """
        wanted: list[Place] = []
        found: dict[TopicPartition, LastRecord] = {}
        with closing(Consumer({**self._options, **_CONSUMER})) as consumer, self._telling_errors():
            for topic, partition in partitions:
                low, high = consumer.get_watermark_offsets(Place(topic, partition), _TIMEOUT_S)
                if high > low:
                    wanted.append(Place(topic, partition, high - 1))
            consumer.assign(wanted)
            deadline = time.monotonic() + _TIMEOUT_S
            while len(found) < len(wanted):
                message = consumer.poll(max(0.0, deadline - time.monotonic()))
                if message is None:
                    raise TopicUnavailableError(self._error_text("no response for the last records of partitions"))
                place = TopicPartition(str(message.topic()), message.partition() or 0)
                if error := message.error():
                    if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                        # librdkafka looks for the coordinator of a group that this consumer does not use.
                        continue
                    if error.code() == KafkaError._PARTITION_EOF:
                        found.setdefault(place, LastRecord(None, ()))
                        continue
                    raise TopicUnavailableError(self._error_text(error.str()))
                headers: Any = message.headers() or ()
                found[place] = LastRecord(message.value(), tuple(headers))
        return found

    def append(self, records: Sequence[Outgoing]) -> None:
        """Append records, in order within each partition, and wait until all in-sync replicas have them."""
        if self._producer is None:
            self._producer = Producer({**self._options, **_PRODUCER})
        producer = self._producer
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)

        try:
            for partition, key, value, timestamp_ms, headers in records:
                producer.produce(
                    partition.topic,
                    value,
                    key,
                    partition.partition,
                    on_delivery=delivered,
                    timestamp=timestamp_ms or 0,
                    headers=list(headers),
                )
            producer.flush()
        except (BufferError, KafkaException) as error:
            self._producer = None
            raise TopicUnavailableError(self._error_text(str(error))) from error
        if errors:
            self._producer = None
            raise TopicUnavailableError(self._error_text(errors[0].str()))

    @contextmanager
    def _telling_errors(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise TopicUnavailableError(self._error_text(error.args[0].str())) from error

    def _note(self, error: KafkaError) -> None:
        self._reason = error.str()

    def _error_text(self, what: str) -> str:
        return f"{self._options['bootstrap.servers']}: {what}" + (f" ({self._reason})" if self._reason else "")
