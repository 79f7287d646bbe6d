"""A mirror's claim of a source: a later process has a higher generation, which fences the earlier one."""

import asyncio

import pytest

from barnabas.clients.mirror.offsets import Owner, owner_record
from barnabas.clients.mirror.partition import Link
from barnabas.clients.mirror.plan import MirroredCluster, MirrorPlan
from barnabas.clients.mirror.progress import MirrorProgress
from barnabas.clients.pool import Pool
from barnabas.core.errors import KafkaError
from tests.unit.clients.memory_broker import MemoryBroker

PLAN = MirrorPlan("m", "eu", MirroredCluster("east:9092"), MirroredCluster("west:9092"), ("views",))


@pytest.mark.parametrize(("generations", "following"), [((), 1), ((1,), 2), ((1, 7), 8)])
async def test_a_later_process_has_a_higher_generation(generations: tuple[int, ...], following: int) -> None:
    link = Link(PLAN)
    for generation in generations:
        owner = Owner("m", "eu", generation, "c-1", "host", 42, 1_700_000_000_000)
        link.table.offsets.apply(*owner_record(owner))
    assert MirrorProgress(link, pytest.fail)._next_owner("c-1").generation == following
    await link.close()


@pytest.mark.parametrize(("away", "call"), [("source", "begin"), ("target", "begin"), ("target", "check")])
def test_a_cluster_that_went_away_is_waited_for_ten_seconds(away: str, call: str) -> None:
    """A stop and the warning of the outage wait as long."""
    gone = MemoryBroker({})

    async def use(pool: Pool) -> None:
        link = Link(PLAN)
        link.source = link.target = Pool("memory:9092", env=MemoryBroker({}).environment())
        setattr(link, away, pool)
        link.table._pool, link.generation = link.target, 1
        await pool.metadata([])
        await (await pool.any_broker()).close()
        gone.is_up = False
        begin_s = asyncio.get_running_loop().time()
        with pytest.raises(KafkaError, match="refused"):
            await getattr(MirrorProgress(link, pytest.fail), call)()
        assert asyncio.get_running_loop().time() - begin_s == pytest.approx(10, abs=0.5)
        await link.close()

    gone.run(use)
