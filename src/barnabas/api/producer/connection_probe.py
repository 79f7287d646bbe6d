"""Probe of broker addresses: librdkafka reports lost connections, but not addresses that it fails to connect to.

The probe runs only while answers are missing, so that senders learn in time that no broker is reachable.
"""

import socket
from collections.abc import Iterable


def accepts_connections(addresses: Iterable[str], timeout_s: float) -> bool:
    """Return whether at least one of the `host:port` addresses accepts a connection within the time."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout_s):
                return True
        except OSError:
            continue
    return False
