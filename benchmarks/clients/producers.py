"""Compare the documented producer with other Python clients on one Barnabas broker: messages per second and CPU.

    python -m benchmarks.clients.producers                     about two minutes
    python -m benchmarks.clients.producers --count 100000 --runs 1 --only barnabas,confluent

Each client sends a million messages of 200 bytes, in batches of 50 and of 200, to its own topic with one partition,
acks=1. Each client has its own process. The clients run one after the other, in a different order each time. The goal:
`barnabas.api.Producer` (async) sends at least 0.8 times as many messages per second as bare confluent-kafka, and more
than both pure Python clients.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence

from barnabas.testing import Broker
from benchmarks.clients.load import CLIENTS
from benchmarks.load import report
from benchmarks.load.process import CPU, cpu

Figures = dict[str, float]

TITLES = {
    "barnabas": "barnabas.api, async",
    "barnabas-sync": "barnabas.api, sync",
    "confluent": "confluent-kafka",
    "confluent-reports": "confluent-kafka, a callback each",
    "kafka-python": "kafka-python",
    "aiokafka": "aiokafka",
}
BATCHES = (50, 200)
SUBJECT, REFERENCE, PURE = "barnabas", "confluent", ("kafka-python", "aiokafka")
# The goal: the least ratio to the rate of the bare client.
LEAST_RATIO = 0.8
_TIMEOUT_S = 1_800


def measure(broker: Broker, client: str, topic: str, count: int, size: int, batch: int) -> Figures:
    """Run a client; return its figures, and the broker's CPU."""
    with_topic = [sys.executable, "-m", "benchmarks.clients.load"]
    # Create the topic first, so that only sending is measured.
    make = [sys.executable, "-m", "barnabas.cli.main", "topics", "--create", "--topic", topic, "--partitions", "1"]
    subprocess.run([*make, "--bootstrap-server", broker.bootstrap_servers], check=True, capture_output=True)
    broker_before_s = cpu(broker.pid)
    arguments = [client, broker.bootstrap_servers, topic, str(count), str(size), str(batch)]
    done = subprocess.run([*with_topic, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{client}: {done.stderr}")
    figures: Figures = json.loads(done.stdout)
    figures["broker_cpu"] = cpu(broker.pid) - broker_before_s
    return {f"{name}_{batch}": value for name, value in figures.items()}


def table(results: Mapping[str, Sequence[Figures]]) -> str:
    """Return the Markdown table: a row for each client, with its ratio to bare confluent-kafka."""
    heading = ["client"]
    for batch in BATCHES:
        heading += [f"{batch}: messages/s", "of bare", "CPU s", f"broker's {CPU}"]
    rows = [heading, ["---"] * len(heading)]
    for name, runs in results.items():
        row = [TITLES[name]]
        for batch in BATCHES:
            rates = [run[f"messages_per_s_{batch}"] for run in runs]
            row.append(f"{statistics.median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f})")
            bare = results.get(REFERENCE)
            row.append(f"{statistics.median(rates) / _median(bare, f'messages_per_s_{batch}'):.2f}" if bare else "–")
            row += [f"{_median(runs, f'{key}_{batch}'):.2f}" for key in ("cpu_s", "broker_cpu")]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def missed(results: Mapping[str, Sequence[Figures]]) -> list[str]:
    """Return the goals that are not reached."""
    found = []
    for batch in BATCHES if SUBJECT in results else ():
        key = f"messages_per_s_{batch}"
        for name, least in ((REFERENCE, LEAST_RATIO), *((each, 1.0) for each in PURE)):
            if name in results and (ratio := _median(results[SUBJECT], key) / _median(results[name], key)) < least:
                found.append(f"batches of {batch}: {ratio:.2f} of {TITLES[name]}, not {least}")
    return found


def _median(runs: Sequence[Figures], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clients.producers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=1_000_000, help="messages (%(default)s)")
    parser.add_argument("--size", type=int, default=200, help="bytes per message (%(default)s)")
    parser.add_argument("--only", default=",".join(CLIENTS), help=f"comma-separated clients: {', '.join(CLIENTS)}")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is missed")
    options = parser.parse_args()
    names = options.only.split(",")
    results: dict[str, list[Figures]] = {name: [] for name in names}
    with Broker() as broker:
        for run in range(options.runs):
            figures: dict[str, Figures] = {name: {} for name in names}
            for batch in BATCHES:
                # Rotate the order: the first client meets a cold broker, the last one a full page cache.
                for name in names[run % len(names) :] + names[: run % len(names)]:
                    topic = f"{name}-{batch}-{run}"
                    figures[name] |= measure(broker, name, topic, options.count, options.size, batch)
                    print(f"run {run + 1}/{options.runs} {name}: {figures[name]}", file=sys.stderr, flush=True)
            for name in names:
                results[name].append(figures[name])
    text = table(results)
    print(text)
    for miss in missed(results):
        print(f"missed: {miss}")
    if options.save:
        report.save(options.save, "python -m benchmarks.clients.producers", results, text)
    return 1 if options.check and missed(results) else 0


if __name__ == "__main__":
    sys.exit(main())
