"""Finds the partitions without metadata on a newly started broker, and waits for their metadata.

A new controller first sends brokers, then partitions, some at a time, and partitions with offline replicas last. With
only a part of them, a broker would return topics with missing partitions to clients.

Source: replication.md, failover; zookeeper.md.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from barnabas.broker.cluster.assignments import read_assignment
from barnabas.broker.cluster.image import ClusterImage, ClusterView
from barnabas.core.time_slices import in_time_slices
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_partition_state

log = logging.getLogger(__name__)

T = TypeVar("T")

_NODES_PER_TURN = 500
_CONTROLLER_PATIENCE_MS = 30_000


async def wait_for_metadata(view: ClusterView, registry: Registry) -> None:
    """Wait for the controller's metadata, so that the first clients get complete metadata."""
    changed = asyncio.Event()
    forget = view.on_change(lambda _: changed.set())
    try:
        async with asyncio.timeout(_CONTROLLER_PATIENCE_MS / 1000):
            if not view.image.brokers:
                await changed.wait()
            missing = await partitions_without_metadata(registry, view.image)
            while missing := [each for each in missing if view.image.partition(*each) is None]:
                changed.clear()
                await changed.wait()
    except TimeoutError:
        log.warning("no complete metadata from a controller yet: the broker starts and serves it when it arrives")
    finally:
        forget()


async def partitions_without_metadata(registry: Registry, image: ClusterImage) -> list[TopicPartition]:
    """Return the partitions that are in the registry but not in an image, and that a controller will send.

    Omits partitions that it may never send: partitions of topics being deleted, partitions that never had a leader, and
    malformed znodes.
    """
    deleting = set(await registry.children(paths.DELETE_TOPICS))
    topics = [topic for topic in await registry.children(paths.BROKER_TOPICS) if topic not in deleting]
    lacking: list[TopicPartition] = []
    async for topic, data in _read(registry, topics, paths.topic):
        with suppress(MalformedError):
            async for index in in_time_slices((await read_assignment(data)).replicas):
                if image.partition(topic, index) is None:
                    lacking.append(TopicPartition(topic, index))
    missing: list[TopicPartition] = []
    async for partition, data in _read(registry, lacking, lambda each: paths.partition_state(*each)):
        with suppress(MalformedError):
            decode_partition_state(data)
            missing.append(partition)
    return missing


async def _read(
    registry: Registry, wanted: Sequence[T], path_of: Callable[[T], str]
) -> AsyncIterator[tuple[T, bytes | None]]:
    """Yield the contents of the existing znodes, some in each turn of the event loop."""
    for start in range(0, len(wanted), _NODES_PER_TURN):
        some = wanted[start : start + _NODES_PER_TURN]
        for each, node in zip(some, await registry.get_many([path_of(each) for each in some]), strict=True):
            if node is not None:
                yield each, node[0]
        await asyncio.sleep(0)
