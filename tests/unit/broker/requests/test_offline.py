"""Partitions whose log directory failed: every client is told so, in words that it knows."""

import asyncio

import pytest

from barnabas.broker.requests.handlers import fetch, leader_and_isr
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from tests.patience import PATIENCE_S
from tests.unit.broker.requests.conftest import batch

OFFLINE, NOT_LEADER = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def path(data_path):
    data_path.create("t")
    data_path.create("other")
    data_path.produce("t", batch())
    return data_path


def fail(path):
    """What the log manager says when the directory of `t` fails."""
    path.logs.on_offline([TopicPartition("t", 0)])


@pytest.mark.parametrize(("version", "error"), [(3, NOT_LEADER), (4, OFFLINE), (8, OFFLINE)])
def test_produce(path, version, error):
    fail(path)
    assert path.produce("t", batch(), version).error_code == error
    assert path.produce("other", batch(), version).error_code == 0


@pytest.mark.parametrize(("version", "error"), [(5, NOT_LEADER), (6, OFFLINE), (11, OFFLINE)])
def test_fetch(path, version, error):
    fail(path)
    assert path.fetch("t", version=version).error_code == error


def test_list_offsets(path):
    fail(path)
    assert path.list_offsets("t", -1).error_code == OFFLINE


def test_a_fetch_that_waits_is_told(path):
    pending = path.begin(fetch.HANDLER, 11, path.fetch_request("t", 1, wait_ms=500))
    assert not pending.is_done
    fail(path)
    answer = path.finish(fetch.HANDLER, 11, pending)
    assert answer.responses[0].partitions[0].error_code == OFFLINE


def test_coordinators_resign(path):
    resigned = []
    path.replicas.on_leadership = lambda led, gone: resigned.extend(gone)
    fail(path)
    assert resigned == [TopicPartition("t", 0)]


@pytest.mark.parametrize(
    ("version", "is_new", "error"),
    [
        (1, True, 0),
        (1, False, OFFLINE),
        # Version 0 does not say whether a partition is new: the failed directory may have its log.
        (0, False, OFFLINE),
    ],
)
def test_with_a_failed_directory_the_logs_of_new_partitions_are_created(
    make_data_path, tmp_path, version, is_new, error
):
    path = make_data_path(log_dirs=f"{tmp_path / 'a'},{tmp_path / 'b'}")
    path.logs.note_failure(StorageError("the disk is gone", tmp_path / "b"))
    state = LeaderAndIsrPartitionState("new", 0, 1, 1, 0, [1], 0, [1], is_new)

    async def lead():
        # The settings of the topic are read first.
        return await path.begin(leader_and_isr.HANDLER, version, LeaderAndIsrRequest(2, 1, [state])).future()

    response = asyncio.run(asyncio.wait_for(lead(), PATIENCE_S))
    assert [each.error_code for each in response.partition_errors] == [error]


def test_a_partition_that_is_not_known_is_not_offline(path):
    fail(path)
    assert path.produce("nowhere", batch()).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
