import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.registry.change_notifications import NOTIFICATION_LIFETIME_MS, RETRY_BACKOFF_MS
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.store import ConnectionLostError, EventType, NoNodeError, WatchEvent
from barnabas.wire.registry.znodes.configs import encode_change, encode_config
from tests.unit.memory_registry import played_with

TYPES = ("topics", "brokers", "clients", "users")


class Watched:
    """A registry and the watcher of its settings, not started.

    Attributes:
        told: What the subscribers of all types were told, in order.
        reads: The paths that were read.
        failures: How many of the next reads of a path fail.
        is_answering: Whether reads are answered.
    """

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock, spawner: Spawner) -> None:
        self.registry = registry
        self.clock = clock
        self.told: list[tuple[str, dict[str, str]]] = []
        self.reads: list[str] = []
        self.failures: dict[str, int] = {}
        self.is_answering = asyncio.Event()
        self.is_answering.set()
        self._get, self._children = registry.get, registry.children
        setattr(registry, "get", self._noted_get)  # noqa: B010  # mypy takes a method for read-only
        setattr(registry, "children", self._noted_children)  # noqa: B010
        self.watcher = ConfigWatcher(registry, clock, clock, spawner)
        for each in TYPES:
            self.watcher.subscribe(each, self._teller(each))

    def _teller(self, entity_type: str) -> Callable[[str, Mapping[str, str]], None]:
        return lambda name, overrides: self.told.append((f"{entity_type}/{name}", dict(overrides)))

    def _note(self, path: str) -> None:
        self.reads.append(path)
        if self.failures.get(path, 0):
            self.failures[path] -= 1
            raise ConnectionLostError(path)

    async def _noted_get(self, path, watch=None):
        await self.is_answering.wait()
        self._note(path)
        return await self._get(path, watch)

    async def _noted_children(self, path, watch=None):
        await self.is_answering.wait()
        self._note(path)
        return await self._children(path, watch)

    async def change(self, entity: str, overrides: dict[str, str]) -> None:
        await change_config(self.registry, entity, overrides)

    async def write(self, entity: str, overrides: dict[str, str]) -> None:
        """Write the node alone."""
        path = f"/config/{entity}"
        if await self.registry.exists(path) is None:
            await self.registry.create(path, encode_config(overrides))
        else:
            await self.registry.set(path, encode_config(overrides))

    async def notify(self, data: bytes) -> None:
        await self.registry.create("/config/changes/config_change_", data, sequence=True)

    def expire(self) -> None:
        """As ZooKeeper's client does when the session is gone: the watches are told so, and forgotten."""
        self.watcher._changed(WatchEvent(EventType.NONE, ""))

    async def rest(self) -> None:
        """Until nothing more happens."""
        for _ in range(2_000):
            await asyncio.sleep(0)
            if not self.watcher._is_working:
                return
        raise AssertionError("it never rests")


play = played_with(Watched)


pytestmark = pytest.mark.played(by=play)


async def test_every_entity_is_told_as_it_is_at_the_start_and_old_notifications_tell_nothing(watched: Watched, /):
    await watched.change("topics/t", {"retention.ms": "1"})
    await watched.change("topics/t", {"retention.ms": "2"})
    await watched.registry.create("/config/topics/u")
    await watched.change("brokers/0", {"a": "1"})
    await watched.change("brokers/<default>", {"a": "2"})
    await watched.change("users/ref%20user/clients/c", {"b": "1"})
    await watched.watcher.start()
    assert watched.told == [
        ("topics/t", {"retention.ms": "2"}),
        ("topics/u", {}),
        ("brokers/<default>", {"a": "2"}),
        ("brokers/0", {"a": "1"}),
        ("users/ref%20user", {}),
        ("users/ref%20user/clients/c", {"b": "1"}),
    ]


async def test_each_change_of_each_entity_is_told_once_and_in_order(watched: Watched, /) -> None:
    await watched.watcher.start()
    changes = [
        ("topics/t", {"retention.ms": "1"}),
        ("brokers/<default>", {"x": "1"}),
        ("topics/t", {"retention.ms": "2"}),
        ("clients/<default>", {"x": "1"}),
        ("users/u", {"x": "1"}),
        ("users/<default>/clients/<default>", {"x": "2"}),
        ("topics/t", {}),
    ]
    for entity, overrides in changes:
        await watched.change(entity, overrides)
        await watched.rest()
    assert watched.told == changes
    await watched.change("topics/t", {"retention.ms": "3"})
    await watched.rest()
    await watched.registry.delete("/config/topics/t")
    await watched.notify(b'{"version":1,"entity_type":"topics","entity_name":"t"}')
    await watched.rest()
    assert watched.told[-1] == ("topics/t", {})


def test_notifications_that_are_none_and_those_that_nobody_goes_by_are_passed_over(caplog: pytest.LogCaptureFixture):
    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        watched.is_answering.clear()
        for data in (
            encode_change("ips/1.2.3.4"),
            b'"t"',
            b"no json",
            b'{"version":2,"entity_path":"topics"}',
            b'{"version":2,"entity_path":"topics/../../brokers/ids/0"}',
            b'{"version":1,"entity_type":"users","entity_name":"u"}',
            b'{"version":3}',
        ):
            await watched.notify(data)
        await watched.registry.create("/config/changes/other")
        await watched.change("topics/t", {"a": "1"})
        watched.is_answering.set()
        await watched.rest()
        assert watched.told == [("topics/t", {"a": "1"})]

    with caplog.at_level(logging.WARNING):
        play(story)
    assert [record.getMessage() for record in caplog.records] == [
        *(f"config change notification config_change_{number:010} is malformed: ignored" for number in range(1, 7)),
        "config change of ips/1.2.3.4 ignored: this broker does not use settings of that entity type",
    ]


async def test_old_notifications_are_deleted_and_each_is_read_once(watched: Watched, /) -> None:
    await watched.change("topics/s", {"a": "1"})
    await watched.watcher.start()
    await watched.change("topics/t", {"a": "1"})
    await watched.rest()
    watched.clock.advance(NOTIFICATION_LIFETIME_MS + 1)
    await watched.change("topics/u", {"a": "1"})
    await watched.rest()
    assert await watched.registry.children("/config/changes") == ["config_change_0000000002"]
    notifications = [path for path in watched.reads if path.startswith("/config/changes/")]
    assert len(notifications) == len(set(notifications)) == 3


async def test_a_storm_of_changes_is_told_as_one_for_each_entity(watched: Watched, /) -> None:
    await watched.watcher.start()
    watched.is_answering.clear()
    for number in range(500):
        await watched.change(f"topics/t{number % 2}", {"retention.ms": str(number)})
    watched.reads.clear()
    watched.is_answering.set()
    await watched.rest()
    assert watched.told == [("topics/t0", {"retention.ms": "498"}), ("topics/t1", {"retention.ms": "499"})]
    assert watched.reads.count("/config/topics/t0") == 1
    assert watched.reads.count("/config/changes") <= 1


@pytest.mark.parametrize("path", ["/config/changes", "/config/changes/config_change_0000000000", "/config/topics/t"])
async def test_a_failed_read_is_tried_again_and_loses_no_change(watched: Watched, /, path: str) -> None:
    await watched.watcher.start()
    watched.failures[path] = 2
    await watched.change("brokers/0", {"a": "1"})
    await watched.change("topics/t", {"a": "1"})
    await watched.rest()
    for _ in range(2):
        watched.clock.advance(RETRY_BACKOFF_MS)
        await watched.rest()
    assert sorted(watched.told) == [("brokers/0", {"a": "1"}), ("topics/t", {"a": "1"})]
    await watched.change("topics/t", {"a": "2"})
    await watched.rest()
    assert watched.told[2:] == [("topics/t", {"a": "2"})]


async def test_what_changed_while_the_session_was_gone_is_found_again_without_its_notification(watched: Watched, /):
    await watched.change("topics/gone", {"a": "1"})
    await watched.change("topics/same", {"a": "1"})
    await watched.watcher.start()
    watched.told.clear()
    await watched.write("topics/new", {"a": "1"})
    await watched.registry.delete("/config/topics/gone")
    await watched.write("brokers/0", {"a": "1"})
    watched.failures["/config/brokers"] = 1
    watched.expire()
    await watched.rest()
    watched.clock.advance(RETRY_BACKOFF_MS)
    await watched.rest()
    assert watched.told == [("topics/new", {"a": "1"}), ("brokers/0", {"a": "1"}), ("topics/gone", {})]


async def test_a_session_that_is_gone_again_while_everything_is_read_has_it_read_once_more(watched: Watched, /) -> None:
    await watched.watcher.start()
    real = watched._children
    changes = iter([{"a": "1"}])

    async def children(path, watch=None):
        if path == "/config/users":
            # The topics are read by now.
            for overrides in changes:
                await watched.write("topics/t", overrides)
                watched.expire()
        return await real(path, watch)

    watched._children = children
    watched.expire()
    await watched.rest()
    assert watched.told == [("topics/t", {"a": "1"})]


async def test_a_notification_that_is_gone_before_it_is_read_means_that_everything_is_looked_at(watched: Watched, /):
    await watched.watcher.start()
    real = watched._get

    async def get(path, watch=None):
        if path == "/config/changes/config_change_0000000000":
            raise NoNodeError(path)
        return await real(path, watch)

    watched._get = get
    await watched.change("topics/t", {"a": "1"})
    await watched.rest()
    assert watched.told == [("topics/t", {"a": "1"})]


async def test_what_is_loaded_is_told_in_any_case_and_waits_for_its_turn(watched: Watched, /) -> None:
    await watched.watcher.start()
    await watched.change("topics/t", {"a": "1"})
    await watched.watcher.load(["topics/t", "topics/none"])
    await watched.rest()
    assert watched.told == [("topics/t", {"a": "1"}), ("topics/t", {"a": "1"}), ("topics/none", {})]
    watched.failures["/config/topics/t"] = 1
    with pytest.raises(ConnectionLostError):
        await watched.watcher.load(["topics/t"])
    # A topic of the same name with the same settings is another one.
    watched.watcher.forget("topics/t")
    await watched.notify(encode_change("topics/t"))
    await watched.rest()
    assert watched.told[3:] == [("topics/t", {"a": "1"})]


def test_one_subscriber_that_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story(watched: Watched) -> None:
        def fail(name: str, overrides: Mapping[str, str]) -> None:
            raise ValueError(name)

        watched.watcher._listeners["topics"].insert(0, fail)
        await watched.watcher.start()
        await watched.change("topics/t", {"a": "1"})
        await watched.change("topics/u", {"a": "1"})
        await watched.rest()
        assert watched.told == [("topics/t", {"a": "1"}), ("topics/u", {"a": "1"})]

    play(story)
    assert [record.getMessage() for record in caplog.records] == [
        "cannot apply changed settings of topics/t",
        "cannot apply changed settings of topics/u",
    ]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from(["topics/t", "topics/u", "brokers/0", "users/u/clients/c"])),
        st.tuples(st.just("load"), st.sampled_from(["topics/t", "topics/u"])),
        st.tuples(st.just("fail"), st.sampled_from(["/config/changes", "/config/topics/t", "/config/topics"])),
        st.tuples(st.sampled_from(["expire", "rest", "wait", "turn"]), st.just("")),
    ),
    max_size=25,
)


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(steps=STEPS)
def test_whatever_happens_the_last_that_is_told_is_what_is_there(steps: list[tuple[str, str]]) -> None:
    numbers = itertools.count(1)

    async def story(watched: Watched) -> None:
        await watched.watcher.start()
        there: dict[str, dict[str, str]] = {}
        for step, what in steps:
            match step:
                case "change":
                    there[what] = {"n": str(next(numbers))}
                    await watched.change(what, there[what])
                case "load":
                    try:
                        await watched.watcher.load([what])
                    except ConnectionLostError:
                        pass
                case "fail":
                    watched.failures[what] = watched.failures.get(what, 0) + 1
                case "expire":
                    watched.expire()
                case "rest":
                    await watched.rest()
                case "wait":
                    watched.clock.advance(RETRY_BACKOFF_MS)
                case "turn":
                    await asyncio.sleep(0)
        watched.failures.clear()
        for _ in range(3):
            await watched.rest()
            watched.clock.advance(RETRY_BACKOFF_MS)
        await watched.rest()
        last = dict(watched.told)
        assert {entity: last.get(entity) for entity in there} == there
        for entity in there:
            order = [int(each["n"]) for told, each in watched.told if told == entity and each]
            assert order == sorted(order)

    play(story)
