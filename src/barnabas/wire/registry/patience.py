"""A registry that repeats requests after a lost connection, for callers that can only wait.

Kafka's brokers ask ZooKeeper until it answers, and so do the writers here. The controller does so as well: a lost
connection does not end its work, an expired session does.

Invariants:

- `ConnectionLostError` is never raised; `RegistryClosedError` ends waiting requests.
- A write that was executed before its answer was lost counts as executed: if the repeated one is rejected, and the
  nodes are as the write leaves them, it succeeded. So no write is rejected because it was already done.
- A sequential node may be created twice, as in Kafka: it is a notification, which adds nothing the second time.

Source: semantics, controller; Kafka 2.7.2, KafkaZkClient.retryRequestsUntilConnected.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.wire.registry.store import (
    ANY_VERSION,
    BadVersionError,
    CheckOp,
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    Found,
    NodeExistsError,
    NoNodeError,
    Op,
    OpResult,
    Registry,
    SessionListener,
    SetOp,
    Stat,
    Watch,
)

T = TypeVar("T")

RETRY_BACKOFF_MS = 100


class PatientRegistry:
    """A `Registry` that wraps another one and retries."""

    def __init__(self, registry: Registry, timers: Timers) -> None:
        self._registry = registry
        self._timers = timers

    @property
    def session_id(self) -> int:
        return self._registry.session_id

    def on_session(self, listener: SessionListener) -> Callable[[], None]:
        return self._registry.on_session(listener)

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        op = CreateOp(path, data, ephemeral, sequence)
        return await self._write([op], lambda: self._registry.create(path, data, ephemeral, sequence), lambda _: path)

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        return await self._read(lambda: self._registry.get(path, watch))

    async def get_many(self, wanted: Sequence[str], watch: Callable[[str], Watch] | None = None) -> list[Found]:
        return await self._read(lambda: self._registry.get_many(wanted, watch))

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        def stat_of(stats: list[Stat | None]) -> Stat:
            (stat,) = stats
            assert stat is not None
            return stat

        return await self._write([SetOp(path, data, version)], lambda: self._registry.set(path, data, version), stat_of)

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._write([DeleteOp(path, version)], lambda: self._registry.delete(path, version), lambda _: None)

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        return await self._read(lambda: self._registry.exists(path, watch))

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        return await self._read(lambda: self._registry.children(path, watch))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        def results_of(stats: list[Stat | None]) -> list[OpResult]:
            return [
                op.path if isinstance(op, CreateOp) else stat if isinstance(op, SetOp) else None
                for op, stat in zip(ops, stats, strict=True)
            ]

        return await self._write(ops, lambda: self._registry.multi(ops), results_of)

    async def close(self) -> None:
        await self._registry.close()

    async def _pause(self) -> None:
        over: Pending[None] = Pending()
        self._timers.call_later(RETRY_BACKOFF_MS, over.complete, None)
        await over.future()

    async def _read(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await ask()
            except ConnectionLostError:
                await self._pause()

    async def _write(
        self, ops: Sequence[Op], ask: Callable[[], Awaitable[T]], result_of: Callable[[list[Stat | None]], T]
    ) -> T:
        """Args:
        ops: The operations.
        result_of: Makes the answer from the stats of the nodes as they are after it.
        """
        was_lost = False
        while True:
            try:
                return await ask()
            except ConnectionLostError:
                was_lost = True
                await self._pause()
            except (BadVersionError, NodeExistsError, NoNodeError):
                stats = await self._stats_if_done(ops) if was_lost else None
                if stats is None:
                    raise
                return result_of(stats)

    async def _stats_if_done(self, ops: Sequence[Op]) -> list[Stat | None] | None:
        """Return the stats of all operations' nodes if they are as the operations leave them; None: they are not."""
        # The last operation on each node, creations and deletions included.
        last: dict[str, Op] = {
            op.path: op for op in ops if not (isinstance(op, CheckOp) or (isinstance(op, CreateOp) and op.is_sequence))
        }
        owners = {op.path: self.session_id for op in ops if isinstance(op, CreateOp) and op.is_ephemeral}
        found = dict(zip(last, await self.get_many(list(last)), strict=True))
        if not last or not all(_is_as_left(op, found[path], owners.get(path)) for path, op in last.items()):
            return None
        return [None if (node := found.get(op.path)) is None else node[1] for op in ops]


def _is_as_left(op: Op, found: Found, owner: int | None) -> bool:
    """Return whether a node is as an operation leaves it; `owner` is the session of an ephemeral one."""
    if found is None or isinstance(op, DeleteOp | CheckOp):
        return found is None and isinstance(op, DeleteOp)
    data, stat = found
    if owner is not None and stat.ephemeral_owner != owner:
        return False
    if isinstance(op, SetOp) and op.version != ANY_VERSION and stat.version != op.version + 1:
        return False
    return data == op.data
