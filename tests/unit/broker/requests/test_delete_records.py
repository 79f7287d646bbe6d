"""DeleteRecords: partitions that begin later."""

import pytest

from barnabas.broker.requests.handlers import delete_records
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.unit.broker.requests.conftest import batch


@pytest.fixture
def filled(data_path):
    """Ten records in segments of two."""
    data_path.create("t", segment_bytes=2 * len(batch()))
    for _ in range(10):
        data_path.produce("t", batch(timestamp_ms=data_path.clock.now_ms()))
    return data_path


def delete(data_path, offset, topic="t", partition=0, version=1):
    wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])
    (answered,) = data_path.call(delete_records.HANDLER, version, DeleteRecordsRequest([wanted], 1_000)).topics
    (result,) = answered.partitions
    return result.low_watermark, result.error_code


@pytest.mark.parametrize("version", range(3))
def test_the_log_start_moves(filled, version):
    assert delete(filled, 3, version=version) == (3, 0)
    assert filled.fetch("t", 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert filled.fetch("t", 3).log_start_offset == 3
    assert filled.list_offsets("t", -2).offset == 3


def test_minus_one_is_the_high_watermark(filled):
    filled.partition("t").high_watermark = 7
    assert delete(filled, -1) == (7, 0)


def test_it_never_moves_back(filled):
    delete(filled, 5)
    assert delete(filled, 2) == (5, 0)
    assert delete(filled, 0) == (5, 0)


@pytest.mark.parametrize("offset", [11, -2, 2**62])
def test_offsets_that_are_not_there(filled, offset):
    assert delete(filled, offset) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)


def test_nothing_above_the_high_watermark(filled):
    filled.partition("t").high_watermark = 7
    assert delete(filled, 8) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)


def test_refusals(filled):
    assert delete(filled, 1, topic="other") == (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert delete(filled, 1, partition=1) == (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    filled.led_elsewhere("elsewhere", "__consumer_offsets")
    assert delete(filled, 0, topic="elsewhere") == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert delete(filled, 0, topic="__consumer_offsets") == (-1, ErrorCode.INVALID_TOPIC_EXCEPTION)
    filled.create("__consumer_offsets")
    assert delete(filled, 0, topic="__consumer_offsets") == (-1, ErrorCode.INVALID_TOPIC_EXCEPTION)
    filled.create("compacted", cleanup_policy="compact")
    assert delete(filled, 0, topic="compacted") == (-1, ErrorCode.POLICY_VIOLATION)
    filled.create("both", cleanup_policy="compact,delete")
    assert delete(filled, 0, topic="both") == (0, 0)
    filled.partition("t").resign(2, 100)
    assert delete(filled, 1) == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_segments_below_go_with_the_next_retention_check(filled):
    filled.logs.watch_high_watermarks(filled.replicas.high_watermarks)
    delete(filled, 5)
    assert [segment.base_offset for segment in filled.log("t").segments] == [0, 2, 4, 6, 8]
    filled.clock.advance(31_000)
    assert [segment.base_offset for segment in filled.log("t").segments] == [4, 6, 8]
    filled.stop()
    filled.start()
    assert filled.log("t").log_start_offset == 5


def test_of_a_partition_that_is_named_twice_the_later_offset_counts(filled):
    """As in Kafka 2.7.2, whose `handleDeleteRecordsRequest` fills a map."""
    topics = [
        DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 7), DeleteRecordsPartition(0, 5)]),
        DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 3)]),
    ]
    (topic,) = filled.call(delete_records.HANDLER, 1, DeleteRecordsRequest(topics, 1_000)).topics
    assert [(each.partition_index, each.low_watermark) for each in topic.partitions] == [(0, 3)]
    assert filled.list_offsets("t", -2).offset == 3


@pytest.mark.parametrize("version", range(3))
def test_a_topic_without_partitions_is_not_answered(filled, version):
    request = DeleteRecordsRequest([DeleteRecordsTopic("t", []), DeleteRecordsTopic("nope", [])], 1_000)
    assert filled.call(delete_records.HANDLER, version, request).topics == []
