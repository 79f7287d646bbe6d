"""Topics, settings, offsets and groups, asked for and changed.

Each call retries what time heals (`error_code.RETRIABLE`) until `timeout_ms` has passed, then raises the last error.

Source: protocol guide; KIP-4.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from barnabas.clients.channel import Channel, UnreachableError
from barnabas.clients.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from barnabas.clients.pool import RETRY_BACKOFF_MS, Pool, TopicMetadata
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

T = TypeVar("T")

LATEST = -1
EARLIEST = -2

_TOPIC_RESOURCE = 2
_DEFAULT_TIMEOUT_MS = 30_000


@dataclass(slots=True)
class NewTopic:
    """A topic to create; -1 leaves a count to the broker, `assignments` (partition to replicas) replaces both."""

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] | None = None


@dataclass(slots=True)
class GroupMemberDescription:
    """One member of a group and what it was assigned."""

    member_id: str
    client_id: str
    host: str
    assignment: list[TopicPartition]


@dataclass(slots=True)
class GroupDescription:
    """A group as its coordinator tells it; `state` is Dead when there is no such group."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: str
    members: list[GroupMemberDescription]


class Admin:
    """Administration of one cluster."""

    def __init__(self, pool: Pool, timeout_ms: int = _DEFAULT_TIMEOUT_MS) -> None:
        self._pool = pool
        self._timeout_ms = timeout_ms

    async def create_topic(self, topic: NewTopic, *, validate_only: bool = False) -> None:
        """Create a topic and wait until it has leaders. Raises KafkaError (TOPIC_ALREADY_EXISTS, ...)."""
        request = CreateTopicsRequest([_creatable(topic)], self._timeout_ms, validate_only)

        async def attempt() -> None:
            channel = await self._pool.controller()
            response = await channel.send(request, CreateTopicsResponse, timeout_ms=self._timeout_ms + 5_000)
            for result in response.topics:
                _raise_for(result.error_code, result.error_message or f"topic {topic.name} was not created")

        await self._retry(attempt)
        self._pool.forget(topic.name)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises KafkaError (UNKNOWN_TOPIC_OR_PARTITION, TOPIC_DELETION_DISABLED, ...)."""

        async def attempt() -> None:
            channel = await self._pool.controller()
            request = DeleteTopicsRequest([name], timeout_ms=self._timeout_ms)
            response = await channel.send(
                request, DeleteTopicsResponse, max_version=5, timeout_ms=self._timeout_ms + 5_000
            )
            for result in response.responses:
                _raise_for(result.error_code, result.error_message or f"topic {name} was not deleted")

        await self._retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        self._pool.forget(name)

    async def topics(self, names: Sequence[str] | None = None) -> dict[str, TopicMetadata]:
        """What the cluster says of topics (None: all), by name in order; those that do not exist have an error code."""
        metadata = await self._retry(lambda: self._pool.metadata(names))
        return dict(sorted(metadata.topics.items()))

    async def topic_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The settings that topics have themselves, by topic: not those that they inherit."""
        if not names:
            return {}
        request = DescribeConfigsRequest([DescribeConfigsResource(_TOPIC_RESOURCE, name, None) for name in names])

        async def attempt() -> dict[str, dict[str, str]]:
            channel = await self._pool.any_broker()
            response = await channel.send(request, DescribeConfigsResponse)
            configs: dict[str, dict[str, str]] = {}
            for result in response.results:
                _raise_for(result.error_code, result.error_message or f"no settings of topic {result.resource_name}")
                # config_source 1: set on the topic (version 0 of the answer cannot say so, and tells none).
                configs[result.resource_name] = {
                    config.name: config.value or "" for config in result.configs if config.config_source == 1
                }
            return configs

        return await self._retry(attempt)

    async def offsets(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        """Where partitions begin (EARLIEST), end (LATEST), or first reach a timestamp (-1: they never do).

        Raises:
            KafkaError: A partition does not exist, or has no leader for longer than the timeout.
        """
        found: dict[TopicPartition, int] = {}
        wanted = set(partitions)

        async def attempt() -> None:
            by_channel = await self._by_leader(sorted(wanted - found.keys()))
            for channel, group in by_channel.items():
                request = ListOffsetsRequest(
                    -1,
                    0,
                    [
                        ListOffsetsTopic(t, [ListOffsetsPartition(p, -1, timestamp_ms) for p in ps])
                        for t, ps in _grouped(group)
                    ],
                )
                response = await channel.send(request, ListOffsetsResponse)
                for topic in response.topics:
                    for part in topic.partitions:
                        partition = TopicPartition(topic.name, part.partition_index)
                        if part.error_code:
                            self._pool.forget(topic.name)
                        _raise_for(part.error_code, f"offsets of partition {partition}")
                        found[partition] = part.offset if not part.old_style_offsets else part.old_style_offsets[0]

        await self._retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        return found

    async def groups(self) -> dict[str, tuple[str, str]]:
        """All groups of the cluster in order: (state, protocol type) by name; the state is "" from old brokers."""

        async def attempt() -> dict[str, tuple[str, str]]:
            metadata = await self._pool.metadata([])
            groups: dict[str, tuple[str, str]] = {}
            for node_id in metadata.brokers:
                channel = await self._pool.broker(node_id)
                response = await channel.send(ListGroupsRequest(), ListGroupsResponse)
                _raise_for(response.error_code, f"broker {node_id} cannot list its groups now")
                groups |= {group.group_id: (group.group_state, group.protocol_type) for group in response.groups}
            return dict(sorted(groups.items()))

        return await self._retry(attempt)

    async def describe_group(self, group_id: str) -> GroupDescription:
        """A group, its state and its members. Raises KafkaError."""

        async def attempt() -> GroupDescription:
            channel = await self._pool.coordinator(group_id)
            response = await channel.send(DescribeGroupsRequest([group_id]), DescribeGroupsResponse)
            group = response.groups[0]
            self._check_coordinator(group_id, group.error_code)
            return GroupDescription(
                group_id,
                group.group_state,
                group.protocol_type,
                group.protocol_data,
                f"{channel.host}:{channel.port}",
                [_described_member(member, group.protocol_type) for member in group.members],
            )

        return await self._retry(attempt)

    async def committed_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """A group's committed offsets; of all partitions that have one when `partitions` is None. Raises KafkaError."""
        topics = None if partitions is None else [OffsetFetchRequestTopic(t, ps) for t, ps in _grouped(partitions)]
        request = OffsetFetchRequest(group_id, topics)

        async def attempt() -> dict[TopicPartition, int]:
            channel = await self._pool.coordinator(group_id)
            response = await channel.send(request, OffsetFetchResponse)
            self._check_coordinator(group_id, response.error_code)
            committed: dict[TopicPartition, int] = {}
            for topic in response.topics:
                for part in topic.partitions:
                    self._check_coordinator(group_id, part.error_code)
                    if part.committed_offset >= 0:
                        committed[TopicPartition(topic.name, part.partition_index)] = part.committed_offset
            return committed

        return await self._retry(attempt)

    async def commit_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the offsets of a group that has no members. Raises KafkaError (UNKNOWN_MEMBER_ID when it has some)."""
        topics = [
            OffsetCommitRequestTopic(
                topic,
                partitions=[
                    OffsetCommitRequestPartition(index, offsets[TopicPartition(topic, index)]) for index in indexes
                ],
            )
            for topic, indexes in _grouped(offsets)
        ]
        request = OffsetCommitRequest(group_id, topics=topics)

        async def attempt() -> None:
            channel = await self._pool.coordinator(group_id)
            response = await channel.send(request, OffsetCommitResponse)
            for topic in response.topics:
                for part in topic.partitions:
                    self._check_coordinator(group_id, part.error_code)

        await self._retry(attempt)

    def _check_coordinator(self, group_id: str, error_code: int) -> None:
        if error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._pool.forget_coordinator(group_id)
        _raise_for(error_code, f"group {group_id}: {ErrorCode(error_code).name}")

    async def _by_leader(self, partitions: Iterable[TopicPartition]) -> dict[Channel, list[TopicPartition]]:
        by_channel: dict[Channel, list[TopicPartition]] = {}
        for partition in partitions:
            by_channel.setdefault(await self._pool.leader(partition), []).append(partition)
        return by_channel

    async def _retry(self, attempt: Callable[[], Awaitable[T]], not_healed: Sequence[ErrorCode] = ()) -> T:
        return await retry(attempt, self._timeout_ms, not_healed)


async def retry(attempt: Callable[[], Awaitable[T]], timeout_ms: int, not_healed: Sequence[ErrorCode] = ()) -> T:
    """Call `attempt` until it succeeds, or raise its error: one that is not in RETRIABLE, or the last one in time.

    UnreachableError (nobody listens at any bootstrap address) is raised at once.

    Args:
        timeout_ms: No attempt is begun later than this.
        not_healed: Codes that are raised at once although they are in RETRIABLE.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    while True:
        try:
            return await attempt()
        except KafkaError as error:
            heals = error.code in RETRIABLE and error.code not in not_healed and not isinstance(error, UnreachableError)
            if not heals or loop.time() + RETRY_BACKOFF_MS / 1000 >= deadline:
                raise
        await asyncio.sleep(RETRY_BACKOFF_MS / 1000)


def _raise_for(error_code: int, message: str) -> None:
    if error_code:
        raise KafkaError(ErrorCode(error_code), message)


def _creatable(topic: NewTopic) -> CreatableTopic:
    configs = [CreatableTopicConfig(name, value) for name, value in topic.configs.items()]
    if topic.assignments:
        assignments = [CreatableReplicaAssignment(index, list(ids)) for index, ids in topic.assignments.items()]
        return CreatableTopic(topic.name, -1, -1, assignments, configs)
    return CreatableTopic(topic.name, topic.partition_count, topic.replication_factor, [], configs)


def _described_member(member: DescribedGroupMember, protocol_type: str) -> GroupMemberDescription:
    assignment = decode_assignment(member.member_assignment) if protocol_type == PROTOCOL_TYPE else []
    return GroupMemberDescription(member.member_id, member.client_id, member.client_host, sorted(assignment))


def _grouped(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    grouped: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return list(grouped.items())
