"""Rates as Kafka measures them: its figures at rates of one a second were observed."""

from barnabas.core.windowed_rate import SimpleRate, WindowedRate


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


def test_a_simple_rate_lets_one_window_through_at_once_and_then_as_much_as_time_goes_by():
    rate = SimpleRate(1_000, 11)
    rate.record(5_000, 100)
    assert (rate.rate_per_s(5_000), rate.wait_ms(5_000, 100)) == (100, 0)
    rate.record(5_000, 50)
    assert rate.wait_ms(5_000, 100) == 1_500
    assert rate.wait_ms(6_499, 100) == 1
    assert rate.wait_ms(6_500, 100) == 0
    assert rate.rate_per_s(6_500) == 100


def test_a_simple_rate_waits_no_longer_than_it_remembers():
    rate = SimpleRate(1_000, 3)
    rate.record(0, 1_000)
    assert rate.wait_ms(1_000, 1) == 2_000
    assert rate.wait_ms(3_000, 1) == 0
    rate.record(3_000, 1)
    # Nothing at all is let through, but for what comes when nothing is remembered.
    assert rate.wait_ms(3_000, 0) == 3_000
    assert (rate.wait_ms(6_000, 0), rate.rate_per_s(6_000)) == (0, 0)


def test_a_simple_rate_holds_over_many_windows():
    rate, now_ms, total = SimpleRate(1_000, 11), 0, 0
    while now_ms < 60_000:
        wait_ms = rate.wait_ms(now_ms, 1_000)
        if wait_ms:
            now_ms += wait_ms
        else:
            rate.record(now_ms, 300)
            total += 300
    assert 0.98 < total / 60_000 < 1.02
