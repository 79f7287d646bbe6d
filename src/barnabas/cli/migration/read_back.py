"""What a ZooKeeper tree holds once a directory was released to it, and what of it is missing. Pure.

The tree is read anew after it was written, and looked at in two ways that know nothing of each other: node by node
against what the plan's operations should have made of it, and against the embedded registry, of which everything must
be there that nobody deleted on purpose. The second finds what a plan forgot.

Source: zookeeper.md, all tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.cli.migration.limits import access_rules
from barnabas.cli.migration.release import ReleasePlan
from barnabas.cli.migration.tree_copy import Nodes, TreeCopy, carried, children, is_same
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SetOp
from barnabas.wire.registry.znodes.cluster import decode_cluster_id
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.registry.znodes.topics import decode_assignment, decode_partition_state

_QUOTAS = frozenset(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"))


class Leader(NamedTuple):
    """Who leads a partition; -1: nobody."""

    broker_id: int
    leader_epoch: int


@dataclass(slots=True)
class HeldTopic:
    """One topic.

    Attributes:
        partitions: The leader of each; None where it has no state yet: Kafka chooses when it starts.
        settings: Overrides.
    """

    name: str
    partitions: dict[int, Leader | None]
    settings: dict[str, str]


@dataclass(slots=True)
class HeldTree:
    """What stands in a tree.

    Attributes:
        topics: By name.
        user_count, client_count, broker_count: Entities with settings of their own; a client of a user is a client.
        quota_count: Users and clients with quotas.
        access_rule_count: Resources with access rules.
    """

    cluster_id: str | None
    topics: list[HeldTopic] = field(default_factory=list)
    user_count: int = 0
    client_count: int = 0
    broker_count: int = 0
    quota_count: int = 0
    access_rule_count: int = 0


def summarize(tree: TreeCopy) -> HeldTree:
    """Count what a tree that was read holds."""
    nodes = tree.nodes
    held = HeldTree(decode_cluster_id(nodes.get(paths.CLUSTER_ID)), access_rule_count=len(access_rules(nodes)))
    for topic in children(nodes, paths.BROKER_TOPICS):
        partitions = decode_assignment(nodes[paths.topic(topic)]).replicas
        leaders = {partition: _leader(nodes, topic, partition) for partition in sorted(partitions)}
        held.topics.append(HeldTopic(topic, leaders, decode_config(nodes.get(paths.topic_config(topic)))))
    for path, data in nodes.items():
        settings = decode_config(data) if path.startswith("/config/") else {}
        if not settings:
            continue
        kind = paths.parent(path)
        held.user_count += kind == paths.CONFIG_USERS
        held.broker_count += kind == paths.CONFIG_BROKERS
        held.client_count += paths.name(kind) == paths.name(paths.CONFIG_CLIENTS)
        held.quota_count += not _QUOTAS.isdisjoint(settings)
    return held


def find_missing(plan: ReleasePlan, registry: TreeCopy, before: TreeCopy, after: TreeCopy) -> list[str]:
    """List what is not as it should be in a tree that was written.

    Args:
        plan: What was done.
        registry: The embedded registry.
        before: The tree as it was when that was planned.
        after: The tree as it is now.

    Returns:
        A line for each; none: all is there.
    """
    ours, there = carried(registry.nodes), carried(after.nodes)
    found = dict.fromkeys(_unlike(carried(_expected(before.nodes, plan.ops)), there))
    found |= dict.fromkeys(_absent(plan, ours, there))
    return list(found)


def _expected(before: Nodes, ops: Sequence[Op]) -> Nodes:
    nodes = dict(before)
    for op in ops:
        match op:
            case CreateOp() | SetOp():
                nodes[op.path] = op.data
            case DeleteOp():
                nodes.pop(op.path, None)
    return nodes


def _unlike(expected: Nodes, there: Nodes) -> Iterator[str]:
    for path in sorted(expected.keys() | there.keys()):
        if path not in there:
            yield f"{path} is missing"
        elif path not in expected:
            yield f"{path} should not be there"
        elif not is_same(expected[path], there[path]):
            yield f"{path} holds something else"


def _absent(plan: ReleasePlan, ours: Nodes, there: Nodes) -> Iterator[str]:
    for path in sorted(ours):
        if path not in there and plan.deleted_there.isdisjoint([path, *paths.ancestors(path)]):
            yield f"{path} is missing"
    for topic in children(ours, paths.BROKER_TOPICS):
        if paths.topic(topic) not in there:
            continue
        has = decode_assignment(there[paths.topic(topic)]).replicas
        for partition in decode_assignment(ours[paths.topic(topic)]).replicas:
            leads, leader = _leader(ours, topic, partition), _leader(there, topic, partition)
            if partition not in has:
                yield f"partition {topic}-{partition} is missing"
            elif leads is None or leads.broker_id != plan.broker_id:
                continue
            elif leader is None or leader.broker_id != plan.broker_id or leader.leader_epoch < leads.leader_epoch:
                yield f"{paths.partition_state(topic, partition)} does not name broker {plan.broker_id} as leader"


def _leader(nodes: Nodes, topic: str, partition: int) -> Leader | None:
    data = nodes.get(paths.partition_state(topic, partition))
    if data is None:
        return None
    state = decode_partition_state(data)
    return Leader(state.leader, state.leader_epoch)
