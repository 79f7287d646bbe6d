"""A broker with little memory, and many clients that want more of it than there is.

The broker runs in a process of its own whose address space is limited, as by `ulimit -v`.
"""

import contextlib
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import Broker
from tests.patience import until

CLIENT_COUNT = 500
SENT_BYTES = 900_000
FRAME_BYTES = 1_000_000
ADDRESS_SPACE_KB = 300_000
PATIENCE_S = 60
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)
# What the interpreter keeps of a peak.
KEPT_MB = 16


class LimitedBroker(Broker):
    """As started from a shell with `ulimit -v`."""

    def _command(self, ready_fd: int, control_fd: int) -> list[str]:
        limited = f'ulimit -v {ADDRESS_SPACE_KB}; exec "$@"'
        return ["/bin/sh", "-c", limited, "sh", *super()._command(ready_fd, control_fd)]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with LimitedBroker() as made:
        yield made


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the broker is gone")


def turn_count(pid: int) -> int:
    """How often the broker's own thread gave up its core by itself: a loop that spins never does."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    raise AssertionError("the broker is gone")


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_answering(broker: Broker) -> bool:
    with socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S) as sock:
        sock.sendall(API_VERSIONS_V0)
        return len(sock.recv(65536)) > 10


def send_as_far_as_taken(peers: list[socket.socket], data: bytes) -> None:
    """Send to all of them in turn until none takes any more."""
    sent = dict.fromkeys(peers, 0)
    is_moving = True
    while is_moving:
        is_moving = False
        for peer in peers:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                count = peer.send(data[sent[peer] : sent[peer] + 64 * 1024]) if sent[peer] < len(data) else 0
                sent[peer] += count
                is_moving = is_moving or count > 0


def test_clients_that_want_all_memory_cost_nobody_else_anything(broker: Broker) -> None:
    assert is_answering(broker)
    before_mb = resident_mb(broker.pid)
    with contextlib.ExitStack() as stack:
        peers = []
        for _ in range(CLIENT_COUNT):
            peer = stack.enter_context(socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S))
            peer.setblocking(False)
            peers.append(peer)
        send_as_far_as_taken(peers, struct.pack(">i", FRAME_BYTES) + b"x" * SENT_BYTES)
        assert is_answering(broker)
    until(lambda: is_answering(broker) and resident_mb(broker.pid) < before_mb + KEPT_MB)
    # At most a few hundred lines: one place writes no more than its due.
    text = broker.log_text()
    assert len(text.splitlines()) < 1_000, text[:5_000]
    assert "MemoryError" not in text
    # An idle loop gives up its core many times in the time in which a spinning one would use up 100 ticks of it.
    turns, ticks = turn_count(broker.pid), cpu_ticks(broker.pid)
    until(lambda: turn_count(broker.pid) - turns >= 20 or cpu_ticks(broker.pid) - ticks >= 100)
    assert turn_count(broker.pid) - turns >= 20, "the event loop spins"
