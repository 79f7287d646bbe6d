"""Sockets and prepared frames, so that the broker is timed and not a client.

Source: protocol guide; the messages of each API are from `barnabas.wire.protocol`.
"""

import select
import socket
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, request_class, response_class
from barnabas.wire.protocol.wire import Budget, Message, WireBuffer

_CLIENT_ID = b"whole"
_WAIT_S = 120.0
_MOST_ELEMENTS = 1 << 30
_SIZE = struct.Struct(">i")

# Source: tables of error codes in the protocol guide.
NONE, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 0, 14, 15, 16
REBALANCE_IN_PROGRESS, CONCURRENT_TRANSACTIONS, MEMBER_ID_REQUIRED = 27, 51, 79
_COMES_LATER = {COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}


def frame(request: Message, version: int) -> bytes:
    """Return a request as a frame."""
    body = WireBuffer()
    request.encode(version, body)
    header = struct.pack(">hhih", request.API_KEY, version, 1, len(_CLIENT_ID)) + _CLIENT_ID
    if version >= FIRST_FLEXIBLE_VERSION[request.API_KEY]:
        header += b"\0"
    return _SIZE.pack(len(header) + len(body)) + header + bytes(body)


def decoded(api_key: int, version: int, answer: bytes) -> Any:
    """Return an answer (a frame without its size) as a message."""
    start = 5 if version >= FIRST_FLEXIBLE_VERSION[api_key] else 4
    return response_class(api_key).decode(version, memoryview(answer), start, Budget(_MOST_ELEMENTS))[0]


class Peer:
    """One connection with at most one request in flight."""

    def __init__(self, address: str, source: tuple[str, int] | None = None) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=_WAIT_S, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> bytes:
        """Return the next answer, with its header."""
        data = self.socket.recv(1 << 16)
        while len(data) < 4 or len(data) < 4 + _SIZE.unpack_from(data)[0]:
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the broker closed the connection")
            data += more
        return data[4:]

    def ask(self, request: Message, version: int) -> Any:
        """Send a request and return its answer."""
        self.send(frame(request, version))
        return decoded(request.API_KEY, version, self.receive())

    def ask_until(self, request: Message, version: int, error_of: Callable[[Any], int]) -> Any:
        """Retry a request while the coordinator is not available; any other error ends the measurement."""
        end = time.perf_counter() + _WAIT_S
        while time.perf_counter() < end:
            answer = self.ask(request, version)
            error = error_of(answer)
            if error == NONE:
                return answer
            if error not in _COMES_LATER:
                break
            time.sleep(0.02)
        raise RuntimeError(f"{request_class(request.API_KEY).SCHEMA_NAME}: error {error}")


def ask_all(peers: Iterable[Peer], requests: Iterable[Message], version: int) -> list[Any]:
    """Send each peer's request, all in parallel; return the responses."""
    asked = []
    for peer, request in zip(peers, requests, strict=True):
        peer.send(frame(request, version))
        asked.append((peer, request.API_KEY))
    return [decoded(api_key, version, peer.receive()) for peer, api_key in asked]


def flood(peers: Sequence[Peer], requests: Sequence[bytes], count: int, error_at: int) -> list[float]:
    """Keep one request in flight on every connection until `count` are answered.

    Args:
        error_at: Position of a response's error code, counted from its end.

    Returns:
        The seconds of each request.
    """
    poller, started = select.epoll(), dict[int, float]()
    times_s: list[float] = []
    by_descriptor = {peer.socket.fileno(): (peer, request) for peer, request in zip(peers, requests, strict=True)}
    for descriptor, (peer, request) in by_descriptor.items():
        poller.register(descriptor, select.EPOLLIN)
        started[descriptor] = time.perf_counter()
        peer.send(request)
    sent_count = len(by_descriptor)
    while len(times_s) < count:
        for descriptor, _ in poller.poll(_WAIT_S):
            peer, request = by_descriptor[descriptor]
            answer = peer.receive()
            now = time.perf_counter()
            times_s.append(now - started[descriptor])
            if answer[-error_at:][:2] != b"\0\0":
                raise RuntimeError(f"error {int.from_bytes(answer[-error_at:][:2], 'big')}")
            if sent_count < count:
                started[descriptor] = now
                peer.send(request)
                sent_count += 1
    poller.close()
    return times_s
