"""Accepts connections to the registry: limits them per address, and turns four-letter words into frames.

A client's first four bytes are the length of a frame, or a four-letter word (`ruok`) without a length. Read as a
length, a word exceeds any valid frame. This module puts a length before it, so that the frame handler sees a frame.

Source: ZooKeeper 3.5.9, NIOServerCnxn.readLength and checkFourLetterWord, NIOServerCnxnFactory (maxClientCnxns).
"""

import errno
import logging
from collections.abc import Callable

from barnabas.broker.net.channel import Acceptor, Channel
from barnabas.broker.registry.zookeeper_server.four_letter_words import WORD_BYTES, WORDS
from barnabas.wire.protocol.wire import Region

log = logging.getLogger(__name__)

_LENGTH = WORD_BYTES.to_bytes(4, "big")


class ZooKeeperChannel:
    """A channel that detects a four-letter word in its first bytes; see `Channel`."""

    def __init__(self, channel: Channel, on_close: Callable[[], object]) -> None:
        self._channel = channel
        self._on_close = on_close
        self._first = b""
        self._is_begun = False
        self.send = channel.send
        self.send_more = channel.send_more
        self.watch_reads = channel.watch_reads
        self.stop_reads = channel.stop_reads
        self.watch_writes = channel.watch_writes
        self.stop_writes = channel.stop_writes
        self.peer_certificate = channel.peer_certificate
        self.has_peer_left = channel.has_peer_left

    def recv_into(self, space: memoryview, /) -> int:
        if self._is_begun:
            return self._channel.recv_into(space)
        # Read only the length of the first frame, which may arrive in pieces.
        piece = bytearray(WORD_BYTES - len(self._first))
        count = self._channel.recv_into(memoryview(piece))
        if not count:
            return 0
        self._first += piece[:count]
        if len(self._first) < WORD_BYTES:
            raise BlockingIOError
        self._is_begun = True
        first = _LENGTH + self._first if self._first in WORDS else self._first
        space[: len(first)] = first
        return len(first)

    def send_file(self, region: Region, start: int, length: int) -> int:
        return self._channel.send_file(region, start, length)

    def close(self) -> None:
        self._on_close()
        self._channel.close()


class ZooKeeperAcceptor:
    """An acceptor that limits the connections from each address; see `Acceptor`."""

    def __init__(self, acceptor: Acceptor, most_per_host: int, counts: dict[str, int]) -> None:
        """Args:
        acceptor: Owned by this object from now on.
        counts: Number of connections of each address; shared by several listeners.
        """
        self.address = acceptor.address
        self._acceptor = acceptor
        self._most_per_host = most_per_host
        self._counts = counts
        self.listen = acceptor.listen
        self.pause = acceptor.pause
        self.resume = acceptor.resume
        self.close = acceptor.close

    def accept(self) -> tuple[Channel, tuple[str, int]]:
        channel, peer = self._acceptor.accept()
        host, counts = peer[0], self._counts
        if counts.get(host, 0) >= self._most_per_host:
            log.info("registry connection from %s rejected: the address already has %d", host, self._most_per_host)
            channel.close()
            raise OSError(errno.ECONNREFUSED, "too many connections")
        counts[host] = counts.get(host, 0) + 1

        def gone() -> None:
            counts[host] -= 1
            if not counts[host]:
                del counts[host]

        return ZooKeeperChannel(channel, gone), peer
