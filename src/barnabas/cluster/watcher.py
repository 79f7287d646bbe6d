"""Reads topics' settings from the registry, and sees when somebody changes them.

Whoever changes an entity writes its node first and then a sequential notification under /config/changes. A broker
handles the notifications that it has not seen yet in order, reads the node again, and deletes notifications older
than 15 minutes.

Invariant: the settings of a topic are in the view before its first LeaderAndIsr request is carried out.

Source: zookeeper.md, configs.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from barnabas.cluster.image import ClusterView
from barnabas.core.clock import Clock
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.registry import paths
from barnabas.registry.store import NoNodeError, Registry, RegistryClosedError, RegistryError, WatchEvent
from barnabas.registry.znodes.configs import decode_change, decode_config

log = logging.getLogger(__name__)

NOTIFICATION_LIFETIME_MS = 15 * 60 * 1000
RETRY_BACKOFF_MS = 500

OverridesListener = Callable[[str, Mapping[str, str]], object]


class TopicConfigWatcher:
    """Keeps the topic settings of a `ClusterView` as they are in the registry."""

    def __init__(
        self,
        registry: Registry,
        view: ClusterView,
        clock: Clock,
        timers: Timers,
        spawner: Spawner,
        on_change: OverridesListener,
    ) -> None:
        """Args:
        on_change: Told of a topic's settings when they changed after `start`; they are in the view already.
        """
        self._registry = registry
        self._view = view
        self._clock = clock
        self._timers = timers
        self._spawner = spawner
        self._on_change = on_change
        self._last_seen = -1
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Read the settings of every topic and begin to watch.

        Raises:
            NoNodeError: The persistent paths were not created yet.
        """
        await self._process(is_start=True)
        await self.load(await self._registry.children(paths.CONFIG_TOPICS))

    async def load(self, topics: Iterable[str]) -> None:
        """Read the settings of topics into the view."""
        for topic in topics:
            self._view.set_topic_overrides(topic, await self._read(topic))

    async def _read(self, topic: str) -> dict[str, str]:
        try:
            data, _ = await self._registry.get(paths.topic_config(topic))
        except NoNodeError:
            return {}
        return decode_config(data)

    def _changed(self, event: WatchEvent) -> None:
        self._read_again()

    def _read_again(self) -> None:
        self._spawner.spawn(self._process_quietly())

    async def _process_quietly(self) -> None:
        try:
            await self._process(is_start=False)
        except RegistryClosedError:
            log.debug("the registry closed while a change of settings was read")
        except RegistryError as error:
            # The watch is not set any more: without another try no change would ever be seen.
            log.warning("changed settings could not be read, trying again: %s", error)
            self._timers.call_later(RETRY_BACKOFF_MS, self._read_again)

    async def _process(self, is_start: bool) -> None:
        async with self._turn:
            names = await self._registry.children(paths.CONFIG_CHANGES, self._changed)
            for name in names:
                number = name.removeprefix(paths.CONFIG_CHANGE_PREFIX)
                if not number.isdecimal():
                    continue
                is_new = int(number) > self._last_seen
                await self._process_one(paths.child(paths.CONFIG_CHANGES, name), is_new and not is_start)
                # Not before: one that could not be read is still to be seen.
                self._last_seen = max(self._last_seen, int(number))

    async def _process_one(self, path: str, is_new: bool) -> None:
        try:
            data, stat = await self._registry.get(path)
            if is_new:
                await self._apply(decode_change(data))
            if self._clock.now_ms() - stat.ctime > NOTIFICATION_LIFETIME_MS:
                await self._registry.delete(path)
        except NoNodeError:
            # Another broker was faster to delete it.
            return

    async def _apply(self, entity_path: str | None) -> None:
        kind, _, topic = (entity_path or "").partition("/")
        if kind != "topics" or not topic:
            log.warning("a change of settings of %s is ignored: only topics are known", entity_path)
            return
        overrides = await self._read(topic)
        self._view.set_topic_overrides(topic, overrides)
        self._on_change(topic, overrides)
