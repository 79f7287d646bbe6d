"""The report as one HTML file: nothing is loaded from anywhere, no script runs, and any text in it is harmless.

The page itself forbids the browser all requests (its content security policy), so that a report can be mailed and
opened anywhere. It follows the reader's system (dark or light), and is as wide as its window: two columns of cards, or
one on a phone.
"""

from html import escape

from barnabas.pipeline.report import sections, text
from barnabas.pipeline.report.data import ReportData, Totals
from barnabas.pipeline.report.style import CSS

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(data: ReportData) -> str:
    """Give the whole page; it can be written as UTF-8 whatever the data holds."""
    cards = "".join(section for make in sections.ALL if (section := make(data)) is not None)
    title = escape(text.plain(data.title))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{title}</title><style>{CSS}</style></head>\n<body><main>'
        f"<header><h1>{title}</h1>{_period(data)}</header>{_tiles(data.totals) if data.totals else ''}"
        f'<div class="cards">{cards}</div>{_foot(data)}</main></body></html>\n'
    )


def _period(data: ReportData) -> str:
    totals = data.totals
    if totals is None or totals.first_event is None or totals.last_event is None:
        return '<p class="soft">All times are UTC.</p>'
    first, last = text.naive(totals.first_event), text.naive(totals.last_event)
    return f'<p class="soft">{text.moment(first)} to {text.moment(last)}; all times are UTC.</p>'


def _foot(data: ReportData) -> str:
    if data.made_at is None:
        return ""
    return f'<footer class="soft">Made {text.moment(text.naive(data.made_at))} UTC by Barnabas.</footer>'


def _tiles(totals: Totals) -> str:
    errors = totals.client_errors + totals.server_errors
    length = "–" if totals.median_length_s is None else text.duration(totals.median_length_s)
    figures = (
        ("Views", text.number(totals.views)),
        ("Visitors", text.number(totals.visitors)),
        ("Sessions", text.number(totals.sessions)),
        ("One page only", text.share(totals.bounces, totals.sessions)),
        ("Median session", length),
        ("Errors", text.share(errors, totals.views)),
        ("Declared crawlers", text.share(totals.crawler_views, totals.views)),
        ("Sent", text.size(totals.bytes)),
    )
    return (
        '<dl class="tiles">'
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
        + "</dl>"
    )
