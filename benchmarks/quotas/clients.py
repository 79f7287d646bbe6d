"""Many light clients in one process: raw sockets, one request in flight on each; throttle times are ignored.

    python -m benchmarks.quotas.clients JSON

reads a `Load` as JSON and prints a `Told` as JSON. The clients ignore throttle times, so that only the broker throttles
them.

Source: protocol guide, Produce v7, Fetch v4, Metadata v1, SaslHandshake v1, SaslAuthenticate v0.
"""

import json
import select
import socket
import statistics
import struct
import sys
import time
from dataclasses import asdict, dataclass, field

from benchmarks.load.raw import record_batch
from benchmarks.quotas.rates import FIRST_WINDOW_S, MOST_S, average_rate

_RECEIVE_BYTES = 1 << 18
_INT32 = struct.Struct(">i")
_WARMUP_S = 1.0
# Requests in flight on each connection of a flood, whose responses are only counted.
_FLOOD_IN_FLIGHT = 20


@dataclass(slots=True)
class Load:
    """The load of the clients.

    Attributes:
        mode: produce, fetch, or flood (Metadata of one topic, as fast as possible).
        client_ids: The client id of each connection.
        size: Bytes of a record, or the maximum bytes of a fetch.
        measure_s: Time over which rates are averaged.
        is_limited: The clients have a quota: their first window does not count.
        user, password: Credentials for PLAIN; empty: no login.
        pause_s: Pause after each response.
    """

    address: str
    mode: str
    topic: str
    client_ids: list[str]
    size: int
    measure_s: float
    is_limited: bool = False
    user: str = ""
    password: str = ""
    pause_s: float = 0.0


@dataclass(slots=True)
class Told:
    """The result of a load, over the measured time.

    Attributes:
        mb_per_s: Rate of each connection in bytes that quotas count (requests of producers, responses to consumers).
        all_mb_per_s: Rate of all connections.
        requests_per_s: Requests of all connections.
        throttle_ms: Average throttle time of responses that have one.
        held_share: Part of the time during which connections were throttled.
        p50_us, p99_us: Latency over all connections.
    """

    mb_per_s: list[float] = field(default_factory=list)
    all_mb_per_s: float = 0.0
    requests_per_s: float = 0.0
    throttle_ms: float = 0.0
    held_share: float = 0.0
    p50_us: float = 0.0
    p99_us: float = 0.0


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _frame(api_key: int, version: int, client_id: str, body: bytes) -> bytes:
    payload = struct.pack(">hhi", api_key, version, 1) + _string(client_id) + body
    return _INT32.pack(len(payload)) + payload


def _metadata(client_id: str, topic: str) -> bytes:
    return _frame(3, 1, client_id, _INT32.pack(1) + _string(topic))


def _request(load: Load, client_id: str) -> bytes:
    if load.mode == "produce":
        batch = record_batch(load.size)
        head = struct.pack(">hhii", -1, 1, 30_000, 1) + _string(load.topic)
        return _frame(0, 7, client_id, head + struct.pack(">iii", 1, 0, len(batch)) + batch)
    if load.mode == "fetch":
        head = struct.pack(">iiiibi", -1, 500, 1, load.size, 0, 1) + _string(load.topic)
        return _frame(1, 4, client_id, head + struct.pack(">iiqi", 1, 0, 0, load.size))
    return _metadata(client_id, load.topic)


def _receive(connection: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) < 4 + _INT32.unpack_from(data)[0]:
        received = connection.recv(_RECEIVE_BYTES)
        if not received:
            raise RuntimeError("the broker closed the connection")
        data += received
    return data


def connect(address: str, client_id: str, user: str = "", password: str = "") -> socket.socket:
    """Open a connection, and log in if a user is given."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if user:
        token = f"\0{user}\0{password}".encode()
        for frame in (
            _frame(17, 1, client_id, _string("PLAIN")),
            _frame(36, 0, client_id, _INT32.pack(len(token)) + token),
        ):
            connection.sendall(frame)
            if struct.unpack_from(">h", _receive(connection), 8)[0]:
                raise RuntimeError(f"{user} could not log in")
    return connection


class _Client:
    """One connection: its request, and its results."""

    __slots__ = ("_received", "client_id", "connection", "moves", "request", "sent_ns", "throttle_ms")

    def __init__(self, load: Load, client_id: str) -> None:
        self.client_id = client_id
        self.connection = connect(load.address, client_id, load.user, load.password)
        self.request = _request(load, client_id)
        self.moves: list[tuple[float, float]] = []
        self.throttle_ms: list[int] = []
        self.sent_ns = 0
        self._received = bytearray()

    def send(self) -> None:
        self.sent_ns = time.monotonic_ns()
        self.connection.sendall(self.request)

    def receive(self) -> bytearray | None:
        """Return a complete response; None: it has not arrived yet."""
        received = self.connection.recv(_RECEIVE_BYTES)
        if not received:
            raise RuntimeError("the broker closed the connection")
        self._received += received
        if len(self._received) < 4 or len(self._received) < 4 + _INT32.unpack_from(self._received)[0]:
            return None
        answer, self._received = self._received, bytearray()
        return answer


def _throttle_ms(load: Load, answer: bytearray) -> int:
    at = len(answer) - 4 if load.mode == "produce" else 8
    found: int = _INT32.unpack_from(answer, at)[0]
    return found


def _check(load: Load, answer: bytearray) -> None:
    if load.mode == "produce":
        (error,) = struct.unpack_from(">h", answer, 8 + 4 + 2 + len(load.topic) + 4 + 4)
        if error:
            raise RuntimeError(f"produce error {error}")


def run(load: Load) -> Told:
    """Run a load."""
    clients = [_Client(load, client_id) for client_id in load.client_ids]
    if load.mode == "flood":
        return _flood(load, clients)
    poller = select.epoll()
    by_descriptor = {client.connection.fileno(): client for client in clients}
    for client in clients:
        poller.register(client.connection, select.EPOLLIN)
        client.send()
    start_ns = time.monotonic_ns()
    warmup_s = FIRST_WINDOW_S if load.is_limited else _WARMUP_S
    run_s = warmup_s + load.measure_s + (MOST_S if load.is_limited else 0)
    times_us: list[float] = []
    moves: list[tuple[float, float]] = []
    while (now_s := (time.monotonic_ns() - start_ns) / 1e9) < run_s:
        for descriptor, _ in poller.poll(max(0.0, run_s - now_s)):
            client = by_descriptor[descriptor]
            answer = client.receive()
            if answer is None:
                continue
            now_ns = time.monotonic_ns()
            now_s = (now_ns - start_ns) / 1e9
            _check(load, answer)
            size = len(client.request if load.mode == "produce" else answer)
            for moved in (client.moves, moves):
                moved.append((now_s, size + (moved[-1][1] if moved else 0.0)))
            if now_s >= warmup_s:
                if throttle_ms := _throttle_ms(load, answer):
                    client.throttle_ms.append(throttle_ms)
                times_us.append((now_ns - client.sent_ns) / 1e3)
            if load.pause_s:
                time.sleep(load.pause_s)
            client.send()
    times_us.sort()
    throttles = [each for client in clients for each in client.throttle_ms]
    return Told(
        [_rate(load, client.moves) / 1e6 for client in clients],
        _rate(load, moves) / 1e6,
        len(times_us) / (run_s - warmup_s),
        statistics.fmean(throttles) if throttles else 0.0,
        sum(throttles) / 1e3 / (run_s - warmup_s) / len(clients),
        times_us[len(times_us) // 2] if times_us else 0.0,
        times_us[min(len(times_us) - 1, int(len(times_us) * 0.99))] if times_us else 0.0,
    )


def _rate(load: Load, moves: list[tuple[float, float]]) -> float:
    if load.is_limited:
        return average_rate(moves, load.measure_s)
    counted = [each for each in moves if each[0] >= _WARMUP_S]
    return (counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])


def _flood(load: Load, clients: list[_Client]) -> Told:
    """Request metadata as fast as possible."""
    poller = select.epoll()
    for client in clients:
        client.connection.setblocking(False)
        poller.register(client.connection, select.EPOLLIN)
        client.connection.send(client.request * _FLOOD_IN_FLIGHT)
    by_descriptor = {client.connection.fileno(): client for client in clients}
    unanswered = dict.fromkeys(by_descriptor, 0)
    begin_ns = time.monotonic_ns()
    end_ns, answer_bytes, received_bytes = begin_ns + int(load.measure_s * 1e9), 0, 0
    while time.monotonic_ns() < end_ns:
        for descriptor, _ in poller.poll(0.1):
            client = by_descriptor[descriptor]
            received = client.connection.recv(_RECEIVE_BYTES)
            if not received:
                raise RuntimeError("the broker closed the connection")
            # All responses have the same size, so they are counted by bytes.
            answer_bytes = answer_bytes or 4 + _INT32.unpack_from(received)[0]
            received_bytes += len(received)
            count, unanswered[descriptor] = divmod(unanswered[descriptor] + len(received), answer_bytes)
            client.connection.send(client.request * count)
    elapsed_s = (time.monotonic_ns() - begin_ns) / 1e9
    return Told(requests_per_s=received_bytes / max(answer_bytes, 1) / elapsed_s)


def main() -> None:
    print(json.dumps(asdict(run(Load(**json.loads(sys.argv[1]))))))


if __name__ == "__main__":
    main()
