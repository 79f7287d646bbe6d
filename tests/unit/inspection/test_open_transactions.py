"""The open transactions of a log, found from outside; tests/property holds that against what a broker knows."""

import pytest

from barnabas.broker.log.producers.open_transactions import OpenTransaction
from barnabas.inspection.log_listing import list_log
from barnabas.inspection.open_transactions import find_open_transactions
from barnabas.wire.records.control import MarkerType
from tests.unit.inspection.conftest import LogFiles, batch, marker, snapshot


def data(offset: int, producer_id: int, timestamp_ms: int = 1_000) -> bytes:
    return batch(
        offset,
        1,
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=offset,
        is_transactional=True,
    )


def entry(producer_id: int, last_offset: int, first_open: int) -> tuple[int, ...]:
    return (producer_id, 0, last_offset, last_offset, 0, 1_000, -1, first_open)


def find(files: LogFiles, **state: int | bool) -> list[OpenTransaction]:
    return find_open_transactions(list_log(files.path), **state)  # type: ignore[arg-type]


COMMIT, ABORT = MarkerType.COMMIT, MarkerType.ABORT


def test_a_log_that_was_killed(log_files: LogFiles) -> None:
    log_files.segment(0, batch(0), data(2, 8, 5_000), data(3, 9), data(4, 9), marker(5, 8, COMMIT), data(6, 8, 7_000))
    assert find(log_files) == [OpenTransaction(9, 0, 3, 1_000), OpenTransaction(8, 0, 6, 7_000)]
    log_files.segment(7, marker(7, 9, ABORT), marker(8, 8, COMMIT))
    assert find(log_files) == []


def test_an_empty_log_and_one_of_no_segments(log_files: LogFiles) -> None:
    assert find(log_files) == []
    log_files.segment(0)
    assert find(log_files) == []


@pytest.mark.parametrize("tail", [bytes(200), data(3, 9)[:40], b"\x7f" * 100], ids=["zeros", "cut", "garbage"])
def test_a_torn_end_is_left_out(log_files: LogFiles, tail: bytes) -> None:
    path = log_files.segment(0, data(0, 8), data(1, 9), marker(2, 8, COMMIT))
    path.write_bytes(path.read_bytes() + tail)
    assert find(log_files) == [OpenTransaction(9, 0, 1, 1_000)]


def test_what_lies_below_the_snapshot_is_not_read(log_files: LogFiles) -> None:
    log_files.segment(0, data(0, 8), data(1, 9))
    log_files.write(0, ".log", b"\x7f" * 1_000)
    log_files.segment(2, marker(2, 9, COMMIT), data(3, 10))
    log_files.write(2, ".snapshot", snapshot(entry(8, 0, 0), entry(9, 1, 1)))
    assert find(log_files) == [OpenTransaction(8, 0, 0, -1), OpenTransaction(10, 0, 3, 1_000)]


def test_after_a_clean_stop_the_last_snapshot_is_all_that_is_read(log_files: LogFiles) -> None:
    log_files.segment(0, data(0, 8))
    log_files.write(1, ".snapshot", snapshot(entry(8, 0, 0)))
    assert find(log_files, was_clean=True) == [OpenTransaction(8, 0, 0, 1_000)]
    # A log that was never closed by a broker that knew producers has no snapshot.
    (log_files.path / f"{1:020}.snapshot").unlink()
    assert find(log_files, was_clean=True) == []


def test_snapshots_that_a_start_would_not_use(log_files: LogFiles) -> None:
    log_files.segment(0, batch(0), data(2, 8), data(3, 9), marker(4, 9, COMMIT))
    # Of more than is in the log, torn, and at the log's start.
    log_files.write(9, ".snapshot", snapshot(entry(77, 8, 8)))
    log_files.write(4, ".snapshot", b"torn")
    log_files.write(0, ".snapshot", snapshot(entry(78, 0, 0)))
    assert find(log_files) == [OpenTransaction(8, 0, 2, 1_000)]
    log_files.write(3, ".snapshot", snapshot(entry(8, 2, 2)))
    assert find(log_files, log_start_offset=2) == [OpenTransaction(8, 0, 2, 1_000)]
    assert find(log_files, log_start_offset=3) == []


def test_nothing_is_changed(log_files: LogFiles) -> None:
    log_files.segment(0, data(0, 8), data(1, 9))
    log_files.write(2, ".snapshot", b"torn")
    before = {path.name: path.read_bytes() for path in log_files.path.iterdir()}
    assert len(find(log_files)) == 2
    assert {path.name: path.read_bytes() for path in log_files.path.iterdir()} == before
