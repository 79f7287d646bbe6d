"""Live views: each view is computed once for all viewers with the same rights.

A value is valid for its kind's `every_s` or, if that is longer, for ten times its computing time multiplied by the
number of watched views, at most 60 s. A final value stays valid. The first request after that computes the value again;
other requests wait for the same task. Without viewers nothing is computed, and the view is dropped after a minute. If a
computation fails, the previous value is kept, with the reason, for the time that the failure took, at least `every_s`.

The number of live windows is limited: above the limit, the owner with the most windows loses the oldest one.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas.core.errors import BarnabasError
from barnabas.page.authentication.shares import first_to_go
from barnabas.page.view import Asked, View, ViewKind

MOST_KEPT: Final = 100
MOST_STREAMS: Final = 200
# Slow views are computed less often: all watched views together use a tenth of the time.
_REST: Final = 10
_LONGEST_S: Final = 60.0
# Values are kept this long without viewers, so that they can be shown again if the cluster is unreachable.
_KEPT_S: Final = 60.0
_FOR_GOOD_S: Final = 86_400.0

Key = tuple[str, str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class ViewSnapshot:
    """A view's value at one time.

    Attributes:
        number: Increases with each value.
        view: None: no computation has succeeded.
        failure: The reason if the value is old or missing.
        good_for_s: The time that the value stays valid.
    """

    number: int
    view: View | None
    failure: BarnabasError | None
    good_for_s: float


class _Shared:
    """One view, shared by all its viewers."""

    def __init__(self) -> None:
        self.snapshot = ViewSnapshot(0, None, None, 0)
        self.watchers = 0
        self._made_s = float("-inf")
        self._making: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        """Return whether the view has viewers, is being computed, or was computed recently."""
        age_s = asyncio.get_running_loop().time() - self._made_s
        return self.watchers > 0 or self._making is not None or age_s < max(self.snapshot.good_for_s, _KEPT_S)

    def expire(self) -> None:
        """Make the next request compute the view again."""
        self._made_s = float("-inf")

    async def fresh(self, kind: ViewKind, asked: Asked, watched_count: int) -> ViewSnapshot:
        """Return a valid value; compute it if the current one has expired.

        Args:
            watched_count: The number of views with viewers.
        """
        loop = asyncio.get_running_loop()
        if self._making is None and loop.time() - self._made_s >= self.snapshot.good_for_s:
            self._making = loop.create_task(self._make(kind, asked, max(watched_count, 1)))
        if self._making is not None:
            # A viewer that leaves must not cancel the task for others.
            await asyncio.shield(self._making)
        return self.snapshot

    async def _make(self, kind: ViewKind, asked: Asked, watched_count: int) -> None:
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        view, failure = self.snapshot.view, None
        try:
            view = await kind.build(asked)
        except BarnabasError as error:
            failure = error
        finally:
            self._made_s = loop.time()
            self._making = None
        took_s = self._made_s - begin_s
        # A failure has mostly waited for a broker, which costs the cluster nothing.
        rest_s = took_s if failure is not None else took_s * _REST * watched_count
        good_for_s = max(kind.every_s, min(rest_s, _LONGEST_S))
        if view is not None and failure is None and view.is_final:
            good_for_s = _FOR_GOOD_S
        self.snapshot = ViewSnapshot(self.snapshot.number + 1, view, failure, good_for_s)


class Live:
    """All views with current or recent viewers."""

    def __init__(self) -> None:
        self._shared: OrderedDict[Key, _Shared] = OrderedDict()
        # The event that ends each stream, and the stream's owner; the oldest first.
        self._streams: dict[asyncio.Event, Hashable] = {}
        self._stopped = asyncio.Event()

    @property
    def _watched_count(self) -> int:
        return sum(each.watchers > 0 for each in self._shared.values())

    async def get(self, kind: ViewKind, asked: Asked) -> ViewSnapshot:
        """Return the current value of a view."""
        return await self._of(kind, asked).fresh(kind, asked, self._watched_count)

    async def watch(self, kind: ViewKind, asked: Asked, owner: Hashable) -> AsyncIterator[ViewSnapshot]:
        """Yield a view each time it is computed, until the page stops, the session ends, or the limit of streams.

        Args:
            owner: The owner to whose share the stream counts.
        """
        shared, ended = self._of(kind, asked), asyncio.Event()
        if len(self._streams) >= MOST_STREAMS:
            oldest = first_to_go(self._streams, owner)
            del self._streams[oldest]
            oldest.set()
        self._streams[ended] = owner
        ends = (self._stopped, asked.cluster.closed, ended)
        shared.watchers += 1
        try:
            last = -1
            while not any(each.is_set() for each in ends):
                snapshot = await shared.fresh(kind, asked, self._watched_count)
                if snapshot.number != last:
                    last = snapshot.number
                    yield snapshot
                await self._rest(ends, max(snapshot.good_for_s, 0.5))
        finally:
            self._streams.pop(ended, None)
            shared.watchers -= 1

    async def _rest(self, events: Sequence[asyncio.Event], seconds: float) -> None:
        """Wait for one of the events, at most this many seconds."""
        ends = [asyncio.ensure_future(each.wait()) for each in events]
        try:
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ends:
                each.cancel()

    def expire(self, kind: ViewKind, asked: Asked) -> None:
        """Make the next request compute a view again."""
        self._of(kind, asked).expire()

    def _of(self, kind: ViewKind, asked: Asked) -> _Shared:
        key = (asked.cluster.name, asked.cluster.user, kind.path, tuple(sorted(asked.query.items())))
        # Drop views without viewers, because values may be large.
        kept = ((name, each) for name, each in self._shared.items() if name == key or each.is_wanted)
        self._shared = OrderedDict(kept)
        shared = self._shared.pop(key, None) or _Shared()
        self._shared[key] = shared
        if len(self._shared) > MOST_KEPT:
            unwatched = (each for each, kept in self._shared.items() if not kept.watchers and each != key)
            if (oldest := next(unwatched, None)) is not None:
                del self._shared[oldest]
        return shared

    def stop(self) -> None:
        """End all streams."""
        self._stopped.set()
