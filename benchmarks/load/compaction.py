"""Compaction, Kafka 2.7.2's and ours in turn: how many MB of log a cleaner gets through in a second.

    python -m benchmarks.load.compaction [--runs 3] [--count 500000] [--keys 100000] [--codec none] [--memory-mb 128]

Each broker takes the same records (1,000 bytes under random keys, 64 MB segments) with its cleaner off, is stopped, and
started with its cleaner on. The figures are what the brokers' own logs say of the round: bytes of the segments that
were read, and the time from the first byte of the first pass to the last swap. All of it is in the page cache.
"""

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.testing import Broker
from tools.kafka.server import KafkaServer

_TOPIC = "compacted"
_VALUE_BYTES = 1_000
_TIMEOUT_S = 600
_OFF = {"log.cleaner.enable": "false"}
_KAFKA_SAYS = re.compile(
    rf"cleaned log {_TOPIC}-0 .*?\n\s*([\d,.]+) MB of log processed in ([\d,.]+) seconds", re.DOTALL
)
_WE_SAY = re.compile(
    rf"{_TOPIC}-0: cleaned up to offset \d+: \d+ segments, (\d+) bytes to (\d+), \d+ keys, in (\d+) ms"
)


def _fill(servers: str, options: argparse.Namespace) -> None:
    config = {"cleanup.policy": "compact", "segment.bytes": str(64 * 1024 * 1024), "min.cleanable.dirty.ratio": "0.01"}
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(_TOPIC, 1, 1, config=config)]).values():
        future.result(60)
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 5, "batch.size": 16_384, "compression.type": options.codec}
    )
    dice = random.Random(1)
    # Random letters: half their size when compressed.
    letters = "".join(dice.choices("0123456789abcdef", k=1_000_000)).encode()
    for number in range(options.count):
        key = b"key-%08d" % dice.randrange(options.keys)
        start = dice.randrange(len(letters) - _VALUE_BYTES)
        value = letters[start : start + _VALUE_BYTES]
        while True:
            try:
                producer.produce(_TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    if producer.flush(_TIMEOUT_S):
        raise RuntimeError("records were not taken")


def _wait_for(found: Callable[[], re.Match[str] | None]) -> re.Match[str]:
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        if (match := found()) is not None:
            return match
        time.sleep(0.1)
    raise RuntimeError("the cleaner did not end")


def kafka(directory: Path, options: argparse.Namespace) -> float:
    """MB/s of Kafka's cleaner."""
    with KafkaServer(directory, _OFF) as server:
        _fill(server.bootstrap_servers, options)
        server.stop()
    with KafkaServer(directory, {"log.cleaner.dedupe.buffer.size": str(options.memory_mb << 20)}) as server:
        match = _wait_for(lambda: _KAFKA_SAYS.search(server.log_text()))
    return float(match[1].replace(",", "")) * 1024 * 1024 / 1e6 / float(match[2].replace(",", ""))


def barnabas(directory: Path, options: argparse.Namespace) -> float:
    """MB/s of ours."""
    with Broker(config=_OFF, data_dir=directory) as broker:
        _fill(broker.bootstrap_servers, options)
    with Broker(config={"log.cleaner.dedupe.buffer.size": str(options.memory_mb << 20)}, data_dir=directory) as broker:
        match = _wait_for(lambda: _WE_SAY.search(broker.log_text()))
    return int(match[1]) / 1e6 / (int(match[3]) / 1000)


TARGETS = {"kafka": kafka, "barnabas": barnabas}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load.compaction", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=500_000, help="records")
    parser.add_argument("--keys", type=int, default=100_000, help="different keys")
    parser.add_argument("--codec", default="none", help="compression.type of the producer")
    parser.add_argument("--memory-mb", type=int, default=128, help="log.cleaner.dedupe.buffer.size")
    parser.add_argument("--target", default="kafka,barnabas")
    options = parser.parse_args()
    results: dict[str, list[float]] = {name: [] for name in options.target.split(",")}
    for run in range(options.runs):
        for name, rates in results.items():
            with tempfile.TemporaryDirectory(prefix="barnabas-compaction-") as directory:
                rates.append(TARGETS[name](Path(directory) / "broker", options))
            print(f"run {run + 1}/{options.runs} {name}: {rates[-1]:.0f} MB/s", file=sys.stderr, flush=True)
    for name, rates in results.items():
        print(f"{name}: {statistics.median(rates):.0f} MB/s ({min(rates):.0f} to {max(rates):.0f})")
    if len(results) == len(TARGETS):
        print(f"ratio: {statistics.median(results['barnabas']) / statistics.median(results['kafka']):.2f}")


if __name__ == "__main__":
    main()
