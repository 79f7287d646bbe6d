"""Reads the raw batches of one source partition, one fetch ahead of their use.

Source: protocol guide, Fetch.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from barnabas.clients.mirror.batches import FoundBatch, find_batches, mark_at
from barnabas.clients.mirror.offsets import BatchMark
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.wire.records.errors import CorruptRecordsError

_FETCH_BYTES: Final = 8 << 20
_MAX_WAIT_MS: Final = 500
_READ_UNCOMMITTED: Final = 0
_READ_COMMITTED: Final = 1


async def read_log(
    pool: Pool, partition: TopicPartition, position: int, end_offset: int
) -> AsyncGenerator[list[FoundBatch]]:
    """Yield lists of batches in a range of offsets; aborted batches are marked as no data.

    Args:
        pool: The connections to the source.
        partition: The partition.
        position: The first offset to return.
        end_offset: At most the last stable offset.

    Raises:
        KafkaError: The partition cannot be read.
        CorruptRecordsError: The data is invalid.
    """
    if position >= end_offset:
        return
    fetching = asyncio.ensure_future(_fetch_batches(pool, partition, position, end_offset))
    try:
        while True:
            batches = await fetching
            if not batches:
                # Compaction has removed the remaining records.
                return
            position = batches[-1].end_offset
            if position >= end_offset:
                yield batches
                return
            fetching = asyncio.ensure_future(_fetch_batches(pool, partition, position, end_offset))
            yield batches
    finally:
        fetching.cancel()
        await asyncio.gather(fetching, return_exceptions=True)


async def read_mark(pool: Pool, partition: TopicPartition, offset: int) -> BatchMark | None:
    """Return the mark of the batch at an offset; None: unknown, also because it was deleted. Raises KafkaError."""
    try:
        part = await _fetch(pool, partition, offset, 1, _READ_UNCOMMITTED)
    except KafkaError as error:
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        raise
    return None if part.records is None else mark_at(_view(part), offset)


async def _fetch_batches(pool: Pool, partition: TopicPartition, position: int, end_offset: int) -> list[FoundBatch]:
    part = await _fetch(pool, partition, position, _FETCH_BYTES, _READ_COMMITTED)
    if not part.records:
        if part.last_stable_offset < end_offset:
            # A new leader may not know the current high watermark yet.
            raise KafkaError(
                ErrorCode.OFFSET_NOT_AVAILABLE, f"partition {partition} gives nothing at offset {position}"
            )
        return []
    aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
    data = _view(part)
    found = find_batches(partition, data, aborted, position, end_offset)
    if not found and data:
        first = find_batches(partition, data, aborted, position, position + (1 << 62))
        if not first:
            text = f"partition {partition}, at offset {position}: no whole batch in {len(data)} bytes"
            raise CorruptRecordsError(text)
    return found


def _view(part: PartitionData) -> memoryview:
    assert isinstance(part.records, memoryview)
    return part.records


async def _fetch(
    pool: Pool, partition: TopicPartition, offset: int, max_bytes: int, isolation_level: int
) -> PartitionData:
    """Fetch data of one partition, waiting while a quota throttles the client. Raises KafkaError."""
    asked = FetchPartition(partition.partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=_MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=[FetchTopic(partition.topic, [asked])],
    )
    is_throttled = True
    while is_throttled:
        channel = await pool.leader(partition)
        # From version 12 on, requests may name topics by id.
        response = await channel.send(request, FetchResponse, max_version=11)
        await asyncio.sleep(response.throttle_time_ms / 1000)
        code = ErrorCode(response.error_code)
        for topic in response.responses:
            for part in topic.partitions:
                code = code or ErrorCode(part.error_code)
                if not code:
                    return part
        # A throttled answer has no partitions.
        is_throttled = response.throttle_time_ms > 0 and not code
    pool.forget(partition.topic)
    raise KafkaError(code or ErrorCode.UNKNOWN_SERVER_ERROR, f"cannot read partition {partition}: {code.name}")
