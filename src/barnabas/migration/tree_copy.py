"""A copy of a ZooKeeper tree, and the selection of nodes to migrate.

Ephemeral nodes and notifications, which every broker reads again at its start, are left out. All other nodes are copied
unchanged, also unknown ones.

Source: zookeeper.md, all tables.
"""

import asyncio
import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.core.errors import StartupError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry, Stat

Nodes = dict[str, bytes | None]
"""Path to data; None: null."""

ADOPTED = "/barnabas/adopted"
"""The tree's nodes at the adoption; only the embedded registry has this node."""

_ZOOKEEPERS_OWN = "/zookeeper"
_LEFT_BEHIND_BELOW = (
    paths.BROKER_IDS,
    paths.CONFIG_CHANGES,
    paths.ISR_CHANGES,
    paths.LOG_DIR_EVENTS,
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
    "/delegation_token/token_changes",
)
_REQUESTS_AT_ONCE = 256


@dataclass(slots=True)
class TreeCopy:
    """A snapshot of a tree; consistent if no client writes while it is read.

    Attributes:
        source: Address of the tree.
        nodes: All persistent nodes.
        versions: Version of each node.
        live_brokers: Ids of the brokers that are registered.
        tree_id: The creation time of its /brokers/topics, which distinguishes the tree from a later one at the same
            address. None without that node.
    """

    source: str
    nodes: Nodes = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    live_brokers: tuple[int, ...] = ()
    tree_id: str | None = None

    def below(self, path: str) -> list[str]:
        """Return the names of a node's children."""
        return children(self.nodes, path)


def children(nodes: Iterable[str], path: str) -> list[str]:
    """Return the names of a node's children among some paths, sorted."""
    start = paths.child(path, "")
    return sorted({node[len(start) :] for node in nodes if node.startswith(start) and "/" not in node[len(start) :]})


def subtree(ordered: Sequence[str], path: str) -> list[str]:
    """Return a node, if it is among some sorted paths, and the nodes below it."""
    start = bisect_left(ordered, path)
    node = ordered[start : start + 1]
    # "0" is the character after "/".
    below = ordered[bisect_left(ordered, f"{path}/", start) : bisect_left(ordered, f"{path}0", start)]
    return [*(node if node == [path] else ()), *below]


def is_carried(path: str) -> bool:
    """Return whether a node is migrated."""
    if path in (paths.ROOT, paths.CONTROLLER, paths.BARNABAS) or path.startswith(
        (paths.BARNABAS + "/", _ZOOKEEPERS_OWN)
    ):
        return False
    return not any(path.startswith(parent + "/") for parent in _LEFT_BEHIND_BELOW)


def carried(nodes: Mapping[str, bytes | None]) -> Nodes:
    """Return the nodes to migrate."""
    return {path: data for path, data in nodes.items() if is_carried(path)}


def with_parents(nodes: Nodes) -> Nodes:
    """Return nodes with their missing parents (without data), sorted so that parents come first."""
    complete = dict(nodes)
    for path in nodes:
        for above in paths.ancestors(path):
            complete.setdefault(above, None)
    return dict(sorted(complete.items()))


def is_same(one: bytes | None, other: bytes | None) -> bool:
    """Return whether the data of two nodes is equal, ignoring JSON key order and whitespace."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


async def read_tree(registry: Registry, source: str) -> TreeCopy:
    """Read a whole tree.

    Raises:
        RegistryError: A node may not be read, or the registry closed.
        StartupError: The chroot does not exist.
    """
    copy = TreeCopy(source)
    if await registry.exists(paths.ROOT) is None:
        raise StartupError(f"{source}: the chroot does not exist in this ZooKeeper")
    live: list[str] = []
    level = [paths.ROOT]
    while level:
        below: list[str] = []
        for start in range(0, len(level), _REQUESTS_AT_ONCE):
            some = level[start : start + _REQUESTS_AT_ONCE]
            for path, found in zip(some, await asyncio.gather(*(_read(registry, it) for it in some)), strict=True):
                if found is None:
                    continue
                data, stat, names = found
                if stat.ephemeral_owner:
                    live += [paths.name(path)] if paths.parent(path) == paths.BROKER_IDS else []
                    continue
                copy.nodes[path] = data
                copy.versions[path] = stat.version
                if path == paths.BROKER_TOPICS:
                    copy.tree_id = f"{stat.czxid:x}-{stat.ctime}"
                below += [paths.child(path, name) for name in names]
        level = [path for path in below if not path.startswith(_ZOOKEEPERS_OWN)]
    copy.live_brokers = tuple(sorted(int(name) for name in live if name.isdecimal()))
    return copy


async def _read(registry: Registry, path: str) -> tuple[bytes | None, Stat, list[str]] | None:
    try:
        data, stat = await registry.get(path)
        return data, stat, await registry.children(path) if stat.num_children else []
    except NoNodeError:
        # The node was deleted during the read.
        return None


class Adopted(NamedTuple):
    """The record of an adoption.

    Attributes:
        source: The ZooKeeper that was read; None without one, when `nodes` are guesses.
        tree_id: Id of the tree that was read, if known.
        nodes: The registry's initial nodes.
        added: Nodes that were not in the tree.
        has_made_up_id: The cluster's id was unknown, so a new one was generated.
    """

    source: str | None
    tree_id: str | None
    nodes: Nodes
    added: frozenset[str] = frozenset()
    has_made_up_id: bool = False

    def is_from(self, tree: TreeCopy) -> bool:
        """Return whether a tree is the adopted tree."""
        if self.source is None:
            return False
        # Registries of the first versions record only the address.
        return self.source == tree.source if self.tree_id is None else self.tree_id == tree.tree_id


def encode_adopted(adopted: Adopted, now_ms: int) -> bytes:
    """Encode the data of the node `ADOPTED`."""
    # Latin-1 maps every byte to a character and back, for any data.
    texts = {path: None if data is None else data.decode("latin-1") for path, data in adopted.nodes.items()}
    payload = {
        "version": 1,
        "source": adopted.source,
        "tree": adopted.tree_id,
        "timestamp": str(now_ms),
        "nodes": texts,
        "added": sorted(adopted.added),
        "made_up_id": adopted.has_made_up_id,
    }
    return json.dumps(payload).encode()


def decode_adopted(data: bytes | None) -> Adopted | None:
    """Decode the record of the adoption; None if the directory was not adopted."""
    if data is None:
        return None
    payload = json.loads(data)
    texts: dict[str, str | None] = payload["nodes"]
    nodes = {path: None if text is None else text.encode("latin-1") for path, text in texts.items()}
    added = frozenset(payload.get("added", ()))
    return Adopted(payload["source"], payload.get("tree"), nodes, added, payload.get("made_up_id", False))
