"""`scripts/bench --whole`: measure everything except records, compared with Kafka 2.7.2; print medians and ratios."""

import argparse
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import report
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU, CPU_MICRO, CPU_MILLI
from benchmarks.log_numbers.brokers import BROKERS, Measured
from benchmarks.whole.groups import commits, idle, rebalances
from benchmarks.whole.topics import new_topics, partitions, restarts
from benchmarks.whole.transactions import transactions

Figures = dict[str, float]

_CONFIG = {"group.initial.rebalance.delay.ms": "0"}

WORKS: dict[str, Callable[[Measured], Figures]] = {
    "rebalances": rebalances,
    "commits": commits,
    "transactions": transactions,
    "topics": new_topics,
    "partitions": partitions,
    "restarts": restarts,
    "idle": idle,
}

LINES = (
    Line("first_record_1_ms", "1 consumer: first join to first record, ms", 2, 1.0),
    Line("first_record_10_ms", "10 consumers at once: first join to last first record, ms", 2, 1.0),
    Line("first_record_200_ms", "200 consumers at once: first join to last first record, ms", 1, 1.0),
    Line("first_record_200_cpu", f"200 consumers at once: {CPU_MILLI}", 1, 0.5),
    Line("commits_per_s", "offset commits/s, 50 connections", 0, 1.0, is_lower_better=False),
    Line("commit_p50_us", "offset commit: p50 µs, 50 connections", 0, 1.0),
    Line("commit_cpu", f"offset commit: {CPU_MICRO}", 0, 0.5),
    Line("transaction_p50_ms", "transaction of 10 records, one producer: p50 ms", 2, 1.0),
    Line("transactions_p50_ms", "transaction of 10 records, 20 producers: p50 ms", 2, 1.0),
    Line("transactions_per_s", "transactions/s, 20 producers", 0, 1.0, is_lower_better=False),
    Line("transaction_cpu", f"transaction: {CPU_MICRO}", 0, 0.5),
    Line("new_topics_s", "1,000 new topics by one request: s", 2, 1.0),
    Line("new_topics_cpu", f"1,000 new topics by one request: {CPU}", 2, 0.5),
    Line("new_partitions_s", "9,900 new partitions, 100 a request: s", 2, 1.0),
    Line("new_partitions_cpu", f"9,900 new partitions: {CPU}", 2, 0.5),
    Line("partition_kb", "memory for each partition: KB", 1),
    Line("metadata_ms", "metadata of 9,900 partitions: p50 ms", 1, 1.0),
    Line("metadata_cpu", f"metadata of 9,900 partitions: {CPU_MILLI}", 1, 0.5),
    Line("stop_s", "clean stop with 9,900 partitions: s", 2, 1.0),
    Line("start_clean_s", "start with 9,900 partitions after a clean stop: s", 2, 1.0),
    Line("start_clean_cpu_s", "start with 9,900 partitions after a clean stop: CPU s", 2, 0.5),
    Line("start_killed_s", "start with 9,900 partitions after a kill: s", 2, 1.0),
    Line("start_killed_cpu_s", "start with 9,900 partitions after a kill: CPU s", 2, 0.5),
    Line("idle_cpu_per_s", f"idle: {CPU_MILLI} a second", 2, 0.5),
    Line("connected_cpu_per_s", f"5,000 idle connections: {CPU_MILLI} a second", 2, 0.5),
    Line("members_cpu_per_s", f"the same and 500 members' heartbeats: {CPU_MILLI} a second", 2, 0.5),
    Line("connection_kb", "memory for each idle connection: KB", 1),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --whole", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default=",".join(BROKERS), help=f"comma-separated brokers: {', '.join(BROKERS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join(WORKS)}")
    parser.add_argument("--place", type=Path, help="directory for the data; default: the temporary directory")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    for run in range(1, options.runs + 1):
        for runs in results.values():
            runs.append({})
        for work in options.only.split(","):
            for name, runs in results.items():
                print(f"run {run}/{options.runs} {name}: {work}", file=sys.stderr, flush=True)
                broker = BROKERS[name](options.place, _CONFIG)
                try:
                    figures = WORKS[work](broker)
                    print(figures, file=sys.stderr, flush=True)
                    runs[-1] |= figures
                except RuntimeError as error:
                    # The work did not finish in time: continue with the others.
                    print(f"{name}: {work}: {error}", file=sys.stderr, flush=True)
                finally:
                    broker.close()
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --whole", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
