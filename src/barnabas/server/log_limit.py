"""Writes log lines, but only so many from one place in the code.

What goes wrong for one client often goes wrong for thousands at once, or over and over; a log that grows by megabytes
a second fills the disk on which the data is. So every call site may write a number of lines in a period. What comes
beyond that is counted, and the count is told with the next line of any kind once the period is over.

Source: printk_ratelimited of the Linux kernel: an interval and a burst.
"""

import logging
from typing import TextIO

from barnabas.core.clock import Clock

PERIOD_MS = 10_000
# One for each partition or connection of a middling broker.
LINES_PER_PERIOD = 100
_SHOWN_CHARACTERS = 80


class _Site:
    """One place in the code that logs.

    Attributes:
        until_ms: When the period ends.
        count: Lines in this period, those that were left out too.
        sample: The first line that was left out; None: none was.
    """

    __slots__ = ("count", "sample", "until_ms")

    def __init__(self, until_ms: int) -> None:
        self.until_ms = until_ms
        self.count = 0
        self.sample: logging.LogRecord | None = None


class LimitedHandler(logging.StreamHandler[TextIO]):
    """A stream handler that writes at most `LINES_PER_PERIOD` lines of each call site in `PERIOD_MS`."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        super().__init__(stream)
        self._clock = clock
        self._sites: dict[tuple[str, int], _Site] = {}
        # Those that left out something.
        self._silenced: list[_Site] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line or count it. The caller holds the handler's lock."""
        now_ms = self._clock.monotonic_ms()
        if self._silenced:
            self._tell_counts(now_ms)
        key = (record.pathname, record.lineno)
        site = self._sites.get(key)
        if site is None or now_ms >= site.until_ms:
            site = self._sites[key] = _Site(now_ms + PERIOD_MS)
        site.count += 1
        if site.count <= LINES_PER_PERIOD:
            super().emit(record)
        elif site.sample is None:
            site.sample = record
            self._silenced.append(site)
            self._tell(record, f"more lines like this one are left out for {PERIOD_MS // 1000} s")

    def close(self) -> None:
        """Tell all counts and end."""
        self.acquire()
        try:
            self._tell_counts()
        finally:
            self.release()
        super().close()

    def _tell_counts(self, now_ms: int | None = None) -> None:
        """Say what was left out in periods that are over; None stands for all periods."""
        over = [site for site in self._silenced if now_ms is None or now_ms >= site.until_ms]
        for site in over:
            self._silenced.remove(site)
            assert site.sample is not None
            self._tell(site.sample, f"{site.count - LINES_PER_PERIOD:,} lines like this one were left out")

    def _tell(self, sample: logging.LogRecord, what: str) -> None:
        start = str(sample.msg).partition("\n")[0][:_SHOWN_CHARACTERS]
        super().emit(
            logging.LogRecord(
                sample.name, sample.levelno, sample.pathname, sample.lineno, f"{what}: %s", (start,), None
            )
        )
