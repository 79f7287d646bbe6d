"""`scripts/bench --spark`: measure how fast Spark reads and writes, and the broker's CPU, compared with Kafka 2.7.2.

One Spark session on this machine runs the same loads on each broker in turn: a batch read of all records; streams to
nothing, to Parquet and to Delta; and a stream from one topic into another. Records have 1 KB values and no key, in
topics of four partitions. Each read begins at a topic's first record and ends at its last (available now). A first
round on each broker warms up Spark and the broker and is not counted. CPU is that of the broker process.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.pipeline.spark.session import spark_session
from benchmarks.load import report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import CPU_MICRO, cpu
from benchmarks.load.targets import TARGETS, Running
from tests.spark import DELTA, DELTA_SETTINGS, KAFKA_CONNECTOR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION_COUNT = 4
_VALUE_BYTES = 1_024
_SOURCE = "source"

TITLES = {
    "batch": "batch read",
    "nothing": "stream to nothing",
    "parquet": "stream to Parquet",
    "delta": "stream to Delta",
    "topic": "topic to topic",
}
LINES = tuple(
    line
    for name, title in TITLES.items()
    for line in (
        Line(f"{name}_records_per_s", f"{title}: records/s", 0, 1.0, is_lower_better=False),
        Line(f"{name}_cpu", f"{title}: broker's {CPU_MICRO} per record", 1),
    )
)


def fill(address: str, topic: str, count: int) -> None:
    """Create a topic and write records to it."""
    # Keep a reference until the answer arrives: the client's requests end with it.
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, PARTITION_COUNT, 1)])[topic].result()
    producer = Producer({"bootstrap.servers": address, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    value = bytes(range(256)) * (_VALUE_BYTES // 256)
    for number in range(count):
        producer.produce(topic, value, partition=number % PARTITION_COUNT)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def batch(spark: SparkSession, address: str, topic: str, directory: Path) -> int:
    """Read a topic as a batch."""
    frame = spark.read.format("kafka").options(**_options(address, topic)).load()
    return int(frame.selectExpr("sum(length(value))").collect()[0][0]) // _VALUE_BYTES


def to_nothing(spark: SparkSession, address: str, topic: str, directory: Path) -> int:
    """Stream a topic to Spark's `noop` sink."""
    return _run(_stream(spark, address, topic), "noop", directory)


def to_parquet(spark: SparkSession, address: str, topic: str, directory: Path) -> int:
    """Stream a topic to Parquet files."""
    return _run(_stream(spark, address, topic), "parquet", directory, path=str(directory / "table"))


def to_delta(spark: SparkSession, address: str, topic: str, directory: Path) -> int:
    """Stream a topic to a Delta table."""
    return _run(_stream(spark, address, topic), "delta", directory, path=str(directory / "table"))


def to_topic(spark: SparkSession, address: str, topic: str, directory: Path) -> int:
    """Stream a topic to another one."""
    target = {"kafka.bootstrap.servers": address, "topic": f"copy-of-{topic}-{directory.name}"}
    return _run(_stream(spark, address, topic).select("key", "value"), "kafka", directory, **target)


LOADS: dict[str, Callable[[SparkSession, str, str, Path], int]] = {
    "batch": batch,
    "nothing": to_nothing,
    "parquet": to_parquet,
    "delta": to_delta,
    "topic": to_topic,
}


@contextlib.contextmanager
def session() -> Iterator[SparkSession]:
    """Yield a session that can read topics and write Delta tables."""
    packages = ",".join([KAFKA_CONNECTOR, DELTA])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        place = Path(scratch)
        with spark_session(
            "bench", scratch=place / "spark", packages=packages, settings=DELTA_SETTINGS, log=place / "log"
        ) as spark:
            yield spark


def measure(
    spark: SparkSession, broker: Running, count: int, names: list[str], progress: Callable[[str], None]
) -> Figures:
    """Run all loads on one broker."""
    fill(broker.address, _SOURCE, count)
    figures: Figures = {}
    for name in names:
        progress(name)
        with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
            before_s, start_s = cpu(broker.pid), time.perf_counter()
            read_count = LOADS[name](spark, broker.address, _SOURCE, Path(directory))
            elapsed_s, used_s = time.perf_counter() - start_s, cpu(broker.pid) - before_s
            assert read_count == count, f"{name}: {read_count} of {count} records"
        figures |= {f"{name}_records_per_s": count / elapsed_s, f"{name}_cpu": used_s / count * 1e6}
    return figures


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench --spark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=300_000, help="records (%(default)s)")
    parser.add_argument("--target", default="kafka,barnabas", help="comma-separated targets")
    parser.add_argument("--only", default=",".join(LOADS), help=f"comma-separated loads: {', '.join(LOADS)}")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    names = options.only.split(",")
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    with session() as spark:
        for run in range(options.runs + 1):
            for name, runs in results.items():

                def progress(load: str, run: int = run, name: str = name) -> None:
                    print(f"run {run}/{options.runs} {name}: {load}", file=sys.stderr, flush=True)

                with TARGETS[name]() as broker:
                    # Run 0 warms up Spark and each broker.
                    figures = measure(spark, broker, options.count // (1 if run else 3), names, progress)
                    if run:
                        runs.append(figures)
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --spark", results, text)
    return 0


def _stream(spark: SparkSession, address: str, topic: str) -> DataFrame:
    return spark.readStream.format("kafka").options(**_options(address, topic)).load()


def _options(address: str, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": address, "subscribe": topic, "startingOffsets": "earliest"}


def _run(frame: DataFrame, sink: str, directory: Path, **options: str) -> int:
    """Run a stream to its end; return the number of records that it read."""
    query = (
        frame.writeStream.format(sink)
        .option("checkpointLocation", str(directory / "checkpoint"))
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sum(progress.numInputRows for progress in query.recentProgress)


if __name__ == "__main__":
    sys.exit(main())
