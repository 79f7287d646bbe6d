"""The report as one HTML file: nothing is loaded from anywhere, no script runs, and any text in it is harmless.

The page itself forbids the browser all requests (its content security policy), so that a report can be mailed and
opened anywhere. It follows the reader's system (dark or light), and is as wide as its window: two columns of cards, or
one on a phone. What it looks like stands in `page.html.jinja` and `style.css`; `sections.py` works out what it shows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from barnabas.charts import labels
from barnabas.pipeline.report import sections, text
from barnabas.pipeline.report.data import ReportData

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


def render(data: ReportData) -> str:
    """Return the whole page; it can be written as UTF-8 whatever the data holds."""
    return _template().render(data=data, sections=sections)


@cache
def _template() -> Template:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("barnabas.pipeline", "report"), PackageLoader("barnabas", "charts")])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters |= {
        "plain": text.plain,
        "shown": _shown,
        "number": labels.number,
        "tick": labels.tick,
        "timestamp": lambda value: labels.timestamp(text.naive(value)),
        "duration": text.duration,
    }
    return environment.get_template("page.html.jinja")


def _shown(value: str, longest: int = text.LONGEST_SHOWN) -> Markup:
    from markupsafe import Markup

    return Markup(text.shown(value, longest))
