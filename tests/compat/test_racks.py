"""Consumers read from a replica in their own rack (KIP-392), whether it and the leader are Kafka 2.7.2's or ours.

librdkafka and Java's consumer say how many bytes they received from each broker: nearly all cross between racks without
`client.rack`, and nearly none with it.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from barnabas.core.config.classes import RACK_AWARE_SELECTOR
from barnabas.testing import Broker
from tests.clusters import Member, barnabas_member, kafka_member, servers_of, wait_for_in_sync, wait_for_members
from tests.compat.clients.java import JavaClient
from tests.compat.raw import create_topic
from tests.compat.reading import read
from tests.patience import PATIENCE_S, until
from tools.kafka.jars import KAFKA
from tools.kafka.server import QuickKafkaServer

LEADER, FOLLOWER = 1, 2
COUNT, SIZE = 2_000, 1_000


def member(kind: str, place: Path, connect: str, broker_id: int) -> Broker | QuickKafkaServer:
    settings = {
        "broker.rack": f"rack-{broker_id}",
        "replica.selector.class": RACK_AWARE_SELECTOR,
        "offsets.topic.replication.factor": "2",
    }
    if kind == "kafka":
        return kafka_member(place, connect, broker_id, settings)
    return barnabas_member(place, connect, broker_id, settings)


class Reader:
    """A consumer of one partition, from its beginning.

    Attributes:
        received: The bytes that it received, by broker, as it said last.
    """

    def __init__(self, servers: str, topic: str, rack: str) -> None:
        self.received: dict[int, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": topic,
                # Or it would ask for a coordinator, of which two brokers have none, before it closes.
                "enable.auto.commit": False,
                "client.rack": rack,
                "statistics.interval.ms": 50,
                "stats_cb": self._note,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])

    def _note(self, statistics: str) -> None:
        found: dict[int, int] = {}
        for each in json.loads(statistics)["brokers"].values():
            found[each["nodeid"]] = found.get(each["nodeid"], 0) + each["rxbytes"]
        self.received = found

    def read(self, count: int) -> list[int]:
        """Return the numbers in the next records."""
        numbers: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(numbers) < count:
            assert time.monotonic() < deadline, f"{len(numbers)} of {count}"
            for message in self._consumer.consume(count - len(numbers), 0.2):
                assert message.error() is None
                numbers.append(int(message.value()))
        return numbers

    def told(self, broker_id: int, least_bytes: int) -> int:
        """Return how much it received from a broker, once it says that this was at least so much."""

        def has_told() -> bool:
            self._consumer.poll(0.05)
            return self.received.get(broker_id, 0) >= least_bytes

        until(has_told)
        return self.received[broker_id]

    def close(self) -> None:
        self._consumer.close()


def produce(servers: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in numbers:
        producer.produce(topic, str(number).encode().rjust(SIZE), partition=0)
    assert producer.flush(PATIENCE_S) == 0


@pytest.fixture
def members(request: pytest.FixtureRequest, connect: str, name: str, tmp_path: Path) -> Iterator[dict[int, Member]]:
    """Two brokers in two racks, with a topic that the first one leads."""
    with ExitStack() as stack:
        members: dict[int, Member] = {}
        for broker_id, kind in zip((LEADER, FOLLOWER), request.param, strict=True):
            broker = member(kind, tmp_path / str(broker_id), connect, broker_id)
            members[broker_id] = broker
            stack.enter_context(broker)
        wait_for_members(members)
        create_topic(members[LEADER].bootstrap_servers, name, 1, [[LEADER, FOLLOWER]])
        wait_for_in_sync(members, name)
        yield members


@pytest.mark.parametrize(
    "members",
    [
        ("kafka", "barnabas"),
        ("barnabas", "kafka"),
        # As Java's consumer does below.
        pytest.param(("barnabas", "barnabas"), marks=pytest.mark.whole),
    ],
    indirect=True,
    ids=lambda kinds: f"{kinds[0]} leads, {kinds[1]} follows",
)
def test_bytes_stay_in_the_rack(
    members: dict[int, Member], name: str, record_property: Callable[[str, object], None]
) -> None:
    servers = servers_of(members)
    produce(servers, name, range(COUNT))
    crossed = {}
    for rack in ("", f"rack-{FOLLOWER}"):
        reader = Reader(servers, name, rack)
        assert reader.read(COUNT) == list(range(COUNT))
        reader.told(FOLLOWER if rack else LEADER, COUNT * SIZE)
        crossed[rack] = reader.received[LEADER]
        if rack:
            # What comes now is had from there, too.
            produce(servers, name, range(COUNT, COUNT + 10))
            assert reader.read(10) == list(range(COUNT, COUNT + 10))
            reader.told(FOLLOWER, (COUNT + 10) * SIZE)
            assert reader.received[LEADER] < 10 * SIZE
        reader.close()
    for rack, count in crossed.items():
        record_property(f"bytes from the other rack, client.rack={rack or 'unset'}", count)
    assert crossed[""] >= COUNT * SIZE


@pytest.mark.parametrize("members", [("barnabas", "barnabas")], indirect=True)
def test_javas_consumer_reads_in_its_own_rack(
    members: dict[int, Member], name: str, record_property: Callable[[str, object], None]
) -> None:
    servers = servers_of(members)
    produce(servers, name, range(COUNT))
    java = JavaClient(servers, KAFKA)
    received = {}
    try:
        for rack in ("", f"rack-{FOLLOWER}"):
            consumer = java.consumer(name, f"{name}-{rack}", rack=rack)
            assert [int(each.value or b"") for each in read(consumer, COUNT)] == list(range(COUNT))
            received[rack] = consumer.received_bytes(LEADER), consumer.received_bytes(FOLLOWER)
            consumer.close()
            record_property(f"bytes from the other rack, Java, client.rack={rack or 'unset'}", received[rack][0])
    finally:
        java.close()
    across, within = received[f"rack-{FOLLOWER}"]
    assert across < 10 * SIZE
    assert within >= COUNT * SIZE
    assert received[""][0] >= COUNT * SIZE
