"""Logs killed while they are written, and directories that go back and forth between Kafka 2.7.2 and us.

The judge is Kafka: DumpLogSegments, and the broker itself.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer
from confluent_kafka import TopicPartition as Assignment

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import is_crc_valid, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.record import iterate_records
from tests.integration.log_writer import OVERRIDES
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import KafkaServer, QuickKafkaServer

ROOT = Path(__file__).resolve().parents[2]
TP = TopicPartition("t", 0)
KINDS = ("log", "index", "timeindex", "snapshot")


def find_nothing_wrong(directory: Path, *, is_all_ours: bool = True, is_closed: bool = True) -> None:
    """Let Kafka's DumpLogSegments look at every file of a log.

    Args:
        is_all_ours: Kafka's own time indexes name the record with the largest timestamp, and DumpLogSegments wants the
            last record of its batch: what Kafka wrote is only asked to be sane.
        is_closed: It has a snapshot at its end; one that is open may have none yet.
    """
    files = {kind: sorted(str(path) for path in directory.glob(f"*.{kind}")) for kind in KINDS}
    assert [kind for kind, paths in files.items() if not paths and (is_closed or kind != "snapshot")] == []
    looked_into = [path for kind, paths in files.items() if is_all_ours or kind != "timeindex" for path in paths]
    for paths, options in (
        (looked_into, ("--deep-iteration",)),
        (files["index"] + files["timeindex"], ("--index-sanity-check",)),
    ):
        result = run_tool("kafka.tools.DumpLogSegments", "--files", ",".join(paths), *options, timeout_s=PATIENCE_S)
        output = result.stdout + result.stderr
        assert result.returncode == 0, output[-2000:]
        for complaint in ("Exception", "Mismatches", "Non-consecutive", "isvalid: false", "out of order", "not found"):
            assert complaint not in output, output[-2000:]


@pytest.mark.parametrize(
    "acknowledged_count", [*(pytest.param(each, marks=pytest.mark.whole) for each in (20, 1500)), 700]
)
def test_killed_while_writing(tmp_path: Path, acknowledged_count: int) -> None:
    directory = tmp_path / "t-0"
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.log_writer", str(directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        assert writer.stdout is not None
        for _ in range(acknowledged_count):
            acknowledged_offset = int(writer.stdout.readline())
        writer.kill()
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test")).with_overrides(OVERRIDES)
    env = LogEnvironment(SystemClock(), ManualClock(), InlineExecutor())
    log = open_log(env, TP, directory, config)

    assert log.log_end_offset >= acknowledged_offset
    assert [r.offset for b in log.batches(0, log.log_end_offset) for r in iterate_records(b)] == list(
        range(log.log_end_offset)
    )
    find_nothing_wrong(directory, is_closed=False)
    log.close()
    find_nothing_wrong(directory)


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaServer]:
    config = {
        "log.segment.bytes": "100000",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    server = QuickKafkaServer(tmp_path / "kafka", config)
    server.start()
    try:
        yield server
    finally:
        server.close()


def write_with_kafka(server: KafkaServer, topic: str, count: int) -> None:
    idempotent = Producer({"bootstrap.servers": server.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
    transactional = Producer({"bootstrap.servers": server.bootstrap_servers, "transactional.id": f"x-{topic}"})
    transactional.init_transactions(30)
    for ends in (transactional.commit_transaction, transactional.abort_transaction):
        transactional.begin_transaction()
        for _ in range(10):
            transactional.produce(topic, b"in a transaction", partition=0)
        transactional.flush(PATIENCE_S)
        ends(30)
    for index in range(count):
        idempotent.produce(topic, b"%d" % index + bytes(200), b"kafka", partition=0)
        if index % 100 == 0:
            idempotent.flush(PATIENCE_S)
    assert idempotent.flush(PATIENCE_S) == 0


def count_with_kafka(server: KafkaServer, topic: str, end_offset: int) -> int:
    consumer = Consumer({"bootstrap.servers": server.bootstrap_servers, "group.id": "g", "check.crcs": True})
    # Who knows no leader yet asks where the beginning is half a second later.
    consumer.list_topics(topic, timeout=PATIENCE_S)
    consumer.assign([Assignment(topic, 0, OFFSET_BEGINNING)])
    seen = 0
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{seen} messages, then none"
        assert message.error() is None
        seen += 1
        if message.offset() == end_offset - 1:
            consumer.close()
            return seen


async def take_over(data_dir: Path, topic: str, disk: FaultyDisk) -> tuple[LogManager, PartitionLog]:
    config = BrokerConfig.from_properties(
        {"broker.id": "0", "log.dirs": str(data_dir), "log.segment.bytes": "100000"}, None, "test"
    )
    topic_config = TopicConfig.from_broker(config)
    failures: list[BaseException] = []
    manager = LogManager(
        config, SystemClock(), ManualClock(), InlineExecutor(), lambda _: topic_config, failures.append, files=disk
    )
    await manager.lock()
    await manager.load(manager.known_cluster_id or "", manager.known_broker_id or 0)
    log = manager.get(TopicPartition(topic, 0))
    assert log is not None
    return manager, log


@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.whole), "kill"])
def test_a_directory_goes_to_us_and_back(kafka: KafkaServer, end: str) -> None:
    topic = f"t-{end}"
    write_with_kafka(kafka, topic, 1000)
    getattr(kafka, end)()
    before = {path.name: path.read_bytes() for path in (kafka.data_dir / f"{topic}-0").glob("*.log")}

    async def write_on() -> int:
        disk = FaultyDisk()
        manager, log = await take_over(kafka.data_dir, topic, disk)
        assert {path.name: path.read_bytes() for path in log.directory.glob("*.log")} == before
        kept = list(log.batches(0, log.log_end_offset))
        assert all(is_crc_valid(batch, 0, len(batch)) for batch in kept)
        assert log.log_end_offset == read_header(kept[-1]).last_offset + 1 == 1022
        assert len(log.producers) == 2
        for _ in range(1500):
            builder = BatchBuilder()
            builder.append(log.active_segment.max_timestamp_ms + 1, b"ours", bytes(200))
            log.append(memoryview(builder.build()), log.latest_epoch)
        if end == "stop":
            await manager.close()
        else:
            disk.kill()
        return log.log_end_offset

    end_offset = asyncio.run(write_on())
    if end == "stop":
        find_nothing_wrong(kafka.data_dir / f"{topic}-0", is_all_ours=False)
    kafka.restart()

    assert count_with_kafka(kafka, topic, end_offset) == 1010 + 1500
    assert not re.search(r"ERROR.*(corrupt|Corrupt|Found invalid)", kafka.log_text())
    kafka.stop()
    find_nothing_wrong(kafka.data_dir / f"{topic}-0", is_all_ours=False)
