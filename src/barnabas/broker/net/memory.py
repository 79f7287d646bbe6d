"""Shares a bounded amount of receive memory between the connections. Pure: it never touches a socket.

Each connection has a small buffer that is not counted here. Memory beyond that is counted. Once the limit is reached, a
connection whose frame needs more is parked: its socket is not read from, so TCP slows down the peer, until memory is
free again. Connections are resumed in the order in which they were parked.

Invariants:

- Half-received frames can fill the limit so that none can complete. Therefore one connection at a time, the privileged
  one, may exceed the limit until the end of its frame. While any connection is parked, one is privileged.
- So the memory used never exceeds the limit plus one frame of maximum size. A complete frame that is kept (`keep`)
  inherits the privilege of its connection until it is released.
- No connection delays others for long. While any is parked, connections whose frames arrive slower than
  `LEAST_BYTES_PER_S` are closed (`make_room`): the furthest behind first, and only as many as necessary.
- Memory used only for speed (read-ahead, buffers kept for the next frame) comes from the first half of the limit. The
  second half is reserved for frames that cannot continue without it.

There are two instances: connections that have not logged in, or not sent a request yet, use their own
(`Connection.confine`), so they cannot delay the others.

Source: queued.max.request.bytes in the broker configs; KIP-72, whose pool admits whole frames instead.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

# A frame that arrives slower than this rate may be closed once it is PATIENCE_NS behind. Its delay counts up to
# _MOST_BEHIND_NS.
LEAST_BYTES_PER_S: Final = 32 * 1024
PATIENCE_NS: Final = 500_000_000
_MOST_BEHIND_NS: Final = 1_000_000_000
_NS_PER_BYTE: Final = 1_000_000_000 // LEAST_BYTES_PER_S
# Maximum number closed in one call, to limit its share of the loop's time.
_MOST_GIVING_WAY: Final = 100

_MOST_UNAUTHENTICATED_BYTES: Final = 8 * 1024 * 1024
_PART_OF_UNAUTHENTICATED: Final = 4


def unauthenticated_memory(memory: "ReceiveMemory") -> "ReceiveMemory":
    """Return the receive memory of unauthenticated connections."""
    return ReceiveMemory(min(memory.limit_bytes // _PART_OF_UNAUTHENTICATED, _MOST_UNAUTHENTICATED_BYTES))


class MemoryUser(Protocol):
    """A connection, as seen by the receive memory."""

    @property
    def lacking_bytes(self) -> int:
        """The bytes needed to continue receiving the current frame."""
        ...

    def on_memory(self) -> None:
        """Take the lacking bytes and resume reading. Must call `resized` for them, and raise nothing."""
        ...

    def give_way(self) -> bool:
        """Close and release everything, unless the delay is not the peer's fault; return whether it closed."""
        ...


class ReceiveMemory:
    """Counts the bytes of all buffers beyond their first size, and decides which connections may take more.

    Attributes:
        limit_bytes: The limit.
        used_bytes: The bytes in use.
        on_shortage: Called when the first connection is parked: from then on `make_room` must be called regularly.
    """

    __slots__ = (
        "_is_resuming",
        "_paid_until_ns",
        "_parked",
        "_privileged",
        "_spare_bytes",
        "limit_bytes",
        "on_shortage",
        "used_bytes",
    )

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._spare_bytes = limit_bytes // 2
        # In the order of parking.
        self._parked: OrderedDict[MemoryUser, None] = OrderedDict()
        # A user, or the key of a frame that is kept (`keep`).
        self._privileged: object | None = None
        self._is_resuming = False
        # Per user with a half-received frame: the time up to which the bytes received so far satisfy the minimum rate.
        self._paid_until_ns: dict[MemoryUser, int] = {}
        self.on_shortage: Callable[[], object] = lambda: None

    @property
    def is_short(self) -> bool:
        """Whether more than half of the limit is in use: then buffers release unneeded memory at once."""
        return self.used_bytes > self._spare_bytes

    @property
    def parked_count(self) -> int:
        return len(self._parked)

    def may_spare(self, count: int) -> bool:
        """Return whether `count` bytes may be taken that only improve speed."""
        return self.used_bytes + count <= self._spare_bytes

    def may_take(self, user: MemoryUser) -> bool:
        """Return whether `user` may take its lacking bytes now. If not, it is parked until `on_memory` is called."""
        if user is self._privileged:
            return True
        if not self._parked and self.used_bytes + user.lacking_bytes <= self.limit_bytes:
            return True
        if self._privileged is None:
            self._privileged = user
            return True
        self._parked[user] = None
        self._paid_until_ns.pop(user, None)
        if len(self._parked) == 1:
            self.on_shortage()
        return False

    def resized(self, count: int) -> None:
        """Record that a buffer grew by `count` bytes, or shrank (negative)."""
        self.used_bytes += count
        if count < 0 and self._parked:
            self._resume()

    def keep(self, user: MemoryUser, count: int) -> Callable[[], object]:
        """Keep a complete frame of `user`, of `count` bytes, even after `user` is gone.

        Returns:
            A function to call once to release the frame.
        """
        frame = object()
        self._paid_until_ns.pop(user, None)
        if user is self._privileged:
            self._privileged = frame
        return partial(self._let_go, frame, count)

    def _let_go(self, frame: object, count: int) -> None:
        self.used_bytes -= count
        if frame is self._privileged:
            self._privileged = None
        self._resume()

    def finished(self, user: MemoryUser) -> None:
        """End the privilege of `user`, which has received a whole frame and released unneeded memory."""
        self._paid_until_ns.pop(user, None)
        if user is self._privileged:
            self._privileged = None
            self._resume()

    def forget(self, user: MemoryUser) -> None:
        """Remove `user`, which is closed and has released everything."""
        self._parked.pop(user, None)
        self.finished(user)

    # --- slow connections

    def wait_for(self, user: MemoryUser, now_ns: int) -> None:
        """Measure the rate of `user`'s half-received frame from now on; earlier delays were not caused by the peer."""
        self._paid_until_ns[user] = now_ns

    def progressed(self, user: MemoryUser, count: int, now_ns: int) -> None:
        """Record the arrival of `count` bytes of `user`, whose last frame is half-received."""
        before_ns = max(self._paid_until_ns.get(user, now_ns), now_ns - _MOST_BEHIND_NS)
        self._paid_until_ns[user] = min(before_ns + count * _NS_PER_BYTE, now_ns)

    def make_room(self, now_ns: int) -> None:
        """Close connections that are too slow, the furthest behind first, while others are parked."""
        paid_until_ns = self._paid_until_ns
        left = _MOST_GIVING_WAY
        for user in sorted(paid_until_ns, key=paid_until_ns.__getitem__):
            if not self._parked or not left or paid_until_ns.get(user, now_ns) > now_ns - PATIENCE_NS:
                return
            left -= user.give_way()

    def _resume(self) -> None:
        # A resumed user may fail and release memory, which calls this again: the outer loop serves all.
        if self._is_resuming:
            return
        self._is_resuming = True
        parked = self._parked
        try:
            while parked:
                first = next(iter(parked))
                if self.used_bytes + first.lacking_bytes > self.limit_bytes:
                    if self._privileged is not None:
                        break
                    self._privileged = first
                del parked[first]
                first.on_memory()
        finally:
            self._is_resuming = False
