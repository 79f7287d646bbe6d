"""`scripts/bench --compaction`: measure how many MB of log the cleaners of Kafka 2.7.2 and Barnabas clean per second.

Each broker receives the same records (1,000 bytes, random keys, segments of 16 MB, one topic per codec) with its
cleaner off. Then it is stopped, and started with its cleaner on. The figures come from the brokers' own logs of each
round: the bytes of the segments that were read, and the time from the first byte of the first pass to the last swap.
CPU is that of the cleaner's threads alone, without Kafka's compiler and garbage collector. All data is in the page
cache.
"""

import argparse
import contextlib
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.load import report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import threads_cpu_s
from benchmarks.load.targets import barnabas_on
from tools.kafka.server import KafkaServer
from tools.wheel import compiled_environment

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_VALUE_BYTES = 1_000
_SEGMENT_BYTES = 16 * 1024 * 1024
_TIMEOUT_S = 600
_LOOK_S = 0.01
_OFF = {"log.cleaner.enable": "false"}
_KAFKA_SAYS = re.compile(r"cleaned log (\w+)-0 .*?\n\s*([\d,.]+) MB of log processed in ([\d,.]+) seconds", re.DOTALL)
_WE_SAY = re.compile(r"(\w+)-0: cleaned to offset \d+: \d+ segments, (\d+) to \d+ bytes, \d+ keys, in (\d+) ms")
_KAFKA_THREAD = "kafka-log-clean"

LINES = tuple(
    line
    for codec in CODECS
    for line in (
        Line(f"{codec}_mb_per_s", f"{codec}: MB/s", 0, 1.0, is_lower_better=False),
        Line(f"{codec}_cpu_per_gb", f"{codec}: CPU s of the cleaner per GB", 2),
    )
)


class Round(NamedTuple):
    """A cleaning round over one topic, from a broker's log."""

    topic: str
    size_bytes: float
    elapsed_s: float


class Cleaning(NamedTuple):
    """A broker that was started with its cleaner on.

    Attributes:
        rounds: Returns the rounds so far.
        used_s: Returns the CPU time of its cleaner so far.
    """

    rounds: Callable[[], list[Round]]
    used_s: Callable[[], float]


def _fill(servers: str, options: argparse.Namespace) -> None:
    for codec in options.codecs:
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": str(_SEGMENT_BYTES),
            "min.cleanable.dirty.ratio": "0.01",
        }
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        for future in admin.create_topics([NewTopic(codec, 1, 1, config=config)]).values():
            future.result(60)
        _produce(servers, codec, options)


def _produce(servers: str, codec: str, options: argparse.Namespace) -> None:
    settings: dict[str, str | int] = {"bootstrap.servers": servers, "linger.ms": 5, "log_level": 0}
    producer = Producer({**settings, "batch.size": options.batch_bytes, "compression.type": codec})
    dice = random.Random(1)
    # Random hex digits compress to half their size.
    letters = "".join(dice.choices("0123456789abcdef", k=1_000_000)).encode()
    for number in range(options.count):
        key = b"key-%08d" % dice.randrange(options.keys)
        start = dice.randrange(len(letters) - _VALUE_BYTES)
        value = letters[start : start + _VALUE_BYTES]
        while True:
            try:
                producer.produce(codec, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    if producer.flush(_TIMEOUT_S):
        raise RuntimeError("records were not taken")


@contextlib.contextmanager
def kafka(directory: Path, options: argparse.Namespace) -> Iterator[Cleaning]:
    """Run Kafka with its cleaner on."""
    with KafkaServer(directory, _OFF) as server:
        _fill(server.bootstrap_servers, options)
        server.stop()

    def rounds() -> list[Round]:
        # Kafka's log counts in MiB.
        return [
            Round(topic, float(size.replace(",", "")) * 1024 * 1024, float(elapsed.replace(",", "")))
            for topic, size, elapsed in _KAFKA_SAYS.findall(server.log_text())
        ]

    with KafkaServer(directory, {"log.cleaner.dedupe.buffer.size": str(options.memory_mb << 20)}) as server:
        yield Cleaning(rounds, lambda: threads_cpu_s(server.pid, _KAFKA_THREAD))


@contextlib.contextmanager
def _barnabas(python: Path, directory: Path, options: argparse.Namespace) -> Iterator[Cleaning]:
    directory.mkdir()
    log = directory / "broker.log"
    with barnabas_on(python, directory, *(f"--override={name}={value}" for name, value in _OFF.items())) as broker:
        _fill(broker.address, options)

    def rounds() -> list[Round]:
        return [
            Round(topic, float(size), int(elapsed_ms) / 1000)
            for topic, size, elapsed_ms in _WE_SAY.findall(log.read_text())
        ]

    memory = f"--override=log.cleaner.dedupe.buffer.size={options.memory_mb << 20}"
    with barnabas_on(python, directory, memory) as broker:
        yield Cleaning(rounds, lambda: threads_cpu_s(broker.pid))


TARGETS: dict[str, Callable[[Path, argparse.Namespace], contextlib.AbstractContextManager[Cleaning]]] = {
    "kafka": kafka,
    "barnabas": lambda directory, options: _barnabas(Path(sys.executable), directory, options),
    "barnabas-compiled": lambda directory, options: _barnabas(compiled_environment(), directory, options),
}


def measure(cleaning: Cleaning, codecs: list[str]) -> Figures:
    """Wait until every topic was cleaned once; return the figures of these rounds."""
    figures: Figures = {}
    deadline, used_s = time.monotonic() + _TIMEOUT_S, 0.0
    while time.monotonic() < deadline:
        for codec, size_bytes, elapsed_s in cleaning.rounds():
            if codec in codecs and f"{codec}_mb_per_s" not in figures:
                before_s, used_s = used_s, cleaning.used_s()
                figures[f"{codec}_mb_per_s"] = size_bytes / 1e6 / elapsed_s
                figures[f"{codec}_cpu_per_gb"] = (used_s - before_s) / (size_bytes / 1e9)
        if all(f"{codec}_mb_per_s" in figures for codec in codecs):
            return figures
        time.sleep(_LOOK_S)
    raise RuntimeError("the cleaner did not end")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --compaction", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=200_000, help="records per topic")
    parser.add_argument("--keys", type=int, default=40_000, help="number of distinct keys")
    parser.add_argument("--codecs", type=lambda text: text.split(","), default=list(CODECS), help="separated by commas")
    parser.add_argument("--batch-bytes", type=int, default=16_384, help="batch.size of the producer")
    parser.add_argument("--memory-mb", type=int, default=128, help="log.cleaner.dedupe.buffer.size")
    parser.add_argument("--target", default=",".join(TARGETS), help="comma-separated targets")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    for run in range(1, options.runs + 1):
        for name, runs in results.items():
            print(f"run {run}/{options.runs} {name}", file=sys.stderr, flush=True)
            directory = Path(tempfile.mkdtemp(prefix="barnabas-compaction-"))
            try:
                with TARGETS[name](directory / "broker", options) as cleaning:
                    runs.append(measure(cleaning, options.codecs))
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --compaction", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
