"""What the demo and the commands show to people: tables and progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipeline.plain_count import Counts, totals_per_page

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_BAR_WIDTH = 24
_LONGEST_PAGE = 70
_PLAIN_LINE_EVERY_S = 5.0


def print_top_pages(console: Console, counts: Counts, row_count: int, title: str) -> None:
    """Print the pages with most views as a table, most first; equal ones by name."""
    from rich.table import Table
    from rich.text import Text

    totals = totals_per_page(counts)
    all_views = sum(totals.values())
    top = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:row_count]
    table = Table(title=title, title_justify="left")
    table.add_column("", justify="right", style="dim")
    table.add_column("page", overflow="fold")
    table.add_column("views", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    for rank, (page, views) in enumerate(top, start=1):
        shown = page if len(page) <= _LONGEST_PAGE else page[: _LONGEST_PAGE - 1] + "…"
        bar = "█" * max(1, round(_BAR_WIDTH * views / top[0][1]))
        table.add_row(str(rank), Text(shown), f"{views:,}", f"{views / all_views:.1%}", Text(bar, style="cyan"))
    console.print(table)
    console.print(
        f"{all_views:,} views of {len(totals):,} pages in {len({minute for minute, _ in counts}):,} minutes with a view"
    )


class Gauges:
    """Two bars: lines of the log in the topic, and records of the topic in Spark.

    On a terminal they move; elsewhere a line is printed every few seconds.
    """

    def __init__(self, console: Console, progress: Progress, line_count: int) -> None:
        self._console = console
        self._progress = progress
        self._line_count = line_count
        self._replayed = progress.add_task("access log → topic", total=line_count, note="")
        self._counted = progress.add_task("topic → Spark", total=line_count, note="")
        self._lines = self._records = 0
        self._row_count = 0
        self._next_line_s = 0.0

    def replayed(self, line_count: int) -> None:
        """Note how many lines of the log are in the topic."""
        self._lines = line_count
        self._progress.update(self._replayed, completed=line_count)
        self._say()

    def note_replay(self, note: str) -> None:
        """Show something beside the replay's bar."""
        self._progress.update(self._replayed, note=note)

    def counted(self, offset: int, row_count: int, watermark: str) -> None:
        """Note how far Spark has read, how many rows its last batch wrote, and its event time."""
        self._records = min(offset, self._line_count)
        self._row_count += row_count
        note = f"{self._row_count:,} rows"
        if not watermark.startswith("1970"):
            note += f", complete up to {watermark[:16].replace('T', ' ')}"
        self._progress.update(self._counted, completed=self._records, note=note)
        self._say()

    def say_last(self) -> None:
        """Say where it came to, where no bar shows it."""
        self._next_line_s = 0.0
        self._say()

    def _say(self) -> None:
        now = self._progress.get_time()
        if self._console.is_terminal or now < self._next_line_s:
            return
        self._next_line_s = now + _PLAIN_LINE_EVERY_S
        self._console.print(
            f"  {self._lines:,} of {self._line_count:,} lines in the topic, {self._records:,} read by Spark, "
            f"{self._row_count:,} rows written"
        )


@contextmanager
def gauges(console: Console, line_count: int) -> Iterator[Gauges]:
    """Show the two bars while the block runs."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("  {task.description:<18}"),
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
