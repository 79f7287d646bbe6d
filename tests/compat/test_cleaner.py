"""What the cleaner leaves of a log is what Kafka 2.7.2's own cleaner leaves of the same log.

Kafka writes topics that its cleaner leaves alone; a copy is cleaned here, the original by Kafka. A second round
follows, in which tombstones, markers and aborted data go. Kafka stands still while its files are copied.
"""

import random
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from barnabas.broker.log.cleaner.cleaner import Cleaner
from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor, new_stop_signal
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records, read_any_header
from tests.patience import PATIENCE_S, until
from tests.settled import await_markers
from tools.kafka.java import run_tool
from tools.kafka.server import QuickKafkaServer

CHECKPOINT = "cleaner-offset-checkpoint"

DIRTY_RATIO, ALWAYS, NEVER = "min.cleanable.dirty.ratio", "0.01", "1.0"
COMPACTED = {"cleanup.policy": "compact", DIRTY_RATIO: ALWAYS, "segment.bytes": "30000"}
TOPICS: dict[str, dict[str, str]] = {
    **dict.fromkeys(("none", "gzip", "snappy", "lz4", "zstd"), COMPACTED),
    "tombstones": {**COMPACTED, "delete.retention.ms": "1"},
    "append-time": {**COMPACTED, "message.timestamp.type": "LogAppendTime"},
    "idempotent": COMPACTED,
    "transactions": {**COMPACTED, "delete.retention.ms": "1", "segment.bytes": "4000"},
    "v0": {**COMPACTED, "message.format.version": "0.9.0"},
    "v1": {**COMPACTED, "message.format.version": "0.10.0", "delete.retention.ms": "1"},
}
NAMES = list(TOPICS)


class Rounds(NamedTuple):
    """Data directories before and after Kafka cleaned them, for each round."""

    before: tuple[Path, Path]
    after: tuple[Path, Path]


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    directory = tmp_path_factory.mktemp("cleaner")
    before, after = [], []
    # Files of full size are copied.
    settings = {"log.cleaner.backoff.ms": "100", "log.index.size.max.bytes": "40000"}
    with QuickKafkaServer(directory / "server", settings) as server:
        admin = AdminClient({"bootstrap.servers": server.bootstrap_servers})
        create_topics(admin)
        for number in range(2):
            set_dirty_ratio(admin, NEVER)
            write(server.bootstrap_servers, number)
            before.append(copy(server, directory / f"before-{number}"))
            set_dirty_ratio(admin, ALWAYS)
            wait_until_clean(server.data_dir)
            after.append(copy(server, directory / f"after-{number}"))
    return Rounds((before[0], before[1]), (after[0], after[1]))


def copy(server: QuickKafkaServer, target: Path) -> Path:
    server.pause()
    try:
        return shutil.copytree(server.data_dir, target)
    finally:
        server.resume()


def create_topics(admin: AdminClient) -> None:
    new = [NewTopic(name, 1, 1, config={**config, DIRTY_RATIO: NEVER}) for name, config in TOPICS.items()]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_S)


def set_dirty_ratio(admin: AdminClient, ratio: str) -> None:
    """Say how much of each topic must be dirty until Kafka cleans it."""
    change = ConfigEntry(DIRTY_RATIO, ratio, incremental_operation=AlterConfigOpType.SET)
    topics = [ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[change]) for name in TOPICS]
    for future in admin.incremental_alter_configs(topics).values():
        future.result(PATIENCE_S)


def write(servers: str, number: int) -> None:
    for name in TOPICS:
        if name == "transactions":
            write_transactions(servers, number)
        else:
            codec = name if name in ("gzip", "snappy", "lz4", "zstd") else {"v0": "lz4", "v1": "gzip"}.get(name, "none")
            write_plain(servers, name, codec, number)


def write_plain(servers: str, topic: str, codec: str, number: int) -> None:
    dice = random.Random(f"{topic} {number}")
    # Not so long ago that a log that is opened has forgotten its producers.
    first_ms = int(time.time() * 1000) - 1_000_000
    settings = {"compression.type": codec, "enable.idempotence": topic == "idempotent", "batch.num.messages": 20}
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, **settings})
    for count in range(1500):
        is_tombstone = dice.random() < 0.1
        value = None if is_tombstone else dice.randbytes(dice.randrange(120))
        timestamp = first_ms + dice.randrange(1_000_000)
        producer.produce(topic, value, b"key-%d" % dice.randrange(150), 0, timestamp=timestamp)
        if count % 100 == 0:
            producer.flush(PATIENCE_S)
    assert producer.flush(PATIENCE_S) == 0


def write_transactions(servers: str, number: int) -> None:
    """Transactions of two producers that overlap, and one producer that ends with an abort."""
    dice = random.Random(number)
    producers = [
        Producer({"bootstrap.servers": servers, "transactional.id": f"x-{number}-{index}"}) for index in range(3)
    ]
    for producer in producers:
        producer.init_transactions(PATIENCE_S)
    for turn in range(12):
        for producer in producers:
            producer.begin_transaction()
        for _ in range(10):
            for producer in producers:
                value = dice.randbytes(30) if dice.random() < 0.9 else None
                producer.produce("transactions", value, b"%d" % dice.randrange(40), 0)
                producer.flush(PATIENCE_S)
        for index, producer in enumerate(producers):
            is_aborted = dice.random() < 0.4 or (turn == 11 and index == 2)
            producer.abort_transaction(PATIENCE_S) if is_aborted else producer.commit_transaction(PATIENCE_S)
    await_markers(servers, "transactions")


def wait_until_clean(data_dir: Path) -> None:
    """Wait until Kafka has cleaned each topic up to its active segment."""
    wanted = {name: int(segments(data_dir / f"{name}-0")[-1].stem) for name in TOPICS}
    until(lambda: clean_offsets(data_dir, wanted) == wanted, lambda: clean_offsets(data_dir, wanted))


def clean_offsets(data_dir: Path, names: Mapping[str, object]) -> dict[str, int]:
    read = OffsetCheckpoint(LocalFileSystem(), data_dir / CHECKPOINT).read()
    return {name: read.get(TopicPartition(name, 0), -1) for name in names}


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


@pytest.fixture(scope="module")
def cleaned_here(rounds: Rounds, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Copies of the directories, cleaned by us."""
    copies = []
    for before in rounds.before:
        copy = tmp_path_factory.mktemp("ours") / "data"
        shutil.copytree(before, copy)
        for name in TOPICS:
            clean(copy, name)
        copies.append(copy)
    return copies


def clean(data_dir: Path, name: str) -> None:
    config = TopicConfig.from_broker(broker_config()).with_overrides(TOPICS[name])
    timers = ManualClock()
    env = LogEnvironment(SystemClock(), timers, InlineExecutor())
    topic_partition = TopicPartition(name, 0)
    log = open_log(env, topic_partition, data_dir / f"{name}-0", config, was_clean=False)
    log.note_high_watermark(log.log_end_offset)
    offsets = OffsetCheckpoint(env.files, data_dir / CHECKPOINT).read()
    log.first_dirty_offset = offsets.get(topic_partition)
    ends: list[PartitionLog] = []
    cleaner = Cleaner(
        broker_config(),
        env,
        InlineExecutor(),
        lambda: [log],
        lambda: {topic_partition: log.log_end_offset},
        ends.append,
        new_stop_signal(),
    )
    cleaner.start()
    timers.advance(0)
    assert ends == [log], cleaner.uncleanable
    assert log.first_dirty_offset == log.segments[-1].base_offset
    log.close()
    # What it took away would go a minute later.
    timers.advance(60_000)


def broker_config() -> BrokerConfig:
    return BrokerConfig.from_properties({}, None, "test")


def contents(path: Path) -> list[object]:
    """All of a segment but the compressed bytes: header fields and records of each batch."""
    found: list[object] = []
    for batch in batches_of_any_magic(path.read_bytes()):
        header = read_any_header(batch)
        if isinstance(header, BatchHeader):
            found.append(header._replace(crc=0, batch_length=0))
        else:
            found.append(header._replace(crc=0, size=0))
        found.append(list(iterate_any_records(batch)))
    return found


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_leaves_what_kafkas_cleaner_leaves(rounds: Rounds, cleaned_here: list[Path], name: str, number: int) -> None:
    theirs = segments(rounds.after[number] / f"{name}-0")
    ours = segments(cleaned_here[number] / f"{name}-0")
    assert len(segments(rounds.before[number] / f"{name}-0")) > 2
    assert [path.name for path in ours] == [path.name for path in theirs]
    for our_path, their_path in zip(ours, theirs, strict=True):
        assert contents(our_path) == contents(their_path)
        if name in ("none", "tombstones", "append-time", "idempotent", "transactions"):
            assert our_path.read_bytes() == their_path.read_bytes()
    before = [record for path in segments(rounds.before[number] / f"{name}-0") for record in contents(path)]
    assert before != [record for path in ours for record in contents(path)]


@pytest.mark.parametrize("number", [0, 1])
def test_transaction_indexes_are_kafkas(rounds: Rounds, cleaned_here: list[Path], number: int) -> None:
    theirs, ours = (
        {path.name: path.read_bytes() for path in (data_dir / "transactions-0").glob("*.txnindex")}
        for data_dir in (rounds.after[number], cleaned_here[number])
    )
    # Kafka leaves empty files.
    assert {name: data for name, data in ours.items() if data} == {name: data for name, data in theirs.items() if data}


def test_kafka_finds_nothing_wrong(cleaned_here: list[Path]) -> None:
    for data_dir in cleaned_here:
        for pattern, options in (("*.log", ["--deep-iteration"]), ("*.index", []), ("*.timeindex", [])):
            # The last segment is Kafka's own, and in the old formats it finds fault with that.
            files = [str(path) for name in TOPICS for path in sorted((data_dir / f"{name}-0").glob(pattern))[:-1]]
            result = run_tool("kafka.tools.DumpLogSegments", "--files", ",".join(files), *options, timeout_s=PATIENCE_S)
            output = result.stdout + result.stderr
            assert result.returncode == 0, output[-2_000:]
            for complaint in ("Exception", "Mismatches", "isvalid: false", "out of order", "is corrupt"):
                assert complaint not in output, output[-2_000:]
