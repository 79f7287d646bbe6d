"""`scripts/bench --log`: run the same log work on Kafka 2.7.2 and Barnabas in turn; print medians and ratios."""

import argparse
import json
import shlex
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.load import report
from benchmarks.load.process import CPU, CPU_MICRO
from benchmarks.log_numbers.brokers import BROKERS
from benchmarks.log_numbers.works import WORKS, Figures, Sizes, default_cold_gb

RESULTS = Path(__file__).parents[1] / "results"


class Line(NamedTuple):
    """One figure: its name, its title, and the digits after the decimal point."""

    key: str
    title: str
    digits: int


LINES = (
    Line("restart_killed_s", "restart after a kill, 1,000 segments of 1 MB: s", 2),
    Line("restart_clean_s", "restart after a clean stop, 1,000 segments: s", 2),
    Line("partitions_clean_s", "restart after a clean stop, 2,000 partitions: s", 2),
    Line("partitions_stop_s", "clean stop, 2,000 partitions: s", 2),
    Line("partitions_killed_s", "restart after a kill, 2,000 partitions: s", 2),
    Line("partitions_mb", "resident memory, 2,000 partitions: MB", 0),
    Line("first_lookup_ms", "first offset by timestamp after a start, 1,000 segments: ms", 1),
    Line("lookup_p50_us", "offset by timestamp, 1,000 segments: p50 µs", 0),
    Line("lookup_p99_us", "offset by timestamp, 1,000 segments: p99 µs", 0),
    Line("lookup_cpu", f"offset by timestamp, 1,000 segments: {CPU_MICRO}", 0),
    Line("alone_p50_us", "producer alone: p50 µs", 0),
    Line("alone_p99_us", "producer alone: p99 µs", 0),
    Line("beside_p50_us", "producer beside a cold consumer: p50 µs", 0),
    Line("beside_p99_us", "producer beside a cold consumer: p99 µs", 0),
    Line("beside_p999_us", "producer beside a cold consumer: p99.9 µs", 0),
    Line("beside_max_ms", "producer beside a cold consumer: longest ms", 1),
    Line("moved_p99", "p99 beside a cold consumer / alone", 2),
    Line("cold_mb_per_s", "cold consumer: MB/s", 0),
    Line("cold_cpu", f"cold consumer and producer: {CPU}", 2),
)


def table(results: dict[str, list[Figures]]) -> str:
    """Return the Markdown table of medians."""
    names = [name for name, runs in results.items() if runs]
    rows = [["line", *(report.TITLES[name] for name in names), "ratio"], ["---"] * (len(names) + 2)]
    for line in LINES:
        values = {name: [run[line.key] for run in results[name] if line.key in run] for name in names}
        if not all(values.values()):
            continue
        row = [line.title]
        for name in names:
            low, high = min(values[name]), max(values[name])
            spread = f" ({low:,.{line.digits}f}–{high:,.{line.digits}f})" if len(values[name]) > 1 else ""
            row.append(f"{statistics.median(values[name]):,.{line.digits}f}{spread}")
        has_both = {report.REFERENCE, report.SUBJECT} <= set(names)
        middle = {name: statistics.median(values[name]) for name in names}
        row.append(f"{middle[report.SUBJECT] / middle[report.REFERENCE]:.2f}" if has_both else "–")
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --log", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default=",".join(BROKERS), help=f"comma-separated brokers: {', '.join(BROKERS)}")
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join(WORKS)}")
    parser.add_argument("--cold-gb", type=float, help="GB for the lagging consumer; default 4, less on a full disk")
    parser.add_argument("--place", type=Path, help="directory for the data; default: the temporary directory")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    sizes = Sizes(options.cold_gb or default_cold_gb(options.place))
    results: dict[str, list[Figures]] = {name: [] for name in options.target.split(",")}
    for run in range(1, options.runs + 1):
        for name, runs in results.items():
            figures: Figures = {}
            for work in options.only.split(","):
                print(f"run {run}/{options.runs} {name}: {work}", file=sys.stderr, flush=True)
                broker = BROKERS[name](options.place, {})
                try:
                    figures |= WORKS[work](broker, sizes)
                finally:
                    broker.close()
            runs.append(figures)
    text = table(results)
    print(text)
    if options.save:
        command = shlex.join(["scripts/bench", "--log", *sys.argv[1:]])
        record = {"command": command, "machine": report.machine(), "sizes": sizes._asdict(), "runs": results}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{options.save}.json").write_text(json.dumps(record, indent=2) + "\n")
        described = ", ".join(f"{key} {value}" for key, value in report.machine().items())
        (RESULTS / f"{options.save}.md").write_text(f"# {options.save}\n\n`{command}`, on: {described}.\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
