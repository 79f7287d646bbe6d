"""Administration of replicas: log directories, reassignments and leader election.

Source: protocol guide, DescribeLogDirs, AlterReplicaLogDirs, ListPartitionReassignments, AlterPartitionReassignments,
ElectLeaders; KIP-113, KIP-455, KIP-460.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from barnabas.clients.admin_calls import AdminCalls, grouped, raise_for
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition

# Time that a response may take in addition to the broker's own timeout for the request.
_GRACE_MS = 5_000


class ElectionType(IntEnum):
    """The kind of leader election; the protocol's codes."""

    PREFERRED = 0
    UNCLEAN = 1


class Reassignment(NamedTuple):
    """A partition under reassignment: all its replicas, those being added and those being removed."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


class ReplicaLog(NamedTuple):
    """One replica's log in a log directory.

    Attributes:
        size_bytes: Total size of its segments.
        offset_lag: Offsets from its end to the high watermark; with `is_future`, to the current log's end.
        is_future: The replica is being moved here from another directory of the broker.
    """

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    """One log directory of a broker; `error_code` is set if its content is not known."""

    path: str
    error_code: ErrorCode
    logs: list[ReplicaLog]


class PartitionError(NamedTuple):
    """The error that was returned for one partition."""

    code: ErrorCode
    message: str


class ReplicaAdmin(AdminCalls):
    """Administration of replicas."""

    async def log_dirs(self, broker_ids: Iterable[int]) -> dict[int, list[LogDir]]:
        """Return the log directories of brokers, and the logs in them.

        Raises:
            KafkaError: BROKER_NOT_AVAILABLE (the broker is not registered), CLUSTER_AUTHORIZATION_FAILED, ...
        """
        from barnabas.wire.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

        async def ask(broker_id: int) -> list[LogDir]:
            channel = await self.pool.broker(broker_id)
            request = DescribeLogDirsRequest(None)
            response = await channel.send(request, DescribeLogDirsResponse)
            if not response.results:
                # A broker has at least one directory, and its response has no error code.
                message = "log directories: you need the right DESCRIBE on the cluster"
                raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, message)
            found = []
            for result in response.results:
                logs = [
                    ReplicaLog(
                        TopicPartition(topic.name, part.partition_index),
                        part.partition_size,
                        part.offset_lag,
                        part.is_future_key,
                    )
                    for topic in result.topics
                    for part in topic.partitions
                ]
                found.append(LogDir(result.log_dir, ErrorCode(result.error_code), sorted(logs)))
            return sorted(found)

        not_healed = (ErrorCode.BROKER_NOT_AVAILABLE,)
        return {node_id: await self.retry(partial(ask, node_id), not_healed) for node_id in broker_ids}

    async def alter_log_dirs(
        self, broker_id: int, directories: Mapping[TopicPartition, str]
    ) -> dict[TopicPartition, ErrorCode]:
        """Start moving a broker's replicas between its log directories; the moves continue in the background.

        Args:
            broker_id: The broker.
            directories: The directory of each replica; a replica that the broker does not have yet is created there.

        Returns:
            NONE or an error for each partition.

        Raises:
            KafkaError: The broker cannot be reached.
        """
        from barnabas.wire.protocol.messages.alter_replica_log_dirs import (
            AlterReplicaLogDir,
            AlterReplicaLogDirsRequest,
            AlterReplicaLogDirsResponse,
            AlterReplicaLogDirTopic,
        )

        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in directories.items():
            by_path.setdefault(path, []).append(partition)
        request = AlterReplicaLogDirsRequest(
            [
                AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, indexes) for topic, indexes in grouped(parts)])
                for path, parts in by_path.items()
            ]
        )

        async def attempt() -> dict[TopicPartition, ErrorCode]:
            channel = await self.pool.broker(broker_id)
            response = await channel.send(request, AlterReplicaLogDirsResponse)
            return {
                TopicPartition(topic.topic_name, part.partition_index): ErrorCode(part.error_code)
                for topic in response.results
                for part in topic.partitions
            }

        return await self.retry(attempt, not_healed=(ErrorCode.BROKER_NOT_AVAILABLE,))

    async def reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Return the partitions under reassignment, among the named ones or all.

        Raises:
            KafkaError: UNSUPPORTED_VERSION: a broker before 2.4.
        """
        from barnabas.wire.protocol.messages.list_partition_reassignments import (
            ListPartitionReassignmentsRequest,
            ListPartitionReassignmentsResponse,
            ListPartitionReassignmentsTopics,
        )

        asked = None
        if partitions is not None:
            asked = [ListPartitionReassignmentsTopics(topic, indexes) for topic, indexes in grouped(partitions)]
        request = ListPartitionReassignmentsRequest(self.timeout_ms, asked)

        async def attempt() -> dict[TopicPartition, Reassignment]:
            channel = await self.pool.controller()
            timeout_ms = self.timeout_ms + _GRACE_MS
            response = await channel.send(request, ListPartitionReassignmentsResponse, timeout_ms=timeout_ms)
            raise_for(response.error_code, response.error_message or "cannot list reassignments")
            return {
                TopicPartition(topic.name, part.partition_index): Reassignment(
                    part.replicas, part.adding_replicas, part.removing_replicas
                )
                for topic in response.topics
                for part in topic.partitions
            }

        return await self.retry(attempt)

    async def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, PartitionError]:
        """Reassign partitions to other replicas; None cancels a reassignment.

        Returns:
            NONE or an error for each partition.

        Raises:
            KafkaError: The controller cannot be reached.
        """
        from barnabas.wire.protocol.messages.alter_partition_reassignments import (
            AlterPartitionReassignmentsRequest,
            AlterPartitionReassignmentsResponse,
            ReassignablePartition,
            ReassignableTopic,
        )

        topics = []
        for topic, indexes in grouped(targets):
            moves = [(index, targets[TopicPartition(topic, index)]) for index in indexes]
            parts = [ReassignablePartition(index, None if ids is None else list(ids)) for index, ids in moves]
            topics.append(ReassignableTopic(topic, parts))
        request = AlterPartitionReassignmentsRequest(self.timeout_ms, topics)

        async def attempt() -> dict[TopicPartition, PartitionError]:
            channel = await self.pool.controller()
            timeout_ms = self.timeout_ms + _GRACE_MS
            response = await channel.send(request, AlterPartitionReassignmentsResponse, timeout_ms=timeout_ms)
            raise_for(response.error_code, response.error_message or "the controller refuses to reassign")
            return {
                TopicPartition(topic.name, part.partition_index): _error(part.error_code, part.error_message)
                for topic in response.responses
                for part in topic.partitions
            }

        return await self.retry(attempt)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, PartitionError]:
        """Elect leaders of partitions.

        Args:
            election_type: The election type; a broker before 2.4 supports only PREFERRED.
            partitions: None: all partitions.

        Returns:
            NONE, ELECTION_NOT_NEEDED or an error for each partition; for all partitions, only those that the controller
            reports.

        Raises:
            KafkaError: The controller cannot be reached, or rejects the request.
        """
        from barnabas.wire.protocol.messages.elect_leaders import (
            ElectLeadersRequest,
            ElectLeadersResponse,
            TopicPartitions,
        )

        asked = None if partitions is None else [TopicPartitions(t, indexes) for t, indexes in grouped(partitions)]
        request = ElectLeadersRequest(election_type, asked, self.timeout_ms)

        async def attempt() -> dict[TopicPartition, PartitionError]:
            channel = await self.pool.controller()
            if election_type is not ElectionType.PREFERRED and channel.version_of(request.API_KEY) < 1:
                raise KafkaError(
                    ErrorCode.UNSUPPORTED_VERSION, "the broker supports only the election of preferred replicas"
                )
            timeout_ms = self.timeout_ms + _GRACE_MS
            response = await channel.send(request, ElectLeadersResponse, timeout_ms=timeout_ms)
            raise_for(response.error_code, f"no leaders were elected: {ErrorCode(response.error_code).name}")
            return {
                TopicPartition(topic.topic, part.partition_id): _error(part.error_code, part.error_message)
                for topic in response.replica_election_results
                for part in topic.partition_result
            }

        elected = await self.retry(attempt)
        for partition in elected:
            self.pool.forget(partition.topic)
        return elected


def _error(code: int, message: str | None) -> PartitionError:
    return PartitionError(ErrorCode(code), message or ErrorCode(code).name)
