"""`barnabas pipeline demo`: run a broker, replay an access log, run Spark jobs, and write tables and a report."""

import argparse
from pathlib import Path

NAME = "demo"
HELP = "run a broker, a replayed log, Spark jobs and a report"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from barnabas.pipeline.demo.show import DEFAULT_DIRECTORY

    parser.add_argument(
        "--access-log", type=Path, metavar="FILE", help="log in the combined format, plain or gzip (generated)"
    )
    parser.add_argument(
        "--rate", type=float, default=0.0, help="lines/s of the replay; 0 for no limit; default: %(default)s"
    )
    parser.add_argument(
        "--directory", type=Path, default=DEFAULT_DIRECTORY, help="directory for all files; default: %(default)s"
    )
    parser.add_argument("--fresh", action="store_true", help="start over, even if a stopped run could be resumed")
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="number of pages in the table; default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rich.console import Console

    from barnabas.pipeline.demo.show import DemoPlan, run_demo

    plan = DemoPlan(arguments.directory, arguments.access_log, arguments.rate, arguments.fresh, arguments.top)
    return run_demo(plan, Console())
