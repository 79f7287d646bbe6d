"""What fuzzing of the network's doors begins with: right requests of every kind."""

import ssl
import struct

from tests import zookeeper_client as zk
from tests.integration.hostile_peers import golden_frames

_HANDSHAKES = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI")
_TOKENS = (
    b"\0alice\0secret",
    b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL",
    b"n,a=alice,n=alice,r=nonce,tokenauth=true",
    b"n,,\x01auth=Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6OTk5OTk5OTk5OX0.\x01\x01",
)
_PATHS = ("/", "/metrics", "/health", "/ready", "/nothing?query=1")


def seeds(door: str) -> list[bytes]:
    """Whole inputs for one of `doors.LISTENERS`."""
    return {"plain": _plain, "sasl": _sasl, "tls": _tls, "http": _http, "zookeeper": _zookeeper}[door]()


def _framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


def _plain() -> list[bytes]:
    frames = golden_frames()
    return [_framed(frame) for frame in frames] + [_framed(*frames[start : start + 3]) for start in range(0, 300, 3)]


def _sasl() -> list[bytes]:
    found = []
    for mechanism, token in zip(_HANDSHAKES, (*_TOKENS[:2], _TOKENS[3], b"\x60"), strict=True):
        for version in (0, 1):
            name = mechanism.encode()
            handshake = struct.pack(">hhih", 17, version, 1, -1) + struct.pack(">h", len(name)) + name
            authenticate = struct.pack(">hhih", 36, version, 2, -1) + struct.pack(">i", len(token)) + token
            found.append(_framed(handshake, token if version == 0 else authenticate))
    scram = struct.pack(">hhihh", 17, 1, 1, -1, 13) + b"SCRAM-SHA-256"
    found.append(_framed(scram, struct.pack(">hhihi", 36, 1, 2, -1, len(_TOKENS[2])) + _TOKENS[2]))
    return found + [_framed(frame) for frame in golden_frames()[:50]]


def _tls() -> list[bytes]:
    found = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = context.maximum_version = version
        outgoing = ssl.MemoryBIO()
        try:
            context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            found.append(outgoing.read())
    return [*found, _framed(golden_frames()[0]), b"\x15\x03\x03\x00\x02\x02\x28"]


def _http() -> list[bytes]:
    requests = [f"GET {path} HTTP/1.{minor}\r\nHost: here\r\n\r\n" for path in _PATHS for minor in (0, 1)]
    requests += [
        "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "GET / HTTP/1.1\r\nAccept: text/plain;q=0.5\r\n\r\n",
    ]
    return [request.encode() for request in requests]


def _zookeeper() -> list[bytes]:
    connect = struct.pack(">iqiq", 0, 0, 6_000, 0) + zk.buffer(bytes(16)) + b"\0"
    requests = [
        (zk.CREATE, zk.creation("/a", b"data")),
        (zk.CREATE2, zk.creation("/brokers/ids/7", b"{}", 1)),
        (zk.CREATE, zk.creation("/brokers/topics/t", b'{"version":2,"partitions":{"0":[0]}}', 2)),
        (zk.EXISTS, zk.watching("/a", True)),
        (zk.GET_DATA, zk.watching("/brokers/topics", True)),
        (zk.SET_DATA, zk.setting("/config/changes", b"x")),
        (zk.GET_ACL, zk.text("/")),
        (zk.GET_CHILDREN, zk.watching("/", True)),
        (zk.GET_CHILDREN2, zk.watching("/brokers", False)),
        (zk.DELETE, zk.versioned("/a")),
        (zk.SYNC, zk.text("/")),
        (zk.MULTI, zk.multi((zk.CREATE, zk.creation("/b")), (zk.CHECK, zk.versioned("/b", 0)))),
        (zk.SET_WATCHES, zk.watch_lists(0, ["/a"], ["/b"], ["/"])),
        (zk.AUTH, zk.integer(0) + zk.text("digest") + zk.buffer(b"user:password")),
        (zk.CLOSE_SESSION, b""),
    ]
    frames = [struct.pack(">ii", number, kind) + body for number, (kind, body) in enumerate(requests)]
    return [_framed(connect, frame) for frame in frames] + [_framed(connect, *frames), b"ruok", b"srvr", b"mntr"]
