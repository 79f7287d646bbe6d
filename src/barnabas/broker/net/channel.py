"""The interface to a network: addresses to listen on, and the byte streams of the connections that come in.

    Network.bind ─► Acceptor.accept ─► Channel ◄─ Network.connect

`sockets.py` is the machine's own network; a simulation has another one. A channel that encrypts (`tls_channel.py`)
stands over another one: it has no `sendfile`, and may have to wait for the peer before it can send, so whoever uses a
channel takes BlockingIOError for "later".

Source: design page, network layer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from barnabas.wire.protocol.wire import Region


class Channel(Protocol):
    """The byte stream between a connection and its peer. No method waits."""

    def recv_into(self, space: memoryview, /) -> int:
        """Take what has arrived; 0: the peer has ended its side.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The connection is gone.
        """
        ...

    def send(self, data: bytearray | memoryview, /) -> int:
        """Send some bytes from the beginning of `data`; how many.

        Raises:
            BlockingIOError: The peer takes nothing more for now.
            OSError: The connection is gone.
        """
        ...

    def send_more(self, data: bytearray | memoryview) -> int:
        """The same where more follows at once: no use in sending a packet that is not full."""
        ...

    def send_file(self, region: Region, start: int, length: int) -> int:
        """Send some bytes of a file's region; how many.

        Args:
            start: Where in the region to begin.
            length: From there on; not 0.

        Raises:
            BlockingIOError: The peer takes nothing more for now.
            OSError: The connection is gone, or the file is shorter than the region says.
        """
        ...

    def watch_reads(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, again and again, while there is something to take."""
        ...

    def stop_reads(self) -> None:
        """No longer tell of what can be taken."""
        ...

    def watch_writes(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, again and again, while the peer takes more."""
        ...

    def stop_writes(self) -> None:
        """No longer tell that the peer takes more."""
        ...

    def has_peer_left(self) -> bool:
        """Return whether the peer has ended its side, or the connection is gone, also where much was not taken before
        that.
        """
        ...

    def peer_certificate(self) -> bytes | None:
        """Return the certificate that the peer has proved to be its own, in DER; None without one, as always without
        TLS.
        """
        ...

    def close(self) -> None:
        """End the connection; no callback is called any more. To be called once only."""
        ...


@dataclass(slots=True)
class SocketOptions:
    """Socket options of a listener and of the connections that it accepts.

    Attributes:
        send_buffer_bytes, receive_buffer_bytes: -1 leaves the system's own sizes.
        max_descriptor: The highest file descriptor that a connection may have; those above are left to the logs. -1
            sets no limit.
    """

    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    max_descriptor: int = -1


class Acceptor(Protocol):
    """An address that is bound, and perhaps listened on.

    Attributes:
        address: The host and port in use.
    """

    address: tuple[str, int]

    def listen(self, on_connection: Callable[[], object]) -> None:
        """Let peers connect, and call back on the event loop while any of them waits to be accepted."""
        ...

    def pause(self) -> None:
        """Do not call back until `resume`; peers may connect meanwhile, and wait."""
        ...

    def resume(self) -> None:
        """Call back again; harmless when it is closed."""
        ...

    def accept(self) -> tuple[Channel, tuple[str, int]]:
        """The connection of a peer that waits, and the peer's address, in its canonical form (`core/addresses.py`).

        Raises:
            BlockingIOError: Nobody waits.
            OSError: EMFILE, ENFILE: there is no room for another connection; others: this peer is gone.
        """
        ...

    def close(self) -> None:
        """Refuse new connections; those that are open go on. Harmless when it is closed."""
        ...


class Network(Protocol):
    """Binds addresses, and connects to them."""

    def bind(self, host: str, port: int, options: SocketOptions) -> Acceptor:
        """Take an address without answering yet.

        Args:
            host: Name or address; empty for every interface.
            port: 0 lets the network choose.

        Raises:
            StartupError: The address can't be had; one line that says why.
        """
        ...

    async def connect(self, host: str, port: int) -> Channel:
        """Connect to an address.

        Raises:
            OSError: Nobody is there, or there is no such host.
        """
        ...

    def addresses(self, host: str) -> list[str]:
        """The addresses of a host, none where nobody knows it. Waits: only in an executor."""
        ...

    def host_name(self) -> str:
        """Return this machine's name for others."""
        ...
