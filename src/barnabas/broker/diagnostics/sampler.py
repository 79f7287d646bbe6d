"""Samples offsets every ten seconds, some in each turn of the event loop, because there may be very many.

It samples values that logs and groups store anyway, so appends and commits cost nothing extra.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from barnabas.broker.diagnostics.series import TICK_MS, Key, Series
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.core.clock import Clock
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import TopicPartition

# A sample takes between 0.3 µs (known key) and 10 µs (new key).
_AT_ONCE: Final = 500
_TICKS_OF_MINUTE: Final = 6
# Delay after the end of a tick, so that a minute's last events still count in that minute.
_AFTER_TICK_MS: Final = 5

CommitKey = tuple[str, TopicPartition]


class Sampler:
    """Takes the samples. Owned by the event loop."""

    def __init__(
        self,
        diagnostics: DiagnosticStore,
        clock: Clock,
        timers: Timers,
        ends: Callable[[], Iterable[tuple[TopicPartition, int]]],
        commits: Callable[[], Iterable[tuple[CommitKey, int]]],
        note_minute: Callable[[], object],
    ) -> None:
        """Args:
        ends: Returns the partitions led by this broker and their log end offsets.
        commits: Returns committed offsets by group and partition.
        note_minute: Called at the end of each minute.
        """
        self._diagnostics = diagnostics
        self._clock = clock
        self._timers = timers
        self._ends = ends
        self._commits = commits
        self._note_minute = note_minute
        self._timer: Timer | None = None
        self._tick = 0

    def start(self) -> None:
        """Start sampling; the first sample is taken now."""
        self._sample()

    def close(self) -> None:
        """Stop sampling."""
        if self._timer is not None:
            self._timer.cancel()
        self._diagnostics.seal_all()

    def _sample_later(self) -> None:
        delay_ms = TICK_MS - self._clock.now_ms() % TICK_MS + _AFTER_TICK_MS
        self._timer = self._timers.call_later(delay_ms, self._sample)

    def _sample(self) -> None:
        now_ms = self._clock.now_ms()
        # The value at the start of a tick is the value at the end of the previous one.
        tick = now_ms // TICK_MS - 1
        if tick < self._tick - _TICKS_OF_MINUTE:
            # The clock was ahead, and the samples are later than now.
            self._diagnostics.ends.retain(set())
            self._diagnostics.commits.retain(set())
        else:
            tick = max(self._tick, tick)
        is_minute_over = tick // _TICKS_OF_MINUTE > self._tick // _TICKS_OF_MINUTE and self._tick > 0
        self._tick = tick
        self._diagnostics.seal(now_ms)
        if is_minute_over:
            self._note_minute()
        self._go_on(self._sampling(tick))

    def _sampling(self, tick: int) -> Iterator[None]:
        yield from _all_of(self._diagnostics.ends, self._ends, tick)
        yield from _all_of(self._diagnostics.commits, self._commits, tick)

    def _go_on(self, sampling: Iterator[None]) -> None:
        """Sample some offsets; other work of the event loop runs in between."""
        for _ in sampling:
            self._timer = self._timers.call_later(0, self._go_on, sampling)
            return
        self._sample_later()


def _all_of(series: Series[Key], values: Callable[[], Iterable[tuple[Key, int]]], tick: int) -> Iterator[None]:
    present: set[Key] = set()
    for number, (key, value) in enumerate(values(), 1):
        series.sample(key, tick, value)
        present.add(key)
        if number % _AT_ONCE == 0:
            yield
    series.retain(present)
    yield
