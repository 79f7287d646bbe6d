"""The network interface: addresses to listen on, and the byte streams of accepted and outgoing connections.

    Network.bind ─► Acceptor.accept ─► Channel ◄─ Network.connect

`sockets.py` implements it with the machine's sockets; the simulation has its own implementation. An encrypting channel
(`tls_channel.py`) wraps another channel. It has no `sendfile`, and may have to wait for the peer before it can send.
BlockingIOError therefore always means "try later".

Source: design page, network layer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from barnabas.wire.protocol.wire import Region


class Channel(Protocol):
    """The byte stream between a connection and its peer. No method blocks."""

    def recv_into(self, space: memoryview, /) -> int:
        """Receive available bytes into `space` and return their number; 0 if the peer has closed its side.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The connection is lost.
        """
        ...

    def send(self, data: bytearray | memoryview, /) -> int:
        """Send some bytes from the beginning of `data` and return their number.

        Raises:
            BlockingIOError: The peer accepts no more data for now.
            OSError: The connection is lost.
        """
        ...

    def send_more(self, data: bytearray | memoryview) -> int:
        """Send like `send` when more data follows at once, so that only full packets are sent."""
        ...

    def send_file(self, region: Region, start: int, length: int) -> int:
        """Send some bytes of a file region and return their number.

        Args:
            start: Offset in the region.
            length: Bytes from `start`; not 0.

        Raises:
            BlockingIOError: The peer accepts no more data for now.
            OSError: The connection is lost, or the file is shorter than the region.
        """
        ...

    def watch_reads(self, callback: Callable[[], object]) -> None:
        """Call `callback` on the event loop, repeatedly, while data can be received."""
        ...

    def stop_reads(self) -> None:
        """Stop the callbacks of `watch_reads`."""
        ...

    def watch_writes(self, callback: Callable[[], object]) -> None:
        """Call `callback` on the event loop, repeatedly, while the peer accepts data."""
        ...

    def stop_writes(self) -> None:
        """Stop the callbacks of `watch_writes`."""
        ...

    def has_peer_left(self) -> bool:
        """Return whether the peer has closed its side or the connection is lost, even if unread data remains."""
        ...

    def peer_certificate(self) -> bytes | None:
        """Return the certificate that the peer has authenticated with, in DER; None without one or without TLS."""
        ...

    def close(self) -> None:
        """Close the connection and stop all callbacks. Call it only once."""
        ...


@dataclass(slots=True)
class SocketOptions:
    """Socket options of a listener and of the connections that it accepts.

    Attributes:
        send_buffer_bytes, receive_buffer_bytes: -1 keeps the system's sizes.
        max_descriptor: The highest file descriptor for connections; higher ones are for log files. -1: no limit.
    """

    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    max_descriptor: int = -1


class Acceptor(Protocol):
    """A bound address, which may be listening.

    Attributes:
        address: The host and port in use.
    """

    address: tuple[str, int]

    def listen(self, on_connection: Callable[[], object]) -> None:
        """Start listening, and call back on the event loop while a connection waits to be accepted."""
        ...

    def pause(self) -> None:
        """Stop the callbacks until `resume`. Peers may still connect, and wait."""
        ...

    def resume(self) -> None:
        """Resume the callbacks; no effect after `close`."""
        ...

    def accept(self) -> tuple[Channel, tuple[str, int]]:
        """Return a waiting connection and its peer's address in canonical form (`core/addresses.py`).

        Raises:
            BlockingIOError: No connection waits.
            OSError: EMFILE, ENFILE: the descriptor limit is reached. Others: this peer is gone.
        """
        ...

    def close(self) -> None:
        """Refuse new connections; open ones stay open. No effect if already closed."""
        ...


class Network(Protocol):
    """Binds addresses and connects to them."""

    def bind(self, host: str, port: int, options: SocketOptions) -> Acceptor:
        """Bind an address without listening yet.

        Args:
            host: Name or address; empty for every interface.
            port: 0 lets the network choose.

        Raises:
            StartupError: The address cannot be bound; one line with the reason.
        """
        ...

    async def connect(self, host: str, port: int) -> Channel:
        """Connect to an address.

        Raises:
            OSError: The host does not exist, or nothing listens there.
        """
        ...

    def addresses(self, host: str) -> list[str]:
        """Return a host's addresses; none if the host is unknown. Blocks: call it only in an executor."""
        ...

    def host_name(self) -> str:
        """Return the name by which other machines reach this one."""
        ...
