"""`scripts/bench --conversions`: measure conversions of records to another format or codec, compared with Kafka 2.7.2.

Each load runs on its own topic, with records of 100 bytes and no key. Meanwhile a small client produces a record of 100
bytes to a topic of format 2.7 every millisecond; its p99 is reported alone and beside each load. A load's client first
warms up itself and the broker. MB counts the records' values. CPU is that of the broker process.

Loads that produce use a Java client of 0.10.2 (which sends magic 1) or 0.11 (magic 2). Loads that fetch in an older
format use the same 0.10.2 client (magic 1), or requests built by hand like those of clients before 0.10 (Fetch v1,
magic 0): one megabyte from the beginning of the log, repeatedly.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.load import raw, report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import CPU, cpu
from benchmarks.load.targets import TARGETS, Running
from tools.kafka.java import compiled, die_with_parent, java_command

_CLIENT = Path(__file__).parent / "java" / "OldClient.java"
_OLD, _NEWER = "kafka-0.10.2.2", "kafka-0.11.0.3"
_SETTLE_S = 1.0
_ALONE_S = 2.0
_WARM_TOPIC = "beside"
_RAW_FETCH_BYTES = 1 << 20
_RAW_FETCHES = 40
_VALUE_BYTES = 100


class Produced(NamedTuple):
    """A load by a Java producer.

    Attributes:
        title: Title in the table.
        client: The set of jars of the client.
        codec: The producer's compression.type.
        config: The topic's settings.
    """

    title: str
    client: str
    codec: str
    config: dict[str, str]


_OLD_FORMAT = {"message.format.version": "0.10.2"}

PRODUCED = {
    "up": Produced("0.10 producer, no codec", _OLD, "none", {}),
    "up-lz4": Produced("0.10 producer, lz4", _OLD, "lz4", {}),
    "same": Produced("0.10 producer, topic of format 0.10.2", _OLD, "none", _OLD_FORMAT),
    "down": Produced("0.11 producer, topic of format 0.10.2", _NEWER, "none", _OLD_FORMAT),
    "down-lz4": Produced(
        "0.11 producer, topic of format 0.10.2, lz4", _NEWER, "lz4", {"message.format.version": "0.10.2"}
    ),
    "old-gzip": Produced("0.10 producer, snappy to gzip", _OLD, "snappy", {"compression.type": "gzip"}),
    "none-lz4": Produced("0.11 producer, none to lz4", _NEWER, "none", {"compression.type": "lz4"}),
    "snappy-gzip": Produced("0.11 producer, snappy to gzip", _NEWER, "snappy", {"compression.type": "gzip"}),
    "snappy-none": Produced("0.11 producer, snappy to none", _NEWER, "snappy", {"compression.type": "uncompressed"}),
}
FETCHED = {
    "fetch-1": "0.10 consumer of format 2.7, no codec",
    "fetch-1-lz4": "0.10 consumer of format 2.7, lz4",
    "fetch-0": "Fetch v1 of format 2.7, no codec",
}
LOADS = (*PRODUCED, *FETCHED)
TITLES = {**{name: load.title for name, load in PRODUCED.items()}, **FETCHED}

LINES = (
    Line("alone_p99_us", "small producer alone: p99 µs", 0),
    *(
        line
        for name in LOADS
        for line in (
            Line(f"{name}_mb_per_s", f"{TITLES[name]}: MB/s", 1, 1.0, is_lower_better=False),
            Line(f"{name}_cpu_per_gb", f"{TITLES[name]}: {CPU} per GB", 1),
            Line(f"{name}_p99_us", f"{TITLES[name]}: p99 µs beside it", 0),
        )
    ),
)


class Beside:
    """The small client: one record every millisecond, until the load is over."""

    def __init__(self, address: str) -> None:
        self._connection = raw.prepare(address, _WARM_TOPIC)
        self._request = raw.produce_request(_WARM_TOPIC, raw.record_batch(_VALUE_BYTES))

    def p99_us(self, is_over: Callable[[], bool]) -> float:
        times_s = sorted(self._times_s(is_over))
        return times_s[int(len(times_s) * 0.99)] * 1e6

    def _times_s(self, is_over: Callable[[], bool]) -> Iterator[float]:
        while True:
            start = time.perf_counter()
            self._connection.sendall(self._request)
            answer = raw.receive(self._connection)
            yield time.perf_counter() - start
            if error := raw.produce_error(answer, _WARM_TOPIC):
                raise RuntimeError(f"produce error {error}")
            if is_over():
                return
            time.sleep(0.001)

    def close(self) -> None:
        self._connection.close()


class Sizes(NamedTuple):
    """Number of records of a load, and of its warm-up."""

    warmup_count: int
    record_count: int


def _create(address: str, topic: str, config: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for future in admin.create_topics([NewTopic(topic, 1, 1, config=config)]).values():
        future.result(60)


def _figures(name: str, size_bytes: float, elapsed_s: float, used_s: float, p99_us: float) -> Figures:
    return {
        f"{name}_mb_per_s": size_bytes / 1e6 / elapsed_s,
        f"{name}_cpu_per_gb": used_s / (size_bytes / 1e9),
        f"{name}_p99_us": p99_us,
    }


def _run_java(broker: Running, jar_set: str, arguments: list[str], beside: Beside) -> tuple[float, float, float]:
    """Run a Java client; return its seconds, the broker's CPU time, and the small client's p99."""
    classes = compiled(_CLIENT, jar_set)
    command = java_command(
        "OldClient", arguments, jar_set=jar_set, jvm_options=("-Xmx256m",), extra_classpath=classes, log_level="ERROR"
    )
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        if client.stdout.readline() != "ready\n":
            raise RuntimeError(f"{' '.join(arguments)} does not work")
        before_s = cpu(broker.pid)
        client.stdin.write("\n")
        client.stdin.flush()
        p99_us = beside.p99_us(lambda: client.poll() is not None)
        used_s = cpu(broker.pid) - before_s
        text = client.stdout.readline()
        if client.returncode or not text:
            raise RuntimeError(f"{' '.join(arguments)} failed")
    return float(text), used_s, p99_us


def produce(broker: Running, name: str, sizes: Sizes, beside: Beside) -> Figures:
    """Produce to a topic with another format or codec."""
    load = PRODUCED[name]
    _create(broker.address, name, load.config)
    arguments = ["produce", broker.address, name, *map(str, sizes), str(_VALUE_BYTES), load.codec]
    return _figures(name, sizes.record_count * _VALUE_BYTES, *_run_java(broker, load.client, arguments, beside))


def fetch(broker: Running, name: str, sizes: Sizes, beside: Beside) -> Figures:
    """Fetch, in an older format, records stored in a newer one."""
    codec = "lz4" if name.endswith("lz4") else "none"
    topic = f"fetched-{codec}"
    if topic not in AdminClient({"bootstrap.servers": broker.address, "log_level": 0}).list_topics(timeout=60).topics:
        _create(broker.address, topic, {})
        filling = ["produce", broker.address, topic, "0", str(sizes.record_count), str(_VALUE_BYTES), codec]
        _run_java(broker, _NEWER, filling, beside)
    if name == "fetch-0":
        return _fetch_by_hand(broker, name, topic, beside)
    arguments = ["consume", broker.address, topic, *map(str, sizes)]
    return _figures(name, sizes.record_count * _VALUE_BYTES, *_run_java(broker, _OLD, arguments, beside))


def _fetch_by_hand(broker: Running, name: str, topic: str, beside: Beside) -> Figures:
    command = [sys.executable, "-m", "benchmarks.load.raw", "fetch-old", broker.address, topic]

    def start(count: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, str(count), str(_RAW_FETCH_BYTES), "--pid", str(broker.pid)],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )

    with start(_RAW_FETCHES // 4) as warmup:
        beside.p99_us(lambda: warmup.poll() is not None)
    with start(_RAW_FETCHES) as client:
        p99_us = beside.p99_us(lambda: client.poll() is not None)
        assert client.stdout is not None
        found = json.load(client.stdout)
    # The response is in magic 0; only the values count.
    value_bytes = found["received_bytes"] * _VALUE_BYTES / (_VALUE_BYTES + raw.MESSAGE_OVERHEAD)
    return _figures(name, value_bytes, found["elapsed_s"], found["cpu"], p99_us)


def measure(broker: Running, loads: list[str], sizes: Sizes, progress: Callable[[str], None]) -> Figures:
    """Run the named loads on one broker and return every figure."""
    time.sleep(_SETTLE_S)
    beside = Beside(broker.address)
    try:
        warm_s = time.perf_counter() + _ALONE_S
        beside.p99_us(lambda: time.perf_counter() > warm_s)
        end_s = time.perf_counter() + _ALONE_S
        figures = {"alone_p99_us": beside.p99_us(lambda: time.perf_counter() > end_s)}
        for name in loads:
            progress(name)
            figures |= (produce if name in PRODUCED else fetch)(broker, name, sizes, beside)
    finally:
        beside.close()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --conversions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=200_000, help="records per load; a third as many for the warm-up")
    parser.add_argument("--target", default="kafka,barnabas,barnabas-compiled", help="comma-separated targets")
    parser.add_argument("--only", default=",".join(LOADS), help=f"comma-separated loads: {', '.join(LOADS)}")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    sizes = Sizes(options.count // 3, options.count)
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    for run in range(1, options.runs + 1):
        for name, runs in results.items():

            def progress(load: str, run: int = run, name: str = name) -> None:
                print(f"run {run}/{options.runs} {name}: {load}", file=sys.stderr, flush=True)

            with TARGETS[name]() as broker:
                runs.append(measure(broker, options.only.split(","), sizes, progress))
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --conversions", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
