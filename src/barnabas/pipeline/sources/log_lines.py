"""Lines of logs: from a file, from a file that grows, from a stream or from looks; and what a line becomes.

Invariants: line numbers count from 1 and every line has one, readable or not. A line ends with a line feed, carriage
returns before it included; of one that is longer than `LONGEST_LINE` characters the first `LONGEST_LINE` + 1 are given.
Bytes that are no UTF-8 stand as backslash escapes (`\\xff`).

A log's name is what its lines' ids begin with: the first 12 hexadecimal digits of a SHA-256, of the file's whole
content where it is there from the start, of the first line (its line feed left out) where it grows or comes as a
stream: that stays what it is, and is the same when it is read again.
"""

import hashlib
import os
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


class RawLine(NamedTuple):
    """One line; `is_last_for_now`: the next one is not there yet."""

    log: str
    number: int
    text: str
    is_last_for_now: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that gives no event, as it stands, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line as read: its events, or what was refused; neither where the line is none of the source's business."""

    log: str
    number: int
    time_ms: int | None = None
    events: list[tuple[EventType, dict[str, object]]] = field(default_factory=list)
    refused: Refused | None = None
    is_last_for_now: bool = False


# What one look tells: the event's type, what was measured (once in a tick), and the fields without id and time.
Measurement = tuple[EventType, str, dict[str, object]]
Look = Callable[[], Sequence[Measurement]]


def file_lines(path: Path) -> Iterator[RawLine]:
    """Yield the lines of a log, gzip or not; raise OSError if it can't be read, or is damaged or cut short."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    name = digest.hexdigest()[:_NAME_DIGITS]
    for number, text in read_lines(path):
        yield RawLine(name, number, text)


class _Log:
    """Makes lines of a log that comes in pieces; of a line that is too long it keeps the beginning."""

    def __init__(self) -> None:
        self.begun = b""
        self._name = ""
        self._number = 0

    def add(self, piece: bytes) -> None:
        self.begun = (self.begun + piece)[: LONGEST_LINE_BYTES + 1]

    def line(self, *, is_last_for_now: bool = False) -> RawLine:
        """End the line that has begun."""
        line, self.begun = self.begun, b""
        self._name = self._name or hashlib.sha256(line.rstrip(b"\r")).hexdigest()[:_NAME_DIGITS]
        self._number += 1
        return RawLine(self._name, self._number, text_of(line), is_last_for_now)


def stream_lines(stream: BinaryIO) -> Iterator[RawLine]:
    """Yield the lines of a stream (standard input) until it ends, as soon as they come."""
    log = _Log()
    while block := stream.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]  # what is buffered has it
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
    """Yield the lines of a plain file, then those that are added, until `is_stopped`.

    When another file takes its name, or the file is emptied (both are ways to rotate a log), the rest of the old one is
    given first where it is still there, then the new one from its first line, under its own name. A line is given once
    its line feed is there; the last line of a file that was rotated away needs none. A file that is not there yet is
    waited for.
    """
    while not is_stopped():
        try:
            file = path.open("rb")
        except FileNotFoundError:
            sleep(_POLL_S)
            continue
        with file:
            yield from _follow_file(path, file, sleep, is_stopped)


def _follow_file(
    path: Path, file: BinaryIO, sleep: Callable[[float], None], is_stopped: Callable[[], bool]
) -> Iterator[RawLine]:
    log = _Log()
    # The last complete line: it is returned when it is known whether another line follows it for now.
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
        # Looked for before the file is read once more: what was written until then is read.
        is_rotated = _is_rotated(path, file)
        if not is_rotated:
            sleep(_POLL_S)
    if log.begun and is_rotated:
        yield log.line(is_last_for_now=True)


def tick_lines(
    name: str,
    interval_s: float,
    looks: Sequence[Look],
    is_stopped: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
    time_s: Callable[[], float] = time.time,
) -> Iterator[SourceLine]:
    """Look again and again, every `interval_s`, and yield what is told as one line per tick, until `is_stopped`.

    The ids are `<name>@<start in ms>:<tick>` and what was measured: each start of a collector is a log of its own, so a
    feeder must be allowed to append it. `sleep` waits for some seconds; `time_s` returns the time of the events.
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
        # Between the two steps of a rotation.
        return True
    return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) or named.st_size < file.tell()
