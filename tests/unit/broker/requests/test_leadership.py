"""What a broker answers about partitions that it does not lead; each case was asked of Kafka 2.7.2."""

import pytest

from barnabas.broker.requests.handlers import delete_records, offset_for_leader_epoch
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.unit.broker.requests.conftest import batch

LATEST, EARLIEST = -1, -2
CONSUMER, DEBUGGER, FOLLOWER = -1, -2, 5


def know(path, topic):
    """The controller tells of a partition on other brokers."""
    state = UpdateMetadataPartitionState2(partition_index=0, leader=5, leader_epoch=0, isr=[5], replicas=[5])
    request = UpdateMetadataRequest(controller_epoch=1, topic_states=[UpdateMetadataTopicState(topic, [state])])
    path.services.cluster.update_metadata(request)


def errors_of(path, topic):
    """What each API that looks for a partition says."""
    deleted = path.call(
        delete_records.HANDLER,
        1,
        DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 0)])], 1_000),
    )
    epochs = path.call(
        offset_for_leader_epoch.HANDLER,
        3,
        OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(0, -1, 0)])]),
    )
    return {
        "produce": path.produce(topic, batch()).error_code,
        # Later versions may read from a follower.
        "fetch": path.fetch(topic, version=10).error_code,
        "list": path.list_offsets(topic, LATEST).error_code,
        "delete": deleted.topics[0].partitions[0].error_code,
        "epoch": epochs.topics[0].partitions[0].error_code,
    }


def test_a_partition_of_other_brokers_sends_the_client_to_its_leader(data_path):
    know(data_path, "theirs")
    assert set(errors_of(data_path, "theirs").values()) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_a_partition_of_nobody_is_unknown(data_path):
    know(data_path, "theirs")
    assert set(errors_of(data_path, "nothing").values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_follower_sends_the_client_to_the_leader(data_path):
    data_path.create("t")
    data_path.follow("t")
    assert set(errors_of(data_path, "t").values()) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, 5])
@pytest.mark.parametrize("version", [0, 1, 5])
@pytest.mark.parametrize("replica_id", [CONSUMER, FOLLOWER])
def test_offsets_are_the_leaders_business(data_path, replica_id, version, timestamp):
    data_path.create("t")
    data_path.follow("t")
    answer = list_offsets(data_path, timestamp, version, replica_id)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def list_offsets(path, timestamp, version, replica_id):
    return path.list_offsets("t", timestamp, version, replica_id=replica_id)


@pytest.mark.parametrize(
    ("version", "timestamp", "offset", "leader_epoch"),
    [(1, LATEST, 1, -1), (5, LATEST, 1, 2), (1, EARLIEST, 0, -1), (5, EARLIEST, 0, 1), (5, 5, 0, 1)],
)
def test_a_debugger_asks_this_very_replica(data_path, version, timestamp, offset, leader_epoch):
    data_path.create("t")
    data_path.produce("t", batch())
    data_path.follow("t")
    answer = list_offsets(data_path, timestamp, version, DEBUGGER)
    assert (answer.error_code, answer.offset, answer.leader_epoch) == (0, offset, leader_epoch)


def test_a_debugger_asks_this_very_replica_in_the_oldest_version(data_path):
    data_path.create("t")
    data_path.produce("t", batch())
    data_path.follow("t")
    answer = data_path.list_offsets("t", LATEST, 0, replica_id=DEBUGGER, count=3)
    assert (answer.error_code, answer.old_style_offsets) == (0, [1, 0])
