"""One cluster with one user's rights: the user's own connections, and snapshots for `explain`."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from barnabas.clients.pool import Pool
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.stopping import unless_stopped
from barnabas.explain.collector import Collector
from barnabas.explain.questions import Question
from barnabas.explain.snapshot import Scope, Snapshot

A = TypeVar("A")

_CLIENT_ID: Final = "barnabas-page"
# A broker that does not answer within this time is reported as silent, so that viewers see it within 5 s.
PATIENCE_MS: Final = 4_000
WINDOW_MS: Final = 3_600_000
# Each collector keeps up to 60 samples, the only history of a Kafka cluster.
_MOST_COLLECTORS: Final = 20


class Cluster:
    """A cluster and its user.

    Attributes:
        name: The name in the page's settings.
        user: The logged-in user; empty: no user, or the page's own user.
        pool: Connections, closed by `close`.
        closed: Set by `close`: no further requests are sent.
    """

    def __init__(self, name: str, servers: str, user: str = "", security: ClientSecurity | None = None) -> None:
        """Raises BarnabasError: the addresses are invalid."""
        self.name = name
        self.user = user
        self.closed = asyncio.Event()
        self.pool = Pool(
            servers, _CLIENT_ID, connect_timeout_ms=PATIENCE_MS, request_timeout_ms=PATIENCE_MS, security=security
        )
        self._collectors: OrderedDict[tuple[Question, Scope], tuple[Collector, asyncio.Lock]] = OrderedDict()

    def admin(self, kind: Callable[[Pool, int], A]) -> A:
        """Return an admin client of the cluster: a class of `clients/admin_*.py`."""
        return kind(self.pool, PATIENCE_MS)

    async def collect(self, question: Question, scope: Scope | None = None) -> Snapshot:
        """Collect the snapshot for a question; changes over time are known from the second snapshot on.

        Raises:
            KafkaError: No broker is reachable, or the subject does not exist.
        """
        if self.closed.is_set():
            raise self._ended()
        scope = scope or Scope()
        key = (question, scope)
        if key not in self._collectors:
            self._collectors[key] = Collector(self.pool, PATIENCE_MS, scope, WINDOW_MS), asyncio.Lock()
            if len(self._collectors) > _MOST_COLLECTORS:
                self._collectors.popitem(last=False)
        self._collectors.move_to_end(key)
        collector, lock = self._collectors[key]
        async with lock:
            snapshot = await unless_stopped(collector.collect(question.parts, question.facts), self.closed)
        if snapshot is None:
            raise self._ended()
        return snapshot

    def _ended(self) -> KafkaError:
        return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "the session has ended")

    async def close(self) -> None:
        """Close the connections, including those of running queries."""
        self.closed.set()
        await self.pool.close()
        for _, lock in list(self._collectors.values()):
            async with lock:
                pass
        # The collectors may have opened connections again.
        await self.pool.close()
