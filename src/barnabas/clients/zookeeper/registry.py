"""A `Registry` on a real ZooKeeper ensemble; only this module and `kazoo_client.py` import kazoo.

kazoo has threads of its own. Its answers and watch events go to the event loop in the server's order, so a watch is
called before the answer to any request sent after the change.

Invariants:

- Null data stays null: kazoo's own transactions support only bytes, and Kafka rejects an empty entity node.
- A watch that is set twice on a node before it fires is called once.
- If a connection is lost during an operation, or no server answers within the session's timeout, the operation fails
  with `ConnectionLostError`. kazoo itself connects again, with a new session if the old one expired.
- Nothing is handed to kazoo without a connection, so abandoned requests are never executed later.
- At most zookeeper.max.in.flight.requests requests wait for their answers at once.
- kazoo forgets all watches when a connection is lost; they are notified, and the next read sets them again.

Source: ZooKeeper programmer's guide, sessions and watches; zookeeper.md, opening notes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

# kazoo has no type information.
from kazoo import exceptions as kazoo_errors  # type: ignore[import-untyped]
from kazoo.client import KazooState  # type: ignore[import-untyped]
from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]
from kazoo.protocol.states import KeeperState  # type: ignore[import-untyped]
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE  # type: ignore[import-untyped]

from barnabas.clients.zookeeper.kazoo_client import new_client
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.core.errors import StartupError
from barnabas.wire.registry import paths
from barnabas.wire.registry.access import Access, access_of_others
from barnabas.wire.registry.acl import CREATE, DELETE
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import (
    ANY_VERSION,
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    EventType,
    Found,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Op,
    OpResult,
    RegistryClosedError,
    RegistryError,
    SessionListener,
    SessionListeners,
    SessionState,
    SetOp,
    Stat,
    Watch,
    WatchEvent,
)

if TYPE_CHECKING:
    from kazoo.interfaces import IAsyncResult  # type: ignore[import-untyped]

log = logging.getLogger(__name__)
# A server closes the connection on a packet larger than jute.maxbuffer (1 MB); a retry would fail the same way.
_MOST_PACKET_BYTES = 1_000_000
_OP_OVERHEAD_BYTES = 64


class AccessDeniedError(RegistryError):
    """The node's access list does not permit this client's operation."""


class TooLargeError(RegistryError):
    """The request is larger than ZooKeeper's limit (jute.maxbuffer)."""


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
# The error of the parts of a rejected transaction that were not its cause.
_NOT_THE_REASON = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)


class ZooKeeperRegistry:
    """One session with an ensemble, followed by a new one when it expires."""

    def __init__(self, client: Any, options: ZooKeeperOptions) -> None:
        """Create a registry; call `open` instead."""
        self._client = client
        self._options = options
        self._timeout_s = options.session_timeout_ms / 1000
        self._loop = asyncio.get_running_loop()
        # Session of the connection from which answers come; 0 before the first.
        self._session_id = 0
        self._connected = asyncio.Event()
        self._listeners = SessionListeners()
        self._in_flight = asyncio.Semaphore(options.most_in_flight)
        self._is_closed = False
        client.add_listener(self._note_state)

    @classmethod
    async def open(cls, connect: "str | ZooKeeperOptions") -> "ZooKeeperRegistry":
        """Connect to an ensemble and begin a session.

        Args:
            connect: Options, or zookeeper.connect as text: `host:port,host:port/chroot`. The chroot need not exist.

        Raises:
            StartupError: No server answers in time, the text is invalid, or the login fails.
        """
        options = ZooKeeperOptions(connect) if isinstance(connect, str) else connect
        client = new_client(options)
        registry = cls(client, options)
        # Not `start`, which warns if the chroot does not exist yet.
        client.start_async()
        try:
            await asyncio.wait_for(registry._connected.wait(), options.connection_timeout_ms / 1000)
            if options.login is not None:
                # kazoo reports the connection before it logs in, so a request verifies the login.
                await registry.exists(paths.ROOT)
        except (TimeoutError, ConnectionLostError):
            await registry.close()
            raise StartupError(f"no ZooKeeper answers at {options.connect}") from None
        except AccessDeniedError:
            await registry.close()
            raise StartupError(f"ZooKeeper at {options.connect} refuses the login") from None
        except BaseException:
            await registry.close()
            raise
        return registry

    @property
    def session_id(self) -> int:
        return self._session_id

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        return self._listeners.add(listener)

    async def create_chroot(self) -> None:
        """Create the chroot of the address if it is missing.

        Raises:
            StartupError: No server answers any more.
            RegistryError: The session expired, or lacks the permission.
        """
        servers, slash, chroot = self._options.connect.partition("/")
        if not chroot or await self.exists(paths.ROOT) is not None:
            return
        # A session below the chroot cannot address the nodes above it.
        above = await ZooKeeperRegistry.open(replace(self._options, connect=servers))
        try:
            await create_with_parents(above, slash + chroot.rstrip("/"))
        except NodeExistsError:
            return
        finally:
            await above.close()

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        _check_size([CreateOp(path, data)])
        return str(
            await self._ask(path, lambda: self._client.create_async(path, data, self._acl(path), ephemeral, sequence))
        )

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        watcher = self._watcher(watch)
        data, stat = await self._ask(path, lambda: self._client.get_async(path, watch=watcher))
        return data, Stat(*stat)

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        found: list[Found] = [None] * len(wanted)
        left = iter(enumerate(wanted))

        async def get_some() -> None:
            for number, path in left:
                try:
                    found[number] = await self.get(path, None if watch is None else watch(path))
                except NoNodeError:
                    continue

        await _all(get_some() for _ in range(min(self._options.most_in_flight, len(wanted))))
        return found

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        _check_size([SetOp(path, data)])
        return Stat(*await self._ask(path, lambda: self._client.set_async(path, data, version)))

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        if path == paths.ROOT:
            raise BadArgumentsError(path)
        await self._ask(path, lambda: self._client.delete_async(path, version))

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        watcher = self._watcher(watch)
        stat = await self._ask(path, lambda: self._client.exists_async(path, watch=watcher))
        return None if stat is None else Stat(*stat)

    async def is_open(self, path: str) -> bool:
        """Return whether all clients may create and delete children of a node."""
        try:
            acls, _ = await self._ask(path, lambda: self._client.get_acls_async(path))
        except AccessDeniedError:
            return False
        return any(each.id.scheme == "world" and each.perms & (CREATE | DELETE) for each in acls)

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        watcher = self._watcher(watch)
        return sorted(await self._ask(path, lambda: self._client.get_children_async(path, watch=watcher)))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if not ops:
            return []
        for op in ops:
            _check_path(op.path)
        _check_size(ops)
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
            # Requests that wait for a connection fail.
            self._connected.set()
            await asyncio.to_thread(_end, self._client)

    def _transaction(self, ops: Sequence[Op]) -> Any:
        transaction = self._client.transaction()
        for op in ops:
            match op:
                case CreateOp():
                    acl = self._acl(op.path)
                    transaction.create(op.path, op.data or b"", acl, op.is_ephemeral, op.is_sequence)
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

    def _acl(self, path: str) -> Any:
        """Return the access list of a node to be created; None: all permissions for everybody."""
        if not self._options.sets_acl:
            return None
        match access_of_others(path):
            case Access.ALL:
                return OPEN_ACL_UNSAFE
            case Access.READ:
                return CREATOR_ALL_ACL + READ_ACL_UNSAFE
            case Access.NONE:
                return CREATOR_ALL_ACL

    def _watcher(self, watch: Watch | None) -> "_Watcher | None":
        return None if watch is None else _Watcher(self, watch)

    def hand_over_event(self, watch: Watch, event: Any) -> None:
        """Deliver a watch event; called in kazoo's thread when a watch fires or is lost."""
        kind = EventType.__members__.get(event.type)
        if kind is not None and not self._is_closed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(watch, WatchEvent(kind, event.path or ""))

    async def _ask(self, path: str, ask: "Callable[[], IAsyncResult]") -> Any:
        """Send a request and wait for its answer.

        Raises:
            RegistryError: The request was rejected, or could not be sent.
        """
        self._check_open(path)
        _check_path(path)
        try:
            async with asyncio.timeout(self._timeout_s), self._in_flight:
                # Wait first: without a connection kazoo would queue the request, and send it after the timeout.
                await self._connected.wait()
                self._check_open(path)
                answer: asyncio.Future[Any] = self._loop.create_future()
                ask().rawlink(lambda result: _hand_over(self._loop, answer, result))
                return await answer
        except TimeoutError:
            raise ConnectionLostError(path) from None
        except (kazoo_errors.KazooException, KazooTimeoutError) as error:
            raise _translated(error, path) from None

    def _check_open(self, path: str) -> None:
        if self._is_closed:
            raise RegistryClosedError(path)

    def _note_state(self, state: Any) -> None:
        """Process a connection state; called in kazoo's thread."""
        client = self._client
        is_refused = client.client_state == KeeperState.AUTH_FAILED
        session_id = int(client.client_id[0]) if state == KazooState.CONNECTED else 0

        def hand_over() -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._take_state, session_id, is_refused)

        # Keeps the order relative to answers and watch events.
        client.handler.completion_queue.put(hand_over)

    def _take_state(self, session_id: int, is_refused: bool) -> None:
        """Report the state of the connection; `session_id` is 0 if there is none."""
        if self._is_closed:
            return
        if is_refused:
            # kazoo does not retry; requests fail.
            log.error("ZooKeeper at %s refuses the login", self._options.connect)
        elif not session_id:
            if self._connected.is_set():
                self._connected.clear()
                self._listeners.tell(SessionState.SUSPENDED)
        else:
            before, self._session_id = self._session_id, session_id
            self._connected.set()
            if before not in (0, session_id):
                self._listeners.tell(SessionState.EXPIRED)
            if before:
                self._listeners.tell(SessionState.CONNECTED)


class _Watcher:
    """A watch in the form that kazoo needs: equal watches on a node count once in kazoo's sets."""

    __slots__ = ("_registry", "_watch")

    def __init__(self, registry: ZooKeeperRegistry, watch: Watch) -> None:
        self._registry = registry
        self._watch = watch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watcher) and self._watch == other._watch

    def __hash__(self) -> int:
        return hash(self._watch)

    def __call__(self, event: Any) -> None:
        """Forward an event; called in kazoo's thread."""
        self._registry.hand_over_event(self._watch, event)


def _hand_over(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[Any]", result: "IAsyncResult") -> None:
    """Forward an answer; called in kazoo's thread."""

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
    # A server that does not answer does not see the end of the session; it expires.
    with contextlib.suppress(kazoo_errors.WriterNotClosedException):
        client.stop()
        client.close()


async def _all(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines in parallel; after an exception none of them runs any more."""
    for result in await asyncio.gather(*coroutines, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _check_path(path: str) -> None:
    # kazoo would silently correct some invalid paths.
    if not paths.is_valid(path):
        raise BadArgumentsError(path)


def _check_size(ops: Iterable[Op]) -> None:
    size = 0
    for op in ops:
        size += _OP_OVERHEAD_BYTES + len(op.path.encode(errors="replace"))
        size += len(op.data or b"") if isinstance(op, CreateOp | SetOp) else 0
        if size > _MOST_PACKET_BYTES:
            raise TooLargeError(op.path)


def _translated(error: Exception, path: str) -> RegistryError:
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(path)
    return RegistryError(f"{path} ({error!r})")


def _result_of(op: Op, result: Any) -> OpResult:
    if isinstance(op, CreateOp):
        return str(result)
    return Stat(*result) if isinstance(op, SetOp) else None
