"""`scripts/bench --page`: measure how fast `barnabas page` is on a large cluster, and what it costs the broker.

The benchmark fills a broker (Barnabas or Kafka 2.7.2) and starts the page as a user does. It measures the start; the
first and last byte of each view, fresh and from the cache; ten windows that stay open; and searches, compared with kcat
into grep. With the default sizes, which are those of the goals, it takes about ten minutes. On a shared machine use
smaller sizes: --partitions 3000 --groups 300 --search-mb 100. `--only lasting` keeps twenty windows open for an hour,
beside a browser's tail at 10,000 records a second.
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
    parser.add_argument("--only", default=",".join(WORKS), help=f"comma-separated works: {', '.join((*WORKS, *_LONG))}")
    parser.add_argument("--partitions", type=int, default=10_000, help="number of partitions, 100 per topic")
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--users", type=int, default=100, help="number of users, each with 50 access rules")
    parser.add_argument("--rounds", type=int, default=20, help="how many times each view is requested")
    parser.add_argument("--window-s", type=int, default=60, help="seconds for which ten windows stay open")
    parser.add_argument("--minutes", type=int, default=60, help="minutes for which `lasting` keeps windows open")
    parser.add_argument("--search-mb", type=int, default=1_000, help="MB to search, without a codec and with lz4")
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
