"""Maintenance of a run's tables: small files are compacted, and old table versions are deleted.

Both happen between two batches, when the run has no commit in progress. A compaction is due after a number of batches
or seconds. Old versions are deleted after a compaction, at most once an hour, because this lists every file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

_TRIM_EVERY_S = 3_600


@dataclass(frozen=True, slots=True)
class Every:
    """An interval: `batches` batches, or `seconds` seconds; both 0: never."""

    batches: int = 0
    seconds: float = 0.0


NEVER = Every()


class _Kept(Protocol):
    """The maintenance operations of a table."""

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

    def after_batch(self, appended: Iterable[_Kept], replaced: Iterable[_Kept], is_busy: bool = False) -> None:
        """Run the maintenance that is due.

        Args:
            appended: Tables that grow by small files.
            replaced: Tables that are rewritten each time, and leave their old files behind.
            is_busy: Whether files must stay: what is due is done after a later batch.
        """
        self._batch_count += 1
        now_s = self._now_s()
        is_due_by_time = 0 < self._every.seconds <= now_s - self._compacted_s
        if is_busy or (not is_due_by_time and not 0 < self._every.batches <= self._batch_count):
            return
        self._batch_count, self._compacted_s = 0, now_s
        # A topic without rows has no table yet.
        tables = [table for table in appended if table.exists()]
        for table in tables:
            table.compact()
        if self._trimmed_s is None or now_s - self._trimmed_s >= _TRIM_EVERY_S:
            self._trimmed_s = now_s
            for table in (*tables, *replaced):
                if table.exists():
                    table.trim_history()
