"""A process's copy of a cluster's offset table, refreshed incrementally, and lookup of producers' paths."""

import asyncio

from barnabas.clients.mirror.offsets import MirrorOffsets
from barnabas.clients.mirror.plan import MirrorFencedError
from barnabas.clients.mirror.table_reader import read_table
from barnabas.clients.pool import Pool

_MOST_KNOWN = 100_000


class OffsetTable:
    """Reads the offset table of one cluster.

    Attributes:
        offsets: The content of the table, as far as it was read.
    """

    def __init__(self, pool: Pool) -> None:
        """Create an empty copy."""
        self.offsets = MirrorOffsets()
        self._pool = pool
        self._read_offset = 0
        self._lock = asyncio.Lock()

    async def refresh(self) -> None:
        """Apply everything that was committed to the table before this call. Raises KafkaError."""
        async with self._lock:
            self._read_offset = await read_table(self._pool, self.offsets, self._read_offset)

    def check_owner(self, mirror: str, alias: str, cluster_id: str, generation: int) -> None:
        """Check that no other process claimed the source later.

        Raises:
            MirrorFencedError: another process claimed it.
        """
        owner = self.offsets.latest_owner(mirror, alias, cluster_id)
        if owner is not None and owner.generation > generation:
            name = "" if owner.alias == alias else f", which it calls {owner.alias}"
            raise MirrorFencedError(
                f"mirror {mirror}: another one, which was started later, mirrors {alias}, too{name}: process "
                f"{owner.pid} on {owner.host}; stop one of them, or give one another --name"
            )


class SourcePaths:
    """Looks up, by producer id of a source batch, the clusters that the batch has passed.

    A path is committed before its producer's first batch is written. So if the table, read after a batch was seen, has
    no path of its producer, that is final: the producer belongs to the source itself.
    """

    def __init__(self, table: OffsetTable) -> None:
        """Args:
        table: The source's offset table.
        """
        self._table = table
        self._known: dict[int, tuple[str, ...]] = {}

    async def path_of(self, producer_id: int) -> tuple[str, ...]:
        """Return the ids of the clusters, origin first; empty for records sent to the source directly.

        Raises KafkaError.
        """
        if producer_id < 0:
            return ()
        path = self._known.get(producer_id)
        if path is None:
            await self._table.refresh()
            found = self._table.offsets.producers.get(producer_id)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            path = self._known[producer_id] = found.path if found is not None else ()
        return path
