"""What the demo shows to people: the pages with most views, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipeline.demo.plain_count import Counts, totals_per_page
from barnabas.pipeline.terminal import print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_BAR_WIDTH = 24
_PLAIN_LINE_EVERY_S = 5.0


def print_top_pages(console: Console, counts: Counts, row_count: int, title: str) -> None:
    """Print the pages with most views as a table, most first; equal ones by name."""
    totals = totals_per_page(counts)
    all_views = sum(totals.values())
    top = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:row_count]
    rows: list[list[object]] = [
        [rank, page, views, f"{views / all_views:.1%}", "█" * max(1, round(_BAR_WIDTH * views / top[0][1]))]
        for rank, (page, views) in enumerate(top, start=1)
    ]
    print_table(console, title, ["", "page", "views", "share", ""], rows, can_drop_last=True)
    console.print(
        f"{all_views:,} views of {len(totals):,} pages in {len({minute for minute, _ in counts}):,} minutes with a view"
    )


class Gauges:
    """Lines of the log in the topics as a bar, and what each job has read so far.

    On a terminal they move; elsewhere a line is printed every few seconds.
    """

    def __init__(self, console: Console, progress: Progress, line_count: int) -> None:
        self._console = console
        self._progress = progress
        self._line_count = line_count
        self._replayed = progress.add_task("access log → topics", total=line_count, note="")
        self._counted = progress.add_task("topics → tables", total=None, note="")
        self._lines = 0
        self._records: dict[str, int] = {}
        self._next_line_s = 0.0

    def replayed(self, line_count: int) -> None:
        """Note how many lines of the log are in the topics."""
        self._lines = line_count
        self._progress.update(self._replayed, completed=line_count)
        self._say()

    def counted(self, job: str, record_count: int) -> None:
        """Note how many records a job has read."""
        self._records[job] = record_count
        self._progress.update(self._counted, note=self._jobs())
        self._say()

    def say_last(self) -> None:
        """Say where it came to, where no bar shows it."""
        self._next_line_s = 0.0
        self._progress.update(self._counted, total=1, completed=1)
        self._say()

    def _jobs(self) -> str:
        return ", ".join(f"{job} {count:,}" for job, count in self._records.items())

    def _say(self) -> None:
        now = self._progress.get_time()
        if self._console.is_terminal or now < self._next_line_s:
            return
        self._next_line_s = now + _PLAIN_LINE_EVERY_S
        jobs = f"; records read: {self._jobs()}" if self._records else ""
        self._console.print(f"  {self._lines:,} of {self._line_count:,} lines in the topics{jobs}")


@contextmanager
def gauges(console: Console, line_count: int) -> Iterator[Gauges]:
    """Show the two bars while the block runs."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("  {task.description:<20}"),
        BarColumn(_BAR_WIDTH),
        MofNCompleteColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=console,
        disable=not console.is_terminal,
    )
    with progress:
        shown = Gauges(console, progress, line_count)
        yield shown
        shown.say_last()
