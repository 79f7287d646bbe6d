"""What jobs found, as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Frames, Job, Parameters

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 10
_LONGEST_CELL = 70


def print_summary(job: Job, tables: Frames, parameters: Parameters, console: Console | None = None) -> None:
    """Print the summaries of a job, the first rows of each."""
    if job.summarize is None:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = console or Console()
    derived = {output.name for output in job.outputs} & set(tables)
    if not derived:
        console.print(f"{job.name}: nothing yet")
        return
    for summary in job.summarize(tables, parameters):
        rows = summary.rows.limit(_ROWS).collect()
        table = Table(title=summary.title, title_justify="left")
        for name, kind in summary.rows.dtypes:
            is_number = kind in ("int", "bigint", "double", "float") or kind.startswith("decimal")
            table.add_column(name, justify="right" if is_number else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_shown(value)) for value in row))
        console.print(table)
        if not rows:
            console.print("  (none)")


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}"
    text = str(value)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
