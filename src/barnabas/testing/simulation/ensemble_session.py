"""A client's session with the simulated ensemble: `ZooKeeperRegistry` without kazoo.

It behaves like the real one: requests wait for a connection, up to the session's timeout; a lost connection fails
pending requests with `ConnectionLostError` and all watches with `EventType.NONE`; the client looks for another server,
and begins a new session if the old one has expired.

Source: `barnabas.clients.zookeeper.registry`; ZooKeeper programmer's guide, sessions.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.core.errors import StartupError
from barnabas.testing.simulation.ensemble import (
    Answer,
    Closed,
    Connection,
    Ensemble,
    Goodbye,
    Hello,
    Pong,
    Read,
    Request,
    ToClient,
    Welcome,
    Write,
)
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

_Watches = dict[str, dict[Watch, None]]


class EnsembleSession:
    """A `Registry`: one session with an ensemble, and the next one when it expires."""

    def __init__(self, ensemble: Ensemble, host: str, options: ZooKeeperOptions, dice: "Random") -> None:
        """Create a session; call `open` instead."""
        self._ensemble = ensemble
        self._host = host
        self._dice = dice
        self._timeout_s = options.session_timeout_ms / 1000
        self._loop = ensemble.network.loop
        self._session_id = 0
        # The session to request on the next connection.
        self._wanted_id = 0
        self._seen_zxid = 0
        self._connection: Connection | None = None
        self._connected = asyncio.Event()
        self._settled = asyncio.Event()
        self._heard_us = 0
        self._number = 0
        self._waiting: dict[int, tuple[asyncio.Future[object], Callable[[object], object]]] = {}
        self._data_watches: _Watches = {}
        self._child_watches: _Watches = {}
        self._in_flight = asyncio.Semaphore(options.most_in_flight)
        self._listeners = SessionListeners()
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, ensemble: Ensemble, host: str, options: ZooKeeperOptions, dice: "Random") -> "EnsembleSession":
        """Connect and begin a session.

        Raises:
            StartupError: No server answers in time.
        """
        session = cls(ensemble, host, options, dice)
        session._task = asyncio.get_running_loop().create_task(session._stay_connected())
        try:
            async with asyncio.timeout(options.connection_timeout_ms / 1000):
                await session._connected.wait()
        except TimeoutError:
            await session.close()
            raise StartupError(f"no ZooKeeper answers at {options.connect}") from None
        return session

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def is_connected(self) -> bool:
        """Return whether this side has a connection."""
        return self._connected.is_set()

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        return self._listeners.add(listener)

    # --- the connection

    async def _stay_connected(self) -> None:
        servers = list(self._ensemble.servers.values())
        while not self._is_closed:
            self._dice.shuffle(servers)
            for server in servers:
                connection = self._connection = Connection(
                    server, self._ensemble.network, self._host, self, copy_context()
                )
                self._settled.clear()
                connection.greet(Hello(self._wanted_id, self._seen_zxid, int(self._timeout_s * 1_000_000)))
                await self._settle(self._timeout_s / len(servers))
                while self._connected.is_set() and not self._is_closed:
                    await self._ping(connection)
                self._lose(connection)
                await asyncio.sleep(self._dice.uniform(0.05, 0.5))

    async def _ping(self, connection: Connection) -> None:
        """Send a heartbeat, and check the server's."""
        connection.ping()
        self._settled.clear()
        await self._settle(self._timeout_s / 3)
        if self._loop.now_us - self._heard_us > self._timeout_s * 2 / 3 * 1_000_000:
            self._lose(connection)

    async def _settle(self, most_s: float) -> None:
        """Wait until the connection is established or lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._settled.wait()

    def receive(self, connection: Connection, message: ToClient) -> None:
        """See `Client`."""
        if connection is not self._connection:
            return
        self._heard_us = self._loop.now_us
        match message:
            case Welcome():
                self._welcomed(message.session_id)
            case Answer():
                self._seen_zxid = max(self._seen_zxid, message.zxid)
                waiting = self._waiting.pop(message.number, None)
                if waiting is not None:
                    answer, note = waiting
                    note(message.result)
                    if not answer.done():
                        answer.set_result(message.result)
            case WatchEvent():
                self._tell_watches(message)
            case Closed():
                self._lose(connection)
            case Pong():
                pass

    def _welcomed(self, session_id: int) -> None:
        self._settled.set()
        self._wanted_id = session_id
        if not session_id or self._is_closed:
            # The session has ended; the next connection begins another one.
            return
        before, self._session_id = self._session_id, session_id
        self._connected.set()
        if before not in (0, session_id):
            self._listeners.tell(SessionState.EXPIRED)
        if before:
            self._listeners.tell(SessionState.CONNECTED)

    def _lose(self, connection: Connection) -> None:
        """Handle the loss of the connection."""
        if connection is not self._connection:
            return
        self._connection = None
        self._settled.set()
        connection.leave()
        was_connected = self._connected.is_set() and not self._is_closed
        if was_connected:
            self._connected.clear()
        waiting, self._waiting = self._waiting, {}
        for answer, _ in waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionLostError(""))
        if was_connected:
            self._listeners.tell(SessionState.SUSPENDED)
            data_watches, self._data_watches = self._data_watches, {}
            child_watches, self._child_watches = self._child_watches, {}
            for watches in (*data_watches.values(), *child_watches.values()):
                for watch in watches:
                    watch(WatchEvent(EventType.NONE, ""))

    def _tell_watches(self, event: WatchEvent) -> None:
        if event.type is EventType.CHILD:
            watches = self._child_watches.pop(event.path, {})
        else:
            watches = self._data_watches.pop(event.path, {})
            if event.type is EventType.DELETED:
                watches |= self._child_watches.pop(event.path, {})
        for watch in watches:
            watch(event)

    # --- requests

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        (result,) = await self.multi([CreateOp(path, data, ephemeral, sequence)])
        assert isinstance(result, str)
        return result

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        data, stat = await self._read("get", path, watch)
        return data, stat

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        async def get(path: str) -> Found:
            try:
                return await self.get(path, None if watch is None else watch(path))
            except NoNodeError:
                return None

        found = await asyncio.gather(*(get(path) for path in wanted), return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return [each for each in found if not isinstance(each, BaseException)]

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        (result,) = await self.multi([SetOp(path, data, version)])
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([DeleteOp(path, version)])

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        stat: Stat | None = await self._read("exists", path, watch)
        return stat

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        names: list[str] = await self._read("children", path, watch)
        return names

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if not ops:
            return []
        results: list[OpResult] = await self._ask(ops[0].path, Write(list(ops)))
        return results

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._connected.is_set():
            with suppress(ConnectionLostError):
                await self._send("", Goodbye())
        # Requests that wait for a connection fail.
        self._connected.set()
        if self._connection is not None:
            self._lose(self._connection)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self, kind: str, path: str, watch: Watch | None) -> Any:
        def note(result: object) -> None:
            if watch is not None and not isinstance(result, BaseException):
                watches = self._child_watches if kind == "children" else self._data_watches
                watches.setdefault(path, {})[watch] = None

        return await self._ask(path, Read(kind, path, watch is not None), note)

    async def _ask(self, path: str, request: Request, note: Callable[[object], object] = lambda result: None) -> Any:
        """Send a request and wait for its answer.

        Args:
            note: Called when the answer arrives, before any later message is processed.
        """
        self._check_open(path)
        try:
            async with asyncio.timeout(self._timeout_s), self._in_flight:
                await self._connected.wait()
                self._check_open(path)
                result = await self._send(path, request, note)
        except TimeoutError:
            raise ConnectionLostError(path) from None
        if isinstance(result, BaseException):
            raise result
        return result

    async def _send(
        self, path: str, request: Request, note: Callable[[object], object] = lambda result: None
    ) -> object:
        connection, number = self._connection, 0
        if connection is None:
            raise ConnectionLostError(path)
        try:
            async with asyncio.timeout(self._timeout_s):
                self._number = number = self._number + 1
                answer = self._loop.create_future()
                self._waiting[number] = answer, note
                connection.ask(number, request)
                return await answer
        except TimeoutError:
            raise ConnectionLostError(path) from None
        finally:
            self._waiting.pop(number, None)

    def _check_open(self, path: str) -> None:
        if self._is_closed:
            raise RegistryClosedError(path)
