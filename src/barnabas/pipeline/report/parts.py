"""The parts that sections are made of: cards, plots with their figures, names with bars.

A bar stands in a table's row, under its name: the table is the plot, so that a reader without eyes has the same figures
and a long name has room to break.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from barnabas.pipeline.report import text
from barnabas.pipeline.report.data import Counted
from barnabas.pipeline.report.time_plot import TimePlot, column_label, draw, value_label


def card(title: str, about: str, body: str, *, is_wide: bool = False) -> str:
    """Give a section; `body` is HTML, what is before it text."""
    place = ' class="all"' if is_wide else ""
    said = f'<p class="soft">{escape(about)}</p>' if about else ""
    return f"<section{place}><h2>{escape(title)}</h2>{said}{body}</section>"


def nothing(said: str) -> str:
    """Say that there is nothing to show."""
    return f'<p class="none">{escape(said)}</p>'


def plot_with_figures(plot: TimePlot, column: str) -> str:
    """Give legend, plot, and the same as a table; `column` heads the table's first column."""
    legend = "".join(f'<li><i class="{series.style}"></i>{escape(series.name)}</li>' for series in plot.series)
    rows = (
        (column_label(plot, n), *(value_label(plot, series.values[n]) for series in plot.series))
        for n in range(plot.column_count)
    )
    figures = table((column, *(series.name for series in plot.series)), rows)
    return (
        f'<ul class="legend">{legend}</ul>{draw(plot)}'
        f'<details><summary>Figures</summary><div class="rows">{figures}</div></details>'
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table of a name and numbers; cells are text of ours."""
    first, *others = heads
    head = f'<th scope="col">{escape(first)}</th>' + "".join(
        f'<th scope="col" class="number">{escape(other)}</th>' for other in others
    )
    body = "".join(
        f"<tr><td>{row[0]}</td>" + "".join(f'<td class="number">{cell}</td>' for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: `name` may be anything; `said` is the value as people read it.

    `note` stands below the value and is short, `detail` below the bar.
    """

    name: str
    value: float
    said: str
    note: str = ""
    detail: str = ""


def counted(rows: Sequence[Counted], whole: int) -> list[Bar]:
    """Give counts with their shares of a whole."""
    return [Bar(row.name, row.count, text.number(row.count), text.share(row.count, whole)) for row in rows]


def bars(heads: tuple[str, str], rows: Sequence[Bar], style: str = "s1") -> str:
    """Give names with a bar each, as long as its value is in relation to the highest.

    Args:
        heads: Of the names and the values.
        rows: In the order in which they are shown.
        style: CSS class of the bars' colour.
    """
    highest = max(row.value for row in rows)
    head = f'<th scope="col">{escape(heads[0])}</th><th scope="col" class="number count">{escape(heads[1])}</th>'
    body = []
    for row in rows:
        width = 100 * row.value / highest if highest > 0 and row.value > 0 else 0
        note, detail = (f"<small>{escape(said)}</small>" if said else "" for said in (row.note, row.detail))
        body.append(
            f'<tr><td><span class="name">{text.shown(row.name)}</span><span class="track">'
            f'<span class="bar {style}" style="width:{width:.3f}%"></span></span>{detail}</td>'
            f'<td class="number" data-value="{row.value}">{row.said}{note}</td></tr>'
        )
    return f'<table class="bars"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
