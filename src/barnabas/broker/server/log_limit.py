"""Writes log lines, with limits on the lines and bytes of each call site and on the bytes of all.

An error of one client often occurs for thousands of clients, or repeatedly. A log that grows by megabytes a second
fills the disk of the data. So the lines and bytes of each call site in a period are limited, and the bytes of all call
sites together. Lines beyond that are counted, and the counts are written with the next line of any kind once the period
is over. The first line of a call site in a period is always written: a flood of some lines cannot hide others.

Source: printk_ratelimited of the Linux kernel: an interval and a burst.
"""

import logging
from typing import TextIO

from barnabas.core.clock import Clock
from barnabas.core.peer_text import on_one_line

PERIOD_MS = 10_000
# One for each partition or connection of a medium-sized broker.
LINES_PER_PERIOD = 100
# Twice the usual size of so many lines: half a gigabyte a day from one call site, two from all call sites.
BYTES_PER_PERIOD = 64 << 10
BYTES_PER_PERIOD_IN_ALL = 256 << 10
_SHOWN_CHARACTERS = 80


class _Site:
    """One place in the code that logs.

    Attributes:
        until_ms: When the period ends.
        line_count: Lines written in this period.
        byte_count: Bytes written in this period.
        sample: The first omitted line; None: no line was omitted.
        left_out_count: Number of omitted lines.
    """

    __slots__ = ("byte_count", "left_out_count", "line_count", "sample", "until_ms")

    def __init__(self, until_ms: int) -> None:
        self.until_ms = until_ms
        self.line_count = self.byte_count = self.left_out_count = 0
        self.sample: logging.LogRecord | None = None


class LimitedHandler(logging.StreamHandler[TextIO]):
    """A stream handler that limits lines and bytes of each call site, and bytes of all, in `PERIOD_MS`."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        super().__init__(stream)
        self._clock = clock
        self._sites: dict[tuple[str, int], _Site] = {}
        # Call sites with omitted lines.
        self._silenced: list[_Site] = []
        # Bytes of all sites.
        self._until_ms = 0
        self._byte_count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line or count it. The caller holds the handler's lock."""
        now_ms = self._clock.monotonic_ms()
        if self._silenced:
            self._report_counts(now_ms)
        key = (record.pathname, record.lineno)
        site = self._sites.get(key)
        if site is None or now_ms >= site.until_ms:
            site = self._sites[key] = _Site(now_ms + PERIOD_MS)
        if now_ms >= self._until_ms:
            self._until_ms, self._byte_count = now_ms + PERIOD_MS, 0
        if site.sample is not None:
            # Not even formatted: one request may be denied for a hundred thousand partitions.
            site.left_out_count += 1
            return
        try:
            line = self.format(record) + self.terminator
        except Exception:
            self.handleError(record)
            return
        size = len(line) if line.isascii() else len(line.encode(errors="backslashreplace"))
        if self._is_room_for(site, size):
            site.line_count += 1
            site.byte_count += size
            self._byte_count += size
            self._write(record, line)
            return
        site.left_out_count += 1
        site.sample = record
        self._silenced.append(site)
        self._report(record, f"more lines like this one are left out for {PERIOD_MS // 1000} s")

    def close(self) -> None:
        """Write all counts of omitted lines, and stop."""
        self.acquire()
        try:
            self._report_counts()
        finally:
            self.release()
        super().close()

    def _is_room_for(self, site: _Site, size: int) -> bool:
        if site.line_count == 0:
            return True
        return (
            site.line_count < LINES_PER_PERIOD
            and site.byte_count + size <= BYTES_PER_PERIOD
            and self._byte_count + size <= BYTES_PER_PERIOD_IN_ALL
        )

    def _write(self, record: logging.LogRecord, line: str) -> None:
        try:
            self.stream.write(line)
            self.flush()
        except Exception:
            self.handleError(record)

    def _report_counts(self, now_ms: int | None = None) -> None:
        """Write how many lines were omitted in completed periods; None: in all periods."""
        over = [site for site in self._silenced if now_ms is None or now_ms >= site.until_ms]
        for site in over:
            self._silenced.remove(site)
            assert site.sample is not None
            # Estimated by the lines that were written.
            byte_count = site.left_out_count * site.byte_count // site.line_count
            left_out = f"{site.left_out_count:,} lines (about {byte_count:,} bytes)"
            self._report(site.sample, f"{left_out} like this one were left out")

    def _report(self, sample: logging.LogRecord, what: str) -> None:
        start = on_one_line(str(sample.msg).partition("\n")[0][:_SHOWN_CHARACTERS])
        report = logging.LogRecord(
            sample.name, sample.levelno, sample.pathname, sample.lineno, f"{what}: %s", (start,), None
        )
        self._write(report, self.format(report) + self.terminator)
