"""The tree in memory, and the stage that applies transactions before they are durable. Pure.

Invariants:

- `Tree` is the committed state; only `Tree.commit` changes it.
- A `Stage` contains the tree and the changes staged before; a failed transaction leaves it unchanged.
- A node's sequence counter counts the children ever created in it, so a number is never used twice. ZooKeeper's
  cversion is twice that count minus the number of children: creations and deletions together.
- The end of a session deletes all its ephemeral nodes, including staged ones. The begin and the end of a session are
  transactions of their own.

Source: ZooKeeper programmer's guide, data model and stat structure; ZooKeeper 3.5.9, PrepRequestProcessor (the order of
the checks of an operation).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, assert_never

from barnabas.wire.registry import access, acl, paths
from barnabas.wire.registry.acl import Acls, Author, Identity
from barnabas.wire.registry.store import (
    ANY_VERSION,
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    InvalidAclError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Op,
    OpResult,
    RegistryError,
    SetOp,
    Stat,
    WatchEvent,
)


class SetAclOp(NamedTuple):
    """Replace the access list of a node, if its ACL version matches."""

    path: str
    acls: Acls
    version: int = ANY_VERSION


class KeptSession(NamedTuple):
    """The stored session of a ZooKeeper client, which can be resumed after the registry is opened again.

    Attributes:
        password: Needed to resume the session.
        timeout_ms: The session timeout.
    """

    password: bytes
    timeout_ms: int


class BeginSessionOp(NamedTuple):
    """Store a new session."""

    session_id: int
    session: KeptSession


class EndSessionOp(NamedTuple):
    """Delete a session and its ephemeral nodes."""

    session_id: int


class RefusedOp(NamedTuple):
    """An operation that is always refused."""

    error: RegistryError


TreeOp: TypeAlias = Op | SetAclOp | BeginSessionOp | EndSessionOp | RefusedOp
"""All operations on the tree: the broker's, and those of ZooKeeper clients alone."""


class Znode(NamedTuple):
    """One node without its children; `acls` as in `CreateOp`."""

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
    aversion: int = 0
    acls: Acls = ()

    def stat(self) -> Stat:
        """Return the node's stat structure."""
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            self.created_count * 2 - self.child_count,
            self.aversion,
            self.ephemeral_owner,
            len(self.data or b""),
            self.child_count,
            self.pzxid,
        )


class Tree:
    """The committed state of the registry: nodes and sessions.

    Attributes:
        zxid: The last applied transaction.
        sessions: The sessions of ZooKeeper clients, by id.
        is_secured: Whether nodes without an access list are restricted instead of open to all.
        is_brokers_own: Whether the tree belongs to a single broker, whose nodes other clients must not change.
    """

    __slots__ = ("_children", "_ephemerals", "_nodes", "is_brokers_own", "is_secured", "sessions", "zxid")

    def __init__(
        self,
        nodes: Mapping[str, Znode] | None = None,
        zxid: int = 0,
        sessions: Mapping[int, KeptSession] | None = None,
    ) -> None:
        """Args:
        nodes: Path to node, parents included; child counts are recomputed. Empty: only the root.
        zxid: The last transaction applied to them.
        sessions: The live sessions.
        """
        self.zxid = zxid
        self.sessions = dict(sessions or {})
        self.is_secured = False
        self.is_brokers_own = True
        self._nodes: dict[str, Znode] = {paths.ROOT: Znode(None, 0, 0, 0, 0, 0)}
        self._children: dict[str, set[str]] = {}
        self._ephemerals: dict[int, set[str]] = {}
        self._nodes.update(nodes or {})
        for path in self._nodes:
            if path != paths.ROOT:
                self._children.setdefault(paths.parent(path), set()).add(paths.name(path))
        for path, node in self._nodes.items():
            self._nodes[path] = node._replace(child_count=len(self._children.get(path, ())))
            if node.ephemeral_owner:
                self._ephemerals.setdefault(node.ephemeral_owner, set()).add(path)

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, path: str) -> Znode | None:
        """Return the node of a path; None if it does not exist."""
        return self._nodes.get(path)

    def acls(self, path: str, node: Znode) -> Acls:
        """Return a node's access list; empty: everyone has all permissions."""
        return access.acls_of_secured(path) if self.is_secured and not node.acls else node.acls

    def children(self, path: str) -> list[str]:
        """Return the sorted names of a node's children.

        Raises:
            NoNodeError: The node does not exist.
        """
        if path not in self._nodes:
            raise NoNodeError(path)
        return sorted(self._children.get(path, ()))

    def ephemerals(self, session_id: int) -> list[str]:
        """Return the sorted paths of a session's ephemeral nodes."""
        return sorted(self._ephemerals.get(session_id, ()))

    def owners(self) -> list[int]:
        """Return the sessions that have ephemeral nodes."""
        return sorted(self._ephemerals)

    def commit(self, stage: "Stage") -> None:
        """Apply the staged changes; the stage cannot be used again."""
        self.zxid = stage.zxid
        for session_id, session in stage.sessions.items():
            if session is None:
                self.sessions.pop(session_id, None)
            else:
                self.sessions[session_id] = session
        for path, node in stage.changes.items():
            parent = paths.parent(path)
            before = self._nodes.get(path)
            if before is not None and before.ephemeral_owner:
                self._disown(before.ephemeral_owner, path)
            if node is not None:
                self._nodes[path] = node
                if path != paths.ROOT:
                    self._children.setdefault(parent, set()).add(paths.name(path))
                if node.ephemeral_owner:
                    self._ephemerals.setdefault(node.ephemeral_owner, set()).add(path)
            elif before is not None:
                del self._nodes[path]
                siblings = self._children[parent]
                siblings.discard(paths.name(path))
                if not siblings:
                    del self._children[parent]

    def _disown(self, session_id: int, path: str) -> None:
        owned = self._ephemerals[session_id]
        owned.discard(path)
        if not owned:
            del self._ephemerals[session_id]


class Stage:
    """Transactions on top of a tree that are not committed yet.

    Attributes:
        zxid: The last staged transaction, or the tree's.
        changes: Path to the new node; None: the node is deleted.
        sessions: New sessions by id; None: the session ends.
        events: The watch events after the commit, in order.
    """

    __slots__ = ("_identities", "_owner", "_session_id", "_tree", "_undo", "changes", "events", "sessions", "zxid")

    def __init__(self, tree: Tree, session_id: int) -> None:
        """Args:
        session_id: The broker's own session.
        """
        self._tree = tree
        self._owner = self._session_id = session_id
        self._identities: Sequence[Identity] | None = None
        self._undo: dict[str, tuple[bool, Znode | None]] = {}
        self.zxid = tree.zxid
        self.changes: dict[str, Znode | None] = {}
        self.sessions: dict[int, KeptSession | None] = {}
        self.events: list[WatchEvent] = []

    def get(self, path: str) -> Znode | None:
        """Return the node with the staged changes."""
        return self.changes[path] if path in self.changes else self._tree.get(path)

    def apply(self, ops: Sequence[TreeOp], now_ms: int, author: Author | None = None) -> list[OpResult]:
        """Apply one transaction to the stage.

        Args:
            author: The requester; None: the broker.

        Raises:
            RegistryError: An operation was refused; the stage is unchanged.
        """
        self._owner, self._identities = (self._session_id, None) if author is None else author
        event_count = len(self.events)
        self._undo = {}
        self.zxid += 1
        results: list[OpResult] = []
        try:
            for op in ops:
                # A loop, because a refusal needs the number of operations before it.
                results.append(self._apply_one(op, now_ms))
            return results
        except BaseException as error:
            if isinstance(error, RegistryError):
                error.op_index = len(results)
            # differs from Kafka (registry-refusals): in ZooKeeper a refusal also has a transaction number.
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

    def _apply_one(self, op: TreeOp, now_ms: int) -> OpResult:
        match op:
            case CreateOp():
                return self._create(op, now_ms)
            case SetOp():
                node = self._at_version(op.path, op.version, acl.WRITE)
                if self._is_kept(op.path, node):
                    raise NoAuthError(op.path)
                changed = node._replace(data=op.data, mzxid=self.zxid, mtime=now_ms, version=node.version + 1)
                self._put(op.path, changed)
                self.events.append(WatchEvent(EventType.CHANGED, op.path))
                return changed.stat()
            case DeleteOp():
                self._delete(op)
                return None
            case CheckOp():
                self._at_version(op.path, op.version, acl.READ)
                return None
            case SetAclOp():
                return self._set_acls(op)
            case BeginSessionOp():
                self.sessions[op.session_id] = op.session
                return None
            case EndSessionOp():
                self._end_session(op.session_id)
                return None
            case RefusedOp():
                raise op.error
            case _:
                assert_never(op)

    def _at_version(self, path: str, version: int, permission: int) -> Znode:
        _check_path(path)
        node = self.get(path)
        if node is None:
            raise NoNodeError(path)
        self._check(node, permission, path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError(path)
        return node

    def _check(self, node: Znode, permission: int, path: str) -> None:
        if self._identities is not None and not acl.may(self._tree.acls(path, node), permission, self._identities):
            raise NoAuthError(path)

    def _is_kept(self, path: str, node: Znode) -> bool:
        """Return whether a client tries to change a node that only the broker may change."""
        # differs from Kafka (registry-kept): in Kafka any client can delete the controller's or a broker's node.
        if self._is_brokers:
            return False
        return access.is_brokers_own(path) or node.ephemeral_owner == self._session_id

    @property
    def _is_brokers(self) -> bool:
        """Return whether the requester is the broker, or the tree is shared: then only ZooKeeper's rules apply."""
        return self._identities is None or not self._tree.is_brokers_own

    def _settled(self, acls: Acls, path: str) -> Acls:
        """Return the access list to store for the list that a client sent."""
        if self._identities is None:
            return acls
        settled = acl.settled(acls, self._identities)
        if settled is None:
            raise InvalidAclError(path)
        return settled

    def _create(self, op: CreateOp, now_ms: int) -> str:
        is_checked = self._identities is None and not op.is_sequence
        if is_checked:
            # For the broker, an invalid path is reported first; for ZooKeeper clients, a missing parent is.
            _check_path(op.path)
        elif "/" not in op.path or "\0" in op.path:
            raise BadArgumentsError(op.path)
        acls = self._settled(op.acls, op.path)
        parent_path = paths.parent(op.path)
        parent = self.get(parent_path)
        if parent is None:
            raise NoNodeError(parent_path)
        self._check(parent, acl.CREATE, parent_path)
        path = f"{op.path}{parent.created_count:010d}" if op.is_sequence else op.path
        if not self._is_brokers and (access.is_brokers_own(path) or (op.is_ephemeral and access.is_of_skeleton(path))):
            raise NoAuthError(path)
        if not is_checked:
            # A sequential node's path may be valid only with its number.
            _check_path(path)
        if self.get(path) is not None:
            raise NodeExistsError(path)
        if parent.ephemeral_owner:
            raise NoChildrenForEphemeralsError(parent_path)
        owner = self._owner if op.is_ephemeral else 0
        self._put(
            path, Znode(op.data, self.zxid, self.zxid, self.zxid, now_ms, now_ms, ephemeral_owner=owner, acls=acls)
        )
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
        # As in ZooKeeper, only these invalid paths are BadArguments here; for others the node does not exist.
        if op.path == paths.ROOT or "/" not in op.path or "\0" in op.path:
            raise BadArgumentsError(op.path)
        node, parent = self.get(op.path), self.get(paths.parent(op.path))
        if node is None or parent is None:
            raise NoNodeError(op.path)
        self._check(parent, acl.DELETE, op.path)
        if self._is_kept(op.path, node) or (not self._is_brokers and access.is_of_skeleton(op.path)):
            raise NoAuthError(op.path)
        if op.version not in (ANY_VERSION, node.version):
            raise BadVersionError(op.path)
        if node.child_count:
            raise NotEmptyError(op.path)
        self._remove(op.path, parent)

    def _remove(self, path: str, parent: Znode) -> None:
        parent_path = paths.parent(path)
        self._put(path, None)
        self._put(parent_path, parent._replace(pzxid=self.zxid, child_count=parent.child_count - 1))
        self.events.append(WatchEvent(EventType.DELETED, path))
        self.events.append(WatchEvent(EventType.CHILD, parent_path))

    def _set_acls(self, op: SetAclOp) -> Stat:
        _check_path(op.path)
        acls = self._settled(op.acls, op.path)
        node = self.get(op.path)
        if node is None:
            raise NoNodeError(op.path)
        self._check(node, acl.ADMIN, op.path)
        if op.version not in (ANY_VERSION, node.aversion):
            raise BadVersionError(op.path)
        changed = node._replace(acls=acls, aversion=node.aversion + 1)
        self._put(op.path, changed)
        return changed.stat()

    def _end_session(self, session_id: int) -> None:
        self.sessions[session_id] = None
        owned = {*self._tree.ephemerals(session_id), *self.changes}
        for path in sorted(owned):
            node = self.get(path)
            if node is not None and node.ephemeral_owner == session_id:
                parent = self.get(paths.parent(path))
                assert parent is not None
                self._remove(path, parent)


def _check_path(path: str) -> None:
    if not paths.is_valid(path):
        raise BadArgumentsError(path)
