"""Lines of logs, read from a file, a growing file, a stream or periodic measurements; and the parsed line.

Invariants: line numbers count from 1 and include unreadable lines. A line ends with a line feed; carriage returns
before it are part of the line end. A line of more than `LONGEST_LINE` characters is cut to `LONGEST_LINE` + 1. Invalid
UTF-8 becomes backslash escapes (`\\xff`).

The ids of a log's lines begin with the log's name, which is the same when the log is read again:

| log | name |
| --- | --- |
| complete file | first 12 hexadecimal digits of the SHA-256 of its content |
| stream | first 12 hexadecimal digits of the SHA-256 of its first line without its line end |
| growing file | as a stream; if the first line has no time of day, also `-<inode in hexadecimal>+<begin>` |

A first line without a time of day, such as a banner, is often the same in all logs of a service, and a new file may
have the inode of a deleted one. So `<begin>` identifies such a log: the first 12 hexadecimal digits of the SHA-256 of
all lines up to the first one with a time of day. `+<begin>` is missing if the log's first 64 KiB had no such line some
seconds after the first line was read. Earlier versions did not add `+<begin>`, and the first ones not the inode.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from barnabas.pipeline.events.types import EventType
from barnabas.pipeline.sources.access_log import LONGEST_LINE_BYTES, read_lines, text_of

_NAME_DIGITS = 12
_POLL_S = 0.25
_BLOCK_BYTES = 1 << 20
_TIME_OF_DAY = re.compile(rb"[0-9]:[0-5][0-9]:[0-5][0-9]")
_INODE_SEPARATOR = "-"
_BEGIN_SEPARATOR = "+"
_BEGIN_BYTES = 65_536
# How often a new log is read for its first line with a time: for ten seconds.
_MOST_BEGIN_POLLS = 40

REPEATED_LOG_REMEDY = (
    "move it away, so that its service begins another file, replay it with --append and without --follow, and then "
    "follow the new file"
)


class RepeatedLogError(Exception):
    """A followed file has the name of an earlier one, so its lines would get ids that are already used."""


class RawLine(NamedTuple):
    """One line; `is_last_for_now`: the next line is not available yet."""

    log: str
    number: int
    text: str
    is_last_for_now: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that cannot be parsed, unchanged, and the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A parsed line: its events, or the refused line; neither if the line is irrelevant to the source.

    `last_number` is the number of the last line that was parsed with it, if there are several.
    """

    log: str
    number: int
    time_ms: int | None = None
    events: list[tuple[EventType, dict[str, object]]] = field(default_factory=list)
    refused: Refused | None = None
    is_last_for_now: bool = False
    last_number: int = 0


# A measurement by a `Look`: the event's type, what was measured (unique in a tick), and the fields without id and time.
Measurement = tuple[EventType, str, dict[str, object]]
Look = Callable[[], Sequence[Measurement]]


def file_lines(path: Path) -> Iterator[RawLine]:
    """Yield the lines of a log, gzip or not; raise OSError if it can't be read, or is damaged or truncated."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    name = digest.hexdigest()[:_NAME_DIGITS]
    for number, text in read_lines(path):
        yield RawLine(name, number, text)


class _Log:
    """Assembles the lines of a log from pieces; cuts lines that are too long.

    `suffix` returns the end of the log's name if the first line has no time of day.
    """

    def __init__(self, suffix: Callable[[], str] = lambda: "") -> None:
        self.begun = b""
        self._suffix = suffix
        self._name = ""
        self._number = 0

    def add(self, piece: bytes) -> None:
        self.begun = (self.begun + piece)[: LONGEST_LINE_BYTES + 1]

    def line(self, *, is_last_for_now: bool = False) -> RawLine:
        """Complete and return the current line."""
        line, self.begun = self.begun, b""
        if not self._name:
            self._name = hashlib.sha256(line.rstrip(b"\r")).hexdigest()[:_NAME_DIGITS]
            if not _TIME_OF_DAY.search(line):
                self._name += self._suffix()
        self._number += 1
        return RawLine(self._name, self._number, text_of(line), is_last_for_now)


def is_same_log(earlier_name: str, name: str) -> bool:
    """Return whether a name in a topic is this log's name, or a shorter one that it had earlier."""
    return earlier_name == name or name.startswith((earlier_name + _INODE_SEPARATOR, earlier_name + _BEGIN_SEPARATOR))


def has_same_begin(earlier_name: str, name: str) -> bool:
    """Return whether two names are those of different files that begin with the same line and may be copies."""
    first_line, _, inode = name.partition(_INODE_SEPARATOR)
    begins = {each.partition(_BEGIN_SEPARATOR)[2] for each in (earlier_name, name)} - {""}
    may_be_copies = inode != "" and earlier_name.startswith(first_line + _INODE_SEPARATOR) and len(begins) < 2
    return may_be_copies and not is_same_log(earlier_name, name)


def stream_lines(stream: BinaryIO) -> Iterator[RawLine]:
    """Yield the lines of a stream (standard input) as they arrive, until it ends."""
    log = _Log()
    while block := stream.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]  # buffered streams have read1
        *pieces, rest = block.split(b"\n")
        for index, piece in enumerate(pieces):
            log.add(piece)
            yield log.line(is_last_for_now=index == len(pieces) - 1)
        log.add(rest)
    if log.begun:
        yield log.line(is_last_for_now=True)


def follow_lines(
    path: Path, sleep: Callable[[float], None] = time.sleep, is_stopped: Callable[[], bool] = lambda: False
) -> Iterator[RawLine]:
    """Yield the lines of an uncompressed file, then lines appended to it, until `is_stopped`.

    When the log is rotated (another file gets its name, or it is truncated), the rest of the old file is yielded first,
    if it still exists. Then the new file follows from its first line, with its own log name. A line is yielded when its
    line feed is written; the last line of a rotated file needs none. If the file does not exist yet, wait for it.

    Raises:
        RepeatedLogError: after a rotation, the new file has the name of an earlier one.
    """
    names: set[str] = set()
    while not is_stopped():
        try:
            file = path.open("rb")
        except FileNotFoundError:
            sleep(_POLL_S)
            continue
        with file:
            for line in _follow_file(path, file, sleep, is_stopped):
                if line.number == 1 and line.log in names:
                    raise RepeatedLogError(
                        f"{path} was emptied or replaced and begins with the same line as before, so its lines would "
                        f"get ids that are already used; if it is a copy of the same log, start again; otherwise "
                        f"{REPEATED_LOG_REMEDY}"
                    )
                names.add(line.log)
                yield line


def _follow_file(
    path: Path, file: BinaryIO, sleep: Callable[[float], None], is_stopped: Callable[[], bool]
) -> Iterator[RawLine]:
    log = _Log(lambda: _suffix(path, file, sleep, is_stopped))
    # The last complete line: it is yielded when it is known whether another line follows it for now.
    last: RawLine | None = None
    is_rotated = False
    while True:
        while piece := file.readline(LONGEST_LINE_BYTES):
            log.add(piece.removesuffix(b"\n"))
            if piece.endswith(b"\n"):
                if last is not None:
                    yield last
                last = log.line()
        if last is not None:
            yield last._replace(is_last_for_now=True)
            last = None
        if is_rotated or is_stopped():
            break
        # Check before the file is read once more, so that everything written before the rotation is read.
        is_rotated = _is_rotated(path, file)
        if not is_rotated:
            sleep(_POLL_S)
    if log.begun and is_rotated:
        yield log.line(is_last_for_now=True)


def _suffix(path: Path, file: BinaryIO, sleep: Callable[[float], None], is_stopped: Callable[[], bool]) -> str:
    """Return the end of the name of a growing file whose first line has no time; wait some seconds for a time."""
    suffix = f"{_INODE_SEPARATOR}{os.fstat(file.fileno()).st_ino:x}"
    for _ in range(_MOST_BEGIN_POLLS):
        is_over = is_stopped() or _is_rotated(path, file)
        begin = os.pread(file.fileno(), _BEGIN_BYTES, 0)
        time_of_day = _TIME_OF_DAY.search(begin)
        end = -1 if time_of_day is None else begin.find(b"\n", time_of_day.end())
        if end >= 0:
            return f"{suffix}{_BEGIN_SEPARATOR}{hashlib.sha256(begin[:end]).hexdigest()[:_NAME_DIGITS]}"
        if is_over or len(begin) == _BEGIN_BYTES:
            break
        sleep(_POLL_S)
    return suffix


def tick_lines(
    name: str,
    interval_s: float,
    looks: Sequence[Look],
    is_stopped: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
    time_s: Callable[[], float] = time.time,
) -> Iterator[SourceLine]:
    """Call all `looks`, then sleep `interval_s`, until `is_stopped`; yield one line per tick with all events.

    The ids are `<name>@<start in ms>:<tick>:<what was measured>`. Each start of a collector is a separate log, so the
    feeder needs `may_append`. `sleep` waits for some seconds; `time_s` returns the time of the events.
    """
    log = f"{name}@{int(time_s() * 1000)}"
    for tick in count(1):
        if is_stopped():
            return
        now_s = time_s()
        now = datetime.fromtimestamp(now_s, UTC)
        events: list[tuple[EventType, dict[str, object]]] = [
            (event_type, {"id": f"{log}:{tick}:{what}", "time": now, **fields})
            for look in looks
            for event_type, what, fields in look()
        ]
        yield SourceLine(log, tick, int(now_s * 1000), events, is_last_for_now=True)
        sleep(interval_s)


def _is_rotated(path: Path, file: BinaryIO) -> bool:
    opened = os.fstat(file.fileno())
    try:
        named = path.stat()
    except FileNotFoundError:
        # The old file is renamed, and the new one is not created yet.
        return True
    return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) or named.st_size < file.tell()
