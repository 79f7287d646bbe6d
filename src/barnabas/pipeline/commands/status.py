"""`barnabas pipeline status`: what the runs of a checkpoint directory are doing, without starting Spark."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from barnabas.pipeline.commands.options import DEFAULT_DIRECTORY
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.sources.run_status import statuses

NAME = "status"
HELP = "what runs are doing, and how far behind they are"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("run", nargs="?", help="only this run")
    parser.add_argument(
        "--checkpoint", type=Path, default=Path(DEFAULT_DIRECTORY, "checkpoints"), metavar="DIR", help="(%(default)s)"
    )
    parser.add_argument("--partitions", action="store_true", help="each partition's position and lag, too")
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        PlanError: there is nothing to tell of.
    """
    if "://" in str(arguments.checkpoint):
        raise PlanError(
            "status reads checkpoints on this machine alone; a run's metrics tell of others (--metrics-port)"
        )
    found = [each for each in statuses(arguments.checkpoint) if arguments.run in (None, each["run"])]
    if not found:
        what = f"no run {arguments.run}" if arguments.run else "no run"
        raise PlanError(f"{arguments.checkpoint} holds the status of {what}")
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found, arguments.partitions)
    return 0


def _print(found: list[dict[str, Any]], has_partitions: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("run", "state"):
        table.add_column(name)
    counts = ("records", "dead letters", "late", "batches", "restarts", "records/s")
    for name in (*counts, "last batch", "fresh p50", "p99", "lag"):
        table.add_column(name, justify="right")
    for each in found:
        ago_s = time.time() - each["last_batch_time_s"]
        lag = sum(sum(partitions.values()) for partitions in each["lag"].values())
        table.add_row(
            each["run"],
            each["state"],
            f"{each['record_count']:,}",
            f"{each['dead_letter_count']:,}",
            f"{each['late_row_count']:,}",
            f"{each['batch_count']:,}",
            f"{each['restart_count']:,}",
            f"{each['records_per_s']:,.0f}",
            f"{ago_s:,.0f} s ago" if each["batch_count"] else "none",
            *(_seconds(each.get(name)) for name in ("fresh_p50_s", "fresh_p99_s")),
            f"{lag:,}",
        )
    console = Console()
    console.print(table)
    for each in found:
        if (limit := each.get("limited_by", "nothing")) != "nothing":
            console.print(f"{each['run']} is limited by {limit}", highlight=False, markup=False, soft_wrap=True)
    if has_partitions:
        _print_partitions(found, console)


def _seconds(wait_s: float | None) -> str:
    return "" if wait_s is None else f"{wait_s:,.1f} s"


def _print_partitions(found: list[dict[str, Any]], console: Any) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("run", "topic", "partition", "position", "lag"):
        table.add_column(name, justify="left" if name in ("run", "topic") else "right")
    for each in found:
        for topic, partitions in sorted(each["positions"].items()):
            for number, position in sorted(partitions.items(), key=lambda item: int(item[0])):
                lag = each["lag"].get(topic, {}).get(number, 0)
                table.add_row(each["run"], topic, number, f"{position:,}", f"{lag:,}")
    console.print(table)
