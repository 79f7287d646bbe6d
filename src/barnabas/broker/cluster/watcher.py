"""Reads settings from the registry and watches them for changes.

An entity is the owner of settings, named like its znode below /config: `topics/t`, `brokers/0`, `brokers/<default>`,
`clients/c`, `users/u`, `users/u/clients/c` (names URL-encoded, see `paths.sanitize`). Every change writes the entity's
znode and a sequential notification under /config/changes (`wire/registry/configs.py`). A broker handles new
notifications in order, reads the znodes again, and deletes notifications older than 15 minutes.

Listeners subscribe to one type of entity (`topics`, ...). They get the settings of each entity at the start, and then
whenever the settings differ from those last passed to them.

For watched types, the znodes themselves are watched, too, so that a change without a notification is also detected. For
these types, a malformed znode (not a JSON object with strings below `config`) changes nothing.

Invariants:

- All work runs in one queue, one piece at a time: listeners never get older settings after newer ones.
- Listeners are called once per change, after its notification was read; changes of an entity read together count once.
- No change is lost: failed reads are repeated later. After a lost session, everything is read again, because
  notifications may have been created and deleted meanwhile.
- The listeners have a topic's settings before its first LeaderAndIsr request is processed (`load`).

Source: zookeeper.md, configs; Kafka 2.7.2, DynamicConfigManager, ZkNodeChangeNotificationListener.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping

from barnabas.broker.registry.change_notifications import RETRY_BACKOFF_MS, Notifications
from barnabas.core.clock import Clock
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    EventType,
    NoNodeError,
    Registry,
    RegistryClosedError,
    RegistryError,
    Watch,
    WatchEvent,
)
from barnabas.wire.registry.znodes.configs import decode_change, decode_config, decode_config_strictly
from barnabas.wire.registry.znodes.payload import MalformedError

log = logging.getLogger(__name__)

# Number of znodes read together.
_READ_TOGETHER = 500

OverridesListener = Callable[[str, Mapping[str, str]], object]
"""Called with the name of an entity, without its type, and its settings; empty if its znode does not exist."""


class ConfigWatcher:
    """Passes settings in the registry to its listeners. Owned by the event loop."""

    def __init__(self, registry: Registry, clock: Clock, timers: Timers, spawner: Spawner) -> None:
        self._registry = registry
        self._notifications = Notifications(registry, clock, paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX)
        self._timers = timers
        self._spawner = spawner
        self._listeners: dict[str, list[OverridesListener]] = {}
        self._watched_types: set[str] = set()
        # For watched types: the entities with a znode, those written since they were read, and the parents below which
        # entities were created or deleted.
        self._known: set[str] = set()
        self._written: dict[str, None] = {}
        self._changed_lists: dict[str, None] = {}
        self._malformed: dict[str, bytes | None] = {}
        self._queue: deque[tuple[Callable[[], Awaitable[None]], Pending[None]]] = deque()
        self._is_working = False
        self._is_look_due = False
        # Whether notifications may have been missed: all entities are then read and compared with `_applied`.
        self._is_stale = False
        # The settings last passed to the listeners; entities without settings are omitted.
        self._applied: dict[str, dict[str, str]] = {}

    def subscribe(self, entity_type: str, listener: OverridesListener, *, is_watched: bool = False) -> None:
        """Call `listener` with the settings of each entity of a type; call this before `start`.

        Args:
            entity_type: The type.
            listener: Called with the name of an entity and its settings.
            is_watched: Whether to watch for changes without a notification, too. This needs two watches per entity.
        """
        self._listeners.setdefault(entity_type, []).append(listener)
        if is_watched:
            self._watched_types.add(entity_type)

    async def start(self) -> None:
        """Read every entity, call the listeners, and begin to watch.

        Raises:
            NoNodeError: The persistent paths were not created yet.
        """
        await self._do(self._begin)

    async def load(self, entities: Iterable[str]) -> None:
        """Read entities now and call the listeners, even if the settings did not change.

        Raises:
            RegistryError: The entities could not be read.
        """
        wanted = list(entities)
        await self._do(lambda: self._load(wanted))

    async def catch_up(self) -> None:
        """Wait until the listeners have all earlier changes, except for znodes that cannot be read now."""
        self._look_soon()
        await self._do(_nothing)

    def forget(self, entity: str) -> None:
        """Forget a deleted entity, so that a later one with the same name counts as new."""
        self._applied.pop(entity, None)

    # --- the queue

    async def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run work in order, and wait for it; raise its exception."""
        await self._enqueue(work).future()

    def _enqueue(self, work: Callable[[], Awaitable[None]]) -> Pending[None]:
        done: Pending[None] = Pending()
        self._queue.append((work, done))
        if not self._is_working:
            self._is_working = True
            self._spawner.spawn(self._work())
        return done

    async def _work(self) -> None:
        try:
            while self._queue:
                work, done = self._queue.popleft()
                try:
                    await work()
                except Exception as error:
                    done.fail(error)
                else:
                    done.complete(None)
        finally:
            self._is_working = False

    # --- changed entities

    def _changed(self, event: WatchEvent) -> None:
        if event.type is EventType.NONE:
            self._is_stale = True
        self._look_soon()

    def _entity_written(self, event: WatchEvent) -> None:
        """Handle the watch of an entity's znode."""
        if event.type is not EventType.NONE:
            self._written[paths.config_entity(event.path)] = None
        self._changed(event)

    def _list_changed(self, event: WatchEvent) -> None:
        """Handle the watch of a znode whose children are entities."""
        if event.type is not EventType.NONE:
            self._changed_lists[paths.config_entity(event.path)] = None
        self._changed(event)

    def _look_soon(self) -> None:
        """Schedule a check for notifications; further calls before it are merged."""
        if not self._is_look_due:
            self._is_look_due = True
            self._enqueue(self._look).then(lambda _: None, self._look_again)

    def _look_again(self, error: BaseException) -> None:
        if isinstance(error, RegistryClosedError):
            log.debug("the registry closed while a change of settings was read")
        elif isinstance(error, RegistryError):
            # The watch is no longer set: without a retry, no later change would be detected.
            log.warning("cannot read changed settings, retrying: %s", error)
            self._timers.call_later(RETRY_BACKOFF_MS, self._look_soon)
        else:
            log.error("cannot apply changed settings", exc_info=error)

    async def _begin(self) -> None:
        # Before the entities are read, so that every later change has a notification that is not among these.
        self._notifications.mark_processed(await self._notifications.list_unprocessed(self._changed))
        await self._notifications.delete_old()
        await self._read_all(is_start=True)

    async def _look(self) -> None:
        self._is_look_due = False
        names = await self._notifications.list_unprocessed(self._changed)
        # In the order of each entity's first change.
        changed: dict[str, None] = {}
        for name in names:
            entity = await self._read_notification(name)
            if entity is not None:
                changed[entity] = None
        written, self._written = self._written, {}
        lists, self._changed_lists = self._changed_lists, {}
        try:
            await self._take_over(changed, written, lists)
        except RegistryError:
            # Not processed yet: kept for the retry.
            self._written = {**written, **self._written}
            self._changed_lists = {**lists, **self._changed_lists}
            raise
        # Only now, so that a failed read is retried.
        self._notifications.mark_processed(names)
        await self._notifications.delete_old()

    async def _take_over(self, changed: dict[str, None], written: dict[str, None], lists: dict[str, None]) -> None:
        """Read the znodes that may have changed.

        Args:
            changed, written: Entities with a notification, and entities whose znodes were written.
            lists: Parents below which entities were created or deleted.
        """
        if self._is_stale:
            # Reset before the read, because the session may be lost again during it.
            self._is_stale = False
            try:
                await self._read_all()
            except RegistryError:
                self._is_stale = True
                raise
            return
        come: dict[str, None] = {}
        for each in lists:
            come.update(dict.fromkeys(await self._new_entities(each)))
        for entity in {**changed, **written, **come}:
            await self._read_changed(entity)

    async def _new_entities(self, list_name: str) -> list[str]:
        """Return the new entities below a znode; a watch reports later ones."""
        names = await self._children(list_name)
        entity_type, _, user = list_name.partition("/")
        if entity_type == paths.USERS and user and "/" not in user:
            # A user's znode: its clients are the children of its child `clients`.
            clients = f"{list_name}/{paths.CLIENTS}"
            return await self._new_entities(clients) if paths.CLIENTS in names else []
        found = [each for each in (f"{list_name}/{name}" for name in names) if each not in self._known]
        if list_name == paths.USERS:
            for each in list(found):
                found += await self._new_entities(each)
        return found

    async def _read_notification(self, name: str) -> str | None:
        """Return the entity that a notification names; None if it is malformed."""
        try:
            data = await self._notifications.read(name)
        except NoNodeError:
            self._is_stale = True
            return None
        entity = decode_change(data)
        if entity is None:
            log.warning("config change notification %s is malformed: ignored", name)
            return None
        return entity

    # --- current settings

    async def _load(self, entities: Iterable[str]) -> None:
        for entity in entities:
            self._apply(entity, await self._read(entity))

    async def _read_changed(self, entity: str) -> None:
        if entity.partition("/")[0] not in self._listeners:
            log.warning("config change of %s ignored: this broker does not use settings of that entity type", entity)
            return
        overrides = await self._read(entity)
        if overrides != self._applied.get(entity, {}):
            self._apply(entity, overrides)

    async def _read_all(self, is_start: bool = False) -> None:
        """Read all entities with listeners, and call the listeners for those that changed."""
        there: set[str] = set()
        for entity_type in self._listeners:
            entities = await self._entities(entity_type)
            there.update(entities)
            watch = (lambda _: self._entity_written) if entity_type in self._watched_types else None
            await self._read_together(entities, watch, is_start)
        self._known &= there
        for entity in [each for each in self._applied if each not in there]:
            self._apply(entity, {})

    async def _read_together(self, entities: list[str], watch: Callable[[str], Watch] | None, is_start: bool) -> None:
        """Read entities of one type, and call the listeners for those that changed."""
        for start in range(0, len(entities), _READ_TOGETHER):
            some = entities[start : start + _READ_TOGETHER]
            found = await self._registry.get_many([paths.config(entity) for entity in some], watch)
            for entity, each in zip(some, found, strict=True):
                if each is None:
                    overrides = {}
                elif watch is None:
                    overrides = decode_config(each[0])
                else:
                    overrides = self._decode(entity, each[0])
                    self._known.add(entity)
                if is_start or overrides != self._applied.get(entity, {}):
                    self._apply(entity, overrides)

    async def _entities(self, entity_type: str) -> list[str]:
        """Return all entities of a type that have a znode."""
        found = []
        # The default entity comes first, because other entities build on it.
        for name in sorted(await self._children(entity_type), key=lambda name: (name != paths.DEFAULT_ENTITY, name)):
            entity = f"{entity_type}/{name}"
            found.append(entity)
            if entity_type == paths.USERS:
                clients = f"{entity}/{paths.CLIENTS}"
                # For watched types, this also watches the user's znode for the creation of `clients`.
                if entity_type not in self._watched_types or paths.CLIENTS in await self._children(entity):
                    found += [f"{clients}/{client}" for client in await self._children(clients)]
        return found

    async def _children(self, entity: str) -> list[str]:
        watch = self._list_changed if entity.partition("/")[0] in self._watched_types else None
        try:
            return await self._registry.children(paths.config(entity), watch)
        except NoNodeError:
            return []

    async def _read(self, entity: str) -> dict[str, str]:
        is_watched = entity.partition("/")[0] in self._watched_types
        try:
            data, _ = await self._registry.get(paths.config(entity), self._entity_written if is_watched else None)
        except NoNodeError:
            self._known.discard(entity)
            self._malformed.pop(entity, None)
            return {}
        if not is_watched:
            return decode_config(data)
        self._known.add(entity)
        return self._decode(entity, data)

    def _decode(self, entity: str, data: bytes | None) -> dict[str, str]:
        """Decode an entity's znode; if it is malformed, return the previous settings."""
        try:
            overrides = decode_config_strictly(data)
        except MalformedError as error:
            # differs from Kafka (malformed-settings): Kafka treats malformed settings as empty.
            if self._malformed.get(entity) != data:
                log.warning("settings of %s not changed: the znode is malformed: %s", entity, error)
                self._malformed[entity] = data
            return self._applied.get(entity, {})
        self._malformed.pop(entity, None)
        return overrides

    def _apply(self, entity: str, overrides: dict[str, str]) -> None:
        if overrides:
            self._applied[entity] = overrides
        else:
            self._applied.pop(entity, None)
        entity_type, _, name = entity.partition("/")
        for listener in self._listeners.get(entity_type, ()):
            try:
                listener(name, overrides)
            except Exception:
                # A bug in one listener must not affect the other listeners or later changes.
                log.exception("cannot apply changed settings of %s", entity)


async def _nothing() -> None:
    return
