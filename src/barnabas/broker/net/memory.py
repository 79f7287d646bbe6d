"""Shares a bounded amount of receive memory between the connections. Pure: it never touches a socket.

Every connection has a small buffer that counts for nothing here. What a buffer takes beyond that is counted, and once
the bound is reached a connection whose frame needs more is parked: nobody reads from its socket, so that TCP holds its
peer back, until memory is free again. The first that was parked is the first that goes on.

Invariants:

- Half-received frames can fill the bound, and then none of them could ever be completed. So one connection at a time,
  the privileged one, may go beyond it, up to the end of the frame that it is receiving. Whenever somebody is parked
  there is a privileged one.
- So never more is taken than the bound and one largest frame. A frame that stays when it is whole (`keep`) is
  privileged until it goes.
- Nobody holds up others for long: while somebody is parked, those whose half-received frames come slower than
  `LEAST_BYTES_PER_S` give way (`make_room`), the furthest behind first, and only as many as it takes.
- What a buffer takes to be faster (reading ahead, being kept for the next frame) is from the first half of the bound,
  so that the second half is there for frames that cannot go on without.

There are two of them. Connections that have not logged in, or not asked for anything yet, have one of their own
(`Connection.confine`), so they can't delay the others.

Source: queued.max.request.bytes in the broker configs; KIP-72, whose pool admits whole frames instead.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

# A frame that comes slower gives way to others, once it is so far behind. A burst may make up for as much at the most.
LEAST_BYTES_PER_S: Final = 32 * 1024
PATIENCE_NS: Final = 500_000_000
_MOST_BEHIND_NS: Final = 1_000_000_000
_NS_PER_BYTE: Final = 1_000_000_000 // LEAST_BYTES_PER_S
# So many give way at once: the loop has more to do.
_MOST_GIVING_WAY: Final = 100

_MOST_UNAUTHENTICATED_BYTES: Final = 8 * 1024 * 1024
_PART_OF_UNAUTHENTICATED: Final = 4


def unauthenticated_memory(memory: "ReceiveMemory") -> "ReceiveMemory":
    """Return the receive memory of unauthenticated connections."""
    return ReceiveMemory(min(memory.limit_bytes // _PART_OF_UNAUTHENTICATED, _MOST_UNAUTHENTICATED_BYTES))


class MemoryUser(Protocol):
    """A connection, as the memory's owner sees it."""

    @property
    def lacking_bytes(self) -> int:
        """The bytes that it needs to go on with the frame that it is receiving."""
        ...

    def on_memory(self) -> None:
        """Take what was lacking and read on. Reports what it takes by `resized`, and raises nothing."""
        ...

    def give_way(self) -> bool:
        """Give back everything, and end, unless it is not the peer that is slow; whether it did."""
        ...


class ReceiveMemory:
    """Counts what all buffers hold beyond their first size, and decides who may take more.

    Attributes:
        limit_bytes: The bound.
        used_bytes: What is taken at the moment.
        on_shortage: Called when somebody is parked and nobody was: `make_room` is to be called now and then.
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
        # In the order in which they were parked.
        self._parked: OrderedDict[MemoryUser, None] = OrderedDict()
        # A user, or what stands for the frame that was left of one.
        self._privileged: object | None = None
        self._is_resuming = False
        # Whose frames are half-received: until when what has come of them is enough.
        self._paid_until_ns: dict[MemoryUser, int] = {}
        self.on_shortage: Callable[[], object] = lambda: None

    @property
    def is_short(self) -> bool:
        """Whether more than half of the bound is used: then buffers give back at once what they do not need."""
        return self.used_bytes > self._spare_bytes

    @property
    def parked_count(self) -> int:
        return len(self._parked)

    def may_spare(self, count: int) -> bool:
        """Return whether so many bytes may be taken that only make things faster."""
        return self.used_bytes + count <= self._spare_bytes

    def may_take(self, user: MemoryUser) -> bool:
        """Return whether `user` may take what it lacks now. If not it is parked, and told by `on_memory`."""
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
        """A buffer grew by so many bytes, or shrank (a negative number)."""
        self.used_bytes += count
        if count < 0 and self._parked:
            self._resume()

    def keep(self, user: MemoryUser, count: int) -> Callable[[], object]:
        """A frame of `user` that is whole stays where it is, with so many bytes, also when `user` is gone.

        Returns:
            To be called once, when it is not needed any more.
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
        """`user` has received a whole frame and given back what it does not need: it is privileged no longer."""
        self._paid_until_ns.pop(user, None)
        if user is self._privileged:
            self._privileged = None
            self._resume()

    def forget(self, user: MemoryUser) -> None:
        """`user` is gone, and has given back everything."""
        self._parked.pop(user, None)
        self.finished(user)

    # --- who is too slow

    def wait_for(self, user: MemoryUser, now_ns: int) -> None:
        """From now on `user` waits for more of a half-received frame: what was before was not its peer's doing."""
        self._paid_until_ns[user] = now_ns

    def progressed(self, user: MemoryUser, count: int, now_ns: int) -> None:
        """So many bytes of `user`'s frames have come, of which the last one is half-received."""
        before_ns = max(self._paid_until_ns.get(user, now_ns), now_ns - _MOST_BEHIND_NS)
        self._paid_until_ns[user] = min(before_ns + count * _NS_PER_BYTE, now_ns)

    def make_room(self, now_ns: int) -> None:
        """Have those give way who hold up others and are too slow, the furthest behind first."""
        paid_until_ns = self._paid_until_ns
        left = _MOST_GIVING_WAY
        for user in sorted(paid_until_ns, key=paid_until_ns.__getitem__):
            if not self._parked or not left or paid_until_ns.get(user, now_ns) > now_ns - PATIENCE_NS:
                return
            left -= user.give_way()

    def _resume(self) -> None:
        # What is resumed may fail and give back in turn: one loop serves them all.
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
