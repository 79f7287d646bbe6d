"""Results of jobs, as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import Frames, Job, Parameters
from barnabas.pipeline.terminal import print_table

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 10


def print_summary(job: Job, tables: Frames, parameters: Parameters, console: Console | None = None) -> None:
    """Print the summaries of a job, the first rows of each."""
    if job.summarize is None:
        return
    from rich.console import Console

    console = console or Console()
    derived = {output.name for output in job.outputs} & set(tables)
    if not derived:
        console.print(f"{job.name}: nothing yet")
        return
    for summary in job.summarize(tables, parameters):
        rows = summary.rows.limit(_ROWS).collect()
        print_table(console, summary.title, summary.rows.columns, rows)
