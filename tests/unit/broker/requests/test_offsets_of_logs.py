"""ListOffsets, OffsetForLeaderEpoch and ApiVersions over real logs."""

import pytest

from barnabas.broker.requests.handlers import HANDLERS, api_versions, list_offsets, offset_for_leader_epoch
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.records.builder import BatchBuilder

LATEST, EARLIEST = -1, -2
START_MS = 1_600_000_000_000


def batch(*timestamps_ms):
    builder = BatchBuilder()
    for timestamp_ms in timestamps_ms:
        builder.append(timestamp_ms, b"key", b"value")
    return builder.build()


@pytest.fixture
def path(data_path):
    data_path.create("t")
    data_path.produce("t", batch(START_MS, START_MS + 10))
    data_path.produce("t", batch(START_MS + 5, START_MS + 20))
    return data_path


def found(response):
    return response.error_code, response.timestamp, response.offset, response.leader_epoch


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (LATEST, (0, -1, 4, 1)),
        (EARLIEST, (0, -1, 0, 1)),
        (0, (0, START_MS, 0, 1)),
        (START_MS + 1, (0, START_MS + 10, 1, 1)),
        (START_MS + 11, (0, START_MS + 20, 3, 1)),
        (START_MS + 21, (0, -1, -1, -1)),
    ],
)
def test_offsets_by_time(path, timestamp, expected):
    assert found(path.list_offsets("t", timestamp)) == expected


@pytest.mark.parametrize("version", range(1, 6))
def test_every_version_answers(path, version):
    response = path.list_offsets("t", LATEST, version)
    assert (response.error_code, response.offset) == (0, 4)
    assert response.leader_epoch == (1 if version >= 4 else -1)


def test_consumers_see_nothing_above_the_high_watermark(path):
    path.partition("t").high_watermark = 3
    assert path.list_offsets("t", LATEST).offset == 3
    assert found(path.list_offsets("t", START_MS + 11)) == (0, -1, -1, -1)


def test_the_debugging_consumer_sees_the_log_end(path):
    path.partition("t").high_watermark = 3
    assert path.list_offsets("t", LATEST, replica_id=-2).offset == 4


def test_the_earliest_is_the_log_start(path):
    path.log("t").log_start_offset = 2
    assert path.list_offsets("t", EARLIEST).offset == 2


def test_refusals_of_list_offsets(path):
    assert found(path.list_offsets("unknown", LATEST)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)
    path.partition("t").resign(leader=2, leader_epoch=5)
    assert path.list_offsets("t", LATEST).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("version", [0, 1, 5])
def test_a_partition_that_is_named_twice_is_refused(path, version):
    wanted = [ListOffsetsPartition(index, timestamp=LATEST) for index in (0, 0, 1)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", wanted)])
    answered = path.call(list_offsets.HANDLER, version, request).topics[0].partitions
    assert [each.error_code for each in answered] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_of_an_epoch_that_is_asked_for_twice_the_later_counts(path):
    """As in Kafka 2.7.2, whose `epochsByTopicPartition` is a map."""
    topics = [
        OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, 7, 0), OffsetForLeaderPartition(9, -1, 0)]),
        OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, -1, 0)]),
    ]
    (topic,) = path.call(offset_for_leader_epoch.HANDLER, 3, OffsetForLeaderEpochRequest(-1, topics)).topics
    assert [(each.partition, each.error_code) for each in topic.partitions] == [
        (0, 0),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


EPOCHS = [
    (-1, ErrorCode.NONE),
    (-7, ErrorCode.FENCED_LEADER_EPOCH),
    (0, ErrorCode.FENCED_LEADER_EPOCH),
    (1, ErrorCode.NONE),
    (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
]


@pytest.mark.parametrize(("epoch", "error_code"), EPOCHS)
def test_list_offsets_checks_the_leader_epoch(path, epoch, error_code):
    wanted = ListOffsetsPartition(0, current_leader_epoch=epoch, timestamp=LATEST)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [wanted])])
    answered = path.call(list_offsets.HANDLER, 5, request).topics[0].partitions[0]
    assert answered.error_code == error_code


def end_of(path, epoch, version=3, *, topic="t", current=-1):
    wanted = OffsetForLeaderPartition(0, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [wanted])])
    answered = path.call(offset_for_leader_epoch.HANDLER, version, request).topics[0].partitions[0]
    return answered.error_code, answered.leader_epoch, answered.end_offset


@pytest.fixture
def path_of_two_epochs(path):
    """Epoch 1 wrote offsets 0 to 3, epoch 4 offset 4; 2 and 3 wrote nothing here."""
    for _ in range(3):
        path.create("t")
    path.produce("t", batch(START_MS + 30))
    return path


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(4, (0, 4, 5)), (3, (0, 1, 4)), (1, (0, 1, 4)), (0, (0, 0, 0)), (5, (0, -1, -1)), (-1, (0, -1, -1))],
)
def test_where_an_epoch_ended(path_of_two_epochs, epoch, expected):
    assert end_of(path_of_two_epochs, epoch) == expected


def test_refusals_of_offset_for_leader_epoch(path):
    assert end_of(path, 1, topic="unknown") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    path.partition("t").resign(leader=2, leader_epoch=5)
    assert end_of(path, 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)


@pytest.mark.parametrize(("epoch", "error_code"), EPOCHS)
def test_offset_for_leader_epoch_checks_the_leader_epoch(path, epoch, error_code):
    assert end_of(path, 1, current=epoch)[0] == error_code


@pytest.mark.parametrize("version", range(4))
def test_every_version_of_offset_for_leader_epoch_answers(path, version):
    error_code, epoch, end_offset = end_of(path, 1, version)
    assert (error_code, end_offset) == (0, 4)
    assert epoch == (1 if version >= 1 else -1)


# --- ApiVersions


@pytest.mark.parametrize("version", range(4))
def test_what_is_offered_is_told(data_path, version):
    data_path.services.offered = [(each.api_key, each.min_version, each.max_version) for each in HANDLERS]
    request = ApiVersionsRequest("a-client.9", "1.0-beta")
    answered = data_path.call(api_versions.HANDLER, version, request)
    assert answered.error_code == 0
    offered = {each.api_key: (each.min_version, each.max_version) for each in answered.api_keys}
    assert offered == {each.api_key: (each.min_version, each.max_version) for each in HANDLERS}


@pytest.mark.parametrize(
    ("name", "software_version", "is_right"),
    [
        ("librdkafka", "2.3.0", True),
        ("a", "1", True),
        ("", "1", False),
        ("a", "", False),
        ("-a", "1", False),
        ("a-", "1", False),
        ("a b", "1", False),
        ("ä", "1", False),
        ("a\n", "1", False),
    ],
)
def test_the_software_name_is_checked_in_version_3(data_path, name, software_version, is_right):
    request = ApiVersionsRequest(name, software_version)
    expected = ErrorCode.NONE if is_right else ErrorCode.INVALID_REQUEST
    assert data_path.call(api_versions.HANDLER, 3, request).error_code == expected
    assert data_path.call(api_versions.HANDLER, 2, request).error_code == ErrorCode.NONE
