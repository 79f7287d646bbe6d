"""Counts the views of an access log, as the oracle of the pipeline's parser and of the demo.

It shares no code with the pipeline on purpose: it takes a line apart from its front, field by field, without regular
expressions or `datetime`, so that a fault of one of the parsers shows as a difference. `sources/access_log.py` defines
what a view is.
"""

import calendar
import csv
import gzip
import string
import time
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

HEAD = ("minute", "page", "views")

_LONGEST_LINE = 65_536
_LONGEST_SIZE = 18
_LETTERS, _DIGITS, _VERSION = frozenset(string.ascii_letters), frozenset(string.digits), frozenset(string.digits + ".")
_CONTROLS = frozenset(map(chr, [*range(0x20), 0x7F]))
_MONTHS = ["", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_YEARS = range(1970, 3000)

# Views per (minute, page).
Counts = Counter[tuple[str, str]]


def count_views(lines: Iterable[str]) -> Counts:
    """Count the lines of an access log per minute and page; what is no view is left out."""
    counts: Counts = Counter()
    for line in lines:
        key = _minute_and_page(line)
        if key is not None:
            counts[key] += 1
    return counts


def count_file(path: Path) -> Counts:
    """Count the views in a log file, gzip or not.

    Raises:
        OSError: the file is not there, or not readable as what it says it is.
    """
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise OSError(f"{path} is damaged or cut short: {error}") from error
    return count_views(line.decode("utf-8", "backslashreplace") for line in data.split(b"\n"))


def read_counts(path: Path) -> Counts:
    """Read the demo's `views.csv`; a row that is there twice counts twice."""
    counts: Counts = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        if tuple(next(rows, ())) != HEAD:
            raise ValueError(f"{path} does not start with {','.join(HEAD)}")
        for minute, page, views in rows:
            counts[minute, page] += int(views)
    return counts


def _minute_and_page(line: str) -> tuple[str, str] | None:
    line = line.rstrip("\r")
    if len(line) > _LONGEST_LINE:
        return None
    address, _, line = line.partition(" ")
    identity, _, line = line.partition(" ")
    user, bracket, line = line.partition(" [")
    stamp, closing, line = line.partition('] "')
    if not (address and identity and user and bracket and closing):
        return None
    request, line = _up_to_quote(line)
    status, size = [*line.split(" "), "", ""][1:3]
    if not line.startswith(" ") or len(status) != 3 or not _DIGITS.issuperset(status):
        return None
    if size != "-" and not (0 < len(size) <= _LONGEST_SIZE and _DIGITS.issuperset(size)):
        return None
    if not _CONTROLS.isdisjoint(address + identity + user + stamp + request):
        return None
    page, minute = _page(request), _minute(stamp)
    return None if page is None or minute is None else (minute, page)


def _up_to_quote(text: str) -> tuple[str, str]:
    """Cut a text at its first quote that no backslash escapes; (all, nothing) where there is none."""
    position = 0
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return text[:position], text[position + 1 :]


def _page(request: str) -> str | None:
    words = request.split(" ")
    if len(words) not in (2, 3):
        return None
    method, page, protocol = [*words, "HTTP/1"][:3]
    version = protocol.removeprefix("HTTP/")
    if not method or not page or not version or version == protocol:
        return None
    return page if _LETTERS.issuperset(method) and _VERSION.issuperset(version) else None


def _minute(stamp: str) -> str | None:
    """The minute in UTC of a time like `17/May/2015:10:05:03 +0000`."""
    if (
        len(stamp) != 26
        or "".join(stamp[place] for place in (2, 6, 11, 14, 17, 20)) != "//::: "
        or stamp[21] not in "+-"
    ):
        return None
    numbers = [stamp[:2], stamp[7:11], stamp[12:14], stamp[15:17], stamp[18:20], stamp[22:24], stamp[24:]]
    if not _DIGITS.issuperset("".join(numbers)) or stamp[3:6] not in _MONTHS[1:]:
        return None
    day, year, hour, minute, second, zone_hours, zone_minutes = map(int, numbers)
    month = _MONTHS.index(stamp[3:6])
    if year == 0 or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    if max(hour, zone_hours) > 23 or max(minute, second, zone_minutes) > 59:
        return None
    east_s = (zone_hours * 60 + zone_minutes) * 60 * (-1 if stamp[21] == "-" else 1)
    moment = time.gmtime(calendar.timegm((year, month, day, hour, minute, second)) - east_s)
    return time.strftime("%Y-%m-%dT%H:%M:00Z", moment) if moment.tm_year in _YEARS else None
