"""The cleaner's limit on bytes per second."""

from barnabas.log.cleaner.throttle import Throttle
from barnabas.testing.manual_clock import ManualClock


def test_holds_up_who_is_too_fast() -> None:
    clock = ManualClock()
    throttle = Throttle(1000, clock, lambda seconds: clock.advance(round(seconds * 1000)))
    for _ in range(100):
        throttle.note(100)
    assert clock.monotonic_ms() == 9_900


def test_leaves_alone_who_is_slow_enough() -> None:
    clock = ManualClock()
    waited: list[float] = []
    throttle = Throttle(1000, clock, waited.append)
    for _ in range(10):
        clock.advance(100)
        throttle.note(100)
    assert waited == []


def test_without_a_limit_nobody_waits() -> None:
    waited: list[float] = []
    throttle = Throttle(1.7976931348623157e308, ManualClock(), waited.append)
    throttle.note(2**40)
    assert waited == []
