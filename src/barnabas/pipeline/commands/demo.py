"""`barnabas pipeline demo`: a broker, a replayed access log, Spark jobs, tables and a report, from one command."""

import argparse
from pathlib import Path

NAME = "demo"
HELP = "a broker, a replayed log, Spark jobs and a report in one"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from barnabas.pipeline.demo.show import DEFAULT_DIRECTORY

    parser.add_argument(
        "--access-log", type=Path, metavar="FILE", help="a combined-format log, plain or gzip (made up)"
    )
    parser.add_argument(
        "--rate", type=float, default=0.0, help="lines/s of the replay; 0: no limit; default: %(default)s"
    )
    parser.add_argument(
        "--directory", type=Path, default=DEFAULT_DIRECTORY, help="where all is kept; default: %(default)s"
    )
    parser.add_argument("--fresh", action="store_true", help="start over, even where a stopped run could go on")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="pages in the table; default: %(default)s")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rich.console import Console

    from barnabas.pipeline.demo.show import DemoPlan, run_demo

    plan = DemoPlan(arguments.directory, arguments.access_log, arguments.rate, arguments.fresh, arguments.top)
    return run_demo(plan, Console())
