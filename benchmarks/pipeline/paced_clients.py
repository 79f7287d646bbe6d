"""Clients that send at a fixed rate: one process, raw sockets, one request in flight on each connection.

    python -m benchmarks.pipeline.paced_clients JSON

reads a `Load` as JSON and runs until it is killed. For each response it writes a line to `Load.output`: when the
request was sent (milliseconds since 1970), the client's number, the request's bytes, microseconds until the response,
and the response's throttle time in milliseconds.

A client does not catch up on requests that it missed because a response was late. Clients ignore throttle times, so
that only the broker throttles them.
"""

import json
import os
import select
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from barnabas.core.parent import die_with_parent
from benchmarks.load.raw import record_batch
from benchmarks.quotas.clients import connect

_RECEIVE_BYTES = 1 << 16
_INT32 = struct.Struct(">i")


class Sender(NamedTuple):
    """A sender; logs in with PLAIN if it has a user."""

    address: str
    client_id: str
    user: str = ""
    password: str = ""


@dataclass(slots=True)
class Load:
    """A load: from each sender, `per_s` Produce requests per second of one record of `size` bytes."""

    topic: str
    senders: list[Sender]
    size: int
    per_s: float
    output: str
    parent: int


class Answer(NamedTuple):
    """A line of the output."""

    sent_ms: int
    sender: int
    request_bytes: int
    latency_us: int
    throttle_ms: int


def read_answers(path: Path) -> list[Answer]:
    """Read the output so far, without an incomplete last line."""
    whole = path.read_text().rpartition("\n")[0]
    return [Answer(*map(int, line.split())) for line in whole.splitlines()]


class _Client:
    __slots__ = ("_received", "connection", "due_s", "is_waiting", "number", "request", "sent_ns")

    def __init__(self, number: int, sender: Sender, load: Load) -> None:
        self.number = number
        self.connection: socket.socket = connect(sender.address, sender.client_id, sender.user, sender.password)
        batch, topic = record_batch(load.size), load.topic.encode()
        body = struct.pack(">hhiih", -1, 1, 30_000, 1, len(topic)) + topic
        body += struct.pack(">iii", 1, 0, len(batch)) + batch
        client_id = sender.client_id.encode()
        payload = struct.pack(">hhih", 0, 7, 1, len(client_id)) + client_id + body
        self.request = _INT32.pack(len(payload)) + payload
        # Distribute the clients over the interval.
        self.due_s = time.monotonic() + number / load.per_s / len(load.senders)
        self.is_waiting = False
        self.sent_ns = 0
        self._received = bytearray()

    def send(self, per_s: float) -> None:
        self.due_s = max(self.due_s + 1 / per_s, time.monotonic())
        self.is_waiting = True
        self.sent_ns = time.time_ns()
        self.connection.sendall(self.request)

    def receive(self, topic: str) -> Answer | None:
        received = self.connection.recv(_RECEIVE_BYTES)
        if not received:
            raise RuntimeError("the broker closed the connection")
        self._received += received
        if len(self._received) < 4 or len(self._received) < 4 + _INT32.unpack_from(self._received)[0]:
            return None
        answer, self._received = self._received, bytearray()
        self.is_waiting = False
        (error,) = struct.unpack_from(">h", answer, 8 + 4 + 2 + len(topic) + 4 + 4)
        if error:
            raise RuntimeError(f"produce error {error}")
        latency_us = (time.time_ns() - self.sent_ns) // 1_000
        throttle_ms = _INT32.unpack_from(answer, len(answer) - 4)[0]
        return Answer(self.sent_ns // 1_000_000, self.number, len(self.request), latency_us, throttle_ms)


def run(load: Load) -> None:
    """Send until the process is killed."""
    clients = [_Client(number, sender, load) for number, sender in enumerate(load.senders)]
    poller = select.epoll()
    by_descriptor = {client.connection.fileno(): client for client in clients}
    for client in clients:
        poller.register(client.connection, select.EPOLLIN)
    with Path(load.output).open("w", buffering=1) as output:
        while True:
            now_s = time.monotonic()
            for client in clients:
                if not client.is_waiting and client.due_s <= now_s:
                    client.send(load.per_s)
            next_s = min((client.due_s for client in clients if not client.is_waiting), default=now_s + 1)
            for descriptor, _ in poller.poll(max(0.0, next_s - time.monotonic())):
                answer = by_descriptor[descriptor].receive(load.topic)
                if answer is not None:
                    output.write(" ".join(map(str, answer)) + "\n")


def main() -> None:
    """Run the load on the command line."""
    asked = json.loads(sys.argv[1])
    load = Load(**{**asked, "senders": [Sender(*sender) for sender in asked["senders"]]})
    if load.parent != os.getpid():
        die_with_parent(load.parent)
    run(load)


if __name__ == "__main__":
    main()
