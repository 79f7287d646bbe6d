"""Administration of topics: list, create, grow and delete them.

Source: protocol guide, CreateTopics, CreatePartitions, DeleteTopics, Metadata; KIP-4, KIP-195.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.clients.pool import TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


@dataclass(slots=True)
class NewTopic:
    """A topic to create.

    A count of -1 uses the broker's default; `assignments` (partition to replicas) replaces both.
    """

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] | None = None


@dataclass(slots=True)
class NewPartitions:
    """A topic's new number of partitions, and the replicas of each new one (None: any)."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class TopicAdmin(AdminCalls):
    """Administration of topics."""

    async def create_topic(self, topic: NewTopic, *, validate_only: bool = False) -> None:
        """Create a topic and wait until it has leaders. Raises KafkaError (TOPIC_ALREADY_EXISTS, ...)."""
        request = CreateTopicsRequest([_creatable(topic)], self.timeout_ms, validate_only)

        async def attempt() -> None:
            channel = await self.pool.controller()
            response = await channel.send(request, CreateTopicsResponse, timeout_ms=self.timeout_ms + 5_000)
            for result in response.topics:
                _check(topic.name, "created", result.error_code, result.error_message)

        await self.retry(attempt)
        self.pool.forget(topic.name)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises KafkaError (UNKNOWN_TOPIC_OR_PARTITION, TOPIC_DELETION_DISABLED, ...)."""

        async def attempt() -> None:
            channel = await self.pool.controller()
            request = DeleteTopicsRequest([name], timeout_ms=self.timeout_ms)
            response = await channel.send(
                request, DeleteTopicsResponse, max_version=5, timeout_ms=self.timeout_ms + 5_000
            )
            for result in response.responses:
                _check(name, "deleted", result.error_code, result.error_message)

        await self.retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        self.pool.forget(name)

    async def create_partitions(self, topics: Mapping[str, NewPartitions], *, validate_only: bool = False) -> None:
        """Add partitions to topics.

        Raises:
            KafkaError: The error of the first rejected topic (INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, ...).
        """
        from barnabas.wire.protocol.messages.create_partitions import (
            CreatePartitionsAssignment,
            CreatePartitionsRequest,
            CreatePartitionsResponse,
            CreatePartitionsTopic,
        )

        asked = []
        for name, wanted in topics.items():
            replicas = wanted.new_assignments
            assignments = None if replicas is None else [CreatePartitionsAssignment(list(ids)) for ids in replicas]
            asked.append(CreatePartitionsTopic(name, wanted.total_count, assignments))
        request = CreatePartitionsRequest(asked, self.timeout_ms, validate_only)

        async def attempt() -> None:
            channel = await self.pool.controller()
            response = await channel.send(request, CreatePartitionsResponse, timeout_ms=self.timeout_ms + 5_000)
            for result in response.results:
                _check(result.name, "changed", result.error_code, result.error_message)

        await self.retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        for name in topics:
            self.pool.forget(name)

    async def topics(self, names: Sequence[str] | None = None) -> dict[str, TopicMetadata]:
        """Describe topics (None: all) in order of name; missing topics have an error code."""
        metadata = await self.retry(lambda: self.pool.metadata(names))
        return dict(sorted(metadata.topics.items()))


def _check(name: str, done: str, error_code: int, message: str | None) -> None:
    """Raise the error of one topic, if any. After REQUEST_TIMED_OUT the cluster continues its work."""
    is_late = error_code == ErrorCode.REQUEST_TIMED_OUT
    raise_for(error_code, message or (f"topic {name} is not yet {done}" if is_late else f"topic {name} was not {done}"))


def _creatable(topic: NewTopic) -> CreatableTopic:
    configs = [CreatableTopicConfig(name, value) for name, value in topic.configs.items()]
    if topic.assignments:
        assignments = [CreatableReplicaAssignment(index, list(ids)) for index, ids in topic.assignments.items()]
        return CreatableTopic(topic.name, -1, -1, assignments, configs)
    return CreatableTopic(topic.name, topic.partition_count, topic.replication_factor, [], configs)
