"""`scripts/bench --cluster`: compare three brokers with three of Kafka 2.7.2, each with one ZooKeeper; most of an hour.

    small         one Produce of 100 bytes in flight, acks=all, three replicas
    flood         the same on each of 100 connections
    end-to-end    from such a Produce to the answer of a Fetch that waits for it
    mixed         one Produce in flight to each broker in turn: three of Kafka, and two of Kafka with one of Barnabas
    librdkafka    100,000 records of a kilobyte, acks=all, three partitions with a leader each
    java          the same by Kafka's ProducerPerformance with the client's defaults
    transactions  20 producers, three brokers that are coordinators and leaders
    commits       offsets of 50 groups
    one, two      one broker, and two on the same machine compared with one Kafka; acks=1, one replica, 100 connections
                  in all
    follower      broker 3 replicates the partitions of broker 1: batches of 1 MB, 16 KB and 200 bytes
    catch-up      broker 3 is paused while `--bytes` are written; small produces continue while it catches up
    reassign      `--bytes` move from one broker to another without a throttle
    failover      a broker that leads a third of 2,000 partitions is killed: time from the end of its session
    stop          each broker is stopped and started in turn while a producer sends
    many          `--partitions` with three replicas: idle, then the controller is killed

Kafka repeats each load (except failover, stop and many) until two rounds cost the same within 5 %, for at most half a
minute. Then, for the works up to `one` and `two`, the clusters run at the same time and do five rounds each in turn;
the medians count. The other works are too large for that: each runs on its own cluster, one kind of broker after the
other in each run, and the last round counts. CPU is that of all brokers, or of the follower alone.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks.cluster.clusters import KINDS, Cluster, cluster
from benchmarks.cluster.coordinators import commits, transactions
from benchmarks.cluster.copies import catch_up, follower, reassign
from benchmarks.cluster.losses import failover, many, stop
from benchmarks.cluster.rounds import Load, in_turn
from benchmarks.cluster.works import (
    brokers_on_two_cores,
    end_to_end,
    flood,
    java,
    librdkafka,
    small_produce,
    three_leaders,
)
from benchmarks.load import report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import CPU, CPU_MICRO, CPU_MILLI

IN_TURN: dict[str, Callable[[Cluster], Load]] = {
    "small": small_produce,
    "flood": flood,
    "end-to-end": end_to_end,
    "mixed": three_leaders,
    "librdkafka": librdkafka,
    "java": java,
    "transactions": transactions,
    "commits": commits,
    "one": brokers_on_two_cores,
    "two": brokers_on_two_cores,
}
ALONE: dict[str, Callable[[Cluster, argparse.Namespace], Figures]] = {
    "follower": lambda started, _: follower(started),
    "catch-up": lambda started, options: catch_up(started, options.bytes),
    "reassign": lambda started, options: reassign(started, options.bytes),
    "failover": lambda started, _: failover(started),
    "stop": lambda started, _: stop(started),
    "many": lambda started, options: many(started, options.partitions),
}
WORKS = (*IN_TURN, *ALONE)
# On a busy machine with many brokers, a shorter session would expire although its broker is alive.
_PATIENT = {"zookeeper.session.timeout.ms": "30000"}
# For works that wait until a session expires.
_LESS_PATIENT = {"zookeeper.session.timeout.ms": "10000", "auto.leader.rebalance.enable": "false"}
_SETTINGS = {"catch-up": _LESS_PATIENT, "many": _LESS_PATIENT, "stop": _PATIENT, "reassign": _PATIENT}

LINES = (
    Line("small_p50_us", "small produce, acks=all: p50 µs", 0, 0.5),
    Line("small_p99_us", "small produce, acks=all: p99 µs", 0, 0.5),
    Line("small_cpu", f"small produce, acks=all: {CPU_MICRO} of all brokers", 0),
    Line("flood_requests_per_s", "100 connections, acks=all: requests/s", 0, 1.25, is_lower_better=False),
    Line("flood_cpu", f"100 connections, acks=all: {CPU_MICRO} of all brokers per request", 0, 0.6),
    Line("end_to_end_p50_us", "produce to consume: p50 µs", 0, 0.5),
    Line("end_to_end_p99_us", "produce to consume: p99 µs", 0, 0.4),
    Line("end_to_end_cpu", f"produce to consume: {CPU_MICRO} of all brokers", 0),
    Line("mixed_p50_us", "two Kafka and one of these, acks=all: p50 µs", 0),
    Line("mixed_p99_us", "two Kafka and one of these, acks=all: p99 µs", 0, 1.1),
    Line("mixed_cpu", f"two Kafka and one of these, acks=all: {CPU_MICRO} of all brokers", 0),
    Line("java_cpu_per_gb", f"Java producer's defaults, acks=all: {CPU} of all brokers per GB", 2, 0.5),
    Line("java_mb_per_s", "Java producer's defaults, acks=all: MB/s", 0, 1.3, is_lower_better=False),
    Line("transactions_per_s", "20 transactional producers: transactions/s", 0, 1.3, is_lower_better=False),
    Line("transaction_cpu", f"20 transactional producers: {CPU_MICRO} of all brokers per transaction", 0),
    Line("commits_per_s", "offset commits/s", 0, 1.0, is_lower_better=False),
    Line("commit_cpu", f"offset commits: {CPU_MICRO} of all brokers each", 0),
    Line("librdkafka_cpu_per_gb", f"librdkafka, acks=all: {CPU} of all brokers per GB", 2, 0.5),
    Line("librdkafka_mb_per_s", "librdkafka, acks=all: MB/s", 0, 1.5, is_lower_better=False),
    Line("follower_1mb_cpu_per_gb", f"a follower, batches of 1 MB: {CPU} per GB", 2, 0.5),
    Line("follower_16kb_cpu_per_gb", f"a follower, batches of 16 KB: {CPU} per GB", 2, 0.7),
    Line("follower_200b_cpu_per_gb", f"a follower, batches of 200 bytes: {CPU} per GB", 2, 1.0),
    Line("follower_1mb_mb_per_s", "a follower, batches of 1 MB: MB/s", 0, is_lower_better=False),
    Line("follower_16kb_mb_per_s", "a follower, batches of 16 KB: MB/s", 0, is_lower_better=False),
    Line("follower_200b_mb_per_s", "a follower, batches of 200 bytes: MB/s", 1, is_lower_better=False),
    Line("catch_up_mb_per_s", "catching up with one fetcher: MB/s", 0, 1.0, is_lower_better=False),
    Line("catch_up_p50_us", "other producers meanwhile: p50 µs", 0),
    Line("catch_up_p99_us", "other producers meanwhile: p99 µs", 0, 0.5),
    Line("catch_up_cpu_per_gb", f"catching up: {CPU} of all brokers per GB", 2),
    Line("reassign_s", "reassigning without a throttle: s", 2, 1.0),
    Line("reassign_cpu_per_gb", f"reassigning without a throttle: {CPU} of all brokers per GB", 2),
    Line("failover_led_ms", "killed, 2,000 partitions: from its session's end to the last one led, ms", 0, 1.0),
    Line("failover_record_ms", "the same to a client's next record, ms", 0, 1.0),
    Line("stop_gap_ms", "brokers stopped in turn: longest gap of a producer, ms", 0, 1.0),
    Line(
        "stop_acknowledged",
        "brokers stopped in turn: sends acknowledged in the end, of 100",
        2,
        1.0,
        is_lower_better=False,
    ),
    Line("idle_cpu_per_s", f"very many partitions, idle: {CPU_MILLI} of all brokers a second", 0, 0.5),
    Line("idle_mb", "very many partitions, idle: memory of all brokers, MB", 0, 0.3),
    Line("controller_ms", "controller killed: from its session's end to the last broker told, ms", 0, 1.0),
    Line("controller_cpu", f"controller killed: {CPU_MILLI} of all brokers", 0, 0.6),
    Line("one_requests_per_s", "one broker, acks=1: requests/s", 0, is_lower_better=False),
    Line("one_cpu", f"one broker, acks=1: {CPU_MICRO} per request", 0),
    Line("two_requests_per_s", "two brokers beside one Kafka, acks=1: requests/s", 0, is_lower_better=False),
    Line("two_cpu", f"two brokers beside one Kafka, acks=1: {CPU_MICRO} per request", 0),
)


def members_of(name: str, kind: str) -> list[str]:
    """Return the kind of each broker for a work."""
    match name:
        case "mixed":
            return ["kafka", "kafka", kind]
        case "one":
            return [kind]
        case "two":
            # A Kafka uses all cores by itself.
            return [kind] if kind == "kafka" else [kind] * 2
        case _:
            return [kind] * 3


def measure(name: str, kinds: Sequence[str], options: argparse.Namespace) -> dict[str, Figures]:
    """Run one work on clusters of all kinds."""
    if name in ALONE:
        figures = {}
        for kind in kinds:
            with cluster(members_of(name, kind), _SETTINGS.get(name, {})) as started:
                figures[kind] = ALONE[name](started, options)
        return figures
    with ExitStack() as stack:
        clusters = {kind: stack.enter_context(cluster(members_of(name, kind), _PATIENT)) for kind in kinds}
        return in_turn(clusters, IN_TURN[name])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default=",".join(KINDS), help=f"comma-separated brokers: {', '.join(KINDS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join(WORKS)}")
    parser.add_argument("--bytes", type=int, default=10**9, help="bytes of catch-up and reassign (default 1 GB)")
    parser.add_argument("--partitions", type=int, default=10_000, help="partitions of `many` (default 10,000)")
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
            for kind, figures in measure(name, kinds, options).items():
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
