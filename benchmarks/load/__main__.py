"""`scripts/bench`: start the targets in turn, run the same loads on each, and print medians and ratios."""

import argparse
import sys
from collections.abc import Callable, Iterable

from benchmarks.load import report
from benchmarks.load.lines import LOADS, Figures, measure, measure_until_warm
from benchmarks.load.targets import LACKING, TARGETS


def _names(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    """Return an argparse type for names separated by commas."""

    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := set(names) - set(allowed):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: none of {', '.join(allowed)}")
        return names

    return parse


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="how many times each target is measured (default 5)")
    parser.add_argument(
        "--target",
        type=_names(TARGETS),
        default=["kafka", "barnabas"],
        help=f"comma-separated targets: {', '.join(TARGETS)} (default kafka,barnabas)",
    )
    parser.add_argument(
        "--only",
        type=_names(LOADS),
        help=f"comma-separated loads: {', '.join(LOADS)} (default all; start-up and idle memory are always measured)",
    )
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is missed")
    return parser.parse_args()


def main() -> int:
    options = _options()
    loads = list(LOADS) if options.only is None else [name for name in LOADS if name in options.only]
    results: dict[str, list[Figures]] = {}
    for name in options.target:
        results |= {report.JUST_STARTED: [], name: []} if name == report.REFERENCE else {name: []}
    for run in range(1, options.runs + 1):
        for name in options.target:

            def progress(load: str, run: int = run, name: str = name) -> None:
                print(f"run {run}/{options.runs} {name}: {load}", file=sys.stderr, flush=True)

            progress("start")
            with TARGETS[name]() as broker:
                wanted = [load for load in loads if load not in LACKING[name]]
                if name == report.REFERENCE:
                    started, warm = measure_until_warm(broker, wanted, progress)
                    results[report.JUST_STARTED].append(started)
                    results[name].append(warm)
                else:
                    results[name].append(measure(broker, wanted, progress))
    table = report.table(results)
    print(", ".join(f"{key} {value}" for key, value in report.machine().items()), end="\n\n")
    print(table)
    if options.save:
        report.save(options.save, "scripts/bench", results, table)
    return 1 if options.check and report.missed(results) else 0


if __name__ == "__main__":
    sys.exit(main())
