"""Directories of older Kafkas: taken over by `barnabas adopt`, served, given back by `barnabas release`, and read.

The judges are the brokers that wrote them (0.10.2.2, 0.11.0.3, 1.1.1 and 2.3.1), their own DumpLogSegments, and
librdkafka. An older Kafka does not complain of what it can't read: it gives offsets out twice, and loses groups.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.config.versions import KafkaVersion, kafka_version
from barnabas.migration.version_requirements import batch_heads
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.compat import test_handover as handover
from tests.compat.conftest import RunningBroker
from tests.compat.figures import Tell
from tests.compat.kafka_versions import OLD_VERSIONS
from tests.compat.raw import ask
from tests.compat.test_handover import (
    barnabas,
    commit,
    committed,
    contents_of,
    create,
    delete,
    read_each,
    tree_of,
    wait_for_topics,
    when_expired,
)
from tests.patience import PATIENCE_S
from tools.kafka.server import KafkaServer, QuickKafkaServer

FOUND = {"0.10.2.2": "0.10.1-IV0", "0.11.0.3": "0.11.0-IV0", "1.1.1": "0.11.0-IV0", "2.3.1": "2.3-IV0"}
"""What `adopt` finds out by itself: the oldest that can have written it."""

SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.segment.bytes": "20000",
    "log.index.size.max.bytes": "40000",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
SMALL_SEGMENTS = {"segment.bytes": "20000", "index.interval.bytes": "1000"}

Seen = dict[str, dict[object, tuple[int, bytes]]]
"""Topic to offset and value of each record; of the compacted topic by key, as a cleaner may run at any time."""


def codecs_of(version: KafkaVersion) -> list[str]:
    return ["none", "gzip", "snappy", "lz4", *(["zstd"] if version.has_zstd else [])]


def topics_for(version: KafkaVersion) -> list[str]:
    return [*codecs_of(version), "compacted"]


# --- clients


def produce(broker: RunningBroker, topic: str, label: str, *, is_idempotent: bool, count: int = 120) -> list[int]:
    """Fill a topic whose name says the codec; the offsets that were given out."""
    offsets: list[int] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "compression.type": topic if topic in ("gzip", "snappy", "lz4", "zstd") else "none",
            "enable.idempotence": is_idempotent,
            "batch.num.messages": 30,
            "linger.ms": 10,
        }
    )

    def delivered(error: KafkaError | None, message: object) -> None:
        assert error is None, error
        offsets.append(message.offset())  # type: ignore[attr-defined]  # confluent_kafka has no types

    for number in range(count):
        value = f"{label} {number} ".encode() * 10
        producer.produce(topic, value, b"%d" % (number % 40), partition=0, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    return sorted(offsets)


def takes_zstd(broker: RunningBroker, topic: str) -> bool:
    """Whether a producer that compresses with zstd is served; only a broker that would write it takes its record."""
    codes: list[Any] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "compression.type": "zstd", "retries": 0})
    producer.produce(
        topic, b"value " * 100, b"key", partition=0, on_delivery=lambda error, _: codes.append(error and error.code())
    )
    assert producer.flush(PATIENCE_S) == 0
    assert codes in ([None], [KafkaError.UNSUPPORTED_COMPRESSION_TYPE])
    return codes == [None]


def effective_version(broker: RunningBroker) -> str:
    """The inter.broker.protocol.version, as any user can see it."""
    resource = ConfigResource(ConfigResource.Type.BROKER, "0")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entries = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return str(entries["inter.broker.protocol.version"].value)


def read_all(broker: RunningBroker, topics: list[str]) -> Seen:
    return {
        topic: {key if topic == "compacted" else offset: (offset, value) for offset, (key, value) in records.items()}
        for topic, records in read_each(broker, topics).items()
    }


def ends(seen: Seen) -> dict[str, list[int]]:
    """The offsets that were read."""
    return {topic: [offset for offset, _ in records.values()] for topic, records in seen.items()}


def all_committed(broker: RunningBroker, groups: Mapping[str, str]) -> dict[str, int]:
    """By group and topic."""
    return {f"{group}/{topic}": committed(broker, group, topic) for group, topic in groups.items()}


def go_on_in_group(broker: RunningBroker, group: str, topic: str, count: int) -> list[int]:
    """Join a group, read some records where it stands, and commit; their offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
        }
    )
    consumer.subscribe([topic])
    offsets: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(offsets) < count:
        assert time.monotonic() < deadline, f"group {group} got {offsets}"
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            offsets.append(message.offset())
    consumer.commit(offsets=[TopicPartition(topic, 0, offsets[-1] + 1)], asynchronous=False)
    consumer.close()
    return offsets


def commit_in_turn(broker: RunningBroker, topic: str, count: int) -> None:
    """Commit so many offsets, one by one, as five groups in turn."""
    groups = [
        Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"group-{number}"}) for number in range(5)
    ]
    for offset in range(count):
        groups[offset % 5].commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    for group in groups:
        group.close()


def commit_to_zookeeper(broker: Any, group: str, topic: str, offset: int) -> None:
    """As consumers of 0.8 do, whose offsets stand in the tree."""
    partition = OffsetCommitRequestPartition(0, offset, committed_metadata="")
    request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions=[partition])])
    answer = ask(broker.bootstrap_servers, request, 0)
    assert answer.topics[0].partitions[0].error_code == 0


def committed_to_zookeeper(broker: Any, group: str, topic: str) -> int:
    request = OffsetFetchRequest(group, topics=[OffsetFetchRequestTopic(topic, [0])])
    answer = ask(broker.bootstrap_servers, request, 0)
    return int(answer.topics[0].partitions[0].committed_offset)


# --- files and logs


def errors_of(kafka: KafkaServer) -> list[str]:
    """The errors that a broker logged, but for those that old controllers log before each start is done."""
    return [line for line in kafka.log_text().splitlines() if " ERROR " in line and "state.change.logger" not in line]


def check_files(data_dir: Path, version: str) -> None:
    """That Kafka's own tool finds nothing wrong in any log and index."""
    handover.check_files(data_dir, suffixes=(".log", ".index", ".timeindex"), jar_set=f"kafka-{version}")


def magics(data_dir: Path) -> set[int]:
    """The formats of all batches in a directory."""
    return {batch.magic for path in data_dir.rglob("*.log") for batch in batch_heads(path.read_bytes())}


# --- the stories


StartOldKafka = Callable[..., KafkaServer]


@pytest.fixture
def start_kafka(tmp_path: Path, connect: str) -> Iterator[StartOldKafka]:
    with ExitStack() as stack:

        def start(version: str, chroot: str = "") -> KafkaServer:
            config = {**SETTINGS, "zookeeper.connect": connect + chroot, "log.dirs": str(tmp_path / "data")}
            server = QuickKafkaServer(tmp_path / "kafka", config, jar_set=f"kafka-{version}")
            stack.callback(server.close)
            server.restart()
            return server

        yield start


@pytest.fixture
def start_barnabas(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    with ExitStack() as stack:

        def start(**settings: str) -> Broker:
            config: dict[str, Any] = {
                "broker.id": 0,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
            return stack.enter_context(Broker(config=config, data_dir=tmp_path / "data"))

        yield start


StartBarnabas = Callable[..., Broker]


# The oldest format. Killed brokers, and versions that adopt finds out, are below and in test_lost_tree.py, too.
_ALWAYS = ("0.10.2.2", "stop")


@pytest.mark.parametrize(
    ("version", "end", "is_told"),
    [
        pytest.param(
            version,
            end,
            (end == "stop") != (version in ("0.11.0.3", "2.3.1")),
            marks=[] if (version, end) == _ALWAYS else [pytest.mark.whole],
        )
        for version in OLD_VERSIONS
        for end in ("stop", "kill")
    ],
)
def test_an_old_kafka_goes_on_with_all_that_was_written_meanwhile(
    tmp_path: Path,
    connect: str,
    start_kafka: StartOldKafka,
    start_barnabas: StartBarnabas,
    tell: Tell,
    version: str,
    end: str,
    is_told: bool,
) -> None:
    data_dir = tmp_path / "data"
    told = kafka_version(version)
    topics, is_idempotent = topics_for(told), told.magic == 2
    kafka = start_kafka(version)
    for topic in topics:
        policy = {"cleanup.policy": "compact"} if topic == "compacted" else {}
        create(kafka, topic, 1, {**SMALL_SEGMENTS, **policy})
        assert produce(kafka, topic, "kafka", is_idempotent=is_idempotent) == list(range(120))
    create(kafka, "deleted-here")
    assert go_on_in_group(kafka, "members", "gzip", 50) == list(range(50))
    commit(kafka, "by-hand", "none", 17)
    commit_to_zookeeper(kafka, "ancient", "none", 5)
    groups = {"members": "gzip", "by-hand": "none"}
    written, before = read_all(kafka, topics), all_committed(kafka, groups)
    tell("Kafka, at first", ends(written), before)
    getattr(kafka, end)()

    # In.
    options = ["--kafka-version", version] if is_told else []
    plan = when_expired("adopt", data_dir, "--zookeeper", connect, *options, "--execute")
    assert plan["kafka_version"] == (told.name if is_told else FOUND[version])

    # Ours.
    broker = start_barnabas()
    assert effective_version(broker) == plan["kafka_version"]
    assert read_all(broker, topics) == written
    assert all_committed(broker, groups) == before
    tell("Barnabas, adopted", ends(written), before)
    assert {topic: len(written[topic]) for topic in topics} == {**dict.fromkeys(topics, 120), "compacted": 40}
    for topic in topics:
        assert produce(broker, topic, "barnabas", is_idempotent=is_idempotent) == list(range(120, 240))
    assert go_on_in_group(broker, "members", "gzip", 50) == list(range(50, 100))
    assert go_on_in_group(broker, "new-members", "gzip", 30) == list(range(30))
    commit(broker, "by-hand", "none", 18)
    assert takes_zstd(broker, "none") == told.has_zstd
    assert committed_to_zookeeper(broker, "ancient", "none") == 5
    commit_to_zookeeper(broker, "ancient", "none", 6)
    create(broker, "new-here", 1, {"max.compaction.lag.ms": "987654321", "retention.ms": "123456789"})
    produce(broker, "new-here", "barnabas", is_idempotent=is_idempotent)
    delete(broker, "deleted-here")
    topics.append("new-here")
    groups["new-members"] = "gzip"
    written, before = read_all(broker, topics), all_committed(broker, groups)
    tell("Barnabas, at last", ends(written), before)
    getattr(broker, end)()

    # Out.
    assert barnabas("release", data_dir, "--zookeeper", connect, "--execute")["executed"]
    kafka.restart()
    wait_for_topics(kafka, *topics, "__consumer_offsets")
    assert read_all(kafka, topics) == written
    assert all_committed(kafka, groups) == before
    tell("Kafka, released", ends(written), before)
    for topic in topics:
        next_offset = max(offset for offset, _ in written[topic].values()) + 1
        offsets = produce(kafka, topic, "again", is_idempotent=is_idempotent)
        assert offsets == list(range(next_offset, next_offset + 120))
    assert go_on_in_group(kafka, "members", "gzip", 50) == list(range(100, 150))
    assert go_on_in_group(kafka, "new-members", "gzip", 30) == list(range(30, 60))
    assert committed_to_zookeeper(kafka, "ancient", "none") == 6
    again = read_all(kafka, topics)
    tell("Kafka, at last", ends(again), all_committed(kafka, groups))
    assert all(again[topic].items() >= written[topic].items() for topic in topics if topic != "compacted")
    assert {topic: len(again[topic]) - len(written[topic]) for topic in topics} == {
        **dict.fromkeys(topics, 120),
        "compacted": 0,
    }
    kafka.stop()
    assert errors_of(kafka) == []
    check_files(data_dir, version)
    assert magics(data_dir) == {told.magic}

    # What is found out about the directory is the same as before.
    assert barnabas("adopt", data_dir, "--zookeeper", connect)["kafka_version"] == FOUND[version]


def test_groups_that_were_compacted_in_an_old_format_are_read_after_a_kill(
    tmp_path: Path, connect: str, start_kafka: StartOldKafka, start_barnabas: StartBarnabas
) -> None:
    data_dir = tmp_path / "data"
    kafka = start_kafka("0.10.2.2")
    create(kafka, "none")
    produce(kafka, "none", "kafka", is_idempotent=False)
    commit_in_turn(kafka, "none", 100)
    kafka.stop()
    when_expired("adopt", data_dir, "--zookeeper", connect, "--execute")
    broker = start_barnabas(log_cleaner_backoff_ms="50")
    commit_in_turn(broker, "none", 400)
    cleaned = OffsetCheckpoint(LocalFileSystem(), data_dir / "cleaner-offset-checkpoint")
    deadline = time.monotonic() + PATIENCE_S
    while not any(topic == "__consumer_offsets" and offset > 100 for (topic, _), offset in cleaned.read().items()):
        assert time.monotonic() < deadline
        commit(broker, "group-0", "none", 395)
    broker.kill()
    barnabas("release", data_dir, "--zookeeper", connect, "--execute")
    kafka.restart()
    wait_for_topics(kafka, "none", "__consumer_offsets")
    assert [committed(kafka, f"group-{number}", "none") for number in range(5)] == [395, 396, 397, 398, 399]
    kafka.stop()
    assert errors_of(kafka) == []
    check_files(data_dir, "0.10.2.2")
    assert magics(data_dir) == {1}


def test_what_an_old_kafka_cannot_read_is_not_given_to_it(
    tmp_path: Path, connect: str, start_kafka: StartOldKafka, start_barnabas: StartBarnabas
) -> None:
    data_dir = tmp_path / "data"
    broker = start_barnabas(offsets_topic_num_partitions="1", num_partitions="1")
    for topic in ("none", "zstd"):
        create(broker, topic, 1, SMALL_SEGMENTS)
        produce(broker, topic, "barnabas", is_idempotent=True)
    assert go_on_in_group(broker, "members", "none", 50) == list(range(50))
    written = read_all(broker, ["none", "zstd"])
    broker.stop()
    files = contents_of(data_dir)
    for version, topics in (
        ("0.10.2", {"none-0", "zstd-0", "__consumer_offsets-0"}),
        ("1.1", {"zstd-0", "__consumer_offsets-0"}),
        ("2.2", {"__consumer_offsets-0"}),
    ):
        options = ["--zookeeper", connect, "--kafka-version", version, "--execute"]
        plan = barnabas("release", data_dir, *options, is_refused=True)
        assert {it["subject"] for it in plan["findings"] if it["kind"] == "blocked"} == topics
        assert "group members, which Kafka" in str(plan["findings"])
        assert contents_of(data_dir) == files
    assert barnabas("release", data_dir, "--zookeeper", connect, "--kafka-version", "2.3", "--execute")["executed"]
    assert tree_of(connect).nodes.keys() >= {"/brokers/topics/none", "/brokers/topics/zstd"}
    kafka = start_kafka("2.3.1")
    wait_for_topics(kafka, "none", "zstd", "__consumer_offsets")
    assert read_all(kafka, ["none", "zstd"]) == written
    assert go_on_in_group(kafka, "members", "none", 50) == list(range(50, 100))
    kafka.stop()
    assert errors_of(kafka) == []
    check_files(data_dir, "2.3.1")
