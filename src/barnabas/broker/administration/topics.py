"""Creates and deletes topics: on request, automatically for Metadata, and the broker's internal topics.

A creation writes the topic's configuration and its assignment; a deletion writes a deletion request. The controller's
watches fire, and it completes the operation. The response waits until this broker's image of the cluster shows the
result.

Source: semantics, topics and partitions; zookeeper.md.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.administration.metadata_propagation import wait_for_image
from barnabas.broker.administration.partition_limit import PartitionLimit, count_mutations
from barnabas.broker.administration.topic_names import TopicNames
from barnabas.broker.administration.topic_rules import (
    NOT_GIVEN,
    NewTopic,
    check_assignment,
    check_collisions,
    check_configs,
    check_name,
    check_size,
    internal_topic,
)
from barnabas.broker.cluster.image import ClusterImage, ClusterView
from barnabas.broker.controller.assignment import assign
from barnabas.broker.controller.controller import Controller
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, INTERNAL_TOPICS, TRANSACTION_STATE_TOPIC
from barnabas.core.time_slices import in_time_slices
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, NodeExistsError, Op, Registry, SetOp
from barnabas.wire.registry.znodes.configs import encode_config
from barnabas.wire.registry.znodes.topics import TopicAssignment, encode_assignment

if TYPE_CHECKING:
    from random import Random

__all__ = ["NewTopic", "TopicAdmin", "TopicResult"]

log = logging.getLogger(__name__)

# By internal topic: the feature that needs it, and its replication factor's setting, which may exceed the brokers.
_NEEDED_FOR = {
    GROUP_OFFSETS_TOPIC: ("consumer groups", "offsets.topic.replication.factor"),
    TRANSACTION_STATE_TOPIC: ("transactions", "transaction.state.log.replication.factor"),
}
# The most partitions that are checked and written in one turn of the event loop; they share a commit.
_PARTITIONS_PER_TURN = 1_000
# The work for a topic takes about as long as the work for this many partitions.
_PARTITIONS_LIKE_A_TOPIC = 20
_TOPICS_PER_TURN = _PARTITIONS_PER_TURN // _PARTITIONS_LIKE_A_TOPIC
_NO_LIMIT = 1 << 31
TIME_TO_COME_MS = 10_000
"""The time allowed for brokers that start together."""


@dataclass(slots=True)
class TopicResult:
    """The result of the creation of one topic.

    Attributes:
        message: The error message; None on success.
        partition_count: -1 on error.
        replication_factor: -1 on error.
        config: The topic's settings; None on error.
    """

    name: str
    error_code: ErrorCode
    message: str | None = None
    partition_count: int = -1
    replication_factor: int = -1
    config: TopicConfig | None = None


class TopicAdmin:
    """Creates and deletes topics of the cluster."""

    def __init__(
        self,
        registry: Registry,
        cluster: ClusterView,
        controller: Controller,
        config: BrokerConfig,
        timers: Timers,
        dice: "Random",
        partition_room: Callable[[], int] = lambda: _NO_LIMIT,
    ) -> None:
        """Args:
        dice: Random numbers for the start of automatic assignments.
        partition_room: Returns the number of partitions that the brokers can still add.
        """
        self._registry = registry
        self._cluster = cluster
        self._controller = controller
        self._config = config
        self._timers = timers
        self._dice = dice
        self._partition_room = partition_room
        self._names = TopicNames()
        # Internal topics with too few brokers, and the number of brokers when this was logged.
        self._reported: dict[str, int] = {}
        self._to_be_looked_at: set[str] = set()

    @property
    def is_controller(self) -> bool:
        """Return whether this broker is the controller; only the controller creates and deletes topics."""
        return self._controller.is_active

    async def create(
        self,
        topics: Sequence[NewTopic],
        timeout_ms: int,
        validate_only: bool = False,
        quota: ControllerMutationQuota | None = None,
    ) -> list[TopicResult]:
        """Create topics, and wait until they have leaders.

        Args:
            topics: Each name once.
            timeout_ms: The longest wait; 0 or less: do not wait, and return REQUEST_TIMED_OUT. The topics are still
                created.
            validate_only: Check, and create nothing.
            quota: Counts the partitions, and may refuse a topic; None: no quota.

        Returns:
            A result for each topic, in order.
        """
        results = await self._create_all(topics, validate_only, quota)
        if validate_only:
            return results
        made = {result.name: result.partition_count for result in results if result.error_code == ErrorCode.NONE}

        def are_led(image: ClusterImage) -> bool:
            return all(image.has_leaders(name, partition_count) for name, partition_count in made.items())

        if made and not await self._wait(are_led, timeout_ms):
            return [self._late(result, timeout_ms) for result in results]
        return results

    def _late(self, result: TopicResult, timeout_ms: int) -> TopicResult:
        is_late = result.error_code == ErrorCode.NONE and (
            timeout_ms <= 0 or not self._cluster.image.has_leaders(result.name, result.partition_count)
        )
        return TopicResult(result.name, ErrorCode.REQUEST_TIMED_OUT) if is_late else result

    async def delete(
        self, names: Iterable[str], timeout_ms: int, quota: ControllerMutationQuota | None = None
    ) -> dict[str, ErrorCode]:
        """Delete topics and wait until this broker's image no longer has them.

        Args:
            timeout_ms: The longest wait; 0 or less: do not wait. The topics are still deleted.
            quota: Counts the partitions, and may refuse a topic; None: no quota.
        """
        known = self._cluster.image.topics
        results: dict[str, ErrorCode] = {}
        going = []
        async for name in in_time_slices(dict.fromkeys(names)):
            if name not in known:
                results[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif quota is not None and not quota.take(len(known[name])):
                results[name] = ErrorCode.THROTTLING_QUOTA_EXCEEDED
            else:
                results[name] = ErrorCode.NONE
                going.append(name)
        for start in range(0, len(going), _TOPICS_PER_TURN):
            await asyncio.gather(*(self._request_deletion(name) for name in going[start : start + _TOPICS_PER_TURN]))
            await asyncio.sleep(0)

        def are_gone(image: ClusterImage) -> bool:
            return all(name not in image.topics for name in going)

        if going and not await self._wait(are_gone, timeout_ms):
            for name in going:
                if name in self._cluster.image.topics or timeout_ms <= 0:
                    results[name] = ErrorCode.REQUEST_TIMED_OUT
        return results

    async def auto_create(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """Create topics of a Metadata request, without waiting for their leaders.

        Returns:
            For each topic its error in the Metadata response: LEADER_NOT_AVAILABLE if it is being created.
        """
        wanted = [internal_topic(name, self._config) if name in INTERNAL_TOPICS else NewTopic(name) for name in names]
        results = await self._create_all(wanted, validate_only=False)
        for result in results:
            if result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR and result.name in INTERNAL_TOPICS:
                self.warn_of_too_few_brokers(result.name)
        return {
            result.name: ErrorCode.LEADER_NOT_AVAILABLE
            if result.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            else result.error_code
            for result in results
        }

    async def create_internal(self, name: str) -> None:
        """Create an internal topic if it is missing; callers must retry until it has leaders.

        Args:
            name: `__consumer_offsets` or `__transaction_state`.
        """
        if name not in self._cluster.image.topics:
            (result,) = await self._create_all([internal_topic(name, self._config)], validate_only=False)
            if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                self.warn_of_too_few_brokers(name)

    def warn_of_too_few_brokers(self, name: str) -> None:
        """Log, once for each number of brokers, that an internal topic cannot be created.

        Nothing is logged if the topic exists or can be created. With ZooKeeper, the check is delayed by
        `TIME_TO_COME_MS`, because other brokers may be starting.
        """
        if not self._config.zookeeper_connect:
            self._warn_of_too_few_brokers(name)
        elif name not in self._to_be_looked_at:
            self._to_be_looked_at.add(name)
            self._timers.call_later(TIME_TO_COME_MS, self._warn_of_too_few_brokers, name)

    def _warn_of_too_few_brokers(self, name: str) -> None:
        self._to_be_looked_at.discard(name)
        factor = internal_topic(name, self._config).replication_factor
        alive_count = len(self._cluster.image.brokers)
        if name in self._cluster.image.topics or factor <= alive_count or self._reported.get(name) == alive_count:
            return
        self._reported[name] = alive_count
        what, setting = _NEEDED_FOR[name]
        log.warning(
            "%s cannot work: %s=%d needs %d brokers, found %d; set it to %d or start more brokers",
            what,
            setting,
            factor,
            factor,
            alive_count,
            max(alive_count, 1),
        )

    async def _create_all(
        self, topics: Sequence[NewTopic], validate_only: bool, quota: ControllerMutationQuota | None = None
    ) -> list[TopicResult]:
        """Create topics, a limited number at a time: a large request must not block the event loop."""
        request = _Creation(
            self._names,
            await self._registry.children(paths.BROKER_TOPICS),
            validate_only,
            self._partition_room(),
            quota,
        )
        results: list[TopicResult] = []
        some: list[NewTopic] = []
        cost = 0
        for topic in topics:
            some.append(topic)
            cost += _PARTITIONS_LIKE_A_TOPIC + max(topic.partition_count, len(topic.assignments))
            if cost >= _PARTITIONS_PER_TURN:
                results += await asyncio.gather(*(self._create_one(each, request) for each in some))
                some, cost = [], 0
                await asyncio.sleep(0)
        return results + await asyncio.gather(*(self._create_one(each, request) for each in some))

    async def _create_one(self, topic: NewTopic, request: "_Creation") -> TopicResult:
        try:
            result, assignment = self._validate(topic, request)
            if not request.validates_only:
                count_mutations(request.quota, len(assignment))
                request.add(topic.name)
                assert result.config is not None
                await self._write(topic.name, result.config.overrides, assignment)
        except KafkaError as error:
            return TopicResult(topic.name, error.code, error.message or None)
        return result

    def _validate(self, topic: NewTopic, request: "_Creation") -> tuple[TopicResult, dict[int, list[int]]]:
        """Check a topic, with Kafka's checks in Kafka's order."""
        name = topic.name
        if name in request.existing:
            raise _already_exists(name)
        nulls = [key for key, value in topic.configs if value is None]
        if nulls:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Null value not supported for topic configs : {','.join(nulls)}"
            )
        if topic.assignments:
            if (topic.partition_count, topic.replication_factor) != (NOT_GIVEN, NOT_GIVEN):
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time.",
                )
        else:
            assignment = self._assign(topic)
        check_name(name)
        check_collisions(name, request.alike(name))
        if topic.assignments:
            assignment = check_assignment(topic.assignments)
        request.room.take(len(assignment))
        overrides = {key: value for key, value in topic.configs if value is not None}
        topic_config = check_configs(self._config, overrides)
        return TopicResult(name, ErrorCode.NONE, None, len(assignment), len(assignment[0]), topic_config), assignment

    def _assign(self, topic: NewTopic) -> dict[int, list[int]]:
        config = self._config
        is_count_given = topic.partition_count != NOT_GIVEN
        is_factor_given = topic.replication_factor != NOT_GIVEN
        partition_count = topic.partition_count if is_count_given else config.num_partitions
        replication_factor = topic.replication_factor if is_factor_given else config.default_replication_factor
        racks = {broker_id: broker.rack for broker_id, broker in self._cluster.image.brokers.items()}
        check_size(partition_count, replication_factor, len(racks))
        start, shift = self._dice.randrange(len(racks)), self._dice.randrange(len(racks))
        return assign(racks, partition_count, replication_factor, start, shift)

    async def _write(self, name: str, overrides: Mapping[str, str], assignment: dict[int, list[int]]) -> None:
        """Write the configuration and the topic in one transaction, so that a kill cannot leave only one of them."""
        config_path = paths.topic_config(name)
        config = encode_config(overrides)
        is_left_over = await self._registry.exists(config_path) is not None
        ops: list[Op] = [
            SetOp(config_path, config) if is_left_over else CreateOp(config_path, config),
            CreateOp(paths.topic(name), encode_assignment(TopicAssignment(assignment))),
        ]
        try:
            # differs from Kafka (new-topic-transaction): Kafka uses two separate writes.
            await self._registry.multi(ops)
        except NodeExistsError:
            raise _already_exists(name) from None

    async def _request_deletion(self, name: str) -> None:
        try:
            await self._registry.create(paths.delete_topic(name))
        except NodeExistsError:
            # The deletion was already requested: wait for it.
            return

    async def _wait(self, is_done: Callable[[ClusterImage], bool], timeout_ms: int) -> bool:
        return await wait_for_image(self._cluster, self._timers, is_done, timeout_ms)


class _Creation:
    """The state that all topics of one request share.

    Attributes:
        existing: The existing topics, and those of this request that passed the checks.
        validates_only: Nothing is created.
        room: The limit of new partitions.
        quota: Counts the partitions; None: no quota.
    """

    __slots__ = ("_names", "existing", "quota", "room", "validates_only")

    def __init__(
        self,
        names: TopicNames,
        existing: Collection[str],
        validates_only: bool,
        room: int,
        quota: ControllerMutationQuota | None,
    ) -> None:
        """Args:
        names: The names of all topics; updated with the existing ones.
        room: Number of partitions that the brokers can still add.
        """
        self._names = names
        self.existing = names.take_over(existing)
        self.validates_only = validates_only
        self.room = PartitionLimit(room)
        self.quota = quota

    def alike(self, name: str) -> Collection[str]:
        """Return the existing topics whose names collide with this one."""
        return self._names.alike(name)

    def add(self, name: str) -> None:
        """Add a topic of this request, so that later topics of the request cannot collide with it."""
        self.existing.add(name)
        self._names.add(name)


def _already_exists(name: str) -> KafkaError:
    return KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
