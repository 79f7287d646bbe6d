"""`scripts/bench --page`: how fast `barnabas page` is on a large cluster, and what it costs the broker.

It fills a broker, Barnabas or Kafka 2.7.2, and measures the page as a user starts it: its start, each view's first byte
and its last, and again, ten windows that stay open, searches beside kcat into grep. With sizes as the goals have them
it takes about ten minutes; where others use the machine ask for less: --partitions 3000 --groups 300 --search-mb 100.
`--only lasting` has twenty windows open for an hour beside a browser's tail at 10,000 records a second.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from benchmarks.log_numbers.brokers import BROKERS, Measured, MeasuredBarnabas
from benchmarks.page import works
from benchmarks.page.browser import Page, running_page
from benchmarks.page.filled import SETTINGS, Size, fill
from benchmarks.page.lasting import lasting

WORKS = ("start", "views", "windows", "search")
# Works that run only if requested.
_LONG = ("lasting",)


def main() -> int:
    """Run the named works, and print a table."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench --page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="barnabas", choices=sorted(BROKERS))
    parser.add_argument("--only", default=",".join(WORKS), help=f"with commas: {', '.join((*WORKS, *_LONG))}")
    parser.add_argument("--partitions", type=int, default=10_000, help="100 of a topic")
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--users", type=int, default=100, help="with 50 access rules each")
    parser.add_argument("--rounds", type=int, default=20, help="how often each view is asked for")
    parser.add_argument("--window-s", type=int, default=60, help="how long ten windows stay open")
    parser.add_argument("--minutes", type=int, default=60, help="how long the windows of `lasting` stay open")
    parser.add_argument("--search-mb", type=int, default=1_000, help="of records without a codec, and again with lz4")
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - {*WORKS, *_LONG}:
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join((*WORKS, *_LONG))}")
    broker = BROKERS[options.target](None, dict(SETTINGS))
    try:
        broker.start()
        works.note(f"load {os.getloadavg()[0]:.1f}; filling the broker")
        fill(broker, Size(options.partitions, options.groups, options.users, 50))
        if isinstance(broker, MeasuredBarnabas):
            # From now on, count only stalls that the page causes.
            broker.stalls_of_late_ms()
        print("| line | measured | goal |\n| --- | --- | --- |", flush=True)
        for row in _rows(broker, options):
            print(f"| {' | '.join(row)} |", flush=True)
    finally:
        broker.close()
    works.note(f"load {os.getloadavg()[0]:.1f}")
    return 0


def _rows(broker: Measured, options: argparse.Namespace) -> Iterator[works.Row]:
    wanted = options.only.split(",")
    if "start" in wanted:
        yield from works.starts(broker)
    with_page: dict[str, Callable[[Page], Iterator[works.Row]]] = {
        "views": lambda page: works.views(page, options.rounds),
        "windows": lambda page: works.beside(broker, page, options.window_s),
        "search": lambda page: works.searches(broker, page, options.search_mb),
        "lasting": lambda page: lasting(broker, page, options.minutes),
    }
    with running_page(broker.address) as page:
        for name, work in with_page.items():
            if name in wanted:
                works.note(name)
                yield from work(page)
    if isinstance(broker, MeasuredBarnabas):
        stood_ms, computing_ms = broker.stalls_of_late_ms()
        yield "longest stall of the broker's loop", f"{stood_ms} ms, {computing_ms} ms computing", "≤ 50 ms"


if __name__ == "__main__":
    sys.exit(main())
