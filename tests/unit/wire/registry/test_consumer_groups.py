"""Groups of old consumers in the tree: read whole, their offsets written, deleted when nobody is in them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.consumer_groups import (
    GroupInUseError,
    delete_group,
    delete_offsets,
    group_names,
    read_group,
    read_offsets,
    write_offsets,
)
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.consumers import ConsumerThread, Subscription, encode_owner, encode_subscription

pytestmark = pytest.mark.played(by="play")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
READS_T = Subscription({"t": 1}, timestamp_ms=5)


@pytest.fixture
def play(tmp_path: Path):
    def play_it(story: Callable[[Registry], Awaitable[None]]) -> None:
        async def run() -> None:
            registry = await EmbeddedRegistry.open(tmp_path / "registry.sqlite", ManualClock(), InlineExecutor())
            try:
                await story(registry)
            finally:
                await registry.close()

        asyncio.run(run())

    return play_it


async def register(registry: Registry, consumer: str) -> None:
    if await registry.exists(paths.consumer_ids("g")) is None:
        await create_with_parents(registry, paths.consumer_ids("g"))
    await registry.create(paths.consumer_id("g", consumer), encode_subscription(READS_T), ephemeral=True)


async def test_a_group_is_read_with_its_members_owners_and_offsets(registry: Registry, /, tmp_path: Path) -> None:
    await write_offsets(registry, "g", {T0: 7, T1: 9})
    await write_offsets(registry, "g", {T0: 8})
    await register(registry, "g_a")
    await create_with_parents(registry, paths.consumer_owner("g", "t", 1), encode_owner(ConsumerThread("g_a", 0)))
    group = await read_group(registry, "g")
    assert group is not None
    assert (group.members, group.owners) == ({"g_a": READS_T}, {T1: "g_a-0"})
    assert {each: stored.offset for each, stored in group.offsets.items()} == {T0: 8, T1: 9}
    assert (group.offsets[T0].version, group.offsets[T1].version) == (1, 0)
    assert group.problems == []
    assert await group_names(registry) == ["g"]


async def test_what_can_not_be_read_costs_itself_alone(registry: Registry, /, tmp_path: Path) -> None:
    await write_offsets(registry, "g", {T0: 7})
    await create_with_parents(registry, paths.consumer_offset("g", "t", 1), b"seven")
    await create_with_parents(registry, f"{paths.consumer_offsets('g')}/t/3-0", b"4711")
    await create_with_parents(registry, f"{paths.consumer_offsets('g')}/t/last", b"1")
    await create_with_parents(registry, paths.consumer_id("g", "g_b"), b"{")
    group = await read_group(registry, "g")
    assert group is not None
    assert (list(group.offsets), group.members, len(group.problems)) == ([T0], {"g_b": None}, 4)
    assert any("Kafka 0.7" in problem for problem in group.problems)


async def test_what_is_not_there_has_nothing(registry: Registry, /, tmp_path: Path) -> None:
    assert await group_names(registry) == []
    assert await read_group(registry, "g") is None
    assert await read_group(registry, "a/b") is None
    assert await read_offsets(registry, "g") == {}
    with pytest.raises(NoNodeError):
        await delete_group(registry, "g")


async def test_nothing_of_a_group_with_members_is_written_or_deleted(registry: Registry, /, tmp_path: Path) -> None:
    await write_offsets(registry, "g", {T0: 7})
    await register(registry, "g_a")
    await register(registry, "g_b")
    with pytest.raises(GroupInUseError, match="g_a, g_b"):
        await write_offsets(registry, "g", {T0: 0})
    with pytest.raises(GroupInUseError):
        await delete_group(registry, "g")
    with pytest.raises(GroupInUseError):
        await delete_offsets(registry, "g", T0)
    assert (await read_offsets(registry, "g"))[T0].offset == 7


async def test_offsets_and_groups_are_deleted(registry: Registry, /, tmp_path: Path) -> None:
    await write_offsets(registry, "g", {T0: 7, T1: 8})
    assert await delete_offsets(registry, "g", T0)
    assert not await delete_offsets(registry, "g", T0)
    assert list(await read_offsets(registry, "g")) == [T1]
    await delete_group(registry, "g")
    assert await group_names(registry) == []
