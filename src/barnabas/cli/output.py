"""How results are shown: tables for people, JSON for scripts, progress on stderr.

On a terminal a table has a frame; in a pipe it is plain aligned columns, never cut and never wrapped.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

Cell = str | int | None


# differs from Kafka (describe-tables): its tools' --describe is divided by tabs.
class Bar(Protocol):
    """A progress bar."""

    def set(self, completed: float, note: str) -> None:
        """Show how far it is."""
        ...


def print_json(value: object) -> None:
    """One line of JSON on stdout."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str | None = None) -> None:
    """A table on stdout; numbers stand to the right, None is a dash."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100_000)
    listed = [list(row) for row in rows]
    table = Table(
        box=box.ROUNDED if console.is_terminal else None,
        title=Text(title) if title else None,
        title_justify="left",
        pad_edge=console.is_terminal,
    )
    for index, column in enumerate(columns):
        cells = [row[index] for row in listed if row[index] is not None]
        is_number = bool(cells) and all(isinstance(cell, int) for cell in cells)
        table.add_column(column, justify="right" if is_number else "left", no_wrap=not console.is_terminal)
    for row in listed:
        table.add_row(*(Text("-" if cell is None else str(cell)) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    # The last column is padded as the others are: in a pipe nobody wants that.
    for line in capture.get().splitlines():
        print(line.rstrip())


def note(text: str) -> None:
    """A line for the person at the terminal, beside the results."""
    print(text, file=sys.stderr)


def progress(description: str, total: float | None, *, is_wanted: bool = True) -> AbstractContextManager[Bar]:
    """A progress bar on stderr where that is a terminal, and nothing elsewhere.

    Args:
        total: What `Bar.set` counts up to; None when nobody knows.
    """
    return _RichBar(description, total) if is_wanted and sys.stderr.isatty() else _NoBar()


class _NoBar:
    def __enter__(self) -> "_NoBar":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, completed: float, note: str) -> None:
        return None


class _RichBar:
    def __init__(self, description: str, total: float | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(description, total=total, note="")

    def __enter__(self) -> "_RichBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def set(self, completed: float, note: str) -> None:
        self._progress.update(self._task, completed=completed, note=note)
