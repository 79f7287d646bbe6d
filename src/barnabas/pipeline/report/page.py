"""The report as one HTML file, which loads nothing, runs no scripts and escapes all text.

The page's content security policy forbids all requests, so a report can be mailed and opened anywhere. The page follows
the system's dark or light mode. It is as wide as its window: two columns of cards, or one on a phone. `page.html.jinja`
and `style.css` define the layout; `sections.py` computes the contents.
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
    """Return the whole page; it can be encoded as UTF-8, whatever the data contains."""
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
