"""Java 2.7.2 and 4.x, librdkafka, kafka-python, aiokafka: each produces, consumes, commits, rebalances and resumes."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

from tests.compat.clients import FACTORIES, Client, Consumer, Message
from tests.compat.conftest import StartBroker
from tests.compat.reading import poll_until, read

# kafka-python leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TIMESTAMP_MS = 1_700_000_000_000
# What is so old would be deleted at the next look for what is to be retained, on Kafka as well.
KEEPS_WHAT_IS_OLD = {"retention.ms": "-1"}
PARTITION_COUNT = 4


def beside(setting_name: str, settings: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with each client beside each setting; each of them once, and the other pairs with --whole."""
    pairs = [
        pytest.param(client, setting, marks=[] if place % len(settings) == index else [pytest.mark.whole])
        for place, client in enumerate(FACTORIES)
        for index, setting in enumerate(settings)
    ]
    return pytest.mark.parametrize(("client", setting_name), pairs, indirect=["client"])


@contextmanager
def consuming(client: Client, topic: str, group: str) -> Iterator[Consumer]:
    with closing(client.consumer(topic, group)) as consumer:
        yield consumer


def numbered(count: int, start: int = 0, partition_count: int = PARTITION_COUNT) -> list[Message]:
    """Messages that carry their number, dealt out over the partitions."""
    return [Message(b"%d" % number, partition=number % partition_count) for number in range(start, start + count)]


def test_what_was_produced_is_consumed_as_it_was(client: Client, name: str) -> None:
    client.create_topic(name, 2, KEEPS_WHAT_IS_OLD)
    headers = (("trace", b"\x00\xff"), ("empty", b""), ("trace", b"again"))
    messages = [
        Message(b"plain", partition=0, timestamp_ms=TIMESTAMP_MS),
        Message(b"", b"", partition=1, timestamp_ms=TIMESTAMP_MS + 1),
        Message(None, b"tombstone", partition=0, timestamp_ms=TIMESTAMP_MS + 2),
        Message(b"with headers", b"key", partition=1, timestamp_ms=TIMESTAMP_MS + 3, headers=headers),
        Message(bytes(range(256)) * 3, b"\xc3\x28", partition=0, timestamp_ms=TIMESTAMP_MS - 5),
    ]
    places = client.produce(name, messages)
    assert places == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    with consuming(client, name, name) as consumer:
        records = read(consumer, len(messages))
    seen = {(record.partition, record.offset): record for record in records}
    for place, message in zip(places, messages, strict=True):
        record = seen[place]
        assert (record.key, record.value, record.timestamp_ms) == (message.key, message.value, message.timestamp_ms)
        assert record.headers == message.headers


def test_each_partition_keeps_its_order(client: Client, name: str) -> None:
    client.create_topic(name, PARTITION_COUNT, {})
    client.produce(name, numbered(2_000))
    with consuming(client, name, name) as consumer:
        records = read(consumer, 2_000)
        assert consumer.assignment() == set(range(PARTITION_COUNT))
    for partition in range(PARTITION_COUNT):
        values = [int(record.value or b"") for record in records if record.partition == partition]
        assert values == list(range(partition, 2_000, PARTITION_COUNT))


@beside("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read_by_kafkas_own_client(client: Client, java: Client, name: str, codec: str) -> None:
    client.create_topic(name, 1, {})
    values = [b"%06d" % number * 20_000 for number in range(6)]
    client.produce(name, [Message(value, partition=0) for value in values], codec=codec)
    for reader in (java, client):
        with consuming(reader, name, f"{name}-{reader is java}") as consumer:
            assert [record.value for record in read(consumer, len(values))] == values


@beside("acks", ["0", "1", "all"])
def test_every_level_of_acknowledgement(client: Client, name: str, acks: str) -> None:
    client.create_topic(name, 1, {})
    places = client.produce(name, numbered(50, partition_count=1), acks=acks)
    assert acks == "0" or places == [(0, offset) for offset in range(50)]
    with consuming(client, name, name) as consumer:
        assert [int(record.value or b"") for record in read(consumer, 50)] == list(range(50))


def test_idempotent_producers_write_each_record_once(client: Client, name: str) -> None:
    client.create_topic(name, 1, {})
    for start in (0, 500):
        places = client.produce(name, numbered(500, start, partition_count=1), is_idempotent=True)
        assert places == [(0, offset) for offset in range(start, start + 500)]
    with consuming(client, name, name) as consumer:
        assert consumer.end_offset(0) == 1_000
        assert [int(record.value or b"") for record in read(consumer, 1_000)] == list(range(1_000))


def test_large_records(client: Client, name: str) -> None:
    client.create_topic(name, 1, {})
    values = [bytes([number]) * 900_000 for number in range(4)]
    client.produce(name, [Message(value, partition=0) for value in values])
    with consuming(client, name, name) as consumer:
        assert [record.value for record in read(consumer, len(values))] == values


def test_a_topic_is_created_by_its_first_record(client: Client, name: str) -> None:
    assert client.produce(name, [Message(b"first")]) == [(0, 0)]
    with consuming(client, name, name) as consumer:
        assert [record.value for record in read(consumer, 1)] == [b"first"]


def test_a_group_resumes_where_it_committed(client: Client, name: str) -> None:
    client.create_topic(name, PARTITION_COUNT, {})
    client.produce(name, numbered(400))
    with consuming(client, name, name) as consumer:
        assert len(read(consumer, 400)) == 400
        consumer.commit()
        client.produce(name, numbered(40, 400))
        # Read and not committed: the next member reads them again.
        assert len(read(consumer, 40)) == 40
    assert [client.group_offset(name, name, partition) for partition in range(PARTITION_COUNT)] == [100] * 4
    with consuming(client, name, name) as consumer:
        assert sorted(int(record.value or b"") for record in read(consumer, 40)) == list(range(400, 440))


def test_two_members_share_the_partitions_and_one_takes_over(client: Client, name: str) -> None:
    client.create_topic(name, PARTITION_COUNT, {})
    everything = set(range(PARTITION_COUNT))
    first = client.consumer(name, name)
    poll_until([first], lambda: first.assignment() == everything)
    assert client.group_state(name) == ("stable", 1)
    second = client.consumer(name, name)
    poll_until([first, second], lambda: len(first.assignment()) == len(second.assignment()) == 2)
    assert first.assignment() | second.assignment() == everything
    client.produce(name, numbered(200))
    seen = []
    while len(seen) < 200:
        seen += poll_until([first, second], iter([False, True]).__next__)
    assert sorted(int(record.value or b"") for record in seen) == list(range(200))
    assert client.group_state(name) == ("stable", 2)
    first.commit()
    second.commit()
    first.close()
    poll_until([second], lambda: second.assignment() == everything)
    client.produce(name, numbered(40, 200))
    assert sorted(int(record.value or b"") for record in read(second, 40)) == list(range(200, 240))
    second.close()
    assert client.group_state(name) == ("empty", 0)


def test_offsets_are_found_by_time(client: Client, name: str) -> None:
    client.create_topic(name, 1, KEEPS_WHAT_IS_OLD)
    for number in range(5):
        stamp = TIMESTAMP_MS + 1_000 * number
        client.produce(name, [Message(b"%d" % number, partition=0, timestamp_ms=stamp + extra) for extra in (0, 1)])
    with consuming(client, name, name) as consumer:
        read(consumer, 10)
        assert consumer.end_offset(0) == 10
        assert consumer.offset_for_time(0, 0) == 0
        assert consumer.offset_for_time(0, TIMESTAMP_MS + 2_000) == 4
        assert consumer.offset_for_time(0, TIMESTAMP_MS + 2_001) == 5
        assert consumer.offset_for_time(0, TIMESTAMP_MS + 2_002) == 6
        assert consumer.offset_for_time(0, TIMESTAMP_MS + 60_000) == -1


def test_topics_are_created_described_and_deleted(client: Client, name: str) -> None:
    client.create_topic(name, 3, {"retention.ms": "86400000"})
    assert name in client.topics()
    assert client.topic_config(name, "retention.ms") == "86400000"
    assert client.topic_config(name, "cleanup.policy") == "delete"
    client.delete_topic(name)
    assert name not in client.topics()


@pytest.mark.parametrize(
    "client_name", [pytest.param(name, marks=[] if name == "librdkafka" else [pytest.mark.whole]) for name in FACTORIES]
)
def test_clients_outlive_a_restart_and_a_kill(start_broker: StartBroker, client_name: str, name: str) -> None:
    broker = start_broker()
    with closing(FACTORIES[client_name](broker.bootstrap_servers)) as client:
        client.create_topic(name, PARTITION_COUNT, {})
        for number, end in enumerate([broker.stop, broker.kill]):
            client.produce(name, numbered(100, 200 * number))
            with consuming(client, name, name) as consumer:
                assert len(read(consumer, 100)) == 100
                consumer.commit()
            client.produce(name, numbered(100, 200 * number + 100))
            end()
            broker.restart()
            with consuming(client, name, name) as consumer:
                values = sorted(int(record.value or b"") for record in read(consumer, 100))
                assert values == list(range(200 * number + 100, 200 * number + 200))
                consumer.commit()
