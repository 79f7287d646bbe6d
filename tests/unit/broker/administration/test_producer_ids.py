import asyncio
from random import Random

from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.bootstrap import bootstrap


async def test_ids_come_from_blocks_of_1000_and_never_twice() -> None:
    registry = await EmbeddedRegistry.open(None, ManualClock(), InlineExecutor())
    await bootstrap(registry, Random(1))
    first, second = ProducerIds(registry, 0), ProducerIds(registry, 1)
    assert first.take() is None
    assert await first.fetch() == 0
    assert first.take() == 1
    data, _ = await registry.get("/latest_producer_id_block")
    assert data == b'{"version":1,"broker":0,"block_start":"0","block_end":"999"}'
    assert await second.fetch() == 1000
    assert [first.take() for _ in range(998)] == list(range(2, 1000))
    assert first.take() is None
    assert await first.fetch() == 2000
    restarted = ProducerIds(registry, 0)
    assert await restarted.fetch() == 3000


async def test_many_at_once_share_a_block_and_brokers_at_once_do_not() -> None:
    registry = await EmbeddedRegistry.open(None, ManualClock(), InlineExecutor())
    first, second = ProducerIds(registry, 0), ProducerIds(registry, 1)
    ids = await asyncio.gather(*(source.fetch() for source in (first, second) for _ in range(100)))
    assert len(set(ids)) == 200
    assert max(ids) < 2000
