"""Kafka's DumpLogSegments finds nothing wrong in any file that the broker wrote."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from tests.compat.clients import FACTORIES, Message
from tests.compat.conftest import RunningBroker, StartBroker
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

SMALL_SEGMENTS = {
    "log.segment.bytes": "1100000",
    "log.index.interval.bytes": "4096",
    "offsets.topic.num.partitions": "2",
}


def fill(broker: RunningBroker, topic: str, start: int) -> None:
    """Write several segments of every codec, an idempotent producer's batches, and committed offsets."""
    with closing(FACTORIES["librdkafka"](broker.bootstrap_servers)) as client:
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            messages = [
                Message(random.Random(number).randbytes(600), b"k%d" % (number % 7), partition=number % 2)
                for number in range(start, start + 3_000)
            ]
            client.produce(topic, messages, codec=codec, is_idempotent=codec == "none")
        consumer = client.consumer(topic, topic)
        seen = 0
        while seen < 3_000:
            seen += len(consumer.poll(500))
        consumer.commit()
        consumer.close()


def dump(data_dir: Path, pattern: str, *options: str) -> str:
    files = sorted(str(path) for path in data_dir.rglob(pattern) if path.is_file() and "registry" not in path.name)
    assert files, f"no {pattern} under {data_dir}"
    result = run_tool("kafka.tools.DumpLogSegments", "--files", ",".join(files), *options, timeout_s=PATIENCE_S)
    assert result.returncode == 0, result.stderr[-2_000:]
    output = result.stdout + result.stderr
    for complaint in ("Exception", "Mismatches in", "Non-consecutive", "isvalid: false", "out of order", "is corrupt"):
        assert complaint not in output, output[-2_000:]
    for path in files:
        assert f"Dumping {path}" in output
    return result.stdout


def check_all_files(data_dir: Path, topic: str) -> None:
    text = dump(data_dir, "*.log", "--deep-iteration")
    assert "isvalid: true" in text
    sane = dump(data_dir, "*.index", "--index-sanity-check")
    # Kafka says nothing else of an index in order; one that lags its log says so in words.
    assert sane.count("passed sanity check") == len(list(data_dir.rglob("*.index")))
    dump(data_dir, "*.index", "--verify-index-only")
    assert "timestamp: " in dump(data_dir, "*.timeindex")
    assert dump(data_dir, "*.timeindex", "--index-sanity-check").count("passed sanity check") == len(
        list(data_dir.rglob("*.timeindex"))
    )
    assert len(list(data_dir.glob(f"{topic}-0/*.log"))) > 2
    dump(data_dir / f"{topic}-0", "*.snapshot")
    offsets = next(
        path for path in data_dir.glob("__consumer_offsets-*") if any(f.stat().st_size for f in path.glob("*.log"))
    )
    assert topic in dump(offsets, "*.log", "--offsets-decoder", "--print-data-log")


def test_after_a_clean_stop_and_after_a_kill(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**SMALL_SEGMENTS)
    client = FACTORIES["librdkafka"](broker.bootstrap_servers)
    client.create_topic(name, 2, {})
    client.close()
    fill(broker, name, 0)
    broker.stop()
    check_all_files(broker.data_dir, name)
    broker.restart()
    fill(broker, name, 10_000)
    broker.kill()
    broker.restart()
    broker.stop()
    check_all_files(broker.data_dir, name)
