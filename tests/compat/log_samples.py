"""A small data directory of all that Kafka writes: message formats, codecs, compaction, transactions, groups.

Written by Kafka 2.7.2 itself: stopped (`clean`), and as a kill leaves it (`killed`: indexes of full size, nothing
closed).
"""

import random
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import PATIENCE_S, until
from tools.kafka.server import KafkaServer, QuickKafkaServer

LEGACY_CODECS = ("none", "gzip", "snappy", "lz4")
CODECS = (*LEGACY_CODECS, "zstd")

_SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.cleaner.backoff.ms": "200",
    "log.index.interval.bytes": "1000",
    # Files of full size are copied after the kill.
    "log.index.size.max.bytes": "40000",
}
_SMALL_SEGMENTS = {"segment.bytes": "40000"}
WIDE_TOPICS = ("wide-a", "b", "Wide_c")
_WIDE_PARTITION_COUNT = 13
_OPEN_TRANSACTION_MS = 900_000


class Samples(NamedTuple):
    """Two copies of a data directory.

    Attributes:
        clean: After a clean stop.
        killed: As it was before that, at a moment at which Kafka stood still.
    """

    clean: Path
    killed: Path


def write_samples(directory: Path) -> Samples:
    """Let Kafka 2.7.2 write its files below `directory`."""
    samples = Samples(directory / "clean", directory / "killed")
    with QuickKafkaServer(directory / "server", _SETTINGS) as server:
        _create_topics(server.bootstrap_servers)
        _fill(server, seed=1)
        _wait_until_compacted(server.data_dir)
        _fill(server, seed=2)
        server.pause()
        shutil.copytree(server.data_dir, samples.killed)
        server.resume()
        server.stop()
        shutil.copytree(server.data_dir, samples.clean)
    return samples


def _create_topics(bootstrap_servers: str) -> None:
    topics = {f"v2-{codec}": _SMALL_SEGMENTS for codec in CODECS}
    for version, format_version in ((0, "0.9.0"), (1, "0.10.0")):
        for codec in LEGACY_CODECS:
            topics[f"v{version}-{codec}"] = {**_SMALL_SEGMENTS, "message.format.version": format_version}
    append_time = {"message.timestamp.type": "LogAppendTime"}
    topics["append-time"] = append_time
    topics["append-time-v1"] = {**append_time, "message.format.version": "0.10.0"}
    topics["compacted"] = {**_SMALL_SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    topics["transactions"] = _SMALL_SEGMENTS
    topics["empty"] = {}
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    new = [NewTopic(name, 2 if name == "transactions" else 1, 1, config=config) for name, config in topics.items()]
    new += [NewTopic(name, _WIDE_PARTITION_COUNT, 1) for name in WIDE_TOPICS]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_S)


def _fill(server: KafkaServer, seed: int) -> None:
    servers = server.bootstrap_servers
    for codec in CODECS:
        _produce(servers, f"v2-{codec}", codec, seed, has_headers=True)
    for version in (0, 1):
        for codec in LEGACY_CODECS:
            _produce(servers, f"v{version}-{codec}", codec, seed)
    _produce(servers, "append-time", "lz4", seed)
    _produce(servers, "append-time-v1", "gzip", seed)
    _produce(servers, "compacted", "snappy", seed, count=1_500)
    _run_transactions(servers, seed)
    _run_group(servers, f"readers-{seed}", ["v2-none", "transactions"])


def _producer(servers: str, **settings: object) -> Producer:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": servers, "linger.ms": 20, "log_level": 3, **named})


def _produce(servers: str, topic: str, codec: str, seed: int, *, count: int = 600, has_headers: bool = False) -> None:
    dice = random.Random(f"{topic} {seed}")
    # librdkafka writes the newest format, which the broker converts to the topic's; only that has sequences.
    is_idempotent = topic.startswith("v2") and seed == 1
    producer = _producer(servers, compression_type=codec, enable_idempotence=is_idempotent, batch_num_messages=40)
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    for number in range(count):
        value = None if number % 29 == 0 else f"{number} größer {dice.randbytes(dice.randrange(60)).hex()}".encode()
        key = None if number % 13 == 0 and topic != "compacted" else b"key-%d" % dice.randrange(50)
        headers: list[Any] = [("trace", b"1"), ("grüße", None)][: number % 3] if has_headers else []
        producer.produce(topic, value, key, 0, delivered, headers=headers)
    producer.produce(topic, b"\xff\xfe broken \xc3\x28 text", b"\x80", 0, delivered)
    assert producer.flush(PATIENCE_S) == 0
    assert not refused, refused[0]


def _run_transactions(servers: str, seed: int) -> None:
    """Commits and aborts that overlap, over two partitions, and one that stays open."""
    first, second, third = (
        _producer(servers, transactional_id=f"t-{number}-{seed}", transaction_timeout_ms=_OPEN_TRANSACTION_MS)
        for number in range(3)
    )
    for producer in (first, second, third):
        producer.init_transactions(PATIENCE_S)
    for round_number in range(8):
        for producer in (first, second):
            producer.begin_transaction()
        for number in range(60):
            for producer in (first, second):
                producer.produce("transactions", b"x" * 40, b"%d" % number, (number + round_number) % 2)
        assert first.flush(PATIENCE_S) == second.flush(PATIENCE_S) == 0
        first.abort_transaction(PATIENCE_S) if round_number % 3 == 0 else first.commit_transaction(PATIENCE_S)
        second.abort_transaction(PATIENCE_S) if round_number % 2 == 0 else second.commit_transaction(PATIENCE_S)
    for partition_count in (1, 3, 4, 5, 7, _WIDE_PARTITION_COUNT):
        third.begin_transaction()
        for number, topic in enumerate(WIDE_TOPICS):
            for partition in range(max(partition_count - number, 1)):
                third.produce(topic, b"in many places", None, partition)
        third.commit_transaction(PATIENCE_S)
    third.begin_transaction()
    third.produce("transactions", b"never ended", b"open", 0)
    assert third.flush(PATIENCE_S) == 0


def _run_group(servers: str, group: str, topics: list[str]) -> None:
    settings = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    # They hear of each other by heartbeats.
    settings["heartbeat.interval.ms"] = "100"
    members = [Consumer({**settings, "enable.auto.commit": False}) for _ in range(5)]
    deadline = time.monotonic() + PATIENCE_S
    for member in members:
        member.subscribe([*topics, *WIDE_TOPICS])
    while not all(member.assignment() for member in members):
        assert time.monotonic() < deadline
        for member in members:
            member.poll(0.05)
    consumer = members[0]
    with_metadata = TopicPartition("v2-none", 0, 7, metadata="up to here, größer")
    consumer.commit(offsets=[with_metadata, TopicPartition("transactions", 1, 9)], asynchronous=False)
    for member in members:
        member.close()
    lone = Consumer({"bootstrap.servers": servers, "group.id": f"{group}-deleted", "enable.auto.commit": False})
    lone.commit(offsets=[TopicPartition("v2-gzip", 0, 3)], asynchronous=False)
    lone.close()
    admin = AdminClient({"bootstrap.servers": servers})
    until(lambda: _deletes(admin, f"{group}-deleted"))


def _deletes(admin: AdminClient, group: str) -> bool:
    return admin.delete_consumer_groups([group])[group].exception(PATIENCE_S) is None


def _wait_until_compacted(data_dir: Path) -> None:
    checkpoint = data_dir / "cleaner-offset-checkpoint"
    until(lambda: "compacted 0" in checkpoint.read_text())
