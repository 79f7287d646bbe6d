"""A copy of a ZooKeeper tree, and which of its nodes a broker takes along when it moves.

What lives only as long as a session, and notifications that every broker reads afresh at its start, stay behind;
everything else goes along as it is, also what this broker does not understand.

Source: zookeeper.md, all tables.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.core.errors import StartupError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry, Stat

Nodes = dict[str, bytes | None]
"""Path to data; None: null."""

ADOPTED = "/barnabas/adopted"
"""What the tree held when the directory was adopted: only the embedded registry has this node."""

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
    """A tree at one moment, as nearly as a tree can be read while nobody writes it.

    Attributes:
        source: Where it was read.
        nodes: All persistent nodes.
        versions: The version of each.
        live_brokers: Ids of the brokers that are registered.
        tree_id: Tells it from every other tree of Kafka's, also from one that was made later at the same address: when
            its /brokers/topics was made. None: it has none.
    """

    source: str
    nodes: Nodes = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    live_brokers: tuple[int, ...] = ()
    tree_id: str | None = None

    def below(self, path: str) -> list[str]:
        """The names of a node's children."""
        return children(self.nodes, path)


def children(nodes: Iterable[str], path: str) -> list[str]:
    """The names of a node's children among some paths, sorted."""
    start = paths.child(path, "")
    return sorted({node[len(start) :] for node in nodes if node.startswith(start) and "/" not in node[len(start) :]})


def is_carried(path: str) -> bool:
    """Return whether a node goes along when a broker moves."""
    if path in (paths.ROOT, paths.CONTROLLER, paths.BARNABAS) or path.startswith(
        (paths.BARNABAS + "/", _ZOOKEEPERS_OWN)
    ):
        return False
    return not any(path.startswith(parent + "/") for parent in _LEFT_BEHIND_BELOW)


def carried(nodes: Mapping[str, bytes | None]) -> Nodes:
    """The nodes that go along."""
    return {path: data for path, data in nodes.items() if is_carried(path)}


def with_parents(nodes: Nodes) -> Nodes:
    """The same with every node above them that is missing, null, sorted so that parents come first."""
    complete = dict(nodes)
    for path in nodes:
        for above in paths.ancestors(path):
            complete.setdefault(above, None)
    return dict(sorted(complete.items()))


def is_same(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two nodes say the same: the order of keys and spaces are no difference."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


async def read_tree(registry: Registry, source: str) -> TreeCopy:
    """Read all of a tree.

    Raises:
        RegistryError: A node may not be read, or the registry closed.
        StartupError: There is no such chroot.
    """
    copy = TreeCopy(source)
    if await registry.exists(paths.ROOT) is None:
        raise StartupError(f"{source}: there is no such path in this ZooKeeper")
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
        # It went while this was read.
        return None


class Adopted(NamedTuple):
    """What is remembered of an adoption.

    Attributes:
        source: The ZooKeeper that was read; None: there was none, and `nodes` are guesses.
        tree_id: Of the tree that was read; None: not known.
        nodes: What the registry held at the beginning.
        added: Those of them that the tree did not hold.
        has_made_up_id: Nothing that was there knew the cluster's id, so it got a new one.
    """

    source: str | None
    tree_id: str | None
    nodes: Nodes
    added: frozenset[str] = frozenset()
    has_made_up_id: bool = False

    def is_from(self, tree: TreeCopy) -> bool:
        """Return whether a tree is the one that was adopted."""
        if self.source is None:
            return False
        # Registries of the first versions remember no more than the address.
        return self.source == tree.source if self.tree_id is None else self.tree_id == tree.tree_id


def encode_adopted(adopted: Adopted, now_ms: int) -> bytes:
    """The payload of `ADOPTED`."""
    # Latin-1 gives every byte a character and back, whatever a node holds.
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
    """Decode what is remembered of the adoption; None: the directory was not adopted."""
    if data is None:
        return None
    payload = json.loads(data)
    texts: dict[str, str | None] = payload["nodes"]
    nodes = {path: None if text is None else text.encode("latin-1") for path, text in texts.items()}
    added = frozenset(payload.get("added", ()))
    return Adopted(payload["source"], payload.get("tree"), nodes, added, payload.get("made_up_id", False))
