"""A stream: the messages of some partitions, in sequence, for one thread of the program.

Chunks (the messages of one partition from one fetch) wait in a queue in their fetched form. The program's thread
decodes them when it reads them.

Invariants:

- Messages are returned only while their partition is owned: `OwnedPartition.release` and `KafkaStream.__next__` exclude
  each other, so the stored offset covers exactly the returned messages.
- The consumed offset is the one after the last returned message; at the end of a chunk, that of the next chunk.

Source: design document, the consumer; Kafka 0.8.2.2, ConsumerIterator and PartitionTopicInfo.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from barnabas.api.connector.decoders import Decoder
from barnabas.api.connector.errors import ConsumerTimeoutError
from barnabas.api.message_set import MessageAndOffset, MessageSet
from barnabas.core.types import NO_OFFSET, TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class MessageAndMetadata(Generic[K, V]):
    """One message with its topic, partition and offset.

    Attributes:
        topic: Its topic.
        partition: Its partition number.
        offset: Its offset; to resume after it, use `next_offset`.
        raw_key, raw_message: The bytes; None: null.
        timestamp_ms: When it was created or appended; -1: unknown.
        headers: Names and values, in order; records from before Kafka 0.11 have none.
    """

    __slots__ = (
        "_key_decoder",
        "_value_decoder",
        "headers",
        "next_offset",
        "offset",
        "partition",
        "raw_key",
        "raw_message",
        "timestamp_ms",
        "topic",
    )

    def __init__(
        self, source: TopicPartition, given: MessageAndOffset, key_decoder: Decoder[K], value_decoder: Decoder[V]
    ) -> None:
        self.topic, self.partition = source
        self.offset, self.next_offset, message = given
        self.raw_key = message.key
        self.raw_message = message.payload
        self.timestamp_ms = message.timestamp_ms
        self.headers = message.headers
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    @property
    def key(self) -> K | None:
        """Return the key, decoded on each call; None: null. Raises the decoder's errors."""
        return None if self.raw_key is None else self._key_decoder.from_bytes(self.raw_key)

    @property
    def message(self) -> V | None:
        """Return the message, decoded on each call; None: null. Raises the decoder's errors."""
        return None if self.raw_message is None else self._value_decoder.from_bytes(self.raw_message)

    def __repr__(self) -> str:
        return f"MessageAndMetadata({self.topic}-{self.partition} at {self.offset})"


class Sink:
    """The queue of chunks between fetchers and a stream; the fetchers' side of a stream.

    Attributes:
        lock: Held while a message is returned, and while a partition is released.
    """

    def __init__(self, most_chunks: int, note_room: Callable[[], object]) -> None:
        """Args:
        most_chunks: Number of waiting chunks at which fetching pauses (queued.max.message.chunks).
        note_room: Called in the program's thread when the queue has room again.
        """
        self.lock = threading.Lock()
        self._most_chunks = most_chunks
        self._note_room = note_room
        self._is_full = False
        self._chunks: SimpleQueue[_Chunk | BaseException | None] = SimpleQueue()
        # The chunk that the program is reading.
        self._chunk: _Chunk | None = None
        self._messages: Iterator[MessageAndOffset] = iter(())
        self._is_ended = False

    @property
    def has_room(self) -> bool:
        """Return whether more may be fetched; if not, `note_room` will be called."""
        if self._chunks.qsize() < self._most_chunks:
            return True
        # Set the flag before the second check: the program may take a chunk between the two checks.
        self._is_full = True
        return self._chunks.qsize() < self._most_chunks

    def put(self, source: "OwnedPartition", messages: MessageSet) -> None:
        """Add a chunk."""
        self._chunks.put(_Chunk(source, messages))

    def fail(self, error: BaseException) -> None:
        """Raise an error in the program's thread, once, when it reaches this point of the queue."""
        self._chunks.put(error)

    def forget_offset(self, source: "OwnedPartition") -> bool:
        """Forget a partition's offsets, if the program has read all its fetched messages; return whether it has."""
        with self.lock:
            if source.consumed_offset != source.fetch_offset:
                return False
            source.fetch_offset = source.consumed_offset = NO_OFFSET
            if self._chunk is not None and self._chunk.source is source:
                # Its end must not become the consumed offset again.
                self._chunk = None
            return True

    def clear(self) -> None:
        """Discard all chunks, because their partitions were released."""
        kept: list[BaseException | None] = []
        with contextlib.suppress(Empty):
            while True:
                waiting = self._chunks.get_nowait()
                if not isinstance(waiting, _Chunk):
                    kept.append(waiting)
        for each in kept:
            self._chunks.put(each)

    def end(self) -> None:
        """End the stream after the queued chunks."""
        self._is_ended = True
        self._chunks.put(None)

    def _take(self, timeout_s: float | None) -> "tuple[OwnedPartition, MessageAndOffset] | None":
        """Return the next message; None: the stream has ended.

        Raises ConsumerTimeoutError, and errors given to `fail`.
        """
        while True:
            with self.lock:
                given = self._take_current()
            if given is not None:
                return given
            if self._is_ended:
                return None
            try:
                chunk = self._chunks.get(timeout=timeout_s)
            except Empty:
                assert timeout_s is not None
                raise ConsumerTimeoutError(f"no message within {timeout_s * 1000:.0f} ms") from None
            if self._is_full:
                self._is_full = False
                self._note_room()
            if isinstance(chunk, BaseException):
                raise chunk
            if chunk is not None:
                with self.lock:
                    self._chunk, self._messages = chunk, iter(chunk.messages)

    def _take_current(self) -> "tuple[OwnedPartition, MessageAndOffset] | None":
        if self._chunk is None:
            return None
        source, messages = self._chunk
        if not source.is_released:
            try:
                given = next(self._messages, None)
            except Exception:
                # Damaged data cannot be skipped, because the start of the next message is unknown.
                self._chunk = None
                source.is_failed = True
                raise
            except BaseException:
                # An interrupt ended the iteration: resume at the consumed offset.
                self._messages = iter(MessageSet(messages.data, max(source.consumed_offset, messages.fetch_offset)))
                raise
            if given is not None:
                source.consumed_offset = given.next_offset
                return source, given
            # Transaction markers after the last message are consumed too.
            source.consumed_offset = messages.next_offset
        self._chunk = None
        return None


class OwnedPartition:
    """A partition from its claim to its release.

    Attributes:
        name: Topic and number.
        sink: The queue for its messages.
        fetch_offset: The next offset to fetch; -1: determined by auto.offset.reset.
        consumed_offset: The next offset to return to the program, which is stored; -1: not known yet.
        is_released: Another member may own it.
        is_failed: It is not read any more.
    """

    __slots__ = ("consumed_offset", "fetch_offset", "is_failed", "is_released", "name", "sink")

    def __init__(self, name: TopicPartition, sink: Sink, offset: int = NO_OFFSET) -> None:
        self.name = name
        self.sink = sink
        self.fetch_offset = offset
        self.consumed_offset = offset
        self.is_released = False
        self.is_failed = False

    def begin_at(self, offset: int) -> None:
        """Set the offset of the first message, if it was unknown."""
        with self.sink.lock:
            if self.consumed_offset < 0:
                self.consumed_offset = offset

    def release(self) -> int:
        """Stop returning messages of the partition; return the final consumed offset (-1: not known)."""
        with self.sink.lock:
            self.is_released = True
            return self.consumed_offset


class _Chunk(NamedTuple):
    source: OwnedPartition
    messages: MessageSet


class KafkaStream(Sink, Generic[K, V]):
    """Iterator of messages, for one thread. It ends when the connector is shut down."""

    def __init__(
        self,
        most_chunks: int,
        note_room: Callable[[], object],
        timeout_ms: int,
        key_decoder: Decoder[K],
        value_decoder: Decoder[V],
    ) -> None:
        """Args:
        timeout_ms: How long to wait for a message (consumer.timeout.ms); -1: forever.
        """
        super().__init__(most_chunks, note_room)
        self._timeout_s = None if timeout_ms < 0 else timeout_ms / 1000
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    def __iter__(self) -> "KafkaStream[K, V]":
        return self

    def __next__(self) -> MessageAndMetadata[K, V]:
        """Return the next message, which counts as consumed from then on.

        Raises:
            StopIteration: The connector was shut down.
            ConsumerTimeoutError: No message arrived in time; the stream stays usable.
            BrokerError: A partition cannot be read; the stream continues with others.
        """
        taken = self._take(self._timeout_s)
        if taken is None:
            # Keep the end marker for the next call.
            self._chunks.put(None)
            raise StopIteration
        source, given = taken
        return MessageAndMetadata(source.name, given, self._key_decoder, self._value_decoder)
