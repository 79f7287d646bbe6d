"""`barnabas pipeline demo`: a broker, a replayed access log, Spark jobs, tables and a report, from one command."""

import argparse
from pathlib import Path

from rich.console import Console

from barnabas.pipeline.commands.options import Options
from barnabas.pipeline.demo.show import DEFAULT_DIRECTORY, DemoPlan, run_demo


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.value("--access-log", "FILE", "a combined-format log, plain or gzip (made up)", type=Path)
    options.value("--rate", "", "lines/s of the replay; 0: no limit; default: %(default)s", 0.0)
    options.value("--directory", "", "where all is kept", DEFAULT_DIRECTORY, type=Path)
    options.flag("--fresh", "start over, even where a stopped run could go on")
    options.value("--top", "N", "pages in the table", 10)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    plan = DemoPlan(arguments.directory, arguments.access_log, arguments.rate, arguments.fresh, arguments.top)
    return run_demo(plan, Console())
