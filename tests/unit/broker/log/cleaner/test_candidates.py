"""Which part of a log is cleaned."""

from typing import NamedTuple

import pytest

from barnabas.broker.log.cleaner.candidates import (
    CleanableRange,
    CompactionRules,
    LogView,
    cleanable_range,
    dirtiest,
    is_due,
)

NEVER = 2**63 - 1
RULES = CompactionRules(0.5, 0, NEVER)


class Segment(NamedTuple):
    base_offset: int
    size: int = 100
    largest_ms: int = 0
    first_ms: int = 0

    def largest_timestamp(self) -> int:
        return self.largest_ms

    def read_first_timestamp(self) -> int:
        return self.first_ms


def view(
    *segments: Segment, checkpoint: int | None = None, stable: int = NEVER, start: int = 0, end: int = 50
) -> LogView:
    return LogView(segments, start, end, stable, checkpoint)


FOUR = (Segment(0), Segment(10), Segment(20), Segment(30))


def test_all_but_the_active_segment_of_a_new_log() -> None:
    assert cleanable_range(view(*FOUR), RULES, 0) == CleanableRange(0, 30, 0, 300, False)


def test_from_the_checkpoint_on() -> None:
    found = cleanable_range(view(*FOUR, checkpoint=20), RULES, 0)
    assert found == CleanableRange(20, 30, 200, 100, False)
    assert found.dirty_ratio == pytest.approx(1 / 3)


def test_a_checkpoint_within_a_segment_counts_that_segment_twice() -> None:
    assert cleanable_range(view(*FOUR, checkpoint=15), RULES, 0) == CleanableRange(15, 30, 200, 200, False)


@pytest.mark.parametrize("checkpoint", [51, 4])
def test_a_checkpoint_outside_of_the_log_says_nothing(checkpoint: int) -> None:
    found = cleanable_range(view(*FOUR, checkpoint=checkpoint, start=5), RULES, 0)
    assert found.first_dirty_offset == 5


def test_nothing_when_all_is_clean() -> None:
    found = cleanable_range(view(*FOUR, checkpoint=30), RULES, 0)
    assert found == CleanableRange(30, 30, 300, 0, False)
    assert not is_due(found, RULES)


def test_an_empty_log_is_not_due() -> None:
    assert not is_due(cleanable_range(view(Segment(0, 0), end=0), RULES, 0), RULES)


def test_a_checkpoint_in_the_active_segment() -> None:
    assert cleanable_range(view(*FOUR, checkpoint=35), RULES, 0).cleanable_bytes == 0


def test_not_from_the_segment_of_the_first_unstable_offset_on() -> None:
    assert cleanable_range(view(*FOUR, stable=25), RULES, 0) == CleanableRange(0, 20, 0, 200, False)
    assert cleanable_range(view(*FOUR, checkpoint=20, stable=12), RULES, 0) == CleanableRange(20, 20, 200, 0, False)


def test_not_from_the_first_segment_with_a_young_record_on() -> None:
    rules = CompactionRules(0.5, 100, NEVER)
    segments = (Segment(0, largest_ms=899), Segment(10, largest_ms=901), Segment(20, largest_ms=1), Segment(30))
    assert cleanable_range(view(*segments), rules, 1000).first_uncleanable_offset == 10
    assert cleanable_range(view(*segments), rules, 1001).first_uncleanable_offset == 30


def test_a_young_record_in_the_clean_part_does_not_matter() -> None:
    rules = CompactionRules(0.5, 100, NEVER)
    segments = (Segment(0, largest_ms=999), Segment(10, largest_ms=1), Segment(20))
    assert cleanable_range(view(*segments, checkpoint=10), rules, 1000).first_uncleanable_offset == 20


def test_overdue_when_the_dirty_part_is_older_than_the_largest_lag() -> None:
    rules = CompactionRules(1.0, 0, 100)
    segments = (Segment(0, first_ms=1), Segment(10, first_ms=899), Segment(20))
    found = cleanable_range(view(*segments, checkpoint=10), rules, 1000)
    assert found.is_overdue
    assert is_due(found, rules)
    assert not cleanable_range(view(*segments, checkpoint=10), rules, 999).is_overdue


def test_a_segment_without_a_timestamp_is_never_overdue() -> None:
    assert not cleanable_range(view(Segment(0), Segment(10)), CompactionRules(1.0, 0, 100), 1000).is_overdue


def test_overdue_but_nothing_cleanable() -> None:
    found = CleanableRange(10, 10, 100, 0, True)
    assert not is_due(found, RULES)


def test_due_above_the_ratio_only() -> None:
    assert not is_due(CleanableRange(10, 20, 100, 100, False), RULES)
    assert is_due(CleanableRange(10, 20, 100, 101, False), RULES)


def test_the_dirtiest_comes_first() -> None:
    assert dirtiest([]) is None
    ranges = [CleanableRange(0, 1, clean, 100, False) for clean in (50, 10, 90)]
    assert dirtiest(enumerate(ranges)) == 1
