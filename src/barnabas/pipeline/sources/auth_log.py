"""Login attempts in a host's auth log, as written by OpenSSH: user, address and outcome.

Format of a line, one of (a leading `<priority>` is skipped):

    May 17 10:05:03 host sshd[4711]: message                       traditional syslog, without year and zone
    2015 May 17 10:05:03 host sshd[4711]: message                  with the year
    2015-05-17T10:05:03.123456+02:00 host sshd[4711]: message      RFC 3339

Messages that yield a `login`:

| message | login |
| --- | --- |
| `Accepted METHOD for USER from ADDRESS port N ssh2` | succeeded |
| `Failed METHOD for [invalid user ]USER from ADDRESS port N ssh2` | failed; METHOD `none` is not an attempt: no login |
| `Invalid user USER from ADDRESS port N` | failed: "invalid user" |
| `pam_unix(sshd:auth): authentication failure; ... rhost=ADDRESS  user=USER` | failed |
| `maximum authentication attempts exceeded for ...` | failed: "too many attempts" |
| `Connection closed by authenticating user USER ADDRESS port N`, `reset by`, `Disconnected from` | failed: "gave up" |
| `message repeated N times: [ one of these]` | N logins |

One attempt may write several of these lines. They are matched by server process, whose id is in the line. The `Failed`
after an "invalid user" or PAM line of the same process does not count again. "too many attempts" and "gave up" count
only if no login of the process has counted yet.

Lines of other programs and other messages of sshd yield nothing. A line is refused if it is not a syslog line, or if
its message begins like one of these but does not match it.

Neither a hostile user name nor a hostile key can change the address. Where a client chose the user name, the last
`from ADDRESS` of the message counts. `Accepted` and `Failed` without "invalid user" name a user that exists; after the
address they may quote a certificate's key id, which the client chose, so the first `from ADDRESS` counts. OpenSSH looks
at no key of an invalid user.

A time without a year gets the year in which it is nearest to the previous line. A time without a zone is in UTC.

Source: OpenSSH's auth.c (`auth_log`, `auth_maxtries_exceeded`), auth2-pubkey.c, packet.c, Linux-PAM's pam_unix; RFC
3164, RFC 5424.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from barnabas.pipeline.events.types import EVENT_TYPES, EventType
from barnabas.pipeline.sources.access_log import LONGEST_LINE, MONTHS, read_lines
from barnabas.pipeline.sources.log_lines import RawLine, Refused, SourceLine

LOGIN = EVENT_TYPES["login"]
AUTH_LOG_EVENTS = (LOGIN,)

_LINE = re.compile(
    r"(?:<[0-9]{1,3}>)?(?:"
    r"(?:(?P<year>[0-9]{4}) )?(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>[0-9]{1,2}) (?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"|(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2}))"
    r") (?P<host>[^ ]+) (?P<program>[^ \[:]+)(?:\[(?P<pid>[0-9]+)\])?: (?P<message>.*)",
    re.DOTALL,
)
# OpenSSH 9.8 split its server into several programs.
_PROGRAMS = frozenset(("sshd", "sshd-session", "sshd-auth"))
_REPEATED = re.compile(r"message repeated ([0-9]{1,9}) times: \[ ?(.*?)\]?", re.DOTALL)
_MOST_REPEATS = 100_000

_FROM = r"from (?P<address>[^ ]+) port [0-9]+"
_ACCEPTED = re.compile(rf"Accepted (?P<method>[^ ]+) for (?P<user>.*?) {_FROM}(?: ssh2)?(?:: .*)?", re.DOTALL)
_FAILED = re.compile(rf"Failed (?P<method>[^ ]+) for (?P<user>.*?) {_FROM}(?: ssh2)?(?:: .*)?", re.DOTALL)
_FAILED_INVALID = re.compile(
    rf"Failed (?P<method>[^ ]+) for (?:invalid|illegal) user (?P<user>.*) {_FROM}(?: ssh2)?(?:: .*)?", re.DOTALL
)
_INVALID = re.compile(r"(?:Invalid|Illegal) user (?P<user>.*) from (?P<address>[^ ]+)(?: port [0-9]+)?", re.DOTALL)
_PAM = re.compile(r"(?:pam_[a-z_]+\(|PAM[^:]*authentication failure)", re.DOTALL)
_PAM_FAILURE = re.compile(
    r"pam_[a-z_]+\(sshd(?:-[a-z]+)?:auth\): authentication failure; "
    # The first `rhost=`: a user name may contain another one.
    r"(?>.*?\brhost=)(?P<address>[^ ]*+)(?: ++user=(?P<user>.*))?",
    re.DOTALL,
)
_EXCEEDED = re.compile(
    rf"(?:error: )?maximum authentication attempts exceeded for (?:(?:invalid|illegal) user )?(?P<user>.*) {_FROM}"
    r"(?: ssh2)?(?: \[preauth\])?",
    re.DOTALL,
)
_LEAVING = "(?:Connection (?:closed|reset) by|Disconnected from)"
_GAVE_UP = re.compile(
    rf"{_LEAVING} (?:authenticating|invalid) user (?P<user>.*) (?P<address>[^ ]+) port [0-9]+(?: \[preauth\])?",
    re.DOTALL,
)
# Beginning of the message, kind of line, pattern of the whole message, and reason of the failure.
_SHAPES = (
    (re.compile("Accepted "), "accepted", _ACCEPTED, None),
    (re.compile("Failed [^ ]+ for (?:invalid|illegal) user "), "failed", _FAILED_INVALID, "invalid user"),
    (re.compile("Failed "), "failed", _FAILED, None),
    (re.compile("(?:Invalid|Illegal) user "), "announced", _INVALID, "invalid user"),
    (re.compile("(?:error: )?maximum authentication attempts"), "ended", _EXCEEDED, "too many attempts"),
    (re.compile(f"{_LEAVING} (?:authenticating|invalid) user "), "ended", _GAVE_UP, "gave up"),
)
# Days before each month of a leap year.
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_HALF_A_YEAR_DAYS = 183
# A server process waits two minutes for a login by default; its process id is reused much later.
_PROCESS_S = 600
_MOST_PROCESSES = 10_000


@dataclass(slots=True)
class _Process:
    """State of a server process: whether a login has counted, and whether an announced login's `Failed` is pending."""

    seen_s: float
    has_counted: bool = False
    is_announced: bool = False


class NotOfTheFormError(Exception):
    """The line is refused; the message is the reason."""


def auth_log_lines(
    lines: Iterable[RawLine], year: int | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Iterator[SourceLine]:
    """Yield each line's logins (if any), or the refused line.

    `year` is that of the first line without a year; None: the latest year in which that line is not after `now`.
    """
    reader = _Reader(year, now)
    for line in lines:
        time_ms, refused, events = reader.time_ms, None, []
        try:
            events = reader.read(line.text, f"{line.log}:{line.number}")
            time_ms = reader.time_ms
        except NotOfTheFormError as error:
            refused = Refused(line.text, str(error))
        yield SourceLine(line.log, line.number, time_ms, events, refused, line.is_last_for_now)


def first_year(path: Path) -> int | None:
    """Return the year of a file's first line without one, so that the last line is not after the file's last change.

    Return None if no line lacks a year. Raise OSError if the file does not exist or cannot be read.
    """
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    years = _Years(0)
    last: tuple[int, int] | None = None
    for _, text in read_lines(path):
        match = _LINE.fullmatch(text)
        if match is not None and match["month"] in MONTHS and match["year"] is None:
            last = (MONTHS.index(match["month"]) + 1, int(match["day"]))
            years.of(*last)
    return None if last is None else latest_year(last, changed) - years.year


def latest_year(month_and_day: tuple[int, int], now: datetime) -> int:
    """Return the latest year in which the day is not after `now`, with a tolerance of one day for differing clocks."""
    month, day = month_and_day
    is_past = _DAYS_BEFORE[month - 1] + day <= _DAYS_BEFORE[now.month - 1] + now.day + 1
    return now.year if is_past else now.year - 1


class _Years:
    """Assigns each day the year in which it is nearest to the log's previous day."""

    def __init__(self, year: int) -> None:
        self.year = year
        self._day: int | None = None

    def of(self, month: int, day: int) -> int:
        day_of_year = _DAYS_BEFORE[month - 1] + day
        if self._day is not None:
            if day_of_year - self._day < -_HALF_A_YEAR_DAYS:
                self.year += 1
            elif day_of_year - self._day > _HALF_A_YEAR_DAYS:
                # A line of the old year, written after one of the new year.
                self.year -= 1
        self._day = day_of_year
        return self.year


class _Reader:
    """Reads lines in order; keeps the year and the state of each server process."""

    def __init__(self, year: int | None, now: Callable[[], datetime]) -> None:
        self.time_ms: int | None = None
        self._years = None if year is None else _Years(year)
        self._now = now
        self._processes: OrderedDict[tuple[str, str], _Process] = OrderedDict()

    def read(self, text: str, place: str) -> list[tuple[EventType, dict[str, object]]]:
        match = _LINE.fullmatch(text) if len(text) <= LONGEST_LINE else None
        if match is None:
            raise NotOfTheFormError("the line is not a syslog line")
        time = self._time(match)
        self.time_ms = int(time.timestamp() * 1000)
        if match["program"] not in _PROGRAMS:
            return []
        message, count = match["message"].strip(), 1
        if repeated := _REPEATED.fullmatch(message):
            message, count = repeated[2].strip(), int(repeated[1])
            if count > _MOST_REPEATS:
                raise NotOfTheFormError(f"the message is repeated more than {_MOST_REPEATS} times")
        attempt = _attempt(message)
        if attempt is None:
            return []
        kind, login = attempt
        process = self._process((match["host"], match["pid"] or str(login["address"])), time.timestamp())
        places = [f"{place}:{index}" if index else place for index in range(count)]
        return [(LOGIN, {"id": each, "time": time, **login}) for each in places if _counts(kind, process)]

    def _time(self, match: re.Match[str]) -> datetime:
        try:
            if match["iso"]:
                return _checked(datetime.fromisoformat(match["iso"]))
            month, day = MONTHS.index(match["month"]) + 1, int(match["day"])
            year = int(match["year"]) if match["year"] else self._year(month, day)
            hour, minute, second = (int(part) for part in match["clock"].split(":"))
            # datetime has no leap seconds.
            return _checked(datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC))
        except (ValueError, OverflowError):
            raise NotOfTheFormError("the line's time is invalid") from None

    def _year(self, month: int, day: int) -> int:
        if self._years is None:
            self._years = _Years(latest_year((month, day), self._now()))
        return self._years.of(month, day)

    def _process(self, key: tuple[str, str], now_s: float) -> _Process:
        process = self._processes.get(key)
        if process is None or abs(now_s - process.seen_s) > _PROCESS_S:
            process = self._processes[key] = _Process(now_s)
        process.seen_s = now_s
        self._processes.move_to_end(key)
        if len(self._processes) > _MOST_PROCESSES:
            self._processes.popitem(last=False)
        return process


def _checked(time: datetime) -> datetime:
    if not 1970 <= time.year < 3000:
        raise ValueError("no year of a log")
    return time.astimezone(UTC)


def _attempt(message: str) -> tuple[str, dict[str, object]] | None:
    """Return the kind of an sshd message and the fields of its login; None if it reports no attempt."""
    if _PAM.match(message):
        match = _PAM_FAILURE.fullmatch(message)
        return _login("announced", match.groupdict(), "refused by PAM") if match and match["address"] else None
    for beginning, kind, pattern, reason in _SHAPES:
        if not beginning.match(message):
            continue
        match = pattern.fullmatch(message)
        if match is None:
            raise NotOfTheFormError("the message is cut short, or of a form that OpenSSH does not have")
        found = match.groupdict()
        if kind == "failed":
            if found["method"] == "none":
                return None
            reason = reason or f"failed {found['method']}"
        return _login(kind, found, reason)
    return None


def _login(kind: str, found: dict[str, str | None], reason: str | None) -> tuple[str, dict[str, object]]:
    return kind, {
        "address": found["address"],
        "user": found["user"] or None,
        "is_success": kind == "accepted",
        "service": "sshd",
        "reason": reason,
        "method": found.get("method"),
    }


def _counts(kind: str, process: _Process) -> bool:
    """Return whether the line is a new attempt, not another line about a counted one; update the process."""
    if kind == "ended" and process.has_counted:
        return False
    is_told_already = process.is_announced
    if kind == "announced":
        process.is_announced = True
    elif kind == "failed":
        process.is_announced = False
    process.has_counted = True
    return kind in ("accepted", "ended") or not is_told_already
