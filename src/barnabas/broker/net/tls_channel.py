"""TLS over another channel: encrypts sent data and decrypts received data without blocking.

    Connection ─► TlsChannel ─► SSLObject ─► two buffers of ciphertext ─► the plain channel

The handshake begins with the first read and completes before the first plaintext is returned; nothing can be sent
before that. Its steps are asymmetric cryptography, up to a millisecond each, and run in an executor's thread. The
loop's own work for handshakes is limited per turn (`TlsLoop`): a flood of handshakes waits and delays no other
connection. If a peer leaves while its step is queued, the step is skipped. A slice of a file must be encrypted, so it
is read from the page cache piece by piece, without `sendfile`.

Invariants:
- The loop and the executor never use the `SSLObject` at the same time: nothing is read or sent while a step runs.
- At most one piece (64 KiB) of ciphertext waits for a peer that accepts no data; then `send` raises BlockingIOError.
- A peer may send little ciphertext without data: each key update takes about as long as a small request.
- A handshake has a deadline. A failure is raised by the next read or write.

Source: RFC 8446, RFC 5246; design page, network layer; Kafka 2.7.2, SslTransportLayer.
"""

import os
import ssl
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from barnabas.broker.net.channel import Acceptor, Channel
from barnabas.core.executor import Executor
from barnabas.core.timers import Timer, Timers
from barnabas.wire.protocol.wire import Region

# Bytes encrypted or received at a time: fewer system calls than with records of 16 KiB (benchmarks/load, tls).
_PIECE_BYTES = 64 * 1024
# Room for a handshake with long certificate chains; OpenSSL itself accepts messages of 100 KiB.
_MOST_HANDSHAKE_BYTES = 512 * 1024
# Ciphertext that may arrive without data: a record (16 KiB) yields none before its last byte.
_MOST_EMPTY_BYTES = 32 * 1024
# The ciphertext that a byte of data allows beyond that: as long as a record of one byte.
_BYTES_PER_DATA_BYTE = 32
# The loop's time for handshakes per turn.
_TURN_NS = 2_000_000
# Steps submitted to the executor at a time, so that its thread is always busy.
_MOST_COMPUTING = 4
# The types of the first record that a TLS peer sends: a handshake message, or an alert.
_FIRST_BYTES = frozenset([0x16, 0x15])

NO_TLS: Final = "it does not speak TLS, as this listener does: security.protocol of the client must be SSL or SASL_SSL"


class TlsError(OSError):
    """TLS failed on this connection; one line with the reason."""


class TlsLoop:
    """State shared by all TLS channels of an event loop.

    Attributes:
        executor: Computes the handshake steps.
        timers: For the handshake deadlines.
        defer: Runs a function in the loop's next turn (`loop.call_soon`).
        space: Scratch buffer for received ciphertext and for plaintext to encrypt.
    """

    __slots__ = (
        "_computing_count",
        "_is_planned",
        "_now_ns",
        "_steps",
        "_tasks",
        "defer",
        "executor",
        "space",
        "timers",
    )

    def __init__(
        self,
        executor: Executor,
        timers: Timers,
        defer: Callable[[Callable[[], object]], object],
        now_ns: Callable[[], int],
    ) -> None:
        """Args:
        now_ns: Monotonic nanoseconds.
        """
        self.executor = executor
        self.timers = timers
        self.defer = defer
        self.space = memoryview(bytearray(_PIECE_BYTES))
        self._now_ns = now_ns
        self._is_planned = False
        self._computing_count = 0
        self._steps: deque[Callable[[], bool]] = deque()
        self._tasks: deque[Callable[[], object]] = deque()

    def compute(self, step: Callable[[], bool]) -> None:
        """Start a handshake step when the executor has time for it.

        Args:
            step: Submits the step to the executor and returns True; returns False if the step is no longer needed. A
                submitted step must call `computed` when it ends.
        """
        self._steps.append(step)
        self._begin_steps()

    def computed(self) -> None:
        """Start the next step after one has ended."""
        self._computing_count -= 1
        self._begin_steps()

    def _begin_steps(self) -> None:
        while self._steps and self._computing_count < _MOST_COMPUTING:
            self._computing_count += 1
            if not self._steps.popleft()():
                self._computing_count -= 1

    def later(self, task: Callable[[], object]) -> None:
        """Run a task of a handshake when there is time: in each turn as much as `_TURN_NS` allows."""
        self._tasks.append(task)
        self._plan()

    def _plan(self) -> None:
        if not self._is_planned:
            self._is_planned = True
            self.defer(self._run)

    def _run(self) -> None:
        self._is_planned = False
        end_ns = self._now_ns() + _TURN_NS
        tasks = self._tasks
        while tasks:
            if len(tasks) > 1:
                # Planned first, in case this task raises.
                self._plan()
            tasks.popleft()()
            if self._now_ns() >= end_ns:
                return


class TlsChannel:
    """An encrypting channel; see `Channel`."""

    __slots__ = (
        "_context",
        "_deadline",
        "_empty_bytes",
        "_failure",
        "_handshake_bytes",
        "_incoming",
        "_inner",
        "_is_again_planned",
        "_is_closed",
        "_is_computing",
        "_is_drained",
        "_is_open",
        "_is_queued",
        "_is_watching_writes",
        "_loop",
        "_on_read",
        "_on_refused",
        "_on_write",
        "_outgoing",
        "_server_name",
        "_timeout_ms",
        "_tls",
        "_unsent",
    )

    def __init__(
        self,
        inner: Channel,
        context: ssl.SSLContext,
        loop: TlsLoop,
        handshake_timeout_ms: int,
        server_name: str | None = None,
        on_refused: Callable[[str], object] | None = None,
    ) -> None:
        """Args:
        inner: Connected; owned by this channel.
        handshake_timeout_ms: Limit of the handshake's duration, from now on.
        server_name: The server's name, for a client; None for a server.
        on_refused: Called with the reason if the handshake fails, except when the peer left.
        """
        self._inner = inner
        self._context = context
        self._loop = loop
        self._server_name = server_name
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._unsent = memoryview(b"")
        self._failure: OSError | None = None
        # Ciphertext received beyond the share that its data allows.
        self._empty_bytes = 0
        self._handshake_bytes = 0
        self._is_open = self._is_closed = self._is_queued = self._is_computing = False
        self._is_drained = True
        self._is_again_planned = self._is_watching_writes = False
        self._on_read: Callable[[], object] | None = None
        self._on_write: Callable[[], object] | None = None
        self._on_refused = on_refused
        self._timeout_ms = handshake_timeout_ms
        self._deadline: Timer | None = loop.timers.call_later(handshake_timeout_ms, self._too_late)

    # --- the plain side

    def recv_into(self, space: memoryview, /) -> int:
        # hot path: benchmarks/load (tls; every request)
        if not self._is_open or self._failure is not None:
            raise self._failure or BlockingIOError
        filled = 0
        if not self._is_drained:
            filled = self._decrypt(space)
        if filled < len(space) and self._is_drained and self._failure is None:
            inner = self._loop.space
            try:
                count = self._inner.recv_into(inner)
            except BlockingIOError:
                if not filled:
                    raise
                return filled
            if count == 0:
                # Closed without a close_notify, as by Java clients: a truncated request is detected by its size.
                return filled
            self._incoming.write(inner[:count])
            self._is_drained = False
            self._empty_bytes += count
            filled += self._decrypt(space[filled:])
        if filled:
            return filled
        if self._failure is not None:
            raise self._failure
        if not self._is_drained:
            # A close_notify: the peer has closed its side.
            return 0
        raise BlockingIOError

    def send(self, data: bytearray | memoryview, /) -> int:
        # hot path: benchmarks/load (tls; every answer)
        count = self._encrypt(data)
        self._push_or_fail()
        return count

    def send_more(self, data: bytearray | memoryview) -> int:
        count = self._encrypt(data)
        if self._outgoing.pending >= _PIECE_BYTES:
            self._push_or_fail()
        return count

    def send_file(self, region: Region, start: int, length: int) -> int:
        self._check_sendable()
        space = self._loop.space[: min(length, _PIECE_BYTES)]
        count = os.preadv(region.fd, [space], region.position + start)
        if count == 0:
            raise OSError("a log segment is shorter than promised")
        return self.send(space[:count])

    def watch_reads(self, callback: Callable[[], object]) -> None:
        self._on_read = callback
        if self._failure is not None or not self._is_drained:
            self._plan_again()
        if self._is_computing:
            return
        self._inner.watch_reads(self._readable)
        if not self._is_open and self._server_name is not None and self._tls is None:
            # A client sends first.
            self._queue()

    def stop_reads(self) -> None:
        self._on_read = None
        if not self._is_computing and self._is_open:
            self._inner.stop_reads()

    def watch_writes(self, callback: Callable[[], object]) -> None:
        self._on_write = callback
        if self._failure is not None:
            self._plan_again()
        elif self._is_open:
            self._watch_inner_writes()

    def stop_writes(self) -> None:
        self._on_write = None
        self._settle_writes()

    def has_peer_left(self) -> bool:
        return self._inner.has_peer_left()

    def peer_certificate(self) -> bytes | None:
        if self._tls is None or not self._is_open:
            return None
        return self._tls.getpeercert(binary_form=True)

    def close(self) -> None:
        self._is_closed = True
        self._on_read = self._on_write = None
        self._end_deadline()
        if self._is_open and self._failure is None and self._tls is not None:
            self._say_goodbye(self._tls)
        self._inner.close()

    # --- decrypting and encrypting

    def _decrypt(self, space: memoryview) -> int:
        """Decrypt received data into `space`; 0 with `_is_drained` unset means that the peer has closed its side."""
        tls = self._tls
        assert tls is not None
        incoming = self._incoming
        filled, length = 0, len(space)
        try:
            while filled < length:
                # One record at a time.
                count = tls.read(length - filled, space[filled:] if filled else space)
                if not count:
                    return filled
                filled += count  # type: ignore[operator]  # an int, because a buffer is given
                if not incoming.pending and (filled < length or not tls.pending()):
                    # All records were complete: another read would raise, which costs as much as decrypting.
                    self._is_drained = True
                    break
        except ssl.SSLWantReadError:
            self._is_drained = True
        except ssl.SSLError as error:
            self._failure = TlsError(f"TLS: {_reason(error)}")
        if self._outgoing.pending:
            # The answers to key updates.
            if not self._unsent:
                self._push_or_fail()
            if self._outgoing.pending > _PIECE_BYTES:
                self._failure = TlsError("TLS: it does not take the answers to its key updates")
        self._empty_bytes -= _BYTES_PER_DATA_BYTE * filled
        if self._is_drained:
            if self._empty_bytes > _MOST_EMPTY_BYTES:
                self._failure = TlsError("TLS: it sends messages without data")
            elif self._empty_bytes < 0:
                self._empty_bytes = 0
        return filled

    def _check_sendable(self) -> None:
        """Raise BlockingIOError if nothing can be sent for now, OSError if the channel has failed."""
        if self._failure is not None:
            raise self._failure
        if not self._is_open or (self._unsent and not self._push_or_fail()):
            raise BlockingIOError

    def _encrypt(self, data: bytearray | memoryview) -> int:
        self._check_sendable()
        assert self._tls is not None
        try:
            return self._tls.write(data if len(data) <= _PIECE_BYTES else memoryview(data)[:_PIECE_BYTES])
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            self._failure = TlsError(f"TLS: {_reason(error)}")
            raise self._failure from None

    # --- ciphertext out

    def _push_or_fail(self) -> bool:
        """Send encrypted data; return whether all was sent. An OSError becomes the channel's failure and is raised."""
        try:
            return self._push()
        except OSError as error:
            self._failure = error
            raise

    def _push(self) -> bool:
        inner = self._inner
        while True:
            if not self._unsent:
                if not self._outgoing.pending:
                    self._settle_writes()
                    return True
                self._unsent = memoryview(self._outgoing.read())
            try:
                sent = inner.send(self._unsent)
            except BlockingIOError:
                self._watch_inner_writes()
                return False
            self._unsent = self._unsent[sent:]

    def _watch_inner_writes(self) -> None:
        if not self._is_watching_writes and not self._is_closed:
            self._is_watching_writes = True
            self._inner.watch_writes(self._writable)

    def _settle_writes(self) -> None:
        if self._is_watching_writes and not self._unsent and self._on_write is None:
            self._is_watching_writes = False
            self._inner.stop_writes()

    def _writable(self) -> None:
        try:
            if not self._push():
                return
        except OSError as error:
            self._fail(error)
            return
        if self._on_write is not None and self._is_open:
            self._on_write()

    # --- ciphertext in

    def _readable(self) -> None:
        if not self._is_open:
            self._inner.stop_reads()
            self._loop.later(self._hear_handshake)
            return
        if self._on_read is not None:
            self._on_read()
            if not self._is_drained or self._failure is not None:
                # The inner channel may have no further data, so it would not call back.
                self._plan_again()

    def _plan_again(self) -> None:
        if not self._is_again_planned and not self._is_closed:
            self._is_again_planned = True
            self._loop.defer(self._again)

    def _again(self) -> None:
        self._is_again_planned = False
        if self._is_closed:
            return
        if self._failure is not None:
            self._notify()
        elif self._on_read is not None and self._is_open and not self._is_drained:
            self._readable()

    def _notify(self) -> None:
        """Call the user of the channel, whose read or write then raises the failure."""
        callback = self._on_read or self._on_write
        if callback is not None:
            callback()

    def _fail(self, error: OSError) -> None:
        self._failure = error
        self._end_deadline()
        on_refused, self._on_refused = self._on_refused, None
        if on_refused is not None and isinstance(error, TlsError):
            on_refused(str(error))
        self._notify()

    # --- the handshake

    def _hear_handshake(self) -> None:
        if self._is_closed or self._failure is not None or self._is_computing or self._is_open:
            # Data that arrived meanwhile is read after the step.
            return
        space = self._loop.space
        try:
            count = self._inner.recv_into(space)
        except BlockingIOError:
            self._inner.watch_reads(self._readable)
            return
        except OSError as error:
            self._fail(error)
            return
        if count == 0:
            # A port probe is not reported as a refused handshake.
            self._on_refused = None
            self._fail(TlsError("it left before the TLS handshake was over"))
            return
        if not self._handshake_bytes and space[0] not in _FIRST_BYTES:
            self._fail(TlsError(NO_TLS if self._server_name is None else "the other side does not speak TLS"))
            return
        self._handshake_bytes += count
        if self._handshake_bytes > _MOST_HANDSHAKE_BYTES:
            self._fail(TlsError(f"its TLS handshake exceeds {_MOST_HANDSHAKE_BYTES // 1024} KiB"))
            return
        self._incoming.write(space[:count])
        # To notice if the peer leaves while its step is queued.
        self._inner.watch_reads(self._readable)
        self._queue()

    def _queue(self) -> None:
        """Queue the next handshake step for the executor."""
        if not self._is_queued:
            self._is_queued = True
            self._loop.compute(self._compute)

    def _compute(self) -> bool:
        self._is_queued = False
        if self._is_closed or self._failure is not None:
            return False
        self._is_computing = True
        self._inner.stop_reads()
        self._loop.executor.run(self._step, self._computed, self._refused)
        return True

    def _step(self) -> bool:
        """Continue the handshake as far as possible, in the executor's thread; return whether it is complete."""
        tls = self._tls
        if tls is None:
            is_server = self._server_name is None
            tls = self._tls = self._context.wrap_bio(self._incoming, self._outgoing, is_server, self._server_name)
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _computed(self, is_over: bool) -> None:
        self._is_computing = False
        self._loop.computed()
        if self._is_closed or self._failure is not None:
            self._after_failure()
            return
        try:
            self._push()
        except OSError as error:
            self._fail(error)
            return
        if not is_over:
            self._inner.watch_reads(self._readable)
            return
        self._is_open = True
        self._on_refused = None
        self._is_drained = not self._incoming.pending
        self._end_deadline()
        if self._on_write is not None:
            self._watch_inner_writes()
        if self._on_read is not None:
            self._inner.watch_reads(self._readable)
            if not self._is_drained:
                self._plan_again()

    def _refused(self, error: BaseException) -> None:
        self._is_computing = False
        self._loop.computed()
        if self._is_closed or self._failure is not None:
            self._after_failure()
            return
        try:
            # The alert with the reason, for the peer.
            self._push()
        except OSError:
            pass
        if isinstance(error, ssl.SSLError):
            self._fail(TlsError(f"the TLS handshake failed: {_reason(error)}"))
        else:
            self._fail(TlsError(f"the TLS handshake failed: {type(error).__name__}"))

    def _after_failure(self) -> None:
        """Report a failure that happened while a step was computed, unless the channel is closed."""
        if not self._is_closed:
            self._notify()

    def _too_late(self) -> None:
        # differs from Kafka (tls-handshake-deadline): Kafka has no deadline for the handshake.
        self._deadline = None
        self._fail(TlsError(f"its TLS handshake was not over after {self._timeout_ms} ms"))

    def _end_deadline(self) -> None:
        deadline, self._deadline = self._deadline, None
        if deadline is not None:
            deadline.cancel()

    def _say_goodbye(self, tls: ssl.SSLObject) -> None:
        """Send a close_notify if the peer accepts it at once."""
        try:
            tls.unwrap()
        except (ssl.SSLError, ValueError):
            # unwrap would wait for the peer's close_notify.
            pass
        try:
            self._push()
        except OSError:
            pass


def _reason(error: ssl.SSLError) -> str:
    """Return the text of an OpenSSL error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is refused: {error.verify_message}"
    return (error.reason or str(error)).lower().replace("_", " ")


class TlsAcceptor:
    """An address whose connections speak TLS; see `Acceptor`."""

    def __init__(
        self,
        inner: Acceptor,
        context: Callable[[], ssl.SSLContext],
        loop: TlsLoop,
        handshake_timeout_ms: Callable[[], int],
        on_refused: Callable[[str, str], object],
    ) -> None:
        """Args:
        inner: The address; owned by the acceptor.
        context: Returns the TLS context for a new connection.
        on_refused: Called with the host and the reason when a handshake fails.
        """
        self._inner = inner
        self._context = context
        self._loop = loop
        self._handshake_timeout_ms = handshake_timeout_ms
        self._on_refused = on_refused
        self.address = inner.address
        self.listen = inner.listen
        self.pause = inner.pause
        self.resume = inner.resume
        self.close = inner.close

    def accept(self) -> tuple[TlsChannel, tuple[str, int]]:
        channel, peer = self._inner.accept()
        on_refused = partial(self._on_refused, peer[0])
        timeout_ms = self._handshake_timeout_ms()
        return TlsChannel(channel, self._context(), self._loop, timeout_ms, on_refused=on_refused), peer
