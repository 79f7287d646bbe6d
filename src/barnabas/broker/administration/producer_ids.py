"""Allocates producer ids, each once in the lifetime of the cluster.

A broker reserves a block of 1000 ids from /latest_producer_id_block by a write that checks the znode's version, and
allocates the ids from memory. Unused ids of a block are lost when the broker stops.

Source: zookeeper.md, /latest_producer_id_block; semantics, InitProducerId.
"""

import asyncio

from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import BadVersionError, NodeExistsError, NoNodeError, Registry
from barnabas.wire.registry.znodes.cluster import ProducerIdBlock, decode_producer_id_block, encode_producer_id_block

BLOCK_SIZE = 1000


class ProducerIds:
    """The producer ids of one broker."""

    def __init__(self, registry: Registry, broker_id: int) -> None:
        self._registry = registry
        self._broker_id = broker_id
        self._next = 0
        self._end = 0
        self._refill = asyncio.Lock()

    def take(self) -> int | None:
        """Return an id from the block in memory; None: the block is exhausted, call `fetch`."""
        if self._next == self._end:
            return None
        self._next += 1
        return self._next - 1

    async def fetch(self) -> int:
        """Return an id, from a new block if necessary.

        Raises:
            RegistryError: The registry is closed.
        """
        async with self._refill:
            while (producer_id := self.take()) is None:
                block = await self._claim_block()
                self._next, self._end = block.first, block.last + 1
        return producer_id

    async def _claim_block(self) -> ProducerIdBlock:
        path = paths.PRODUCER_ID_BLOCK
        while True:
            try:
                data, stat = await self._registry.get(path)
                known = decode_producer_id_block(data)
                first = 0 if known is None else known.last + 1
                block = ProducerIdBlock(self._broker_id, first, first + BLOCK_SIZE - 1)
                await self._registry.set(path, encode_producer_id_block(block), stat.version)
            except NoNodeError:
                try:
                    await create_with_parents(self._registry, path)
                except NodeExistsError:
                    continue
            except BadVersionError:
                # Another broker took this block.
                continue
            else:
                return block
