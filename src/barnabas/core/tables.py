"""Fit tables of text into the width of a terminal without breaking a word."""

from collections.abc import Sequence


def column_widths(columns: Sequence[str], rows: Sequence[Sequence[str]], available: int) -> list[int] | None:
    """Return the widths of columns whose cells are wrapped between words.

    Args:
        available: The total width of all columns, without separators.

    Returns:
        None if the longest words of the columns do not fit beside each other.
    """
    cells = [list(each) for each in zip(columns, *rows, strict=True)]
    least = [max(text_width(word) for cell in each for word in (cell.split() or [""])) for each in cells]
    if sum(least) > available:
        return None
    widths = [max(map(text_width, each)) for each in cells]
    while sum(widths) > available:
        widest = max((each for each in range(len(widths)) if widths[each] > least[each]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def record_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each cell of each row, after its column's name; an empty line separates rows."""
    width = max(map(text_width, columns))
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        lines += [
            f"{column}{' ' * (width - text_width(column))}  {cell}".rstrip()
            for column, cell in zip(columns, row, strict=True)
        ]
    return lines


def text_width(text: str) -> int:
    """Return how many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)
