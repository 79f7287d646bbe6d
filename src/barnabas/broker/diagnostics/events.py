"""Keeps the newest events of each kind, in bounded memory. Pure.

An event is stored as a line of JSON: it takes a fifth of a dictionary's memory, its size is known exactly, and it is
written to the file as is. Repeated events (`RepeatedEvents`) share one line per minute, with their count.

Invariant: evicted events are counted.
"""

import json
from collections import deque
from collections.abc import Callable
from typing import Final

from barnabas.broker.diagnostics import Row

REPEATED_WITHIN_MS: Final = 60_000
# Memory that Python needs in addition to a line's bytes.
_LINE_BYTES: Final = 41
# An open row is a dictionary: some words and numbers, and a key. A character may take four bytes.
_OPEN_ROW_BYTES, _CHARACTER_BYTES = 1_200, 4
# Names come from clients, and some may be 32 KiB long.
LONGEST_TEXT: Final = 250


class Events:
    """The events of one kind.

    Attributes:
        kept_bytes: Their estimated memory.
        left_out: The number of events evicted to make room.
        ended: Called with each new event as it is stored.
    """

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._lines: deque[bytes] = deque()
        self.kept_bytes = self.left_out = 0
        self.ended: Callable[[bytes], object] = _nobody

    def add(self, row: Row) -> None:
        """Store an event."""
        line = encoded(row)
        self.restore(line)
        self.ended(line)

    def restore(self, line: bytes) -> None:
        """Store an event that `ended` received before the broker restarted."""
        self._lines.append(line)
        self.kept_bytes += len(line) + _LINE_BYTES
        self._make_room()

    def _make_room(self) -> None:
        while len(self._lines) > self._most_rows or (self.kept_bytes > self._most_bytes and len(self._lines) > 1):
            self.kept_bytes -= len(self._lines.popleft()) + _LINE_BYTES
            self.left_out += 1

    def lines(self) -> list[bytes]:
        """Return all events, oldest first."""
        return [*self._lines]


class RepeatedEvents(Events):
    """Events that are counted: events with the same key within a minute share a row."""

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        super().__init__(most_rows, most_bytes)
        # In order of their start; together they use at most half of the memory.
        self._open: dict[tuple[str | None, ...], Row] = {}
        self._open_bytes = 0

    def note(self, key: tuple[str | None, ...], now_ms: int) -> Row:
        """Count an event and return its row; if its `count` is 1, the row is new and the caller fills it."""
        row = self._open.get(key)
        if row is not None and _is_over(row, now_ms):
            self._seal(key)
            row = None
        if row is None:
            self._count_open(_bytes_of(key))
            while self._open and (self._open_bytes > self._most_bytes // 2 or len(self._open) >= self._most_rows):
                self._seal(next(iter(self._open)))
            row = self._open[key] = {"first_ms": now_ms, "last_ms": now_ms, "count": 0}
            self._make_room()
        row["last_ms"] = now_ms
        row["count"] = row["count"] + 1
        return row

    def seal(self, now_ms: int) -> None:
        """Close the rows whose minute is over."""
        for key, row in list(self._open.items()):
            if not _is_over(row, now_ms):
                return
            self._seal(key)

    def seal_all(self) -> None:
        """Close all rows, at the broker's shutdown."""
        for key in list(self._open):
            self._seal(key)

    def lines(self) -> list[bytes]:
        return [*super().lines(), *map(encoded, self._open.values())]

    def _seal(self, key: tuple[str | None, ...]) -> None:
        self._count_open(-_bytes_of(key))
        self.add(self._open.pop(key))

    def _count_open(self, more_bytes: int) -> None:
        self._open_bytes += more_bytes
        self.kept_bytes += more_bytes


def _is_over(row: Row, now_ms: int) -> bool:
    # Or the clock was ahead when the row began.
    return bool(abs(now_ms - row["first_ms"]) >= REPEATED_WITHIN_MS)


def _bytes_of(key: tuple[str | None, ...]) -> int:
    return _OPEN_ROW_BYTES + _CHARACTER_BYTES * sum(len(word) for word in key if word is not None)


def encoded(row: Row) -> bytes:
    """Return an event as it is stored, with long texts truncated."""
    for name, value in row.items():
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            row[name] = value[:LONGEST_TEXT]
    return json.dumps(row, separators=(",", ":")).encode()


def _nobody(line: bytes) -> None:
    return
