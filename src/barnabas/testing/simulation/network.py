"""A simulated network in memory: connections that deliver bytes late and in pieces, and that can be cut.

Each connection is a pair of ends. The bytes of one end arrive at the other in order, piece by piece, each after a
random delay; connections overtake each other. A piece may be lost and sent again, which takes more time. Between
separated hosts nothing arrives until they are joined again; a cut may affect one direction alone, and a link may be
slow.

The broker's end is a `Channel`, driven by readiness; a client's end is an asyncio transport. When a process dies, the
system closes its ends; when its machine loses power, no peer is notified, and a later sender gets a reset if the
machine is up again.

Source: design page, network layer; tcp(7).
"""

import asyncio
import errno
import os
import zlib
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from random import Random
from typing import Any

from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.net.channel import SocketOptions
from barnabas.core.errors import StartupError
from barnabas.testing.simulation.loop import VirtualLoop
from barnabas.wire.protocol.wire import Region

_BUFFER_BYTES = 64 * 1024
_PIECE_BYTES = 16 * 1024
_RETRANSMISSION_US = 200_000

# Source host and target host.
_Link = tuple[str, str]


class End:
    """One side of a connection.

    Attributes:
        host: Its host.
        peer: The other side.
        inbox: Received bytes that were not read yet.
        has_ended: Whether the peer sends nothing more.
        failure: The error that ended the connection; None: no error.
        is_closed: Whether this side was closed.
        on_change: Called, in the context of its owner, when one of the above has changed.
    """

    __slots__ = (
        "_arrival_us",
        "_context",
        "_in_flight_bytes",
        "_is_told",
        "_network",
        "failure",
        "has_ended",
        "host",
        "inbox",
        "is_closed",
        "label",
        "on_change",
        "peer",
    )

    def __init__(self, network: "MemoryNetwork", host: str, label: str) -> None:
        self._network = network
        self._context: Context | None = None
        self._in_flight_bytes = 0
        self._arrival_us = 0
        self._is_told = False
        self.host = host
        self.label = label
        self.peer: End = self
        self.inbox = bytearray()
        self.has_ended = self.is_closed = False
        self.failure: OSError | None = None
        self.on_change: Callable[[], object] = lambda: None

    def own(self, on_change: Callable[[], object]) -> None:
        """Notify the caller's process of changes from now on."""
        self._context = copy_context()
        self.on_change = on_change

    def tell(self) -> None:
        """Schedule a call of `on_change`, one for all changes until then."""
        if not self._is_told and self._context is not None:
            self._is_told = True
            self._network.loop.call_soon(self._call, context=self._context)

    def _call(self) -> None:
        self._is_told = False
        self.on_change()

    @property
    def room_bytes(self) -> int:
        """Return how many bytes may be sent now."""
        return _BUFFER_BYTES - self._in_flight_bytes - len(self.peer.inbox)

    def take(self, count: int) -> bytes:
        """Take the first bytes of the inbox."""
        data = bytes(self.inbox[:count])
        del self.inbox[:count]
        self.peer.tell()
        return data

    def send(self, data: bytes) -> int:
        """Send some of the data; return how many bytes.

        Raises:
            BlockingIOError: The buffer is full.
            OSError: The connection broke.
        """
        if self.failure is not None:
            raise self.failure
        if self.is_closed:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        room = self.room_bytes
        if room <= 0:
            raise BlockingIOError
        sent = data[: min(room, self._network.dice.randint(1, _PIECE_BYTES))]
        self._in_flight_bytes += len(sent)
        self._later(lambda: self._arrive(sent))
        return len(sent)

    def _later(self, arrive: Callable[[], object]) -> None:
        """Schedule an arrival at the peer, after everything sent before."""
        network = self._network
        delay_us = network.delay_us(self.host, self.peer.host)
        self._arrival_us = max(self._arrival_us, network.loop.now_us + delay_us)
        network.plan(self._arrival_us, self, arrive)

    def _arrive(self, data: bytes) -> None:
        self._in_flight_bytes -= len(data)
        peer, network = self.peer, self._network
        network.note(f"{self.label} {self.host}>{peer.host} {len(data)} {zlib.crc32(data):08x}")
        if peer.is_closed or peer.failure is not None:
            # The connection does not exist any more: the sender gets a reset, if the host is up.
            if not self.is_closed and network.is_up(peer.host):
                self.peer._later(lambda: self.reset(errno.ECONNRESET))
            return
        peer.inbox += data
        peer.tell()

    def end(self) -> None:
        """Close this side: the peer learns it after everything sent."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.failure is None:
            peer = self.peer
            # A close with unread data resets the connection.
            if self.inbox:
                self._later(lambda: peer.reset(errno.ECONNRESET))
            else:
                self._later(peer.note_end)
        self.inbox.clear()

    def vanish(self) -> None:
        """Simulate a power loss of the machine: the peer is not notified."""
        self.is_closed = True
        self.inbox.clear()

    def note_end(self) -> None:
        self.has_ended = True
        self.tell()

    def reset(self, number: int) -> None:
        """Reset the connection and drop unread data."""
        if self.failure is None and not self.is_closed:
            self.failure = ConnectionResetError(number, os.strerror(number))
            self.inbox.clear()
            self.tell()


class MemoryChannel:
    """A broker's end of a connection; see `Channel`."""

    __slots__ = ("_end", "_loop", "_on_read", "_on_write")

    def __init__(self, loop: VirtualLoop, end: End) -> None:
        self._loop = loop
        self._end = end
        self._on_read: Callable[[], object] | None = None
        self._on_write: Callable[[], object] | None = None
        end.own(self._changed)

    def recv_into(self, space: memoryview) -> int:
        end = self._end
        if end.failure is not None:
            raise end.failure
        if not end.inbox:
            if end.has_ended:
                return 0
            raise BlockingIOError
        data = end.take(len(space))
        space[: len(data)] = data
        return len(data)

    def send(self, data: bytearray | memoryview) -> int:
        return self._end.send(bytes(data[:_PIECE_BYTES]))

    def send_more(self, data: bytearray | memoryview) -> int:
        return self.send(data)

    def send_file(self, region: Region, start: int, length: int) -> int:
        assert isinstance(region, FileSlice)
        data = region.file.read(region.position + start, min(length, _PIECE_BYTES))
        if not data:
            raise OSError("a log segment is shorter than promised")
        return self._end.send(data)

    def watch_reads(self, callback: Callable[[], object]) -> None:
        self._on_read = callback
        self._end.tell()

    def stop_reads(self) -> None:
        self._on_read = None

    def watch_writes(self, callback: Callable[[], object]) -> None:
        self._on_write = callback
        self._end.tell()

    def stop_writes(self) -> None:
        self._on_write = None

    def has_peer_left(self) -> bool:
        return self._end.has_ended or self._end.failure is not None

    def peer_certificate(self) -> bytes | None:
        return None

    def close(self) -> None:
        self._on_read = self._on_write = None
        self._end.end()

    def _changed(self) -> None:
        end = self._end
        is_readable = bool(end.inbox) or end.has_ended or end.failure is not None
        if is_readable and self._on_read is not None:
            self._on_read()
            # Like a poll, which reports unread data again and again.
            if self._on_read is not None:
                end.tell()
        if self._on_write is not None and (end.room_bytes > 0 or end.failure is not None):
            self._on_write()


class MemoryAcceptor:
    """An address that a broker listens on; see `Acceptor`."""

    def __init__(self, network: "MemoryNetwork", address: tuple[str, int]) -> None:
        self.address = address
        self._network = network
        self._waiting: list[End] = []
        self._on_connection: Callable[[], object] | None = None
        self._context: Context | None = None
        self._is_paused = False

    def listen(self, on_connection: Callable[[], object]) -> None:
        self._on_connection = on_connection
        self._context = copy_context()

    @property
    def is_listening(self) -> bool:
        return self._on_connection is not None

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._tell()

    def accept(self) -> tuple[MemoryChannel, tuple[str, int]]:
        if not self._waiting:
            raise BlockingIOError
        end = self._waiting.pop(0)
        return MemoryChannel(self._network.loop, end), (end.peer.host, 1)

    def close(self) -> None:
        self._on_connection = None
        self._network.forget(self)
        for end in self._waiting:
            end.end()
        self._waiting.clear()

    def put(self, end: End) -> None:
        """Add a peer's connection."""
        self._waiting.append(end)
        self._tell()

    def _tell(self) -> None:
        if self._waiting and not self._is_paused and self._on_connection is not None:
            self._network.loop.call_soon(self._on_connection, context=self._context)


class _Transport(asyncio.Transport):
    """A client's end of a connection."""

    def __init__(self, end: End, protocol: asyncio.StreamReaderProtocol) -> None:
        super().__init__()
        self._end = end
        self._protocol = protocol
        self._unsent = bytearray()
        self._is_closing = self._is_lost = self._is_paused = self._is_reading_paused = False
        end.own(self._changed)

    def write(self, data: Any) -> None:
        if not self._is_closing:
            self._unsent += data
            self._push()

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def is_reading(self) -> bool:
        return not self._is_reading_paused

    def pause_reading(self) -> None:
        self._is_reading_paused = True

    def resume_reading(self) -> None:
        self._is_reading_paused = False
        self._end.tell()

    def close(self) -> None:
        self._is_closing = True
        if not self._unsent:
            self._lose(None)

    def abort(self) -> None:
        self._unsent.clear()
        self._lose(None)

    def _lose(self, error: OSError | None) -> None:
        self._is_closing = True
        if not self._is_lost:
            self._is_lost = True
            self._end.end()
            self._protocol.connection_lost(error)

    def _push(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._end.send(bytes(self._unsent[:_PIECE_BYTES]))]
        except BlockingIOError:
            pass
        except OSError as error:
            self._unsent.clear()
            self._lose(error)
            return
        if len(self._unsent) > _BUFFER_BYTES and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()
        elif not self._unsent and self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()
        if not self._unsent and self._is_closing:
            self._lose(None)

    def _changed(self) -> None:
        end = self._end
        if self._is_lost:
            return
        if end.inbox and not self._is_reading_paused and not self._is_closing:
            self._protocol.data_received(end.take(len(end.inbox)))
        if end.failure is not None:
            self._lose(end.failure)
        elif end.has_ended and not end.inbox:
            self._protocol.eof_received()
            self.close()
        else:
            self._push()


class HostNetwork:
    """The network as one host sees it; see `Network`."""

    __slots__ = ("_host", "_network")

    def __init__(self, network: "MemoryNetwork", host: str) -> None:
        self._network = network
        self._host = host

    def bind(self, host: str, port: int, options: SocketOptions) -> MemoryAcceptor:
        return self._network.bind(self._host, port)

    def addresses(self, host: str) -> list[str]:
        return [host]

    def host_name(self) -> str:
        return self._host

    async def connect(self, host: str, port: int) -> MemoryChannel:
        return MemoryChannel(self._network.loop, await self._network.open(self._host, host, port))

    async def dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection; raises OSError."""
        return await self._network.connect(self._host, host, port)


def _links(sources: Iterable[str], targets: Iterable[str]) -> list[_Link]:
    targets = list(targets)
    return [(source, target) for source in sources for target in targets if source != target]


class MemoryNetwork:
    """All hosts, all connections, and all data in flight.

    Attributes:
        loop: Time.
        dice: Random numbers for all delays.
        note: Called for all that arrives.
        loss: Probability that a piece is lost and sent again.
    """

    def __init__(self, loop: VirtualLoop, dice: Random, note: Callable[[str], object]) -> None:
        self.loop = loop
        self.dice = dice
        self.note = note
        self.loss = 0.0
        self._acceptors: dict[tuple[str, int], MemoryAcceptor] = {}
        self._connections: list[tuple[End, End]] = []
        self._connection_count = 0
        self._down: set[str] = set()
        # Blocked links, and the additional delay of each slow link.
        self._cuts: dict[_Link, None] = {}
        self._slowness_us: dict[_Link, int] = {}
        # Arrivals over blocked links, delivered when the link is unblocked.
        self._held: list[tuple[_Link, Callable[[], object]]] = []

    def host(self, name: str) -> HostNetwork:
        return HostNetwork(self, name)

    def delay_us(self, source: str, target: str) -> int:
        """Draw the delay of the next piece between two hosts."""
        delay_us = self.dice.randint(20, 500) + self._slowness_us.get((source, target), 0)
        if self.loss and self.dice.random() < self.loss:
            delay_us += _RETRANSMISSION_US
        return delay_us

    def plan(self, when_us: int, sender: End, arrive: Callable[[], object]) -> None:
        """Schedule an arrival of a sender's data, whatever happens to the sender's process."""
        self.carry(when_us, sender.host, sender.peer.host, arrive)

    def carry(self, when_us: int, source: str, target: str, arrive: Callable[[], object]) -> None:
        """Deliver something from one host to another, at a time or once the link is up."""
        link = source, target

        def reach() -> None:
            if link in self._cuts:
                self._held.append((link, arrive))
            else:
                arrive()

        self.loop.call_at(when_us / 1_000_000, reach, context=Context())

    # --- connections

    def bind(self, host: str, port: int) -> MemoryAcceptor:
        if (host, port) in self._acceptors:
            raise StartupError(f"{host}:{port} is in use")
        acceptor = self._acceptors[host, port] = MemoryAcceptor(self, (host, port))
        return acceptor

    def forget(self, acceptor: MemoryAcceptor) -> None:
        if self._acceptors.get(acceptor.address) is acceptor:
            del self._acceptors[acceptor.address]

    async def connect(self, source: str, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection, as streams; raises OSError."""
        ours = await self.open(source, host, port)
        reader = asyncio.StreamReader(limit=1 << 20, loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        transport = _Transport(ours, protocol)
        protocol.connection_made(transport)
        ours.tell()
        return reader, asyncio.StreamWriter(transport, protocol, reader, self.loop)

    async def open(self, source: str, host: str, port: int) -> End:
        """Open a connection and return this side of it. Raises OSError."""
        self._connection_count += 1
        label = f"c{self._connection_count}"
        ours, theirs = End(self, source, label), End(self, host, label)
        ours.peer, theirs.peer = theirs, ours
        answered: asyncio.Future[bool] = self.loop.create_future()
        context = copy_context()

        def answer(is_taken: bool) -> None:
            if not answered.done():
                answered.set_result(is_taken)

        def knock() -> None:
            acceptor = self._acceptors.get((host, port))
            is_taken = acceptor is not None and acceptor.is_listening
            if not is_taken and host in self._down:
                # The host is down and cannot answer.
                return
            if is_taken and acceptor is not None:
                self._connections.append((ours, theirs))
                acceptor.put(theirs)
            back_us = self.loop.now_us + self.delay_us(host, source)
            self.plan(back_us, theirs, lambda: self.loop.call_soon(answer, is_taken, context=context))

        self.plan(self.loop.now_us + self.delay_us(source, host), ours, knock)
        try:
            is_taken = await answered
        except asyncio.CancelledError:
            ours.end()
            raise
        if not is_taken:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return ours

    # --- faults

    def open_connections(self) -> list[tuple[End, End]]:
        """Return the connections that neither side has closed."""
        self._connections = [
            pair for pair in self._connections if not any(end.is_closed or end.failure for end in pair)
        ]
        return self._connections

    def cut(self, pair: tuple[End, End]) -> None:
        """Reset a connection on both sides, with all data in flight."""
        for end in pair:
            end.reset(errno.ECONNRESET)

    def part(self, hosts: Iterable[str], others: Iterable[str]) -> None:
        """Block all traffic between two groups of hosts."""
        hosts, others = list(hosts), list(others)
        self.cut_way(hosts, others)
        self.cut_way(others, hosts)

    def cut_way(self, sources: Iterable[str], targets: Iterable[str]) -> None:
        """Block traffic from some hosts to others; the reverse direction is unaffected."""
        self._cuts.update(dict.fromkeys(_links(sources, targets)))

    def slow_way(self, sources: Iterable[str], targets: Iterable[str], more_us: int) -> None:
        """Delay traffic from some hosts to others; 0 ends the delay."""
        self._slowness_us.update(dict.fromkeys(_links(sources, targets), more_us))

    def is_cut(self, source: str, target: str) -> bool:
        """Return whether traffic from one host to another is blocked."""
        return (source, target) in self._cuts

    def heal_way(self, sources: Iterable[str], targets: Iterable[str]) -> None:
        """Unblock traffic from some hosts to others, and deliver held-back data."""
        for link in _links(sources, targets):
            self._cuts.pop(link, None)
            self._slowness_us.pop(link, None)
        held, self._held = self._held, []
        # Deliver at once, because later data of the connection may be due at the same instant.
        for link, arrive in held:
            if link in self._cuts:
                self._held.append((link, arrive))
            else:
                arrive()

    def heal(self) -> None:
        """Unblock all traffic, and deliver held-back data."""
        self._cuts.clear()
        self._slowness_us.clear()
        self.heal_way((), ())

    def is_up(self, host: str) -> bool:
        return host not in self._down

    def kill(self, host: str) -> None:
        """Close the connections and addresses of a process that died."""
        for acceptor in [each for each in self._acceptors.values() if each.address[0] == host]:
            acceptor.close()
        for pair in self.open_connections():
            for end in pair:
                if end.host == host:
                    end.end()

    def cut_power(self, host: str) -> None:
        """Switch a machine off, until `power_on`."""
        self._down.add(host)
        for acceptor in [each for each in self._acceptors.values() if each.address[0] == host]:
            self.forget(acceptor)
        for pair in self.open_connections():
            for end in pair:
                if end.host == host:
                    end.vanish()

    def power_on(self, host: str) -> None:
        self._down.discard(host)
