"""Builds a follower's requests to a leader and decodes the responses by partition. Pure.

Source: protocol guide, Fetch, OffsetForLeaderEpoch, ListOffsets; facts of replication, Follower.
"""

from collections.abc import Iterable
from typing import Final, TypeVar

from barnabas.broker.replicas.fetching.fetch_session import FetchRequestData
from barnabas.broker.replicas.fetching.fetch_state import Progress
from barnabas.core.types import NO_EPOCH, NO_OFFSET, TopicPartition
from barnabas.wire.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2

P = TypeVar("P")


def fetch_request(
    replica_id: int,
    request_data: FetchRequestData,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
    partition_max_bytes: int,
) -> FetchRequest:
    """Build a Fetch from `request_data`, without last fetched epochs, like Kafka's followers before 2.8."""
    named = [
        (
            key,
            FetchPartition(
                key.partition,
                asked.progress.leader_epoch,
                asked.offset,
                NO_EPOCH,
                asked.log_start_offset,
                partition_max_bytes,
            ),
        )
        for key, asked in request_data.named
    ]
    forgotten = [(key, key.partition) for key in request_data.forgotten]
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=request_data.session_id,
        session_epoch=request_data.session_epoch,
        topics=[FetchTopic(topic, parts) for topic, parts in _by_topic(named)],
        forgotten_topics_data=[ForgottenTopic(topic, parts) for topic, parts in _by_topic(forgotten)],
    )


def fetch_answers(response: FetchResponse) -> dict[TopicPartition, PartitionData]:
    """Return the contents of a Fetch response, by partition."""
    return {
        TopicPartition(topic.topic, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
    }


def epochs_request(replica_id: int, asking: Iterable[tuple[Progress, int]]) -> OffsetForLeaderEpochRequest:
    """Build a request for the end offset of each partition's newest epoch in the follower's log."""
    parts = [
        (each.key, OffsetForLeaderPartition(each.key.partition, each.leader_epoch, latest_epoch))
        for each, latest_epoch in asking
    ]
    return OffsetForLeaderEpochRequest(
        replica_id, [OffsetForLeaderTopic(topic, of_topic) for topic, of_topic in _by_topic(parts)]
    )


def epochs_answers(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, EpochEndOffset]:
    """Return the end offsets of epochs, by partition."""
    return {TopicPartition(topic.topic, each.partition): each for topic in response.topics for each in topic.partitions}


def offsets_request(replica_id: int, seeking: Iterable[Progress], timestamp: int) -> ListOffsetsRequest:
    """Build a request for the end (`LATEST`) or start (`EARLIEST`) offsets of partitions."""
    parts = [
        (each.key, ListOffsetsPartition(each.key.partition, each.leader_epoch, timestamp, max_num_offsets=1))
        for each in seeking
    ]
    return ListOffsetsRequest(
        replica_id, topics=[ListOffsetsTopic(topic, of_topic) for topic, of_topic in _by_topic(parts)]
    )


def offsets_answers(response: ListOffsetsResponse) -> dict[TopicPartition, ListOffsetsPartitionResponse]:
    """Return the end or start offsets of partitions."""
    return {
        TopicPartition(topic.name, each.partition_index): each for topic in response.topics for each in topic.partitions
    }


def offset_of(answer: ListOffsetsPartitionResponse, version: int) -> int:
    """Return the offset in a ListOffsets response; -1: it has no offset."""
    if version > 0:
        return answer.offset
    return answer.old_style_offsets[0] if answer.old_style_offsets else NO_OFFSET


def _by_topic(parts: Iterable[tuple[TopicPartition, P]]) -> list[tuple[str, list[P]]]:
    """Group consecutive items of the same topic."""
    topics: list[tuple[str, list[P]]] = []
    for key, part in parts:
        if topics and topics[-1][0] == key.topic:
            topics[-1][1].append(part)
        else:
            topics.append((key.topic, [part]))
    return topics
