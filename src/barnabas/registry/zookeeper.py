"""A `Registry` on a real ZooKeeper ensemble; the only module that imports kazoo.

kazoo works in threads of its own. Its answers and watch events are handed to the event loop in the order in which they
came from the server, so a watch is told before the answer to whatever was asked after the change.

Invariants:

- Null data stays null: kazoo's own transactions know only bytes, and Kafka refuses an empty entity node.
- A watch that is set twice on a node before it is told is told once.
- When a connection is lost in the middle of an operation, or no server answers it within the session's timeout, it
  ends with `ConnectionLostError`. kazoo itself connects again, with a new session where the old one expired.
- kazoo forgets all watches when a connection is lost; they are told so, and whoever reads again sets them again.

Source: ZooKeeper programmer's guide, sessions and watches; zookeeper.md, opening notes.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, assert_never

# kazoo has no type information.
from kazoo import exceptions as kazoo_errors  # type: ignore[import-untyped]
from kazoo.client import KazooClient  # type: ignore[import-untyped]
from kazoo.handlers.threading import (  # type: ignore[import-untyped]
    KazooTimeoutError,
    SequentialThreadingHandler,
)

from barnabas.core.errors import StartupError
from barnabas.registry import paths
from barnabas.registry.bootstrap import create_with_parents
from barnabas.registry.store import (
    ANY_VERSION,
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    EventType,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Op,
    OpResult,
    RegistryClosedError,
    RegistryError,
    SetOp,
    Stat,
    Watch,
    WatchEvent,
)

if TYPE_CHECKING:
    from kazoo.interfaces import IAsyncResult  # type: ignore[import-untyped]

DEFAULT_TIMEOUT_MS = 10_000

_CLIENT_LOG = logging.getLogger(f"{__name__}.client")


class AccessDeniedError(RegistryError):
    """The node's access list does not let this client do it."""


_ERRORS: tuple[tuple[type[Exception], type[RegistryError]], ...] = (
    (kazoo_errors.NoNodeError, NoNodeError),
    (kazoo_errors.NodeExistsError, NodeExistsError),
    (kazoo_errors.BadVersionError, BadVersionError),
    (kazoo_errors.NotEmptyError, NotEmptyError),
    (kazoo_errors.NoChildrenForEphemeralsError, NoChildrenForEphemeralsError),
    (kazoo_errors.BadArgumentsError, BadArgumentsError),
    (kazoo_errors.NoAuthError, AccessDeniedError),
    (kazoo_errors.AuthFailedError, AccessDeniedError),
    (kazoo_errors.SessionExpiredError, ConnectionLostError),
    (kazoo_errors.ConnectionLoss, ConnectionLostError),
    (kazoo_errors.ConnectionClosedError, ConnectionLostError),
    (kazoo_errors.OperationTimeoutError, ConnectionLostError),
    (KazooTimeoutError, ConnectionLostError),
)
# What the parts of a refused transaction carry that were not the reason for it.
_NOT_THE_REASON = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)


class ZooKeeperRegistry:
    """One session with an ensemble."""

    def __init__(self, client: Any, connect: str, timeout_ms: int) -> None:
        """Use `open`."""
        self._client = client
        self._connect = connect
        self._timeout_ms = timeout_ms
        self._loop = asyncio.get_running_loop()
        self._session_id = int(client.client_id[0])
        self._is_closed = False

    @classmethod
    async def open(cls, connect: str, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> "ZooKeeperRegistry":
        """Connect to an ensemble and begin a session.

        Args:
            connect: As zookeeper.connect: `host:port,host:port/chroot`. The chroot need not exist.
            timeout_ms: How long to wait for a server; also the session's timeout.

        Raises:
            StartupError: Nobody answers, or the text cannot be.
        """
        handler = SequentialThreadingHandler()
        # Watch events and answers through one queue: kazoo gives each a thread, and they could overtake each other.
        handler.dispatch_callback = lambda callback: handler.completion_queue.put(lambda: callback.func(*callback.args))
        try:
            client = KazooClient(connect, timeout=timeout_ms / 1000, handler=handler, logger=_CLIENT_LOG)
            # UnicodeError, which is a ValueError: kazoo would meet it in a thread of its own.
            for host, _ in client.hosts:
                host.encode("idna")
        except ValueError as error:
            raise StartupError(f"{connect} is no ZooKeeper address (HOST:PORT,.../CHROOT): {error}") from None
        # Not `start`, which warns of a chroot that is not there yet.
        connecting = client.start_async()
        try:
            if not await asyncio.to_thread(connecting.wait, timeout_ms / 1000):
                raise StartupError(f"no ZooKeeper answers at {connect}")
        except BaseException:
            await asyncio.to_thread(_end, client)
            raise
        return cls(client, connect, timeout_ms)

    @property
    def session_id(self) -> int:
        # None while there is no connection.
        client_id = self._client.client_id
        if client_id is not None:
            self._session_id = int(client_id[0])
        return self._session_id

    async def create_chroot(self) -> None:
        """Create the chroot of the address if it is missing.

        Raises:
            StartupError: Nobody answers any more.
            RegistryError: The session is gone, or may not do that.
        """
        servers, slash, chroot = self._connect.partition("/")
        if not chroot or await self.exists(paths.ROOT) is not None:
            return
        # Seen from below the chroot, nothing above it has a path.
        above = await ZooKeeperRegistry.open(servers, self._timeout_ms)
        try:
            await create_with_parents(above, slash + chroot.rstrip("/"))
        except NodeExistsError:
            return
        finally:
            await above.close()

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        return str(
            await self._ask(path, lambda: self._client.create_async(path, data, ephemeral=ephemeral, sequence=sequence))
        )

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        watcher = self._watcher(watch)
        data, stat = await self._ask(path, lambda: self._client.get_async(path, watch=watcher))
        return data, Stat(*stat)

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        return Stat(*await self._ask(path, lambda: self._client.set_async(path, data, version)))

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        if path == paths.ROOT:
            raise BadArgumentsError(path)
        await self._ask(path, lambda: self._client.delete_async(path, version))

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        watcher = self._watcher(watch)
        stat = await self._ask(path, lambda: self._client.exists_async(path, watch=watcher))
        return None if stat is None else Stat(*stat)

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        watcher = self._watcher(watch)
        return sorted(await self._ask(path, lambda: self._client.get_children_async(path, watch=watcher)))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if not ops:
            return []
        for op in ops:
            _check_path(op.path)
        results = await self._ask(ops[0].path, lambda: self._transaction(ops).commit_async())
        errors = [(op, result) for op, result in zip(ops, results, strict=True) if isinstance(result, Exception)]
        for op, error in errors:
            if not isinstance(error, _NOT_THE_REASON):
                raise _translated(error, op.path)
        if errors:
            raise _translated(errors[0][1], errors[0][0].path)
        return [_result_of(op, result) for op, result in zip(ops, results, strict=True)]

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await asyncio.to_thread(_end, self._client)

    def _transaction(self, ops: Sequence[Op]) -> Any:
        transaction = self._client.transaction()
        for op in ops:
            match op:
                case CreateOp():
                    transaction.create(op.path, op.data or b"", ephemeral=op.is_ephemeral, sequence=op.is_sequence)
                case SetOp():
                    transaction.set_data(op.path, op.data or b"", op.version)
                case DeleteOp():
                    transaction.delete(op.path, op.version)
                case CheckOp():
                    transaction.check(op.path, op.version)
                case _:
                    assert_never(op)
            if isinstance(op, CreateOp | SetOp) and op.data is None:
                transaction.operations[-1] = transaction.operations[-1]._replace(data=None)
        return transaction

    def _watcher(self, watch: Watch | None) -> "_Watcher | None":
        return None if watch is None else _Watcher(self, watch)

    def hand_over_event(self, watch: Watch, event: Any) -> None:
        """Called in kazoo's thread when a watch was met or lost."""
        kind = EventType.__members__.get(event.type)
        if kind is not None and not self._is_closed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(watch, WatchEvent(kind, event.path or ""))

    async def _ask(self, path: str, ask: "Callable[[], IAsyncResult]") -> Any:
        """Send a request and wait for its answer.

        Raises:
            RegistryError: It was refused, or could not be sent.
        """
        if self._is_closed:
            raise RegistryClosedError(path)
        _check_path(path)
        answer: asyncio.Future[Any] = self._loop.create_future()
        try:
            ask().rawlink(lambda result: _hand_over(self._loop, answer, result))
            # kazoo itself waits for a server for ever.
            return await asyncio.wait_for(answer, self._timeout_ms / 1000)
        except TimeoutError:
            raise ConnectionLostError(path) from None
        except (kazoo_errors.KazooException, KazooTimeoutError) as error:
            raise _translated(error, path) from None


class _Watcher:
    """A watch as kazoo is given it: the same watch on the same node counts once in kazoo's sets."""

    __slots__ = ("_registry", "_watch")

    def __init__(self, registry: ZooKeeperRegistry, watch: Watch) -> None:
        self._registry = registry
        self._watch = watch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watcher) and self._watch == other._watch

    def __hash__(self) -> int:
        return hash(self._watch)

    def __call__(self, event: Any) -> None:
        """Called in kazoo's thread."""
        self._registry.hand_over_event(self._watch, event)


def _hand_over(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[Any]", result: "IAsyncResult") -> None:
    """Called in kazoo's thread when an answer came."""

    def resolve() -> None:
        if answer.done():
            return
        if result.successful():
            answer.set_result(result.value)
        else:
            answer.set_exception(result.exception)

    if not loop.is_closed():
        loop.call_soon_threadsafe(resolve)


def _end(client: Any) -> None:
    client.stop()
    client.close()


def _check_path(path: str) -> None:
    # kazoo would mend some of these silently.
    if not paths.is_valid(path):
        raise BadArgumentsError(path)


def _translated(error: Exception, path: str) -> RegistryError:
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(path)
    return RegistryError(f"{path} ({error!r})")


def _result_of(op: Op, result: Any) -> OpResult:
    if isinstance(op, CreateOp):
        return str(result)
    return Stat(*result) if isinstance(op, SetOp) else None
