"""What the tests of the documented producer share: what brokers were sent, and what topics hold."""

import struct
from contextlib import closing
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from barnabas.testing import Broker
from barnabas.testing.interception import Interception
from tests.patience import PATIENCE_S

# Where a batch of format 2 has its attributes and the number of its records.
_ATTRIBUTES, _RECORD_COUNT = 21, 57


class SentBatch(NamedTuple):
    """A batch that a producer sent.

    Attributes:
        codec: 0 none, 1 gzip, 2 snappy, 3 lz4.
    """

    topic: str
    partition: int
    codec: int
    record_count: int


def sent_batches(produced: Interception) -> list[SentBatch]:
    """What was in the Produce requests that were seen."""
    found = []
    for request in produced.requests:
        for topic in request.message.topic_data:
            for partition in topic.partition_data:
                records = bytes(partition.records)
                (attributes,) = struct.unpack_from(">h", records, _ATTRIBUTES)
                (count,) = struct.unpack_from(">i", records, _RECORD_COUNT)
                found.append(SentBatch(topic.name, partition.index, attributes & 7, count))
    return found


class Stored(NamedTuple):
    """A record as a consumer gets it."""

    partition: int
    key: bytes | None
    value: bytes | None


def stored(broker: Broker, topic: str) -> list[Stored]:
    """All that a topic holds, partition by partition."""
    with closing(Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})) as consumer:
        places = [TopicPartition(topic, number, 0) for number in consumer.list_topics(topic).topics[topic].partitions]
        left = sum(consumer.get_watermark_offsets(place, PATIENCE_S)[1] for place in places)
        consumer.assign(places)
        found: list[Stored] = []
        while left > len(found):
            for message in consumer.consume(min(1_000, left - len(found)), PATIENCE_S):
                assert message.error() is None
                found.append(Stored(message.partition(), message.key(), message.value()))
        # Within a partition they stay in their order.
        return sorted(found, key=lambda each: each.partition)


def add_partitions(broker: Broker, topic: str, partition_count: int) -> None:
    """Give a topic more partitions, and wait until the broker tells of them."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, partition_count)])[topic].result(PATIENCE_S)
    while len(admin.list_topics(topic, PATIENCE_S).topics[topic].partitions) < partition_count:
        pass


def make_topic(broker: Broker, topic: str, partition_count: int = 1) -> None:
    """Make a topic, and wait until its partitions are led."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partition_count, 1)])[topic].result(PATIENCE_S)
    led: list[int] = []
    while len(led) < partition_count:
        told = admin.list_topics(topic, PATIENCE_S).topics[topic].partitions
        led = [number for number, each in told.items() if each.leader >= 0]
