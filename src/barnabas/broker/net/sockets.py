"""The machine's own network: non-blocking sockets, watched by the event loop.

Invariant: a socket's reader (`selector.py`) and writer are removed before it is closed: the system reuses descriptor
numbers at once.

Source: design page, network layer; `sendfile(2)`, `send(2)` on MSG_MORE; `socket.send.buffer.bytes`,
`socket.receive.buffer.bytes`.
"""

import asyncio
import errno
import os
import select
import socket
from collections.abc import Callable

from barnabas.broker.net.channel import SocketOptions
from barnabas.broker.net.selector import Selector
from barnabas.core.addresses import canonical_address
from barnabas.core.errors import StartupError
from barnabas.wire.protocol.wire import Region

_BACKLOG = 1024
# The host of a listener without a host, in messages.
_EVERY_ADDRESS = "0.0.0.0"
# macOS has no MSG_MORE: the header is sent in its own packet, which is only slower.
_MORE = getattr(socket, "MSG_MORE", 0)
# The peer has closed its side. Systems other than Linux only report the end of both sides, without a flag.
_PEER_LEFT = getattr(select, "POLLRDHUP", 0)


class PlainChannel:
    """An unencrypted socket; see `Channel`."""

    __slots__ = ("_is_reading", "_is_writing", "_loop", "_selector", "_sock", "recv_into", "send")

    def __init__(self, loop: asyncio.AbstractEventLoop, selector: Selector, sock: socket.socket) -> None:
        """Args:
        selector: The selector of all sockets.
        sock: Connected and non-blocking; owned by the channel.
        """
        self._loop = loop
        self._selector = selector
        self._sock = sock
        self._is_reading = self._is_writing = False
        # hot path: benchmarks/load (every request and answer); the methods themselves, to save a call
        self.recv_into = sock.recv_into
        self.send: Callable[[bytearray | memoryview], int] = sock.send

    def send_more(self, data: bytearray | memoryview) -> int:
        return self._sock.send(data, _MORE)

    def send_file(self, region: Region, start: int, length: int) -> int:
        sent = os.sendfile(self._sock.fileno(), region.fd, region.position + start, length)
        if sent == 0:
            raise OSError("a log segment is shorter than promised")
        return sent

    def watch_reads(self, callback: Callable[[], object]) -> None:
        self._selector.watch(self._sock.fileno(), callback)
        # Only now: if the kernel refuses to watch the socket, there is nothing to stop.
        self._is_reading = True

    def stop_reads(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._selector.forget(self._sock.fileno())

    def watch_writes(self, callback: Callable[[], object]) -> None:
        self._is_writing = True
        self._loop.add_writer(self._sock, callback)

    def stop_writes(self) -> None:
        self._is_writing = False
        self._loop.remove_writer(self._sock)

    def has_peer_left(self) -> bool:
        poller = select.poll()
        poller.register(self._sock, _PEER_LEFT)
        return bool(poller.poll(0))

    def peer_certificate(self) -> bytes | None:
        return None

    def close(self) -> None:
        self.stop_reads()
        if self._is_writing:
            self._loop.remove_writer(self._sock)
        self._sock.close()


class SocketAcceptor:
    """A bound socket; see `Acceptor`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, selector: Selector, sock: socket.socket, options: SocketOptions
    ) -> None:
        self._loop = loop
        self._selector = selector
        self._sock = sock
        self._options = options
        self._on_connection: Callable[[], object] = lambda: None
        name = sock.getsockname()
        self.address: tuple[str, int] = (name[0], name[1])

    def listen(self, on_connection: Callable[[], object]) -> None:
        self._on_connection = on_connection
        self._sock.listen(_BACKLOG)
        self._loop.add_reader(self._sock, on_connection)

    def pause(self) -> None:
        self._loop.remove_reader(self._sock)

    def resume(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.add_reader(self._sock, self._on_connection)

    def accept(self) -> tuple[PlainChannel, tuple[str, int]]:
        options = self._options
        peer, address = self._sock.accept()
        try:
            if 0 <= options.max_descriptor < peer.fileno():
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if options.send_buffer_bytes > 0:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
            return PlainChannel(self._loop, self._selector, peer), (_peer_host(*address), address[1])
        except BaseException:
            peer.close()
            raise

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()


class SocketNetwork:
    """The machine's own network; see `Network`."""

    __slots__ = ("_loop", "_selector")

    def __init__(self, loop: asyncio.AbstractEventLoop, now_ns: Callable[[], int]) -> None:
        """Args:
        now_ns: Monotonic nanoseconds.
        """
        self._loop = loop
        self._selector = Selector(loop, now_ns)

    def bind(self, host: str, port: int, options: SocketOptions) -> SocketAcceptor:
        if not _may_be_a_name(host):
            raise StartupError(f"the listener's host {host!r} is no host name")
        is_dual = not host and socket.has_dualstack_ipv6()
        try:
            # As bytes (a configured name is ASCII): for text, Python loads its Unicode tables, which takes 2 ms.
            family, kind, protocol, _, address = socket.getaddrinfo(
                b"::" if is_dual else host.encode("ascii") or None,
                port,
                type=socket.SOCK_STREAM,
                flags=socket.AI_PASSIVE,
            )[0]
        except socket.gaierror as error:
            raise StartupError(f"the listener's host {host!r} can't be resolved: {error.strerror}") from None
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if is_dual:
                # As in Java: one socket for IPv4, whose addresses `accept` returns as such, and IPv6.
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            if options.receive_buffer_bytes > 0:
                # Before listen: accepted sockets inherit it, and only then may the window grow beyond 64 KiB.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
            sock.bind(address)
        except OSError as error:
            sock.close()
            raise StartupError(_bind_failure(host, port, error)) from None
        sock.setblocking(False)
        acceptor = SocketAcceptor(self._loop, self._selector, sock, options)
        if is_dual:
            acceptor.address = (_EVERY_ADDRESS, acceptor.address[1])
        return acceptor

    async def connect(self, host: str, port: int) -> PlainChannel:
        loop = self._loop
        refused = OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
        for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.sock_connect(sock, address)
            except OSError as error:
                sock.close()
                refused = error
            except BaseException:
                sock.close()
                raise
            else:
                return PlainChannel(loop, self._selector, sock)
        raise refused

    def addresses(self, host: str) -> list[str]:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError:
            return []
        return [canonical_address(str(address[0])) for *_, address in found]

    def host_name(self) -> str:
        return socket.getfqdn()


def _peer_host(host: str, _port: int, _flow: int = 0, link: int = 0) -> str:
    """Return the canonical form of a peer's address; `link` is the index of the link that the address is valid on."""
    return canonical_address(f"{host}%{link}" if link else host)


def _may_be_a_name(host: str) -> bool:
    """Return whether a host has the form of a name or address, or is empty: labels of 1 to 63 ASCII characters."""
    labels = host.removesuffix(".").split(".")
    return host.isascii() and (not host or all(0 < len(label) < 64 for label in labels))


def _bind_failure(host: str, port: int, error: OSError) -> str:
    where = f"{host or _EVERY_ADDRESS}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use: another server may be running; stop it or choose another port"
    if error.errno == errno.EACCES:
        return f"{where} needs more rights than this user has: choose a port above 1023"
    return f"{where} can't be listened on: {error.strerror}"
