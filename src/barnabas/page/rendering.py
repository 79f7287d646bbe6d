"""Views as HTML: templates that escape all text from a cluster.

A name may be any text. HTML's special characters are escaped, and unprintable ones are shown as `\\n` or `\\u202e`:
otherwise a line break would be invisible, and a bidirectional mark could make one name look like another.
"""

from collections.abc import Mapping
from hashlib import sha256
from importlib import resources
from typing import Final
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from barnabas.core.advised_commands import with_options
from barnabas.core.peer_text import on_lines, on_one_line
from barnabas.explain.finding import Finding, Severity
from barnabas.explain.formatting import amount, count, duration
from barnabas.page.view import timestamp

_MEDIA_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class Asset:
    """A file of static/, and a text that identifies its version."""

    __slots__ = ("data", "media_type", "tag")

    def __init__(self, name: str, data: bytes) -> None:
        self.data = data
        self.media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
        self.tag = sha256(data).hexdigest()[:12]


def load_assets() -> dict[str, Asset]:
    """Return the files that browsers may request, by name."""
    static = resources.files("barnabas.page").joinpath("static")
    chart = resources.files("barnabas.charts").joinpath("chart.css")
    files = [chart, *(each for each in static.iterdir() if each.name[-3:] != ".md")]
    return {each.name: Asset(each.name, each.read_bytes()) for each in files}


def new_environment(root_path: str) -> Environment:
    """Return the environment of the templates; their links begin with `root_path`."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("barnabas.page"), PackageLoader("barnabas", "charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
        # Templates never change within a release.
        auto_reload=False,
    )
    made.filters |= {
        "number": _number,
        "rate": _rate,
        "bytes": _bytes,
        "amount": amount,
        "duration": lambda value: "–" if value is None else duration(value),
        "timestamp": timestamp,
        "severity": _severity,
        "place": _view_path,
        "items": count,
        "lines": _lines,
        "with_options": with_options,
    }
    tags = {name: each.tag for name, each in load_assets().items()}
    made.globals |= {"root": root_path, "query": _query, "tags": tags}
    return made


def _shown(value: object) -> object:
    """Return the displayed form of a value; text from a cluster stays on one line."""
    if isinstance(value, Markup):
        return value
    return on_one_line(value, 1_000) if isinstance(value, str) else value


def _lines(text: str) -> Markup:
    """Return the text of a record, already cut, with its line breaks."""
    return escape(on_lines(text))


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _rate(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}/s" if value >= 10 or value == 0 else f"{value:.2g}/s"


def _bytes(value: int | None) -> str:
    return "–" if value is None else amount(value, "bytes")


def _severity(finding: Finding) -> str:
    return {Severity.FINE: "fine"}.get(finding.severity, finding.severity.name.lower())


def _view_path(subject: str) -> str:
    """Return the path of the view for a finding's subject, relative to the cluster's; "" if no view exists."""
    kind, _, name = subject.partition(" ")
    if kind == "partition":
        kind, name = "topic", name.rpartition("-")[0]
    match kind:
        case "group" | "topic":
            return f"/{kind}?{_query(name=name)}"
        case "client":
            return f"/clients?{_query(find=name)}"
        case "broker":
            return "/brokers"
    return ""


def _query(*kept: Mapping[str, object], **values: object) -> str:
    """Return the query of a link: parameters kept from other queries, and new values."""
    for each in kept:
        values = {**each, **values}
    return urlencode({name: value for name, value in values.items() if value not in ("", None)}, errors="replace")
