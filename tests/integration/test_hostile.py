"""Hostile peers: mutated and random frames, and connections that send half a frame and wait.

The broker runs in its own process. Its own watchdog says how long its event loop stood still, its own /proc entry how
much memory it holds.
"""

import contextlib
import json
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.testing import Broker

VECTORS = Path(__file__).parent.parent / "golden" / "message-vectors.tsv"
SCHEMAS = Path(__file__).parent.parent.parent / "schemas" / "messages"
FRAME_COUNT = 100_000
CONNECTION_COUNT = 1_000
ROUND_COUNT = 1_000
BURST_COUNT = 20
LONGEST_STALL_MS = 50
PATIENCE_S = 20
# A request of a hostile peer may well be right: what it makes the broker keep (topics, groups) is not a leak.
KEPT_MB = 20
LEFT_MB = 4
LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def golden_frames() -> list[bytes]:
    """Every request of the golden vectors as a frame without its size."""
    keys: dict[str, tuple[int, int | None]] = {}
    for path in SCHEMAS.glob("*Request.json"):
        schema = json.loads(path.read_text())
        flexible = schema["flexibleVersions"]
        keys[schema["name"]] = (
            schema["apiKey"],
            None if flexible == "none" else int(flexible.rstrip("+").split("-")[0]),
        )
    frames = []
    for line in VECTORS.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, version, body, _ = line.split("\t")
        if name not in keys:
            continue
        api_key, flexible_from = keys[name]
        header = struct.pack(">hhih", api_key, int(version), 7, 4) + b"fuzz"
        if flexible_from is not None and int(version) >= flexible_from:
            header += b"\0"
        frames.append(header + (b"" if body == "-" else bytes.fromhex(body)))
    return frames


def mutated(source: random.Random, frames: list[bytes]) -> Iterator[bytes]:
    """Frames with bits flipped, bytes cut out or put in, lengths blown up; and random ones."""
    while True:
        if source.random() < 0.1:
            yield source.randbytes(source.randrange(0, 300))
            continue
        frame = bytearray(source.choice(frames))
        for _ in range(source.choice((1, 1, 2, 5))):
            place = source.randrange(len(frame) + 1)
            match source.randrange(5):
                case 0 if place < len(frame):
                    frame[place] ^= 1 << source.randrange(8)
                case 1:
                    del frame[place : place + source.randrange(1, 9)]
                case 2:
                    frame[place:place] = source.randbytes(source.randrange(1, 9))
                case 3:
                    frame[place : place + 4] = source.choice(
                        (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
                    )
                case _:
                    del frame[place:]
        yield bytes(frame)


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the broker is gone")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def is_answering(broker: Broker) -> bool:
    with socket.create_connection((broker.host, broker.port), timeout=10) as sock:
        sock.sendall(API_VERSIONS_V0)
        return len(sock.recv(65536)) > 10


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": "false"}) as made:
        yield made


def stall_ms(broker: Broker) -> int:
    """The longest stall of the loop, as the broker says when it stops."""
    broker.stop()
    lines = [line for line in broker.log_text().splitlines() if "longest stall of the event loop" in line]
    return int(lines[-1].split("longest stall of the event loop: ")[1].split()[0])


def answered_count(sock: socket.socket) -> int:
    """How many answers come before the broker closes the connection."""
    data = bytearray()
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(1 << 20):
            data += part
    count = position = 0
    while len(data) - position >= 4:
        (size,) = struct.unpack_from(">i", data, position)
        position += 4 + size
        count += position <= len(data)
    return count


def send_all(broker: Broker, frames: list[bytes]) -> None:
    """Have the broker take every frame: those behind one that cost its connection go into the next connection."""
    start = 0
    while start < len(frames):
        burst = frames[start : start + BURST_COUNT]
        with socket.create_connection((broker.host, broker.port), timeout=30) as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in burst))
                sock.shutdown(socket.SHUT_WR)
            # The first that was not answered is the one that the connection was closed for.
            start += answered_count(sock) + 1


def test_mutated_frames_cost_nobody_else_anything(broker):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = mutated(random.Random(seed), golden_frames())
    before_mb = resident_mb(broker.pid)
    for _ in range(FRAME_COUNT // ROUND_COUNT):
        send_all(broker, [next(source) for _ in range(ROUND_COUNT)])
    assert is_answering(broker)
    assert "Traceback" not in broker.log_text()
    assert resident_mb(broker.pid) < before_mb + KEPT_MB
    assert stall_ms(broker) <= LONGEST_STALL_MS


def test_a_thousand_connections_with_half_a_frame_cost_nothing_that_stays(broker):
    assert is_answering(broker)
    before_mb = resident_mb(broker.pid)
    sockets = []
    for number in range(CONNECTION_COUNT):
        sock = socket.create_connection((broker.host, broker.port), timeout=10)
        # Each claims a large frame, sends a little of it, and waits.
        sock.sendall(struct.pack(">ihhih", 50_000_000, 0, 7, number, 4) + b"half" + b"x" * 2_000)
        sockets.append(sock)
    assert is_answering(broker)
    assert resident_mb(broker.pid) < before_mb + 60
    for sock in sockets:
        sock.close()
    assert is_answering(broker)
    wait_until(lambda: resident_mb(broker.pid) < before_mb + LEFT_MB)
    assert "Traceback" not in broker.log_text()
    assert stall_ms(broker) <= LONGEST_STALL_MS
