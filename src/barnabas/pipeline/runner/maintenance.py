"""Keeps a run's tables quick to read: small files are written together, and what they were long ago is given up.

Both are done between two batches, as no commit of the run is under way then. A compaction is due after so many batches,
or so much time; history is trimmed with one, once an hour at the most, as it has a look at every file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

_TRIM_EVERY_S = 3_600


@dataclass(frozen=True, slots=True)
class Every:
    """How often something is done: each `batches` batches, or `seconds`; both 0: never."""

    batches: int = 0
    seconds: float = 0.0


NEVER = Every()


class _Kept(Protocol):
    """The operations of a table for its maintenance."""

    def exists(self) -> bool: ...

    def compact(self) -> object: ...

    def trim_history(self) -> None: ...


class Maintenance:
    """The maintenance of one run's tables."""

    def __init__(self, every: Every, now_s: Callable[[], float] = time.monotonic) -> None:
        self._every = every
        self._now_s = now_s
        self._batch_count = 0
        self._compacted_s = now_s()
        self._trimmed_s: float | None = None

    def after_batch(self, appended: Iterable[_Kept], replaced: Iterable[_Kept]) -> None:
        """Do what is due.

        Args:
            appended: The tables that grow by small files.
            replaced: Those that are written whole each time, and leave their old files behind.
        """
        self._batch_count += 1
        now_s = self._now_s()
        is_due_by_time = 0 < self._every.seconds <= now_s - self._compacted_s
        if not is_due_by_time and not 0 < self._every.batches <= self._batch_count:
            return
        self._batch_count, self._compacted_s = 0, now_s
        tables = list(appended)
        for table in tables:
            table.compact()
        if self._trimmed_s is None or now_s - self._trimmed_s >= _TRIM_EVERY_S:
            self._trimmed_s = now_s
            for table in (*tables, *replaced):
                if table.exists():
                    table.trim_history()
