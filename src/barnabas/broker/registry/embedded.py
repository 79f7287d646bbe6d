"""The registry of a single broker: the tree in this process, journaled to SQLite in its own executor.

Invariants:

- A change is answered, and visible to reads, when its transaction is committed.
- Concurrent changes share a commit: changes that arrive during a commit go into the next one. A large number of changes
  takes several commits, so that other work runs in between.
- A refusal is answered after the commit of the changes on which it depends.
- Ephemeral nodes of the broker's own session, which is this object, are deleted when the registry is opened again. The
  other sessions are those of ZooKeeper clients, whose changes arrive by `perform`
  (`barnabas.broker.registry.zookeeper_server`). Their ephemeral nodes are kept if `keeps_sessions` is set.
- Watches and observers receive the events of a transaction before its author is answered, and before the events of the
  next transaction.

Source: design page, registry.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from barnabas.broker.registry.journal import Journal
from barnabas.broker.registry.tree import Stage, Tree, TreeOp
from barnabas.core.clock import Clock
from barnabas.core.executor import Executor
from barnabas.wire.registry.acl import Author
from barnabas.wire.registry.store import (
    ANY_VERSION,
    CreateOp,
    DeleteOp,
    EventType,
    Found,
    NoNodeError,
    Op,
    OpResult,
    RegistryClosedError,
    RegistryError,
    SessionListener,
    SessionListeners,
    SetOp,
    Stat,
    Watch,
    WatchEvent,
)

T = TypeVar("T")
_Answer = asyncio.Future[list[OpResult]]

# differs from Kafka (registry-file): without zookeeper.connect the cluster's state is in the first log directory.
REGISTRY_FILE = "registry.sqlite"

# About 15 ms of the event loop to stage, and as much to apply. A larger transaction has a commit of its own.
_OPS_PER_COMMIT = 1_000


class Outcome(NamedTuple):
    """The result of a transaction.

    Attributes:
        zxid: Its number; if it was refused, the number of the last transaction staged before it.
        time_ms: Its time, which is also the time of changed nodes.
        result: The results of its operations, or the error of the whole transaction.
    """

    zxid: int
    time_ms: int
    result: list[OpResult] | BaseException


class _Transaction(NamedTuple):
    ops: Sequence[TreeOp]
    author: Author | None
    answer: Callable[[Outcome], object]


class CommitLog(Protocol):
    """The durable store of commits. Its methods block: call them in the registry's executor."""

    def commit(self, stage: Stage, own_session_id: int) -> None:
        """Make the staged changes durable, all or none.

        Args:
            own_session_id: The session whose ephemeral nodes are omitted.

        Raises:
            StorageError: The disk failed; no change was stored.
        """
        ...

    def close(self) -> None:
        """Close the log; no further commits follow."""
        ...


class EmbeddedRegistry:
    """A `Registry` without a server."""

    def __init__(self, tree: Tree, journal: CommitLog | None, clock: Clock, executor: Executor) -> None:
        """Args:
        tree: The committed state; owned by the registry from now on.
        journal: Stores the commits; None: commits are not stored.
        clock: For the times of nodes.
        executor: Runs the commits; its owner closes it after `close`.
        """
        self._tree = tree
        self._journal = journal
        self._clock = clock
        self._executor = executor
        self._session_id = max(1, clock.now_ms()) << 8
        while self._session_id in tree.sessions:
            self._session_id += 1
        self._queue: deque[_Transaction] = deque()
        self._observers: list[Watch] = []
        self._is_flushing = False
        self._is_closed = False
        self._idle: asyncio.Future[None] | None = None
        self._data_watches: dict[str, dict[Watch, None]] = {}
        self._child_watches: dict[str, dict[Watch, None]] = {}
        # The session ends only with the process.
        self._session_listeners = SessionListeners()

    @classmethod
    async def open(
        cls, path: Path | None, clock: Clock, executor: Executor, keeps_sessions: bool = True
    ) -> "EmbeddedRegistry":
        """Open the registry and become its only owner.

        Args:
            path: The SQLite file, created if missing; None: the tree is only in memory.
            clock: For the times of nodes.
            executor: A dedicated single thread for all blocking work.
            keeps_sessions: Keep the sessions of ZooKeeper clients. Otherwise they end.

        Raises:
            StartupError: Another process owns the file, or it cannot be read.
        """
        if path is None:
            return cls(Tree(), None, clock, executor)
        journal, tree = await _run(executor, lambda: Journal.open(path, keeps_sessions))
        return cls(tree, journal, clock, executor)

    @property
    def session_id(self) -> int:
        return self._session_id

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        return self._session_listeners.add(listener)

    @property
    def tree(self) -> Tree:
        """The committed tree; read-only."""
        return self._tree

    def observe(self, observer: Watch) -> None:
        """Call `observer` with all events from now on."""
        self._observers.append(observer)

    def perform(self, ops: Sequence[TreeOp], author: Author | None, answer: Callable[[Outcome], object]) -> None:
        """Apply all operations as one transaction, or none.

        Args:
            author: The session and the identities of the requester; None: the broker.
            answer: Called once the transaction is committed or refused, on the event loop and in the middle of a
                commit: it must only record the outcome.

        Raises:
            RegistryClosedError: The registry was closed.
        """
        self._check_open("")
        self._queue.append(_Transaction(ops, author, answer))
        if not self._is_flushing:
            self._is_flushing = True
            # Deferred, so that further changes in this turn of the event loop share the commit.
            asyncio.get_running_loop().call_soon(self._flush)

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        (result,) = await self._submit([CreateOp(path, data, ephemeral, sequence)])
        assert isinstance(result, str)
        return result

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        (result,) = await self._submit([SetOp(path, data, version)])
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._submit([DeleteOp(path, version)])

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        return await self._submit(list(ops))

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        self._check_open(path)
        node = self._tree.get(path)
        if node is None:
            raise NoNodeError(path)
        if watch is not None:
            self._data_watches.setdefault(path, {})[watch] = None
        return node.data, node.stat()

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        found: list[Found] = []
        for path in wanted:
            self._check_open(path)
            node = self._tree.get(path)
            if node is not None and watch is not None:
                self._data_watches.setdefault(path, {})[watch(path)] = None
            found.append(None if node is None else (node.data, node.stat()))
        return found

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        self._check_open(path)
        if watch is not None:
            self._data_watches.setdefault(path, {})[watch] = None
        node = self._tree.get(path)
        return None if node is None else node.stat()

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        self._check_open(path)
        names = self._tree.children(path)
        if watch is not None:
            self._child_watches.setdefault(path, {})[watch] = None
        return names

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_flushing:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        self._data_watches.clear()
        self._child_watches.clear()
        self._observers.clear()
        if self._journal is not None:
            await _run(self._executor, self._journal.close)

    def _check_open(self, path: str) -> None:
        if self._is_closed:
            raise RegistryClosedError(path)

    def _submit(self, ops: Sequence[Op]) -> _Answer:
        self._check_open(ops[0].path if ops else "")
        answer: _Answer = asyncio.get_running_loop().create_future()
        self.perform(ops, None, partial(_resolve, answer))
        return answer

    def _flush(self) -> None:
        """Stage queued transactions, as many as fit into one commit, and commit them."""
        queue: list[_Transaction] = []
        op_count = 0
        while self._queue and op_count < _OPS_PER_COMMIT:
            queue.append(self._queue.popleft())
            op_count += len(queue[-1].ops)
        if not queue:
            self._is_flushing = False
            if self._idle is not None:
                self._idle.set_result(None)
            return
        stage = Stage(self._tree, self._session_id)
        # With each outcome, the number of events up to and including its transaction.
        outcomes: list[tuple[_Transaction, Outcome, int]] = []
        now_ms = self._clock.now_ms()
        for transaction in queue:
            result: list[OpResult] | BaseException
            try:
                result = stage.apply(transaction.ops, now_ms, transaction.author)
            except RegistryError as error:
                result = error
            outcomes.append((transaction, Outcome(stage.zxid, now_ms, result), len(stage.events)))

        def committed(_: None) -> None:
            self._tree.commit(stage)
            start = 0
            for transaction, outcome, end in outcomes:
                for event in stage.events[start:end]:
                    self._notify(event)
                start = end
                transaction.answer(outcome)
            # In a new turn, because the next commit may be as large.
            asyncio.get_running_loop().call_soon(self._flush)

        def failed(error: BaseException) -> None:
            for transaction, outcome, _ in outcomes:
                transaction.answer(outcome._replace(result=error))
            self._flush()

        journal = self._journal
        if journal is None or stage.zxid == self._tree.zxid:
            committed(None)
            return
        # The executor reads the stage, which no longer changes.
        self._executor.run(lambda: journal.commit(stage, self._session_id), committed, failed)

    def _notify(self, event: WatchEvent) -> None:
        if event.type is EventType.CHILD:
            watches = self._child_watches.pop(event.path, {})
        else:
            watches = self._data_watches.pop(event.path, {})
            if event.type is EventType.DELETED:
                watches |= self._child_watches.pop(event.path, {})
        for watch in (*watches, *self._observers):
            try:
                watch(event)
            except Exception as error:
                # An error in a watch must not prevent the answers to the writers.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a watch on {event.path} failed", "exception": error}
                )


def _resolve(answer: _Answer, outcome: Outcome) -> None:
    if answer.done():
        return
    if isinstance(outcome.result, BaseException):
        answer.set_exception(outcome.result)
    else:
        answer.set_result(outcome.result)


async def _run(executor: Executor, work: Callable[[], T]) -> T:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def succeed(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def fail(error: BaseException) -> None:
        if not future.done():
            future.set_exception(error)

    executor.run(work, succeed, fail)
    return await future
