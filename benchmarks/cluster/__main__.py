"""`scripts/bench --cluster`: three brokers beside three of Kafka 2.7.2, one ZooKeeper for each three; some 15 minutes.

    small       one Produce of 100 bytes in flight, acks=all, three replicas
    flood       100 connections that do so
    librdkafka  200,000 records of a kilobyte, acks=all, three partitions with a leader each
    follower    broker 3 copies what broker 1 has: batches of 1 MB, 16 KB and 200 bytes
    failover    a broker is killed that leads a third of 2,000 partitions: from the end of its session on
    one, two    one broker, and two on the same machine beside one Kafka, acks=1 and no copies, 100 connections in all

A Kafka does each load (but failover) until two rounds cost the same within 5 %, for half a minute at the most. Then,
for `small`, `flood`, `one` and `two`, the clusters stand beside each other and do five rounds each in turn, of which
the medians count. The other works are too large for that: each is done on a cluster of its own, one kind after the
other in each run, and the last round counts. CPU is that of all brokers, or of the follower alone.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks.cluster.clusters import KINDS, Cluster, cluster
from benchmarks.cluster.works import (
    Load,
    brokers_on_two_cores,
    failover,
    flood,
    follower,
    in_turn,
    librdkafka,
    small_produce,
)
from benchmarks.load import report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import CPU, CPU_MICRO

IN_TURN: dict[str, tuple[int, Callable[[Cluster], Load]]] = {
    "small": (3, small_produce),
    "flood": (3, flood),
    "one": (1, brokers_on_two_cores),
    "two": (2, brokers_on_two_cores),
}
ALONE: dict[str, Callable[[Cluster], Figures]] = {
    "librdkafka": librdkafka,
    "follower": follower,
    "failover": failover,
}
WORKS = (*IN_TURN, *ALONE)
# Beside so many brokers, and under whatever else the machine does, a shorter session ends while nobody is dead.
_PATIENT = {"zookeeper.session.timeout.ms": "30000"}

LINES = (
    Line("small_p50_us", "small produce, acks=all: p50 µs", 0, 0.5),
    Line("small_p99_us", "small produce, acks=all: p99 µs", 0, 0.5),
    Line("small_cpu", f"small produce, acks=all: {CPU_MICRO} of all brokers", 0),
    Line("flood_requests_per_s", "100 connections, acks=all: requests/s", 0, 1.25, is_lower_better=False),
    Line("flood_cpu", f"100 connections, acks=all: {CPU_MICRO} of all brokers per request", 0, 0.6),
    Line("librdkafka_cpu_per_gb", f"librdkafka, acks=all: {CPU} of all brokers per GB", 2, 0.5),
    Line("librdkafka_mb_per_s", "librdkafka, acks=all: MB/s", 0, 1.5, is_lower_better=False),
    Line("follower_1mb_cpu_per_gb", f"a follower, batches of 1 MB: {CPU} per GB", 2, 0.5),
    Line("follower_16kb_cpu_per_gb", f"a follower, batches of 16 KB: {CPU} per GB", 2, 0.7),
    Line("follower_200b_cpu_per_gb", f"a follower, batches of 200 bytes: {CPU} per GB", 2, 1.0),
    Line("follower_1mb_mb_per_s", "a follower, batches of 1 MB: MB/s", 0, is_lower_better=False),
    Line("follower_16kb_mb_per_s", "a follower, batches of 16 KB: MB/s", 0, is_lower_better=False),
    Line("follower_200b_mb_per_s", "a follower, batches of 200 bytes: MB/s", 1, is_lower_better=False),
    Line("failover_led_ms", "killed, 2,000 partitions: from its session's end to the last one led, ms", 0, 1.0),
    Line("failover_record_ms", "the same to a client's next record, ms", 0, 1.0),
    Line("one_requests_per_s", "one broker, acks=1: requests/s", 0, is_lower_better=False),
    Line("one_cpu", f"one broker, acks=1: {CPU_MICRO} per request", 0),
    Line("two_requests_per_s", "two brokers beside one Kafka, acks=1: requests/s", 0, is_lower_better=False),
    Line("two_cpu", f"two brokers beside one Kafka, acks=1: {CPU_MICRO} per request", 0),
)


def measure(name: str, kinds: Sequence[str]) -> dict[str, Figures]:
    """Do one work on clusters of all kinds."""
    if name in ALONE:
        figures = {}
        for kind in kinds:
            with cluster(kind, 3) as started:
                figures[kind] = ALONE[name](started)
        return figures
    broker_count, prepare = IN_TURN[name]
    with ExitStack() as stack:
        clusters = {}
        for kind in kinds:
            # A Kafka uses all cores by itself.
            count = 1 if name == "two" and kind == "kafka" else broker_count
            clusters[kind] = stack.enter_context(cluster(kind, count, _PATIENT))
        return in_turn(clusters, prepare)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default=",".join(KINDS), help=f"with commas: {', '.join(KINDS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"works, with commas: {', '.join(WORKS)}")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    kinds, names = options.target.split(","), options.only.split(",")
    if unknown := {*kinds, *names} - {*KINDS, *WORKS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    results: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    for run in range(1, options.runs + 1):
        for runs in results.values():
            runs.append({})
        for name in names:
            print(f"run {run}/{options.runs}: {name}", file=sys.stderr, flush=True)
            for kind, figures in measure(name, kinds).items():
                figures = {key.replace("alone", name): value for key, value in figures.items()}
                print(kind, {key: round(value, 2) for key, value in figures.items()}, file=sys.stderr, flush=True)
                results[kind][-1] |= figures
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --cluster", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
