"""`barnabas pipeline demo`: run a broker, replay an access log, run Spark jobs, and write tables and a report."""

import argparse
from pathlib import Path

from rich.console import Console

from barnabas.pipeline.commands.options import Options
from barnabas.pipeline.demo.show import DEFAULT_DIRECTORY, DemoPlan, run_demo


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.value("--access-log", "FILE", "log in the combined format, plain or gzip (generated)", type=Path)
    options.value("--rate", "", "lines/s of the replay; 0 for no limit; default: %(default)s", 0.0)
    options.value("--directory", "", "directory for all files", DEFAULT_DIRECTORY, type=Path)
    options.flag("--fresh", "start over, even if a stopped run could be resumed")
    options.value("--top", "N", "number of pages in the table", 10)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    plan = DemoPlan(arguments.directory, arguments.access_log, arguments.rate, arguments.fresh, arguments.top)
    return run_demo(plan, Console())
