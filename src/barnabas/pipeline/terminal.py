"""Tables on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from barnabas.core.peer_text import on_one_line
from barnabas.core.tables import column_widths, record_lines

_LONGEST_CELL = 70


def print_table(
    console: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    can_drop_last: bool = False,
) -> None:
    """Print a small table: numbers right-aligned, long values shortened; one line per cell if the terminal is narrow.

    With `can_drop_last`, a table that is too wide first loses its last column, such as a bar.
    """
    texts = [[on_one_line(_shown(value)) for value in row] for row in rows]
    # Each column has a border and two spaces.
    widths = column_widths(columns, texts, console.width - 3 * len(columns) - 1)
    if widths is None and can_drop_last:
        print_table(console, title, columns[:-1], [row[:-1] for row in rows])
        return
    if widths is None:
        for line in (title, *record_lines(columns, texts), ""):
            console.print(Text(line), soft_wrap=True)
        return
    table = Table(title=title, title_justify="left")
    for index, (name, width) in enumerate(zip(columns, widths, strict=True)):
        values = [row[index] for row in rows if row[index] is not None]
        is_number = bool(values) and all(isinstance(value, (int, float)) for value in values)
        table.add_column(name, width=width, justify="right" if is_number else "left", overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
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
