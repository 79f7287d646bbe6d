"""A mirror's claim of a source: a later process has a higher generation, which fences the earlier one."""

import pytest

from barnabas.clients.mirror.offsets import Owner, owner_record
from barnabas.clients.mirror.partition import Link
from barnabas.clients.mirror.plan import MirroredCluster, MirrorPlan
from barnabas.clients.mirror.progress import MirrorProgress


@pytest.mark.parametrize(("generations", "following"), [((), 1), ((1,), 2), ((1, 7), 8)])
async def test_a_later_process_has_a_higher_generation(generations: tuple[int, ...], following: int) -> None:
    plan = MirrorPlan("m", "eu", MirroredCluster("east:9092"), MirroredCluster("west:9092"), ("views",))
    link = Link(plan)
    for generation in generations:
        owner = Owner("m", "eu", generation, "c-1", "host", 42, 1_700_000_000_000)
        link.table.offsets.apply(*owner_record(owner))
    assert MirrorProgress(link, pytest.fail)._next_owner("c-1").generation == following
    await link.close()
