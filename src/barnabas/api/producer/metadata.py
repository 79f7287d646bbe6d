"""Cached metadata of topics: the partitions and their leaders, refreshed after a time or an error.

Source: configuration document of 0.8.2, topic.metadata.refresh.interval.ms; kafka.producer.BrokerPartitionInfo.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException

from barnabas.api.errors import ApiError
from barnabas.api.producer.connections import Connections, accepts_connections
from barnabas.api.producer.settings import ProducerConfig
from barnabas.core.clock import Clock

if TYPE_CHECKING:
    from confluent_kafka.admin import TopicMetadata

# Time to wait for a response before checking that a broker is reachable. Doubled each time, because a later response
# is lost.
_FIRST_STEP_S = 0.2
# Pause before requesting a topic again that is being created.
_BEING_MADE_S = 0.02


class MetadataError(ApiError):
    """No broker returned the partitions of a topic.

    Attributes:
        code: The broker's error; LEADER_NOT_AVAILABLE without any answer.
    """

    def __init__(self, message: str, code: int = KafkaError.LEADER_NOT_AVAILABLE) -> None:
        super().__init__(message)
        self.code = code


class TopicPartitions(NamedTuple):
    """A topic's partitions.

    Attributes:
        partition_count: The number of partitions.
        led: The partitions with a leader.
    """

    partition_count: int
    led: tuple[int, ...]


class ClusterView(Protocol):
    """Cluster state from outside the brokers: ZooKeeper's tree, or nothing."""

    def servers(self) -> str:
        """Return the brokers to ask, as `host:port,...`."""
        ...

    def partition_count(self, topic: str) -> int:
        """Return a topic's number of partitions; 0: the number is unknown, or the topic does not exist."""
        ...

    def change_count(self) -> int:
        """Return how often the cluster has changed; after a change, earlier answers may be stale."""
        ...

    def close(self) -> None: ...


class StaticBrokers:
    """The view of a producer with a fixed list of brokers."""

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def servers(self) -> str:
        return self._servers

    def partition_count(self, topic: str) -> int:
        return 0

    def change_count(self) -> int:
        return 0

    def close(self) -> None:
        pass


class Metadata:
    """Topics' partitions, as reported by the brokers."""

    def __init__(
        self,
        config: ProducerConfig,
        connections: Connections,
        view: ClusterView,
        clock: Clock,
        pause: Callable[[float], object],
    ) -> None:
        """Args:
        connections: The connections for metadata requests.
        pause: Sleeps for a number of seconds.
        """
        self._pause = pause
        self._refresh_ms = config.settings.integer("topic.metadata.refresh.interval.ms")
        self._timeout_ms = config.settings.integer("request.timeout.ms")
        self._connect_timeout_s = config.settings.integer("connect.timeout.ms") / 1000
        self._connections = connections
        self._view = view
        self._clock = clock
        self._known: dict[str, tuple[TopicPartitions, int]] = {}
        self._changes_seen = 0
        self._addresses: set[str] = set()

    def partitions(self, topic: str) -> TopicPartitions:
        """Return a topic's partitions; brokers with automatic topic creation create the topic.

        Raises:
            MetadataError: No broker answers, or the topic has no partitions.
        """
        if (changes := self._view.change_count()) != self._changes_seen:
            self._known.clear()
            self._changes_seen = changes
        found = self._known.get(topic)
        if found is not None and (self._refresh_ms < 0 or self._clock.monotonic_ms() < found[1] + self._refresh_ms):
            return found[0]
        partitions = self._ask(topic)
        # Brokers learn of new partitions a moment after ZooKeeper. Until then the result is not cached.
        if partitions.partition_count >= self._view.partition_count(topic):
            self._known[topic] = partitions, self._clock.monotonic_ms()
        return partitions

    def forget(self) -> None:
        """Discard all metadata after a failure."""
        self._known.clear()

    def accepts_connections(self) -> bool:
        """Return whether at least one broker accepts connections."""
        return accepts_connections({*self._view.servers().split(","), *self._addresses} - {""}, self._connect_timeout_s)

    def _ask(self, topic: str) -> TopicPartitions:
        told, ends_ms = self._answer(topic), self._clock.monotonic_ms() + self._timeout_ms
        while _is_being_made(told) and self._clock.monotonic_ms() < ends_ms:
            # The request itself created the topic. Wait here, because no message was sent that could be retried.
            self._pause(_BEING_MADE_S)
            told = self._answer(topic)
        if told.error is not None:
            raise MetadataError(f"{topic}: {told.error.str()}", told.error.code())
        if not told.partitions:
            raise MetadataError(f"{topic} has no partitions")
        led = tuple(sorted(number for number, each in told.partitions.items() if each.leader >= 0))
        return TopicPartitions(len(told.partitions), led)

    def _answer(self, topic: str) -> "TopicMetadata":
        """Request metadata until a broker answers, no broker is reachable, or request.timeout.ms has passed."""
        producer, ends_ms = self._connections.of(topic), self._clock.monotonic_ms() + self._timeout_ms
        step_s = _FIRST_STEP_S
        while True:
            try:
                answer = producer.list_topics(topic, step_s)
                self._addresses = {f"{each.host}:{each.port}" for each in answer.brokers.values()}
                told: TopicMetadata = answer.topics[topic]
                return told
            except KafkaException as error:
                is_over = self._connections.have_moved or self._clock.monotonic_ms() >= ends_ms
                if is_over or not self.accepts_connections():
                    text = error.args[0].str()
                    raise MetadataError(f"no broker reports the partitions of {topic}: {text}") from None
                step_s *= 2


def _is_being_made(told: "TopicMetadata") -> bool:
    """Return whether the topic exists but its partitions do not exist yet."""
    return told.error is not None and told.error.code() == KafkaError.LEADER_NOT_AVAILABLE and not told.partitions
