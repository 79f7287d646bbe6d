"""Follows change notifications: sequential znodes below one parent, each with the name of a changed entity.

A writer changes the entity's znode and then adds a notification. Every broker reads new notifications in order, reads
the changed znodes again, and deletes notifications older than 15 minutes.

Invariants:

- Notifications are processed one at a time, in order.
- No change is lost: failed reads are repeated later. After a lost session, or if a notification was deleted before it
  was read, all entities are read again (`on_gap`).

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
# The number of digits that ZooKeeper appends to a sequential znode.
_DIGITS = 10


class Notifications:
    """Lists, reads and deletes the notifications below one parent. Owned by the event loop."""

    def __init__(self, registry: Registry, clock: Clock, parent: str, prefix: str) -> None:
        """Args:
        parent: The notifications' parent; it must exist before they are listed.
        prefix: The prefix of their names, before the number.
        """
        self._registry = registry
        self._clock = clock
        self._parent = parent
        self._prefix = prefix
        self._names: list[str] = []
        self._last_processed = -1
        # By name: the creation times of notifications that were read and still exist.
        self._written_ms: dict[str, int] = {}

    async def list_unprocessed(self, watch: Watch) -> list[str]:
        """Return the names of new notifications, in order; `watch` fires for later ones."""
        listed = await self._registry.children(self._parent, watch)
        self._names = await notifications(self._registry, self._parent, self._prefix, listed)
        self._written_ms = {name: self._written_ms[name] for name in self._names if name in self._written_ms}
        unseen = []
        # Backwards, because there may be very many and the new ones are last.
        for name in reversed(self._names):
            if self._number(name) <= self._last_processed:
                break
            unseen.append(name)
        return unseen[::-1]

    async def read(self, name: str) -> bytes | None:
        """Return the contents of a notification.

        Raises:
            NoNodeError: Another broker deleted it, because it is older than 15 minutes.
        """
        data, stat = await self._registry.get(paths.child(self._parent, name))
        self._written_ms[name] = stat.ctime
        return data

    def mark_processed(self, names: Sequence[str]) -> None:
        """Exclude these notifications from now on."""
        self._last_processed = max([self._last_processed, *map(self._number, names)])

    async def delete_old(self) -> None:
        """Delete the listed notifications that are older than 15 minutes."""
        # The names are in the order of creation.
        for name in self._names:
            try:
                if name not in self._written_ms:
                    await self.read(name)
                if self._clock.now_ms() - self._written_ms[name] <= NOTIFICATION_LIFETIME_MS:
                    return
                await self._registry.delete(paths.child(self._parent, name))
            except (NoNodeError, NotEmptyError):
                # Another broker deleted it first, or it has children.
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
        parent, prefix: See `Notifications`.
        on_changes: Called with names and data of notifications; reads the changed entities. Raises RegistryError if
            they cannot be read now.
        on_gap: Called to read all entities again, because changes may have been missed.
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
        """Start to watch; existing notifications are skipped, so read the entities after this call.

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
            # The watch may be lost: without a retry, no later change would be seen.
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
            # Reset before the read, because the session may be lost again during it.
            self._has_gap = False
            try:
                await self._on_gap()
            except RegistryError:
                self._has_gap = True
                raise
        elif data:
            await self._on_changes(data)
        # Only now: if a read above failed, the notifications must be processed again.
        self._notifications.mark_processed(names)
        await self._notifications.delete_old()


async def notifications(registry: Registry, parent: str, prefix: str, names: Sequence[str]) -> list[str]:
    """Return the children whose number was assigned by the parent's counter, in order.

    Names with a higher number were not created by Kafka or Barnabas. They are ignored: if such a number became the last
    processed one, real notifications would be skipped.
    """
    end = prefix + "9" * _DIGITS
    found = [
        name
        for name in names
        if len(name) == len(end) and name.startswith(prefix) and name.isascii() and name[len(prefix) :].isdecimal()
    ]
    if found:
        stat = await registry.exists(parent)
        # cversion counts creations and deletions; see `tree.py`.
        count = 0 if stat is None else (stat.cversion + stat.num_children) // 2
        end = f"{prefix}{count:0{_DIGITS}d}"
    return sorted(name for name in found if name < end)
