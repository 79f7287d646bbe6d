"""What a request is about, as the filters of the test kit see it."""

import pytest

from barnabas.testing.received_request import ReceivedRequest, api_name, api_named
from barnabas.wire.protocol.api_keys import ApiKey, request_class
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.fetch import FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.produce import ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import Message


def seen(message: Message, version: int = 4) -> ReceivedRequest:
    return ReceivedRequest("Any", version, "client", message)


def test_an_api_has_the_name_of_its_messages():
    for api in ApiKey:
        assert f"{api_name(api)}Request" == request_class(api).SCHEMA_NAME
        assert api_named(api_name(api)) is api


def test_a_name_that_is_none_is_told_how_they_are_written():
    with pytest.raises(ValueError, match="'produce' is not an API; Kafka's names are Produce"):
        api_named("produce")


@pytest.mark.parametrize(
    ("message", "topics"),
    [
        (ProduceRequest(topic_data=[TopicProduceData("a"), TopicProduceData("b")]), {"a", "b"}),
        (FetchRequest(topics=[FetchTopic("a")]), {"a"}),
        (MetadataRequest([MetadataRequestTopic(name="a")]), {"a"}),
        (MetadataRequest(None), None),
        (MetadataRequest([]), set()),
        (OffsetFetchRequest("g", [OffsetFetchRequestTopic("a")]), {"a"}),
        (OffsetFetchRequest("g", None), None),
        (DeleteTopicsRequest(["a", "b"]), {"a", "b"}),
        (DescribeConfigsRequest([DescribeConfigsResource(2, "a"), DescribeConfigsResource(4, "0")]), {"a"}),
        (HeartbeatRequest("g"), set()),
    ],
)
def test_topics(message, topics):
    assert seen(message).topics == topics


def test_the_oldest_metadata_asks_for_all_topics_by_naming_none():
    assert seen(MetadataRequest([]), version=0).topics is None


@pytest.mark.parametrize(
    ("message", "groups"),
    [
        (HeartbeatRequest("g"), {"g"}),
        (DescribeGroupsRequest(["g", "h"]), {"g", "h"}),
        (FindCoordinatorRequest("g"), {"g"}),
        (FindCoordinatorRequest("a transaction", 1), set()),
        (FetchRequest(), set()),
    ],
)
def test_groups(message, groups):
    assert seen(message).groups == groups
