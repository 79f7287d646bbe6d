"""Rates as Kafka measures them: its figures at rates of one a second were observed."""

from barnabas.core.windowed_rate import WindowedRate


def test_ten_come_at_once_and_then_one_a_second():
    rate = WindowedRate(1_000, 11)
    waits = []
    for _ in range(12):
        rate.record(5_000)
        waits.append(rate.excess_ms(5_000, 1))
    assert waits == [0] * 10 + [1_000, 2_000]
    rate.record(7_000)
    assert rate.excess_ms(7_000, 1) == 3_000


def test_windows_that_are_too_old_are_forgotten():
    rate = WindowedRate(1_000, 3)
    for _ in range(100):
        rate.record(0)
    assert rate.excess_ms(0, 1) == 98_000
    assert rate.excess_ms(2_999, 1) == 97_001
    assert rate.excess_ms(3_000, 1) == 0
    rate.record(3_500)
    assert rate.excess_ms(3_500, 1) == 0


def test_the_time_that_was_measured_counts_where_it_is_longer_than_the_windows():
    rate = WindowedRate(1_000, 3)
    for second in range(6):
        rate.record(second * 1_000, 4)
    # Of three windows twelve in two seconds.
    assert rate.excess_ms(5_000, 6) == 0
    assert rate.excess_ms(5_000, 3) == 2_000


def test_nothing_that_never_happened_is_too_much():
    assert WindowedRate(1_000, 11).excess_ms(1, 1) == 0
