"""Changes of in-sync replicas that leaders write themselves, in a real registry whose connection is lost at will."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

import pytest

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Tree
from barnabas.broker.replicas.isr_changes import Committed, IsrOutcome, Refused
from barnabas.broker.replicas.registry_isr_changes import (
    CHECK_INTERVAL_MS,
    MOST_PARTITIONS_IN_A_NOTE,
    RETRY_BACKOFF_MS,
    RegistryIsrChanges,
)
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Spawner
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import ConnectionLostError, NoAuthError, RegistryError, Stat
from barnabas.wire.registry.znodes.notifications import decode_isr_notification
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state
from tests.patience import PATIENCE_S

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST = PartitionStateNode(1, 5, (1, 2, 3), 4)


class ShakyRegistry(EmbeddedRegistry):
    """Raises what a test says, before or after it does what it is asked for."""

    before: list[RegistryError]
    after: list[RegistryError]

    async def set(self, path: str, data: bytes | None, version: int = -1) -> Stat:
        if self.before:
            raise self.before.pop(0)
        stat = await super().set(path, data, version)
        if self.after:
            raise self.after.pop(0)
        return stat

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        if sequence and self.before:
            raise self.before.pop(0)
        return await super().create(path, data, ephemeral, sequence)


class Leader:
    """Broker 1, which leads two partitions."""

    def __init__(self, registry: ShakyRegistry, clock: ManualClock, spawner: Spawner) -> None:
        self.registry = registry
        self.clock = clock
        self.outcomes: list[tuple[TopicPartition, IsrOutcome]] = []
        self.changes = RegistryIsrChanges(registry, clock, clock, spawner)

    def propose(self, key: TopicPartition, isr: tuple[int, ...] = (1, 2), version: int = 0, epoch: int = 5) -> None:
        self.changes.propose(key, 1, epoch, isr, version, 4, lambda outcome: self.outcomes.append((key, outcome)))

    async def state(self, key: TopicPartition = T0) -> tuple[PartitionStateNode, int]:
        data, stat = await self.registry.get(paths.partition_state(*key))
        return decode_partition_state(data), stat.version

    async def advance(self, by_ms: int) -> None:
        """Let time go by in small steps, and all that comes of it happen."""
        for _ in range(0, by_ms, 100):
            self.clock.advance(min(100, by_ms))
            await settle()

    async def notes(self) -> list[list[TopicPartition]]:
        names = await self.registry.children(paths.ISR_CHANGES)
        found = await self.registry.get_many([paths.child(paths.ISR_CHANGES, name) for name in names])
        return [decode_isr_notification(each[0]) for each in found if each is not None]


async def settle() -> None:
    """Let everything that is under way end: nothing here waits for anything but the loop."""
    for _ in range(20):
        await asyncio.sleep(0)


def play(story: Callable[[Leader], Awaitable[None]], partitions: tuple[TopicPartition, ...] = (T0, T1)) -> None:
    async def whole() -> None:
        clock = ManualClock()
        registry = ShakyRegistry(Tree(), None, clock, InlineExecutor())
        registry.before, registry.after = [], []
        errors: list[BaseException] = []
        spawner = Spawner(errors.append)
        for key in partitions:
            path = paths.partition_state(*key)
            for each in [*paths.ancestors(path), path, paths.ISR_CHANGES]:
                if await registry.exists(each) is None:
                    await registry.create(each, encode_partition_state(FIRST) if each == path else None)
        leader = Leader(registry, clock, spawner)
        try:
            await story(leader)
        finally:
            leader.changes.close()
            await spawner.close()
            await registry.close()
        assert errors == []

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


pytestmark = pytest.mark.played(by=play)


async def test_a_change_is_written_at_the_version_that_the_leader_knows(leader: Leader, /) -> None:
    leader.propose(T0)
    leader.propose(T1, (1,))
    await settle()
    assert leader.outcomes == [(T0, Committed((1, 2), 1)), (T1, Committed((1,), 1))]
    assert await leader.state() == (PartitionStateNode(1, 5, (1, 2), 4), 1)
    assert await leader.state(T1) == (PartitionStateNode(1, 5, (1,), 4), 1)
    leader.propose(T0, (1, 2, 3), 1)
    await settle()
    assert leader.outcomes[2:] == [(T0, Committed((1, 2, 3), 2))]
    assert leader.changes.failed_count == 0


async def test_states_and_notes_are_those_of_kafka(leader: Leader, /) -> None:
    """As a cluster at 2.6 wrote them when broker 3 of three stood still (recording ibp26-isr-shrink-expand)."""
    leader.changes.propose(T0, 1, 0, (1, 2), 0, 1, lambda _: None)
    await settle()
    leader.changes.propose(T0, 1, 0, (1, 2, 3), 1, 1, lambda _: None)
    await settle()
    data, stat = await leader.registry.get(paths.partition_state(*T0))
    assert stat.version == 2
    assert json.loads(data or b"") == {
        "controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2, 3]
    }  # fmt: skip
    # The last change at 10,036 ms, the note at 15,836 ms: at a check, and more than 5 s later.
    await leader.advance(7_500)
    (name,) = await leader.registry.children(paths.ISR_CHANGES)
    assert name == "isr_change_0000000000"
    data, stat = await leader.registry.get(paths.child(paths.ISR_CHANGES, name))
    assert json.loads(data or b"") == {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
    assert stat.ephemeral_owner == 0


# --- what the node says


async def test_another_state_is_left_alone(leader: Leader, /) -> None:
    other = PartitionStateNode(2, 6, (1, 2, 3), 4)
    await leader.registry.set(paths.partition_state(*T0), encode_partition_state(other))
    leader.propose(T0)
    await settle()
    assert leader.outcomes == [(T0, Refused(ErrorCode.INVALID_UPDATE_VERSION))]
    assert await leader.state() == (other, 1)
    assert leader.changes.failed_count == 1
    await leader.advance(10_000)
    assert await leader.notes() == []


@pytest.mark.parametrize("data", [None, b"", b"{}", b'{"version":1,"leader":"x"}', b"\xff"])
async def test_a_state_that_makes_no_sense_is_left_alone(leader: Leader, /, data: bytes | None) -> None:
    await leader.registry.set(paths.partition_state(*T0), data)
    leader.propose(T0)
    leader.propose(T1)
    await settle()
    assert sorted(leader.outcomes) == [(T0, Refused(ErrorCode.INVALID_UPDATE_VERSION)), (T1, Committed((1, 2), 1))]


async def test_a_partition_that_is_gone_is_given_up(leader: Leader, /) -> None:
    leader.propose(TopicPartition("gone", 0))
    await settle()
    assert [outcome for _, outcome in leader.outcomes] == [Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


# --- what gets lost


@pytest.mark.parametrize("is_done", [False, True])
async def test_a_lost_connection_leaves_one_change_with_its_version(leader: Leader, /, is_done: bool) -> None:
    trouble = leader.registry.after if is_done else leader.registry.before
    trouble.append(ConnectionLostError("/"))
    leader.propose(T0)
    await settle()
    assert leader.outcomes == []
    await leader.advance(RETRY_BACKOFF_MS)
    assert leader.outcomes == [(T0, Committed((1, 2), 1))]
    assert await leader.state() == (PartitionStateNode(1, 5, (1, 2), 4), 1)
    assert leader.changes.failed_count == 0
    await leader.advance(10_000)
    assert await leader.notes() == [[T0]]


async def test_what_the_registry_refuses_for_now_is_tried_again(leader: Leader, /, caplog: pytest.LogCaptureFixture):
    leader.registry.before.append(NoAuthError(paths.partition_state(*T0)))
    leader.propose(T0)
    leader.propose(T1)
    with caplog.at_level(logging.WARNING):
        await settle()
    assert "cannot write the ISR" in caplog.text
    assert leader.outcomes == [(T1, Committed((1, 2), 1))]
    assert leader.changes.failed_count == 1
    await leader.advance(RETRY_BACKOFF_MS)
    assert leader.outcomes == [(T1, Committed((1, 2), 1)), (T0, Committed((1, 2), 1))]


async def test_what_is_withdrawn_is_not_written_and_not_called_back(leader: Leader, /) -> None:
    # One under way, one before its second try.
    leader.registry.before.append(ConnectionLostError("/"))
    leader.propose(T0)
    leader.propose(T1)
    await asyncio.sleep(0)
    leader.changes.withdraw(T0)
    leader.changes.withdraw(T1)
    await leader.advance(10_000)
    assert leader.outcomes == []
    assert (await leader.state())[1] == 0
    # What was written though nobody waits for it any more: the controller has to know.
    assert (await leader.state(T1))[1] == 1
    assert await leader.notes() == [[T1]]


async def test_a_change_that_replaces_another_is_the_one_that_is_called_back(leader: Leader, /) -> None:
    leader.registry.before.append(ConnectionLostError("/"))
    leader.propose(T0)
    await settle()
    await leader.registry.set(
        paths.partition_state(*T0), encode_partition_state(PartitionStateNode(1, 6, (1, 2, 3), 4))
    )
    leader.propose(T0, (1, 3), 1, 6)
    await leader.advance(5_000)
    assert leader.outcomes == [(T0, Committed((1, 3), 2))]
    assert leader.changes.failed_count == 0


# --- notes


async def test_a_note_waits_until_it_is_quiet_and_then_has_all(leader: Leader, /) -> None:
    await leader.advance(100)
    leader.propose(T0)
    await leader.advance(4_900)
    leader.propose(T1)
    # Quiet for 5 s at a check: that of 12.5 s.
    await leader.advance(7_400)
    assert await leader.notes() == []
    await leader.advance(100)
    assert await leader.notes() == [[T0, T1]]
    await leader.advance(100_000)
    assert len(await leader.notes()) == 1


async def test_a_note_waits_no_longer_than_a_minute(leader: Leader, /) -> None:
    version = 0
    for _ in range(30):
        leader.propose(T0, (1, 2) if version % 2 else (1, 2, 3), version)
        version += 1
        await leader.advance(2_000)
    assert await leader.notes() == []
    leader.propose(T0, (1, 2), version)
    await leader.advance(CHECK_INTERVAL_MS)
    assert await leader.notes() == [[T0]]


async def test_a_note_that_failed_comes_again(leader: Leader, /) -> None:
    leader.propose(T0)
    await settle()
    leader.registry.before.append(ConnectionLostError("/"))
    await leader.advance(7_500)
    assert await leader.notes() == []
    await leader.advance(CHECK_INTERVAL_MS)
    assert await leader.notes() == [[T0]]


def test_very_many_are_written_and_noted_in_parts() -> None:
    keys = tuple(TopicPartition("t", index) for index in range(MOST_PARTITIONS_IN_A_NOTE + 5))

    async def story(leader: Leader) -> None:
        for key in keys:
            leader.propose(key)
        for _ in range(100):
            await settle()
        assert {outcome for _, outcome in leader.outcomes} == {Committed((1, 2), 1)}
        await leader.advance(7_600)
        assert [len(each) for each in await leader.notes()] == [MOST_PARTITIONS_IN_A_NOTE, 5]

    play(story, keys)


async def test_after_the_end_nothing_is_told(leader: Leader, /) -> None:
    leader.propose(T0)
    leader.changes.close()
    await settle()
    leader.propose(T1)
    await leader.registry.close()
    await leader.advance(10_000)
    assert (leader.outcomes, leader.clock.timer_count) == ([], 0)
