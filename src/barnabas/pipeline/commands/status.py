"""`barnabas pipeline status`: show the state of the runs of a checkpoint directory, without starting Spark."""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from barnabas.pipeline.commands.options import DEFAULT_DIRECTORY, Options
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.sources.run_status import statuses

_WIDEST = 10_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("run", nargs="?", help="only this run; of a run of several jobs RUN (all) or RUN/JOB")
    options.value("--checkpoint", "DIR", "", Path(DEFAULT_DIRECTORY, "checkpoints"), type=Path)
    options.flag("--partitions", "also show the position and lag of each partition")
    options.flag("--json", "print JSON for scripts")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if no run has a status."""
    if "://" in str(arguments.checkpoint):
        raise PlanError(
            "status can only read checkpoints on this machine; use a run's metrics for others (--metrics-port)"
        )
    runs = list(statuses(arguments.checkpoint))
    if not runs:
        raise PlanError(f"no run has a status in {arguments.checkpoint}: start a run, or give its --checkpoint")
    wanted = arguments.run
    found = [each for each in runs if wanted in (None, each["run"]) or each["run"].startswith(f"{wanted}/")]
    if not found:
        names = ", ".join(sorted(each["run"] for each in runs))
        raise PlanError(f"run {wanted} does not exist in {arguments.checkpoint}: use one of {names}")
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found, arguments.partitions)
    return 0


def _print(found: list[dict[str, Any]], has_partitions: bool) -> None:
    console = Console()
    _print_runs(console, [_cells(each) for each in found])
    for each in found:
        if (limit := each.get("limited_by", "nothing")) != "nothing":
            console.print(f"{each['run']} is limited by {limit}", highlight=False, markup=False, soft_wrap=True)
    if has_partitions:
        rows = [cells for each in found for cells in _cells_of_partitions(each)]
        console.print(_table(["run", "topic", "partition", "position", "lag"], rows))


def _cells(status: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a run by column name, the most important first."""
    ago_s = time.time() - status["last_batch_time_s"]
    lag = sum(sum(partitions.values()) for partitions in status["lag"].values())
    return {
        "run": status["run"],
        "state": status["state"],
        "records": f"{status['record_count']:,}",
        "records/s": f"{status['records_per_s']:,.0f}",
        "last batch": f"{ago_s:,.0f} s ago" if status["batch_count"] else "none",
        "lag": f"{lag:,}",
        "batches": f"{status['batch_count']:,}",
        "restarts": f"{status['restart_count']:,}",
        "dead letters": f"{status['dead_letter_count']:,}",
        "late": f"{status['late_row_count']:,}",
        "fresh p50": _seconds(status.get("fresh_p50_s")),
        "fresh p99": _seconds(status.get("fresh_p99_s")),
    }


def _cells_of_partitions(status: dict[str, Any]) -> Iterator[dict[str, str]]:
    for topic, partitions in sorted(status["positions"].items()):
        for number, position in sorted(partitions.items(), key=lambda item: int(item[0])):
            lag = status["lag"].get(topic, {}).get(number, 0)
            yield {
                "run": status["run"],
                "topic": topic,
                "partition": number,
                "position": f"{position:,}",
                "lag": f"{lag:,}",
            }


def _seconds(wait_s: float | None) -> str:
    return "" if wait_s is None else f"{wait_s:,.1f} s"


def _print_runs(console: Console, rows: list[dict[str, str]]) -> None:
    """Print a line for each run; columns that do not fit into the width follow in further tables."""
    names = list(rows[0])
    while len(names) > 1:
        # At least two columns: a name that is too long is then wrapped, not truncated.
        count = next(n for n in range(len(names), 1, -1) if n == 2 or _fits(console, _table(names[:n], rows)))
        console.print(_table(names[:count], rows))
        names[1:count] = []


def _table(names: list[str], rows: list[dict[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        is_text = name in ("run", "state", "topic")
        table.add_column(name, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for row in rows:
        table.add_row(*(Text(row[name]) for name in names))
    return table


def _fits(console: Console, table: Table) -> bool:
    unbounded = console.options.update(max_width=_WIDEST)
    return console.measure(table, options=unbounded).maximum <= console.width
