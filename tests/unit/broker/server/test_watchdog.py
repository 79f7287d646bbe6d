"""The watchdog on a clock that jumps as a loop that stood still sees it."""

import threading
from itertools import pairwise

from barnabas.broker.server.watchdog import NO_CORE_USE, CoreUse, Stalls, ThreadCoreUse, Watchdog
from barnabas.testing.manual_clock import ManualClock


class SlowTimers:
    """Timers of a loop that runs them late."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.late_ms = 0

    def call_later(self, delay_ms, callback, *args):
        return self._clock.call_later(delay_ms + self.late_ms, callback, *args)


def test_a_loop_that_keeps_time_has_no_stall(clock):
    watchdog = Watchdog(clock, clock)
    watchdog.start()
    clock.advance(1_000)
    assert watchdog.stalls == Stalls(0, 0)


def test_the_longest_stall_is_kept(clock, caplog):
    timers = SlowTimers(clock)
    watchdog = Watchdog(clock, timers)
    timers.late_ms = 700
    watchdog.start()
    timers.late_ms = 0
    clock.advance(2_000)
    assert watchdog.stalls.longest_ms == 700
    assert "stalled for 700 ms" in caplog.text


def test_time_without_a_core_is_no_stall(clock):
    timers = SlowTimers(clock)
    used = iter([CoreUse(0, 1_000), CoreUse(20, 1_650), CoreUse(20, 1_650)])
    watchdog = Watchdog(clock, timers, lambda: next(used))
    timers.late_ms = 700
    watchdog.start()
    timers.late_ms = 10_000
    clock.advance(1_000)
    assert watchdog.stalls == Stalls(50, 20)


def test_a_stall_that_is_going_on_is_one_of_late(clock):
    watchdog = Watchdog(clock, SlowTimers(clock), lambda: CoreUse(clock.monotonic_ms(), 0))
    watchdog.start()
    clock.advance(1_000)
    assert watchdog.stalls_of_late() == Stalls(0, 0)
    watchdog = Watchdog(clock, timers := SlowTimers(clock), lambda: CoreUse(clock.monotonic_ms(), 0))
    timers.late_ms = 10_000
    watchdog.start()
    clock.advance(150)
    assert watchdog.stalls_of_late() == Stalls(100, 100)
    clock.advance(100)
    assert watchdog.stalls_of_late() == Stalls(200, 200)
    assert watchdog.stalls == Stalls(200, 200)


def test_who_asks_is_told_of_short_ones_from_then_on(clock):
    timers = SlowTimers(clock)
    watchdog = Watchdog(clock, timers)
    watchdog.start()
    watchdog.stalls_of_late()
    clock.advance(50)
    timers.late_ms = 20
    clock.advance(2 + 2 + 20)
    assert watchdog.stalls_of_late() == Stalls(20, 0)


def test_a_busy_loop_is_looked_at_more_often_than_an_idle_one(clock):
    looks = []
    computing_ms = 0

    def core_use():
        looks.append(clock.monotonic_ms())
        return CoreUse(computing_ms, 0)

    watchdog = Watchdog(clock, clock, core_use)
    watchdog.start()
    clock.advance(50)
    computing_ms = 5
    clock.advance(50)
    clock.advance(10)
    clock.advance(50)
    watchdog.stop()
    assert [late - early for early, late in pairwise(looks)] == [50, 50, 10, 50]


def test_what_the_system_says_about_this_thread_only_grows():
    use = ThreadCoreUse()
    first = use()
    thread = threading.Thread(target=sum, args=(range(10_000),))
    thread.start()
    thread.join()
    last = use()
    assert all(0 <= before <= after for before, after in zip(first, last, strict=True))
    use.close()
    assert use() == NO_CORE_USE


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
