"""A simulated ZooKeeper ensemble in memory, as its clients see it.

There is one sequence of transactions. Each server has a prefix of it and serves reads from that prefix; a writer gets
the answer when its own server has applied the write. The consensus between servers is not simulated: while a majority
is up, they agree.

    Ensemble (sequence of transactions, sessions) ─► Server (prefix, watches) ─► Connection ─► EnsembleSession

Invariants:

- Requests over one connection are answered in order, and watch events keep their order relative to the answers.
- A client never sees an older state than before: a server that is behind the client's state does not accept it.
- A session ends when its client sends nothing for the timeout, or closes it; never while too few servers are up. Its
  ephemeral nodes are deleted in one transaction, and its connections are closed.

Source: ZooKeeper programmer's guide, sessions, watches, consistency guarantees.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.broker.registry.tree import EndSessionOp, Stage, Tree, TreeOp
from barnabas.core.clock import Clock
from barnabas.testing.simulation.network import MemoryNetwork
from barnabas.wire.registry.acl import Author
from barnabas.wire.registry.store import EventType, NoNodeError, Op, OpResult, RegistryError, WatchEvent

_PORT = 2181
_MOST_HOP_US = 1_000


class Hello(NamedTuple):
    """A client's request for its session, or a new one (0), with the last transaction that the client has seen."""

    session_id: int
    seen_zxid: int
    timeout_us: int


class Read(NamedTuple):
    """A read; `kind` is get, exists or children."""

    kind: str
    path: str
    is_watched: bool


class Write(NamedTuple):
    """One transaction."""

    ops: Sequence[Op]


class Ping(NamedTuple):
    """A client's heartbeat."""


class Goodbye(NamedTuple):
    """A client's end of its session."""


Request: TypeAlias = Read | Write | Goodbye


class Welcome(NamedTuple):
    """The client's session; 0: the requested one has expired."""

    session_id: int


class Answer(NamedTuple):
    """The result of a request, and its transaction."""

    number: int
    zxid: int
    result: object


class Pong(NamedTuple):
    """The server's heartbeat."""


class Closed(NamedTuple):
    """The connection failed or was closed."""


ToClient: TypeAlias = Welcome | Answer | WatchEvent | Pong | Closed


class Client(Protocol):
    """The client's side of a connection."""

    def receive(self, connection: "Connection", message: ToClient) -> object:
        """Receive a message of the server; messages come in order."""
        ...


class Lane:
    """One direction of a connection: messages arrive later, in order."""

    def __init__(self, network: MemoryNetwork, source: str, target: str) -> None:
        self._network = network
        self._source = source
        self._target = target
        self._arrival_us = 0

    def send(self, arrive: Callable[[], object]) -> None:
        """Deliver a message later."""
        network = self._network
        delay_us = network.delay_us(self._source, self._target)
        self._arrival_us = max(self._arrival_us, network.loop.now_us + delay_us)
        network.carry(self._arrival_us, self._source, self._target, arrive)


class _Asked:
    """A request that a server has not answered yet.

    Attributes:
        outcome: For a decided write: the number of transactions up to it, and its result.
    """

    __slots__ = ("number", "outcome", "request")

    def __init__(self, number: int, request: Request) -> None:
        self.number = number
        self.request = request
        self.outcome: tuple[int, object] | None = None


class Connection:
    """One connection of a client to a server. It has the context of the client's process.

    Attributes:
        host: The client's host.
        session_id: Its session; 0 before the server has accepted it.
        asked: The requests that the server has not answered yet.
        is_open: Whether the connection is open on the server's side.
    """

    def __init__(self, server: "Server", network: MemoryNetwork, host: str, client: Client, context: Context) -> None:
        self.host = host
        self.session_id = 0
        self.asked: deque[_Asked] = deque()
        self.is_open = True
        self._server = server
        self._loop = network.loop
        self._client = client
        self._context = context
        self._there = Lane(network, host, server.name)
        self._back = Lane(network, server.name, host)

    # --- the client's side

    def greet(self, hello: Hello) -> None:
        """Request a session."""
        self._there.send(lambda: self._server.greeted(self, hello))

    def ask(self, number: int, request: Request) -> None:
        """Send a request."""
        self._there.send(lambda: self._server.asked(self, number, request))

    def ping(self) -> None:
        self._there.send(lambda: self._server.pinged(self))

    def leave(self) -> None:
        """Close the connection from the client's side; the session continues."""
        self._there.send(lambda: self._server.forget(self))

    # --- the server's side

    def tell(self, message: ToClient) -> None:
        """Send a message to the client."""
        self._back.send(lambda: self._loop.call_soon(self._client.receive, self, message, context=self._context))


class _Transaction(NamedTuple):
    stage: Stage
    ended_session_id: int


class Server:
    """One server of the ensemble.

    Attributes:
        name: Its host.
        tree: Its state.
        count: The number of applied transactions.
        lag_us: Additional delay before it applies decided transactions.
        is_up: Whether it runs.
    """

    def __init__(self, ensemble: "Ensemble", name: str) -> None:
        self.name = name
        self.tree = Tree()
        self.count = 0
        self.lag_us = 0
        self.is_up = True
        self.apply_us = 0
        self.connections: dict[Connection, None] = {}
        self._ensemble = ensemble
        self._data_watches: dict[str, dict[Connection, None]] = {}
        self._child_watches: dict[str, dict[Connection, None]] = {}

    # --- messages from clients

    def greeted(self, connection: Connection, hello: Hello) -> None:
        ensemble = self._ensemble
        if not self.is_up or not ensemble.is_serving or hello.seen_zxid > self.tree.zxid:
            connection.is_open = False
            connection.tell(Closed())
            return
        self.connections[connection] = None
        if hello.session_id == 0:
            ensemble.begin_session(connection.host, hello.timeout_us, lambda number: self._welcome(connection, number))
            return
        is_alive = ensemble.touch(hello.session_id)
        if is_alive:
            ensemble.let_go(hello.session_id)
        self._welcome(connection, hello.session_id if is_alive else 0)

    def _welcome(self, connection: Connection, session_id: int) -> None:
        if not connection.is_open:
            return
        connection.session_id = session_id
        connection.tell(Welcome(session_id))
        if session_id == 0:
            self.forget(connection)

    def asked(self, connection: Connection, number: int, request: Request) -> None:
        if not connection.is_open:
            return
        ensemble, asked = self._ensemble, _Asked(number, request)
        ensemble.touch(connection.session_id)
        connection.asked.append(asked)

        def decided(count: int, result: object) -> None:
            asked.outcome = count, result
            self._answer(connection)

        if isinstance(request, Write):
            ensemble.decide(self, connection.session_id, request.ops, decided)
        elif isinstance(request, Goodbye):
            ensemble.decide(self, connection.session_id, [EndSessionOp(connection.session_id)], decided)
        self._answer(connection)

    def pinged(self, connection: Connection) -> None:
        if connection.is_open:
            self._ensemble.touch(connection.session_id)
            connection.tell(Pong())

    # --- decided transactions

    def apply(self, transaction: _Transaction) -> None:
        """Apply the next transaction."""
        self.tree.commit(transaction.stage)
        self.count += 1
        for event in transaction.stage.events:
            self._tell_watches(event)
        for connection in list(self.connections):
            self._answer(connection)
            if transaction.ended_session_id and connection.session_id == transaction.ended_session_id:
                self.close(connection)

    def _tell_watches(self, event: WatchEvent) -> None:
        if event.type is EventType.CHILD:
            watching = self._child_watches.pop(event.path, {})
        else:
            watching = self._data_watches.pop(event.path, {})
            if event.type is EventType.DELETED:
                watching |= self._child_watches.pop(event.path, {})
        for connection in watching:
            if connection.is_open:
                connection.tell(event)

    def _answer(self, connection: Connection) -> None:
        """Answer all requests that can be answered, in order."""
        while connection.is_open and connection.asked:
            asked = connection.asked[0]
            if isinstance(asked.request, Read):
                result = self._read(connection, asked.request)
            elif asked.outcome is None or self.count < asked.outcome[0]:
                return
            else:
                result = asked.outcome[1]
            connection.asked.popleft()
            connection.tell(Answer(asked.number, self.tree.zxid, result))

    def _read(self, connection: Connection, read: Read) -> object:
        node = self.tree.get(read.path)
        if read.is_watched and (node is not None or read.kind == "exists"):
            watches = self._child_watches if read.kind == "children" else self._data_watches
            watches.setdefault(read.path, {})[connection] = None
        if read.kind == "exists":
            return None if node is None else node.stat()
        if node is None:
            return NoNodeError(read.path)
        return self.tree.children(read.path) if read.kind == "children" else (node.data, node.stat())

    # --- the end of connections

    def forget(self, connection: Connection) -> None:
        """Forget a lost connection, without a message to its client."""
        connection.is_open = False
        self.connections.pop(connection, None)
        connection.asked.clear()

    def close(self, connection: Connection) -> None:
        """Close a connection and notify its client."""
        if connection.is_open:
            self.forget(connection)
            connection.tell(Closed())


class _Session:
    __slots__ = ("expires_us", "host", "timeout_us")

    def __init__(self, host: str, timeout_us: int, now_us: int) -> None:
        self.host = host
        self.timeout_us = timeout_us
        self.expires_us = now_us + timeout_us


class Ensemble:
    """All servers together.

    Attributes:
        connect: zookeeper.connect.
        tree: The decided state; read-only.
        servers: By their hosts' names.
        on_commit: Called with the paths that each transaction changed.
    """

    def __init__(
        self, network: MemoryNetwork, clock: Clock, dice: Random, note: Callable[[str], object], server_count: int
    ) -> None:
        self.network = network
        self.tree = Tree()
        self.servers = {name: Server(self, name) for name in (f"zk{number + 1}" for number in range(server_count))}
        self.connect = ",".join(f"{name}:{_PORT}" for name in self.servers)
        self.on_commit: Callable[[Iterable[str]], object] = lambda paths: None
        self._loop = network.loop
        self._clock = clock
        self._dice = dice
        self._note = note
        self._transactions: list[_Transaction] = []
        self._sessions: dict[int, _Session] = {}
        self._session_count = 0
        # The time of the latest scheduled decision; forwarded transactions are decided in order.
        self._decision_us = 0

    @property
    def is_serving(self) -> bool:
        """Return whether a majority of servers is up."""
        return sum(server.is_up for server in self.servers.values()) * 2 > len(self.servers)

    def sessions_of(self, host: str) -> list[int]:
        """Return the live sessions of a client's host."""
        return [number for number, session in self._sessions.items() if session.host == host]

    # --- faults

    def stop(self, name: str) -> None:
        """Stop a server; without a majority all are unavailable."""
        self._note(f"stop {name}")
        self.servers[name].is_up = False
        for server in self.servers.values():
            if not server.is_up or not self.is_serving:
                for connection in list(server.connections):
                    server.close(connection)

    def start(self, name: str) -> None:
        """Start a server; it accepts clients after it has applied all transactions."""
        self._note(f"start {name}")
        server, was_serving = self.servers[name], self.is_serving
        server.is_up = True
        server.apply_us = 0
        self._catch_up(server)
        if not was_serving:
            for session in self._sessions.values():
                session.expires_us = self._loop.now_us + session.timeout_us

    def drop(self, host: str) -> None:
        """Close all connections of a client's host; the sessions continue."""
        self._note(f"zk drops {host}")
        for server in self.servers.values():
            for connection in [each for each in server.connections if each.host == host]:
                server.close(connection)

    def expire(self, host: str) -> None:
        """End all sessions of a client's host."""
        for number in self.sessions_of(host):
            self._end_session(number)

    def set_lag(self, name: str, lag_us: int) -> None:
        """Delay a server behind the others by this much; 0 lets it catch up."""
        server = self.servers[name]
        server.lag_us = lag_us
        if not lag_us:
            server.apply_us = 0
            self._catch_up(server)

    # --- sessions

    def begin_session(self, host: str, timeout_us: int, then: Callable[[int], object]) -> None:
        """Begin a session; `then` receives its id."""

        def begin() -> None:
            if not self.is_serving:
                return
            self._session_count += 1
            session_id = self._session_count << 8
            self._sessions[session_id] = _Session(host, timeout_us, self._loop.now_us)
            self._note(f"zk session {session_id:x} of {host}")
            # The start of a session is also a transaction.
            stage = Stage(self.tree, 0)
            stage.apply([], self._clock.now_ms())
            self._commit(stage, 0)
            self._at(self._loop.now_us + timeout_us, lambda: self._check(session_id))
            then(session_id)

        self._at(self._next_decision_us(), begin)

    def touch(self, session_id: int) -> bool:
        """Record a heartbeat of a session; return whether it is alive."""
        session = self._sessions.get(session_id)
        if session is None:
            return False
        session.expires_us = self._loop.now_us + session.timeout_us
        return True

    def let_go(self, session_id: int) -> None:
        """Close the connections of a session that has a new one."""
        for server in self.servers.values():
            for connection in [each for each in server.connections if each.session_id == session_id]:
                server.close(connection)

    def _check(self, session_id: int) -> None:
        session = self._sessions.get(session_id)
        if session is None:
            return
        if not self.is_serving:
            session.expires_us = self._loop.now_us + session.timeout_us
        if self._loop.now_us >= session.expires_us:
            self._end_session(session_id)
        else:
            self._at(session.expires_us, lambda: self._check(session_id))

    def _end_session(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        self._note(f"zk session {session_id:x} of {session.host} ends")
        stage = Stage(self.tree, session_id)
        stage.apply([EndSessionOp(session_id)], self._clock.now_ms())
        self._commit(stage, session_id)

    # --- transactions

    def decide(
        self,
        server: Server,
        session_id: int,
        ops: Sequence[TreeOp],
        decided: Callable[[int, object], object],
    ) -> None:
        """Execute a transaction that a server forwards.

        Args:
            decided: Called with the number of transactions up to this one, and its result. Not called if the session
                has ended, because its connection ends too.
        """

        def carry_out() -> None:
            if session_id not in self._sessions or not self.is_serving:
                return
            if isinstance(ops[0], EndSessionOp):
                self._end_session(session_id)
                decided(len(self._transactions), [None])
                return
            stage = Stage(self.tree, session_id)
            result: list[OpResult] | RegistryError
            try:
                result = stage.apply(ops, self._clock.now_ms(), Author(session_id))
            except RegistryError as error:
                result = error
                self._note(f"zk refuses {error}")
            else:
                self._commit(stage, 0)
            decided(len(self._transactions), result)

        self._at(self._next_decision_us(), carry_out)

    def _commit(self, stage: Stage, ended_session_id: int) -> None:
        self.tree.commit(stage)
        self._transactions.append(_Transaction(stage, ended_session_id))
        self._note(f"zk {stage.zxid} {' '.join(stage.changes)}")
        for server in self.servers.values():
            self._plan(server, len(self._transactions))
        self.on_commit(stage.changes)

    def _catch_up(self, server: Server) -> None:
        """Apply all missing transactions to a server at once."""
        while server.is_up and server.count < len(self._transactions):
            server.apply(self._transactions[server.count])

    def _plan(self, server: Server, count: int) -> None:
        """Schedule a server's progress to a number of transactions."""
        hop_us = self._dice.randint(10, _MOST_HOP_US)
        server.apply_us = max(server.apply_us, self._loop.now_us + hop_us + server.lag_us)

        def apply() -> None:
            while server.is_up and server.count < count:
                server.apply(self._transactions[server.count])

        self._at(server.apply_us, apply)

    def _next_decision_us(self) -> int:
        self._decision_us = max(self._decision_us, self._loop.now_us + self._dice.randint(10, _MOST_HOP_US))
        return self._decision_us

    def _at(self, when_us: int, callback: Callable[[], object]) -> None:
        # Runs outside the requesting process.
        self._loop.call_at(when_us / 1_000_000, callback, context=Context())
