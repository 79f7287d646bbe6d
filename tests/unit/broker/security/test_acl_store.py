"""Access rules in the registry: read, watched and changed, beside others who change them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from barnabas.broker.registry.change_notifications import NOTIFICATION_LIFETIME_MS, RETRY_BACKOFF_MS
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.security.acls.store import MOST_RETRIES, AclStore
from barnabas.broker.security.acls.znodes import encode_change, encode_entries, path_of
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.store import ConnectionLostError, EventType, WatchEvent
from barnabas.wire.security.acls import Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal
from tests.unit.memory_registry import memory_registry

ALICE = Principal("User", "alice")
READ, WRITE = (Entry(ALICE, "*", each, Permission.ALLOW) for each in (Operation.READ, Operation.WRITE))
T, PREFIX = Pattern(ResourceType.TOPIC, "t"), Pattern(ResourceType.GROUP, "g-", PatternType.PREFIXED)


def adding(*entries: Entry) -> Callable[[frozenset[Entry]], frozenset[Entry]]:
    return lambda before: before | set(entries)


def nothing(before: frozenset[Entry]) -> frozenset[Entry]:
    return frozenset()


class Brokers:
    """A registry and the stores of two brokers on it, not started.

    Attributes:
        changes: How often the second one's rules changed.
        errors: What failed in the background.
    """

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock) -> None:
        self.registry = registry
        self.clock = clock
        self.changes = 0
        self.errors: list[BaseException] = []
        spawner = Spawner(self.errors.append)
        self.one = AclStore(registry, clock, clock, spawner, Random(1), lambda: None)
        self.two = AclStore(registry, clock, clock, spawner, Random(2), self._changed)

    def _changed(self) -> None:
        self.changes += 1

    async def start(self) -> None:
        await self.one.start()
        await self.two.start()

    async def write(self, pattern: Pattern, data: bytes | None) -> None:
        """As a tool does that writes to the registry itself."""
        path = path_of(pattern)
        if await self.registry.exists(path) is None:
            await self.registry.create(path, data)
        else:
            await self.registry.set(path, data)
        top = "kafka-acl-changes" if pattern.pattern_type is PatternType.LITERAL else "kafka-acl-extended-changes"
        await self.registry.create(f"/{top}/acl_changes_", encode_change(pattern), sequence=True)
        await self.rest()

    async def rest(self) -> None:
        """Until nothing more happens."""
        for _ in range(2_000):
            await asyncio.sleep(0)


def play(story: Callable[[Brokers], Awaitable[None]]) -> None:
    async def run() -> None:
        clock = ManualClock()
        brokers = Brokers(await memory_registry(clock), clock)
        await story(brokers)
        assert brokers.errors == []

    asyncio.run(run())


pytestmark = pytest.mark.played(by=play)


async def test_the_tree_is_that_of_kafka_and_made_once(brokers: Brokers, /):
    await brokers.start()
    types = ["Cluster", "DelegationToken", "Group", "Topic", "TransactionalId"]
    assert await brokers.registry.children("/kafka-acl") == types
    assert await brokers.registry.children("/kafka-acl-extended/prefixed") == types
    assert await brokers.registry.children("/kafka-acl-changes") == []
    assert await brokers.registry.children("/kafka-acl-extended-changes") == []


async def test_a_change_is_known_to_its_maker_at_once_and_to_the_other_broker_by_its_notification(brokers: Brokers, /):
    await brokers.start()
    results = await brokers.one.update({T: adding(READ), PREFIX: adding(WRITE)})
    assert [(each.before, each.after, each.error) for each in results.values()] == [
        (frozenset(), {READ}, None),
        (frozenset(), {WRITE}, None),
    ]
    assert brokers.one.rules.entries(T) == {READ}
    await brokers.rest()
    assert brokers.two.rules.entries(T) == {READ}
    assert brokers.two.rules.entries(PREFIX) == {WRITE}
    assert (await brokers.registry.get("/kafka-acl/Topic/t"))[0] == encode_entries([READ])
    await brokers.two.update({T: nothing})
    await brokers.rest()
    assert not brokers.one.rules.entries(T)
    assert await brokers.registry.exists("/kafka-acl/Topic/t") is None
    changes = brokers.changes
    # Nothing new: nothing is written, and nobody is told.
    await brokers.one.update({PREFIX: adding(WRITE), T: nothing})
    await brokers.rest()
    assert brokers.changes == changes
    assert len(await brokers.registry.children("/kafka-acl-extended-changes")) == 1


async def test_rules_that_are_there_at_the_start_are_read(brokers: Brokers, /):
    await brokers.one.start()
    await brokers.one.update({T: adding(READ), PREFIX: adding(WRITE)})
    await brokers.two.start()
    assert len(brokers.two.rules) == 2


async def test_two_who_change_one_pattern_at_the_same_time_lose_nothing(brokers: Brokers, /):
    await brokers.start()
    entries = [Entry(Principal("User", f"u{number}"), "*", Operation.READ, Permission.ALLOW) for number in range(8)]
    stores = (brokers.one, brokers.two)
    done = asyncio.gather(*(stores[number % 2].update({T: adding(entry)}) for number, entry in enumerate(entries)))
    while not done.done():
        await brokers.rest()
        # Who lost tries again a moment later.
        brokers.clock.advance(150)
    await brokers.rest()
    assert brokers.one.rules.entries(T) == brokers.two.rules.entries(T) == set(entries)


def test_who_always_loses_gives_up_and_says_so(caplog):
    async def story(brokers: Brokers) -> None:
        await brokers.start()
        get = brokers.registry.get
        attempts = 0

        async def meanwhile_changed(path, watch=None):
            nonlocal attempts
            data = await get(path, watch)
            if path == "/kafka-acl/Topic/t":
                attempts += 1
                await brokers.registry.set(path, encode_entries([READ, WRITE]))
            return data

        await brokers.registry.create("/kafka-acl/Topic/t", encode_entries([READ]))
        setattr(brokers.registry, "get", meanwhile_changed)  # noqa: B010  # mypy takes a method for read-only
        update = asyncio.ensure_future(brokers.one.update({T: nothing}))
        while not update.done():
            await brokers.rest()
            brokers.clock.advance(150)
        result = (await update)[T]
        assert "after trying a maximum of 10 times" in str(result.error)
        assert attempts == MOST_RETRIES + 1

    play(story)


BAD = b'{"version":1,"acls":[{"principal":"User:alice","permissionType":"Deny"}]}'


def test_what_becomes_unreadable_changes_nothing_and_is_told_once(caplog):
    async def story(brokers: Brokers) -> None:
        await brokers.start()
        await brokers.one.update({T: adding(READ)})
        await brokers.write(T, BAD)
        await brokers.write(T, BAD)
        assert brokers.one.rules.entries(T) == {READ}
        # It can't be changed either: what it says is not known.
        result = (await brokers.one.update({T: adding(WRITE)}))[T]
        assert result.error is not None
        assert (await brokers.registry.get("/kafka-acl/Topic/t"))[0] == BAD
        await brokers.write(T, encode_entries([WRITE]))
        assert brokers.one.rules.entries(T) == {WRITE}

    with caplog.at_level(logging.ERROR):
        play(story)
    told = [record.getMessage() for record in caplog.records if "cannot read the ACLs" in record.getMessage()]
    assert len(told) == 2
    assert told[0].endswith("(an access rule lacks a text): the previous ACLs stay in force")


async def test_what_was_never_readable_lets_nobody_in_until_it_is(brokers: Brokers, /):
    await brokers.one.start()
    await brokers.registry.create("/kafka-acl/Topic/t", BAD)
    await brokers.one.update({Pattern(ResourceType.TOPIC, "*"): adding(READ)})
    await brokers.two.start()
    rules = brokers.two.rules
    assert rules.rights(ALICE, "h", ResourceType.TOPIC, "t") == 0
    assert rules.rights(ALICE, "h", ResourceType.TOPIC, "u") != 0
    await brokers.write(T, None)
    assert rules.rights(ALICE, "h", ResourceType.TOPIC, "t") != 0


def test_notifications_that_are_none_are_passed_over(caplog):
    async def story(brokers: Brokers) -> None:
        await brokers.start()
        for top in ("/kafka-acl-changes", "/kafka-acl-extended-changes"):
            for data in (b"\xff", b"TOPIC", b"{", None):
                await brokers.registry.create(f"{top}/acl_changes_", data, sequence=True)
            await brokers.registry.create(f"{top}/other")
            await brokers.registry.create(f"{top}/acl_changes_x")
        await brokers.rest()
        await brokers.write(T, encode_entries([READ]))
        assert brokers.two.rules.entries(T) == {READ}

    with caplog.at_level(logging.WARNING):
        play(story)
    assert len(caplog.records) == 2 * 8


async def test_old_notifications_go(brokers: Brokers, /):
    await brokers.start()
    await brokers.one.update({T: adding(READ)})
    await brokers.rest()
    brokers.clock.advance(NOTIFICATION_LIFETIME_MS + 1)
    await brokers.one.update({T: adding(WRITE)})
    await brokers.rest()
    assert await brokers.registry.children("/kafka-acl-changes") == ["acl_changes_0000000001"]


async def test_after_a_session_is_lost_everything_is_read_again(brokers: Brokers, /):
    await brokers.start()
    await brokers.one.update({T: adding(READ), PREFIX: adding(WRITE)})
    await brokers.rest()
    # Somebody changed it meanwhile, and the notification is gone again.
    await brokers.registry.set("/kafka-acl/Topic/t", encode_entries([WRITE]))
    await brokers.registry.delete("/kafka-acl-extended/prefixed/Group/g-")
    assert brokers.two.rules.entries(T) == {READ}
    brokers.two._changes[0]._changed(WatchEvent(EventType.NONE, ""))
    await brokers.rest()
    assert brokers.two.rules.entries(T) == {WRITE}
    assert not brokers.two.rules.entries(PREFIX)


def test_what_cannot_be_read_now_is_read_later(caplog):
    async def story(brokers: Brokers) -> None:
        await brokers.start()
        get = brokers.registry.get
        failures = 2

        async def failing(path, watch=None):
            nonlocal failures
            if path == "/kafka-acl/Topic/t" and failures:
                failures -= 1
                raise ConnectionLostError(path)
            return await get(path, watch)

        setattr(brokers.registry, "get", failing)  # noqa: B010  # mypy takes a method for read-only
        await brokers.write(T, encode_entries([READ]))
        for _ in range(3):
            brokers.clock.advance(RETRY_BACKOFF_MS + 1)
            await brokers.rest()
        assert brokers.one.rules.entries(T) == brokers.two.rules.entries(T) == {READ}

    play(story)


def test_a_registry_that_does_not_answer_is_an_error_of_the_change(caplog):
    async def story(brokers: Brokers) -> None:
        await brokers.start()

        async def lost(ops):
            raise ConnectionLostError("/")

        setattr(brokers.registry, "multi", lost)  # noqa: B010  # mypy takes a method for read-only
        result = (await brokers.one.update({T: adding(READ)}))[T]
        assert isinstance(result.error, ConnectionLostError)
        assert not brokers.one.rules.entries(T)

    with caplog.at_level(logging.ERROR):
        play(story)
    assert caplog.records


@pytest.mark.parametrize("count", [0, 1, 120])
async def test_many_patterns_are_changed_and_read_some_at_a_time(brokers: Brokers, /, count):
    await brokers.one.start()
    patterns = [Pattern(ResourceType.TOPIC, f"t{number}") for number in range(count)]
    results = await brokers.one.update(dict.fromkeys(patterns, adding(READ)))
    assert list(results) == patterns
    await brokers.two.start()
    assert len(brokers.two.rules) == len(brokers.one.rules) == count
