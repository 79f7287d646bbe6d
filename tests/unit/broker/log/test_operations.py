"""The operations of a log: which may begin, and which wait."""

import pytest

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.operations import LogOperations, Operation
from barnabas.core.pending import Pending
from barnabas.testing.manual_executor import ManualExecutor


@pytest.fixture
def operations():
    return LogOperations(DiskWork(ManualExecutor()))


@pytest.fixture
def begin_append(operations, disk, tmp_path):
    def begin(operation):
        file = disk.open_records(tmp_path / "0.log", is_new=True)
        operations.begin_append(operation, file, b"data", lambda _: None, lambda _: None)

    return begin


@pytest.mark.parametrize("operation", [Operation.APPEND_AS_LEADER, Operation.APPEND_AS_FOLLOWER])
def test_an_append_begins_and_ends_once(operations, begin_append, operation):
    with pytest.raises(RuntimeError, match=r"cannot end an append as .*: no operation is in progress"):
        operations.end_append(operation)
    begin_append(operation)
    assert (operations.current, operations.is_idle) == (operation, False)
    with pytest.raises(RuntimeError, match=r"cannot begin an append as leader: an append as .* is in progress"):
        begin_append(Operation.APPEND_AS_LEADER)
    with pytest.raises(RuntimeError, match="cannot end a truncation"):
        operations.end_truncation()
    operations.end_append(operation)
    assert operations.is_idle


def test_only_a_requested_truncation_begins_and_ends(operations):
    for change in (operations.begin_truncation, operations.end_truncation):
        with pytest.raises(RuntimeError, match="a truncation: no operation is in progress"):
            change()
    assert operations.is_idle


def test_a_truncation_waits_for_an_append_and_for_earlier_truncations(operations, begin_append):
    def begin():
        operations.begin_truncation()
        return Pending()

    begin_append(Operation.APPEND_AS_LEADER)
    truncations = [operations.request_truncation(begin) for _ in range(2)]
    assert (operations.current, operations.truncation_count) == (Operation.APPEND_AS_LEADER, 2)
    operations.end_append(Operation.APPEND_AS_LEADER)
    for left in (1, 0):
        operations.run_waiting()
        assert operations.current is Operation.TRUNCATION
        with pytest.raises(RuntimeError, match="cannot end an append as leader: a truncation is in progress"):
            operations.end_append(Operation.APPEND_AS_LEADER)
        operations.end_truncation()
        assert (operations.current, operations.truncation_count) == (Operation.NONE, left)
    assert not any(each.is_done for each in truncations)
