"""Follows change notifications: sequential nodes below one parent, each naming a changed entity.

A writer changes its node and then adds a notification. Every broker reads new notifications in order, reads the nodes
that they name again, and deletes notifications older than 15 minutes.

Invariants:

- One piece of work runs at a time, and never an older one after a newer one.
- No change is lost: failed reads are repeated later. After a lost session, or if a notification was deleted before it
  was seen, everything is read again (`on_gap`).

Source: Kafka 2.7.2, ZkNodeChangeNotificationListener.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from barnabas.core.clock import Clock
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    EventType,
    NoNodeError,
    NotEmptyError,
    Registry,
    RegistryClosedError,
    RegistryError,
    Watch,
    WatchEvent,
)

log = logging.getLogger(__name__)

NOTIFICATION_LIFETIME_MS = 15 * 60 * 1000
RETRY_BACKOFF_MS = 500
# ZooKeeper's, of a sequential node.
_DIGITS = 10


class Notifications:
    """The walk over the notifications below one parent: lists, reads and deletes them. Owned by the event loop."""

    def __init__(self, registry: Registry, clock: Clock, parent: str, prefix: str) -> None:
        """Args:
        parent: The notifications' parent; it must be there before they are listed.
        prefix: What their names begin with, before the number.
        """
        self._registry = registry
        self._clock = clock
        self._parent = parent
        self._prefix = prefix
        self._names: list[str] = []
        self._last_processed = -1
        # When those that were read and are still there were written.
        self._written_ms: dict[str, int] = {}

    async def list_unprocessed(self, watch: Watch) -> list[str]:
        """Return the names of new notifications, in order; `watch` fires for later ones."""
        listed = await self._registry.children(self._parent, watch)
        self._names = await notifications(self._registry, self._parent, self._prefix, listed)
        self._written_ms = {name: self._written_ms[name] for name in self._names if name in self._written_ms}
        unseen = []
        # There may be very many, and the new ones are last.
        for name in reversed(self._names):
            if self._number(name) <= self._last_processed:
                break
            unseen.append(name)
        return unseen[::-1]

    async def read(self, name: str) -> bytes | None:
        """Return the contents of a notification.

        Raises:
            NoNodeError: Another broker deleted it, so it is 15 minutes old, and this one was away.
        """
        data, stat = await self._registry.get(paths.child(self._parent, name))
        self._written_ms[name] = stat.ctime
        return data

    def mark_processed(self, names: Sequence[str]) -> None:
        """Leave these out from now on."""
        self._last_processed = max([self._last_processed, *map(self._number, names)])

    async def delete_old(self) -> None:
        """Delete the listed notifications that are older than 15 minutes."""
        # In the order in which they were written.
        for name in self._names:
            try:
                if name not in self._written_ms:
                    await self.read(name)
                if self._clock.now_ms() - self._written_ms[name] <= NOTIFICATION_LIFETIME_MS:
                    return
                await self._registry.delete(paths.child(self._parent, name))
            except (NoNodeError, NotEmptyError):
                # Another broker was faster; or somebody keeps it.
                continue

    def _number(self, name: str) -> int:
        return int(name[len(self._prefix) :])


class Changes:
    """The notifications below one parent. Owned by the event loop."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        timers: Timers,
        spawner: Spawner,
        parent: str,
        prefix: str,
        on_changes: Callable[[Sequence[tuple[str, bytes | None]]], Awaitable[None]],
        on_gap: Callable[[], Awaitable[None]],
    ) -> None:
        """Args:
        parent, prefix: As of `Notifications`.
        on_changes: Takes over what some notifications, by name and data, are about; raises RegistryError where that
            can't be read now.
        on_gap: Takes everything over anew, as nobody knows what changed.
        """
        self._notifications = Notifications(registry, clock, parent, prefix)
        self._timers = timers
        self._spawner = spawner
        self._parent = parent
        self._on_changes = on_changes
        self._on_gap = on_gap
        self._is_due = False
        self._is_working = False
        self._has_gap = False

    async def start(self) -> None:
        """Begin to watch; existing notifications are skipped, so read the entities after this.

        Raises:
            RegistryError: The parent could not be read.
        """
        self._notifications.mark_processed(await self._notifications.list_unprocessed(self._changed))
        await self._notifications.delete_old()

    def _changed(self, event: WatchEvent) -> None:
        if event.type is EventType.NONE:
            self._has_gap = True
        self._look_soon()

    def _look_soon(self) -> None:
        self._is_due = True
        if not self._is_working:
            self._is_working = True
            self._spawner.spawn(self._work())

    async def _work(self) -> None:
        try:
            while self._is_due:
                self._is_due = False
                await self._look()
        except RegistryClosedError:
            log.debug("the registry closed while changes below %s were read", self._parent)
        except RegistryError as error:
            # The watch may not be set any more: without another try no change would ever be seen.
            log.warning("cannot read changes below %s, retrying: %s", self._parent, error)
            self._timers.call_later(RETRY_BACKOFF_MS, self._look_soon)
        finally:
            self._is_working = False

    async def _look(self) -> None:
        names = await self._notifications.list_unprocessed(self._changed)
        data = []
        for name in names:
            try:
                data.append((name, await self._notifications.read(name)))
            except NoNodeError:
                self._has_gap = True
        if self._has_gap:
            # Before: the session may be gone again while they are read.
            self._has_gap = False
            try:
                await self._on_gap()
            except RegistryError:
                self._has_gap = True
                raise
        elif data:
            await self._on_changes(data)
        # Not before: what could not be read is still to be seen.
        self._notifications.mark_processed(names)
        await self._notifications.delete_old()


async def notifications(registry: Registry, parent: str, prefix: str, names: Sequence[str]) -> list[str]:
    """Return the children that the parent's counter numbered, in order.

    A number that the counter has yet to give is somebody's joke: who took it for the last one seen would see no other.
    """
    end = prefix + "9" * _DIGITS
    found = [
        name
        for name in names
        if len(name) == len(end) and name.startswith(prefix) and name.isascii() and name[len(prefix) :].isdecimal()
    ]
    if found:
        stat = await registry.exists(parent)
        # Comings and goings together, see `Tree`.
        count = 0 if stat is None else (stat.cversion + stat.num_children) // 2
        end = f"{prefix}{count:0{_DIGITS}d}"
    return sorted(name for name in found if name < end)
