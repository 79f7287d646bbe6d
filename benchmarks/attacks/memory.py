"""`python -m benchmarks.attacks.memory`: measure the memory that a client without rights makes a broker keep.

Each attack sends requests with very many long names to its own broker, and disconnects. Prints resident memory before
the attack, after the last answer, and some seconds after the attacker has disconnected; and the size of the metrics
page.
"""

import argparse
import struct
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.wire import Message, WireBuffer
from benchmarks.attacks.target import AUTHORIZED, Target, target
from benchmarks.load.process import resident_mb
from benchmarks.whole.wire import Peer
from tools.kafka.server import free_port

_NAME_BYTES = 32_000
_AT_ONCE_BYTES = 600_000
_LONGEST_S = 60.0
_SETTLED_S = 6.0
TOPIC, GROUP, LITERAL, ALL, DENY, ALLOW = 2, 3, 3, 2, 2, 3


class Growth(NamedTuple):
    """Resident megabytes.

    Attributes:
        sent: Number of sent requests; fewer than planned if the time limit was reached.
        page_mb: Size of a page of metrics; None: the broker has no page.
    """

    before_mb: float
    during_mb: float
    after_mb: float
    sent: int
    page_mb: float | None


def frame_of(request: Message, version: int, client_id: bytes = b"evil") -> bytes:
    """Return a request of a client with this id as a frame."""
    body = WireBuffer()
    request.encode(version, body)
    header = struct.pack(">hhih", request.API_KEY, version, 1, len(client_id)) + client_id
    return struct.pack(">i", len(header) + len(body)) + header + bytes(body)


def name(number: int) -> str:
    """Return a unique long name."""
    return f"{number:08}" + "x" * (_NAME_BYTES - 8)


def find_coordinators(count: int) -> Iterator[bytes]:
    """Yield requests for the coordinators of unknown groups."""
    for number in range(count):
        yield frame_of(FindCoordinatorRequest(name(number)), 0)


def client_ids(count: int) -> Iterator[bytes]:
    """Yield requests with distinct client ids."""
    for number in range(count):
        yield frame_of(MetadataRequest([]), 4, name(number).encode())


def fetch_sessions(count: int) -> Iterator[bytes]:
    """Yield fetches that open sessions for topics that cannot exist."""
    for number in range(count // 50):
        topics = [FetchTopic(name(50 * number + each), partitions=[FetchPartition(0)]) for each in range(50)]
        yield frame_of(FetchRequest(max_wait_ms=0, topics=topics), 11)


ATTACKS: dict[str, tuple[Callable[[int], Iterator[bytes]], int]] = {
    "FindCoordinator": (find_coordinators, 30_000),
    "client ids": (client_ids, 20_000),
    "fetch sessions": (fetch_sessions, 20_000),
}


def deny(port: int) -> None:
    """Deny all operations to 127.0.0.1."""
    admin = Peer(f"127.0.0.2:{port}", ("127.0.0.2", 0))
    rules = [AclCreation(kind, "*", LITERAL, "User:*", "127.0.0.1", ALL, DENY) for kind in (TOPIC, GROUP)]
    if any(each.error_code for each in admin.ask(CreateAclsRequest(rules), 1).results):
        raise RuntimeError("the rules could not be made")
    admin.close()


def attack(broker: Target, frames: Iterator[bytes], page: str | None = None, settled_s: float = _SETTLED_S) -> Growth:
    """Send all frames on one connection, some at a time, and close it.

    Args:
        page: The URL of the broker's metrics.
        settled_s: Time to wait before the remaining memory is measured.
    """
    peer, before_mb, sent = Peer(f"127.0.0.1:{broker.port}"), resident_mb(broker.pid), 0
    end_s = time.monotonic() + _LONGEST_S
    batch: list[bytes] = []
    for frame in frames:
        batch.append(frame)
        if len(batch) * len(frame) >= _AT_ONCE_BYTES:
            sent += _exchange(peer, batch)
            if time.monotonic() > end_s:
                break
    sent += _exchange(peer, batch)
    during_mb = resident_mb(broker.pid)
    page_mb = None if page is None else len(urllib.request.urlopen(page).read()) / 1e6
    peer.close()
    time.sleep(settled_s)
    return Growth(before_mb, during_mb, resident_mb(broker.pid), sent, page_mb)


def _exchange(peer: Peer, batch: list[bytes]) -> int:
    peer.send(b"".join(batch))
    left = len(batch)
    data = b""
    while left:
        part = peer.socket.recv(1 << 20)
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
        while len(data) >= 4 and len(data) >= 4 + struct.unpack_from(">i", data)[0]:
            data = data[4 + struct.unpack_from(">i", data)[0] :]
            left -= 1
    count = len(batch)
    batch.clear()
    return count


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks.memory", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"attacks: {', '.join(ATTACKS)} (default: all)")
    parser.add_argument("--kafka", action="store_true", help="attack Kafka 2.7.2 instead of Barnabas")
    arguments = parser.parse_args()
    is_kafka: bool = arguments.kafka
    print("| attack | requests | MB before | MB at the end | MB after leaving | page of metrics, MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for what in arguments.attacks or ATTACKS:
        frames, count = ATTACKS[what]
        http = f"127.0.0.1:{free_port()}"
        own = {} if is_kafka else {"barnabas.http.listeners": http}
        with target(is_kafka, {**AUTHORIZED, **own}) as broker:
            deny(broker.port)
            grown = attack(broker, frames(count), None if is_kafka else f"http://{http}/metrics")
        page = "-" if grown.page_mb is None else f"{grown.page_mb:.1f}"
        figures = " | ".join(f"{each:.0f}" for each in grown[:3])
        print(f"| {what} | {grown.sent:,} | {figures} | {page} |", flush=True)


if __name__ == "__main__":
    main()
