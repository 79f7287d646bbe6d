"""ConsumerConnector: streams of messages for a program's threads; the members of a group share the partitions.

    with ConsumerConnector({"zookeeper.connect": "127.0.0.1:2181", "group.id": "g"}) as connector:
        streams = connector.create_message_streams({"t": 2})
        for message in streams["t"][0]:
            print(message.message)

An event loop on a dedicated thread does all work except the reading of streams.

Source: design and implementation documents, the consumer (high level); Kafka 0.8.2.2, ConsumerConnector.
"""

import socket
import threading
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from barnabas.api.connector.decoders import Decoder, DefaultDecoder
from barnabas.api.connector.errors import MessageStreamsExistError
from barnabas.api.connector.running import RunningConsumer, consumer_name
from barnabas.api.connector.settings import TABLE
from barnabas.api.connector.stream import KafkaStream, Sink
from barnabas.api.connector.topic_filter import TopicFilter
from barnabas.api.errors import ClosedError
from barnabas.api.loop_thread import LoopThread
from barnabas.clients.environment import ClientEnvironment, Streams, machine_environment
from barnabas.clients.environment import dial as dial_plainly
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.clients.zookeeper.settings import zookeeper_options
from barnabas.core.dice import system_dice
from barnabas.core.errors import ConfigError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.consumers import ConsumerThread, Pattern, Subscription

K = TypeVar("K")
V = TypeVar("V")

_DEFAULT = DefaultDecoder()


class ConsumerConnector:
    """One consumer; also a context manager, which shuts it down.

    Its methods may be called from any thread; each stream may be used by one thread at a time.

    Attributes:
        consumer_id: Its name in the group, as in ZooKeeper.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        """Connect to ZooKeeper.

        Args:
            config: By documented names, see `settings.py`; group.id and zookeeper.connect are required.

        Raises:
            ConfigError: A setting is unknown, missing or invalid.
            StartupError: No ZooKeeper answers within zookeeper.connection.timeout.ms.
        """
        self._settings = TABLE.read(config)
        for name in ("group.id", "zookeeper.connect"):
            if not self._settings.text(name):
                raise ConfigError(f"{name} is missing: a consumer connector needs it")
        group_id = self._settings.text("group.id")
        if "/" in group_id or group_id in (".", ".."):
            raise ConfigError(f"group.id={group_id}: must not contain /, because it is part of a path")
        buffer_bytes = self._settings.integer("socket.receive.buffer.bytes")
        self._env = _environment(buffer_bytes)
        self.consumer_id = consumer_name(self._settings, self._env, socket.gethostname())
        self._lock = threading.Lock()
        self._is_shut_down = False
        self._has_streams = False
        self._running: RunningConsumer | None = None
        self._sinks: list[Sink] = []
        self._loop = LoopThread(f"barnabas {self.consumer_id}")
        try:
            self._registry: Registry = self._loop.run(ZooKeeperRegistry.open(self._zookeeper()))
        except BaseException:
            self._loop.stop()
            raise

    def __enter__(self) -> "ConsumerConnector":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    @overload
    def create_message_streams(self, topic_count: Mapping[str, int]) -> dict[str, list[KafkaStream[bytes, bytes]]]: ...

    @overload
    def create_message_streams(
        self, topic_count: Mapping[str, int], key_decoder: Decoder[K], value_decoder: Decoder[V]
    ) -> dict[str, list[KafkaStream[K, V]]]: ...

    def create_message_streams(
        self,
        topic_count: Mapping[str, int],
        key_decoder: Decoder[Any] = _DEFAULT,
        value_decoder: Decoder[Any] = _DEFAULT,
    ) -> dict[str, list[KafkaStream[Any, Any]]]:
        """Join the group and read topics.

        Args:
            topic_count: Topic to the number of streams, each for a thread. Topics need not exist yet.
            key_decoder: Decodes each message's `key`.
            value_decoder: Decodes each message's `message`.

        Returns:
            The streams of each topic.

        Raises:
            MessageStreamsExistError: The connector has created its streams already.
            ConsumerRebalanceFailedError: The group could not assign its partitions. The connector is shut down.
            ClosedError: The connector was shut down.
            ValueError: No topic is given, or a number of streams is below 1.
        """
        if not topic_count or any(count < 1 for count in topic_count.values()):
            raise ValueError(f"{dict(topic_count)} must name topics, each with 1 stream or more")
        streams = {
            topic: [self._new_stream(key_decoder, value_decoder) for _ in range(count)]
            for topic, count in topic_count.items()
        }

        def sink_of(partition: TopicPartition, thread: ConsumerThread) -> Sink:
            return streams[partition.topic][thread.number]

        self._join(dict(topic_count), Pattern.STATIC, sink_of, [each for some in streams.values() for each in some])
        return streams

    @overload
    def create_message_streams_by_filter(
        self, topic_filter: TopicFilter, stream_count: int = 1
    ) -> list[KafkaStream[bytes, bytes]]: ...

    @overload
    def create_message_streams_by_filter(
        self, topic_filter: TopicFilter, stream_count: int, key_decoder: Decoder[K], value_decoder: Decoder[V]
    ) -> list[KafkaStream[K, V]]: ...

    def create_message_streams_by_filter(
        self,
        topic_filter: TopicFilter,
        stream_count: int = 1,
        key_decoder: Decoder[Any] = _DEFAULT,
        value_decoder: Decoder[Any] = _DEFAULT,
    ) -> list[KafkaStream[Any, Any]]:
        """Join the group and read all topics that a filter matches, future ones included.

        Args:
            topic_filter: A `WhiteList` or `BlackList`.
            stream_count: The number of streams, each with messages of any of the topics.
            key_decoder, value_decoder: See `create_message_streams`.

        Raises:
            MessageStreamsExistError, ConsumerRebalanceFailedError, ClosedError: See `create_message_streams`.
            ValueError: The number of streams is below 1.
        """
        if stream_count < 1:
            raise ValueError(f"{stream_count} streams: must be 1 or more")
        streams = [self._new_stream(key_decoder, value_decoder) for _ in range(stream_count)]

        def sink_of(partition: TopicPartition, thread: ConsumerThread) -> Sink:
            return streams[thread.number]

        self._join({topic_filter.regex: stream_count}, topic_filter.pattern, sink_of, list(streams))
        return streams

    def commit_offsets(self) -> None:
        """Store the offset after the last message taken from each partition owned now.

        Raises:
            OffsetCommitError: Not all offsets could be stored.
            ClosedError: The connector was shut down; if this happened during the call, the outcome is unknown.
        """
        self._check_open()
        if self._running is not None:
            self._loop.run(self._running.commit_offsets())

    def shutdown(self) -> None:
        """Leave the group and end the streams; with auto.commit.enable, store offsets first.

        A second call does nothing.

        Raises:
            OffsetCommitError: The offsets could not be stored. The connector is shut down all the same.
        """
        with self._lock:
            if self._is_shut_down:
                return
            self._is_shut_down = True
        try:
            self._loop.run(self._registry.close() if self._running is None else self._running.stop())
        finally:
            for sink in self._sinks:
                sink.end()
            self._loop.stop()

    def _join(self, topics: dict[str, int], pattern: Pattern, sink_of: Any, sinks: "list[Any]") -> None:
        with self._lock:
            self._check_open()
            if self._has_streams:
                raise MessageStreamsExistError(
                    "a consumer connector creates streams only once: create another connector"
                )
            self._has_streams = True
        subscription = Subscription(topics, pattern, self._env.clock.now_ms())
        self._sinks = sinks

        async def start() -> None:
            self._running = RunningConsumer(
                self._registry, self._settings, self._env, self.consumer_id, subscription, sink_of
            )
            await self._running.start()

        try:
            self._loop.run(start())
        except BaseException:
            self.shutdown()
            raise

    def _new_stream(self, key_decoder: Decoder[K], value_decoder: Decoder[V]) -> KafkaStream[K, V]:
        return KafkaStream(
            self._settings.integer("queued.max.message.chunks"),
            self._note_room,
            self._settings.integer("consumer.timeout.ms"),
            key_decoder,
            value_decoder,
        )

    def _note_room(self) -> None:
        """Resume fetching after a stream has room again; runs in a program's thread."""
        if self._running is not None:
            self._loop.call_soon(self._running.fetchers.note_room)

    def _zookeeper(self) -> ZooKeeperOptions:
        session_ms = self._settings.integer("zookeeper.session.timeout.ms")
        is_given = "zookeeper.connection.timeout.ms" in self._settings.given
        return zookeeper_options(
            self._settings.text("zookeeper.connect"),
            self._settings.security,
            system_dice(),
            session_timeout_ms=session_ms,
            connection_timeout_ms=self._settings.integer("zookeeper.connection.timeout.ms") if is_given else session_ms,
        )

    def _check_open(self) -> None:
        if self._is_shut_down:
            raise ClosedError(f"consumer connector {self.consumer_id} was shut down")


def _environment(receive_buffer_bytes: int) -> ClientEnvironment:
    """Return the default environment, with this receive buffer size for connections."""

    async def dial(host: str, port: int) -> Streams:
        reader, writer = await dial_plainly(host, port)
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        return reader, writer

    environment = machine_environment()
    environment.dial = dial
    return environment
