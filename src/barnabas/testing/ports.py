"""Ports for test servers, below the system's ephemeral ports.

The system may give an ephemeral port to any program at any time: also the port of a server that a test has killed,
while the server's clients still look for it.
"""

import contextlib
import random
import socket
from pathlib import Path

# Above the ports of well-known services; Linux assigns ephemeral ports from 32768 on.
_FIRST_PORT, _USUAL_FIRST_EPHEMERAL_PORT = 15_000, 32_768


def reserve_port(host: str) -> socket.socket:
    """Return a socket that is bound to a free port; no other server gets the port until the socket is closed.

    On Linux a server that sets SO_REUSEADDR, as brokers do, can listen on the port. On other systems it can't: close
    the socket before the server starts.

    Raises:
        OSError: The host is not an address of this machine.
    """
    family, _, _, _, address = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    # Fails here for a wrong host, and not in the loop.
    with socket.socket(family) as probe:
        probe.bind(address)
    while True:
        found = socket.socket(family)
        port = random.SystemRandom().randrange(_FIRST_PORT, _first_ephemeral_port())
        try:
            found.bind((address[0], port, *address[2:]))
        except OSError:
            found.close()
            continue
        # After the bind: another reservation of the port, which does not set it before, fails.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return found


def _first_ephemeral_port() -> int:
    with contextlib.suppress(OSError, ValueError):
        return max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), _FIRST_PORT + 1_000)
    return _USUAL_FIRST_EPHEMERAL_PORT
