"""Stores events across restarts, in two files that are written in turn.

    <first of log.dirs>/facts-events       a line of JSON for each event: ["kind",{...}]
    <first of log.dirs>/facts-events.1     the previous file; together they take at most 8 MB

Events are written within a second, in an executor, and read by the next start once clients can connect, some lines in
each turn of the loop: all of them at once would be 60 MB of rows. A malformed line (the last one may be torn by a power
cut) is dropped. A failed write is logged once and changes nothing else. Without events nothing is written.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Final

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.log.disk.files import FileSystem
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, submit
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

NAME: Final = "facts-events"
MOST_FILE_BYTES: Final = 4_000_000
_WRITE_AFTER_MS: Final = 1_000
# Events beyond this are dropped, such as while the disk is stuck.
_MOST_WAITING_BYTES: Final = 1_000_000
_RESTORED_AT_ONCE: Final = 200


class EventFiles:
    """Writes the events of `diagnostics` to files, and restores earlier ones. Owned by the event loop."""

    def __init__(
        self, diagnostics: DiagnosticStore, directory: Path, files: FileSystem, timers: Timers, executor: Executor
    ) -> None:
        self._diagnostics = diagnostics
        self._path = directory / NAME
        self._older = directory / f"{NAME}.1"
        self._files = files
        self._timers = timers
        self._executor = executor
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        # The size of the file; only work in the executor uses it, one piece at a time.
        self._file_bytes = 0
        self._timer: Timer | None = None
        self._is_writing = self._is_failing = self._is_closed = False
        diagnostics.set_listener(self._ended)

    def start(self) -> None:
        """Restore earlier events; nothing is written before that is done."""
        self._is_writing = True
        self._executor.run(self._read, self._restore, self._failed)

    async def close(self) -> None:
        """Write the remaining events."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            try:
                await submit(self._executor, self._writing()).future()
            except StorageError as error:
                self._failed(error)

    def _ended(self, kind: str, line: bytes) -> None:
        if self._waiting_bytes < _MOST_WAITING_BYTES:
            self._waiting.append(b'["%b",%b]\n' % (kind.encode(), line))
            self._waiting_bytes += len(line)
            self._write_later()

    def _write_later(self) -> None:
        if self._timer is None and not self._is_writing and not self._is_closed:
            self._timer = self._timers.call_later(_WRITE_AFTER_MS, self._write)

    def _write(self) -> None:
        self._timer = None
        self._is_writing = True
        self._executor.run(self._writing(), self._written, self._failed)

    def _writing(self) -> Callable[[], None]:
        """Return a function that writes the waiting events."""
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return partial(self._append, data)

    def _append(self, data: bytes) -> None:
        """Append to the file, or to a new one if it is full; for the executor."""
        if self._file_bytes + len(data) > MOST_FILE_BYTES and self._file_bytes:
            self._files.rename(self._path, self._older)
            self._file_bytes = 0
        self._files.append(self._path, data)
        self._file_bytes += len(data)

    def _written(self, _: None) -> None:
        self._is_writing = self._is_failing = False
        if self._waiting:
            self._write_later()

    def _failed(self, error: BaseException) -> None:
        self._is_writing = False
        if not self._is_failing:
            self._is_failing = True
            log.warning("cannot read or write %s: %s", self._path, error)

    def _read(self) -> list[bytes]:
        """Return the contents of both files, the older one first; for the executor."""
        found = [self._files.read(path) or b"" for path in (self._older, self._path)]
        self._file_bytes = len(found[-1])
        if found[-1] and not found[-1].endswith(b"\n"):
            # New events must not continue a torn line.
            self._append(b"\n")
        return found

    def _restore(self, found: list[bytes]) -> None:
        self._go_on(chain.from_iterable(map(BytesIO, found)))

    def _go_on(self, lines: Iterator[bytes]) -> None:
        """Restore some events; the event loop runs other work in between."""
        for number, line in enumerate(lines, 1):
            try:
                self._diagnostics.restore(*event_in(line))
            except (AssertionError, KeyError, RecursionError, TypeError, ValueError) as error:
                log.debug("%s has a line that is no event of today's: %r", self._path, error)
            if number == _RESTORED_AT_ONCE:
                self._timers.call_later(0, self._go_on, lines)
                return
        self._written(None)


def event_in(line: bytes) -> tuple[str, Row]:
    """Return kind and row of a line; member names are interned, so that rows share them.

    Raises:
        RecursionError, ValueError: The line is not an event.
    """
    match json.loads(line, object_hook=_named):
        case [str(kind), dict(row)]:
            return kind, row
        case other:
            raise ValueError(f"a {type(other).__name__} is no event")


def _named(row: Row) -> Row:
    return {sys.intern(name): value for name, value in row.items()}
