"""Requests of a run to its cluster: topics, offsets and single records, with librdkafka.

All clients of a run (this one, the tasks that read and write records, dead letters) have the same options. The options
have the names of Kafka's Java clients (`client.id`, `security.protocol`, `sasl.jaas.config`, `ssl.truststore.location`,
...); `clients/librdkafka.py` translates them. So a login that works here works in every task.
"""

from __future__ import annotations

import logging
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.channel import parse_servers
from barnabas.clients.librdkafka import client_options, consumer_options, ignored_settings, producer_options
from barnabas.clients.positions import Extent, Marks, PlanError
from barnabas.core.errors import ConfigError
from barnabas.pipeline.tables.table import Mark, Offsets

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Consumer, KafkaError
    from confluent_kafka.admin import AdminClient, ClusterMetadata

ISOLATION = "isolation.level"
COMMITTED = "read_committed"
ISOLATION_LEVELS = (COMMITTED, "read_uncommitted")

T = TypeVar("T")

_TIMEOUT_MS = 20_000
_TIMEOUT = "default.api.timeout.ms"
_CONNECT_S = 5.0
_RETRY_S = 0.1
_METADATA_S = 1.0
# Interval at which a wait for a response checks for a refused login.
_LOOK_S = 0.2
_MARK_FETCH_BYTES = 1_024
_MAX_MESSAGE_BYTES = 1_048_588
_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
# A consumer must have a group, even one that neither joins it nor commits to it.
_GROUP = "barnabas-pipeline"
# Settings that other parts of a run read: the schema registry's login is in the same file.
_READ_ELSEWHERE = (_TIMEOUT, "basic.auth.", "schema.registry.")

_log = logging.getLogger(__name__)


class ClusterUnavailableError(Exception):
    """The cluster did not answer, or refused a request: one line. Trying again later may succeed."""


class NoSuchTopicError(Exception):
    """A topic that a run reads does not exist."""


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """A cluster's addresses, `host:port,...`, and options named as in Kafka's Java clients; some are secrets."""

    bootstrap_servers: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def isolation_level(self) -> str:
        """`read_committed` unless the options name another."""
        return self.options.get(ISOLATION, COMMITTED)

    @property
    def timeout_s(self) -> float:
        """Timeout of a request to the cluster, retries included: `default.api.timeout.ms`."""
        value = self.options.get(_TIMEOUT, str(_TIMEOUT_MS))
        try:
            return int(value) / 1000
        except ValueError:
            raise PlanError(f"{_TIMEOUT}={value} is invalid: must be a number of milliseconds") from None

    @property
    def ignored(self) -> list[str]:
        """The names of options that have no effect on a run, in order."""
        return [name for name in ignored_settings(self.options) if not name.startswith(_READ_ELSEWHERE)]

    def for_admin(self) -> dict[str, str]:
        """Return librdkafka's settings for an admin client.

        Raises:
            PlanError: an option is invalid, or librdkafka does not support it.
        """
        return {**_quiet(), **self._translated(client_options)}

    def for_consumer(self) -> dict[str, str]:
        """Return librdkafka's settings for a consumer that is assigned partitions and offsets, and commits nothing.

        Raises:
            PlanError: an option is invalid, or librdkafka does not support it.
        """
        return {
            "group.id": _GROUP,
            ISOLATION: COMMITTED,
            **_quiet(),
            **self._translated(consumer_options),
            "auto.offset.reset": "error",
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
        }

    def for_producer(self) -> dict[str, str]:
        """Return librdkafka's settings for a producer whose records do not expire while a quota throttles it.

        Raises:
            PlanError: an option is invalid, or librdkafka does not support it.
        """
        return {"delivery.timeout.ms": "0", **_quiet(), **self._translated(producer_options)}

    def _translated(self, translate: Callable[[str, Mapping[str, str]], dict[str, str]]) -> dict[str, str]:
        try:
            return translate(self.bootstrap_servers, self.options)
        except ConfigError as error:
            raise PlanError(str(error)) from None


def _quiet() -> dict[str, str]:
    # Failures are raised; librdkafka would also log each reconnect.
    return {"log_level": "2"}


def check_reachable(options: KafkaOptions) -> None:
    """Check that a broker accepts connections, before Spark is started.

    Raises:
        ClusterUnavailableError: no address accepts a connection.
        BarnabasError: an address is invalid.
    """
    refusals = []
    for address in parse_servers(options.bootstrap_servers):
        try:
            socket.create_connection(address, _CONNECT_S).close()
        except OSError as error:
            refusals.append(f"{address[0]}:{address[1]} ({error.strerror or error})")
        else:
            return
    raise ClusterUnavailableError(f"no broker can be reached at {', '.join(refusals)}: is it running?")


class Cluster:
    """Requests topics, offsets and records of a cluster. Thread-safe; calls block until the response.

    Attributes:
        options: The cluster's addresses, and the client's options.
    """

    def __init__(self, options: KafkaOptions) -> None:
        """Nothing is connected yet."""
        self.options = options
        self._admin: AdminClient | None = None
        # librdkafka's last connection error: the cause if a call times out.
        self._connection_error = ""
        self._is_refused = False

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self._admin = None

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        return str(self._metadata().cluster_id)

    def topics(self) -> list[str]:
        """Return the names of all topics but Kafka's internal ones, in order."""
        return sorted(self._metadata().topics.keys() - _INTERNAL_TOPICS)

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Return the partitions of topics; topics that do not exist are left out."""
        wanted = list(topics)
        if not wanted:
            return {}
        found = self._metadata(wanted).topics
        return {topic: sorted(found[topic].partitions) for topic in wanted if topic in found}

    def extents(self, topics: Iterable[str]) -> dict[str, dict[int, Extent]]:
        """Return the offsets of each partition that are readable at the options' isolation level."""
        partitions = self.partitions(topics)
        starts = self._offsets(partitions, EARLIEST)
        ends = self.ends(partitions)
        return {
            topic: {number: Extent(starts[topic][number], ends[topic][number]) for number in numbers}
            for topic, numbers in partitions.items()
        }

    def ends(self, partitions: Mapping[str, Iterable[int]]) -> Offsets:
        """Return the end of each partition at the options' isolation level; partitions must exist.

        For `read_committed` it is the last stable offset: the first offset of the oldest open transaction.
        """
        return self._offsets(partitions, LATEST)

    def log_ends(self, partitions: Mapping[str, Iterable[int]]) -> Offsets:
        """Return the end of each partition, open transactions included; partitions must exist."""
        return self._offsets(partitions, LATEST, "read_uncommitted")

    def offsets_at(self, topics: Iterable[str], time_ms: int) -> Offsets:
        """Return for each partition the first offset whose record has this timestamp or a later one; else its end."""
        partitions = self.partitions(topics)
        found = self._offsets(partitions, time_ms)
        ends = self.ends(partitions)
        return {
            topic: {number: offset if offset >= 0 else ends[topic][number] for number, offset in numbers.items()}
            for topic, numbers in found.items()
        }

    def create_topic(self, name: str, settings: Mapping[str, str]) -> None:
        """Create a topic with the broker's default numbers of partitions and replicas, unless it exists."""
        from confluent_kafka import KafkaError
        from confluent_kafka.admin import NewTopic

        if name in self.topics():
            return
        topic = NewTopic(name, config=dict(settings))
        self._ask(
            lambda admin, left_s: admin.create_topics([topic], request_timeout=left_s),
            {KafkaError.TOPIC_ALREADY_EXISTS: None},
        )

    def max_message_bytes(self, topic: str) -> int:
        """Return the topic's `max.message.bytes`; Kafka's default if the user may not describe it."""
        from confluent_kafka import KafkaError
        from confluent_kafka.admin import ConfigResource

        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        refused = dict.fromkeys((KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED))
        (found,) = self._ask(
            lambda admin, left_s: admin.describe_configs([resource], request_timeout=left_s), refused
        ).values()
        return _MAX_MESSAGE_BYTES if found is None else int(found["max.message.bytes"].value)

    def found_marks(self, marks: Marks) -> dict[str, dict[int, Mark]]:
        """Return the marks of the records that are now at the offsets of `marks`; the offsets must be readable.

        The result has no mark for an offset whose record was deleted by compaction.
        """
        from confluent_kafka import Consumer

        wanted = {(topic, number): mark.offset for topic, parts in marks.items() for number, mark in parts.items()}
        if not wanted:
            return {}
        settings = {
            **self.options.for_consumer(),
            # One record of each partition is needed, and all fetched bytes count against quotas.
            "max.partition.fetch.bytes": _MARK_FETCH_BYTES,
            "fetch.max.bytes": _MARK_FETCH_BYTES,
            "message.max.bytes": _MARK_FETCH_BYTES,
            "queued.min.messages": 1,
            # By default, partitions whose record has arrived would delay the others by a second.
            "fetch.queue.backoff.ms": 10,
            "enable.partition.eof": True,
            "error_cb": self._note,
            "logger": _log,
        }
        consumer = self._new(lambda: Consumer(settings))
        try:
            return self._read_marks(consumer, wanted)
        finally:
            consumer.close()

    def _read_marks(self, consumer: Consumer, wanted: dict[tuple[str, int], int]) -> dict[str, dict[int, Mark]]:
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        found: dict[str, dict[int, Mark]] = {}
        deadline_s = time.monotonic() + self.options.timeout_s
        self._is_refused = False
        try:
            consumer.assign([TopicPartition(*place, offset) for place, offset in wanted.items()])
            while wanted:
                message = consumer.poll(_LOOK_S)
                if self._is_refused or time.monotonic() >= deadline_s:
                    raise self._unavailable()
                if message is None:
                    continue
                error = message.error()
                if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    # librdkafka looks for the coordinator of a group that this consumer does not use.
                    continue
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise self._unavailable(error)
                place = message.topic() or "", message.partition() or 0
                offset = wanted.pop(place, None)
                if offset is not None:
                    consumer.incremental_unassign([TopicPartition(*place)])
                    if error is None and message.offset() == offset:
                        found.setdefault(place[0], {})[place[1]] = mark_of_record(
                            offset, message.timestamp()[1], message.key(), message.value()
                        )
        except KafkaException as error:
            raise self._unavailable(error.args[0]) from None
        return found

    def _metadata(self, complete: Iterable[str] = ()) -> ClusterMetadata:
        """Return the metadata of all topics; existing topics in `complete` have their partitions."""
        from confluent_kafka import KafkaException

        def attempt(admin: AdminClient, left_s: float) -> ClusterMetadata:
            metadata = admin.list_topics(timeout=min(left_s, _METADATA_S))
            for topic in complete:
                if topic in metadata.topics and metadata.topics[topic].error is not None:
                    raise KafkaException(metadata.topics[topic].error)
            return metadata

        return self._retry(attempt)

    def _offsets(
        self, partitions: Mapping[str, Iterable[int]], timestamp_ms: int, isolation_level: str = ""
    ) -> Offsets:
        """Return each partition's first offset at or after a timestamp (-1: none), or its EARLIEST or LATEST offset."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        level = IsolationLevel[(isolation_level or self.options.isolation_level).upper()]
        spec = OffsetSpec(timestamp_ms)  # type: ignore[abstract]  # it returns one of its subclasses
        asked = {TopicPartition(topic, number): spec for topic, numbers in partitions.items() for number in numbers}
        result: Offsets = {topic: {} for topic in partitions}
        if asked:
            answer = self._ask(
                lambda admin, left_s: admin.list_offsets(asked, isolation_level=level, request_timeout=left_s)
            )
            for partition, found in answer.items():
                result[partition.topic][partition.partition] = found.offset
        return result

    # Waiting, retries and errors.

    def _ask(
        self, call: Callable[[AdminClient, float], Mapping[Any, Future[Any]]], instead: Mapping[int, None] | None = None
    ) -> dict[Any, Any]:
        """Return the results of a call's futures; None for futures that failed with a code in `instead`."""
        from confluent_kafka import KafkaException

        def attempt(admin: AdminClient, left_s: float) -> dict[Any, Any]:
            results = {}
            for key, future in call(admin, left_s).items():
                try:
                    results[key] = self._wait(admin, future)
                except KafkaException as error:
                    if error.args[0].code() not in (instead or {}):
                        raise
                    results[key] = None
            return results

        return self._retry(attempt)

    def _wait(self, admin: AdminClient, future: Future[Any]) -> Any:
        while True:
            try:
                return future.result(_LOOK_S)
            except TimeoutError:
                admin.poll(0)
                if self._is_refused:
                    raise self._unavailable() from None

    def _retry(self, attempt: Callable[[AdminClient, float], T]) -> T:
        """Repeat an attempt until it succeeds, an error is not retriable, a login is refused, or the timeout ends."""
        from confluent_kafka import KafkaException

        deadline_s = time.monotonic() + self.options.timeout_s
        self._is_refused = False
        while True:
            admin = self._connected()
            try:
                return attempt(admin, max(_RETRY_S, deadline_s - time.monotonic()))
            except KafkaException as error:
                admin.poll(0)
                reason: KafkaError = error.args[0]
                is_late = time.monotonic() + _RETRY_S >= deadline_s
                if self._is_refused or is_late or reason.code() not in _passing_codes():
                    raise self._unavailable(reason) from error
            time.sleep(_RETRY_S)

    def _unavailable(self, reason: KafkaError | None = None) -> ClusterUnavailableError:
        # Drop the client: after a refused login it would retry in the background.
        self._admin = None
        text = reason.str() if reason is not None else "no answer in time"
        if self._connection_error and (reason is None or reason.code() < 0):
            # The call itself only reports a timeout.
            text = self._connection_error
        self._connection_error = ""
        return ClusterUnavailableError(f"{self.options.bootstrap_servers}: {text}")

    def _connected(self) -> AdminClient:
        if self._admin is None:
            from confluent_kafka.admin import AdminClient

            settings: dict[str, Any] = {**self.options.for_admin(), "error_cb": self._note, "logger": _log}
            self._admin = self._new(lambda: AdminClient(settings))
        return self._admin

    def _new(self, make: Callable[[], T]) -> T:
        from confluent_kafka import KafkaException

        try:
            return make()
        except KafkaException as error:
            raise PlanError(f"{self.options.bootstrap_servers}: {error.args[0].str()}") from None

    def _note(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._connection_error = error.str()
        self._is_refused |= error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL)


@cache
def _passing_codes() -> frozenset[int]:
    """Return the retriable errors: a leader or a controller moves, a broker starts or does not answer."""
    from confluent_kafka import KafkaError

    return frozenset(
        {
            KafkaError._TRANSPORT,
            KafkaError._TIMED_OUT,
            KafkaError._ALL_BROKERS_DOWN,
            KafkaError._NOENT,
            KafkaError._UNKNOWN_PARTITION,
            KafkaError._UNKNOWN_TOPIC,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.REPLICA_NOT_AVAILABLE,
            KafkaError.FENCED_LEADER_EPOCH,
            KafkaError.UNKNOWN_LEADER_EPOCH,
            KafkaError.OFFSET_NOT_AVAILABLE,
            KafkaError.REQUEST_TIMED_OUT,
            KafkaError.NOT_CONTROLLER,
            KafkaError.BROKER_NOT_AVAILABLE,
            KafkaError.NETWORK_EXCEPTION,
            KafkaError.KAFKA_STORAGE_ERROR,
        }
    )


def mark_of_record(offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> Mark:
    """Return a record's mark."""
    return Mark(offset, timestamp_ms, zlib.crc32(value or b"", zlib.crc32(key or b"")))
