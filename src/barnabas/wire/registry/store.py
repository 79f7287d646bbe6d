"""The registry's interface, which is ZooKeeper's: a tree of small values with versions, owners and one-shot watches.

Invariants:

- A write is answered when it is durable; a read sees only durable data.
- Every transaction (one operation, or a `multi`) has one zxid, larger than all before it.
- A watch is called at most once, on the event loop, after the change is visible and before its writer is answered.
- Data is `None` where ZooKeeper has null.

Source: ZooKeeper programmer's guide, data model, stat structure, watches; zookeeper.md.
"""

from collections.abc import Callable, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.core.errors import BarnabasError
from barnabas.wire.registry.acl import Acls

ANY_VERSION = -1


class RegistryError(BarnabasError):
    """The tree rejected an operation.

    Attributes:
        path: The node it was about.
        op_index: Which operation of its transaction was refused.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"{type(self).__name__}: {path}")
        self.path = path
        self.op_index = 0


class NoNodeError(RegistryError):
    """The node, or the parent of the node to create, does not exist."""


class NodeExistsError(RegistryError):
    """The node to create exists already."""


class BadVersionError(RegistryError):
    """The node changed since its version was read."""


class NotEmptyError(RegistryError):
    """The node to delete has children."""


class NoChildrenForEphemeralsError(RegistryError):
    """The parent of the node to create is ephemeral."""


class BadArgumentsError(RegistryError):
    """The path is invalid, or the root was to be deleted."""


class NoAuthError(RegistryError):
    """The node's access list does not permit the operation."""


class InvalidAclError(RegistryError):
    """The access list for the node is invalid."""


class RegistryClosedError(RegistryError):
    """The registry was closed by its owner."""


class ConnectionLostError(RegistryError):
    """The connection to the registry broke, or no answer came in time.

    Whether the operation was carried out is not known, and the session may have expired, its ephemeral nodes with it.
    A caller that needs the answer has to ask again.
    """


class Stat(NamedTuple):
    """The metadata of a node, in ZooKeeper's order.

    Attributes:
        czxid: Transaction that created it.
        mzxid: Transaction that last set its data.
        ctime: Milliseconds since the epoch of `czxid`.
        mtime: Milliseconds since the epoch of `mzxid`.
        version: How often the data was set.
        cversion: How often children came or went.
        aversion: How often its ACL was set.
        ephemeral_owner: Session that it lives with; 0 when it is persistent.
        data_length: Bytes.
        num_children: How many children it has.
        pzxid: Transaction of the last child that came or went.
    """

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class EventType(IntEnum):
    """The kind of a watch event; ZooKeeper's numbers.

    NONE is no change: the connection broke, and the watch is gone with it. What it watched has to be read again.
    """

    NONE = -1
    CREATED = 1
    DELETED = 2
    CHANGED = 3
    CHILD = 4


class WatchEvent(NamedTuple):
    """One event of a watch; the path is empty with `EventType.NONE`."""

    type: EventType
    path: str


Watch: TypeAlias = Callable[[WatchEvent], object]


class SessionState(Enum):
    """The state of a broker's session with the registry."""

    SUSPENDED = "there is no connection; whether the session and its ephemeral nodes live on is not known"
    EXPIRED = "another session began: the ephemeral nodes of the one before are gone, or go soon"
    CONNECTED = "the registry answers again; after EXPIRED in another session, else in the same"


SessionListener: TypeAlias = Callable[[SessionState], object]
"""Told on the event loop, in order: SUSPENDED when a connection breaks, and when there is one again CONNECTED, with
EXPIRED before it where the session did not outlive the interruption. Watches are told of the loss before CONNECTED."""

Found: TypeAlias = "tuple[bytes | None, Stat] | None"
"""A node's data and stat; None: there is no such node."""


class CreateOp(NamedTuple):
    """Create a node; with `is_sequence`, append the parent's counter to the path in ten digits.

    `acls` has its permissions; empty: all permissions for everybody.
    """

    path: str
    data: bytes | None = None
    is_ephemeral: bool = False
    is_sequence: bool = False
    acls: Acls = ()


class SetOp(NamedTuple):
    """Replace a node's data if it has this version."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class DeleteOp(NamedTuple):
    """Delete a node without children if it has this version."""

    path: str
    version: int = ANY_VERSION


class CheckOp(NamedTuple):
    """Fail the transaction unless the node has this version."""

    path: str
    version: int


Op: TypeAlias = CreateOp | SetOp | DeleteOp | CheckOp
OpResult: TypeAlias = str | Stat | None
"""The created path, the new stat of a node that was set, or nothing."""


class Registry(Protocol):
    """ZooKeeper's operations.

    Each raises `RegistryClosedError` after `close`, and may raise `ConnectionLostError` before.
    """

    @property
    def session_id(self) -> int:
        """Return the `ephemeral_owner` of the session's nodes; never 0.

        It is another one after the session expired: see `on_session`.
        """
        ...

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        """Notify a listener of changes of the session; call the result to end that."""
        ...

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        """Create a node.

        Returns:
            Its path, which differs from the given one when `sequence`.

        Raises:
            NodeExistsError: It is there already.
            NoNodeError: Its parent is not.
            NoChildrenForEphemeralsError: Its parent is ephemeral.
        """
        ...

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        """Read a node.

        Args:
            path: The node.
            watch: Told once when the data is set or the node deleted; not kept when the node is missing.

        Raises:
            NoNodeError: It is not there.
        """
        ...

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        """Read nodes, in batches if that is faster.

        Args:
            wanted: The nodes.
            watch: Gives the watch of each path, as for `get`.

        Returns:
            What each path holds, in the order of `wanted`.
        """
        ...

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data.

        Raises:
            NoNodeError: It is not there.
            BadVersionError: It has another version than `version`.
        """
        ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node.

        Raises:
            NoNodeError: It is not there.
            BadVersionError: It has another version than `version`.
            NotEmptyError: It has children.
        """
        ...

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """Return the stat of a node; None: it does not exist.

        `watch` is called once when it is created, set or deleted.
        """
        ...

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """Return the names of a node's children, sorted.

        Args:
            path: The node.
            watch: Told once when a child comes or goes, or the node is deleted.

        Raises:
            NoNodeError: It is not there.
        """
        ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Execute all operations in one transaction, or none.

        Raises:
            RegistryError: The error of the first operation that failed.
        """
        ...

    async def close(self) -> None:
        """End the session: pending requests are completed, ephemeral nodes are deleted."""
        ...


class SessionListeners:
    """The listeners of one session."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[object, SessionListener] = {}

    def add(self, listener: SessionListener) -> Callable[[], None]:
        """See `Registry.on_session`."""
        key = object()
        self._listeners[key] = listener

        def forget() -> None:
            self._listeners.pop(key, None)

        return forget

    def tell(self, state: SessionState) -> None:
        """Notify all listeners, in the order in which they were added."""
        for listener in list(self._listeners.values()):
            listener(state)
