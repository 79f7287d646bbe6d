"""librdkafka's side of a producer: one instance for compressed topics, one for the others.

Invariants:

- Acknowledged messages cause no callback.
- One thread at a time uses these objects: the producer's own thread, or a thread with the producer's lock.

Source: librdkafka's INTRODUCTION.md and CONFIGURATION.md.
"""

import logging
import socket
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.api.producer.chunk import Chunk
from barnabas.api.producer.settings import ProducerConfig
from barnabas.core.clock import Clock
from barnabas.core.errors import ConfigError

log = logging.getLogger(__name__)


class Connections:
    """The connections to the brokers, created on first use.

    Attributes:
        trouble: librdkafka's last error about the connections; callers reset it to None.
    """

    def __init__(self, config: ProducerConfig, servers: Callable[[], str], clock: Clock) -> None:
        """Args:
        servers: Returns the brokers; called when connections are created.
        """
        self._config = config
        self._servers = servers
        self._clock = clock
        self._producers: dict[str, Producer] = {}
        self._servers_used = ""
        self._made_ms = 0
        self._request_count = 0
        self.trouble: KafkaError | None = None

    @property
    def unsettled(self) -> int:
        """Return how many handed-over messages have no answer."""
        return sum(map(len, self._producers.values()))

    def open(self) -> None:
        """Create the first connections. Raises ConfigError if librdkafka rejects the settings."""
        if not self._producers:
            self._make("none" if self._config.compressed_topics else self._config.codec)

    @property
    def are_worn(self) -> bool:
        """Return whether the reconnect settings require new connections, or the brokers changed."""
        if not self._producers:
            return False
        if self.have_moved:
            return True
        number = self._config.settings.integer
        requests, ms = number("reconnect.interval"), number("reconnect.time.interval.ms")
        return (0 <= requests <= self._request_count) or (0 <= ms <= self._clock.monotonic_ms() - self._made_ms)

    @property
    def have_moved(self) -> bool:
        """Return whether the list of brokers has changed since the connections were created."""
        return bool(self._producers) and self._current_servers() != self._servers_used

    def _current_servers(self) -> str:
        """Return the brokers to use; if ZooKeeper lists none, the last known ones, which may register again."""
        return self._servers() or self._servers_used

    def of(self, topic: str) -> Producer:
        """Return the instance with the topic's compression."""
        codec = self._config.codec if self._config.is_compressed(topic) else "none"
        found = self._producers.get(codec)
        return self._make(codec) if found is None else found

    def _make(self, codec: str) -> Producer:
        if not self._producers:
            self._servers_used, self._made_ms = self._current_servers(), self._clock.monotonic_ms()
            self._request_count = 0
        options = self._config.librdkafka(self._servers_used, codec)
        try:
            made = Producer({**options, "error_cb": self._note, "delivery.report.only.error": True, "logger": log})
        except KafkaException as error:
            raise ConfigError(f"librdkafka rejects the settings: {error.args[0].str()}") from None
        self._producers[codec] = made
        return made

    def _note(self, error: KafkaError) -> None:
        self.trouble = error

    def hand_over(self, chunk: Chunk, partition: int) -> None:
        """Hand messages to librdkafka; wait while its queue is full.

        Messages that it rejects are recorded as failed.
        """
        producer = self.of(chunk.topic)
        self._request_count += 1
        produce, topic, key, note = producer.produce, chunk.topic, chunk.key_bytes, chunk.note
        for value in chunk.values:
            # hot path: benchmarks/clients (every message): positional arguments take a third less time.
            while True:
                try:
                    produce(topic, value, key, partition, note)
                    break
                except BufferError:
                    # Full by messages or by bytes. If no broker answers, message.timeout.ms empties the queue.
                    producer.poll(0.1)
                except KafkaException as error:
                    chunk.fail([value], error.args[0].code(), error.args[0].str())
                    break

    def poll(self) -> None:
        """Process librdkafka's pending events."""
        for producer in self._producers.values():
            producer.poll(0)

    def wait(self, timeout_s: float) -> None:
        """Flush all messages and wait for the answers, for at most `timeout_s`."""
        for producer in self._producers.values():
            if len(producer):
                producer.flush(timeout_s)

    def give_up(self) -> None:
        """Discard unsent messages and notify their senders. Messages already sent still get their answers."""
        for producer in self._producers.values():
            producer.purge(in_queue=True, in_flight=False)

    def abandon(self) -> None:
        """Discard every message without an answer."""
        for producer in self._producers.values():
            producer.purge(in_queue=True, in_flight=True)

    def drop(self) -> None:
        """Close all connections; no message may be unsettled."""
        self._producers.clear()


def accepts_connections(addresses: Iterable[str], timeout_s: float) -> bool:
    """Return whether at least one of the `host:port` addresses accepts a connection within the time.

    librdkafka reports lost connections, but not addresses that it fails to connect to. This probe runs only while
    answers are missing, so that senders learn in time that no broker is reachable.
    """
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout_s):
                return True
        except OSError:
            continue
    return False
