"""`python -m benchmarks.attacks.quotas`: measure the rate of clients that evade a limit of 0.1 MB/s.

| attack        | what it does                                                                                      |
| ------------- | ------------------------------------------------------------------------------------------------- |
| reconnect     | produces a megabyte, reads the answer, closes the connection, reconnects                          |
| without acks  | the same with acks=0, without waiting for an answer                                               |
| client ids    | `reconnect` with a new client id each time; the limit is on the user                              |
| crowd         | a hundred connections at once, each of which produces a megabyte, closes and reconnects           |
| replica       | fetches with `replica_id=7`, an id that no broker has                                             |

The rate counts the bytes in the topic's log at the end, or the fetched bytes. Ten seconds' worth are free: a megabyte.
"""

import argparse
import contextlib
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count

from barnabas.testing import Broker
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import Budget, Message, WireBuffer
from barnabas.wire.records.builder import BatchBuilder
from tools.kafka.server import KafkaServer

LIMIT = 100_000
USER = "ANONYMOUS"
VALUE_BYTES = 1_000_000
CROWD = 100
REPLICA_ID = 7
Address = tuple[str, int]


def frame_of(request: Message, version: int, client_id: str) -> bytes:
    """Return a request as a frame."""
    out = WireBuffer(struct.pack(">hhih", request.API_KEY, version, 7, len(client_id)) + client_id.encode())
    request.encode(version, out)
    return struct.pack(">i", len(out)) + out


def answer_of(sock: socket.socket) -> bytes:
    """Return the next answer; empty if the connection ends, or no answer comes in time."""
    data = bytearray()
    size = 4
    with contextlib.suppress(OSError):
        while len(data) < size:
            part = sock.recv(1 << 20)
            if not part:
                return b""
            data += part
            if len(data) >= 4:
                size = 4 + struct.unpack_from(">i", data)[0]
        return bytes(data[4:])
    return b""


def ask(address: Address, request: Message, version: int) -> Message:
    with socket.create_connection(address, timeout=60) as sock:
        sock.sendall(frame_of(request, version, "administrator"))
        data = answer_of(sock)
    return response_class(request.API_KEY).decode(version, memoryview(data), 4, Budget(100_000))[0]


def produce_frame(topic: str, client_id: str, acks: int = 1) -> bytes:
    builder = BatchBuilder()
    builder.append(int(time.time() * 1_000), None, bytes(VALUE_BYTES))
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    return frame_of(ProduceRequest(None, acks, 1_000, data), 8, client_id)


def set_limit(address: Address, kind: str, name: str, key: str, limit: float | None) -> None:
    entry = AlterClientQuotasRequestEntryData([EntityData(kind, name)], [OpData(key, limit or 0.0, limit is None)])
    ask(address, AlterClientQuotasRequest([entry], False), 0)
    # Kafka applies the quota a moment after its answer.
    time.sleep(1)


def produced_bytes(address: Address, topic: str) -> int:
    asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])])
    end: int = ask(address, asked, 3).topics[0].partitions[0].offset  # type: ignore[attr-defined]  # as was asked
    return end * VALUE_BYTES


def come_again(address: Address, frames: Iterator[bytes], end_s: float, is_answered: bool) -> None:
    """Produce, close and reconnect, repeatedly."""
    while (left_s := end_s - time.monotonic()) > 0:
        # Reconnect also if no answer comes within five seconds.
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=min(5, left_s)) as sock:
            sock.sendall(next(frames))
            if is_answered:
                answer_of(sock)


def in_all(address: Address, topic: str, seconds: float, attackers: int, client_id: str, acks: int = 1) -> float:
    """Return the appended bytes per second.

    Args:
        client_id: The client id; with `*` at its end, a new one for each request.
    """
    ids = (client_id.replace("*", str(number)) for number in count())
    fixed = produce_frame(topic, client_id, acks)

    def frames() -> Iterator[bytes]:
        while True:
            yield produce_frame(topic, next(ids), acks) if client_id.endswith("*") else fixed

    end_s = time.monotonic() + seconds
    peers = [
        threading.Thread(target=come_again, args=(address, frames(), end_s, acks != 0), daemon=True)
        for _ in range(attackers)
    ]
    for each in peers:
        each.start()
    time.sleep(seconds)
    found = produced_bytes(address, topic)
    for each in peers:
        each.join()
    return found / seconds


def fetched_as_replica(address: Address, topic: str, seconds: float) -> float:
    wanted = [FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=VALUE_BYTES)])]
    request = FetchRequest(
        replica_id=REPLICA_ID, max_wait_ms=1, min_bytes=1, max_bytes=10 * VALUE_BYTES, isolation_level=0, topics=wanted
    )
    frame, found, end = frame_of(request, 7, "replica"), 0, time.monotonic() + seconds
    with socket.create_connection(address, timeout=seconds) as sock:
        while (left_s := end - time.monotonic()) > 0:
            sock.settimeout(left_s)
            sock.sendall(frame)
            found += len(answer_of(sock))
    return found / seconds


def attacks(address: Address, seconds: float) -> Iterator[tuple[str, float]]:
    """Yield each attack with its rate in bytes per second."""
    for name, attackers, acks in (("reconnect", 1, 1), ("without acks", 1, 0), ("crowd", CROWD, 1)):
        topic = name.replace(" ", "-")
        ask(address, CreateTopicsRequest([CreatableTopic(topic, 1, 1)], 30_000, False), 4)
        set_limit(address, "client-id", topic, "producer_byte_rate", LIMIT)
        yield name, in_all(address, topic, seconds, attackers, topic, acks)
        set_limit(address, "client-id", topic, "producer_byte_rate", None)
    ask(address, CreateTopicsRequest([CreatableTopic("ids", 1, 1)], 30_000, False), 4)
    set_limit(address, "user", USER, "producer_byte_rate", LIMIT)
    yield "client ids", in_all(address, "ids", seconds, 1, "id-*")
    set_limit(address, "user", USER, "producer_byte_rate", None)
    set_limit(address, "client-id", "replica", "consumer_byte_rate", LIMIT)
    yield "replica", fetched_as_replica(address, "ids", seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks.quotas", description=__doc__)
    parser.add_argument("--kafka", action="store_true", help="attack Kafka 2.7.2 instead of Barnabas")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds per attack")
    options = parser.parse_args()
    # Keep only a few segments, so that the disk does not fill.
    settings = {"log.retention.bytes": "1000000000", "log.segment.bytes": "100000000"}
    with KafkaServer(config=settings) if options.kafka else Broker(config=settings) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        print(
            f"{'Kafka 2.7.2' if options.kafka else 'Barnabas'}, limit {LIMIT / 1e6} MB/s, {options.seconds:.0f} s each"
        )
        for name, rate in attacks((host, int(port)), options.seconds):
            free = LIMIT * 10 / options.seconds
            print(
                f"{name:>12}: {rate / 1e6:8.2f} MB/s, without what is free {max(rate - free, 0) / LIMIT:8.2f} x",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
