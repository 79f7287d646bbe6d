"""What is said of an address that cannot be listened on, before a socket is asked."""

import asyncio
import errno
import os
import re
import select
import socket
import time
from contextlib import suppress

import pytest

from barnabas.broker.net.channel import SocketOptions
from barnabas.broker.net.selector import Selector
from barnabas.broker.net.sockets import PlainChannel, SocketNetwork, _bind_failure, _may_be_a_name, _peer_host
from barnabas.core.errors import StartupError


@pytest.mark.parametrize("host", ["", "localhost", "localhost.", "10.1.2.3", "::1", "a-b.example", "x" * 63])
def test_what_may_be_a_host(host):
    assert _may_be_a_name(host)


@pytest.mark.parametrize("host", [".", "a..b", ".a", "x" * 64, "bücher.example", "a.\u0661"])
def test_what_can_be_none_is_refused_before_the_resolver_is_asked(host):
    assert not _may_be_a_name(host)
    with pytest.raises(StartupError, match="is no host name"):
        SocketNetwork(None, time.monotonic_ns).bind(host, 9092, SocketOptions())


@pytest.mark.parametrize(
    ("host", "number", "text"),
    [
        ("one", errno.EADDRINUSE, "one:9092 is in use: .* choose another port"),
        ("", errno.EACCES, "0.0.0.0:9092 needs more rights"),
        ("one", errno.EADDRNOTAVAIL, f"one:9092 can't be listened on: {os.strerror(errno.EADDRNOTAVAIL)}"),
    ],
)
def test_why_an_address_cannot_be_had(host, number, text):
    failure = _bind_failure(host, 9092, OSError(number, os.strerror(number)))
    assert re.fullmatch(f"{text}.*", failure)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        (("10.1.2.3", 5), "10.1.2.3"),
        (("::ffff:10.1.2.3", 5, 0, 0), "10.1.2.3"),
        (("::1", 5, 0, 0), "0:0:0:0:0:0:0:1"),
        (("fe80::1", 5, 0, 2), "fe80:0:0:0:0:0:0:1%2"),
    ],
)
def test_a_peer_is_called_by_the_one_form_of_its_address(name, host):
    assert _peer_host(*name) == host


@pytest.fixture
def network():
    loop = asyncio.new_event_loop()
    yield SocketNetwork(loop, time.monotonic_ns)
    loop.close()


def _has_ipv6_loopback() -> bool:
    with socket.socket(socket.AF_INET6) as tried, suppress(OSError):
        tried.bind(("::1", 0))
        return socket.has_dualstack_ipv6()
    return False


@pytest.mark.skipif(not socket.has_ipv6 or not _has_ipv6_loopback(), reason="the machine has no IPv6")
@pytest.mark.parametrize(("host", "peer_host"), [("127.0.0.1", "127.0.0.1"), ("::1", "0:0:0:0:0:0:0:1")])
def test_no_host_is_every_address_of_ipv4_and_ipv6(network, host, peer_host):
    acceptor = network.bind("", 0, SocketOptions())
    acceptor.listen(lambda: None)
    with socket.create_connection((host, acceptor.address[1])):
        channel, peer = acceptor.accept()
    assert (acceptor.address[0], peer[0]) == ("0.0.0.0", peer_host)
    channel.close()
    acceptor.close()


def test_without_ipv6_no_host_is_every_address_of_ipv4(network, monkeypatch):
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    acceptor = network.bind("", 0, SocketOptions())
    assert acceptor.address[0] == "0.0.0.0"
    acceptor.close()


def test_a_socket_that_the_kernel_refuses_to_watch_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses more than fs.epoll.max_user_watches descriptors of a user."""

    class FullEpoll:
        def __init__(self) -> None:
            self.epoll = real_epoll()
            self.fileno = self.epoll.fileno

        def register(self, descriptor: int, mask: int) -> None:
            raise OSError(errno.ENOSPC, "full")

    real_epoll = select.epoll
    monkeypatch.setattr(select, "epoll", FullEpoll)
    loop = asyncio.new_event_loop()
    ours, theirs = socket.socketpair()
    channel = PlainChannel(loop, Selector(loop, time.monotonic_ns), ours)
    with pytest.raises(OSError, match="full"):
        channel.watch_reads(lambda: None)
    channel.close()
    assert theirs.recv(1) == b""
    theirs.close()
    loop.close()
