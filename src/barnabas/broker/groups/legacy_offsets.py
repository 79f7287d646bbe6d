"""Offsets of OffsetCommit and OffsetFetch version 0, which Kafka keeps in the registry.

    /consumers/<group>/offsets/<topic>/<partition>: the offset as decimal text

Source: zookeeper.md (consumers); protocol guide, OffsetCommit v0.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from itertools import islice
from typing import TypeVar

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NodeExistsError, NoNodeError, Registry, RegistryError
from barnabas.wire.registry.znodes.consumers import decode_offset, encode_offset
from barnabas.wire.registry.znodes.payload import MalformedError

# Concurrent changes share a commit of the registry; a larger request continues in further rounds.
_AT_ONCE = 100
# A group may have any name, but not every name is a valid path.
_NO_PATH = ErrorCode.UNKNOWN_SERVER_ERROR
_NO_INT64 = 1 << 63
_MOST_DIGITS = 100

R = TypeVar("R")


async def commit_offsets(
    registry: Registry, group_id: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, ErrorCode]:
    """Store offsets one by one, and return the result of each."""

    async def commit(topic_partition: TopicPartition) -> ErrorCode:
        path = paths.consumer_offset(group_id, *topic_partition)
        if not paths.is_valid(path):
            return _NO_PATH
        try:
            await _set_or_create(registry, path, encode_offset(offsets[topic_partition]))
        except RegistryError:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE

    return await _for_each(offsets, commit)


async def fetch_offsets(
    registry: Registry, group_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int | ErrorCode]:
    """Read offsets; an `ErrorCode` for a partition without one."""

    async def fetch(topic_partition: TopicPartition) -> int | ErrorCode:
        path = paths.consumer_offset(group_id, *topic_partition)
        if not paths.is_valid(path):
            return _NO_PATH
        try:
            data, _ = await registry.get(path)
            if data is None:
                # A znode without data: a parent of other znodes.
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            # An offset never has this many digits, and Python limits the number of digits that it parses.
            offset = decode_offset(data) if len(data) <= _MOST_DIGITS else _NO_INT64
        except NoNodeError:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        except (RegistryError, MalformedError):
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return offset if -_NO_INT64 <= offset < _NO_INT64 else ErrorCode.UNKNOWN_SERVER_ERROR

    return await _for_each(partitions, fetch)


async def _for_each(
    partitions: Iterable[TopicPartition], work: Callable[[TopicPartition], Coroutine[None, None, R]]
) -> dict[TopicPartition, R]:
    results: dict[TopicPartition, R] = {}
    left = iter(dict.fromkeys(partitions))
    while some := list(islice(left, _AT_ONCE)):
        results.update(zip(some, await asyncio.gather(*map(work, some)), strict=True))
    return results


async def _set_or_create(registry: Registry, path: str, data: bytes) -> None:
    try:
        await registry.set(path, data)
        return
    except NoNodeError:
        pass
    for ancestor in paths.ancestors(path):
        try:
            await registry.create(ancestor)
        except NodeExistsError:
            pass
    try:
        await registry.create(path, data)
    except NodeExistsError:
        await registry.set(path, data)
