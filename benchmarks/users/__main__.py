"""`scripts/bench --users`: measure the cost of logins, access rules, quotas and metrics, compared with Kafka 2.7.2."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.load import report
from benchmarks.log_numbers.brokers import BROKERS, Measured
from benchmarks.users import acls, client_ids, guards, logins, tls

Figures = dict[str, float]
NewBroker = Callable[[dict[str, str]], Measured]

# Each work receives a factory of brokers with given settings, and whether the broker is Kafka.
WORKS: dict[str, Callable[[NewBroker, bool], Figures]] = {
    "guards": lambda new_broker, is_kafka: guards.cost_of_guards(new_broker, has_http=not is_kafka),
    "acls": lambda new_broker, is_kafka: acls.checks(new_broker),
    "logins": lambda new_broker, is_kafka: logins.logins(new_broker),
    "tls": lambda new_broker, is_kafka: tls.cost_of_tls(is_kafka),
    "client-ids": lambda new_broker, is_kafka: client_ids.produce_by_many(new_broker),
}
LINES = (*guards.LINES, *acls.LINES, *logins.LINES, *tls.LINES, *client_ids.LINES)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --users", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default=",".join(BROKERS), help=f"comma-separated brokers: {', '.join(BROKERS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join(WORKS)}")
    parser.add_argument("--place", type=Path, help="directory for the data; default: the temporary directory")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    for run in range(1, options.runs + 1):
        for name, runs in results.items():
            runs.append({})
            for work in options.only.split(","):
                print(f"run {run}/{options.runs} {name}: {work}", file=sys.stderr, flush=True)
                try:
                    figures = WORKS[work](partial(BROKERS[name], options.place), name == report.REFERENCE)
                except RuntimeError as error:
                    # Continue with the other works.
                    print(f"{name}: {work}: {error}", file=sys.stderr, flush=True)
                    continue
                print(figures, file=sys.stderr, flush=True)
                runs[-1] |= figures
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --users", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
