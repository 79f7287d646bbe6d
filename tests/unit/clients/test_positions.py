"""Positions held against what is there: what is lost is told exactly, and what is not lost is not told."""

from barnabas.clients.positions import (
    Extent,
    Loss,
    LostRange,
    clamped,
    earliest_of,
    is_reached,
    lag_of,
    lost_ranges,
    merged,
    readable_marks,
    still_there,
)
from barnabas.pipeline.tables.table import Mark

MARK = Mark(9, 1_000, 77)
OTHER = Mark(9, 2_000, 78)


def losses(position, extent, mark=None, found=None, is_same_cluster=True):
    extents = {} if extent is None else {"t": {0: extent}}
    marks = {"t": {0: mark}} if mark else {}
    there = {"t": {0: found}} if found else {}
    return lost_ranges({"t": {0: position}}, extents, marks, there, is_same_cluster)


def test_nothing_is_lost_between_start_and_end_of_the_log():
    assert losses(10, Extent(10, 10), MARK) == []
    assert losses(10, Extent(0, 10), MARK, MARK) == []
    assert losses(0, Extent(0, 0)) == []


def test_what_retention_has_deleted_is_told_to_the_offset():
    assert losses(10, Extent(25, 40), MARK) == [LostRange("t", 0, Loss.OVERTAKEN, 10, 25, 25)]
    assert str(losses(10, Extent(25, 40))[0]) == (
        "t-0: offsets 10 to 24 (15 records): deleted by retention before it was read"
    )


def test_a_single_record_that_was_deleted_is_told():
    assert losses(10, Extent(11, 40), MARK) == [LostRange("t", 0, Loss.OVERTAKEN, 10, 11, 11)]
    assert losses(10, Extent(10, 40), MARK) == []


def test_a_log_that_is_shorter_than_what_was_read_was_made_anew():
    assert losses(10, Extent(0, 9), MARK) == [LostRange("t", 0, Loss.SHORTER, 10, 10, 0)]


def test_another_record_where_the_last_was_read_is_another_topic():
    assert losses(10, Extent(0, 50), MARK, OTHER) == [LostRange("t", 0, Loss.REPLACED, 10, 10, 0)]


def test_a_record_that_compaction_took_says_nothing():
    assert losses(10, Extent(0, 50), MARK, None) == []


def test_a_partition_that_is_gone_has_nowhere_to_go_on():
    assert losses(10, None) == [LostRange("t", 0, Loss.GONE, 10, 10, None)]


def test_another_cluster_has_none_of_what_was_read():
    assert losses(10, Extent(3, 50), is_same_cluster=False) == [LostRange("t", 0, Loss.OTHER_CLUSTER, 10, 10, 3)]


def test_marks_are_looked_up_only_where_they_can_be_read():
    marks = {"t": {0: MARK, 1: MARK, 2: MARK}, "u": {0: MARK}}
    extents = {"t": {0: Extent(0, 10), 1: Extent(10, 20), 2: Extent(0, 9)}}
    assert readable_marks(marks, extents) == {"t": {0: MARK}}


def test_a_run_stands_where_its_table_that_is_furthest_behind_stands():
    assert earliest_of([{"t": {0: 5, 1: 7}}, {"t": {0: 6, 1: 3}}]) == {"t": {0: 5, 1: 3}}
    # One that has nothing of a partition yet wants it from its beginning.
    assert earliest_of([{"t": {0: 5, 1: 7}}, {"t": {0: 6}}]) == {"t": {0: 5}}
    assert earliest_of([{"t": {0: 5}}, {}]) == {}
    assert earliest_of([]) == {}


def test_newer_positions_take_the_place_of_older_ones():
    assert merged({"t": {0: 1, 1: 2}, "u": {0: 3}}, {"t": {1: 9}, "v": {0: 4}}) == {
        "t": {0: 1, 1: 9},
        "u": {0: 3},
        "v": {0: 4},
    }


def test_a_batch_ends_at_its_target():
    assert clamped({"t": {0: 10, 1: 3}}, {"t": {0: 7, 1: 5}}) == {"t": {0: 7, 1: 3}}
    assert clamped({"t": {0: 10}}, None) == {"t": {0: 10}}


def test_a_target_is_reached_when_all_its_partitions_are():
    assert is_reached({"t": {0: 7, 1: 5}}, {"t": {0: 7, 1: 5}})
    assert not is_reached({"t": {0: 7}}, {"t": {0: 7, 1: 1}})
    assert is_reached({}, {"t": {0: 0}})


def test_the_target_of_a_partition_that_is_deleted_goes_with_it():
    targets = {"t": {0: 7, 1: 5}, "u": {0: 3}}
    assert still_there(targets, {"t": {0: 9, 1: 5}, "u": {0: 3}, "v": {0: 1}}) == targets
    assert still_there(targets, {"t": {0: 9}}) == {"t": {0: 7}}
    # Deleted and created again.
    assert still_there(targets, {"t": {0: 2}, "u": {}}) == {"t": {0: 2}, "u": {}}


def test_lag_counts_what_is_there_and_not_read():
    extents = {"t": {0: Extent(5, 20), 1: Extent(0, 4)}}
    assert lag_of({"t": {0: 18}}, extents) == {"t": {0: 2, 1: 4}}
    # What retention took can't be caught up with.
    assert lag_of({"t": {0: 2, 1: 9}}, extents) == {"t": {0: 15, 1: 0}}
