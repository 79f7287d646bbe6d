"""Error codes in answers are counted as Kafka counts them."""

from collections import defaultdict

import pytest

from barnabas.broker.requests.encoded_metadata import MetadataAnswer, encoded_topic
from barnabas.broker.requests.error_counts import error_counter
from barnabas.broker.requests.handlers import HANDLERS
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

PRODUCED = ProduceResponse(
    [
        TopicProduceResponse("a", [PartitionProduceResponse(0, 0), PartitionProduceResponse(1, 3)]),
        TopicProduceResponse("b", [PartitionProduceResponse(0, 0)]),
    ]
)
FETCHED = FetchResponse(responses=[FetchableTopicResponse("a", [PartitionData(0, 1), PartitionData(1, 0)])])
OFFSETS = OffsetFetchResponse(
    0, [OffsetFetchResponseTopic("a", [OffsetFetchResponsePartition(0, 5, error_code=88)])], error_code=0
)
TOPICS = [
    MetadataResponseTopic(5, "a", partitions=[MetadataResponsePartition(5, 0)]),
    MetadataResponseTopic(0, "b", partitions=[MetadataResponsePartition(0, 0)]),
]
DELETED = DeleteAclsResponse(0, [DeleteAclsFilterResult(0, matching_acls=[DeleteAclsMatchingAcl(31)])])


def encoded() -> MetadataAnswer:
    answer = MetadataAnswer()
    answer.parts = [encoded_topic(5, topic) for topic in TOPICS]
    return answer


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        (HeartbeatResponse, HeartbeatResponse(0, 27), {27: 1}),
        (ProduceResponse, PRODUCED, {0: 2, 3: 1}),
        (FetchResponse, FETCHED, {0: 1, 1: 1}),
        (OffsetFetchResponse, OFFSETS, {0: 1, 88: 1}),
        (MetadataResponse, MetadataResponse(topics=TOPICS), {5: 1, 0: 1}),
        (MetadataAnswer, encoded(), {5: 1, 0: 1}),
        (MetadataAnswer, MetadataResponse(topics=TOPICS), {5: 1, 0: 1}),
        (DeleteAclsResponse, DELETED, {0: 1}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_each_error_code_of_an_answer_counts_once(kind, answer, expected):
    counts: defaultdict[int, int] = defaultdict(int)
    error_counter(kind)(answer, counts)
    assert counts == expected


def test_all_answers_of_this_broker_have_something_to_count():
    without = {
        response_class(handler.api_key).__name__
        for handler in HANDLERS
        if error_counter(response_class(handler.api_key)) is None
    }
    assert without == set()
