"""The simple consumer: one connection to one broker, and no other state.

    with SimpleConsumer("127.0.0.1", 9092) as consumer:
        offset = consumer.get_offsets_before("t", 0, EARLIEST_TIME)[0]
        for offset, next_offset, message in consumer.fetch("t", 0, offset):
            print(message.payload)

Source: design and implementation documents, the simple consumer API.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from barnabas.api.async_simple_consumer import (
    DEFAULT_MAX_MESSAGE_SIZE,
    EARLIEST_TIME,
    IN_ZOOKEEPER,
    LATEST_TIME,
    AsyncSimpleConsumer,
    FetchRequest,
    OffsetAndMetadata,
    Offsets,
)
from barnabas.api.errors import ClosedError
from barnabas.api.loop_thread import LoopThread
from barnabas.api.message_set import Message, MessageAndOffset, MessageSet
from barnabas.api.simple_consumer_settings import overridden
from barnabas.clients.environment import ClientEnvironment
from barnabas.core.types import TopicPartition

__all__ = [
    "EARLIEST_TIME",
    "IN_ZOOKEEPER",
    "LATEST_TIME",
    "FetchRequest",
    "Message",
    "MessageAndOffset",
    "MessageSet",
    "OffsetAndMetadata",
    "SimpleConsumer",
]


class SimpleConsumer:
    """Reads partitions from the broker that leads them, and stores offsets there for groups.

    The consumer connects on the first request. If the connection breaks or an answer does not come in time, it connects
    again and tries once more; a second failure is raised. Threads may share a consumer: the broker answers one request
    after another. Programs with an event loop use `AsyncSimpleConsumer`.
    """

    def __init__(
        self,
        host: str,
        port: int,
        socket_timeout_ms: int | None = None,
        buffer_size: int | None = None,
        client_id: str | None = None,
        config: Mapping[str, object] | None = None,
        *,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        broker_version: str | None = None,
        env: ClientEnvironment | None = None,
    ) -> None:
        """Args:
        host, port: The broker's address.
        socket_timeout_ms: Timeout of each request; `socket.timeout.ms` by its documented name.
        buffer_size: Receive buffer in bytes; `socket.receive.buffer.bytes`.
        client_id: The program's name for the broker; `client.id`.
        config: Settings by their documented names, including security settings; arguments override them.
        max_message_size: Maximum size of a fetch for a message that does not fit, in bytes, at most 255 MiB. A message
            that newer brokers return whole may be larger.
        broker_version: Version of a broker before 0.10, such as `0.8.1`. None: ApiVersions is sent, and a broker that
            does not answer it is treated as 0.8.2.
        env: The environment; the system's own by default.

        Raises:
            ConfigError: A setting is unknown or invalid.
        """
        given = {
            "socket.timeout.ms": socket_timeout_ms,
            "socket.receive.buffer.bytes": buffer_size,
            "client.id": client_id,
        }
        settings = overridden(config or {}, {name: value for name, value in given.items() if value is not None})
        self._address = f"{host}:{port}"
        self._consumer = AsyncSimpleConsumer(
            host, port, settings, max_message_size=max_message_size, broker_version=broker_version, env=env
        )
        self._loop: LoopThread | None = LoopThread(f"simple-consumer-{self._address}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and fail pending requests; a second call does nothing."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.run(self._consumer.close())
            loop.stop()

    # --- messages

    def fetch(
        self,
        request: FetchRequest | str,
        partition: int = 0,
        offset: int = 0,
        max_size: int = 0,
        *,
        max_wait_ms: int | None = None,
        min_bytes: int | None = None,
    ) -> MessageSet:
        """Fetch messages of one partition from an offset on.

        Args:
            request: The partition, offset and size; or the topic, with the other three as arguments.
            max_size: The maximum size in bytes; 0: `fetch.message.max.bytes`. It grows for a message that does not
                fit.
            max_wait_ms: How long the broker may wait for `min_bytes`; `fetch.wait.max.ms` by default.
            min_bytes: `fetch.min.bytes` by default.

        Returns:
            The available messages; empty at the end of the log. Damaged messages raise an error during iteration.

        Raises:
            OffsetOutOfRangeError: The log begins after the offset, or ends before it.
            NotLeaderError, UnknownTopicOrPartitionError: Another broker leads the partition; or it does not exist.
            MessageSizeTooLargeError: The message at the offset needs more than `max_message_size`.
            BrokerError: The broker rejected the request for another reason, or cannot be reached.
            ClosedError: The consumer was closed.
            ValueError: `max_wait_ms` exceeds the request timeout.
        """
        return self._run().run(
            self._consumer.fetch(request, partition, offset, max_size, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
        )

    def multifetch(
        self, requests: Sequence[FetchRequest], *, max_wait_ms: int | None = None, min_bytes: int | None = None
    ) -> list[MessageSet]:
        """Fetch messages of several partitions in one request.

        Args:
            requests: The partitions, each once.
            max_wait_ms, min_bytes: As for `fetch`; all partitions count together.

        Returns:
            A set for each partition, in the order of the requests. The error of one partition is in its set.

        Raises:
            BrokerError: The broker rejected the whole request, or cannot be reached.
            ClosedError: The consumer was closed.
            ValueError: A partition is named twice, or `max_wait_ms` exceeds the request timeout.
        """
        return self._run().run(self._consumer.multifetch(requests, max_wait_ms=max_wait_ms, min_bytes=min_bytes))

    # --- offsets of the log

    def get_offsets_before(self, topic: str, partition: int, time: int, max_offsets: int = 1) -> list[int]:
        """Return the start offsets of log segments that were last written before a time.

        Args:
            time: In ms since 1970; or `LATEST_TIME`, which returns the end of the log first, or `EARLIEST_TIME`.
            max_offsets: The maximum number of offsets.

        Returns:
            The offsets in descending order; empty if everything was written later.

        Raises:
            UnsupportedVersionError: The broker is Kafka 4 or later, which returns only the log's start and end.
            BrokerError: As from `fetch`.
            ClosedError: The consumer was closed.
        """
        return self._run().run(self._consumer.get_offsets_before(topic, partition, time, max_offsets))

    # --- offsets of groups

    def commit_offsets(self, group_id: str, offsets: Offsets, *, version: int = IN_ZOOKEEPER) -> None:
        """Store a group's read positions.

        Args:
            offsets: The next offset to read of each partition, optionally with a metadata text.
            version: Version of the request: 0 stores offsets in ZooKeeper, without the text, through any broker; 1 and
                later in Kafka, through the group's coordinator alone.

        Raises:
            NotCoordinatorError: Another broker coordinates the group.
            UnsupportedVersionError: The broker does not support this version.
            BrokerError: Some offsets were not stored: its `partitions` names them. Or as from `fetch`.
            ClosedError: The consumer was closed.
        """
        self._run().run(self._consumer.commit_offsets(group_id, offsets, version=version))

    def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition | tuple[str, int]], *, version: int = IN_ZOOKEEPER
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that a group has committed.

        Args:
            version: As for `commit_offsets`; each version reads only its own store.

        Returns:
            The offset of each partition; -1 if no offset is stored, or the partition does not exist.

        Raises:
            BrokerError: As from `commit_offsets`.
            ClosedError: The consumer was closed.
        """
        return self._run().run(self._consumer.fetch_offsets(group_id, partitions, version=version))

    # --- leaders and coordinators

    def find_leader(self, topic: str, partition: int) -> tuple[str, int]:
        """Return host and port of the broker that leads a partition: fetch from that broker.

        Raises:
            LeaderNotAvailableError: The partition has no leader now.
            UnknownTopicOrPartitionError: The partition does not exist.
            BrokerError: The broker cannot be reached.
            ClosedError: The consumer was closed.
        """
        return self._run().run(self._consumer.find_leader(topic, partition))

    def find_coordinator(self, group_id: str) -> tuple[str, int]:
        """Return host and port of the broker that stores a group's offsets, for version 1 and later.

        Raises:
            CoordinatorNotAvailableError: The group has no coordinator now.
            UnsupportedVersionError: The broker is older than 0.8.2, and stores no offsets.
            BrokerError: The broker cannot be reached.
            ClosedError: The consumer was closed.
        """
        return self._run().run(self._consumer.find_coordinator(group_id))

    def _run(self) -> LoopThread:
        if self._loop is None:
            raise ClosedError(f"the consumer of {self._address} was closed")
        return self._loop
