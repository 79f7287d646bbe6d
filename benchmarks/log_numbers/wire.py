"""Hand-made requests of the measurements: ListOffsets v1 and Produce v7.

Source: protocol guide, ListOffsets, Produce.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Callable

import crc32c

LATEST = -1
_CLIENT_ID = b"log-numbers"
_PRODUCE, _LIST_OFFSETS = 0, 2
_WAIT_S = 300.0


class Wire:
    """A connection that sends requests in sequence."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: bytes) -> bytes:
        """Send a framed request and return the answer's body."""
        self._socket.sendall(request)
        answer = self._socket.recv(1 << 20)
        while len(answer) < 4 or len(answer) < 4 + struct.unpack_from(">i", answer)[0]:
            more = self._socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the broker closed the connection")
            answer += more
        return answer[8:]


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    payload = struct.pack(">hhih", api_key, version, 1, len(_CLIENT_ID)) + _CLIENT_ID + body
    return struct.pack(">i", len(payload)) + payload


def list_offsets(topics: dict[str, int], timestamp_ms: int) -> bytes:
    """Return a request for an offset of every partition of topics (name to number of partitions)."""
    body = struct.pack(">ii", -1, len(topics))
    for topic, partition_count in topics.items():
        body += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", partition_count)
        body += b"".join(struct.pack(">iq", partition, timestamp_ms) for partition in range(partition_count))
    return _frame(_LIST_OFFSETS, 1, body)


def listed(answer: bytes) -> list[tuple[int, int]]:
    """Return the error code and the offset of each partition in an answer."""
    found, position = [], 4
    for _ in range(struct.unpack_from(">i", answer)[0]):
        (length,) = struct.unpack_from(">h", answer, position)
        position += 2 + length
        (count,) = struct.unpack_from(">i", answer, position)
        position += 4
        for _ in range(count):
            _, error, _, offset = struct.unpack_from(">ihqq", answer, position)
            found.append((error, offset))
            position += 22
    return found


def produce(topic: str, value: bytes) -> bytes:
    """Return a request that appends one record to partition 0, acks=1."""

    # The length of a record of up to 8 KB as a zigzag varint of two bytes.
    def varint(number: int) -> bytes:
        zigzag = number << 1
        return bytes((zigzag & 0x7F | 0x80, zigzag >> 7)) if zigzag > 0x7F else bytes((zigzag,))

    record = b"\0\0\0\1" + varint(len(value)) + value + b"\0"
    now_ms = int(time.time() * 1000)
    tail = struct.pack(">hiqqqhii", 0, 0, now_ms, now_ms, -1, -1, -1, 1) + varint(len(record)) + record
    batch = struct.pack(">qiibI", 0, 9 + len(tail), -1, 2, crc32c.crc32c(tail)) + tail
    body = struct.pack(">hhiih", -1, 1, 30_000, 1, len(topic)) + topic.encode()
    return _frame(_PRODUCE, 7, body + struct.pack(">iii", 1, 0, len(batch)) + batch)


def produce_error(answer: bytes, topic: str) -> int:
    """Return the error code in the answer to `produce`."""
    return int(struct.unpack_from(">h", answer, 4 + 2 + len(topic) + 4 + 4)[0])


def wait_until_led(address: str, topics: dict[str, int], has_ended: Callable[[], bool]) -> None:
    """Wait until every partition of some topics is served.

    Raises:
        RuntimeError: The broker ended, or the wait took too long.
    """
    request = list_offsets(topics, LATEST)
    end = time.perf_counter() + _WAIT_S
    while time.perf_counter() < end and not has_ended():
        with contextlib.suppress(OSError):
            wire = Wire(address)
            try:
                while True:
                    if not any(error for error, _ in listed(wire.ask(request))):
                        return
                    time.sleep(0.002)
            finally:
                wire.close()
        time.sleep(0.002)
    raise RuntimeError("the partitions are not served")
