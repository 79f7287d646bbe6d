"""Raw-socket load with almost no client cost, so that the broker is timed.

    python -m benchmarks.load.raw latency HOST:PORT TOPIC COUNT SIZE
        one Produce v7 with acks=1 in flight
    python -m benchmarks.load.raw end-to-end HOST:PORT TOPIC COUNT SIZE
        a long-poll Fetch v4 on one connection, a Produce on another: from the produce to the fetched answer
    python -m benchmarks.load.raw flood HOST:PORT TOPIC COUNT SIZE CONNECTIONS
        many connections, one Produce in flight on each
    python -m benchmarks.load.raw audience HOST:PORT TOPIC COUNT SIZE CONNECTIONS
        COUNT times a Produce that wakes a long-poll Fetch v4 on each of many connections: until all are answered
    python -m benchmarks.load.raw pipeline HOST:PORT TOPIC COUNT SIZE CONNECTIONS
        COUNT seconds of ApiVersions without waiting for answers, on each connection, and every answer read at once
    python -m benchmarks.load.raw fetch-old HOST:PORT TOPIC COUNT SIZE
        COUNT times a Fetch v1 (magic 0) of SIZE bytes at the beginning of the log
    python -m benchmarks.load.raw fetch-many HOST:PORT TOPIC COUNT SIZE CONNECTIONS
        COUNT seconds of Fetch v4 of SIZE partitions, one in flight on each connection

Prints one JSON object: times in microseconds, `requests_per_s`, and `cpu` and `kernel_cpu` of the process named by
`--pid` (benchmarks/load/process.py) over the timed part alone.

Source: protocol guide, Produce v7, Fetch v1 and v4; records page, batch v2.
"""

import argparse
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence

import crc32c

from benchmarks.load.process import cpu, kernel_cpu

_CLIENT_ID = b"raw"
_FETCH_MAX_BYTES = 1 << 20
_RECEIVE_BYTES = 1 << 18
MESSAGE_OVERHEAD = 26  # bytes of a message of magic 0 without its key and value
_UNSIGNED = struct.Struct(">i").unpack_from


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def record_batch(size: int) -> bytes:
    """Build a batch of one record without a key."""
    body = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _varint(size) + b"x" * size + _varint(0)
    now_ms = int(time.time() * 1000)
    tail = struct.pack(">hiqqqhii", 0, 0, now_ms, now_ms, -1, -1, -1, 1) + _varint(len(body)) + body
    return struct.pack(">qiibI", 0, 9 + len(tail), -1, 2, crc32c.crc32c(tail)) + tail


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    payload = struct.pack(">hhih", api_key, version, 1, len(_CLIENT_ID)) + _CLIENT_ID + body
    return struct.pack(">i", len(payload)) + payload


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _produce(topic: str, size: int, acks: int = 1) -> bytes:
    return produce_request(topic, record_batch(size), acks)


def produce_request(topic: str, batch: bytes, acks: int = 1, partitions: Sequence[int] = (0,)) -> bytes:
    """Return a whole frame: Produce v7 of the same batch to each of these partitions."""
    head = struct.pack(">hhii", -1, acks, 30_000, 1) + _string(topic)
    data = b"".join(struct.pack(">ii", partition, len(batch)) + batch for partition in partitions)
    return _frame(0, 7, head + struct.pack(">i", len(partitions)) + data)


def fetch_request(topic: str, offset: int) -> bytes:
    """Return a whole frame: Fetch v4 of partition 0 that waits 5 s for a byte."""
    head = struct.pack(">iiiibi", -1, 5_000, 1, _FETCH_MAX_BYTES, 0, 1) + _string(topic)
    return _frame(1, 4, head + struct.pack(">iiqi", 1, 0, offset, _FETCH_MAX_BYTES))


def session_fetch_request(topic: str, offset: int, session: tuple[int, int]) -> bytes:
    """Return a whole frame: Fetch v11 of one batch of partition 0, by the session with this id and epoch."""
    head = struct.pack(">iiiibiii", -1, 5_000, 1, _FETCH_MAX_BYTES, 0, *session, 1) + _string(topic)
    return _frame(1, 11, head + struct.pack(">iiiqqiih", 1, 0, -1, offset, -1, 1, 0, 0))


def _fetch_old(topic: str, size: int) -> bytes:
    head = struct.pack(">iiii", -1, 5_000, 1, 1) + _string(topic)
    return _frame(1, 1, head + struct.pack(">iiqi", 1, 0, 0, size))


def connect(address: str) -> socket.socket:
    """Return a connection without delays."""
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection: socket.socket) -> bytes:
    """Return the next whole answer."""
    answer = connection.recv(_RECEIVE_BYTES)
    while len(answer) < 4 or len(answer) < 4 + _UNSIGNED(answer)[0]:
        more = connection.recv(_RECEIVE_BYTES)
        if not more:
            raise EOFError("the broker closed the connection")
        answer += more
    return answer


def produce_error(answer: bytes, topic: str) -> int:
    """Return the error code of a Produce v7's answer."""
    # Length, correlation id, topic count, topic, partition count, partition: then the error code and the base offset.
    return int(struct.unpack_from(">h", answer, 22 + len(topic))[0])


def base_offset(answer: bytes, topic: str) -> int:
    """Return the base offset of a Produce v7's answer."""
    return int(struct.unpack_from(">q", answer, 24 + len(topic))[0])


def prepare(address: str, topic: str) -> socket.socket:
    """Connect, and produce until the topic is created and led."""
    connection = connect(address)
    for _ in range(100):
        connection.sendall(_frame(3, 1, struct.pack(">i", 1) + _string(topic)))
        receive(connection)
        connection.sendall(_produce(topic, 10))
        error = produce_error(receive(connection), topic)
        if not error:
            return connection
        time.sleep(0.1)
    sys.exit(f"the topic has no leader: error {error}")


def summary(times_s: list[float]) -> dict[str, float]:
    """Return the median and two high percentiles; the times are sorted in place."""
    times_s.sort()
    last = len(times_s) - 1
    return {
        name: times_s[min(last, int(len(times_s) * part))] * 1e6
        for name, part in (("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999))
    }


def used(pid: int, before: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the CPU use of a process, since `before` if given; empty without a process."""
    if not pid:
        return {}
    now = {"cpu": cpu(pid), "kernel_cpu": kernel_cpu(pid)}
    return {name: value - before[name] for name, value in now.items()} if before else now


def latency(
    address: str, topic: str, count: int, size: int, acks: int = 1, *, pause_s: float = 0.0
) -> dict[str, float]:
    """Time one produce after the other, or with pauses between."""
    connection, request, times_s = prepare(address, topic), _produce(topic, size, acks), []
    for _ in range(count):
        start = time.perf_counter()
        connection.sendall(request)
        answer = receive(connection)
        times_s.append(time.perf_counter() - start)
        if error := produce_error(answer, topic):
            sys.exit(f"produce error {error}")
        if pause_s:
            time.sleep(pause_s)
    return summary(times_s)


def end_to_end(address: str, topic: str, count: int, size: int, acks: int = 1) -> dict[str, float]:
    """Time from sending a produce to receiving it on a fetch that already waits."""
    producer, consumer = prepare(address, topic), connect(address)
    request, times_s = _produce(topic, size, acks), []
    producer.sendall(request)
    offset = base_offset(receive(producer), topic) + 1
    for _ in range(count):
        consumer.sendall(fetch_request(topic, offset))
        # Long enough for the fetch to be waiting at the broker.
        time.sleep(0.0005)
        start = time.perf_counter()
        producer.sendall(request)
        receive(consumer)
        times_s.append(time.perf_counter() - start)
        receive(producer)
        offset += 1
    return summary(times_s)


def flood(
    address: str, topic: str, count: int, size: int, connection_count: int, acks: int = 1, pid: int = 0
) -> dict[str, float]:
    """Keep one produce in flight on every connection.

    The CPU of `pid` does not include connections and their first requests. With 5,000 connections, these cost as much
    as the load itself.
    """
    prepare(address, topic).close()
    request = _produce(topic, size, acks)
    times_s: list[float] = []
    connections = {
        connection.fileno(): connection for connection in (connect(address) for _ in range(connection_count))
    }
    poller, sent_at = select.epoll(), {}
    for descriptor, connection in connections.items():
        poller.register(descriptor, select.EPOLLIN)
        connection.sendall(request)
        receive(connection)
    before = used(pid)
    start, sent_count = time.perf_counter(), connection_count
    for descriptor, connection in connections.items():
        sent_at[descriptor] = time.perf_counter()
        connection.sendall(request)
    while len(times_s) < count:
        for descriptor, _ in poller.poll(60):
            answer = receive(connections[descriptor])
            now = time.perf_counter()
            if error := produce_error(answer, topic):
                sys.exit(f"produce error {error}")
            times_s.append(now - sent_at[descriptor])
            if sent_count < count:
                sent_at[descriptor] = now
                connections[descriptor].sendall(request)
                sent_count += 1
    elapsed_s = time.perf_counter() - start
    return {"requests_per_s": count / elapsed_s, **summary(times_s), **used(pid, before)}


def audience(address: str, topic: str, count: int, size: int, connection_count: int) -> dict[str, float]:
    """Time from a produce until all waiting consumers have its batch."""
    producer, request, times_s = prepare(address, topic), _produce(topic, size), []
    consumers = [connect(address) for _ in range(connection_count)]
    producer.sendall(request)
    first = base_offset(receive(producer), topic) + 1
    for offset in range(first, first + count):
        for consumer in consumers:
            consumer.sendall(fetch_request(topic, offset))
        # Long enough for all fetches to be waiting at the broker.
        time.sleep(0.05)
        start = time.perf_counter()
        producer.sendall(request)
        for consumer in consumers:
            receive(consumer)
        times_s.append(time.perf_counter() - start)
        receive(producer)
    return summary(times_s)


def pipeline(address: str, seconds: int, connection_count: int) -> dict[str, float]:
    """Send thousands of ApiVersions at a time, for some seconds; ends by itself."""
    burst = _frame(18, 0, b"") * 1_000
    poller, connections, unsent = select.epoll(), {}, {}
    for _ in range(connection_count):
        connection = connect(address)
        connection.setblocking(False)
        connections[connection.fileno()] = connection
        unsent[connection.fileno()] = memoryview(b"")
        poller.register(connection, select.EPOLLIN | select.EPOLLOUT)
    end, received_bytes = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        for descriptor, events in poller.poll(1):
            if events & select.EPOLLIN:
                received_bytes += len(connections[descriptor].recv(1 << 20))
            if events & select.EPOLLOUT:
                rest = unsent[descriptor] or memoryview(burst)
                unsent[descriptor] = rest[connections[descriptor].send(rest) :]
    return {"received_bytes": received_bytes}


def fetch_old(address: str, topic: str, count: int, size: int) -> dict[str, float]:
    """Repeatedly fetch the beginning of the log, like clients before 0.10."""
    connection, request, received_bytes = connect(address), _fetch_old(topic, size), 0
    start = time.perf_counter()
    for _ in range(count):
        connection.sendall(request)
        received_bytes += len(receive(connection))
    return {"received_bytes": received_bytes, "elapsed_s": time.perf_counter() - start}


def fetch_many(address: str, topic: str, seconds: int, partition_count: int, connection_count: int) -> dict[str, float]:
    """Repeatedly fetch very many partitions, most of which do not exist; ends by itself."""
    head = struct.pack(">iiiibi", -1, 0, 1, _FETCH_MAX_BYTES, 0, 1) + _string(topic)
    partitions = b"".join(struct.pack(">iqi", index, 0, _FETCH_MAX_BYTES) for index in range(partition_count))
    request = _frame(1, 4, head + struct.pack(">i", partition_count) + partitions)
    connections = [connect(address) for _ in range(connection_count)]
    end, answer_count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            receive(connection)
            answer_count += 1
    return {"answer_count": answer_count}


def main() -> None:
    parser = argparse.ArgumentParser(description="Raw-socket load on a Kafka broker.")
    parser.add_argument(
        "mode", choices=["latency", "paced", "end-to-end", "flood", "audience", "pipeline", "fetch-many", "fetch-old"]
    )
    parser.add_argument("address")
    parser.add_argument("topic")
    parser.add_argument("count", type=int)
    parser.add_argument("size", type=int)
    parser.add_argument("connections", type=int, nargs="?", default=100)
    parser.add_argument("--pid", type=int, default=0, help="the broker's process, for its CPU time")
    options = parser.parse_args()
    before = used(options.pid)
    work = (options.address, options.topic, options.count, options.size)
    match options.mode:
        case "latency":
            result = latency(*work)
        case "paced":
            result = latency(*work, pause_s=0.01)
        case "end-to-end":
            result = end_to_end(*work)
        case "fetch-many":
            result = fetch_many(*work, options.connections)
        case "audience":
            result = audience(*work, options.connections)
        case "pipeline":
            result = pipeline(options.address, options.count, options.connections)
        case "fetch-old":
            result = fetch_old(*work)
        case _:
            result = flood(*work, options.connections, pid=options.pid)
    print(json.dumps({**used(options.pid, before), **result}))


if __name__ == "__main__":
    main()
