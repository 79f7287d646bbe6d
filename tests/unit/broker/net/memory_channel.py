"""A peer in memory, for what is tested without sockets: what it sends, how much it takes, and when it is gone."""

from collections.abc import Callable

from barnabas.wire.protocol.wire import Region


class MemoryPeer:
    """The other side of a `Channel`, and the channel itself.

    Attributes:
        inbox: What it has sent and nobody took.
        taken: What it was sent.
        room_bytes: How much more it takes; None is all.
        sends: The length and whether more was to follow, of each call that sent something.
        failure: Raised by whatever is asked of the connection.
        has_ended: It sends nothing more.
    """

    def __init__(self, room_bytes: int | None = None) -> None:
        self.inbox = bytearray()
        self.taken = bytearray()
        self.room_bytes = room_bytes
        self.sends: list[tuple[int, bool]] = []
        self.failure: OSError | None = None
        self.has_ended = False
        self.is_closed = False
        self.on_read: Callable[[], object] | None = None
        self.on_write: Callable[[], object] | None = None

    # --- the peer

    def say(self, data: bytes) -> None:
        """Send, and have it read as the loop would, for as long as anybody reads."""
        self.inbox += data
        while self.inbox and self.on_read is not None:
            self.on_read()

    def take(self, count: int) -> None:
        """Take so many bytes more."""
        self.room_bytes = (self.room_bytes or 0) + count
        if self.on_write is not None:
            self.on_write()

    # --- the channel

    def recv_into(self, space: memoryview) -> int:
        if self.failure is not None:
            raise self.failure
        if not self.inbox:
            if self.has_ended:
                return 0
            raise BlockingIOError
        count = min(len(space), len(self.inbox))
        space[:count] = self.inbox[:count]
        del self.inbox[:count]
        return count

    def send(self, data: bytearray | memoryview, /) -> int:
        return self._send(data, False)

    def send_more(self, data: bytearray | memoryview) -> int:
        return self._send(data, True)

    def _send(self, data: bytearray | memoryview, has_more: bool) -> int:
        if self.failure is not None:
            raise self.failure
        count = len(data) if self.room_bytes is None else min(len(data), self.room_bytes)
        if len(data) and not count:
            raise BlockingIOError
        if self.room_bytes is not None:
            self.room_bytes -= count
        self.taken += data[:count]
        self.sends.append((count, has_more))
        return count

    def send_file(self, region: Region, start: int, length: int) -> int:
        assert isinstance(region, MemoryRegion)
        return self.send(memoryview(region.data)[start : start + length])

    def watch_reads(self, callback: Callable[[], object]) -> None:
        self.on_read = callback

    def stop_reads(self) -> None:
        self.on_read = None

    def watch_writes(self, callback: Callable[[], object]) -> None:
        self.on_write = callback

    def stop_writes(self) -> None:
        self.on_write = None

    def has_peer_left(self) -> bool:
        return self.has_ended or self.failure is not None

    def peer_certificate(self) -> bytes | None:
        return None

    def close(self) -> None:
        assert not self.is_closed, "once only"
        self.is_closed = True
        self.on_read = self.on_write = None


class MemoryRegion:
    """Bytes of a file that is none."""

    fd = -1
    position = 0

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def length(self) -> int:
        return len(self.data)


class MemoryAcceptor:
    """An address at which peers, or errors, wait."""

    def __init__(self, address=("memory", 9092), peer_address=("10.1.2.3", 5_000)) -> None:
        self.address, self._peer_address = address, peer_address
        self.waiting: list[MemoryPeer | OSError] = []
        self.on_connection = None
        self.is_paused = self.is_closed = False

    def listen(self, on_connection):
        self.on_connection = on_connection

    def knock(self, *peers):
        self.waiting += peers
        if not self.is_paused and self.on_connection is not None:
            self.on_connection()

    def pause(self):
        self.is_paused = True

    def resume(self):
        self.is_paused = False
        if self.waiting:
            self.on_connection()

    def accept(self):
        if not self.waiting:
            raise BlockingIOError
        peer = self.waiting.pop(0)
        if isinstance(peer, OSError):
            raise peer
        return peer, self._peer_address

    def close(self):
        self.is_closed = True
