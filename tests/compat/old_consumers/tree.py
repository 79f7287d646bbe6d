"""What ZooKeeper holds of a group, read by kazoo and taken apart here, not by what is tested.

Source: zookeeper.md, old consumers and brokers.
"""

import json
import re
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.compat.old_consumers.judge import Partition


class Tree(NamedTuple):
    """A group, and the topics that it reads.

    Attributes:
        partition_counts: Partitions of every topic that somebody reads.
        subscriptions: Streams by topic of each registered consumer.
        owners: The thread that owns each partition.
        claims: The transaction by which each was claimed: it differs when a partition was released between.
    """

    partition_counts: dict[str, int]
    subscriptions: dict[str, dict[str, int]]
    owners: dict[Partition, str]
    claims: dict[Partition, int]


def read_tree(client: KazooClient, group: str) -> Tree:
    """Read node after node: it is of one moment only where nothing changes."""
    topics = {topic: _partition_count(client, topic) for topic in _children(client, "/brokers/topics")}
    subscriptions = {}
    for consumer in _children(client, f"/consumers/{group}/ids"):
        data = _data(client, f"/consumers/{group}/ids/{consumer}")
        if data is not None:
            subscriptions[consumer] = _streams(json.loads(data), sorted(topics))
    owners, claims = {}, {}
    for topic in _children(client, f"/consumers/{group}/owners"):
        for partition in _children(client, f"/consumers/{group}/owners/{topic}"):
            try:
                thread, stat = client.get(f"/consumers/{group}/owners/{topic}/{partition}")
            except NoNodeError:
                continue
            owners[topic, int(partition)] = thread.decode()
            claims[topic, int(partition)] = stat.czxid
    read = {topic for streams in subscriptions.values() for topic in streams}
    return Tree({topic: topics.get(topic, 0) for topic in read}, subscriptions, owners, claims)


def zookeeper_offsets(client: KazooClient, group: str) -> dict[Partition, int]:
    """The group's committed offsets in ZooKeeper."""
    offsets = {}
    for topic in _children(client, f"/consumers/{group}/offsets"):
        for partition in _children(client, f"/consumers/{group}/offsets/{topic}"):
            data = _data(client, f"/consumers/{group}/offsets/{topic}/{partition}")
            if data:
                offsets[topic, int(partition)] = int(data)
    return offsets


def _streams(node: dict[str, dict[str, int]], topics: list[str]) -> dict[str, int]:
    if node["pattern"] == "static":
        return node["subscription"]
    ((regex, count),) = node["subscription"].items()
    is_white = node["pattern"] == "white_list"
    return {topic: count for topic in topics if (re.fullmatch(regex, topic) is not None) == is_white}


def _partition_count(client: KazooClient, topic: str) -> int:
    data = _data(client, f"/brokers/topics/{topic}")
    return len(json.loads(data)["partitions"]) if data else 0


def _children(client: KazooClient, path: str) -> list[str]:
    try:
        return sorted(client.get_children(path))
    except NoNodeError:
        return []


def _data(client: KazooClient, path: str) -> bytes | None:
    try:
        data: bytes | None = client.get(path)[0]
    except NoNodeError:
        return None
    return data
