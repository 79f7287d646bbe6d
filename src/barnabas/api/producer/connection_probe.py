"""Whether any of some brokers takes connections: librdkafka tells of lost connections, and not of those it waits for.

Asked only where no answer comes, so that whoever sends learns in time that there is nobody to wait for.
"""

import socket
from collections.abc import Iterable


def accepts_connections(addresses: Iterable[str], timeout_s: float) -> bool:
    """Return whether one of `host:port` takes a connection within the time."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout_s):
                return True
        except OSError:
            continue
    return False
