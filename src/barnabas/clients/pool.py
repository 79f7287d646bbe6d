"""Connections to all brokers of a cluster, and cached metadata of its topics and leaders.

Connections open on demand and are replaced after they break; concurrent callers share the connection attempt. Metadata
is fetched again after a caller reports it as wrong (`forget`) or when it is older than `metadata_max_age_ms`; a
coordinator, when its connection is gone. Brokers whose last attempt failed are tried last, after brokers to which a
connection was lost.

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
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, INTERNAL_TOPICS
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

RETRY_BACKOFF_MS = 100
_TRANSACTION_KEY = 1
# The first Metadata version with `allow_auto_topic_creation`.
_FIRST_WITHOUT_CREATION = 4
# Brokers before Kafka 2.4 may return outdated leader epochs during a reassignment (KAFKA-9212).
_FIRST_WITH_TRUE_EPOCHS = 9
_LOGIN_ERRORS = (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM)


@dataclass(slots=True)
class PartitionMetadata:
    """A partition in a Metadata response; `leader_id` is -1 without a leader, `leader_epoch` -1 if it is missing."""

    partition: int
    leader_id: int
    replicas: list[int]
    isr: list[int]
    error_code: ErrorCode
    leader_epoch: int = -1


@dataclass(slots=True)
class TopicMetadata:
    """A topic in a Metadata response. Leaders may receive the epochs in it only if these are reliable."""

    name: str
    error_code: ErrorCode
    is_internal: bool
    partitions: dict[int, PartitionMetadata]
    are_epochs_true: bool = True


@dataclass(slots=True)
class ClusterMetadata:
    """A Metadata response; `racks` contains every broker, with None if its rack is not reported."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    racks: dict[int, str | None] = field(default_factory=dict)


class Pool:
    """One cluster's connections, for at most one member of any group; also an async context manager.

    Attributes:
        client_id: The client id.
        env: The environment.
        metadata_max_age_ms: Maximum age of cached metadata.
        request_timeout_ms: Default timeout of requests.
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
        request_timeout_ms: Default timeout of requests.
        env: The environment; the system's own by default.
        security: TLS and login; None: plaintext without a login.

        Raises:
            BarnabasError: The addresses have another form.
        """
        self.client_id = client_id
        self.metadata_max_age_ms = metadata_max_age_ms
        self._bootstrap = parse_servers(bootstrap_servers)
        self._connect_timeout_ms = connect_timeout_ms
        self.request_timeout_ms = request_timeout_ms
        self.env = env or machine_environment()
        self._clock = self.env.clock
        self._security = security
        self._channels: dict[tuple[str, int, str], Channel] = {}
        self._connecting: dict[tuple[str, int, str], asyncio.Task[Channel]] = {}
        # The sequence number of each address's last failure.
        self._failures: dict[tuple[str, int], int] = {}
        # Addresses that closed a connection without an answer, before any broker returned metadata.
        self._hung_up: set[tuple[str, int]] = set()
        self._brokers: dict[int, tuple[str, int]] = {}
        self._controller_id = -1
        self._topics: dict[str, tuple[int, TopicMetadata]] = {}
        self._coordinators: dict[str, tuple[str, int]] = {}

    async def __aenter__(self) -> "Pool":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        connecting = list(self._connecting.values())
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close() for channel in channels))

    def use_bootstrap_servers(self, bootstrap_servers: str) -> None:
        """Set the addresses for the next search of the cluster. Raises BarnabasError."""
        self._bootstrap = parse_servers(bootstrap_servers)

    async def any_broker(self) -> Channel:
        """Return a connection to any broker: an open one, or else the first known broker that can be reached.

        Raises:
            UnreachableError: No broker is reachable and none has ever returned metadata, or all closed the connection
                twice before they answered; the message gives the reason for the last one tried.
            KafkaError: No broker is reachable now, for example because the only one restarts.
        """
        is_open = [channel for place, channel in self._channels.items() if channel.is_open and not place[2]]
        if is_open:
            # Choose at random: a single broker may have outdated metadata.
            return is_open[self.env.dice.randrange(len(is_open))] if len(is_open) > 1 else is_open[0]
        self._check_hung_up()
        failure: KafkaError | None = None
        known = dict.fromkeys([*self._bootstrap, *self._brokers.values()])
        # Addresses with a broken connection come last: a paused broker accepts connections but does not answer.
        lost = {place[:2] for place, channel in self._channels.items() if not channel.is_open}

        def rank(address: tuple[str, int]) -> tuple[bool, bool, int]:
            return address in lost, address in self._hung_up, self._failures.get(address, 0)

        for address in sorted(known, key=rank):
            try:
                return await self._channel(address)
            except KafkaError as error:
                if error.code in _LOGIN_ERRORS:
                    # Another broker would reject the login too, and count it as a further failure.
                    raise
                failure = error
        assert failure is not None
        if self._brokers:
            raise failure
        raise UnreachableError(failure.code, failure.message) from failure

    def _check_hung_up(self) -> None:
        """Raise UnreachableError if each reachable bootstrap address closed a second connection before it answered."""
        if self._brokers or not self._hung_up.issuperset(set(self._bootstrap) - self._failures.keys()):
            return
        # Not a connection that could not be opened again: the broker has stopped.
        closed = [channel for channel in self._channels.values() if channel.hung_up]
        # The next call tries again.
        self._hung_up.clear()
        if closed:
            place = f"{closed[-1].host}:{closed[-1].port}"
            raise UnreachableError(
                ErrorCode.NETWORK_EXCEPTION,
                f"{place} closed the connection at the first request after ApiVersions: is security.protocol right?",
            )

    async def broker(self, node_id: int) -> Channel:
        """Return a connection to one broker.

        Raises KafkaError (BROKER_NOT_AVAILABLE: the cluster has no such broker).
        """
        if node_id not in self._brokers:
            await self.metadata([])
        address = self._brokers.get(node_id)
        if address is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not registered")
        return await self._channel(address)

    async def controller(self) -> Channel:
        """Return a connection to the cluster's controller. Raises KafkaError."""
        metadata = await self.metadata([])
        if metadata.controller_id not in metadata.brokers:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster has no controller now")
        return await self.broker(metadata.controller_id)

    async def coordinator(self, group_id: str) -> Channel:
        """Return a connection to a group's coordinator for this group alone, because a join delays later requests.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE: retry later. INVALID_REPLICATION_FACTOR: the cluster has too few
                brokers for the offsets topic, so a retry does not help.
        """
        address = self._known_coordinator(group_id, group_id)
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

    async def existing_coordinator(self, group_id: str) -> Channel | None:
        """Like `coordinator`; None if the cluster has never had a group, because a search would create the topic.

        Raises:
            KafkaError: As from `coordinator`.
        """
        if group_id not in self._coordinators and GROUP_OFFSETS_TOPIC not in self._topics:
            found = (await self.metadata([GROUP_OFFSETS_TOPIC])).topics.get(GROUP_OFFSETS_TOPIC)
            if found is None or found.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return None
        return await self.coordinator(group_id)

    async def transaction_coordinator(self, transactional_id: str) -> Channel:
        """Return a connection to a transactional id's coordinator.

        Raises KafkaError (COORDINATOR_NOT_AVAILABLE, ...).
        """
        key = f"transaction {transactional_id}"
        address = self._known_coordinator(key, "")
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

    def _known_coordinator(self, key: str, group_id: str) -> tuple[str, int] | None:
        """Return the cached address of a coordinator; None: it is unknown, or the connection to it broke."""
        address = self._coordinators.get(key)
        channel = None if address is None else self._channels.get((*address, group_id))
        if channel is not None and not channel.is_open:
            del self._coordinators[key]
            return None
        return address

    async def _check_offsets_topic(self) -> None:
        """Check that a coordinator can exist: the offsets topic may require more brokers than the cluster has.

        Raises:
            KafkaError: INVALID_REPLICATION_FACTOR: it does.
        """
        # The broker checks this only when it creates the topic.
        metadata = await self.metadata([GROUP_OFFSETS_TOPIC], allow_auto_topic_creation=True)
        topic = metadata.topics.get(GROUP_OFFSETS_TOPIC)
        if topic is not None and topic.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
            raise KafkaError(
                topic.error_code,
                "groups can't work with so few brokers: set the brokers' offsets.topic.replication.factor to 1, "
                "or run more of them",
            )

    async def metadata(
        self, topics: Sequence[str] | None, *, allow_auto_topic_creation: bool = False, channel: Channel | None = None
    ) -> ClusterMetadata:
        """Request the brokers and topics (None: all) of the cluster from a broker (None: any).

        Without `allow_auto_topic_creation` no topic is created, whatever its name and the broker's version.

        Raises:
            KafkaError: The request failed.
        """
        return await self._ask_metadata(channel or await self.any_broker(), topics, allow_auto_topic_creation)

    async def _ask_metadata(
        self, channel: Channel, topics: Sequence[str] | None, allow_auto_topic_creation: bool
    ) -> ClusterMetadata:
        version = channel.version_of(MetadataRequest.API_KEY)
        can_ask_alone = version >= _FIRST_WITHOUT_CREATION
        # Brokers create an internal topic that a request names, even without allow_auto_topic_creation. Old brokers
        # create any topic.
        names_none = topics is None or (
            not allow_auto_topic_creation and any(not can_ask_alone or name in INTERNAL_TOPICS for name in topics)
        )
        wanted: list[MetadataRequestTopic] | None = []
        if not names_none:
            wanted = [MetadataRequestTopic(name=name) for name in topics or ()]
        elif version > 0:
            wanted = None
        request = MetadataRequest(wanted, allow_auto_topic_creation or not can_ask_alone)
        metadata = self._learn(await channel.send(request, MetadataResponse), version >= _FIRST_WITH_TRUE_EPOCHS)
        if names_none:
            # Topics that were deleted, or that the user may no longer see.
            self._topics = {name: known for name, known in self._topics.items() if name in metadata.topics}
        if names_none and topics is not None:
            known, metadata.topics = metadata.topics, {}
            for name in topics:
                if name in known:
                    metadata.topics[name] = known[name]
            for name, code in (await _reasons(channel, [name for name in topics if name not in known])).items():
                metadata.topics[name] = TopicMetadata(name, code, name in INTERNAL_TOPICS, {})
        return metadata

    async def topic(self, name: str, *, allow_auto_topic_creation: bool = False) -> TopicMetadata:
        """Return a topic's metadata, from the cache if it is recent enough.

        Raises:
            KafkaError: The topic's error, for example UNKNOWN_TOPIC_OR_PARTITION.
        """
        known = self._topics.get(name)
        if known is not None and self._clock.monotonic_ms() - known[0] < self.metadata_max_age_ms:
            return known[1]
        channel = await self.any_broker()
        topic = (await self._ask_metadata(channel, [name], allow_auto_topic_creation)).topics.get(name)
        if topic is None or topic.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            # The controller learns of a new topic first.
            controller = self._brokers.get(self._controller_id)
            if controller is not None and controller != (channel.host, channel.port):
                channel = await self._channel(controller)
                topic = (await self._ask_metadata(channel, [name], allow_auto_topic_creation)).topics.get(name)
        return check_topic(name, topic)

    async def leader(self, partition: TopicPartition) -> Channel:
        """Return a connection to a partition's leader. Raises KafkaError (LEADER_NOT_AVAILABLE: try again later)."""
        topic = await self.topic(partition.topic)
        if partition.partition not in topic.partitions:
            # The topic may have gained partitions since the last request.
            self.forget(partition.topic)
            topic = await self.topic(partition.topic)
        known = topic.partitions.get(partition.partition)
        if known is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {partition.topic} has no partition {partition.partition}"
            )
        if known.leader_id not in self._brokers:
            # No leader is elected, or the last one is no longer registered.
            self.forget(partition.topic)
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition} has no leader now")
        try:
            return await self.broker(known.leader_id)
        except KafkaError:
            self.forget(partition.topic)
            raise

    def known_leader(self, partition: TopicPartition) -> Channel | None:
        """Return the open connection to a partition's leader; None: a request is needed first."""
        leader_id = self.known_leader_id(partition)
        address = None if leader_id is None else self._brokers.get(leader_id)
        channel = None if address is None else self._channels.get((*address, ""))
        return channel if channel is not None and channel.is_open else None

    def known_leader_id(self, partition: TopicPartition) -> int | None:
        """Return the id of a partition's leader; None: a request is needed first."""
        known = self._topics.get(partition.topic)
        if known is None or self._clock.monotonic_ms() - known[0] >= self.metadata_max_age_ms:
            return None
        metadata = known[1].partitions.get(partition.partition)
        return None if metadata is None or metadata.leader_id < 0 else metadata.leader_id

    def known_leader_epoch(self, partition: TopicPartition) -> int:
        """Return the leader epoch to send to a partition's leader, which rejects any other epoch; -1: none."""
        known = self._topics.get(partition.topic)
        metadata = None if known is None else known[1].partitions.get(partition.partition)
        return metadata.leader_epoch if metadata is not None and known is not None and known[1].are_epochs_true else -1

    def forget(self, topic: str) -> None:
        """Discard a topic's leaders, after one was wrong."""
        self._topics.pop(topic, None)

    def forget_coordinator(self, group_id: str) -> None:
        """Discard a group's coordinator, after it was wrong."""
        self._coordinators.pop(group_id, None)

    def forget_transaction_coordinator(self, transactional_id: str) -> None:
        """Discard a transactional id's coordinator, after it was wrong."""
        self._coordinators.pop(f"transaction {transactional_id}", None)

    async def _channel(self, address: tuple[str, int], group_id: str = "") -> Channel:
        place = (*address, group_id)
        channel = self._channels.get(place)
        if channel is not None and channel.is_open:
            return channel
        task = self._connecting.get(place)
        if task is None:
            # As a task: a cancelled caller does not cancel the connection for others, and they share its failure.
            task = asyncio.get_running_loop().create_task(self._connect(address, group_id))
            self._connecting[place] = task
            task.add_done_callback(lambda done: self._connected(place, done))
        return await asyncio.shield(task)

    async def _connect(self, address: tuple[str, int], group_id: str) -> Channel:
        broken = self._channels.pop((*address, group_id), None)
        if broken is not None:
            await broken.close()
            if broken.hung_up:
                self._hung_up.add(address)
        return await Channel.connect(
            *address,
            self.client_id,
            self._connect_timeout_ms,
            self.env,
            request_timeout_ms=self.request_timeout_ms,
            security=self._security,
        )

    def _connected(self, place: tuple[str, int, str], task: "asyncio.Task[Channel]") -> None:
        del self._connecting[place]
        if task.cancelled():
            return
        address = place[:2]
        if task.exception() is None:
            self._channels[place] = task.result()
            self._failures.pop(address, None)
        else:
            self._failures[address] = max(self._failures.values(), default=0) + 1

    def _learn(self, response: MetadataResponse, are_epochs_true: bool) -> ClusterMetadata:
        now_ms = self._clock.monotonic_ms()
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        self._controller_id = response.controller_id
        metadata = ClusterMetadata(response.cluster_id, response.controller_id, self._brokers)
        metadata.racks = {broker.node_id: broker.rack for broker in response.brokers}
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
            code = ErrorCode(found.error_code)
            topic = TopicMetadata(found.name or "", code, found.is_internal, partitions, are_epochs_true)
            metadata.topics[topic.name] = topic
            if topic.error_code is ErrorCode.NONE:
                self._topics[topic.name] = (now_ms, topic)
            else:
                self._topics.pop(topic.name, None)
        return metadata


def check_topic(name: str, topic: TopicMetadata | None) -> TopicMetadata:
    """Return a topic of a Metadata response. Raises KafkaError if the topic is missing or has an error."""
    if topic is None or topic.error_code:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
        raise KafkaError(code, _topic_message(name, code))
    return topic


async def _reasons(channel: Channel, missing: Sequence[str]) -> dict[str, ErrorCode]:
    """Return why topics are missing in a full list: they do not exist, or the user may not see them.

    ListOffsets distinguishes the two and creates no topic.
    """
    if not missing:
        return {}
    topics = [ListOffsetsTopic(name, [ListOffsetsPartition(0, timestamp=-1)]) for name in missing]
    response = await channel.send(ListOffsetsRequest(-1, topics=topics), ListOffsetsResponse)
    hidden = {
        topic.name
        for topic in response.topics
        if any(part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED for part in topic.partitions)
    }
    return {
        name: ErrorCode.TOPIC_AUTHORIZATION_FAILED if name in hidden else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for name in missing
    }


def _topic_message(name: str, code: ErrorCode) -> str:
    match code:
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return f"topic {name} does not exist"
        case ErrorCode.INVALID_TOPIC_EXCEPTION:
            return f"{name!r} is not a valid topic name: use at most 249 letters, digits, '.', '_' and '-'"
        case ErrorCode.LEADER_NOT_AVAILABLE:
            return f"topic {name} has no leader now"
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return f"you may not describe topic {name}"
    return f"topic {name}: {code.name}"
