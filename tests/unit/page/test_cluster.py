"""A cluster that the page asks."""

import asyncio

import pytest

from barnabas.clients.pool import Pool
from barnabas.core.errors import KafkaError
from barnabas.explain.questions import EVERYTHING
from barnabas.page.cluster import Cluster
from tests.unit.clients.memory_broker import MemoryBroker


def test_a_query_that_waits_for_a_broker_ends_with_the_session() -> None:
    broker = MemoryBroker({})

    async def use(pool: Pool) -> None:
        cluster = Cluster("c", "memory:9092")
        cluster.pool = pool
        await pool.metadata([])
        await (await pool.any_broker()).close()
        broker.is_up = False
        query = asyncio.create_task(cluster.collect(EVERYTHING))
        await asyncio.sleep(0.05)
        begin_s = asyncio.get_running_loop().time()
        await cluster.close()
        assert asyncio.get_running_loop().time() == begin_s
        with pytest.raises(KafkaError, match="the session has ended"):
            await query

    broker.run(use)
