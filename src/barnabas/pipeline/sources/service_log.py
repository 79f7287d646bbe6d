"""A service's log lines, in any of several formats, as `service_log` events.

| shape | example |
| --- | --- |
| time, then a level among the first words | `[2024-05-17 10:05:03,123] WARN [Broker 0] text (kafka.Log)` |
| Python's logging without a format | `WARNING:root:text` |
| syslog | `May 17 10:05:03 host program[1]: text`; it has no level: INFO, unless the text begins with one |
| JSON | `{"time":"...","level":"error","msg":"text"}`, with the usual names of these three |
| logfmt | `time=... level=error msg="text"` |

The first shape is that of log4j (as in Kafka), Python's logging, Spring, Spark, nginx and PostgreSQL.

A line of another shape continues the previous record, such as a line of a stack trace, if that record began with a line
of a known shape. Otherwise it continues the record only if it is indented or begins like a line of a trace.
Continuation lines are part of the message. A message of more than `LONGEST_MESSAGE` characters is cut. A record also
ends at the last line that is available for now; when the log is read again, it may have more lines.

Any other line becomes a record of its own: level INFO (ERROR if it begins a Python traceback), the whole line as the
message, and the previous record's time. A record's number is that of its first line. No line is refused.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from barnabas.pipeline.events.types import EVENT_TYPES
from barnabas.pipeline.sources.access_log import MONTHS
from barnabas.pipeline.sources.auth_log import latest_year
from barnabas.pipeline.sources.log_lines import RawLine, SourceLine

SERVICE_LOG = EVENT_TYPES["service_log"]
SERVICE_LOG_EVENTS = (SERVICE_LOG,)

LONGEST_MESSAGE = 32_768

_LEVELS = {
    **dict.fromkeys(("TRACE", "VERBOSE", "FINE", "FINER", "FINEST", "DEBUG"), "DEBUG"),
    **dict.fromkeys(("INFO", "INFORMATION", "NOTICE", "LOG", "CONFIG"), "INFO"),
    **dict.fromkeys(("WARN", "WARNING"), "WARN"),
    **dict.fromkeys(("ERROR", "ERR", "SEVERE"), "ERROR"),
    **dict.fromkeys(("FATAL", "CRITICAL", "CRIT", "ALERT", "EMERG", "EMERGENCY", "PANIC"), "FATAL"),
}
_NAMES = "|".join(sorted(_LEVELS, key=len, reverse=True))
_TIME = re.compile(
    r"\[?(?P<date>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{2})[T ](?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,](?P<fraction>[0-9]{1,9}))?(?: ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?\]?(?=[^0-9A-Za-z]|\Z)"
)
# Among the first words, alone or in brackets; in lower case only in brackets.
_LEVEL = re.compile(
    rf"(?P<before>(?:[^ ]+ +){{0,6}}?)(?:[\[(<]?(?P<level>{_NAMES})[\])>]?|[\[(<](?P<small>{_NAMES.lower()})[\])>]):?"
    r"(?P<after>(?: .*)?)",
    re.DOTALL,
)
_PYTHON = re.compile(rf"(?P<level>{_NAMES}):(?P<name>[^: ]+):(?P<message>.*)", re.DOTALL)
_SYSLOG = re.compile(
    r"(?:<[0-9]{1,3}>)?(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>[0-9]{1,2}) (?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2}) "
    r"[^ ]+ (?P<program>[^ \[:]+)(?:\[[0-9]+\])?: (?P<message>.*)",
    re.DOTALL,
)
_LOGFMT = re.compile(r'([A-Za-z_@][A-Za-z0-9_.@-]*)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: +|\Z)')
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "t")
_LEVEL_KEYS = ("level", "severity", "lvl", "loglevel", "log.level", "levelname")
_MESSAGE_KEYS = ("msg", "message", "text")
_TRACE = re.compile(r"[ \t]|Caused by: |Traceback \(most recent call last\):|\.\.\. [0-9]+ more|\Z")
_LONGEST_LEVEL_HEAD = 300


class _Entry(NamedTuple):
    time: datetime | None
    level: str
    message: str


@dataclass(slots=True)
class _Record:
    """An entry with its continuation lines."""

    log: str
    number: int
    time: datetime
    entry: _Entry
    size: int
    last_number: int
    more: list[str] = field(default_factory=list)

    def add(self, number: int, text: str) -> None:
        self.last_number = number
        if self.size <= LONGEST_MESSAGE:
            self.more.append(text)
            self.size += len(text) + 1


def service_log_lines(
    lines: Iterable[RawLine], service: str, host: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Iterator[SourceLine]:
    """Yield one event per record; continuation lines are part of their record's event.

    `now` returns the time of records without a time if no earlier record has one. It also determines the year of
    syslog times.
    """
    source = {"service": service, "host": host}
    record: _Record | None = None
    last_time: datetime | None = None
    is_timed = False
    for line in lines:
        entry = _entry(line.text, now)
        if entry is None and record is not None and (is_timed or _TRACE.match(line.text)):
            record.add(line.number, line.text)
        else:
            if record is not None:
                yield _source_line(record, source, is_last_for_now=False)
            is_timed = entry is not None
            entry = entry or _Entry(None, "ERROR" if line.text.startswith("Traceback (") else "INFO", line.text)
            last_time = entry.time or last_time or now()
            record = _Record(line.log, line.number, last_time, entry, len(entry.message), line.number)
        if line.is_last_for_now:
            yield _source_line(record, source, is_last_for_now=True)
            record = None
    if record is not None:
        yield _source_line(record, source, is_last_for_now=True)


def _source_line(record: _Record, source: dict[str, str | None], *, is_last_for_now: bool) -> SourceLine:
    message = "\n".join([record.entry.message, *record.more])[:LONGEST_MESSAGE]
    fields: dict[str, object] = {
        "id": f"{record.log}:{record.number}",
        "time": record.time,
        **source,
        "level": record.entry.level,
        "message": message,
    }
    return SourceLine(
        record.log,
        record.number,
        int(record.time.timestamp() * 1000),
        [(SERVICE_LOG, fields)],
        is_last_for_now=is_last_for_now,
        last_number=record.last_number,
    )


def _entry(text: str, now: Callable[[], datetime]) -> _Entry | None:
    """Parse a line; return None if its shape is unknown."""
    if text.startswith("{"):
        return _json_entry(text)
    if match := _TIME.match(text):
        time = _time(match)
        level, message = _level_and_message(text[match.end() :])
        return None if time is None else _Entry(time, level, message)
    if match := _PYTHON.fullmatch(text):
        return _Entry(None, _LEVELS[match["level"]], match["message"])
    if match := _SYSLOG.fullmatch(text):
        time = _syslog_time(match, now)
        level, message = _level_and_message(match["message"])
        return None if time is None else _Entry(time, level, message)
    return _logfmt_entry(text)


def _level_and_message(text: str) -> tuple[str, str]:
    text = text.strip(" -|")
    # A level's name further right is a word of the text.
    match = _LEVEL.match(text[:_LONGEST_LEVEL_HEAD])
    if match is None:
        return "INFO", text
    level = _LEVELS[(match["level"] or match["small"]).upper()]
    before = match["before"].strip(" -|:")
    after = text[match.start("after") :].strip(" -|:")
    return level, f"{before} {after}".strip()


def _json_entry(text: str) -> _Entry | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return _named_entry({str(key): value for key, value in found.items()}, text)


def _logfmt_entry(text: str) -> _Entry | None:
    found: dict[str, object] = {}
    position = 0
    while position < len(text):
        match = _LOGFMT.match(text, position)
        if match is None:
            return None
        value = match[2]
        found[match[1]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        position = match.end()
    return _named_entry(found, text)


def _named_entry(found: dict[str, object], text: str) -> _Entry | None:
    """Return the entry of a JSON or logfmt line; None if it has neither a level nor a message."""
    level = _first(found, _LEVEL_KEYS)
    message = _first(found, _MESSAGE_KEYS)
    if level is None and message is None:
        return None
    stamp = _first(found, _TIME_KEYS)
    match = _TIME.fullmatch(stamp) if stamp is not None else None
    time = _time(match) if match is not None else None
    shown = (message if message is not None else text).encode("utf-8", "replace").decode()
    return _Entry(time, _LEVELS.get((level or "").upper(), "INFO"), shown)


def _first(found: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := found.get(key), str)), None)


def _time(match: re.Match[str]) -> datetime | None:
    date = match["date"].replace("/", "-")
    date = f"20{date}" if len(date) == 8 else date
    microseconds = (match["fraction"] or "")[:6].ljust(6, "0")
    offset = match["zone"] or ""
    offset = "+00:00" if offset in ("Z", "UTC", "GMT") else offset
    return _checked(f"{date}T{match['clock']}.{microseconds}{offset}")


def _syslog_time(match: re.Match[str], now: Callable[[], datetime]) -> datetime | None:
    if match["month"] not in MONTHS:
        return None
    month, day = MONTHS.index(match["month"]) + 1, int(match["day"])
    year = latest_year((month, day), now())
    return _checked(f"{year}-{month:02}-{day:02}T{match['clock']}")


def _checked(iso: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(iso)
        time = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if 1970 <= time.year < 3000 else None
