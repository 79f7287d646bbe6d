"""Requests as bytes, for what no client library would ever send."""

import socket
import struct

from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey, response_class
from barnabas.wire.protocol.wire import WireBuffer


def ask(bootstrap_servers: str, request, version: int, client_id: bytes = b"test"):
    """Send one request on a connection of its own.

    Returns:
        The answer, or None where the connection was closed instead.
    """
    api_key = request.API_KEY
    is_flexible = version >= FIRST_FLEXIBLE_VERSION[api_key]
    head = struct.pack(">hhih", api_key, version, 7, len(client_id))
    out = WireBuffer(head + client_id + (b"\0" if is_flexible else b""))
    request.encode(version, out)
    host, _, port = bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        sock.sendall(struct.pack(">i", len(out)) + out)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            more = sock.recv(65536)
            if not more:
                return None
            data += more
    start = 8 + (1 if is_flexible and api_key != ApiKey.API_VERSIONS else 0)
    answer, end = response_class(api_key).decode(version, memoryview(data), start)
    assert end == len(data)
    return answer
