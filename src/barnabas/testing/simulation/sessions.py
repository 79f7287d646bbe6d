"""A session with a remote registry: its connection can break, and it can expire.

If the connection breaks while a request is pending, the caller does not learn whether the request was executed. Watches
are lost with the connection. Without a connection all requests fail after a while. The ephemeral nodes of an expired
session are deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.registry.embedded import EmbeddedRegistry, Outcome
from barnabas.broker.registry.tree import EndSessionOp
from barnabas.broker.server.environment import RegistryOpener
from barnabas.core.clock import Clock
from barnabas.core.executor import Executor
from barnabas.wire.registry.acl import Author
from barnabas.wire.registry.store import (
    ANY_VERSION,
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    EventType,
    Found,
    NoNodeError,
    Op,
    OpResult,
    RegistryClosedError,
    SessionListener,
    SessionListeners,
    SessionState,
    SetOp,
    Stat,
    Watch,
    WatchEvent,
)

if TYPE_CHECKING:
    from random import Random

T = TypeVar("T")

_MOST_LATENCY_S = 0.005
_GIVING_UP_S = 0.5
_SESSION_TIMEOUT_S = 6.0


class RemoteRegistry:
    """A `Registry` over an embedded one, with a connection that can be lost."""

    def __init__(self, registry: EmbeddedRegistry, dice: "Random") -> None:
        self._registry = registry
        self._dice = dice
        self._session_id = registry.session_id
        self._listeners = SessionListeners()
        self._is_connected = True
        # Counts the losses: requests from before a loss are not answered after it.
        self._loss_count = 0
        self._is_closed = False
        # The watches set over this connection.
        self._watches: dict[Watch, None] = {}

    @property
    def loss_count(self) -> int:
        """Return how often the connection was lost."""
        return self._loss_count

    @property
    def session_id(self) -> int:
        return self._session_id

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        return self._listeners.add(listener)

    def disconnect(self) -> None:
        """Lose the connection."""
        if self._is_connected:
            self._is_connected = False
            self._loss_count += 1
            self._listeners.tell(SessionState.SUSPENDED)
            watches, self._watches = self._watches, {}
            for watch in watches:
                watch(WatchEvent(EventType.NONE, ""))

    async def reconnect(self, is_expired: bool) -> None:
        """Restore the connection, with a new session if the old one has expired."""
        if self._is_connected or self._is_closed:
            return
        if is_expired:
            await self._perform([EndSessionOp(self._session_id)])
            self._session_id += 1
            self._listeners.tell(SessionState.EXPIRED)
        self._is_connected = True
        self._listeners.tell(SessionState.CONNECTED)

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        (result,) = await self.multi([CreateOp(path, data, ephemeral, sequence)])
        assert isinstance(result, str)
        return result

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        return await self._ask(path, lambda: self._registry.get(path, self._far(watch)))

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        found: list[Found] = []
        for path in wanted:
            try:
                found.append(await self.get(path, None if watch is None else watch(path)))
            except NoNodeError:
                found.append(None)
        return found

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        (result,) = await self.multi([SetOp(path, data, version)])
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([DeleteOp(path, version)])

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        return await self._ask(path, lambda: self._registry.exists(path, self._far(watch)))

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        return await self._ask(path, lambda: self._registry.children(path, self._far(watch)))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        return await self._ask(ops[0].path if ops else "", lambda: self._perform(list(ops)))

    async def close(self) -> None:
        self._is_closed = True
        await self._registry.close()

    async def _ask(self, path: str, ask: Callable[[], Awaitable[T]]) -> T:
        if self._is_closed:
            raise RegistryClosedError(path)
        if not self._is_connected:
            await asyncio.sleep(_GIVING_UP_S)
            raise ConnectionLostError(path)
        loss_count = self._loss_count
        await asyncio.sleep(self._dice.random() * _MOST_LATENCY_S)
        self._check(path, loss_count)
        try:
            return await ask()
        finally:
            # If the connection breaks here, the answer is lost: the caller does not know that the request was executed.
            await asyncio.sleep(self._dice.random() * _MOST_LATENCY_S)
            self._check(path, loss_count)

    def _check(self, path: str, loss_count: int) -> None:
        if self._is_closed:
            raise RegistryClosedError(path)
        if loss_count != self._loss_count:
            raise ConnectionLostError(path)

    async def _perform(self, ops: "list[Op] | list[EndSessionOp]") -> list[OpResult]:
        answer: asyncio.Future[list[OpResult]] = asyncio.get_running_loop().create_future()

        def resolve(outcome: Outcome) -> None:
            if answer.done():
                return
            if isinstance(outcome.result, BaseException):
                answer.set_exception(outcome.result)
            else:
                answer.set_result(outcome.result)

        self._registry.perform(ops, Author(self._session_id), resolve)
        return await answer

    def _far(self, watch: Watch | None) -> Watch | None:
        if watch is None:
            return None
        self._watches[watch] = None
        return _RemoteWatch(self, watch)


class _RemoteWatch:
    """A watch on the remote side of a connection, lost with it."""

    def __init__(self, registry: RemoteRegistry, watch: Watch) -> None:
        self._registry = registry
        self._watch = watch
        self._connection = registry.loss_count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RemoteWatch) and (other._watch, other._connection) == (self._watch, self._connection)

    def __hash__(self) -> int:
        return hash((self._watch, self._connection))

    def __call__(self, event: WatchEvent) -> None:
        if self._connection == self._registry.loss_count:
            self._watch(event)


class GuestRegistry(RemoteRegistry):
    """The session of a client other than the broker, one of several at the same registry.

    As with a real ZooKeeper, a request without a connection waits for one, which may belong to another session.
    """

    def __init__(self, registry: EmbeddedRegistry, dice: "Random", session_id: int) -> None:
        """Args:
        session_id: The first session's id. Later sessions have the following ids; no other client may use them.
        """
        super().__init__(registry, dice)
        self._session_id = session_id
        self._connected = asyncio.Event()
        self._connected.set()

    @property
    def is_alive(self) -> bool:
        """Return whether this side has a connection, and so a session."""
        return self._is_connected and not self._is_closed

    def disconnect(self) -> None:
        self._connected.clear()
        super().disconnect()

    async def reconnect(self, is_expired: bool) -> None:
        await super().reconnect(is_expired)
        if self._is_connected:
            self._connected.set()

    async def expire(self) -> None:
        """Expire the session while there is no connection: this side learns of it when it reconnects."""
        assert not self._is_connected
        await self._perform([EndSessionOp(self._session_id)])

    async def _ask(self, path: str, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(_SESSION_TIMEOUT_S):
                await self._connected.wait()
        except TimeoutError:
            raise ConnectionLostError(path) from None
        return await super()._ask(path, ask)

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            if self._is_connected:
                await self._perform([EndSessionOp(self._session_id)])


class RemoteRegistryOpener:
    """A factory of sessions with a remote registry; see `RegistryOpener`.

    Attributes:
        session: The session of the broker that runs, or ran last.
    """

    def __init__(self, opener: RegistryOpener, dice: "Random") -> None:
        self._opener = opener
        self._dice = dice
        self.session: RemoteRegistry | None = None

    def holds(self, path: Path) -> bool:
        return self._opener.holds(path)

    async def open(self, path: Path, clock: Clock, executor: Executor, keeps_sessions: bool) -> RemoteRegistry:
        registry = await self._opener.open(path, clock, executor, keeps_sessions)
        assert isinstance(registry, EmbeddedRegistry)
        self.session = RemoteRegistry(registry, self._dice)
        return self.session
