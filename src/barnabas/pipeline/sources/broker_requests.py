"""Brokers asked for their figures: pages by HTTP, all else by requests of Kafka's protocol and ExplainQuotas.

Invariant: each question has `_TIMEOUT_S`, however many requests it takes; after a failure the connections are new ones.

Source: docs/monitoring.md; docs/quotas.md; Kafka's protocol guide.
"""

import asyncio
import http.client
import urllib.request
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from barnabas.clients import Admin, Pool
from barnabas.clients.admin import LATEST
from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.clients.pool import TopicMetadata
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.sources.broker import CannotAskError
from barnabas.pipeline.sources.broker_figures import Client

A = TypeVar("A", bound=AdminCalls)
T = TypeVar("T")

_TIMEOUT_S = 5.0
# A thousand topics, partitions and clients are 1 MB; Kafka's exporter lists all there are.
_LARGEST_PAGE_BYTES = 32 << 20
# What was used in the last minute says who can have been held in it.
_USED_S = 60


class AskedBrokers:
    """The brokers of one cluster, over the package's own clients; calls wait for their answers."""

    def __init__(self, bootstrap_servers: str, security: ClientSecurity | None = None) -> None:
        """Connections open when they are needed.

        Args:
            security: How; None: in the clear.

        Raises:
            BarnabasError: the address is no `host:port`.
        """
        self._bootstrap_servers = bootstrap_servers
        self._security = security
        self._runner = asyncio.Runner()
        self._pool = self._new_pool()

    def page(self, url: str) -> str:
        """Return a broker's page of figures."""
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
                text: bytes = answer.read(_LARGEST_PAGE_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise CannotAskError(str(error)) from error
        if len(text) > _LARGEST_PAGE_BYTES:
            raise CannotAskError(f"the page is larger than {_LARGEST_PAGE_BYTES >> 20} MiB")
        return text.decode(errors="replace")

    def quotas_in_use(self) -> list[dict[str, Any]] | None:
        """Return who uses how much of which limit, by broker; None: they do not know of that."""

        async def ask() -> list[dict[str, Any]] | None:
            try:
                return await self._admin(QuotaStateAdmin).top(_USED_S)
            except KafkaError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                return None

        return self._run(ask())

    def explained(self, clients: Sequence[Client]) -> list[dict[str, Any]]:
        """Return what holds clients, by client and broker."""

        async def ask() -> list[dict[str, Any]]:
            admin = self._admin(QuotaStateAdmin)
            return [told for user, client_id in clients for told in await admin.explain(user, client_id)]

        return self._run(ask())

    def topics(self) -> Mapping[str, TopicMetadata]:
        """Return all topics."""
        return self._run(self._admin(Admin).topics())

    def committed(self, most: int) -> tuple[dict[str, dict[TopicPartition, int]], int]:
        """Return the offsets of so many groups at the most, the first by name, and how many groups there are."""

        async def ask() -> tuple[dict[str, dict[TopicPartition, int]], int]:
            admin = self._admin(Admin)
            groups = list(await admin.groups())
            return {group_id: await admin.committed_offsets(group_id) for group_id in groups[:most]}, len(groups)

        return self._run(ask())

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of partitions that have a leader."""
        return self._run(self._admin(Admin).offsets(partitions, LATEST))

    def close(self) -> None:
        """Let go of the connections."""
        self._runner.run(self._pool.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _admin(self, kind: type[A]) -> A:
        return kind(self._pool, int(_TIMEOUT_S * 1000))

    def _run(self, call: Coroutine[object, object, T]) -> T:
        try:
            return self._runner.run(asyncio.wait_for(call, _TIMEOUT_S))
        except (BarnabasError, TimeoutError) as error:
            # Begin anew: the next call is not to meet what was left of this one.
            self._runner.run(self._pool.close())
            self._pool = self._new_pool()
            raise CannotAskError(str(error) or f"no answer within {_TIMEOUT_S:.0f} s") from error

    def _new_pool(self) -> Pool:
        milliseconds = int(_TIMEOUT_S * 1000)
        return Pool(
            self._bootstrap_servers,
            "barnabas-collector",
            connect_timeout_ms=milliseconds,
            request_timeout_ms=milliseconds,
            security=self._security,
        )
