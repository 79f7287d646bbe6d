"""Connections to all brokers of a cluster, and what is known of its topics and leaders.

Connections open when they are needed and are replaced when they broke. Metadata is asked for again when a caller says
that it was wrong (`forget`) or when it is older than `metadata_max_age_ms`.

Source: protocol guide, Metadata and FindCoordinator.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas.clients.channel import DEFAULT_REQUEST_TIMEOUT_MS, Channel, UnreachableError, parse_servers
from barnabas.clients.environment import ClientEnvironment, machine_environment
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

RETRY_BACKOFF_MS = 100
_TRANSACTION_KEY = 1
_LOGIN_ERRORS = (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM)


@dataclass(slots=True)
class PartitionMetadata:
    """One partition as Metadata tells it; `leader_id` is -1 when there is none, `leader_epoch` where it is not told."""

    partition: int
    leader_id: int
    replicas: list[int]
    isr: list[int]
    error_code: ErrorCode
    leader_epoch: int = -1


@dataclass(slots=True)
class TopicMetadata:
    """One topic as Metadata tells it."""

    name: str
    error_code: ErrorCode
    is_internal: bool
    partitions: dict[int, PartitionMetadata]


@dataclass(slots=True)
class ClusterMetadata:
    """An answer to Metadata."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)


class Pool:
    """One cluster's connections, for at most one member of any group; also an async context manager.

    Attributes:
        client_id: What the brokers see.
        env: The world.
        metadata_max_age_ms: How old a leader may be before it is asked for again.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_id: str = "barnabas",
        *,
        connect_timeout_ms: int = 10_000,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        metadata_max_age_ms: int = 300_000,
        env: ClientEnvironment | None = None,
        security: ClientSecurity | None = None,
    ) -> None:
        """Args:
        bootstrap_servers: `host:port,...`; one that answers is enough.
        request_timeout_ms: How long an answer may take, where a request does not say so itself.
        env: The world; the machine's own by default.
        security: How brokers are reached; None: in the clear.

        Raises:
            BarnabasError: The addresses are not of this form.
        """
        self.client_id = client_id
        self.metadata_max_age_ms = metadata_max_age_ms
        self._bootstrap = parse_servers(bootstrap_servers)
        self._connect_timeout_ms = connect_timeout_ms
        self._request_timeout_ms = request_timeout_ms
        self.env = env or machine_environment()
        self._clock = self.env.clock
        self._security = security
        self._channels: dict[tuple[str, int, str], Channel] = {}
        self._locks: dict[tuple[str, int, str], asyncio.Lock] = {}
        self._brokers: dict[int, tuple[str, int]] = {}
        self._topics: dict[str, tuple[int, TopicMetadata]] = {}
        self._coordinators: dict[str, tuple[str, int]] = {}

    async def __aenter__(self) -> "Pool":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close() for channel in channels))

    def use_bootstrap_servers(self, bootstrap_servers: str) -> None:
        """Set where to look for the cluster from now on, as far as it is not known already. Raises BarnabasError."""
        self._bootstrap = parse_servers(bootstrap_servers)

    async def any_broker(self) -> Channel:
        """A connection to whichever broker answers: an open one, else the first known that can be reached.

        Raises:
            UnreachableError: None can be reached; says why for the last one tried.
        """
        for (_, _, group_id), channel in self._channels.items():
            if channel.is_open and not group_id:
                return channel
        failure: KafkaError | None = None
        for address in dict.fromkeys([*self._bootstrap, *self._brokers.values()]):
            try:
                return await self._channel(address)
            except KafkaError as error:
                if error.code in _LOGIN_ERRORS:
                    # Another broker would say the same, and count it.
                    raise
                failure = error
        assert failure is not None
        raise UnreachableError(failure.code, failure.message) from failure

    async def broker(self, node_id: int) -> Channel:
        """A connection to one broker. Raises KafkaError (BROKER_NOT_AVAILABLE when the cluster has none of this id)."""
        if node_id not in self._brokers:
            await self.metadata([])
        address = self._brokers.get(node_id)
        if address is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not there")
        return await self._channel(address)

    async def controller(self) -> Channel:
        """A connection to the cluster's controller. Raises KafkaError."""
        metadata = await self.metadata([])
        if metadata.controller_id not in metadata.brokers:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster has no controller now")
        return await self.broker(metadata.controller_id)

    async def coordinator(self, group_id: str) -> Channel:
        """A connection to a group's coordinator, for this group alone: joining holds up whatever is asked after it.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE: ask again later. INVALID_REPLICATION_FACTOR: that won't help.
        """
        address = self._coordinators.get(group_id)
        if address is None:
            channel = await self.any_broker()
            response = await channel.send(FindCoordinatorRequest(group_id), FindCoordinatorResponse)
            if response.error_code:
                await self._check_offsets_topic()
                code = ErrorCode(response.error_code)
                is_moving = code is ErrorCode.COORDINATOR_NOT_AVAILABLE
                reason = "has no coordinator now" if is_moving else f"has no coordinator: {code.name}"
                raise KafkaError(code, f"group {group_id} {reason}")
            address = self._coordinators[group_id] = (response.host, response.port)
        try:
            return await self._channel(address, group_id)
        except KafkaError:
            self._coordinators.pop(group_id, None)
            raise

    async def transaction_coordinator(self, transactional_id: str) -> Channel:
        """A connection to a transactional id's coordinator. Raises KafkaError (COORDINATOR_NOT_AVAILABLE, ...)."""
        key = f"transaction {transactional_id}"
        address = self._coordinators.get(key)
        if address is None:
            channel = await self.any_broker()
            request = FindCoordinatorRequest(transactional_id, _TRANSACTION_KEY)
            response = await channel.send(request, FindCoordinatorResponse)
            if response.error_code:
                code = ErrorCode(response.error_code)
                raise KafkaError(code, f"transactional id {transactional_id} has no coordinator: {code.name}")
            address = self._coordinators[key] = (response.host, response.port)
        try:
            return await self._channel(address)
        except KafkaError:
            self.forget_transaction_coordinator(transactional_id)
            raise

    async def _check_offsets_topic(self) -> None:
        """Find out whether there will ever be a coordinator: its topic may ask for more brokers than there are.

        Raises:
            KafkaError: INVALID_REPLICATION_FACTOR: there won't.
        """
        topic = (await self.metadata([GROUP_OFFSETS_TOPIC])).topics.get(GROUP_OFFSETS_TOPIC)
        if topic is not None and topic.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
            raise KafkaError(
                topic.error_code,
                "groups can't work with so few brokers: set the brokers' offsets.topic.replication.factor to 1, "
                "or run more of them",
            )

    async def metadata(
        self, topics: Sequence[str] | None, *, allow_auto_topic_creation: bool = False
    ) -> ClusterMetadata:
        """Ask for the cluster's brokers and for topics (None: all of them). Raises KafkaError."""
        channel = await self.any_broker()
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(wanted, allow_auto_topic_creation)
        if not allow_auto_topic_creation and channel.version_of(request.API_KEY) < 4:
            request.allow_auto_topic_creation = True  # what versions below 4 always mean
        response = await channel.send(request, MetadataResponse)
        return self._learn(response)

    async def topic(self, name: str, *, allow_auto_topic_creation: bool = False) -> TopicMetadata:
        """Return a topic's metadata, asked for if it is not known or too old.

        Raises:
            KafkaError: What the broker says of the topic, for example UNKNOWN_TOPIC_OR_PARTITION.
        """
        known = self._topics.get(name)
        if known is not None and self._clock.monotonic_ms() - known[0] < self.metadata_max_age_ms:
            return known[1]
        metadata = await self.metadata([name], allow_auto_topic_creation=allow_auto_topic_creation)
        topic = metadata.topics.get(name)
        if topic is None or topic.error_code is not ErrorCode.NONE:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
            raise KafkaError(code, _topic_message(name, code))
        return topic

    async def leader(self, partition: TopicPartition) -> Channel:
        """A connection to a partition's leader. Raises KafkaError (LEADER_NOT_AVAILABLE: ask again later)."""
        topic = await self.topic(partition.topic)
        if partition.partition not in topic.partitions:
            # It may have grown since it was asked for.
            self.forget(partition.topic)
            topic = await self.topic(partition.topic)
        known = topic.partitions.get(partition.partition)
        if known is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {partition.topic} has no partition {partition.partition}"
            )
        if known.leader_id < 0:
            self.forget(partition.topic)
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition} has no leader now")
        try:
            return await self.broker(known.leader_id)
        except KafkaError:
            self.forget(partition.topic)
            raise

    def forget(self, topic: str) -> None:
        """A leader turned out to be wrong: ask again before the next use."""
        self._topics.pop(topic, None)

    def forget_coordinator(self, group_id: str) -> None:
        """A coordinator turned out to be wrong: ask again before the next use."""
        self._coordinators.pop(group_id, None)

    def forget_transaction_coordinator(self, transactional_id: str) -> None:
        """The same of a transactional id's."""
        self._coordinators.pop(f"transaction {transactional_id}", None)

    async def _channel(self, address: tuple[str, int], group_id: str = "") -> Channel:
        place = (*address, group_id)
        lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:
            channel = self._channels.get(place)
            if channel is None or not channel.is_open:
                if channel is not None:
                    await channel.close()
                channel = await Channel.connect(
                    *address,
                    self.client_id,
                    self._connect_timeout_ms,
                    self.env,
                    request_timeout_ms=self._request_timeout_ms,
                    security=self._security,
                )
                self._channels[place] = channel
            return channel

    def _learn(self, response: MetadataResponse) -> ClusterMetadata:
        now_ms = self._clock.monotonic_ms()
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        metadata = ClusterMetadata(response.cluster_id, response.controller_id, self._brokers)
        for found in response.topics:
            partitions = {
                part.partition_index: PartitionMetadata(
                    part.partition_index,
                    part.leader_id,
                    part.replica_nodes,
                    part.isr_nodes,
                    ErrorCode(part.error_code),
                    part.leader_epoch,
                )
                for part in sorted(found.partitions, key=lambda part: part.partition_index)
            }
            topic = TopicMetadata(found.name or "", ErrorCode(found.error_code), found.is_internal, partitions)
            metadata.topics[topic.name] = topic
            if topic.error_code is ErrorCode.NONE:
                self._topics[topic.name] = (now_ms, topic)
            else:
                self._topics.pop(topic.name, None)
        return metadata


def _topic_message(name: str, code: ErrorCode) -> str:
    match code:
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return f"topic {name} does not exist"
        case ErrorCode.INVALID_TOPIC_EXCEPTION:
            return f"{name!r} is no topic name: letters, digits, '.', '_' and '-', at most 249 of them"
        case ErrorCode.LEADER_NOT_AVAILABLE:
            return f"topic {name} has no leader now"
    return f"topic {name}: {code.name}"
