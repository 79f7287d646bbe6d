"""The bytes of one connection: how they are taken from its socket and put into it.

`PlainChannel` is the socket itself. A channel that encrypts will be a second one: it has no `sendfile`, and may have to
wait for the peer before it can send (`SSLWantReadError`), so whoever uses a channel takes BlockingIOError for "later".

Source: design page, network layer; `sendfile(2)`, `send(2)` on MSG_MORE.
"""

import os
import socket
from typing import Protocol

from barnabas.protocol.wire import Region

# macOS has no MSG_MORE: the header leaves in its own packet, which is only slower.
_MORE = getattr(socket, "MSG_MORE", 0)


class Channel(Protocol):
    """What a connection does with its peer. Nothing here waits."""

    def recv_into(self, space: memoryview) -> int:
        """Take what has arrived; 0: the peer has ended its side.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The connection is gone.
        """
        ...

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        """Send some bytes from the beginning of `data`; how many.

        Args:
            has_more: More follows at once: no use in sending a packet that is not full.

        Raises:
            BlockingIOError: The peer takes nothing more for now.
            OSError: The connection is gone.
        """
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


class PlainChannel:
    """A socket as it is."""

    __slots__ = ("_sock", "recv_into")

    def __init__(self, sock: socket.socket) -> None:
        """Args:
        sock: Connected and non-blocking; its owner closes it.
        """
        self._sock = sock
        # hot path: benchmarks/load (every request); the method itself, to save a call
        self.recv_into = sock.recv_into

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        # hot path: benchmarks/load (every answer)
        return self._sock.send(data, _MORE if has_more else 0)

    def send_file(self, region: Region, start: int, length: int) -> int:
        sent = os.sendfile(self._sock.fileno(), region.fd, region.position + start, length)
        if sent == 0:
            raise OSError("a log segment is shorter than promised")
        return sent
