"""`scripts/bench --quotas`: run the experiment that made quotas known, on Kafka 2.7.2 and Barnabas in turn.

Each client has a limit. Its rate is averaged from the end of the first quota window.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.load import report
from benchmarks.quotas.brokers import TARGETS
from benchmarks.quotas.works import MB, WORKS, Figure, Plan

SHORT = Plan(11, (5.0, 1.0), 10.0, 200 * MB)
USUAL = Plan(30, (20.0, 5.0, 1.0), 20.0, 500 * MB)
# The original figures of the experiment: 5,242,880 records of a kilobyte.
FULL = Plan(30, (100.0, 50.0, 20.0, 5.0, 1.0), 50.0, 5_242_880 * 1_024)
_REFERENCE, _SUBJECT = "kafka", "barnabas"


def table(figures: Mapping[str, Sequence[Figure]]) -> str:
    """Return a Markdown table: a row for each figure, with its ratio to the limit."""
    by_key = {name: {each.key: each for each in found} for name, found in figures.items()}
    both = _REFERENCE in figures and _SUBJECT in figures
    heading = ["line", *(title for name in figures for title in (report.TITLES[name], "of the limit"))]
    heading += ["ratio", "goal"] if both else []
    rows = [heading, ["---"] * len(heading)]
    for key in dict.fromkeys(each.key for found in figures.values() for each in found):
        known = [found[key] for found in by_key.values() if key in found]
        row = [known[0].title]
        for found in by_key.values():
            row += _cells(found.get(key))
        if both:
            row += _verdict(by_key[_REFERENCE].get(key), by_key[_SUBJECT].get(key))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(figure: Figure | None) -> list[str]:
    if figure is None:
        return ["–", ""]
    part = "" if figure.limit is None else f"{figure.value / figure.limit:.1%}"
    return [f"{figure.value:,.{figure.digits}f}", part]


def _verdict(kafka: Figure | None, ours: Figure | None) -> list[str]:
    ratio = kafka.value and ours.value / kafka.value if kafka and ours else None
    cells = ["" if not ratio else f"{ratio:.2f}"]
    if ours is None or ours.goal is None:
        return [*cells, ""]
    low, high = ours.goal
    part = ratio if ours.limit is None else ours.value / ours.limit
    of = "Kafka's" if ours.limit is None else "the limit"
    goal = f"{low:.0%} to {high:.0%} of {of}" if high < 9 else f"at least {low:.0%}"
    return [*cells, goal if part is None or low <= part <= high else f"{goal} **missed**"]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench --quotas", description=__doc__)
    parser.add_argument("--target", default=",".join(TARGETS), help=f"comma-separated brokers: {', '.join(TARGETS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join(WORKS)}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="smaller limits, 11 s each: a quick check")
    size.add_argument("--full", action="store_true", help="limits up to 100 MB/s, 5,242,880 records; 6 GB of disk")
    parser.add_argument("--anonymous", action="store_true", help="no client logs in: the user is ANONYMOUS")
    parser.add_argument("--place", type=Path, help="directory for the data; default: the temporary directory")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    return parser.parse_args()


def main() -> int:
    options = _options()
    plan = SHORT if options.short else FULL if options.full else USUAL
    figures: dict[str, list[Figure]] = {name: [] for name in options.target.split(",")}
    for work in options.only.split(","):
        for name, found in figures.items():
            print(f"{name}: {work}", file=sys.stderr, flush=True)
            with TARGETS[name](options.place, not options.anonymous) as target:
                try:
                    for figure in WORKS[work](target, plan):
                        print(f"  {figure.title} {figure.value:,.{figure.digits}f}", file=sys.stderr, flush=True)
                        found.append(figure)
                except RuntimeError as error:
                    # Keep the earlier figures.
                    print(f"{name}: {work}: {error}", file=sys.stderr, flush=True)
    text = table(figures)
    print(text)
    if options.save:
        runs = {name: [{each.key: each.value for each in found}] for name, found in figures.items()}
        report.save(options.save, "scripts/bench --quotas", runs, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
