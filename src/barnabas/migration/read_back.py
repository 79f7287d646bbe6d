"""Verification of a ZooKeeper tree after a release. Pure.

The tree is read again after the write and compared twice, independently: node by node with the expected result of the
plan's operations, and with the embedded registry, whose nodes must all exist, except those that belong to other
clients (`ReleasePlan.not_written`). The second comparison finds omissions of a plan.

Source: zookeeper.md, all tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.migration.limits import access_rules
from barnabas.migration.release import ReleasePlan
from barnabas.migration.tree_copy import Nodes, TreeCopy, carried, children, is_same
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SetOp
from barnabas.wire.registry.znodes.cluster import decode_cluster_id
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.registry.znodes.topics import decode_assignment, decode_partition_state

_QUOTAS = frozenset(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"))


class Leader(NamedTuple):
    """The leader of a partition; -1 without one."""

    broker_id: int
    leader_epoch: int


@dataclass(slots=True)
class TopicSummary:
    """One topic of a tree.

    Attributes:
        partitions: Leader of each; None if it has no state yet, so that Kafka chooses one at start.
        settings: Overridden settings.
    """

    name: str
    partitions: dict[int, Leader | None]
    settings: dict[str, str]


@dataclass(slots=True)
class TreeSummary:
    """The contents of a tree.

    Attributes:
        topics: Topics by name.
        user_count, client_count, broker_count: Entities with own settings; a user's client id counts as a client.
        quota_count: Users and clients with quotas.
        access_rule_count: Resources with access rules.
    """

    cluster_id: str | None
    topics: list[TopicSummary] = field(default_factory=list)
    user_count: int = 0
    client_count: int = 0
    broker_count: int = 0
    quota_count: int = 0
    access_rule_count: int = 0


def summarize(tree: TreeCopy) -> TreeSummary:
    """Summarize the contents of a tree."""
    nodes = tree.nodes
    held = TreeSummary(decode_cluster_id(nodes.get(paths.CLUSTER_ID)), access_rule_count=len(access_rules(nodes)))
    for topic in children(nodes, paths.BROKER_TOPICS):
        partitions = decode_assignment(nodes[paths.topic(topic)]).replicas
        leaders = {partition: _leader(nodes, topic, partition) for partition in sorted(partitions)}
        held.topics.append(TopicSummary(topic, leaders, decode_config(nodes.get(paths.topic_config(topic)))))
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
    """List the differences of a tree from its expected contents.

    Args:
        plan: The plan that was carried out.
        registry: The embedded registry.
        before: The tree at the time of the plan.
        after: The tree now.

    Returns:
        A line for each difference; empty if the tree is complete.
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
            yield f"{path} should not exist"
        elif not is_same(expected[path], there[path]):
            yield f"{path} has other data"


def _absent(plan: ReleasePlan, ours: Nodes, there: Nodes) -> Iterator[str]:
    for path in sorted(ours):
        if path not in there and plan.not_written.isdisjoint([path, *paths.ancestors(path)]):
            yield f"{path} is missing"
    for topic in children(ours, paths.BROKER_TOPICS):
        if paths.topic(topic) not in there:
            continue
        has = decode_assignment(there[paths.topic(topic)]).replicas
        for partition in decode_assignment(ours[paths.topic(topic)]).replicas:
            if paths.partition(topic, partition) in plan.not_written:
                continue
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
