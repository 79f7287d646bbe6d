import asyncio

from barnabas.broker.administration.producer_ids import ProducerIds
from tests.unit.memory_registry import memory_registry


async def test_ids_come_from_blocks_of_1000_and_never_twice() -> None:
    registry = await memory_registry(is_kafkas=True)
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
    registry = await memory_registry()
    first, second = ProducerIds(registry, 0), ProducerIds(registry, 1)
    ids = await asyncio.gather(*(source.fetch() for source in (first, second) for _ in range(100)))
    assert len(set(ids)) == 200
    assert max(ids) < 2000
