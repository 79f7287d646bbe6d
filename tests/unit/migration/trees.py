"""Small trees, what a plan makes of them, and a registry on a full disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import Identity
from barnabas.broker.registry.journal import Journal
from barnabas.broker.registry.tree import Stage, Tree, Znode
from barnabas.core.types import TopicPartition
from barnabas.migration.directories import DirectoryFacts, LogFacts
from barnabas.migration.findings import Finding, Kind
from barnabas.migration.tree_copy import Nodes, TreeCopy, with_parents
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import Op
from barnabas.wire.registry.znodes.cluster import encode_cluster_id
from barnabas.wire.registry.znodes.configs import encode_config
from barnabas.wire.registry.znodes.topics import (
    PartitionStateNode,
    TopicAssignment,
    encode_assignment,
    encode_partition_state,
)

CLUSTER = "c" * 22
TREE_ID = "1a-1700000000000"
"""Of the tree that is adopted, and released to unless another one is meant."""


def tree(nodes: Nodes, *, cluster: str = CLUSTER, live: Sequence[int] = (), tree_id: str | None = TREE_ID) -> TreeCopy:
    """A tree of Kafka's with these nodes in it."""
    complete: Nodes = dict.fromkeys(paths.PERSISTENT)
    complete |= {paths.CLUSTER_ID: encode_cluster_id(cluster), paths.CONTROLLER_EPOCH: b"3", **nodes}
    complete = with_parents(complete)
    return TreeCopy("zk:2181", complete, dict.fromkeys(complete, 0), tuple(live), tree_id)


def topic(
    name: str,
    replicas: Mapping[int, list[int]],
    *,
    leader: int = 0,
    epoch: int = 5,
    isr: tuple[int, ...] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Nodes:
    """The nodes of one topic, all of its partitions in the same state."""
    nodes: Nodes = {
        paths.topic(name): encode_assignment(TopicAssignment({p: list(ids) for p, ids in replicas.items()})),
        paths.topic_config(name): encode_config(settings or {}),
        paths.partitions(name): None,
    }
    for partition, ids in replicas.items():
        state = PartitionStateNode(leader, epoch, isr if isr is not None else tuple(ids), 3)
        nodes[paths.partition(name, partition)] = None
        nodes[paths.partition_state(name, partition)] = encode_partition_state(state)
    return nodes


def directory(
    logs: Mapping[str, LogFacts] | None = None,
    *,
    path: str = "/data",
    broker_id: int | None = 0,
    cluster_id: str | None = CLUSTER,
    compacted: Sequence[str] = (),
) -> DirectoryFacts:
    """A directory with logs by name, closed cleanly."""
    facts = DirectoryFacts(Path(path), Identity(broker_id, cluster_id), was_clean=True)
    facts.logs = {_parse(name): log for name, log in (logs or {}).items()}
    facts.compacted = frozenset(map(_parse, compacted))
    return facts


def log(name: str, *, epoch: int = 5, producer_id: int = -1, magics: Sequence[int] = (2,)) -> LogFacts:
    return LogFacts(Path("/data") / name, 1000, 1, epoch, set(magics), producer_id)


def texts(findings: Sequence[Finding], kind: Kind) -> list[str]:
    return [f"{finding.subject}: {finding.text}" for finding in findings if finding.kind is kind]


def after(before: TreeCopy, ops: Sequence[Op]) -> TreeCopy:
    """The tree when a plan's operations were done, with ZooKeeper's rules about parents, children and versions."""
    znodes = {path: Znode(data, 1, 1, 1, 0, 0, before.versions[path]) for path, data in before.nodes.items()}
    changed = Tree(znodes, 1)
    stage = Stage(changed, 1)
    stage.apply(ops, 0)
    changed.commit(stage)
    found = {path: znode for path in {*before.nodes, *stage.changes} if (znode := changed.get(path)) is not None}
    return TreeCopy(
        before.source,
        {path: znode.data for path, znode in found.items()},
        {path: znode.version for path, znode in found.items()},
        tree_id=before.tree_id,
    )


def _parse(name: str) -> TopicPartition:
    topic_name, _, partition = name.rpartition("-")
    return TopicPartition(topic_name, int(partition))


def leave_log_at_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite's last checkpoint of a registry fail, as on a full disk: its write-ahead log stays."""
    close = Journal.close

    def close_incompletely(journal: Journal) -> None:
        *_, file = journal._connection.execute("PRAGMA database_list").fetchone()
        log = Path(f"{file}-wal")
        content = log.read_bytes()
        close(journal)
        log.write_bytes(content)

    monkeypatch.setattr(Journal, "close", close_incompletely)
