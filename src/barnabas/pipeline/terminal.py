"""Tables as people see them on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.core.peer_text import on_one_line

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_CELL = 70


def print_table(console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a small table; numbers to the right, what is long cut short."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for index, name in enumerate(columns):
        values = [row[index] for row in rows if row[index] is not None]
        is_number = bool(values) and all(isinstance(value, (int, float)) for value in values)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(on_one_line(_shown(value))) for value in row))
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
        return f"{value:,.4g}"
    text = str(value)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
