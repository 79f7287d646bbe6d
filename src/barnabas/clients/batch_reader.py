"""Reads a partition's raw batches in a range of offsets, without decoding or dropping records.

For code that works on batches (transactions and their markers); code that needs records uses `Consumer`.

Source: protocol guide, Fetch.
"""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Final

from barnabas.clients.admin_calls import EARLIEST, AdminCalls
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from barnabas.wire.records.batch import MAGIC, MAGIC_POSITION, BatchHeader, read_header
from barnabas.wire.records.formats import batches_of_any_magic

_FETCH_BYTES: Final = 8 << 20
_MAX_WAIT_MS: Final = 500


async def read_batches(
    admin: AdminCalls,
    partition: TopicPartition,
    start_offset: int,
    end_offset: int,
    fetch_bytes: int = _FETCH_BYTES,
    aborted: list[AbortedTransaction] | None = None,
) -> AsyncGenerator[tuple[BatchHeader, memoryview]]:
    """Yield the batches of magic 2 in a range of offsets; skip older formats, which have no producer ids.

    Args:
        admin: The cluster, and the timeout of retries.
        partition: The partition.
        start_offset: The first batch contains this offset or begins after it.
        end_offset: No batch begins here or later. At most the high watermark.
        fetch_bytes: Maximum size of a fetch.
        aborted: List to which aborted transactions are added before their batches; `end_offset` is then at most the
            last stable offset.

    Raises:
        KafkaError: The partition cannot be read, or its high watermark stays below `end_offset`.
        CorruptRecordsError: A response does not consist of batches.
    """
    position = start_offset
    while position < end_offset:
        data = await admin.retry(partial(_fetch, admin, partition, position, end_offset, fetch_bytes, aborted))
        if data is None:
            (position,) = (await OffsetAdmin(admin.pool, admin.timeout_ms).offsets([partition], EARLIEST)).values()
            continue
        if not data:
            # Compaction has removed the remaining records.
            return
        before = position
        for batch in batches_of_any_magic(data):
            if batch[MAGIC_POSITION] != MAGIC:
                # An old message or message set: its offset is the offset of its last message.
                position = max(position, int.from_bytes(batch[:8], "big") + 1)
                continue
            header = read_header(batch)
            if header.base_offset >= end_offset:
                return
            if header.last_offset >= position:
                yield header, batch
                position = header.last_offset + 1
        if position == before:
            text = f"partition {partition}: no whole batch at offset {position} in {len(data)} bytes"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, text)


async def _fetch(
    admin: AdminCalls,
    partition: TopicPartition,
    offset: int,
    end_offset: int,
    fetch_bytes: int,
    aborted: list[AbortedTransaction] | None,
) -> memoryview | None:
    """Fetch a partition from an offset. None: the offset is out of range. Empty: no record is left below the end."""
    is_throttled = True
    while is_throttled:
        channel = await admin.pool.leader(partition)
        epoch = admin.pool.known_leader_epoch(partition)
        asked = FetchPartition(partition.partition, epoch, offset, partition_max_bytes=fetch_bytes)
        request = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=fetch_bytes,
            isolation_level=int(aborted is not None),
            topics=[FetchTopic(partition.topic, [asked])],
        )
        # From version 12 on, requests may name topics by id.
        response = await channel.send(request, FetchResponse, max_version=11)
        await asyncio.sleep(response.throttle_time_ms / 1000)
        code = ErrorCode(response.error_code)
        for topic in response.responses:
            for part in topic.partitions:
                code = code or ErrorCode(part.error_code)
                if not code:
                    assert part.records is None or isinstance(part.records, memoryview)
                    if aborted is not None:
                        aborted += part.aborted_transactions or ()
                    if part.records or part.high_watermark >= end_offset:
                        return part.records or memoryview(b"")
                    # A new leader may not know the current high watermark yet and return less than the old leader did.
                    # That is not the end of the data.
                    code = ErrorCode.OFFSET_NOT_AVAILABLE
        # A throttled answer has no partitions.
        is_throttled = response.throttle_time_ms > 0 and not code
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return None
    admin.pool.forget(partition.topic)
    raise KafkaError(code, f"cannot read partition {partition}: {code.name}")
