"""What is stored of offsets, where, and what is not any more: on a registry in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import pytest

from barnabas.api.connector.consumption import StreamConsumption
from barnabas.api.connector.errors import OffsetCommitError
from barnabas.api.connector.offset_storage import DualOffsets, Offsets, ZooKeeperOffsets
from barnabas.api.connector.state import Registration
from barnabas.api.connector.stream import Sink
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import CheckOp, NoNodeError
from barnabas.wire.registry.znodes.consumers import ConsumerThread
from barnabas.wire.registry.znodes.payload import MalformedError
from tests.unit.memory_registry import memory_registry

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
THREAD = ConsumerThread("g_me", 0)
NO_FENCE = CheckOp("/", -1)


class MemoryOffsets:
    """An `OffsetStorage` that notes what it is asked for."""

    def __init__(self, offsets: Offsets | None = None) -> None:
        self.offsets = dict(offsets or {})
        self.commits: list[dict[TopicPartition, int]] = []
        self.failure: BaseException | None = None

    async def fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self.offsets[each] for each in partitions if each in self.offsets}

    async def commit(self, offsets: Offsets, fence: CheckOp, *, is_auto: bool) -> None:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        self.commits.append(dict(offsets))
        self.offsets |= offsets


def play(story: Callable[[EmbeddedRegistry, Registration], Awaitable[None]]) -> None:
    async def run() -> None:
        registry = await memory_registry()
        registration = Registration("g", "g_me")
        await create_with_parents(registry, paths.consumer_ids("g"))
        await registry.multi(registration.ops(b"{}"))
        await story(registry, registration)
        await registry.close()

    asyncio.run(run())


pytestmark = pytest.mark.played(by=play)


async def stored(registry: EmbeddedRegistry, partition: TopicPartition) -> tuple[bytes | None, int] | None:
    try:
        data, stat = await registry.get(paths.consumer_offset("g", *partition))
    except NoNodeError:
        return None
    return data, stat.version


async def test_offsets_are_written_where_they_changed(registry: EmbeddedRegistry, registration: Registration, /):
    storage = ZooKeeperOffsets(registry, "g")
    assert await storage.fetch([A, B]) == {}
    await storage.commit({A: 1, B: 2}, registration.fence, is_auto=True)
    await storage.commit({A: 5, B: 2}, registration.fence, is_auto=True)
    # No node was there without its data.
    assert await stored(registry, A) == (b"5", 1)
    assert await stored(registry, B) == (b"2", 0)
    assert await ZooKeeperOffsets(registry, "g").fetch([A, B]) == {A: 5, B: 2}


async def test_after_a_fetch_the_same_offset_is_not_written_again(
    registry: EmbeddedRegistry, registration: Registration, /
) -> None:
    await create_with_parents(registry, paths.consumer_offset("g", *A), b"7")
    storage = ZooKeeperOffsets(registry, "g")
    await storage.fetch([A])
    await storage.commit({A: 7}, registration.fence, is_auto=True)
    assert await stored(registry, A) == (b"7", 0)


@pytest.mark.parametrize("is_registered_again", [False, True])
async def test_what_was_decided_on_in_another_session_is_not_written(
    registry: EmbeddedRegistry, registration: Registration, /, is_registered_again: bool
) -> None:
    await create_with_parents(registry, paths.consumer_offset("g", *A), b"7")
    fence = registration.fence
    await registry.delete(registration.path)
    if is_registered_again:
        registration.epoch += 1
        await registry.multi(registration.ops(b"{}"))
    with pytest.raises(OffsetCommitError):
        await ZooKeeperOffsets(registry, "g").commit({A: 3, B: 3}, fence, is_auto=False)
    assert await stored(registry, A) == (b"7", 0)
    assert await stored(registry, B) is None


async def test_an_offset_that_is_none_is_told(registry: EmbeddedRegistry, registration: Registration, /) -> None:
    await create_with_parents(registry, paths.consumer_offset("g", *A), b"far")
    with pytest.raises(MalformedError):
        await ZooKeeperOffsets(registry, "g").fetch([A])


@pytest.mark.parametrize("epoch", [0, 1, 31, 32, 65])
async def test_the_registrations_version_is_that_of_its_session(
    registry: EmbeddedRegistry, registration: Registration, /, epoch: int
) -> None:
    await registry.delete(registration.path)
    registration.epoch = epoch
    await registry.multi(registration.ops(b"{}"))
    data, stat = await registry.get(registration.path)
    assert (data, stat.version, stat.ephemeral_owner) == (b"{}", epoch % 32, registry.session_id)
    await registry.multi([registration.fence])


def test_of_both_the_larger_is_read_and_both_are_written() -> None:
    kafka, zookeeper = MemoryOffsets({A: 3, B: 9}), MemoryOffsets({A: 5})
    storage = DualOffsets(kafka, zookeeper)
    assert asyncio.run(storage.fetch([A, B])) == {A: 5, B: 9}
    asyncio.run(storage.commit({A: 6}, NO_FENCE, is_auto=True))
    assert (kafka.offsets, zookeeper.offsets) == ({A: 6, B: 9}, {A: 6})


def test_what_kafka_refuses_is_not_written_to_zookeeper() -> None:
    kafka, zookeeper = MemoryOffsets(), MemoryOffsets()
    kafka.failure = OffsetCommitError("no")
    with pytest.raises(OffsetCommitError):
        asyncio.run(DualOffsets(kafka, zookeeper).commit({A: 6}, NO_FENCE, is_auto=True))
    assert zookeeper.commits == []


class NoFetchers:
    """In place of `Fetchers`, which want brokers."""

    def start(self, partitions: object) -> None:
        return

    def stop(self) -> None:
        return


class NoCluster:
    async def refresh(self) -> None:
        return


def consumption_of(storage: MemoryOffsets, sink: Sink, commits_on_stop: bool = True) -> StreamConsumption:
    return StreamConsumption(
        NoCluster(),  # type: ignore[arg-type]
        NoFetchers(),  # type: ignore[arg-type]
        storage,
        Registration("g", "g_me"),
        lambda partition, thread: sink,
        commits_on_stop=commits_on_stop,
    )


@pytest.mark.parametrize("commits_on_stop", [True, False])
def test_the_offsets_of_what_is_given_up_are_stored_once(commits_on_stop: bool) -> None:
    async def story() -> None:
        storage, sink = MemoryOffsets({A: 4}), Sink(1, lambda: None)
        consumption = consumption_of(storage, sink, commits_on_stop)
        await consumption.start({A: THREAD, B: THREAD})
        await consumption.stop()
        # B's is not known: nothing was read of it, and no offset was stored.
        assert storage.commits == ([{A: 4}] if commits_on_stop else [])
        await consumption.stop()
        assert storage.commits == ([{A: 4}, {}] if commits_on_stop else [])

    asyncio.run(story())


def test_an_interrupted_store_is_begun_again_and_a_failed_one_is_not() -> None:
    async def story() -> None:
        storage, sink = MemoryOffsets({A: 4}), Sink(1, lambda: None)
        consumption = consumption_of(storage, sink)
        await consumption.start({A: THREAD})
        storage.failure = asyncio.CancelledError()
        with pytest.raises(asyncio.CancelledError):
            await consumption.stop()
        await consumption.stop()
        assert storage.commits == [{A: 4}]
        await consumption.start({A: THREAD})
        storage.failure = OffsetCommitError("no")
        with pytest.raises(OffsetCommitError):
            await consumption.stop()
        await consumption.stop()
        assert storage.commits == [{A: 4}, {}]

    asyncio.run(story())


def test_what_is_dropped_is_not_stored() -> None:
    async def story() -> None:
        storage, sink = MemoryOffsets({A: 4}), Sink(1, lambda: None)
        consumption = consumption_of(storage, sink)
        await consumption.start({A: THREAD})
        consumption.drop()
        await consumption.stop()
        await consumption.commit(is_auto=False)
        assert storage.commits == [{}, {}]

    asyncio.run(story())
