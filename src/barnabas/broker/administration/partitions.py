"""Adds partitions to topics.

The longer assignment is written to the topic's znode. The controller's watch fires, and it creates the partitions. The
response waits until this broker's image of the cluster has leaders for the new partitions.

Source: semantics, topics and partitions (CreatePartitions); KIP-195.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.broker.administration.metadata_propagation import wait_for_image
from barnabas.broker.administration.partition_limit import PartitionLimit, count_mutations
from barnabas.broker.administration.topic_rules import check_name, check_size
from barnabas.broker.cluster.image import ClusterImage, ClusterView
from barnabas.broker.controller.assignment import assign
from barnabas.broker.controller.controller import Controller
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import BadVersionError, NoNodeError, Registry
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import TopicAssignment, decode_assignment, encode_assignment

# The most topics that are checked and written in one turn of the event loop; they share a commit.
_TOPICS_PER_TURN = 50


class MorePartitions(NamedTuple):
    """A topic to which partitions are added.

    Attributes:
        partition_count: The new total number of partitions.
        assignments: The brokers of each new partition; None: assigned automatically.
    """

    name: str
    partition_count: int
    assignments: Sequence[Sequence[int]] | None = None


@dataclass(slots=True)
class PartitionsResult:
    """The result for one topic.

    Attributes:
        message: The error message; None on success.
    """

    name: str
    error_code: ErrorCode
    message: str | None = None


class PartitionAdmin:
    """Adds partitions to topics of the cluster."""

    def __init__(
        self,
        registry: Registry,
        cluster: ClusterView,
        controller: Controller,
        timers: Timers,
        partition_room: Callable[[], int],
    ) -> None:
        """Args:
        partition_room: Returns the number of partitions that the brokers can still add.
        """
        self._registry = registry
        self._cluster = cluster
        self._controller = controller
        self._timers = timers
        self._partition_room = partition_room

    async def add(
        self,
        wanted: Sequence[MorePartitions],
        timeout_ms: int,
        validate_only: bool = False,
        quota: ControllerMutationQuota | None = None,
    ) -> list[PartitionsResult]:
        """Add partitions and wait until they are led.

        Args:
            wanted: Each topic once.
            timeout_ms: The longest wait; 0 or less: do not wait, and return REQUEST_TIMED_OUT. The partitions are still
                created.
            validate_only: Check, and add nothing.
            quota: Counts the partitions, and may refuse a topic; None: no quota.

        Returns:
            A result for each topic, in order.
        """
        room = PartitionLimit(self._partition_room())
        results: list[PartitionsResult] = []
        for start in range(0, len(wanted), _TOPICS_PER_TURN):
            some = wanted[start : start + _TOPICS_PER_TURN]
            results += await asyncio.gather(*(self._add_to(topic, room, validate_only, quota) for topic in some))
            await asyncio.sleep(0)
        if validate_only:
            return results
        counts = {topic.name: topic.partition_count for topic in wanted}
        added = [result.name for result in results if result.error_code == ErrorCode.NONE]

        def are_led(image: ClusterImage) -> bool:
            return all(image.has_leaders(name, counts[name]) for name in added)

        if added and not await wait_for_image(self._cluster, self._timers, are_led, timeout_ms):
            for result in results:
                if result.error_code == ErrorCode.NONE and (
                    timeout_ms <= 0 or not self._cluster.image.has_leaders(result.name, counts[result.name])
                ):
                    result.error_code = ErrorCode.REQUEST_TIMED_OUT
        return results

    async def _add_to(
        self, topic: MorePartitions, room: PartitionLimit, validate_only: bool, quota: ControllerMutationQuota | None
    ) -> PartitionsResult:
        try:
            while True:
                current, version = await self._read(topic.name)
                new = self._validate(topic, current, room)
                if validate_only:
                    break
                count_mutations(quota, len(new))
                # Counted once, even if concurrent changes cause retries.
                quota = None
                current.replicas.update(new)
                # There may be very many partitions: run each step in its own turn of the event loop.
                await asyncio.sleep(0)
                data = encode_assignment(current)
                await asyncio.sleep(0)
                try:
                    await self._registry.set(paths.topic(topic.name), data, version)
                    break
                except BadVersionError:
                    # The topic was changed concurrently: check the request against its new state.
                    room.give_back(len(new))
                except NoNodeError:
                    raise _unknown(topic.name) from None
        except KafkaError as error:
            return PartitionsResult(topic.name, error.code, error.message or None)
        return PartitionsResult(topic.name, ErrorCode.NONE)

    async def _read(self, name: str) -> tuple[TopicAssignment, int]:
        """Return a topic's assignment and the version of its znode."""
        if self._controller.is_deleting(name):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
        try:
            # An invalid name could be the path of another znode.
            # differs from Kafka (partitions-of-no-name): Kafka fails if the name is empty.
            check_name(name)
            data, stat = await self._registry.get(paths.topic(name))
        except (KafkaError, NoNodeError):
            raise _unknown(name) from None
        try:
            return decode_assignment(data), stat.version
        except MalformedError as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{paths.topic(name)} is malformed: {error}") from None

    def _validate(self, topic: MorePartitions, current: TopicAssignment, room: PartitionLimit) -> dict[int, list[int]]:
        """Return the new partitions and their brokers, after Kafka's checks in Kafka's order."""
        if current.adding or current.removing:
            raise KafkaError(
                ErrorCode.REASSIGNMENT_IN_PROGRESS,
                f"A partition reassignment is in progress for the topic '{topic.name}'.",
            )
        count = len(current.replicas)
        if topic.partition_count < count:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"Topic currently has {count} partitions, which is higher than the requested {topic.partition_count}.",
            )
        if topic.partition_count == count:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partitions.")
        racks = {broker_id: broker.rack for broker_id, broker in self._cluster.image.brokers.items()}
        replication_factor = len(current.replicas.get(0, ()))
        if topic.assignments is not None:
            _check_assignments(topic.assignments, topic.partition_count - count, count, replication_factor, racks)
            room.take(topic.partition_count - count)
            return {count + number: list(brokers) for number, brokers in enumerate(topic.assignments)}
        check_size(topic.partition_count - count, replication_factor, len(racks))
        room.take(topic.partition_count - count)
        first_leader = current.replicas[0][0]
        start = next((index for index, broker in enumerate(sorted(racks)) if broker >= first_leader), 0)
        return assign(racks, topic.partition_count - count, replication_factor, start, start, first_partition=count)


def _check_assignments(
    assignments: Sequence[Sequence[int]],
    new_count: int,
    first_partition: int,
    replication_factor: int,
    live: Mapping[int, object],
) -> None:
    """Refuse an invalid assignment of new partitions.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    unknown = {broker for brokers in assignments for broker in brokers} - live.keys()
    reason = None
    if unknown:
        reason = f"Unknown broker(s) in replica assignment: {', '.join(map(str, sorted(unknown)))}."
    elif len(assignments) != new_count:
        reason = f"Increasing the number of partitions by {new_count} but {len(assignments)} assignments provided."
    else:
        for partition, brokers in enumerate(assignments, first_partition):
            if not brokers:
                reason = f"Cannot have replication factor of 0 for partition id {partition}."
            elif len(set(brokers)) != len(brokers):
                listed = ", ".join(map(str, brokers))
                reason = f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {partition}."
            elif len(brokers) != replication_factor:
                reason = (
                    f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while "
                    f"partition {partition} has {len(brokers)}."
                )
            if reason is not None:
                break
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)


def _unknown(name: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
