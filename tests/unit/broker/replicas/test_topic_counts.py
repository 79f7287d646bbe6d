"""What is done to topics is counted, and stays in the sums when they go."""

import pytest

from barnabas.broker.replicas.topic_counts import TopicCounts, TopicTable
from barnabas.core.error_code import ErrorCode


@pytest.mark.parametrize(
    ("error_code", "failed_count", "rejected_bytes", "invalid_count"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, 0, 0),
        (ErrorCode.KAFKA_STORAGE_ERROR, 0, 0, 0),
        (ErrorCode.RECORD_LIST_TOO_LARGE, 0, 0, 0),
        (ErrorCode.MESSAGE_TOO_LARGE, 0, 70, 0),
        (ErrorCode.CORRUPT_MESSAGE, 0, 0, 1),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 1, 0, 0),
        (ErrorCode.INVALID_TIMESTAMP, 1, 0, 0),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 1, 0, 0),
    ],
)
def test_what_counts_as_a_failure_is_what_kafka_counts_so(error_code, failed_count, rejected_bytes, invalid_count):
    counts = TopicCounts()
    counts.note_refused(error_code, 70)
    assert counts.failed_produce_requests == failed_count
    assert (counts.bytes_rejected, counts.invalid_crc) == (rejected_bytes, invalid_count)


def test_partitions_of_a_topic_share_its_counts_until_the_last_one_goes():
    table = TopicTable()
    first, second = table.begin("t"), table.begin("t")
    assert first is second
    other = table.begin("u")
    first.bytes_in, first.messages_in, other.bytes_in = 100, 5, 7
    table.end("t")
    assert table.by_topic.keys() == {"t", "u"}
    table.end("t")
    assert table.by_topic.keys() == {"u"}
    sums = TopicCounts()
    for part in table.parts():
        sums.add(part)
    assert (sums.bytes_in, sums.messages_in, sums.partition_count) == (107, 5, 1)
    assert table.begin("t").bytes_in == 0
