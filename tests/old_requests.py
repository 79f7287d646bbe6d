"""Requests of Kafka 0.7 as bytes, without their size."""

import struct
from collections.abc import Sequence


def _text(topic: str) -> bytes:
    return struct.pack(">h", len(topic)) + topic.encode()


def _produced(topic: str, partition: int, messages: bytes) -> bytes:
    return _text(topic) + struct.pack(">ii", partition, len(messages)) + messages


def _fetched(topic: str, partition: int, offset: int, max_size: int) -> bytes:
    return _text(topic) + struct.pack(">iqi", partition, offset, max_size)


def produce(topic: str, partition: int = -1, messages: bytes = b"") -> bytes:
    return struct.pack(">h", 0) + _produced(topic, partition, messages)


def fetch(topic: str, partition: int = 0, offset: int = 0, max_size: int = 1 << 20) -> bytes:
    return struct.pack(">h", 1) + _fetched(topic, partition, offset, max_size)


def multifetch(bodies: Sequence[tuple[str, int, int]], max_size: int = 1 << 20) -> bytes:
    return struct.pack(">hh", 2, len(bodies)) + b"".join(_fetched(*body, max_size) for body in bodies)


def multiproduce(bodies: Sequence[tuple[str, int, bytes]]) -> bytes:
    return struct.pack(">hh", 3, len(bodies)) + b"".join(_produced(*body) for body in bodies)


def offsets(topic: str, partition: int = 0, time: int = -1, max_count: int = 1) -> bytes:
    return struct.pack(">h", 4) + _fetched(topic, partition, time, max_count)
