import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from barnabas.cluster.image import ClusterView
from barnabas.cluster.watcher import NOTIFICATION_LIFETIME_MS, RETRY_BACKOFF_MS, TopicConfigWatcher
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Spawner
from barnabas.registry.bootstrap import bootstrap
from barnabas.registry.embedded import EmbeddedRegistry
from barnabas.registry.store import ConnectionLostError
from barnabas.registry.znodes.configs import encode_change, encode_config
from barnabas.testing.manual_clock import ManualClock


class Watched:
    """A registry and the watcher of its settings, not started."""

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock, errors: list[object]) -> None:
        self.registry = registry
        self.clock = clock
        self.view = ClusterView("c")
        self.changes: list[tuple[str, dict[str, str]]] = []
        self.watcher = TopicConfigWatcher(
            registry,
            self.view,
            clock,
            clock,
            Spawner(errors.append),
            lambda topic, each: self.changes.append((topic, dict(each))),
        )

    async def change(self, topic: str, overrides: dict[str, str]) -> None:
        """Write as Kafka's tools do: the node first, then the notification."""
        path = f"/config/topics/{topic}"
        if await self.registry.exists(path) is None:
            await self.registry.create(path, encode_config(overrides))
        else:
            await self.registry.set(path, encode_config(overrides))
        await self.notify(encode_change(f"topics/{topic}"))

    async def notify(self, data: bytes) -> None:
        await self.registry.create("/config/changes/config_change_", data, sequence=True)
        for _ in range(10):
            await asyncio.sleep(0)


def play(story: Callable[[Watched], Awaitable[None]]) -> None:
    errors: list[object] = []

    async def run() -> None:
        clock = ManualClock()
        registry = await EmbeddedRegistry.open(None, clock, InlineExecutor())
        await bootstrap(registry, Random(1))
        await story(Watched(registry, clock, errors))

    asyncio.run(run())
    assert errors == []


def test_everything_is_read_at_start_and_old_notifications_tell_nothing() -> None:
    async def story(watched: Watched) -> None:
        await watched.change("t", {"retention.ms": "1"})
        await watched.registry.create("/config/topics/u")
        await watched.watcher.start()
        assert watched.view.topic_overrides("t") == {"retention.ms": "1"}
        assert watched.view.topic_overrides("u") == {}
        assert watched.view.has_topic_overrides("u")
        assert not watched.view.has_topic_overrides("none")
        assert watched.changes == []

    play(story)


def test_each_change_is_seen_once() -> None:
    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        await watched.change("t", {"retention.ms": "1"})
        await watched.change("t", {"retention.ms": "2"})
        assert watched.changes == [("t", {"retention.ms": "1"}), ("t", {"retention.ms": "2"})]
        assert watched.view.topic_overrides("t") == {"retention.ms": "2"}
        await watched.registry.delete("/config/topics/t")
        await watched.notify(b'{"version":1,"entity_type":"topics","entity_name":"t"}')
        assert watched.changes[-1] == ("t", {})

    play(story)


def test_changes_of_other_things_and_strange_nodes_are_passed_over() -> None:
    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        await watched.notify(encode_change("users/alice"))
        await watched.notify(b'"t"')
        await watched.registry.create("/config/changes/other")
        await watched.change("t", {})
        assert watched.changes == [("t", {})]

    play(story)


def test_old_notifications_are_deleted() -> None:
    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        await watched.change("t", {})
        watched.clock.advance(NOTIFICATION_LIFETIME_MS + 1)
        await watched.change("u", {})
        assert await watched.registry.children("/config/changes") == ["config_change_0000000001"]
        await watched.registry.close()

    play(story)


def test_a_connection_lost_while_a_change_is_read_loses_no_change():
    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        real = watched.registry.get
        failures = iter([ConnectionLostError("/")])

        async def get(path, watch=None):
            if path == "/config/topics/t":
                for error in failures:
                    raise error
            return await real(path, watch)

        setattr(watched.registry, "get", get)  # noqa: B010  # mypy takes a method for read-only
        await watched.change("t", {"retention.ms": "1"})
        assert watched.changes == []
        watched.clock.advance(RETRY_BACKOFF_MS)
        for _ in range(20):
            await asyncio.sleep(0)
        assert watched.changes == [("t", {"retention.ms": "1"})]
        await watched.change("t", {"retention.ms": "2"})
        assert watched.changes[1:] == [("t", {"retention.ms": "2"})]

    play(story)
