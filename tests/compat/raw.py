"""Requests as bytes, for what no client library would ever send."""

import contextlib
import socket
import struct
from collections.abc import Sequence
from typing import Any, Self

from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey, response_class
from barnabas.wire.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.protocol.wire import Budget, WireBuffer
from tests.patience import PATIENCE_S


def header(api_key: int, version: int, client_id: bytes = b"test") -> bytes:
    """Return a request's header; its correlation id is 7."""
    is_flexible = version >= FIRST_FLEXIBLE_VERSION[api_key]
    return struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id + b"\0" * is_flexible


def encoded(request: Any, version: int, client_id: bytes = b"test") -> bytes:
    """Return a request's header and body, without their size."""
    out = WireBuffer(header(request.API_KEY, version, client_id))
    request.encode(version, out)
    return bytes(out)


def decoded(api_key: int, version: int, frame: bytes) -> Any:
    """Return the response of a frame, which must be used up."""
    assert struct.unpack_from(">i", frame)[0] == 7
    is_flexible = version >= FIRST_FLEXIBLE_VERSION[api_key] and api_key != ApiKey.API_VERSIONS
    answer, end = response_class(api_key).decode(version, memoryview(frame), 4 + is_flexible, Budget(1 << 40))
    assert end == len(frame)
    return answer


def read_frame(sock: socket.socket) -> bytes | None:
    """Return the next frame without its size; None when the connection is closed."""
    size = _read(sock, 4)
    return None if size is None else _read(sock, struct.unpack(">i", size)[0])


def _read(sock: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        try:
            part = sock.recv(count - len(data))
        except ConnectionError:
            part = b""
        if not part:
            return None
        data += part
    return bytes(data)


class Peer:
    """One connection, which sends requests one by one."""

    def __init__(self, servers: str, client_id: bytes = b"test", timeout_s: float = PATIENCE_S) -> None:
        host, _, port = servers.rpartition(":")
        self.sock = socket.create_connection((host, int(port)), timeout=timeout_s)
        self.client_id = client_id

    def say(self, frame: bytes) -> None:
        """Send a frame. A server that refuses it by its size may close before it has all of it: `heard` tells that."""
        with contextlib.suppress(ConnectionError):
            self.sock.sendall(struct.pack(">i", len(frame)) + frame)

    def heard(self) -> bytes | None:
        """Return the next frame; None when the connection is closed."""
        return read_frame(self.sock)

    def send(self, request: Any, version: int) -> None:
        self.say(encoded(request, version, self.client_id))

    def receive(self, api_key: int, version: int) -> Any:
        """Return the next answer; None when the connection is closed."""
        frame = self.heard()
        return None if frame is None else decoded(api_key, version, frame)

    def ask(self, request: Any, version: int) -> Any:
        """Return the answer to a request; None when the connection was closed instead."""
        self.send(request, version)
        return self.receive(request.API_KEY, version)

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask(servers: str, request: Any, version: int, client_id: bytes = b"test") -> Any:
    """Send one request on a connection of its own, and return what `Peer.ask` does."""
    with Peer(servers, client_id) as peer:
        return peer.ask(request, version)


def create_topic(
    servers: str, name: str, partition_count: int = 1, replicas: Sequence[Sequence[int]] = (), /, **configs: str
) -> None:
    """Create a topic.

    Args:
        partition_count: Counts where `replicas` are not given.
        replicas: The brokers of each partition; the broker chooses if empty.
        configs: With `_` for the dots of their names.
    """
    settings = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    placed = [CreatableReplicaAssignment(index, list(brokers)) for index, brokers in enumerate(replicas)]
    counts = (-1, -1) if replicas else (partition_count, 1)
    answer = ask(servers, CreateTopicsRequest([CreatableTopic(name, *counts, placed, settings)], 30_000, False), 4)
    assert [(each.error_code, each.error_message) for each in answer.topics] == [(0, None)]
