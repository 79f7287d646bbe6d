"""Web server access logs in the combined (or common) format, plain or gzip.

Format of a line (broken here), fields apart by one blank; the common format ends before the referrer:

    address identity user [day/Mon/year:hour:minute:second zone] "METHOD target HTTP/x.y" status bytes
    "referrer" "agent"

Invariants: line numbers count from 1 and every line of the file has one, readable or not; the same file gives the same
views, always. Bytes that are no UTF-8 are kept as backslash escapes.

Source: the combined log format of web servers (`%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"`).
"""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

_LINE = re.compile(
    r"(?P<address>\S+) \S+ (?P<user>.+?) \[(?P<time>[^\]]+)\] "
    r'"(?P<method>[A-Za-z]+) (?P<page>\S+)(?: HTTP/[\d.]+)?" (?P<status>\d{3}) (?P<size>\d+|-)'
    r'(?: "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?'
)
_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
# Not strptime's and strftime's %b: they follow the locale.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GZIP_MAGIC = b"\x1f\x8b"


class View(NamedTuple):
    """One line of the log that is a page view.

    `page` is the request's target as it was logged, query and all; `size_bytes` is None where the log has a dash.
    """

    line: int
    time_s: int
    address: str
    method: str
    page: str
    status: int
    size_bytes: int | None
    referrer: str | None
    agent: str | None


@dataclass(slots=True)
class Survey:
    """What one pass over a log tells: how many lines and views, which times, and how far out of order they are."""

    line_count: int = 0
    view_count: int = 0
    first_time_s: int | None = None
    last_time_s: int | None = None
    disorder_s: int = 0

    def add(self, view: View | None) -> None:
        """Count one line; None is a line that could not be read."""
        self.line_count += 1
        if view is None:
            return
        self.view_count += 1
        if self.first_time_s is None or view.time_s < self.first_time_s:
            self.first_time_s = view.time_s
        if self.last_time_s is None or view.time_s > self.last_time_s:
            self.last_time_s = view.time_s
        self.disorder_s = max(self.disorder_s, self.last_time_s - view.time_s)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give (line number from 1, text without its line end) for every line of a log, gzip or not.

    Raises:
        OSError: the file is not there, or not readable as what it says it is.
    """
    with path.open("rb") as raw:
        is_gzip = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if is_gzip else raw
        for number, line in enumerate(stream, start=1):
            yield number, line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")


def parse_line(number: int, text: str) -> View | None:
    """Read one line as a page view; None where it is no request in the combined or common format."""
    match = _LINE.match(text)
    if match is None:
        return None
    time_s = _parse_time(match["time"])
    if time_s is None:
        return None
    size = match["size"]
    return View(
        number,
        time_s,
        match["address"],
        match["method"],
        match["page"],
        int(match["status"]),
        None if size == "-" else int(size),
        _dash_to_none(match["referrer"]),
        _dash_to_none(match["agent"]),
    )


def survey(path: Path) -> Survey:
    """Read a whole log once and tell what is in it."""
    found = Survey()
    for number, text in read_lines(path):
        found.add(parse_line(number, text))
    return found


def _parse_time(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None or match[2] not in MONTHS:
        return None
    day, month, year, hour, minute, second, sign, zone_hours, zone_minutes = match.groups()
    try:
        offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
        zone = timezone(-offset if sign == "-" else offset)
        local = datetime(int(year), MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second), tzinfo=zone)
        return int(local.astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None


def _dash_to_none(text: str | None) -> str | None:
    return None if text in (None, "-") else text
