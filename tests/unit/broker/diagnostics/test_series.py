"""How offsets grew, in rings of differences."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.diagnostics.series import ENTRY_BYTES, RING_BYTES, TICK_MS, Series

MUCH = 1_000_000


def end_ms(tick: int) -> int:
    return (tick + 1) * TICK_MS


def series(most_rings: int = 100, most_bytes: int = MUCH) -> Series[str]:
    return Series(most_rings, most_bytes)


def test_what_never_changes_has_no_ring() -> None:
    kept = series()
    for tick in range(100, 200):
        kept.sample("a", tick, 5)
    assert kept.kept_bytes == ENTRY_BYTES
    assert kept.points("a", 200) == [(end_ms(200), 5)]
    assert kept.points("b", 200) == []


def test_each_change_is_told_with_its_tick() -> None:
    kept = series()
    for tick, value in enumerate((5, 5, 7, 7, 6), 100):
        kept.sample("a", tick, value)
    assert kept.points("a", 104) == [(end_ms(101), 5), (end_ms(102), 7), (end_ms(104), 6)]


def test_a_jump_that_does_not_fit_begins_anew() -> None:
    kept = series()
    for tick, value in enumerate((5, 7, 2**40, 2**40 + 1), 100):
        kept.sample("a", tick, value)
    assert kept.points("a", 103) == [(end_ms(102), 2**40), (end_ms(103), 2**40 + 1)]


def test_many_small_jumps_that_do_not_fit_a_minute_together() -> None:
    kept = series()
    values = [each * (2**31 - 1) for each in range(5)]
    for tick, value in enumerate(values, 102):
        kept.sample("a", tick, value)
    points = kept.points("a", 106)
    assert points[-1] == (end_ms(106), values[-1])
    assert {value for _, value in points} <= set(values)


def test_an_hour_without_a_change_leaves_what_it_was() -> None:
    kept = series()
    kept.sample("a", 100, 5)
    kept.sample("a", 101, 6)
    assert kept.points("a", 2_000) == [(end_ms(2_000 - 360), 6)]


def test_there_is_room_for_so_many() -> None:
    kept = series(most_rings=2)
    for key in "abc":
        kept.sample(key, 100, 1)
    kept.retain({*"abc"})
    assert (len(kept), kept.left_out) == (2, 1)
    small = series(most_bytes=3 * ENTRY_BYTES + RING_BYTES)
    for tick in (100, 101):
        for key in "abc":
            small.sample(key, tick, tick)
        small.retain({*"abc"})
    assert small.points("a", 101)[-1] == (end_ms(101), 101)
    # Nothing is told that was not so.
    assert small.points("b", 101) == [(end_ms(101), 100)]
    assert small.left_out == 2


def test_who_is_gone_is_forgotten() -> None:
    kept = series()
    for tick in (100, 101):
        kept.sample("a", tick, tick)
        kept.sample("b", tick, 1)
    kept.retain({"b"})
    assert kept.points("a", 101) == []
    assert kept.kept_bytes == ENTRY_BYTES
    kept.retain(set())
    assert kept.kept_bytes == 0


@given(
    st.integers(0, 10_000),
    # The changes of a minute fit together: other ones begin anew, which the tests above show.
    st.lists(st.tuples(st.integers(1, 40), st.integers(-1_000, 2**28)), min_size=1, max_size=80),
    st.integers(0, 400),
)
def test_points_are_what_was_sampled(first: int, steps: list[tuple[int, int]], later: int) -> None:
    """Against all samples in a list: within five minutes each, before that the last one of each minute."""
    kept, tick, value = series(), first, 2**33
    sampled = {tick: value}
    kept.sample("a", tick, value)
    for more, change in steps:
        tick += more
        value += change
        kept.sample("a", tick, value)
        sampled[tick] = value
    points = kept.points("a", tick + later)
    assert points == sorted(points)

    def value_at(at: int) -> int:
        return sampled[max(each for each in sampled if each <= max(at, first))]

    # What began an hour ago is as exact as a minute.
    assert points[0][1] in {value_at(points[0][0] // TICK_MS - 1 - ago) for ago in range(6)}
    for at_ms, told in points[1:]:
        assert told == value_at(at_ms // TICK_MS - 1)
    exact = {at_ms // TICK_MS - 1 for at_ms, _ in points}
    changed = [each for each in sampled if each > first and each > tick - 24 and each > tick + later - 360]
    before = {each: sampled[max(other for other in sampled if other < each)] for each in changed}
    assert {each for each in changed if sampled[each] != before[each]} <= exact
