"""The report as one HTML file: nothing is loaded from anywhere, no script runs, and any text in it is harmless.

The page itself forbids the browser all requests (its content security policy), so that a report can be mailed and
opened anywhere. It follows the reader's system (dark or light), and is as wide as its window: two columns of cards, or
one on a phone. What it looks like stands in `page.html.jinja` and `style.css`; `sections.py` works out what it shows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from barnabas.pipeline.report import sections, text
from barnabas.pipeline.report.data import ReportData, Totals
from barnabas.pipeline.report.time_plot import TimePlot, draw, rows

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


def render(data: ReportData) -> str:
    """Return the whole page; it can be written as UTF-8 whatever the data holds."""
    return _template().render(data=data, **{name: part(data) for name, part in sections.PARTS.items()})


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("barnabas.pipeline", "report"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "plain": text.plain,
        "shown": _shown,
        "number": text.number,
        "moment": lambda value: text.moment(text.naive(value)),
        "duration": text.duration,
        "draw": _drawn,
        "rows": rows,
        "ranked": sections.ranked,
        "tiles": _tiles,
    }
    return environment.get_template("page.html.jinja")


def _shown(value: str, longest: int = text.LONGEST_SHOWN) -> Markup:
    from markupsafe import Markup

    return Markup(text.shown(value, longest))


def _drawn(plot: TimePlot) -> Markup:
    from markupsafe import Markup

    return Markup(draw(plot))


def _tiles(totals: Totals) -> list[tuple[str, str]]:
    errors = totals.client_errors + totals.server_errors
    length = "–" if totals.median_length_s is None else text.duration(totals.median_length_s)
    return [
        ("Views", text.number(totals.views)),
        ("Visitors", text.number(totals.visitors)),
        ("Sessions", text.number(totals.sessions)),
        ("One page only", text.share(totals.bounces, totals.sessions)),
        ("Median session", length),
        ("Errors", text.share(errors, totals.views)),
        ("Declared crawlers", text.share(totals.crawler_views, totals.views)),
        ("Sent", text.size(totals.bytes)),
    ]
