"""A member and the nodes of others: on a registry in memory, where things happen between two requests."""

from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.api.connector.assignment import Assignment
from barnabas.api.connector.membership import Membership, MembershipOptions
from barnabas.api.connector.state import Registration
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import DeleteOp, Op, OpResult
from barnabas.wire.registry.znodes.consumers import Subscription
from barnabas.wire.registry.znodes.topics import TopicAssignment, encode_assignment
from tests.unit.memory_registry import memory_registry

OWNER = paths.consumer_owner("g", "t", 0)


class NoConsumption:
    """Reads nothing, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    async def start(self, assignment: Assignment) -> None:
        self.told.append(sorted(partition.partition for partition in assignment))

    async def stop(self) -> None:
        self.told.append("stop")

    def drop(self) -> None:
        self.told.append("drop")

    def note_brokers(self) -> None:
        return


class TakingOver:
    """A registry where a member's session is gone when its first release arrives, and another has its partition."""

    def __init__(self, registry: EmbeddedRegistry) -> None:
        self._registry = registry
        self._has_happened = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if not self._has_happened and any(isinstance(op, DeleteOp) and op.path == OWNER for op in ops):
            self._has_happened = True
            await self._registry.delete(paths.consumer_id("g", "g_me"))
            await self._registry.delete(OWNER)
            await self._registry.create(OWNER, b"g_other-0", ephemeral=True)
        return await self._registry.multi(ops)


async def registry_with_a_topic() -> EmbeddedRegistry:
    registry = await memory_registry()
    await create_with_parents(registry, paths.broker(0), b"{}")
    await create_with_parents(registry, paths.topic("t"), encode_assignment(TopicAssignment({0: [0], 1: [0]})))
    return registry


def member(registry: Any, consumption: NoConsumption) -> Membership:
    options = MembershipOptions(4, 0, "range", True)
    return Membership(registry, "g", Registration("g", "g_me"), Subscription({"t": 1}), consumption, options)


async def test_a_member_claims_reads_stops_and_leaves_nothing_behind() -> None:
    registry, consumption = await registry_with_a_topic(), NoConsumption()
    membership = member(registry, consumption)
    await membership.join()
    assert [(await registry.get(paths.consumer_owner("g", "t", n)))[0] for n in (0, 1)] == [b"g_me-0"] * 2
    await membership.leave()
    assert consumption.told == ["stop", [0, 1], "stop"]
    assert await registry.children(paths.consumer_ids("g")) == []
    assert await registry.children(paths.parent(OWNER)) == []
    await registry.close()


async def test_what_is_anothers_by_now_is_not_deleted() -> None:
    registry = await registry_with_a_topic()
    membership = member(TakingOver(registry), NoConsumption())
    await membership.join()
    await membership.leave()
    assert (await registry.get(OWNER))[0] == b"g_other-0"
    await registry.close()


@pytest.mark.parametrize("data", [b"[", b"{}", b'{"version":1,"subscription":{"t":0},"pattern":"static"}'])
async def test_a_registration_that_nobody_can_read_counts_for_nothing(data: bytes) -> None:
    registry, consumption = await registry_with_a_topic(), NoConsumption()
    await create_with_parents(registry, paths.consumer_id("g", "g_broken"), data)
    membership = member(registry, consumption)
    await membership.join()
    assert consumption.told == ["stop", [0, 1]]
    await membership.leave()
    await registry.close()
