"""Requests that need what is not in the page cache: they wait for an executor, never for the disk."""

import pytest

from barnabas.broker.requests.handlers import fetch, list_offsets
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.unit.broker.requests.conftest import batch
from tests.unit.cold_disk import ColdDisk

TIME_MS = 1_600_000_000_000


@pytest.fixture
def cold_disk():
    return ColdDisk()


@pytest.fixture
def path(data_path, cold_disk):
    data_path.create("t")
    for number in range(10):
        data_path.produce("t", batch(timestamp_ms=TIME_MS + number))
    data_path.services.cold_reads = cold_disk.cold_reads
    return data_path


def begin(path, offset=0, **options):
    return path.begin(fetch.HANDLER, 11, path.fetch_request("t", offset, **options))


def test_a_fetch_of_cold_records_is_answered_once_they_are_there(path, cold_disk):
    pending = begin(path)
    assert isinstance(pending, Pending)
    assert not pending.is_done
    cold_disk.executor.run_all()
    assert len(path.fetched(pending).records) == 10 * len(batch())


def test_a_fetch_of_cached_records_is_answered_at_once(path, cold_disk):
    begin(path)
    cold_disk.executor.run_all()
    assert not isinstance(begin(path), Pending)


def test_two_cold_fetches_read_once(path, cold_disk):
    first, second = begin(path), begin(path)
    assert cold_disk.executor.waiting_count == 1
    cold_disk.executor.run_all()
    assert bytes(path.fetched(first).records) == bytes(path.fetched(second).records) != b""


def test_a_fetch_gets_on_even_if_the_cache_keeps_nothing(path, cold_disk):
    cold_disk.is_forgetful = True
    pending = begin(path)
    cold_disk.executor.run_all()
    assert len(path.fetched(pending).records) > 0


def test_a_client_that_left_is_not_answered(path, cold_disk):
    pending = begin(path)
    pending.cancel()
    cold_disk.executor.run_all()
    assert pending.is_done


def test_a_fetch_that_was_woken_reads_cold_records_elsewhere(path, cold_disk):
    pending = begin(path, offset=10, wait_ms=500)
    assert not pending.is_done
    path.produce("t", batch())
    path.run_due()
    assert not pending.is_done
    cold_disk.executor.run_all()
    assert len(path.fetched(pending).records) == len(batch())


def test_a_cold_fetch_that_lacks_bytes_goes_on_waiting(path, cold_disk):
    request = path.fetch_request("t", 0, wait_ms=500)
    request.min_bytes = 100_000
    pending = path.begin(fetch.HANDLER, 11, request)
    cold_disk.executor.run_all()
    assert not pending.is_done
    path.clock.advance(500)
    assert len(path.fetched(pending).records) == 10 * len(batch())


def test_a_fetch_that_waits_ends_when_the_broker_does(path, cold_disk):
    begin(path)
    cold_disk.executor.run_all()
    pending = begin(path, offset=10, wait_ms=60_000)
    path.services.fetches.expire_all()
    assert pending.is_done


def test_a_disk_that_fails_is_told_to_the_reader(path, cold_disk):
    path.disk.fails_to_read = True
    pending = begin(path)
    cold_disk.executor.run_all()
    assert path.fetched(pending).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [str(error) for error in path.errors] == [f"{path.log('t').active_segment.path}: Input/output error"]


def offset_at(path, timestamp_ms):
    wanted = ListOffsetsPartition(0, timestamp=timestamp_ms)
    return path.begin(list_offsets.HANDLER, 5, ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [wanted])]))


def listed(path, answer):
    return path.finish(list_offsets.HANDLER, 5, answer).topics[0].partitions[0].offset


def test_a_time_in_cold_records_is_answered_once_they_are_there(path, cold_disk):
    pending = offset_at(path, TIME_MS + 7)
    assert not pending.is_done
    cold_disk.executor.run_all()
    assert listed(path, pending) == 7
    assert not isinstance(offset_at(path, TIME_MS + 3), Pending)


def test_ends_of_a_cold_log_are_known(path):
    assert listed(path, offset_at(path, list_offsets.LATEST)) == 10
    assert listed(path, offset_at(path, list_offsets.EARLIEST)) == 0


def test_a_time_is_found_even_if_the_cache_keeps_nothing(path, cold_disk):
    cold_disk.is_forgetful = True
    pending = offset_at(path, TIME_MS + 7)
    cold_disk.executor.run_all()
    assert listed(path, pending) == 7


def test_a_client_that_left_gets_no_offset(path, cold_disk):
    pending = offset_at(path, TIME_MS)
    pending.cancel()
    cold_disk.executor.run_all()
    assert cold_disk.executor.waiting_count == 0


def test_a_disk_that_fails_is_told_to_who_asks_for_a_time(path, cold_disk):
    path.disk.fails_to_read = True
    pending = offset_at(path, TIME_MS + 7)
    cold_disk.executor.run_all()
    answer = path.finish(list_offsets.HANDLER, 5, pending)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
