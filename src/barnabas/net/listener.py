"""Accepts connections on one address and closes those that fell silent.

Source: design page, network layer; `connections.max.idle.ms`, `socket.send.buffer.bytes`,
`socket.receive.buffer.bytes`.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.core.errors import StartupError
from barnabas.core.memory import give_memory_back
from barnabas.core.timers import Timer, Timers
from barnabas.net.connection import Connection, FrameHandler
from barnabas.net.reactor import Reactor

log = logging.getLogger(__name__)

_BACKLOG = 1024
_ACCEPTS_PER_TURN = 64
_TICK_MS = 1_000
_PAUSE_MS = 500
_NO_DESCRIPTOR = "no file descriptor is left for a new connection: raise the limit (ulimit -n)"
_NO_MEMORY = "no memory is left for a new connection"
# Memory is given back after so many connections more than there are now have gone.
_GONE_CONNECTIONS = 200


@dataclass(slots=True)
class SocketOptions:
    """What every accepted socket is given; -1 leaves the system's own buffer size.

    Attributes:
        max_frame_bytes: `socket.request.max.bytes`.
        max_idle_ms: `connections.max.idle.ms`; a negative value never closes.
        max_descriptor: The highest file descriptor that a connection may have; those above are left to the logs. -1
            sets no limit.
    """

    max_frame_bytes: int
    max_idle_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    max_descriptor: int = -1


class Listener:
    """A listening socket and the connections that came in through it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timers: Timers,
        options: SocketOptions,
    ) -> None:
        self._loop = loop
        self._timers = timers
        self._options = options
        self._new_connection: Callable[[socket.socket, tuple[str, int]], Connection] | None = None
        self._sock: socket.socket | None = None
        self._connections: set[Connection] = set()
        self._timer: Timer | None = None
        self._peak_count = 0
        self.tick = 0

    def bind(self, host: str, port: int) -> tuple[str, int]:
        """Take the address without answering yet.

        Args:
            host: Name or address; empty for every interface.
            port: 0 lets the system choose.

        Returns:
            The address in use.

        Raises:
            StartupError: The address can't be had; one line that says why.
        """
        try:
            # As bytes (a name in the configuration is ASCII): for text Python loads its tables of Unicode names, 2 ms.
            family, kind, protocol, _, address = socket.getaddrinfo(
                host.encode("ascii") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except socket.gaierror as error:
            raise StartupError(f"the listener's host {host!r} can't be resolved: {error.strerror}") from None
        except UnicodeError:
            raise StartupError(f"the listener's host {host!r} is no host name") from None
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self._options.receive_buffer_bytes > 0:
                # Before listen: accepted sockets inherit it, and only then may the window grow beyond 64 KiB.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer_bytes)
            sock.bind(address)
        except OSError as error:
            sock.close()
            raise StartupError(_bind_failure(host, port, error)) from None
        sock.setblocking(False)
        self._sock = sock
        name = sock.getsockname()
        return name[0], name[1]

    def start(self, new_handler: Callable[[Connection], FrameHandler], reactor: Reactor) -> None:
        """Listen and accept from now on.

        Args:
            new_handler: Makes the frame handler of a fresh connection.
            reactor: What all connections share, those of other listeners too.
        """
        if self._sock is None:
            raise RuntimeError("bind comes first")

        def new_connection(peer: socket.socket, address: tuple[str, int]) -> Connection:
            max_frame_bytes = self._options.max_frame_bytes
            connection = Connection(reactor, peer, address, max_frame_bytes, self, self._forget)
            connection.start(new_handler(connection))
            return connection

        self._new_connection = new_connection
        self._sock.listen(_BACKLOG)
        self._loop.add_reader(self._sock, self._accept)
        self._timer = self._timers.call_later(_TICK_MS, self._on_tick)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def stop_accepting(self) -> None:
        """Refuse new connections; those that are open go on."""
        if self._sock is not None and self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def close(self) -> None:
        """Stop accepting and close every connection."""
        self.stop_accepting()
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._connections):
            connection.close()

    def _accept(self) -> None:
        sock = self._sock
        if sock is None:
            return
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                peer, address = sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._pause_accepting(sock, _NO_DESCRIPTOR)
                return
            if 0 <= self._options.max_descriptor < peer.fileno():
                peer.close()
                self._pause_accepting(sock, _NO_DESCRIPTOR)
                return
            try:
                self._adopt(peer, address)
            except MemoryError:
                peer.close()
                self._pause_accepting(sock, _NO_MEMORY)
                return

    def _pause_accepting(self, sock: socket.socket, reason: str) -> None:
        log.error("%s", reason)
        self._loop.remove_reader(sock)
        self._timers.call_later(_PAUSE_MS, self._resume_accepting)

    def _resume_accepting(self) -> None:
        if self._sock is not None and self._sock.fileno() >= 0:
            self._loop.add_reader(self._sock, self._accept)

    def _adopt(self, peer: socket.socket, address: tuple[str, int]) -> None:
        options = self._options
        peer.setblocking(False)
        try:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if options.send_buffer_bytes > 0:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        except OSError:
            # Gone before it was greeted.
            peer.close()
            return
        assert self._new_connection is not None
        self._connections.add(self._new_connection(peer, (address[0], address[1])))
        self._peak_count = max(self._peak_count, len(self._connections))

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _on_tick(self) -> None:
        self.tick += 1
        self._timer = self._timers.call_later(_TICK_MS, self._on_tick)
        if self._peak_count - len(self._connections) >= _GONE_CONNECTIONS:
            self._peak_count = len(self._connections)
            give_memory_back()
        max_idle_ms = self._options.max_idle_ms
        if max_idle_ms < 0:
            return
        oldest_tick = self.tick - max_idle_ms // _TICK_MS - 1
        idle = [each for each in self._connections if each.last_active_tick < oldest_tick and not each.is_parked]
        for connection in idle:
            connection.close(f"idle for longer than connections.max.idle.ms={max_idle_ms}")


def _bind_failure(host: str, port: int, error: OSError) -> str:
    where = f"{host or '0.0.0.0'}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use: another broker may be running; stop it or choose another port (--port)"
    if error.errno == errno.EACCES:
        return f"{where} needs more rights than this user has: choose a port above 1023"
    return f"{where} can't be listened on: {error.strerror}"
