"""Web server access logs in the combined (or common) format, plain or gzip.

Format of a line (broken here); the common format ends before the referrer:

    address identity user [day/Mon/year:hour:minute:second zone] "METHOD target HTTP/x.y" status bytes
    "referrer" "agent"

A line is a page view if it begins with all of these fields, complete, separated by one blank (U+0020) and without
control characters (below U+0020, or U+007F). `tests/access_log_counts.py` has an independent parser.

| field | valid value |
| --- | --- |
| address, identity | anything without a blank |
| user | anything up to the first blank that is followed by `[`, blanks included; not empty |
| `[time]` | `17/May/2015:10:05:03 +0000`: a valid time, from 1970 to 2999 in UTC; zone up to 2359 |
| `"request"` | up to the first unescaped quote: METHOD target, or METHOD target HTTP/version |
| METHOD, target | ASCII letters; anything without a blank |
| version | digits and dots |
| status | 3 digits |
| bytes | 1 to 18 digits, or `-` |

Digits are 0 to 9; no field is empty. After the bytes, the line ends, or a blank and any text follow. So a line cut in
its agent is a view; a line cut in its request is not. A line of more than `LONGEST_LINE` characters is not a view.

Invariants: line numbers count from 1 and include unreadable lines; the same file always returns the same views. A line
ends with a line feed; carriage returns before it are part of the line end. Invalid UTF-8 becomes backslash escapes.

Source: the combined log format of web servers (`%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"`).
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

# In characters. The event of such a line is well below a topic's max.message.bytes.
LONGEST_LINE = 65_536
# A character takes at most 4 bytes, so a line of more bytes is too long, whatever its characters are.
LONGEST_LINE_BYTES = 4 * LONGEST_LINE

_CONTROL = r"\x00-\x1f\x7f"
_LINE = re.compile(
    rf"(?P<address>[^ {_CONTROL}]+) [^ {_CONTROL}]+ (?P<user>(?:(?! \[)[^{_CONTROL}])+) \[(?P<time>.{{26}})\] "
    rf'"(?P<request>(?:[^"\\{_CONTROL}]|\\[^{_CONTROL}])*)" (?P<status>[0-9]{{3}}) (?P<size>[0-9]{{1,18}}|-)(?: |\Z)',
    re.DOTALL,
)
_REQUEST = re.compile(r"(?P<method>[A-Za-z]+) (?P<page>[^ ]+)(?: HTTP/[0-9.]+)?")
_REFERRER_AND_AGENT = re.compile(r'"(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"', re.DOTALL)
_TIME = re.compile(
    r"([0-9]{2})/([A-Z][a-z]{2})/([0-9]{4}):((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}) "
    r"([+-](?:[01][0-9]|2[0-3]))([0-5][0-9])"
)
_END_OF_TIME_S = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp())
# Not strptime's and strftime's %b: they follow the locale.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GZIP_MAGIC = b"\x1f\x8b"


class View(NamedTuple):
    """One line of the log that is a page view.

    `page` is the request's target as logged, with its query; `size_bytes` is None if the log has a dash.
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
    user: str | None = None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line end) for every line of a log, gzip or not.

    Lines that are too long are cut to `LONGEST_LINE` + 1 characters.

    Raises:
        OSError: the file does not exist or cannot be read, or is a damaged or truncated gzip file.
    """
    with path.open("rb") as raw:
        is_gzip = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        number = 0
        try:
            for number, line in enumerate(_split(gzip.GzipFile(fileobj=raw) if is_gzip else raw), start=1):
                yield number, text_of(line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise OSError(f"{path} is damaged or cut short: it can't be unpacked after line {number}") from error


def text_of(line: bytes) -> str:
    """Decode a line whose line feed is removed; return at most `LONGEST_LINE` + 1 characters."""
    return line.rstrip(b"\r").decode("utf-8", "backslashreplace")[: LONGEST_LINE + 1]


def parse_line(number: int, text: str) -> View | None:
    """Parse one line as a page view; return None if it is not a request in the combined or common format."""
    if len(text) > LONGEST_LINE:
        return None
    match = _LINE.match(text)
    if match is None:
        return None
    request = _REQUEST.fullmatch(match["request"])
    time_s = _parse_time(match["time"])
    if request is None or time_s is None:
        return None
    size = match["size"]
    rest = _REFERRER_AND_AGENT.match(text, match.end())
    return View(
        number,
        time_s,
        match["address"],
        request["method"],
        request["page"],
        int(match["status"]),
        None if size == "-" else int(size),
        _dash_to_none(rest and rest["referrer"]),
        _dash_to_none(rest and rest["agent"]),
        _dash_to_none(match["user"]),
    )


def _split(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Yield each line without its line feed; lines that are too long are cut, so that memory is bounded."""
    while line := stream.readline(LONGEST_LINE_BYTES + 1):
        piece = line
        while not piece.endswith(b"\n") and (piece := stream.readline(LONGEST_LINE_BYTES)):
            pass
        yield line.removesuffix(b"\n")


def _parse_time(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None or match[2] not in MONTHS:
        return None
    day, month, year, clock, zone_hours, zone_minutes = match.groups()
    date = f"{year}-{MONTHS.index(month) + 1:02}-{day}"
    try:
        time_s = int(datetime.fromisoformat(f"{date}T{clock}{zone_hours}:{zone_minutes}").timestamp())
    except (ValueError, OverflowError):
        return None
    return time_s if 0 <= time_s < _END_OF_TIME_S else None


def _dash_to_none(text: str | None) -> str | None:
    return None if text in (None, "-") else text
