"""The watchdog on a clock that jumps as a loop that stood still sees it."""

import threading

import pytest

from barnabas.server.watchdog import CoreWait, Watchdog
from barnabas.testing.manual_clock import ManualClock


class SlowTimers:
    """Timers of a loop that runs them late."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.late_ms = 0

    def call_later(self, delay_ms, callback, *args):
        return self._clock.call_later(delay_ms + self.late_ms, callback, *args)


@pytest.fixture
def clock():
    return ManualClock()


def test_a_loop_that_keeps_time_has_no_stall(clock):
    watchdog = Watchdog(clock, clock)
    watchdog.start()
    clock.advance(1_000)
    assert watchdog.longest_stall_ms == 0


def test_the_longest_stall_is_kept(clock, caplog):
    timers = SlowTimers(clock)
    watchdog = Watchdog(clock, timers)
    timers.late_ms = 700
    watchdog.start()
    timers.late_ms = 0
    clock.advance(2_000)
    assert watchdog.longest_stall_ms == 700
    assert "stood still for 700 ms" in caplog.text


def test_time_without_a_core_is_no_stall(clock):
    timers = SlowTimers(clock)
    waited = iter([1_000, 1_650, 1_650])
    watchdog = Watchdog(clock, timers, lambda: next(waited))
    timers.late_ms = 700
    watchdog.start()
    timers.late_ms = 10_000
    clock.advance(1_000)
    assert watchdog.longest_stall_ms == 50


def test_what_the_system_says_about_this_thread_only_grows():
    wait = CoreWait()
    first = wait()
    thread = threading.Thread(target=sum, args=(range(10_000),))
    thread.start()
    thread.join()
    assert 0 <= first <= wait()
    wait.close()
    assert wait() == 0


def test_a_stall_is_told_with_what_was_done_on_the_loop(clock, caplog):
    timers = SlowTimers(clock)
    watchdog = Watchdog(clock, timers)
    timers.late_ms = 700
    watchdog.start()
    for number in range(5):
        watchdog.note(f"file {number} was made")
    clock.advance(750)
    assert "every client waited (file 0 was made, file 1 was made, file 2 was made on it)" in caplog.text
    caplog.clear()
    clock.advance(750)
    assert "every client waited" in caplog.text
    assert "was made" not in caplog.text
    assert watchdog.noted_count == 5
