"""Spark's own Kafka connector: batch and streaming reads, writes, and going on after the broker was killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException, Producer

from tests.compat.clients import Client, Message
from tests.compat.clients.librdkafka import LibrdkafkaClient
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.reading import read
from tests.patience import PATIENCE_S
from tests.settled import await_markers
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets

TIMESTAMP_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


@pytest.fixture
def librdkafka(clients: Callable[[str], Client]) -> Client:
    return clients("librdkafka")


def reader(spark: SparkSession, broker: RunningBroker, topic: str) -> DataFrameReader:
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"}
    return spark.read.format("kafka").options(**options)


def write(rows: DataFrame, broker: RunningBroker, topic: str, **options: str) -> None:
    rows.write.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, **options}
    ).save()


def numbered(count: int, start: int = 0, partition_count: int = 2) -> list[Message]:
    return [Message(b"%d" % number, partition=number % partition_count) for number in range(start, start + count)]


def test_batch_reads_records_as_they_are(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str
) -> None:
    # What is so old would be deleted at the next look for what is to be retained, on Kafka as well.
    librdkafka.create_topic(name, 2, {"retention.ms": "-1"})
    headers = (("trace", b"\x00\xff"), ("trace", b"again"))
    messages = [
        Message(b"plain", partition=0, timestamp_ms=TIMESTAMP_MS),
        Message(None, b"tombstone", partition=1, timestamp_ms=TIMESTAMP_MS + 1),
        Message(bytes(range(256)), b"\xc3\x28", partition=0, timestamp_ms=TIMESTAMP_MS + 2, headers=headers),
    ]
    librdkafka.produce(name, messages)
    rows = reader(spark, cluster, name).option("includeHeaders", "true").load()
    rows = rows.selectExpr("partition", "offset", "unix_millis(timestamp) AS ms", "key", "value", "headers")
    seen = {(row["partition"], row["offset"]): row for row in rows.collect()}
    assert sorted(seen) == [(0, 0), (0, 1), (1, 0)]
    for place, message in zip([(0, 0), (1, 0), (0, 1)], messages, strict=True):
        row = seen[place]
        assert (row["ms"], row["key"], row["value"]) == (message.timestamp_ms, message.key, message.value)
        assert tuple((header["key"], bytes(header["value"])) for header in row["headers"] or ()) == message.headers


def test_batch_reads_between_times_and_offsets(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str
) -> None:
    librdkafka.create_topic(name, 1, {"retention.ms": "-1"})
    librdkafka.produce(
        name, [Message(b"%d" % n, partition=0, timestamp_ms=TIMESTAMP_MS + n * 1_000) for n in range(100)]
    )
    by_time = reader(spark, cluster, name).options(
        startingTimestamp=str(TIMESTAMP_MS + 30_000), endingTimestamp=str(TIMESTAMP_MS + 60_000)
    )
    assert values(by_time.load()) == list(range(30, 60))
    by_offset = reader(spark, cluster, name).options(
        startingOffsets=f'{{"{name}":{{"0":5}}}}', endingOffsets=f'{{"{name}":{{"0":-1}}}}', minPartitions="4"
    )
    assert values(by_offset.load()) == list(range(5, 100))


# Its producer is Java's, whose other codecs test_clients.py shows.
@pytest.mark.parametrize("codec", [pytest.param("none", marks=pytest.mark.whole), "zstd"])
def test_written_rows_are_read_by_others_and_by_spark(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str, codec: str
) -> None:
    librdkafka.create_topic(name, 3, {})
    rows = spark.range(20_000).selectExpr("CAST(id % 100 AS STRING) AS key", "CAST(id AS STRING) AS value")
    write(rows, cluster, name, **{"kafka.compression.type": codec})
    assert values(reader(spark, cluster, name).load()) == list(range(20_000))
    with closing(librdkafka.consumer(name, name)) as consumer:
        records = read(consumer, 20_000)
    assert sorted(int(record.value or b"") for record in records) == list(range(20_000))
    partition_of_key = {(record.key, record.partition) for record in records}
    assert len(partition_of_key) == 100


def test_topic_is_created_by_writing_to_it(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str
) -> None:
    write(spark.range(10).selectExpr("CAST(id AS STRING) AS value"), cluster, name)
    assert name in librdkafka.topics()
    assert values(reader(spark, cluster, name).load()) == list(range(10))


def test_available_now_reads_all_in_batches_of_the_size_asked_for(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str, tmp_path: Path
) -> None:
    librdkafka.create_topic(name, 2, {})
    librdkafka.produce(name, numbered(1_000))
    query = start(spark, cluster, name, tmp_path, maxOffsetsPerTrigger="300").trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    assert values(spark.read.parquet(str(tmp_path / "table"))) == list(range(1_000))
    assert [progress.numInputRows for progress in query.recentProgress] == [300, 300, 300, 100]


def test_committed_records_alone_are_read_from_topics_with_transactions(
    spark: SparkSession, cluster: RunningBroker, librdkafka: Client, name: str, tmp_path: Path
) -> None:
    librdkafka.create_topic(name, 1, {})
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name}
    producer = Producer(settings)
    producer.init_transactions(PATIENCE_S)

    def write_numbers(start: int) -> None:
        producer.begin_transaction()
        for number in range(start, start + 10):
            producer.produce(name, b"%d" % number)
        producer.flush(PATIENCE_S)

    write_numbers(0)
    producer.commit_transaction(PATIENCE_S)
    write_numbers(10)
    producer.abort_transaction(PATIENCE_S)
    write_numbers(20)
    committed = reader(spark, cluster, name).option("kafka.isolation.level", "read_committed")
    # The open transaction holds readers back; who reads all sees the aborted records, too.
    assert values(committed.load()) == list(range(10))
    assert values(reader(spark, cluster, name).load()) == list(range(30))
    # Behind each transaction an offset belongs to its marker: a stream must not wait for a record there.
    streamed = start(spark, cluster, name, tmp_path, **{"kafka.isolation.level": "read_committed"})
    query = streamed.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    producer.commit_transaction(PATIENCE_S)
    await_markers(cluster.bootstrap_servers, name)
    query = streamed.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    assert values(spark.read.parquet(str(tmp_path / "table"))) == [*range(10), *range(20, 30)]


def test_stream_goes_on_after_it_was_stopped_and_the_broker_was_killed(
    spark: SparkSession, start_broker: StartBroker, name: str, tmp_path: Path
) -> None:
    broker = start_broker()
    with running_client(broker) as client:
        client.create_topic(name, 2, {})
        client.produce(name, numbered(500))
    query = start(spark, broker, name, tmp_path).start()
    read_all(query, spark, tmp_path, 500)
    query.stop()
    with running_client(broker) as client:
        client.produce(name, numbered(500, start=500))
    broker.kill()
    broker.restart()
    query = start(spark, broker, name, tmp_path).start()
    try:
        read_all(query, spark, tmp_path, 1_000)
        broker.kill()
        broker.restart()
        with running_client(broker) as client:
            client.produce(name, numbered(500, start=1_000))
        read_all(query, spark, tmp_path, 1_500)
    finally:
        query.stop()
    assert values(spark.read.parquet(str(tmp_path / "table"))) == list(range(1_500))


def test_lost_data_stops_the_stream(spark: SparkSession, start_broker: StartBroker, name: str, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    broker = start_broker()
    with running_client(broker) as client:
        client.create_topic(name, 1, {})
        client.produce(name, numbered(100, partition_count=1))
    query = start(spark, broker, name, tmp_path).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    # Not the client that produced: a producer asks for its topic again, and that creates it.
    with running_client(broker) as client:
        client.delete_topic(name)
        create_again(client, name)
        client.produce(name, numbered(10, partition_count=1))
    query = start(spark, broker, name, tmp_path).trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException, match=r"(?i)data|offset"):
        query.awaitTermination(PATIENCE_S)


def start(spark: SparkSession, broker: RunningBroker, topic: str, directory: Path, **options: str) -> DataStreamWriter:
    """Give a writer of the topic's values to Parquet, ready to start."""
    stream = spark.readStream.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"},
        **options,
    )
    return (
        stream.load()
        .writeStream.format("parquet")
        .option("path", str(directory / "table"))
        .option("checkpointLocation", str(directory / "checkpoint"))
    )


def create_again(client: Client, topic: str) -> None:
    """Create a topic that is being deleted: brokers say that it is gone before its node in the registry is."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            client.create_topic(topic, 1, {})
        except KafkaException as error:
            if "TOPIC_ALREADY_EXISTS" not in str(error) or time.monotonic() > deadline:
                raise
        else:
            return


def running_client(broker: RunningBroker) -> _ClosingClient:
    return _ClosingClient(LibrdkafkaClient(broker.bootstrap_servers))


class _ClosingClient:
    """A client for the time of a block."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __enter__(self) -> Client:
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.close()


def read_all(query: StreamingQuery, spark: SparkSession, directory: Path, count: int) -> None:
    """Wait until the table holds as many rows; fails when the query does."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        query.processAllAvailable()
        seen = spark.read.parquet(str(directory / "table")).count()
        if seen >= count:
            return
        assert time.monotonic() < deadline, f"{seen} of {count} rows"


def values(rows: DataFrame) -> list[int]:
    return sorted(int(row[0]) for row in rows.selectExpr("CAST(value AS STRING)").collect())
