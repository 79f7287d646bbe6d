"""The tree in memory, and the stage on which transactions are tried before they are durable. Pure.

Invariants:

- `Tree` holds what is committed; only `Tree.commit` changes it.
- A `Stage` sees the tree and what was staged before; a transaction that fails leaves it as it was.
- A node's sequence counter counts the children ever created in it, so a number is never given twice. What
  ZooKeeper shows as cversion is that count twice less the children there are: comings and goings together.

Source: ZooKeeper programmer's guide, data model and stat structure.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_never

from barnabas.registry import paths
from barnabas.registry.store import (
    ANY_VERSION,
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Op,
    OpResult,
    SetOp,
    Stat,
    WatchEvent,
)


class Znode(NamedTuple):
    """One node without its children."""

    data: bytes | None
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    created_count: int = 0
    child_count: int = 0
    ephemeral_owner: int = 0

    def stat(self) -> Stat:
        """The node as ZooKeeper shows it."""
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            self.created_count * 2 - self.child_count,
            0,
            self.ephemeral_owner,
            len(self.data or b""),
            self.child_count,
            self.pzxid,
        )


class Tree:
    """What is committed.

    Attributes:
        zxid: The last transaction that is in it.
    """

    __slots__ = ("_children", "_nodes", "zxid")

    def __init__(self, nodes: Mapping[str, Znode] | None = None, zxid: int = 0) -> None:
        """Args:
        nodes: Path to node, parents included; child counts are counted anew. Empty: the root alone.
        zxid: The last transaction that is in them.
        """
        self.zxid = zxid
        self._nodes: dict[str, Znode] = {paths.ROOT: Znode(None, 0, 0, 0, 0, 0)}
        self._children: dict[str, set[str]] = {}
        self._nodes.update(nodes or {})
        for path in self._nodes:
            if path != paths.ROOT:
                self._children.setdefault(paths.parent(path), set()).add(paths.name(path))
        for path, node in self._nodes.items():
            self._nodes[path] = node._replace(child_count=len(self._children.get(path, ())))

    def get(self, path: str) -> Znode | None:
        """The node of a path, if there is one."""
        return self._nodes.get(path)

    def children(self, path: str) -> list[str]:
        """The sorted names of a node's children.

        Raises:
            NoNodeError: There is no such node.
        """
        if path not in self._nodes:
            raise NoNodeError(path)
        return sorted(self._children.get(path, ()))

    def commit(self, stage: "Stage") -> None:
        """Take over what was staged; the stage is used up."""
        self.zxid = stage.zxid
        for path, node in stage.changes.items():
            parent = paths.parent(path)
            if node is not None:
                self._nodes[path] = node
                if path != paths.ROOT:
                    self._children.setdefault(parent, set()).add(paths.name(path))
            elif self._nodes.pop(path, None) is not None:
                siblings = self._children[parent]
                siblings.discard(paths.name(path))
                if not siblings:
                    del self._children[parent]


class Stage:
    """Transactions on top of a tree that are not committed yet.

    Attributes:
        zxid: The last transaction staged, or the tree's.
        changes: Path to the node as it will be; None: it will be gone.
        events: What watches are to be told once it is committed, in order.
    """

    __slots__ = ("_session_id", "_tree", "_undo", "changes", "events", "zxid")

    def __init__(self, tree: Tree, session_id: int) -> None:
        self._tree = tree
        self._session_id = session_id
        self._undo: dict[str, tuple[bool, Znode | None]] = {}
        self.zxid = tree.zxid
        self.changes: dict[str, Znode | None] = {}
        self.events: list[WatchEvent] = []

    def get(self, path: str) -> Znode | None:
        """The node as it will be."""
        return self.changes[path] if path in self.changes else self._tree.get(path)

    def apply(self, ops: Sequence[Op], now_ms: int) -> list[OpResult]:
        """Try one transaction.

        Raises:
            RegistryError: An operation was refused; nothing of the transaction is staged.
        """
        event_count = len(self.events)
        self._undo = {}
        self.zxid += 1
        try:
            return [self._apply_one(op, now_ms) for op in ops]
        except BaseException:
            self.zxid -= 1
            del self.events[event_count:]
            for path, (was_changed, node) in self._undo.items():
                if was_changed:
                    self.changes[path] = node
                else:
                    del self.changes[path]
            raise

    def _put(self, path: str, node: Znode | None) -> None:
        if path not in self._undo:
            self._undo[path] = (path in self.changes, self.changes.get(path))
        self.changes[path] = node

    def _apply_one(self, op: Op, now_ms: int) -> OpResult:
        if not paths.is_valid(op.path):
            raise BadArgumentsError(op.path)
        match op:
            case CreateOp():
                return self._create(op, now_ms)
            case SetOp():
                node = self._at_version(op.path, op.version)
                changed = node._replace(data=op.data, mzxid=self.zxid, mtime=now_ms, version=node.version + 1)
                self._put(op.path, changed)
                self.events.append(WatchEvent(EventType.CHANGED, op.path))
                return changed.stat()
            case DeleteOp():
                self._delete(op)
                return None
            case CheckOp():
                self._at_version(op.path, op.version)
                return None
            case _:
                assert_never(op)

    def _at_version(self, path: str, version: int) -> Znode:
        node = self.get(path)
        if node is None:
            raise NoNodeError(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError(path)
        return node

    def _create(self, op: CreateOp, now_ms: int) -> str:
        parent_path = paths.parent(op.path)
        parent = self.get(parent_path)
        if op.path == paths.ROOT:
            raise NodeExistsError(op.path)
        if parent is None:
            raise NoNodeError(parent_path)
        if parent.ephemeral_owner:
            raise NoChildrenForEphemeralsError(parent_path)
        path = f"{op.path}{parent.created_count:010d}" if op.is_sequence else op.path
        if self.get(path) is not None:
            raise NodeExistsError(path)
        owner = self._session_id if op.is_ephemeral else 0
        self._put(path, Znode(op.data, self.zxid, self.zxid, self.zxid, now_ms, now_ms, ephemeral_owner=owner))
        self._put(
            parent_path,
            parent._replace(
                pzxid=self.zxid, created_count=parent.created_count + 1, child_count=parent.child_count + 1
            ),
        )
        self.events.append(WatchEvent(EventType.CREATED, path))
        self.events.append(WatchEvent(EventType.CHILD, parent_path))
        return path

    def _delete(self, op: DeleteOp) -> None:
        if op.path == paths.ROOT:
            raise BadArgumentsError(op.path)
        node = self._at_version(op.path, op.version)
        if node.child_count:
            raise NotEmptyError(op.path)
        parent_path = paths.parent(op.path)
        parent = self.get(parent_path)
        assert parent is not None
        self._put(op.path, None)
        self._put(parent_path, parent._replace(pzxid=self.zxid, child_count=parent.child_count - 1))
        self.events.append(WatchEvent(EventType.DELETED, op.path))
        self.events.append(WatchEvent(EventType.CHILD, parent_path))
