"""One connection: a non-blocking channel between a receive buffer and an outbox.

    readable ─► ReceiveBuffer ─► frame ─► FrameHandler ─► send() ─► Outbox ─► channel

Invariants:
- Requests are handled one at a time. No further frame is handed up while a `Pause` applies or the peer has not yet
  accepted the answers. Once the receive buffer is full, nothing more is read: a slow or greedy peer delays only itself.
- A turn is bounded in frames, bytes and time. A connection with more requests resumes in the loop's next turn, after
  all other connections had theirs.
- Answers that complete within one turn are sent together.
- A peer that has closed its side is still served the whole requests that wait in the receive buffer for a turn or an
  answer: with acks=0 a producer closes as soon as its records are sent. Then the connection closes.
- A connection whose half-received frame needs more memory than is available is parked: it is not read from until the
  shared receive memory resumes it. Unauthenticated connections share a separate receive memory.
- Every failure here, including lack of memory, closes only this connection. No callback raises an exception: the loop
  would call it again forever.

Source: design page, network layer; semantics, connections and requests.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from barnabas.broker.net.channel import Channel
from barnabas.broker.net.framing import READ_AHEAD_BYTES, ReceiveBuffer
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.outbox import Outbox
from barnabas.broker.net.reactor import Reactor
from barnabas.core.errors import ProtocolError, UnanswerableError
from barnabas.wire.protocol.wire import WireBuffer

log = logging.getLogger(__name__)

_NO_MEMORY: Final = "there is no memory for its request"

# Limits of one connection's turn; only a single request may exceed them. So a peer with many waiting requests delays
# another peer's request by about that request's own cost (benchmarks/load, neighbour).
TURN_FRAMES: Final = 16
TURN_BYTES: Final = 256 * 1024
TURN_NS: Final = 100_000
# Further read-ahead of a throttled connection stops when less than this is free in the buffer.
_LEAST_READ_BYTES: Final = 16 * 1024


class Pause:
    """Reasons to hand up no further frame; several may apply at once."""

    ANSWER: Final = 1  # the answer to a request is pending
    THROTTLE: Final = 2  # a quota throttles the client
    TURN: Final = 4  # its time slice ended; other connections run first
    AUTH: Final = 8  # the peer is not authenticated yet


# Computed once: used for every answer.
_NOT_FOR_AN_ANSWER: Final = ~Pause.ANSWER
# These pauses may be long: requests behind them are dropped when the peer leaves (leaving-held-peer).
_ENDING_WITH_PEER: Final = Pause.THROTTLE | Pause.AUTH


class FrameHandler(Protocol):
    """Handles the frames of one connection."""

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        """Handle one frame. The view is valid only during the call, unless `Connection.keep_frame` is called.

        Args:
            now_ns: When the frame's turn began.

        Raises:
            ProtocolError, UnanswerableError: The connection must close.
        """
        ...

    def on_closed(self) -> None:
        """Drop all state of the connection, which is closed."""
        ...


class ActivityClock(Protocol):
    """Counts coarse ticks, so that recording activity costs one attribute read."""

    tick: int


class Connection:
    """A peer's channel, driven by the event loop's readiness callbacks.

    Attributes:
        received_ns: When bytes last arrived: just before they were received.
        is_timed: Whether `network_ns` is counted.
        network_ns: Time spent sending and receiving. A receive that completes a request counts as that request's time
            instead, because its turn begins there. The reader may reset it.
        scheduler: Runs tasks at the end of this turn of the loop.
        on_sent: Called with the time whenever everything queued has been sent.
        on_part: Called with the received part of an incomplete frame (without its size field) and the frame's size,
            each time more of it arrives. It may pause the connection: then little more of the frame is received.
    """

    __slots__ = (
        "_activity",
        "_buffer",
        "_channel",
        "_completed_ns",
        "_counted_parts",
        "_end_reason",
        "_in_turn",
        "_is_closed",
        "_is_reading",
        "_is_writing",
        "_memory",
        "_now_ns",
        "_on_admitted",
        "_on_close",
        "_outbox",
        "_parked_at_ns",
        "_pauses",
        "_reactor",
        "_read_ahead_bytes",
        "_recv_into",
        "handler",
        "is_timed",
        "last_active_tick",
        "network_ns",
        "on_part",
        "on_sent",
        "peer_host",
        "peer_port",
        "received_ns",
        "scheduler",
    )

    def __init__(
        self,
        reactor: Reactor,
        channel: Channel,
        peer: tuple[str, int],
        max_frame_bytes: int,
        activity: ActivityClock,
        on_close: "ConnectionClosed",
    ) -> None:
        """Args:
        reactor: Shared by all connections of the broker.
        channel: Owned by the connection, unless this raises.
        peer: The peer's address and port, for logs.
        max_frame_bytes: `socket.request.max.bytes`.
        on_close: Called once when the connection is closed.
        """
        self._reactor = reactor
        self._memory = reactor.memory
        self._now_ns = reactor.now_ns
        self.scheduler = reactor.scheduler
        self._channel = channel
        # hot path: benchmarks/load (every request); bound once
        self._recv_into = channel.recv_into
        self.peer_host, self.peer_port = peer
        self._buffer = ReceiveBuffer(max_frame_bytes, reactor.memory)
        self._outbox = Outbox(self._channel)
        self._activity = activity
        self._on_close = on_close
        self._on_admitted: ConnectionClosed | None = None
        self.last_active_tick = activity.tick
        self.received_ns = self.network_ns = 0
        # When the queued answers were complete, if nothing else was done since then; else 0.
        self._completed_ns = 0
        self.is_timed = False
        self.handler: FrameHandler | None = None
        self.on_sent: Callable[[int], object] | None = None
        self.on_part: Callable[[memoryview, int], object] | None = None
        self._pauses = 0
        # Bytes to read ahead while the connection is paused.
        self._read_ahead_bytes = READ_AHEAD_BYTES
        # The parts in the queue when their bytes were last counted.
        self._counted_parts = 0
        self._in_turn = self._is_writing = self._is_reading = self._is_closed = False
        self._parked_at_ns: int | None = None
        # Why the peer sends nothing more; None: it may.
        self._end_reason: str | None = None

    def start(self, handler: FrameHandler) -> None:
        """Start reading; frames are passed to `handler`."""
        self.handler = handler
        self._start_reading()

    def confine(self, on_admitted: "ConnectionClosed") -> None:
        """Use the receive memory of unauthenticated connections until `admit`, which calls `on_admitted`."""
        self._on_admitted = on_admitted
        self._use_memory(self._reactor.unauthenticated_memory)

    def admit(self) -> None:
        """Treat the peer as admitted: it has logged in, or sent a request where no login is needed."""
        on_admitted, self._on_admitted = self._on_admitted, None
        if on_admitted is not None:
            self._use_memory(self._reactor.memory)
            on_admitted(self)

    def _use_memory(self, memory: ReceiveMemory) -> None:
        self._memory.forget(self)
        self._buffer.move_to(memory)
        self._memory = memory

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_parked(self) -> bool:
        """Whether it waits for receive memory: the broker, not the peer, causes the silence."""
        return self._parked_at_ns is not None

    def peer_certificate(self) -> bytes | None:
        """Return the peer's certificate in DER, or None. Valid from the first frame on."""
        return self._channel.peer_certificate()

    @property
    def max_frame_bytes(self) -> int:
        """The largest frame; a larger one closes the connection."""
        return self._buffer.max_frame_bytes

    @max_frame_bytes.setter
    def max_frame_bytes(self, max_frame_bytes: int) -> None:
        self._buffer.max_frame_bytes = max_frame_bytes

    def pause(self, reason: int) -> None:
        """Hand up no further frame until `resume` (or `send`, for `Pause.ANSWER`)."""
        self._pauses |= reason
        self._completed_ns = 0

    def resume(self, reason: int) -> None:
        """Remove a reason to pause; continue with the next frame if no other reason remains."""
        self._pauses &= ~reason
        self._completed_ns = 0
        if not self._in_turn and self.handler is not None:
            self._take_turn()

    def send(self, answer: WireBuffer, now_ns: int = 0) -> None:
        """Queue an answer and continue with the next frame, unless the connection is paused.

        Args:
            now_ns: The current time, if just read; else 0.
        """
        # hot path: benchmarks/load (every answer)
        self._completed_ns = now_ns
        outbox = self._outbox
        if answer.regions or outbox.parts:
            outbox.put(answer)
        else:
            outbox.parts.append(answer)
        self._pauses &= _NOT_FOR_AN_ANSWER
        if not self._in_turn and self.handler is not None:
            self._take_turn()

    def keep_frame(self) -> Callable[[], object]:
        """Keep the current frame valid after the call, even when the connection closes.

        Returns:
            A function to call once to release the frame: until then its memory counts as received.
        """
        try:
            kept_bytes = self._buffer.hand_over()
        except MemoryError:
            # A closed connection never reuses the buffer, so the frame stays valid.
            self.close(_NO_MEMORY)
            return _nothing
        return self._memory.keep(self, kept_bytes)

    def put_back(self, frame: memoryview) -> None:
        """Hand up the current frame again once the connection is no longer paused."""
        self._buffer.put_back(frame)

    @property
    def holds_buffer(self) -> bool:
        """Whether it currently has a receive buffer."""
        return self._buffer.capacity_bytes > 0

    def rest(self) -> bool:
        """Release the receive buffer until the peer sends data. Return whether a buffer was released."""
        return self._buffer.rest()

    def close(self, reason: str = "") -> None:
        """Close the channel and drop queued answers; no effect if already closed."""
        if self._is_closed:
            return
        self._is_closed = True
        self._channel.close()
        self._outbox.clear()
        self._go_from_park()
        self._reactor.unheard.pop(self, None)
        self._reactor.unsent_responses.forget(self)
        self._buffer.free()
        self._memory.forget(self)
        if reason:
            # Logged only now: if memory is short, the log line may need the memory that was just released.
            log.info("closing the connection from %s:%d: %s", self.peer_host, self.peer_port, reason)
        handler, self.handler = self.handler, None
        # The callbacks refer to this connection: the reference cycle would last until a full garbage collection.
        self.on_sent = self.on_part = None
        if handler is not None:
            handler.on_closed()
        self._on_close(self)

    # --- receiving

    def _readable(self) -> None:
        """Receive available data."""
        # hot path: benchmarks/load
        # Calling a method stored in a slot costs half as much through a local variable.
        clock_ns = self._now_ns
        now_ns = clock_ns()
        buffer, recv_into = self._buffer, self._recv_into
        try:
            space = buffer.space()
            if not space:
                self._make_room()
                return
            count = recv_into(space)
        except BlockingIOError:
            return
        except MemoryError:
            self.close(_NO_MEMORY)
            return
        except OSError as error:
            self._peer_ended(str(error.strerror or error))
            return
        if count == 0:
            self._peer_ended("")
            return
        self.last_active_tick = self._activity.tick
        self.received_ns = now_ns
        try:
            buffer.received(count)
        except MemoryError:
            self.close(_NO_MEMORY)
            return
        if not self._pauses and not self._outbox.parts:
            self._take_turn(now_ns)
        else:
            if self.is_timed:
                self.network_ns += self._now_ns() - now_ns
            if buffer.buffered_bytes >= self._read_ahead_bytes:
                self._stop_reading()
        if buffer.extra_bytes and buffer.start != buffer.end:
            self._memory.progressed(self, count, now_ns)

    def _peer_ended(self, reason: str) -> None:
        """Close, but not before the whole requests that wait for their turn or for the answer to an earlier request.

        Args:
            reason: Why nothing more can be received; empty if the peer has closed its side.
        """
        buffer, pauses = self._buffer, self._pauses
        # A login ends with its peer, so that peers that send and leave cost no more than one that stays.
        is_served = not pauses & _ENDING_WITH_PEER and self._on_admitted is None
        if is_served and (pauses or self._outbox.parts) and buffer.has_whole_frame:
            self._end_reason = reason
            self._stop_reading()
            return
        # Data behind a pause may be a whole request, not part of one.
        if buffer.buffered_bytes and not pauses and not reason:
            reason = "the peer left in the middle of a request"
        self.close(reason)

    def _make_room(self) -> None:
        """Grow the full buffer by the bytes that the frame needs, or wait for memory.

        Raises:
            MemoryError: The allocation failed although the receive memory allowed it.
        """
        if self._pauses or self._outbox.parts:
            # Complete frames in the buffer come first; the end of their turn resumes reading.
            self._stop_reading()
        elif self._memory.may_take(self):
            self._buffer.grow()
            self._memory.progressed(self, 0, self._now_ns())
        else:
            self._parked_at_ns = self._now_ns()
            self._stop_reading()

    @property
    def lacking_bytes(self) -> int:
        return self._buffer.lacking_bytes

    def on_memory(self) -> None:
        self._go_from_park()
        # The broker caused the silence: idle time counts again from now on.
        self.last_active_tick = self._activity.tick
        try:
            self._buffer.grow()
        except MemoryError:
            self.close(_NO_MEMORY)
            return
        self._start_reading()

    def _go_from_park(self) -> None:
        parked_at_ns, self._parked_at_ns = self._parked_at_ns, None
        if parked_at_ns is not None and self._reactor.on_waited is not None:
            self._reactor.on_waited(self.handler, self._now_ns() - parked_at_ns)

    def _wait_for_rest(self) -> None:
        buffer = self._buffer
        if buffer.extra_bytes and buffer.start != buffer.end:
            self._memory.wait_for(self, self._now_ns())

    def give_way(self) -> bool:
        if not self._is_reading or self._pauses or self._outbox.parts:
            return False
        # differs from Kafka (slow-requests): Kafka never closes a connection because its request arrives slowly.
        self.close("its request comes too slowly, and others need the memory that it takes")
        return True

    def look_for_peer(self) -> bool:
        # Other pauses end soon. A parked connection's remaining data may already be in the socket.
        if not self._pauses & Pause.THROTTLE:
            return False
        if self._channel.has_peer_left():
            # differs from Kafka (leaving-held-peer): Kafka notices when the throttle ends.
            self.close()
            return False
        # The end of the stream follows all data that the peer sent: read ahead to find it.
        try:
            has_room = self._buffer.spread()
        except MemoryError:
            return False
        if has_room:
            self._read_ahead_bytes = self._buffer.capacity_bytes - _LEAST_READ_BYTES
            self._start_reading()
        return has_room

    def _start_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._reactor.unheard.pop(self, None)
            self._wait_for_rest()
        self._channel.watch_reads(self._readable)

    def _stop_reading(self) -> None:
        self._is_reading = False
        self._reactor.unheard[self] = None
        self._channel.stop_reads()

    # --- turns

    def _writable(self) -> None:
        self.last_active_tick = self._activity.tick
        if self._flush() and not self._pauses:
            self._take_turn()

    def _go_on(self) -> None:
        """Resume after the other connections had their turn."""
        self._pauses &= ~Pause.TURN
        if self.handler is not None and not self._pauses and not self._outbox.parts:
            self._take_turn()

    def _take_turn(self, now_ns: int = 0) -> None:
        """Hand up frames until none is left, the connection is paused, or the peer does not accept its answers.

        Args:
            now_ns: The current time, if just read; else 0.
        """
        # hot path: benchmarks/load
        buffer = self._buffer
        parts = self._outbox.parts
        frame = None
        frames_left, bytes_left, end_ns = TURN_FRAMES, TURN_BYTES, 0
        self._in_turn = True
        try:
            while buffer.start != buffer.end and not self._pauses:
                next_frame = buffer.next_frame()
                if next_frame is None:
                    if self.is_timed and frame is None and now_ns:
                        self.network_ns += self._now_ns() - now_ns
                    if self.on_part is not None and buffer.end - buffer.start > 4:
                        self.on_part(*buffer.part())
                    break
                frame = next_frame
                now_ns = now_ns or self._now_ns()
                self.handler.on_frame(frame, now_ns)  # type: ignore[union-attr]  # checked whenever it may be closed
                if len(parts) > 1 and not self._flush():
                    return
                if self.handler is None:
                    return
                if buffer.start == buffer.end:
                    break
                frames_left -= 1
                bytes_left -= len(frame)
                now_ns = self._now_ns()
                end_ns = end_ns or now_ns + TURN_NS
                if frames_left <= 0 or bytes_left <= 0 or now_ns >= end_ns:
                    self._pauses |= Pause.TURN
                    self.scheduler.add(self._go_on)
        except (ProtocolError, UnanswerableError) as error:
            self._flush()
            self.close(str(error))
            return
        except MemoryError:
            self.close(_NO_MEMORY)
            return
        except Exception:
            log.exception("a frame from %s:%d could not be handled", self.peer_host, self.peer_port)
            self.close("internal error")
            return
        finally:
            self._in_turn = False
            if frame is not None and buffer.extra_bytes:
                self._give_back()
        if (parts and not self._flush()) or self.handler is None:
            return
        if not self._is_reading:
            if self._end_reason is not None:
                self._peer_ended(self._end_reason)
            elif not self._pauses:
                self._start_reading()

    def _give_back(self) -> None:
        """Release the memory of a handled frame if others may need it."""
        if self._memory.is_short:
            try:
                self._buffer.fit()
            except MemoryError:
                self.close(_NO_MEMORY)
                return
        self._memory.finished(self)
        self._wait_for_rest()

    def _flush(self) -> bool:
        """Send queued answers; return True if all were sent."""
        started_ns = (self._completed_ns or self._now_ns()) if self.is_timed else 0
        self._completed_ns = 0
        try:
            is_empty = self._outbox.flush()
        except OSError as error:
            self.close(str(error.strerror or error))
            return False
        if started_ns or self.on_sent is not None:
            now_ns = self._now_ns()
            if started_ns:
                self.network_ns += now_ns - started_ns
            if is_empty and self.on_sent is not None and self.handler is not None:
                self.on_sent(now_ns)
        if not is_empty:
            self._wait_for_peer()
        elif self._is_writing:
            self._is_writing = False
            self._channel.stop_writes()
            self._reactor.unsent_responses.forget(self)
        return is_empty

    def _wait_for_peer(self) -> None:
        """Continue to send when the peer accepts more."""
        unsent, part_count = self._reactor.unsent_responses, len(self._outbox.parts)
        if not self._is_writing or 2 * part_count <= self._counted_parts:
            # Not each time, because a response may have very many parts. Meanwhile the queue only gets shorter.
            self._counted_parts = part_count
            unsent.note(self, self._outbox.kept_bytes)
        else:
            unsent.note_progress(self)
        # Change the registration in epoll only when the state changes.
        if not self._is_writing:
            self._is_writing = True
            self._channel.watch_writes(self._writable)


def _nothing() -> None:
    return


class ConnectionClosed(Protocol):
    """Called when a connection is closed or admitted; the listener counts connections with it."""

    def __call__(self, connection: Connection) -> object: ...
