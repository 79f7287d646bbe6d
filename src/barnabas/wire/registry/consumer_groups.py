"""Consumer groups in ZooKeeper: read them as a whole, write and delete their offsets.

Invariants:

- Only offsets are written, in the form of a consumer; members and owners belong to the consumers.
- Nothing of a group with members is deleted.
- A node that cannot be read is listed in `problems`, and does not affect the rest.

Source: zookeeper.md, old consumers; Kafka 0.8.2.2, AdminUtils.deleteConsumerGroupInZK.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents, delete_with_children
from barnabas.wire.registry.store import ANY_VERSION, NodeExistsError, NoNodeError, NotEmptyError, Registry
from barnabas.wire.registry.znodes.consumers import (
    BrokerPartition,
    Subscription,
    decode_offset,
    decode_owner,
    decode_partition,
    decode_subscription,
    encode_offset,
)
from barnabas.wire.registry.znodes.payload import MalformedError


class StoredOffset(NamedTuple):
    """An offset in the tree.

    Attributes:
        offset: The next one to be read.
        version: Of the node: it grows with every commit, also with one that changes nothing.
        mtime_ms: When it was written, by the clock of ZooKeeper's server.
    """

    offset: int
    version: int
    mtime_ms: int


class GroupInUseError(BarnabasError):
    """A group has members, which own its offsets: one line that names them."""


@dataclass(slots=True)
class ConsumerGroup:
    """One group, as read from the tree; its parts were read one after the other.

    Attributes:
        members: The registered consumers by name, with their subscriptions; None: unreadable.
        owners: The consumer's thread (`<consumer>-<n>`) that owns each partition.
        offsets: The committed offsets.
        problems: The unreadable nodes, a line each.
    """

    name: str
    members: dict[str, Subscription | None] = field(default_factory=dict)
    owners: dict[TopicPartition, str] = field(default_factory=dict)
    offsets: dict[TopicPartition, StoredOffset] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


async def group_names(registry: Registry) -> list[str]:
    """Return the names of the groups in the tree, in order."""
    try:
        return await registry.children(paths.CONSUMERS)
    except NoNodeError:
        return []


async def read_group(registry: Registry, name: str) -> ConsumerGroup | None:
    """Return a group; None: it does not exist."""
    if not await exists(registry, name):
        return None
    group = ConsumerGroup(name)
    for consumer, data in await _below(registry, paths.consumer_ids(name)):
        group.members[consumer] = None
        with _collect_problems(group, f"consumer {consumer}"):
            group.members[consumer] = decode_subscription(data)
    group.owners = await _read_owners(registry, group)
    group.offsets = await _read_offsets(registry, group)
    return group


async def exists(registry: Registry, name: str) -> bool:
    """Return whether a group exists in the tree."""
    path = paths.consumer_group(name)
    return "/" not in name and paths.is_valid(path) and await registry.exists(path) is not None


async def read_offsets(registry: Registry, name: str) -> dict[TopicPartition, StoredOffset]:
    """Return a group's committed offsets; empty if the group does not exist."""
    return await _read_offsets(registry, ConsumerGroup(name))


async def write_offsets(registry: Registry, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set the offsets of a group without members; the group need not exist yet.

    Raises:
        GroupInUseError: It has members, before or after: those that came meanwhile may go on from either offset.
    """
    await check_unused(registry, name)
    for partition, offset in sorted(offsets.items()):
        path = paths.consumer_offset(name, *partition)
        try:
            await registry.set(path, encode_offset(offset), ANY_VERSION)
        except NoNodeError:
            with contextlib.suppress(NodeExistsError):
                await create_with_parents(registry, path, encode_offset(offset))
    await check_unused(registry, name)


async def delete_group(registry: Registry, name: str) -> None:
    """Delete a group and all its offsets.

    Raises:
        NoNodeError: The group does not exist.
        GroupInUseError: It has members.
    """
    path = paths.consumer_group(name)
    if not await exists(registry, name):
        raise NoNodeError(path)
    await check_unused(registry, name)
    ids = paths.consumer_ids(name)
    try:
        # First the parent of a new consumer's node, so that either that consumer or this deletion fails.
        with contextlib.suppress(NoNodeError):
            await registry.delete(ids)
    except NotEmptyError:
        await check_unused(registry, name)
    await delete_with_children(registry, path)


async def delete_offsets(registry: Registry, name: str, partition: TopicPartition) -> bool:
    """Delete a group's offset of a partition; False: it has none.

    Raises:
        GroupInUseError: It has members.
    """
    await check_unused(registry, name)
    path = paths.consumer_offset(name, *partition)
    try:
        await registry.delete(path)
    except NoNodeError:
        return False
    # As Kafka's tool leaves a topic: without a node of its own where nothing is below it.
    with contextlib.suppress(NoNodeError, NotEmptyError):
        await registry.delete(paths.parent(path))
    return True


async def check_unused(registry: Registry, name: str) -> None:
    """Check that the group has no members."""
    try:
        members = await registry.children(paths.consumer_ids(name))
    except NoNodeError:
        return
    if members:
        raise GroupInUseError(f"group {name} has registered consumers: {', '.join(members)}; stop them first")


async def _read_owners(registry: Registry, group: ConsumerGroup) -> dict[TopicPartition, str]:
    owners = {}
    for partition, data, _ in await _partitions(registry, paths.consumer_owners(group.name), group):
        with _collect_problems(group, f"owner of {partition}"):
            owners[partition] = str(decode_owner(data))
    return owners


async def _read_offsets(registry: Registry, group: ConsumerGroup) -> dict[TopicPartition, StoredOffset]:
    offsets = {}
    found = await _partitions(registry, paths.consumer_offsets(group.name), group, tells_0_7=True)
    for partition, data, stat in found:
        with _collect_problems(group, f"offset of {partition}"):
            offsets[partition] = StoredOffset(decode_offset(data), *stat)
    return offsets


async def _partitions(
    registry: Registry, path: str, group: ConsumerGroup, *, tells_0_7: bool = False
) -> list[tuple[TopicPartition, bytes | None, tuple[int, int]]]:
    """Return the nodes of partitions below their topics: data, version and time."""
    wanted: dict[str, TopicPartition] = {}
    for topic in await _children(registry, path):
        for element in await _children(registry, paths.child(path, topic)):
            with _collect_problems(group, f"partition {element} of {topic}"):
                partition = decode_partition(element)
                if isinstance(partition, BrokerPartition):
                    if tells_0_7:
                        group.problems.append(f"topic {topic}, partition {element}: an offset in bytes of Kafka 0.7")
                    continue
                wanted[f"{path}/{topic}/{element}"] = TopicPartition(topic, partition)
    found = await registry.get_many(list(wanted))
    return [
        (partition, each[0], (each[1].version, each[1].mtime))
        for partition, each in zip(wanted.values(), found, strict=True)
        if each is not None
    ]


async def _below(registry: Registry, path: str) -> list[tuple[str, bytes | None]]:
    """Return the children of a node with their data; children that are deleted meanwhile are left out."""
    names = await _children(registry, path)
    found = await registry.get_many([paths.child(path, name) for name in names])
    return [(name, each[0]) for name, each in zip(names, found, strict=True) if each is not None]


async def _children(registry: Registry, path: str) -> list[str]:
    try:
        return await registry.children(path)
    except NoNodeError:
        return []


@contextlib.contextmanager
def _collect_problems(group: ConsumerGroup, what: str) -> Iterator[None]:
    try:
        yield
    except MalformedError as error:
        group.problems.append(f"{what}: {error}")
