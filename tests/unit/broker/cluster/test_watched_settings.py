"""Settings whose nodes are watched: who writes one and tells nobody is seen as well."""

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.registry.change_notifications import RETRY_BACKOFF_MS
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.store import ConnectionLostError, EventType, WatchEvent
from barnabas.wire.registry.znodes.configs import encode_config
from tests.unit.memory_registry import played_with


class Watched:
    """A registry and a watcher of users and clients.

    Attributes:
        told: What was told, in order.
        fail_count: How many of the next reads fail.
    """

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock, spawner: Spawner) -> None:
        self.registry = registry
        self.clock = clock
        self.told: list[tuple[str, dict[str, str]]] = []
        self.fail_count = 0
        for name in ("get", "get_many", "children"):
            setattr(registry, name, self._failing(getattr(registry, name)))
        self.watcher = ConfigWatcher(registry, clock, clock, spawner)
        for each in ("clients", "users"):
            self.watcher.subscribe(
                each,
                lambda name, overrides, each=each: self.told.append((f"{each}/{name}", dict(overrides))),
                is_watched=True,
            )

    def _failing(self, read):
        async def failing(path, watch=None):
            if self.fail_count:
                self.fail_count -= 1
                raise ConnectionLostError("/")
            return await read(path, watch)

        return failing

    async def write(self, entity: str, data: bytes | None) -> None:
        """Write the node, and those above it, and nothing else."""
        path = ""
        for element in ["config", *entity.split("/")]:
            path += f"/{element}"
            if await self.registry.exists(path) is None:
                await self.registry.create(path)
        await self.registry.set(path, data)

    async def rest(self) -> None:
        for _ in range(5_000):
            await asyncio.sleep(0)
            if not self.watcher._is_working:
                return
        raise AssertionError("it never rests")

    async def settle(self) -> None:
        for _ in range(3):
            await self.rest()
            self.clock.advance(RETRY_BACKOFF_MS)
        await self.rest()

    def expire(self) -> None:
        """As a client of ZooKeeper does when the connection is gone: every watch is told so, and forgotten."""
        registry = self.registry
        watches = [each for found in (registry._data_watches, registry._child_watches) for each in found.values()]
        registry._data_watches.clear()
        registry._child_watches.clear()
        for each in watches:
            for watch in each:
                watch(WatchEvent(EventType.NONE, ""))


play = played_with(Watched)


pytestmark = pytest.mark.played(by=play)


ENTITIES = [
    "clients/c", "clients/<default>", "users/u", "users/<default>", "users/u/clients/c", "users/u/clients/<default>",
    "users/<default>/clients/c", "users/<default>/clients/<default>",
]  # fmt: skip


@pytest.mark.parametrize("entity", ENTITIES)
@pytest.mark.parametrize("is_there_at_start", [False, True])
async def test_a_bare_write_is_told_at_every_level(watched: Watched, /, entity: str, is_there_at_start: bool) -> None:
    if is_there_at_start:
        await watched.write(entity, None)
    await watched.watcher.start()
    watched.told.clear()
    for rate in ("1", "2"):
        await watched.write(entity, encode_config({"producer_byte_rate": rate}))
        await watched.rest()
    await watched.registry.delete(f"/config/{entity}")
    await watched.rest()
    await watched.write(entity, encode_config({"producer_byte_rate": "3"}))
    await watched.rest()
    told = [overrides for name, overrides in watched.told if name == entity]
    assert told == [{"producer_byte_rate": "1"}, {"producer_byte_rate": "2"}, {}, {"producer_byte_rate": "3"}]
    assert {name for name, overrides in watched.told if overrides} == {entity}


async def test_a_change_with_a_notification_is_told_once(watched: Watched, /) -> None:
    await watched.watcher.start()
    watched.told.clear()
    for rate in ("1", "2"):
        await change_config(watched.registry, "users/u/clients/c", {"producer_byte_rate": rate})
        await watched.rest()
    assert watched.told == [(ENTITIES[4], {"producer_byte_rate": rate}) for rate in ("1", "2")]


MALFORMED = [
    b"", b"x", b"null", b"[]", b"1", b"{}", b'{"version":1}', b'{"config":[]}', b'{"config":"x"}', b'{"config":null}',
    b'{"version":1,"config":{"producer_byte_rate":1}}', b'{"config":{"producer_byte_rate":null}}',
    b'{"config":{"a":"1","producer_byte_rate":["1"]}}', b"\xff\xfe", b"[" * 100_000, b'{"config":' * 50_000,
    b'{"config":{"producer_byte_rate":1e999}}', b'{"config":{"a":"1"}', b'{"version":1,"config":{"a":"1"}}}',
]  # fmt: skip


async def test_what_is_no_node_of_settings_is_logged_once_and_changes_nothing(watched: Watched, /, caplog) -> None:
    await watched.write("users/u", encode_config({"producer_byte_rate": "5"}))
    await watched.write("users/v", b"nothing of the kind")
    await watched.watcher.start()
    assert dict(watched.told)["users/u"] == {"producer_byte_rate": "5"}
    assert dict(watched.told)["users/v"] == {}
    watched.told.clear()
    caplog.clear()
    for data in MALFORMED:
        await watched.write("users/u", data)
        await watched.rest()
        assert watched.told == []
    assert len(caplog.records) == len(MALFORMED)
    assert all("users/u" in record.getMessage() and len(record.getMessage()) < 250 for record in caplog.records)
    caplog.clear()
    await watched.write("users/u", MALFORMED[-1])
    await watched.write("clients/other", encode_config({"a": "1"}))
    await watched.rest()
    assert caplog.records == []
    await watched.write("users/u", encode_config({"producer_byte_rate": "6"}))
    await watched.rest()
    assert watched.told[-1] == ("users/u", {"producer_byte_rate": "6"})


async def test_very_many_are_read_at_the_start_and_one_more_costs_little(watched: Watched, /) -> None:
    for number in range(3_000):
        await watched.registry.create(f"/config/clients/c{number}", encode_config({"a": str(number)}))
    await watched.watcher.start()
    assert len(watched.told) == 3_000
    watched.told.clear()
    reads: list[object] = []
    real = watched.registry.get

    async def get(path, watch=None):
        reads.append(path)
        return await real(path, watch)

    setattr(watched.registry, "get", get)  # noqa: B010
    await watched.write("clients/new", encode_config({"a": "1"}))
    await watched.rest()
    await watched.write("clients/c1500", encode_config({"a": "1"}))
    await watched.rest()
    assert watched.told == [("clients/new", {"a": "1"}), ("clients/c1500", {"a": "1"})]
    assert len(reads) <= 4


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "change", "delete"]), st.sampled_from(ENTITIES)),
        st.tuples(st.sampled_from(["expire", "rest", "wait", "turn", "fail"]), st.just("")),
    ),
    max_size=25,
)


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(steps=STEPS)
def test_whatever_happens_the_last_that_is_told_is_what_is_there(steps: list[tuple[str, str]]) -> None:
    numbers = itertools.count(1)

    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        there: dict[str, dict[str, str]] = {}
        for step, entity in steps:
            match step:
                case "write":
                    there[entity] = {"n": str(next(numbers))}
                    await watched.write(entity, encode_config(there[entity]))
                case "change":
                    there[entity] = {"n": str(next(numbers))}
                    await change_config(watched.registry, entity, there[entity])
                case "delete" if entity in there and not any(each.startswith(f"{entity}/") for each in there):
                    del there[entity]
                    for path in (f"/config/{entity}/clients", f"/config/{entity}"):
                        if await watched.registry.exists(path) is not None:
                            await watched.registry.delete(path)
                case "expire":
                    watched.expire()
                case "rest":
                    await watched.rest()
                case "wait":
                    watched.clock.advance(RETRY_BACKOFF_MS)
                case "turn":
                    await asyncio.sleep(0)
                case "fail":
                    watched.fail_count += 1
        watched.fail_count = 0
        await watched.settle()
        last = {entity: overrides for entity, overrides in dict(watched.told).items() if overrides}
        assert last == there

    play(story)
