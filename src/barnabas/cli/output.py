"""Output of results: tables for people, JSON for scripts, progress on stderr.

On a terminal a table has a frame and is wrapped between words; in a pipe it is plain aligned columns, never wrapped.

Every line and table is flushed: the reader of a pipe or a file sees a long-running command's output when it is printed.

All output passes through this module, because names, errors and records come from untrusted peers. Line breaks and
terminal control sequences in them are escaped (`core/peer_text.py`), also in a pipe. Requested raw data (records, CSV,
the data of a registry node) is not escaped in a pipe or a file.
"""

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from barnabas.core.peer_text import on_lines, on_one_line, to_json
from barnabas.core.process import print_status
from barnabas.core.tables import column_widths, record_lines, text_width

Cell = str | int | None


# differs from Kafka (describe-tables): Kafka's tools separate the columns of --describe with tabs.
class Bar(Protocol):
    """A progress bar."""

    def set(self, completed: float, note: str) -> None:
        """Show the progress."""
        ...


def print_json(value: object) -> None:
    """Print one line of JSON on stdout."""
    print(to_json(value), flush=True)


# differs from Kafka (printed-names): Kafka's tools print names unescaped.
def say(text: str = "") -> None:
    """Print one line on stdout."""
    print(on_one_line(text), flush=True)


def announce(text: str) -> None:
    """Print one line on stdout about a command that runs until it is stopped; a full disk does not end it."""
    print_status(on_one_line(text), sys.stdout)


def prompt(text: str, *, on_stderr: bool = False) -> None:
    """Print a question without a line end, so that the answer follows on the same line."""
    print(on_one_line(text), end="", file=sys.stderr if on_stderr else sys.stdout, flush=True)


def clear_screen() -> None:
    """Clear the terminal and move to its top."""
    print("\x1b[H\x1b[2J", end="")


def print_data(text: str) -> None:
    """Print text of several lines, with its last line end: raw in a pipe, escaped on a terminal."""
    sys.stdout.write(on_lines(text) if sys.stdout.isatty() else text)


def data_writer() -> Callable[[bytes], object]:
    """Return a function that writes bytes as `print_data` writes text; the caller flushes `sys.stdout.buffer`."""
    write = sys.stdout.buffer.write
    if not sys.stdout.isatty():
        return write
    return lambda data: write(on_lines(data.decode(errors="backslashreplace")).encode())


def print_csv(rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows as CSV in the form of Kafka's tools."""
    import csv

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    print_data(text.getvalue())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print a table, with numbers right-aligned, None as a dash, and a line for each cell on a narrow terminal."""
    listed = [list(row) for row in rows]
    are_numbers = [_are_numbers([row[index] for row in listed]) for index in range(len(columns))]
    texts = [["-" if cell is None else on_one_line(str(cell)) for cell in row] for row in listed]
    if not sys.stdout.isatty():
        _print_plain(columns, texts, are_numbers)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    # Each column has a frame and two spaces.
    widths = column_widths(columns, texts, console.width - 3 * len(columns) - 1)
    if widths is None:
        print(*record_lines(columns, texts), sep="\n", flush=True)
        return
    table = Table(box=box.ROUNDED)
    for column, width, is_number in zip(columns, widths, are_numbers, strict=True):
        table.add_column(column, width=width, justify="right" if is_number else "left", overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    console.print(table)


def _are_numbers(cells: Iterable[Cell]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(isinstance(cell, int) for cell in known)


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[str]], are_numbers: Sequence[bool]) -> None:
    """Print columns without a frame, and without loading rich."""
    lines = [list(columns), *rows]
    widths = [max(map(text_width, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = []
        for text, width, is_number in zip(line, widths, are_numbers, strict=True):
            gap = " " * (width - text_width(text))
            cells.append(gap + text if is_number else text + gap)
        # Remove the padding of the last column.
        print("  ".join(cells).rstrip())
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a line on stderr; a full disk does not end the command."""
    print_status(on_one_line(text), sys.stderr)


def progress(description: str, total: float | None, *, is_wanted: bool = True) -> AbstractContextManager[Bar]:
    """Show a progress bar on stderr if that is a terminal.

    Args:
        total: The final value of `Bar.set`; None if unknown.
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
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(on_one_line(description), total=total, note="")

    def __enter__(self) -> "_RichBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def set(self, completed: float, note: str) -> None:
        self._progress.update(self._task, completed=completed, note=on_one_line(note))
