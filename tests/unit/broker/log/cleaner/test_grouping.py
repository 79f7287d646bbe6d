"""Which segments are cleaned into one."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.log.cleaner.grouping import SegmentSizes, group_segments

GIB = 2**30


def sizes(*log_bytes: int, step: int = 10, index: int = 8, time: int = 12) -> list[SegmentSizes]:
    return [SegmentSizes(number * step, size, index, time) for number, size in enumerate(log_bytes)]


def test_as_many_as_fit() -> None:
    assert group_segments(sizes(400, 600, 1, 500, 500), 1000, GIB, 50) == [[0, 1], [2, 3], [4]]


def test_a_segment_that_is_too_large_stands_alone() -> None:
    assert group_segments(sizes(10, 2000, 10), 1000, GIB, 30) == [[0], [1], [2]]


def test_both_indexes_must_fit() -> None:
    assert group_segments(sizes(1, 1, 1, index=8, time=0), GIB, 16, 30) == [[0, 1], [2]]
    assert group_segments(sizes(1, 1, 1, index=0, time=12), GIB, 24, 30) == [[0, 1], [2]]


def test_offsets_must_fit_32_bits() -> None:
    segments = [SegmentSizes(0, 1, 0, 0), SegmentSizes(100, 1, 0, 0)]
    assert group_segments(segments, GIB, GIB, 2**31) == [[0, 1]]
    assert group_segments(segments, GIB, GIB, 2**31 + 1) == [[0], [1]]
    segments.append(SegmentSizes(2**31, 1, 0, 0))
    assert group_segments(segments, GIB, GIB, 2**31 + 1) == [[0, 1], [2]]


def test_an_empty_segment_joins_whatever_its_offsets() -> None:
    segments = [SegmentSizes(0, 1, 0, 0), SegmentSizes(100, 0, 0, 0), SegmentSizes(2**32, 1, 0, 0)]
    assert group_segments(segments, GIB, GIB, 2**32 + 1) == [[0, 1], [2]]


def test_nothing() -> None:
    assert group_segments([], GIB, GIB, 0) == []


@given(st.lists(st.integers(0, 1200)), st.integers(1, 3000), st.integers(1, 60))
def test_no_segment_is_left_out_and_no_group_is_too_large(log_bytes: list[int], segment_bytes: int, index_bytes: int):
    groups = group_segments(sizes(*log_bytes), segment_bytes, index_bytes, 10 * len(log_bytes))
    assert [index for group in groups for index in group] == list(range(len(log_bytes)))
    for group in groups:
        assert len(group) == 1 or sum(log_bytes[index] for index in group) <= segment_bytes
        assert len(group) == 1 or 12 * len(group) <= index_bytes
