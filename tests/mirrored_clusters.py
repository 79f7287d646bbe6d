"""Clusters that are mirrored into each other, for tests: what is sent into one, and what a reader sees in another."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from tests.compat.conftest import RunningBroker
from tests.patience import PATIENCE_S
from tests.settled import await_markers


class Sent(NamedTuple):
    """One record as a test sends it, and as a reader sees it."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


Partitions = Mapping[int, Sequence[Sent]]


class Cluster:
    """A cluster as its clients see it, of one broker or several.

    Attributes:
        broker: One of them.
        address: Of all of them, where more than that one are named.
    """

    def __init__(self, broker: RunningBroker, security: Mapping[str, str] | None = None, address: str = "") -> None:
        self.broker = broker
        self._address = address
        self._client: dict[str, Any] = {
            "bootstrap.servers": self.address,
            # A broker that a test has ended is not worth a line a second.
            "log_level": 2,
            **(security or {}),
        }
        self._admin = AdminClient(dict(self._client))

    @property
    def address(self) -> str:
        return self._address or self.broker.bootstrap_servers

    def create(self, topic: str, partition_count: int = 2, **configs: str) -> None:
        # What is years old is kept, unless a setting says otherwise.
        settings = {"retention.ms": "-1", **{name.replace("_", "."): value for name, value in configs.items()}}
        made = self._admin.create_topics([NewTopic(topic, partition_count, config=settings)])
        made[topic].result(PATIENCE_S)

    def grow(self, topic: str, partition_count: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, partition_count)])[topic].result(PATIENCE_S)

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)

    def make_anew(self, topic: str, partition_count: int) -> None:
        """Delete a topic and create it again."""
        self.delete(topic)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.create(topic, partition_count)
                return
            except KafkaException as error:
                # The answer comes when nobody can see it any more, and the controller is about to be done with it.
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def cut(self, topic: str, partition: int, log_start_offset: int) -> None:
        """Delete the records before an offset, as retention does."""
        place = TopicPartition(topic, partition, log_start_offset)
        self._admin.delete_records([place])[place].result(PATIENCE_S)

    def end(self, topic: str, partition: int = 0) -> int:
        """Return where a partition ends."""
        place = TopicPartition(topic, partition)
        found = self._admin.list_offsets({place: OffsetSpec.latest()})[place].result(PATIENCE_S)
        return int(found.offset)

    def partition_count(self, topic: str) -> int:
        return len(self._admin.list_topics(topic, PATIENCE_S).topics[topic].partitions)

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    @property
    def cluster_id(self) -> str:
        return str(self._admin.list_topics(timeout=PATIENCE_S).cluster_id)

    def set_config(self, topic: str, name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def limit(self, client_id: str, bytes_per_s: float | None) -> None:
        """Set what producers of a client id may send; None: anything."""

        async def alter() -> None:
            async with Pool(self.address, "observer") as pool:
                limits = {"producer_byte_rate": bytes_per_s}
                await QuotaStateAdmin(pool).alter_limits(Limited(None, client_id), limits)

        asyncio.run(alter())

    def config(self, topic: str, name: str) -> str | None:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        return str(self._admin.describe_configs([resource])[resource].result(PATIENCE_S)[name].value)

    def send(self, topic: str, partitions: Partitions, transactional_id: str = "", is_aborted: bool = False) -> None:
        """Send records; in one transaction where an id is given."""
        # Flushing ends the waiting, so the records of a partition are one batch, however slow the machine is.
        options: dict[str, Any] = {**self._client, "linger.ms": 5 if transactional_id else 60_000}
        if transactional_id:
            options["transactional.id"] = transactional_id
        producer = Producer(options)
        if transactional_id:
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
        for partition, records in partitions.items():
            for each in records:
                producer.produce(
                    topic,
                    each.value,
                    each.key,
                    partition,
                    timestamp=each.timestamp_ms,
                    on_delivery=_check,
                    headers=list(each.headers),
                )
        assert producer.flush(PATIENCE_S) == 0
        if is_aborted:
            producer.abort_transaction(PATIENCE_S)
        elif transactional_id:
            producer.commit_transaction(PATIENCE_S)
        for partition in partitions if transactional_id else ():
            await_markers(self.address, topic, partition)

    def read(self, topic: str) -> dict[int, list[Sent]]:
        """Give what a read_committed reader sees, by partition."""
        consumer = Consumer(
            {
                **self._client,
                "group.id": "tests",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                # The end is told by a fetch that finds nothing.
                "fetch.wait.max.ms": 10,
                "enable.auto.commit": False,
            }
        )
        count = self.partition_count(topic)
        found: dict[int, list[Sent]] = {number: [] for number in range(count)}
        consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])
        left = count
        while left:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                left -= 1
                continue
            headers: Any = tuple(message.headers() or ())
            partition = message.partition()
            assert partition is not None
            found[partition].append(Sent(message.key(), message.value(), message.timestamp()[1], headers))
        consumer.close()
        return found


def _check(error: KafkaError | None, message: object) -> None:
    assert error is None, error


def numbered(partition_count: int, numbers: Iterable[int], text: str = "") -> dict[int, list[Sent]]:
    """Give plain records by partition: a number in each."""
    made: dict[int, list[Sent]] = {number: [] for number in range(partition_count)}
    for number in numbers:
        record = Sent(f"k{number % 7}".encode(), f"{text}{number}".encode(), 1_700_000_000_000 + number)
        made[number % partition_count].append(record)
    return made
