"""Formatting of text, numbers and times for the page.

Invariant: the result of `plain` has no invisible characters or direction marks and can be encoded as UTF-8; the result
of `shown` is also escaped HTML.
"""

import html
import re
from datetime import UTC, datetime

from barnabas.charts.labels import tick

LONGEST_SHOWN = 120

# Control and invisible characters, direction marks and lone surrogates: shown as their escapes.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def plain(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Truncate any text to `longest` characters, and escape its invisible characters."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return _UNSEEN.sub(_escaped, cut)


def shown(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Return any text as escaped HTML; it runs from left to right in any script, because most texts are paths."""
    if not text or text.isspace():
        return '<span class="empty">empty</span>'
    return f'<bdi dir="ltr">{html.escape(plain(text, longest))}</bdi>'


def decimal(value: float) -> str:
    """Return a number with one decimal; from 10 million on, like `tick`."""
    return f"{value:,.1f}" if abs(value) < 10**7 else tick(value)


def share(part: float, whole: float) -> str:
    """Return a share in percent; a dash if `whole` is 0."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def size(byte_count: int) -> str:
    """Return a number of bytes in powers of 1000, with three significant digits."""
    value, power = float(byte_count), 0
    while value >= 999.5 and power + 1 < len(_SIZES):
        value, power = value / 1000, power + 1
    return f"{value:.3g} {_SIZES[power]}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: 1 h 5 min."""
    total = round(seconds)
    for unit_s, unit, part_s, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if total >= unit_s:
            rest = total % unit_s // part_s
            return f"{total // unit_s} {unit} {rest} {part}" if rest else f"{total // unit_s} {unit}"
    return f"{total} s"


def naive(value: datetime) -> datetime:
    """Return a time in UTC without its zone; a naive time is already in UTC."""
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
