"""Requests the quotas of a run's client from a cluster.

It has its own connections, with the user and client id of the run's clients, because quotas depend on these. Barnabas
reports the quotas of the requesting client without any permission. Kafka only reports all quotas, which needs
DescribeConfigs on the cluster.

Invariants: no failure here stops a run. It is warned of once, and the last known quotas stay in use. A run that uses up
its quota announces this in each request, so that the broker counts it among the runs that share the quota.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import QuotaStateAdmin, View
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.quota import READ, WRITE, Quota, explained, resolved, user_of
from barnabas.wire.quotas.limits import QuotaKind

_EVERY_S = 2.0
_TIMEOUT_MS = 5_000
# A run shares a quota if it used it up in the last `_LIMITED_S`. A broker counts it for `_COUNTED_S` per announcement.
_LIMITED_S, _COUNTED_S = 15.0, 6
# Pause after a refusal: permissions seldom change within seconds, and the broker logs each refusal.
_DENIED_S = 180.0
# The largest record batch of a partition, by the defaults of producers and brokers.
_LARGEST_BATCH_BYTES = 1_048_576
_VIEWS = {READ: View.PACE_READS, WRITE: View.PACE_WRITES}


class QuotaClient:
    """The quotas of one user and client id at one cluster, for any thread."""

    def __init__(self, kafka: KafkaOptions, warn: Callable[[str], None], peers: Sequence[str] = ()) -> None:
        """Nothing is requested yet; until then there are no quotas.

        Args:
            kafka: The cluster, and the options of the run's clients.
            warn: Called once with each one-line warning.
            peers: Client ids of all concurrent runs, its own included. Used if the broker does not report how many runs
                share a quota.
        """
        self._kafka = kafka
        self._client_id = kafka.options.get("client.id", "")
        self._peers = tuple(peers) or (self._client_id,)
        self._warn = warn
        self._warned: set[str] = set()
        self._quotas: list[Quota] = []
        self._next_ask_s = self._denied_until_s = 0.0
        # Whether brokers support ExplainQuotas, as Barnabas does; None: not known yet.
        self._explains: bool | None = None
        # A new run announces itself before it uses up its quota.
        self._limited_until_s = dict.fromkeys(_VIEWS, time.monotonic() + _LIMITED_S)
        # Only one thread at a time sends requests.
        self._lock = threading.Lock()
        self._runner = asyncio.Runner()
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._disconnect()
        self._runner.close()

    def of(self, kind: QuotaKind) -> list[Quota]:
        """Return the quotas of one kind, at most one for each broker."""
        return [each for each in self._quotas if each.kind is kind]

    def rate(self, kind: QuotaKind) -> float | None:
        """Return this run's share of the bytes/s that all brokers together allow; None without a quota."""
        quotas = self.of(kind)
        return sum(each.limit / each.sharer_count for each in quotas) if quotas else None

    def strictest(self, kind: QuotaKind) -> str:
        """Return the quota with the smallest share for this run, as text; empty without a quota."""
        return str(min(self.of(kind), key=lambda each: each.limit / each.sharer_count, default=""))

    def note_limited(self, kind: QuotaKind) -> None:
        """Note that this run uses up its quota, so that brokers count it among the runs that share the quota."""
        self._limited_until_s[kind] = time.monotonic() + _LIMITED_S

    def ask(self, *, again: bool = False) -> None:
        """Request the quotas in force; keep the last known ones if the request fails.

        Args:
            again: Only if the last response is some seconds old.
        """
        with self._lock:
            now_s = time.monotonic()
            if now_s < self._denied_until_s or (again and now_s < self._next_ask_s):
                return
            try:
                if self._pool is None:
                    self._pool = self._new_pool()
                self._quotas = self._runner.run(self._ask(self._pool))
                self._warn_of_small_limits()
            except ConfigError as error:
                self._warn_once(f"quotas can't be asked for with these options: {error}")
            except BarnabasError as error:
                # The run's other clients report a long outage of the cluster.
                self._warn_of_refusal(error)
                self._disconnect()
            self._next_ask_s = time.monotonic() + _EVERY_S

    def _new_pool(self) -> Pool:
        return Pool(
            self._kafka.bootstrap_servers,
            self._client_id,
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
            security=client_security(self._kafka.options),
        )

    def _disconnect(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            self._runner.run(pool.close())

    async def _ask(self, pool: Pool) -> list[Quota]:
        admin = QuotaStateAdmin(pool, _TIMEOUT_MS)
        if self._explains is not False:
            try:
                found = await self._explained(admin)
            except KafkaError as error:
                # Kafka closes the connection, and so does a Barnabas broker that crashes.
                if error.code is not ErrorCode.UNSUPPORTED_VERSION or self._explains:
                    raise
                self._explains = False
            else:
                self._explains = True
                return found
        return await self._resolved(admin)

    async def _explained(self, admin: QuotaStateAdmin) -> list[Quota]:
        found = []
        for kind, view in _VIEWS.items():
            is_limited = time.monotonic() < self._limited_until_s[kind]
            told = await admin.pace(view, _COUNTED_S if is_limited else 0)
            found += [quota for each in told if (quota := explained(each, kind, is_limited)) is not None]
        return found

    async def _resolved(self, admin: QuotaStateAdmin) -> list[Quota]:
        user = user_of(self._kafka.options)
        if user is None:
            self._warn_once("the broker alone knows which user this login is: batches are not sized by its quotas")
            return []
        limits = await admin.limits()
        brokers = (await admin.pool.metadata([])).brokers
        return [
            quota
            for kind in _VIEWS
            for quota in resolved(limits, kind, user, self._client_id, self._peers, sorted(brokers))
        ]

    def _warn_of_small_limits(self) -> None:
        for each in self.of(READ):
            if each.most_answer_bytes < _LARGEST_BATCH_BYTES:
                self._warn_once(
                    f"{each.name}: a batch of records of more than {each.most_answer_bytes:,.0f} bytes is never sent "
                    "by it, and producers may write a mebibyte: raise the quota, or let them write smaller batches"
                )

    def _warn_of_refusal(self, error: BarnabasError) -> None:
        if not isinstance(error, KafkaError):
            return
        match error.code:
            case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                self._denied_until_s = time.monotonic() + _DENIED_S
                self._warn_once(
                    f"user {user_of(self._kafka.options)} may not ask for quotas, which on Kafka takes DescribeConfigs "
                    "on the cluster: the run's own limits alone size batches"
                )
            case ErrorCode.UNSUPPORTED_VERSION:
                self._warn_once("the broker has no request that tells quotas: the run's own limits alone size batches")
            case ErrorCode.SASL_AUTHENTICATION_FAILED | ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                self._warn_once(f"quotas can't be asked for: {error}")

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)
