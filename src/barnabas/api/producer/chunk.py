"""Encoded messages of one topic and key for one partition, and the record of failed ones."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.encoders import Encoder, encode, encode_all
from barnabas.api.producer.errors import MessageTooLargeError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


class Chunk:
    """Messages that are sent together.

    Attributes:
        key: The program's key, for the partitioner; None: any partition.
        key_bytes: The encoded key.
        failures: The list of undelivered messages, shared by all chunks of a delivery.
    """

    __slots__ = ("failures", "key", "key_bytes", "number", "topic", "values")

    def __init__(self, topic: str, key: object, key_bytes: bytes | None, values: Sequence[bytes | None]) -> None:
        self.topic = topic
        self.key = key
        self.key_bytes = key_bytes
        self.values = values
        self.number = 0
        self.failures: list[Failure] = []

    def note(self, error: "KafkaError | None", message: "Message") -> None:
        """Record a message that was not delivered."""
        if error is not None:
            self.failures.append(Failure(self, message.value(), error.code(), error.str()))

    def fail(self, values: Iterable[bytes | None], code: int, reason: str) -> None:
        """Record messages that could not be handed to librdkafka."""
        self.failures += [Failure(self, value, code, reason) for value in values]


class Failure(NamedTuple):
    """A message that was not delivered.

    Attributes:
        code: The error code of librdkafka or a broker.
    """

    chunk: Chunk
    value: bytes | None
    code: int
    reason: str


def gathered(failures: Iterable[Failure]) -> list[Chunk]:
    """Gather failed messages into new chunks, in the order in which they were sent."""
    in_order = sorted(failures, key=lambda failure: failure.chunk.number)
    return [
        Chunk(chunk.topic, chunk.key, chunk.key_bytes, [failure.value for failure in group])
        for chunk, group in groupby(in_order, key=lambda failure: failure.chunk)
    ]


def as_data(chunks: Iterable[Chunk]) -> list[ProducerData]:
    """Convert chunks back to `ProducerData` with encoded messages."""
    return [ProducerData(chunk.topic, chunk.key_bytes, chunk.values) for chunk in chunks]


class Encoding:
    """Encodes messages into chunks."""

    def __init__(self, encoder: Encoder, key_encoder: Encoder, largest_bytes: int) -> None:
        """Args:
        largest_bytes: max.message.size.
        """
        self._encoder = encoder
        self._key_encoder = key_encoder
        self._largest_bytes = largest_bytes

    def chunk(self, data: ProducerData) -> Chunk:
        """Encode messages.

        Raises:
            EncodingError: An encoder failed.
            MessageTooLargeError: A message is larger than max.message.size.
        """
        key = encode(self._key_encoder, data.key)
        values = encode_all(self._encoder, data.messages)
        try:
            largest = max(map(len, values), default=0)  # type: ignore[arg-type]  # None is handled below
        except TypeError:
            largest = max((len(value) for value in values if value is not None), default=0)
        if (size := largest + len(key or b"")) > self._largest_bytes:
            raise MessageTooLargeError(
                f"a message of {size} bytes for {data.topic}: max.message.size is {self._largest_bytes}"
            )
        return Chunk(data.topic, data.key, key, values)
