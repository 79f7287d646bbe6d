"""Records ahead of a group are counted: no markers, nothing aborted, and the age of the first one."""

from barnabas.explain.formatting import count, duration, listed, times
from barnabas.explain.record_count import RecordCount
from barnabas.explain.snapshot import UnreadRecords, rate_per_s, still_since_ms
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker


def plain(base: int, number: int, first_ms: int) -> memoryview:
    builder = BatchBuilder()
    for index in range(number):
        builder.append(first_ms + index, None, b"v")
    return memoryview(builder.build(base))


def transactional(base: int, producer_id: int, first_ms: int) -> memoryview:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    builder.append(first_ms, None, b"v")
    return memoryview(builder.build(base))


def marker(base: int, producer_id: int, kind: MarkerType) -> memoryview:
    return memoryview(build_marker(producer_id, 0, EndTransactionMarker(kind, 0), 9_000, base))


def counted(*batches: memoryview, from_offset: int = 0, is_whole: bool = True) -> UnreadRecords:
    found = RecordCount(from_offset)
    for each in batches:
        found.add(read_header(each), each)
    return found.unread(is_whole=is_whole)


def test_records_are_counted_from_within_a_batch_on() -> None:
    assert counted(plain(0, 5, 100), plain(5, 2, 200), from_offset=3) == UnreadRecords(103, 4, True)


def test_what_was_aborted_and_markers_are_no_records() -> None:
    abort, commit = MarkerType.ABORT, MarkerType.COMMIT
    batches = [transactional(0, 1, 100), transactional(1, 2, 300), marker(2, 1, abort), marker(3, 2, commit)]
    assert counted(*batches) == UnreadRecords(300, 1, True)
    assert counted(marker(0, 1, MarkerType.COMMIT)) == UnreadRecords(None, 0, True)


def test_what_no_marker_decided_on_counts_where_reading_stopped_before_it() -> None:
    assert counted(transactional(0, 1, 100), is_whole=False) == UnreadRecords(100, 1, False)


def test_records_without_timestamps_have_no_age() -> None:
    assert counted(plain(0, 1, -1)) == UnreadRecords(None, 1, True)


def test_rates_are_those_of_the_window() -> None:
    assert rate_per_s([(0, 0), (10_000, 100)], 10_000) == 10
    assert rate_per_s([(0, 0), (770_000, 100), (800_000, 400)], 800_000) == 10
    assert rate_per_s([(0, 7)], 10_000) == 0
    assert rate_per_s([], 10_000) is None
    assert rate_per_s([(9_900, 7)], 10_000) is None


def test_since_when_an_offset_stands_still() -> None:
    assert still_since_ms([(1, 5), (2, 6), (3, 6)]) == 2
    assert still_since_ms([]) is None


def test_figures_are_said_as_people_say_them() -> None:
    assert [duration(each) for each in (5, 5_000, 500_000, 50_000_000, 500_000_000)] == [
        "5 ms",
        "5.0 s",
        "8.3 min",
        "13.9 h",
        "5.8 days",
    ]
    assert (count(1, "record"), count(1_200, "record")) == ("1 record", "1,200 records")
    assert (times(1), times(2)) == ("once", "2 times")
    assert listed([1, 2, 3], 2) == "1, 2 and 1 more"
