"""When there is room for more in the windows of a broker."""

from random import Random

import pytest

from barnabas.pipeline.runner.uses import Use, Uses

SEED = 5


def test_nothing_has_to_wait_where_nothing_was_used() -> None:
    assert Uses(10.0).wait_s(0.0, Use(9.0, 0.0), 1.0) == 0
    # What no window holds would wait for ever.
    assert Uses(10.0).wait_s(0.0, Use(900.0, 0.0), 1.0) == 0


def test_what_comes_at_once_waits_until_as_much_is_forgotten() -> None:
    uses = Uses(10.0)
    uses.record(0.0, 5.0, 10.0)
    # In ten seconds two have to be forgotten, in eleven one: half a second of it.
    assert uses.wait_s(5.0, Use(2.0, 0.0), 1.0) == pytest.approx(6.5, abs=0.05)
    assert uses.wait_s(11.6, Use(2.0, 0.0), 1.0) == 0


def test_what_is_used_evenly_may_begin_while_as_much_is_forgotten() -> None:
    uses = Uses(10.0)
    uses.record(0.0, 4.0, 10.0)
    even_s, at_once_s = (uses.wait_s(4.0, Use(10.0, over_s), 1.0) for over_s in (4.0, 0.0))
    assert even_s == pytest.approx(6.5, abs=0.6)
    assert at_once_s == pytest.approx(10.6, abs=0.1)


def test_others_count_too_and_what_was_forgotten_does_not() -> None:
    uses, others = Uses(10.0), Uses(10.0)
    uses.record(0.0, 0.0, 8.0)
    others.record(1.0, 1.0, 8.0)
    assert uses.wait_s(2.0, Use(3.0, 0.0), 1.0) == pytest.approx(8.75, abs=0.05)
    assert uses.wait_s(2.0, Use(3.0, 0.0), 1.0, others) == pytest.approx(9.75, abs=0.05)
    uses.forget()
    assert uses.wait_s(2.0, Use(3.0, 0.0), 1.0) == 0


def test_no_window_is_above_the_rate_after_the_wait_and_one_is_with_less() -> None:
    print(f"seed {SEED}")
    dice = Random(SEED)
    for _ in range(200):
        uses = Uses(10.0)
        parts = []
        at_s = 0.0
        while at_s < 12.0:
            lasts_s = dice.uniform(0.05, 2.0)
            parts.append((at_s, at_s + lasts_s, dice.choice([0.0, dice.uniform(0.0, 2.0) * lasts_s])))
            uses.record(*parts[-1])
            at_s += lasts_s
        coming = Use(dice.uniform(0.5, 6.0), dice.uniform(0.3, 4.0))
        wait_s = uses.wait_s(at_s, coming, 1.0)
        assert fullest(parts, at_s + wait_s, coming) <= 0.05
        if wait_s > 0.2:
            assert fullest(parts, at_s + wait_s - 0.2, coming) > 0


def fullest(parts: list[tuple[float, float, float]], begin_s: float, coming: Use) -> float:
    """How much more than the rate of 1 is in any window of those lengths that ends while what comes is used."""
    parts = [*parts, (begin_s, begin_s + coming.over_s, coming.used_bytes)]
    most = float("-inf")
    for step in range(41):
        end_s = begin_s + coming.over_s * step / 40
        for length_s in (10.0, 10.25, 10.5, 10.75, 11.0):
            used = 0.0
            for from_s, to_s, size in parts:
                inside_s = min(to_s, end_s) - max(from_s, end_s - length_s)
                used += size * max(0.0, inside_s) / (to_s - from_s)
            most = max(most, used - length_s)
    return most
