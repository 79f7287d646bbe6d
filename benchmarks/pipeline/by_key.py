"""Measure what a load by key costs, compared with appending: `python -m benchmarks.pipeline.by_key --format delta`.

A broker receives two halves of records, each with as many records as keys. A record has about a hundred bytes and a
random key: some keys occur many times, others never. `barnabas pipeline run load --once` loads the first half into an
empty table, then the second half into the same table: once by appending, and once with `--by-key`. Each run is its own
process and includes the start of Python and Spark. The table by key is then compared with the records that were sent.
Wall time, CPU and memory are as in `benchmarks.pipeline.jobs`.
"""

import argparse
import json
import os
import random
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.formats import open_table
from benchmarks.load.targets import TARGETS, Running
from benchmarks.pipeline.jobs import measured

_SOURCES = Path(__file__).parents[2]
_TOPIC = "people"
_PARTITION_COUNT = 4
_ROUNDS = ("into an empty table", "the same again")
_TEXT = "x" * 60


def main() -> None:
    """Measure one format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000, metavar="N", help="records per half (%(default)s)")
    parser.add_argument("--keys", type=int, metavar="N", help="number of distinct keys (default: as many as records)")
    parser.add_argument("--every-key", action="store_true", help="the first half has each key once, so each has a row")
    parser.add_argument("--halves", type=int, choices=(1, 2), default=2, help="halves to load (%(default)s)")
    parser.add_argument("--format", choices=("delta", "iceberg"), default="delta", help="table format (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the random keys (%(default)s)")
    arguments = parser.parse_args()
    chance, last = random.Random(arguments.seed), dict[str, int]()
    key_count = arguments.keys or arguments.events
    with TARGETS["barnabas"]() as broker, tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(_TOPIC, _PARTITION_COUNT, 1)])[_TOPIC].result(30)
        sizes = f"{arguments.events:,} records of {key_count:,} keys in each half"
        print(f"{arguments.format}, {sizes}; seed {arguments.seed}\n")
        print("| load | how | wall s | records/s | CPU s | records per CPU s | peak MB | load |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for number, round_name in enumerate(_ROUNDS[: arguments.halves]):
            keys = [chance.randrange(key_count) for _ in range(arguments.events)]
            if arguments.every_key and not number:
                keys = chance.sample(range(key_count), key_count)
            last |= send(broker, keys, number * arguments.events)
            for how in ("append", "by-key"):
                words = words_of(broker, arguments.format, how, Path(name))
                cost = measured(words, _SOURCES, Path(name) / f"{how}-{number}")
                rates = f"{len(keys) / cost.wall_s:,.0f} | {cost.cpu_s:.0f} | {len(keys) / cost.cpu_s:,.0f}"
                memory = f"{cost.peak_mb:,.0f} | {os.getloadavg()[0]:.1f}"
                print(f"| {round_name} | {how} | {cost.wall_s:.0f} | {rates} | {memory} |", flush=True)
        check(Path(name), arguments.format, last)


def send(broker: Running, keys: list[int], start: int) -> dict[str, int]:
    """Send a numbered record for each key; return the last number of each key."""
    producer = Producer(
        {"bootstrap.servers": broker.address, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    )
    last = {}
    for n, key in enumerate(keys, start):
        last[f"key-{key}"] = n
        value = json.dumps({"n": n, "name": f"user {key}", "about": _TEXT})
        while True:
            try:
                producer.produce(_TOPIC, value, f"key-{key}")
                break
            except BufferError:
                producer.poll(1)
    if left := producer.flush(600):
        raise RuntimeError(f"{left} records were not sent")
    return last


def words_of(broker: Running, table_format: str, how: str, directory: Path) -> list[str]:
    """Return the words of the command that loads the topic."""
    place = directory / how
    words = ["run", "load", "--once", "--bootstrap-server", broker.address, "--format", table_format]
    words += ["--tables", str(place / "tables"), "--checkpoint", str(place / "checkpoints")]
    return [*words, "--scratch", str(place / "scratch"), "--by-key" if how == "by-key" else "--topics", _TOPIC]


def check(directory: Path, table_format: str, last: dict[str, int]) -> None:
    """Check that the table by key has the last record of each key, and no other rows."""
    location = table_location(str(directory / "by-key" / "tables"), table_format, "load", _TOPIC)
    log = directory / "check.log"
    with spark_session("check", scratch=directory / "check", log=log) as spark:
        rows = open_table(spark, location, table_format).read().select("_key", "n").toArrow()
    found = dict(zip(rows["_key"].to_pylist(), rows["n"].to_pylist(), strict=True))
    if len(rows) != len(last) or found != last:
        raise RuntimeError(f"{len(rows)} rows of {len(last)} keys, {len(last.items() - found.items())} of them wrong")
    print(f"\n{len(rows):,} rows, each of its key's last record")


if __name__ == "__main__":
    main()
