"""The cluster as a run sees it, through the Kafka client that Spark's connector has in its JVM.

So there is one client and one set of options for all that a run asks of the cluster: Kafka's own names (`client.id`,
`security.protocol`, `sasl.jaas.config`, `ssl.truststore.location`, ...), as in Kafka's own configuration.

Source: `org.apache.kafka.clients.admin.Admin` of kafka-clients 3.9.0.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.clients.channel import parse_servers
from barnabas.clients.positions import Extent, Marks
from barnabas.pipeline.spark.failures import root_message
from barnabas.pipeline.tables.table import Mark, Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE_REQUEST_TIMEOUT_MS = 10_000
"""`request.timeout.ms` of Spark's sources, unless the options say something else."""

ISOLATION = "isolation.level"
COMMITTED = "read_committed"
ISOLATION_LEVELS = (COMMITTED, "read_uncommitted")

_TIMEOUT_MS = 20_000
_CONNECT_S = 5.0
_MARK_FETCH_BYTES = 1_024
_MAX_MESSAGE_BYTES = 1_048_588
_CONSUMER_OPTIONS = re.compile(r"fetch\.|max\.poll\.|isolation\.level|auto\.offset|group\.|key\.|value\.|check\.crcs")


class ClusterUnavailableError(Exception):
    """The cluster did not answer, or refused: one line; trying again later may help."""


class NoSuchTopicError(Exception):
    """A topic that a run reads is not there."""


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """A cluster's addresses, `host:port,...`, and Kafka's client options by their names, some of which are secrets."""

    bootstrap_servers: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def isolation_level(self) -> str:
        """`read_committed` unless the options say something else."""
        return self.options.get(ISOLATION, COMMITTED)

    def for_spark(self) -> dict[str, str]:
        """Return the options of Spark's connector for a reader."""
        return {**self.for_writer(), f"kafka.{ISOLATION}": self.isolation_level}

    def for_writer(self) -> dict[str, str]:
        """Return the options of Spark's connector for a writer."""
        return {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            **{f"kafka.{name}": value for name, value in self.options.items() if name != ISOLATION},
        }


def check_reachable(options: KafkaOptions) -> None:
    """Find out that a cluster is away before Spark is started for it.

    Raises:
        ClusterUnavailableError: nobody takes a connection at any of its addresses.
        BarnabasError: they are no addresses.
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
    """Asks a cluster for topics, offsets and records. Calls wait for their answers.

    Attributes:
        options: Its addresses, and the client's options.
    """

    def __init__(self, spark: SparkSession, options: KafkaOptions) -> None:
        self._spark = spark
        self.options = options
        self._jvm: Any = spark.sparkContext._jvm
        self._admin: Any = None

    def close(self) -> None:
        """Let go of the connections."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def cluster_id(self) -> str:
        """Return the cluster's own id."""
        return str(self._ask(lambda admin: admin.describeCluster().clusterId().get()))

    def topics(self) -> list[str]:
        """Return the names of all topics but internal ones, in order."""
        return sorted(self._ask(lambda admin: list(admin.listTopics().names().get())))

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Return the partitions of topics; one that is not there is left out."""
        there = set(self.topics())
        wanted = [topic for topic in topics if topic in there]
        if not wanted:
            return {}
        described = self._ask(lambda admin: admin.describeTopics(self._list(wanted)).allTopicNames().get())
        return {topic: sorted(partition.partition() for partition in described[topic].partitions()) for topic in wanted}

    def extents(self, topics: Iterable[str]) -> dict[str, dict[int, Extent]]:
        """Return the offsets of each partition that a reader of the options' isolation level can read."""
        partitions = self.partitions(topics)
        starts = self._offsets(partitions, self._jvm.org.apache.kafka.clients.admin.OffsetSpec.earliest())
        ends = self.ends(partitions)
        return {
            topic: {number: Extent(starts[topic][number], ends[topic][number]) for number in numbers}
            for topic, numbers in partitions.items()
        }

    def ends(self, partitions: Mapping[str, Iterable[int]]) -> Offsets:
        """Return the end of each partition for a reader of the options' isolation level; partitions must exist.

        For `read_committed` it is the last stable offset: the first offset of the oldest open transaction.
        """
        return self._offsets(partitions, self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest())

    def log_ends(self, partitions: Mapping[str, Iterable[int]]) -> Offsets:
        """Return the end of each partition, open transactions included; partitions must exist."""
        latest = self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest()
        return self._offsets(partitions, latest, "read_uncommitted")

    def offsets_at(self, topics: Iterable[str], time_ms: int) -> Offsets:
        """Return, for each partition, the first offset whose record is of this time or later; its end where none is."""
        partitions = self.partitions(topics)
        spec = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        found = self._offsets(partitions, spec.forTimestamp(time_ms))
        ends = self._offsets(partitions, spec.latest())
        return {
            topic: {number: offset if offset >= 0 else ends[topic][number] for number, offset in numbers.items()}
            for topic, numbers in found.items()
        }

    def create_topic(self, name: str, settings: Mapping[str, str]) -> None:
        """Make sure that a topic is there; one that is there already is left as it is."""
        if name in self.topics():
            return
        optional = self._jvm.java.util.Optional
        topic = self._jvm.org.apache.kafka.clients.admin.NewTopic(name, optional.empty(), optional.empty())
        configs = self._jvm.java.util.HashMap()
        for key, value in settings.items():
            configs.put(key, value)
        topic.configs(configs)
        try:
            self._ask(lambda admin: admin.createTopics(self._list([topic])).all().get())
        except ClusterUnavailableError as error:
            if "TopicExistsException" not in str(error):
                raise

    def max_message_bytes(self, topic: str) -> int:
        """Return the topic's `max.message.bytes`; Kafka's default where it may not be described."""
        config = self._jvm.org.apache.kafka.common.config
        resource = config.ConfigResource(getattr(config, "ConfigResource$Type").TOPIC, topic)
        try:
            found = self._ask(lambda admin: admin.describeConfigs(self._list([resource])).all().get())
        except ClusterUnavailableError as error:
            if "AuthorizationException" not in str(error):
                raise
            return _MAX_MESSAGE_BYTES
        return int(found.get(resource).get("max.message.bytes").value())

    def found_marks(self, marks: Marks) -> dict[str, dict[int, Mark]]:
        """Return what stands now at the offsets of marks; their offsets must be readable.

        An offset that has no record any more (compaction took it) is not in the result.
        """
        if not marks:
            return {}
        import json

        starts = {topic: {str(n): mark.offset for n, mark in parts.items()} for topic, parts in marks.items()}
        ends = {topic: {str(n): mark.offset + 1 for n, mark in parts.items()} for topic, parts in marks.items()}
        assigned = {topic: sorted(parts) for topic, parts in marks.items()}
        rows = (
            self._spark.read.format("kafka")
            # One record of each partition is wanted, and all that comes with it counts against quotas.
            .option("kafka.max.partition.fetch.bytes", _MARK_FETCH_BYTES)
            .option("kafka.fetch.max.bytes", _MARK_FETCH_BYTES)
            .options(**self.options.for_spark())
            .option("assign", json.dumps(assigned))
            .option("startingOffsets", json.dumps(starts))
            .option("endingOffsets", json.dumps(ends))
            .option("failOnDataLoss", "false")
            .load()
        )
        found: dict[str, dict[int, Mark]] = {}
        for row in rows.selectExpr("topic", "partition", f"{mark_of('offset', 'timestamp')} AS mark").collect():
            found.setdefault(row["topic"], {})[row["partition"]] = Mark(*row["mark"])
        return found

    def _offsets(self, partitions: Mapping[str, Iterable[int]], spec: Any, isolation_level: str = "") -> Offsets:
        asked = self._jvm.java.util.HashMap()
        new_partition = self._jvm.org.apache.kafka.common.TopicPartition
        for topic, numbers in partitions.items():
            for number in numbers:
                asked.put(new_partition(topic, number), spec)
        result: Offsets = {topic: {} for topic in partitions}
        level = (isolation_level or self.options.isolation_level).upper()
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(
            self._jvm.org.apache.kafka.common.IsolationLevel.valueOf(level)
        )
        answer = self._ask(lambda admin: admin.listOffsets(asked, options).all().get())
        for partition in answer:
            result[partition.topic()][partition.partition()] = answer[partition].offset()
        return result

    def _list(self, values: Iterable[object]) -> Any:
        result = self._jvm.java.util.ArrayList()
        for value in values:
            result.add(value)
        return result

    def _ask(self, call: Any) -> Any:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        try:
            if self._admin is None:
                self._admin = self._connect()
            return call(self._admin)
        except Py4JJavaError as error:
            raise ClusterUnavailableError(
                f"{self.options.bootstrap_servers}: {root_message(error.java_exception)}"
            ) from error

    def _connect(self) -> Any:
        settings = self._jvm.java.util.HashMap()
        settings.put("bootstrap.servers", self.options.bootstrap_servers)
        settings.put("request.timeout.ms", str(_TIMEOUT_MS // 2))
        settings.put("default.api.timeout.ms", str(_TIMEOUT_MS))
        for name, value in self.options.options.items():
            if not _CONSUMER_OPTIONS.match(name):
                settings.put(name, value)
        return self._jvm.org.apache.kafka.clients.admin.Admin.create(settings)


def mark_of(offset: str, timestamp: str) -> str:
    """Return the SQL of a record's mark (`tables.table.Mark`) from the columns `key` and `value` and these two."""
    payload = "concat(coalesce(key, X''), coalesce(value, X''))"
    return f"struct({offset}, unix_millis({timestamp}) AS timestamp_ms, crc32({payload}) AS checksum)"
