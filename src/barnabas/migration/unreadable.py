"""Finds nodes of a tree with data that Kafka does not write, so that no plan is based on guesses. Pure.

The decoders of Kafka and Barnabas treat undecodable data as empty. A topic would then have no partitions, and its logs
would be ignored.

Source: zookeeper.md, all tables.
"""

import json
from collections.abc import Callable, Iterator, Mapping

from barnabas.migration.findings import Finding, Kind
from barnabas.migration.tree_copy import Nodes
from barnabas.wire.registry import paths

_ENTITIES = (paths.CONFIG_TOPICS, paths.CONFIG_CLIENTS, paths.CONFIG_USERS, paths.CONFIG_BROKERS)


def unreadable(nodes: Nodes, source: str) -> list[Finding]:
    """Return a blocking finding for each invalid node.

    Args:
        nodes: Nodes of a tree.
        source: Address of the tree.
    """
    return [
        Finding(Kind.BLOCKED, f"{source}{path}", f"has invalid data: must be {wanted}; repair the node first")
        for path, data in sorted(nodes.items())
        for wanted in _complaint(path, data)
    ]


def _complaint(path: str, data: bytes | None) -> Iterator[str]:
    for matches, holds, wanted in _RULES:
        if matches(path) and not holds(data):
            yield wanted


def _json(data: bytes | None) -> Mapping[str, object]:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_assignment(data: bytes | None) -> bool:
    partitions = _json(data).get("partitions")
    return isinstance(partitions, dict) and all(
        partition.isdecimal() and isinstance(replicas, list) and all(type(replica) is int for replica in replicas)
        for partition, replicas in partitions.items()
    )


def _is_state(data: bytes | None) -> bool:
    state = _json(data)
    isr = state.get("isr")
    numbers = [state.get(name) for name in ("leader", "leader_epoch", "controller_epoch")]
    return isinstance(isr, list) and all(type(number) is int for number in [*numbers, *isr])


def _is_entity(data: bytes | None) -> bool:
    return not data or isinstance(_json(data).get("config"), dict)


def _is_number(data: bytes | None) -> bool:
    return not data or data.isdigit()


def _is_cluster_id(data: bytes | None) -> bool:
    return isinstance(_json(data).get("id"), str)


def _is_block(data: bytes | None) -> bool:
    ends = [_json(data).get(name) for name in ("block_start", "block_end")]
    return not data or all(isinstance(end, int) or (isinstance(end, str) and end.isdecimal()) for end in ends)


_RULES: tuple[tuple[Callable[[str], bool], Callable[[bytes | None], bool], str], ...] = (
    (lambda path: path == paths.CLUSTER_ID, _is_cluster_id, "the cluster id"),
    (lambda path: path == paths.CONTROLLER_EPOCH, _is_number, "a number"),
    (lambda path: path == paths.PRODUCER_ID_BLOCK, _is_block, "a block of producer ids"),
    (lambda path: paths.parent(path) == paths.BROKER_TOPICS, _is_assignment, "the replicas of each partition"),
    (lambda path: _is_state_of_a_partition(path), _is_state, "leader, epochs and in-sync replicas"),
    (lambda path: paths.parent(path) in _ENTITIES, _is_entity, "settings"),
)


def _is_state_of_a_partition(path: str) -> bool:
    return path.startswith(paths.BROKER_TOPICS + "/") and paths.name(path) == "state"
