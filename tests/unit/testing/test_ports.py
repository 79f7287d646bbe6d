"""Ports of test servers are reserved, and are not given to other programs."""

import socket
import sys
from pathlib import Path

import pytest

from barnabas.testing.ports import reserve_port

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc; other systems refuse a second socket")


@linux_only
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", ""])
def test_a_reserved_port_is_for_one_server(host: str) -> None:
    first_ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with reserve_port(host) as reserved:
        address = reserved.getsockname()
        assert address[1] < max(first_ephemeral, 16_000)
        with socket.socket(reserved.family) as other, pytest.raises(OSError, match="in use"):
            other.bind(address)
        for _ in range(2):
            # As after a restart.
            with socket.create_server(address, family=reserved.family), socket.create_connection(address[:2], 10):
                pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address[:2], 10)


def test_a_host_of_another_machine_is_refused() -> None:
    with pytest.raises(OSError, match="assign"):
        reserve_port("203.0.113.1")
