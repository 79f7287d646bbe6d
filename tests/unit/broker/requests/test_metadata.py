"""What Metadata says is encoded once, and again when it is not so any more; see tests/property/test_metadata.py too."""

import asyncio

import pytest

from barnabas.broker.requests.encoded_metadata import MOST_KINDS, MetadataAnswer
from barnabas.broker.requests.handlers.metadata import HANDLER
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.unit.broker.requests.conftest import BROKER_ID

VERSION = 9
ALL = MetadataRequest(None, False)


def tell(path, counts: dict[str, int], *, leader: int = BROKER_ID, brokers=(BROKER_ID,)) -> None:
    """What the controller says: topics with so many partitions each, and who is alive."""
    states = [
        UpdateMetadataTopicState(
            topic,
            [
                UpdateMetadataPartitionState2(partition_index=each, leader=leader, isr=[1], replicas=[1])
                for each in range(count)
            ],
        )
        for topic, count in counts.items()
    ]
    live = [UpdateMetadataBroker(each, endpoints=[UpdateMetadataEndpoint(9, "h", "PLAINTEXT")]) for each in brokers]
    request = UpdateMetadataRequest(controller_epoch=1, topic_states=states, live_brokers=live)
    path.services.cluster.update_metadata(request)


@pytest.mark.parametrize(("topic_count", "partition_count"), [(100, 100), (1, 10_000), (4_000, 1)])
def test_what_was_said_of_very_many_partitions_is_said_again_at_once(data_path, topic_count, partition_count):
    tell(data_path, {f"t{each}": partition_count for each in range(topic_count)})
    first = data_path.begin(HANDLER, VERSION, ALL)
    assert isinstance(first, Pending)
    said = data_path.finish(HANDLER, VERSION, first)
    assert sum(len(topic.partitions) for topic in said.topics) == topic_count * partition_count
    again = data_path.begin(HANDLER, VERSION, ALL)
    assert isinstance(again, MetadataAnswer)
    assert data_path.finish(HANDLER, VERSION, again) == said


def test_a_change_of_one_topic_leaves_what_is_kept_of_the_others(data_path):
    tell(data_path, {"a": 1, "b": 2})
    before = data_path.begin(HANDLER, VERSION, ALL).parts
    tell(data_path, {"b": 3})
    after = data_path.begin(HANDLER, VERSION, ALL).parts
    assert after[0] is before[0]
    assert after[1] != before[1]


def test_a_broker_that_leaves_is_missed_at_once(data_path):
    tell(data_path, {"a": 1}, leader=2, brokers=[BROKER_ID, 2])
    assert data_path.call(HANDLER, VERSION, ALL).topics[0].partitions[0].leader_id == 2
    tell(data_path, {})
    assert data_path.call(HANDLER, VERSION, ALL).topics[0].partitions[0].leader_id == -1


def test_nothing_is_kept_of_topics_that_are_deleted(data_path):
    tell(data_path, {"a": 1, "b": 2})
    data_path.call(HANDLER, VERSION, ALL)
    tell(data_path, {"a": 1}, leader=-2)
    one = MetadataRequest([MetadataRequestTopic("b")], False)
    assert [topic.name for topic in data_path.call(HANDLER, VERSION, one).topics] == ["b"]
    image = data_path.services.cluster.image
    assert len(data_path.services.topic_parts.of(image, VERSION, "PLAINTEXT", False)) == 1


def test_only_some_versions_are_kept(data_path):
    tell(data_path, {"a": 1})
    for version in range(10):
        data_path.call(HANDLER, version, MetadataRequest([MetadataRequestTopic("a")], version < 4))
    assert len(data_path.services.topic_parts) == MOST_KINDS


def test_who_asks_before_the_cluster_is_known_is_told_of_all_of_it(data_path):
    async def story():
        known = data_path.services.cluster_known = asyncio.Event()
        answer = data_path.begin(HANDLER, VERSION, ALL)
        await asyncio.sleep(0)
        assert not answer.is_done
        tell(data_path, {"a": 1})
        known.set()
        # Who waits is woken, goes on, and its end is noticed.
        for _ in range(4):
            await asyncio.sleep(0)
        said = data_path.finish(HANDLER, VERSION, answer)
        assert ([each.node_id for each in said.brokers], [topic.name for topic in said.topics]) == ([BROKER_ID], ["a"])

    asyncio.run(story())
