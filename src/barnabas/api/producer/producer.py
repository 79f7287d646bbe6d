"""The producer that the documents of 0.7 and 0.8 describe: sync, or async with a queue and a thread that sends batches.

    sync     send ─► encode ─► partition ─► librdkafka ─► answers ─► send returns, or raises
    async    send ─► hooks ─► queue ─► sender's thread: hooks ─► encode ─► partition ─► librdkafka ─► answers

Source: design document of 0.7, the producer; API document of 0.8.2, Producer API; docs/clients/producer.md.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, overload

from barnabas.api.errors import ClosedError, MissingExtraError
from barnabas.api.producer.backlog import Backlog
from barnabas.api.producer.chunk import Encoding
from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.encoders import new_encoder
from barnabas.api.producer.event_queue import EventQueue
from barnabas.api.producer.handlers import CallbackHandler, new_callback_handler, new_event_handler
from barnabas.api.producer.partitioners import new_partitioner
from barnabas.api.producer.settings import ProducerConfig
from barnabas.api.settings import Settings
from barnabas.core.build import install_hint
from barnabas.core.clock import SystemClock
from barnabas.core.dice import system_dice

if TYPE_CHECKING:
    from barnabas.api.producer.delivery import Delivery
    from barnabas.api.producer.metadata import ClusterView
    from barnabas.api.producer.sender import Sender

_MISSING = f"the producer needs librdkafka: {install_hint('clients')}"


class Producer:
    """Sends messages to topics. Threads may share one producer; close it after use."""

    def __init__(self, config: Mapping[str, object]) -> None:
        """Args:
        config: Documented settings by their names of 0.7 or 0.8; see docs/clients/producer.md.

        Raises:
            ConfigError: A setting is unknown, invalid, or contradicts another.
            MissingExtraError: librdkafka is not installed.
            StartupError: No ZooKeeper server answers at zookeeper.connect.
            NoBrokersError: No broker is known.
        """
        self._config = ProducerConfig(config)
        settings = self._config.settings
        encoder = new_encoder("serializer.class", settings.given_object("serializer.class"), config)
        key_class = settings.given_object("key.serializer.class")
        key_encoder = encoder if key_class is None else new_encoder("key.serializer.class", key_class, config)
        self._encoding = Encoding(encoder, key_encoder, settings.integer("max.message.size"))
        self._partitioner = new_partitioner(settings.given_object("partitioner.class"), config)
        self._clock = SystemClock()
        # Sync: guards senders. Async: guards `close`.
        self._lock = threading.Lock()
        self._is_closed = False
        self._hooks = CallbackHandler()
        self._handler = new_event_handler(
            settings.given_object("event.handler"), settings.given_object("event.handler.props")
        )
        self._view = _view(self._config)
        try:
            self._delivery = self._new_delivery(self._view)
            self._delivery.open()
            self._queue: EventQueue | None = None
            self._sender: Sender | None = None
            if self._config.is_async:
                self._start_sender()
        except BaseException:
            self._view.close()
            raise

    def _new_delivery(self, view: "ClusterView") -> "Delivery":
        from barnabas.api.producer.connections import Connections
        from barnabas.api.producer.delivery import Delivery
        from barnabas.api.producer.metadata import Metadata

        connections = Connections(self._config, view.servers, self._clock)
        metadata = Metadata(self._config, connections, view, self._clock, time.sleep)
        return Delivery(
            connections,
            metadata,
            self._partitioner,
            system_dice(),
            time.sleep,
            self._clock,
            self._config.settings.integer("message.send.max.retries"),
            self._config.backoff_s,
        )

    def _start_sender(self) -> None:
        from barnabas.api.producer.sender import Sender

        settings = self._config.settings
        self._hooks = new_callback_handler(
            settings.given_object("callback.handler"), settings.given_object("callback.handler.props")
        )
        self._queue = EventQueue(new_backlog(settings), settings.integer("queue.enqueue.timeout.ms"), self._clock)
        direct = _Direct(self._delivery, self._encoding)
        self._sender = Sender(self._queue, self._delivery, self._encoding, self._hooks, self._handler, direct)
        self._sender.start()

    @overload
    def send(self, topic: str, key: object, messages: Sequence[object], /) -> None: ...

    @overload
    def send(self, *data: ProducerData) -> None: ...

    def send(self, *given: object) -> None:
        """Send messages: `send(topic, key, messages)`, or any number of `ProducerData` in one call.

        A sync producer returns when the brokers have acknowledged all messages as request.required.acks requires. An
        async producer returns when they are queued, each `ProducerData` as one piece.

        Raises:
            SendError: Sync: the brokers rejected messages, or are unreachable, after all retries.
            QueueFullError: Async: the queue had no room in time.
            EncodingError, MessageTooLargeError, PartitionerError: Sync: nothing was sent. Async: `on_failure` of
                callback.handler is called.
            ClosedError: The producer is closed.
            TypeError: The arguments have neither form.
        """
        batch = _as_batch(given)
        if self._queue is None:
            with self._lock:
                if self._is_closed:
                    raise ClosedError("the producer is closed")
                _Direct(self._delivery, self._encoding).send(batch)
            return
        for data in batch:
            self._enqueue(self._queue, data)

    def _enqueue(self, queue: EventQueue, data: ProducerData) -> None:
        data = self._hooks.before_enqueue(data)
        is_added = False
        try:
            queue.put(data)
            is_added = True
        finally:
            self._hooks.after_enqueue(data, is_added)

    @property
    def queued_count(self) -> int:
        """Return how many messages the sender thread of an async producer has not taken yet."""
        return 0 if self._queue is None else self._queue.queued

    @property
    def failed_count(self) -> int:
        """Return how many messages an async producer has given up so far."""
        return 0 if self._sender is None else self._sender.failed_count

    def close(self) -> None:
        """Send queued messages, or give them up after all retries, and close; a second call does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._queue is not None and self._sender is not None:
                self._queue.close()
                self._sender.join()
                self._hooks.close()
                if self._handler is not None:
                    self._handler.close()
            self._delivery.close()
            self._view.close()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Direct:
    """Sends messages and waits for the answers."""

    def __init__(self, delivery: "Delivery", encoding: Encoding) -> None:
        self._delivery = delivery
        self._encoding = encoding

    def send(self, batch: Sequence[ProducerData]) -> None:
        self._delivery.begin([self._encoding.chunk(data) for data in batch], may_raise=True)
        self._delivery.finish()


def _as_batch(given: tuple[object, ...]) -> list[ProducerData]:
    match given:
        case (str(topic), key, messages) if isinstance(messages, Sequence):
            return [ProducerData(topic, key, messages)]
        case _ if all(isinstance(each, ProducerData) for each in given):
            return [each for each in given if isinstance(each, ProducerData)]
    raise TypeError("send(topic, key, messages) or send(ProducerData, ...)")


def new_backlog(settings: Settings) -> Backlog:
    """Create the backlog that the queue's settings describe."""
    return Backlog(
        settings.integer("queue.buffering.max.messages"),
        settings.integer("batch.num.messages"),
        settings.integer("queue.buffering.max.ms"),
    )


def _view(config: ProducerConfig) -> "ClusterView":
    try:
        from barnabas.api.producer.metadata import StaticBrokers
    except ImportError as error:
        raise MissingExtraError(_MISSING) from error
    if config.servers:
        return StaticBrokers(config.servers)
    from barnabas.api.producer.zookeeper_view import ZooKeeperView

    return ZooKeeperView(
        config.zookeeper,
        config.settings.security.get("security.protocol", "PLAINTEXT").upper(),
        config.settings.integer("zk.read.num.retries"),
        config.sync_time_s,
    )
