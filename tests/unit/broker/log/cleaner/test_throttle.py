"""The cleaner's limit on bytes per second."""

from barnabas.broker.log.cleaner.throttle import Throttle
from barnabas.testing.manual_clock import ManualClock


def test_holds_up_who_is_too_fast() -> None:
    clock = ManualClock()
    throttle = Throttle(lambda: 1000, clock, lambda seconds: clock.advance(round(seconds * 1000)))
    for _ in range(100):
        throttle.note(100)
    assert clock.monotonic_ms() == 9_900


def test_leaves_alone_who_is_slow_enough() -> None:
    clock = ManualClock()
    waited: list[float] = []
    throttle = Throttle(lambda: 1000, clock, waited.append)
    for _ in range(10):
        clock.advance(100)
        throttle.note(100)
    assert waited == []


def test_without_a_limit_nobody_waits() -> None:
    waited: list[float] = []
    throttle = Throttle(lambda: 1.7976931348623157e308, ManualClock(), waited.append)
    throttle.note(2**40)
    assert waited == []


def test_goes_by_the_limit_as_it_is_now() -> None:
    clock, limits = ManualClock(), [1000.0]
    throttle = Throttle(lambda: limits[0], clock, lambda seconds: clock.advance(round(seconds * 1000)))
    throttle.note(1_000)
    assert clock.monotonic_ms() == 1_000
    limits[0] = 100
    throttle.note(1_000)
    assert clock.monotonic_ms() == 11_000


def test_who_waits_goes_on_when_the_limit_is_raised() -> None:
    clock, limits = ManualClock(), [1.0]

    def wait(seconds: float) -> None:
        clock.advance(round(seconds * 1000))
        limits[0] = 1e9

    Throttle(lambda: limits[0], clock, wait).note(2**20)
    assert clock.monotonic_ms() < 1_000


def test_who_waits_goes_on_when_nobody_is_interested_any_more() -> None:
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) == 2

    Throttle(lambda: 1, ManualClock(), wait).note(2**20)
    assert len(waits) == 2
