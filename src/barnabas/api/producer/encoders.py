"""Encoders: convert messages and keys to bytes (`serializer.class`, `key.serializer.class`).

A class is called with the producer's configuration if its constructor takes an argument, as in Java, and without one
otherwise.

Source: Kafka 0.8.2, kafka.serializer.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from barnabas.api.producer.errors import EncodingError
from barnabas.api.settings import load
from barnabas.core.errors import ConfigError


@runtime_checkable
class Encoder(Protocol):
    """Converts messages of one type to bytes; called in one thread at a time."""

    def to_bytes(self, message: object) -> bytes:
        """Return the bytes of a message, which is never None."""
        ...


class DefaultEncoder:
    """Returns bytes unchanged."""

    def to_bytes(self, message: object) -> bytes:
        if isinstance(message, bytes):
            return message
        if isinstance(message, bytearray | memoryview):
            return bytes(message)
        raise EncodingError(
            f"DefaultEncoder takes bytes and not {type(message).__name__}: encode it, or set serializer.class"
        )


class StringEncoder:
    """Encodes text, in UTF-8 unless `serializer.encoding` names another encoding."""

    def __init__(self, config: Mapping[str, object] | None = None) -> None:
        self._encoding = str((config or {}).get("serializer.encoding") or "UTF8")
        try:
            "".encode(self._encoding)
        except LookupError as error:
            raise ConfigError(f"serializer.encoding={self._encoding}: {error}") from None

    def to_bytes(self, message: object) -> bytes:
        if not isinstance(message, str):
            raise EncodingError(f"StringEncoder takes text, not {type(message).__name__}")
        return message.encode(self._encoding)


JAVA_NAMES: Final[Mapping[str, object]] = {
    "kafka.serializer.DefaultEncoder": DefaultEncoder,
    "kafka.serializer.StringEncoder": StringEncoder,
}


def new_encoder(name: str, value: object, config: Mapping[str, object]) -> Encoder:
    """Return the encoder that a setting names, or the setting itself if it is an encoder.

    Raises:
        ConfigError: The value is invalid.
    """
    made = instance(load(name, value, JAVA_NAMES), config)
    if not isinstance(made, Encoder):
        raise ConfigError(f"{name}={value}: an encoder must have a method to_bytes(message)")
    return made


def instance(found: object, config: Mapping[str, object]) -> object:
    """Return an instance of a class; return any other object unchanged."""
    if not isinstance(found, type):
        return found
    made: object = found(config) if _takes_an_argument(found) else found()
    return made


def _takes_an_argument(found: type) -> bool:
    try:
        parameters = inspect.signature(found).parameters.values()
    except ValueError:
        # A class written in C without a signature.
        return False
    return any(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters)


def encode_all(encoder: Encoder, messages: Sequence[object]) -> list[bytes | None]:
    """Return the bytes of messages. Raises EncodingError."""
    # hot path: benchmarks/clients (every message): no call if all messages are bytes.
    if type(encoder) is DefaultEncoder and set(map(type, messages)) <= {bytes}:
        return messages if isinstance(messages, list) else list(messages)  # type: ignore[arg-type]
    return [encode(encoder, message) for message in messages]


def encode(encoder: Encoder, message: object) -> bytes | None:
    """Return the bytes of one message; None stays None. Raises EncodingError."""
    if message is None:
        return None
    encoded = encoder.to_bytes(message)
    if not isinstance(encoded, bytes):
        raise EncodingError(f"{type(encoder).__name__}.to_bytes returned {type(encoded).__name__}, not bytes")
    return encoded
