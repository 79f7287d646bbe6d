"""Collects broker metrics every few seconds, from the brokers' /metrics pages and from Kafka requests.

    pages (/metrics by HTTP) ───────────────────► broker_metrics_page ─┐
    ExplainQuotas: throttled clients and limits ─┐                     │
    Metadata, groups, offsets: partitions, lag ──┴─► broker_metrics ───┴─► events `broker_metric`

Kafka has no page unless jmx_exporter runs in it, and no request that explains quotas. Lag and failed partitions are
reported for any cluster. With jmx_exporter's page, Kafka's throttled clients are reported, too, but not their limits.

Invariants: a query's failure is reported once, and its recovery once; other queries continue. A tick has a bounded
number of series. Each query has a timeout of `_TIMEOUT_S` for all its requests together. After a failure, new
connections are opened.

Source: docs/metrics.md, docs/quotas.md; Kafka's protocol guide: ListGroups, OffsetFetch, ListOffsets, Metadata.
"""

import asyncio
import http.client
import urllib.request
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from barnabas.clients import Admin, Pool
from barnabas.clients.admin import LATEST
from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.clients.admin_replicas import Reassignment, ReplicaAdmin
from barnabas.clients.pool import TopicMetadata
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.sources.broker_metrics import (
    BrokerFigure,
    Client,
    clients_near_limits,
    lags,
    left_out,
    partition_faults,
    throttled_clients,
)
from barnabas.pipeline.sources.broker_metrics_page import BrokerPage, page_figures, read_page
from barnabas.pipeline.sources.log_lines import Measurement

A = TypeVar("A", bound=AdminCalls)
T = TypeVar("T")

_TIMEOUT_S = 5.0
# Timeout for a call without retries.
_ONCE_MS = 1
# A thousand topics, partitions and clients take 1 MB; Kafka's exporter lists all of them.
_LARGEST_PAGE_BYTES = 32 << 20
# Only clients that used a quota in the last minute can have been throttled in it.
_USED_S = 60

# Maximum number of series per tick.
MOST_CLIENTS = 20
MOST_LAGS = 50
# The offsets of each group take one request.
MOST_GROUPS = 200

# Kafka closes the connection on ExplainQuotas, as a dying broker does. After this many refusals in a row the cluster is
# taken for Kafka and no longer queried, because Kafka logs an error for each such request.
_MOST_REFUSALS = 3


class CannotAskError(Exception):
    """A query failed; the message is the reason, in one line."""


class AskedBrokers:
    """Blocking queries to the brokers of one cluster, by Barnabas' own clients."""

    def __init__(self, bootstrap_servers: str, security: ClientSecurity | None = None) -> None:
        """Prepare; connections open when needed. Raises BarnabasError if the address is not `host:port`."""
        self._bootstrap_servers = bootstrap_servers
        self._security = security
        self._runner = asyncio.Runner()
        self._pool = self._new_pool()

    def page(self, url: str) -> str:
        """Return the text of a broker's metrics page."""
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
                text: bytes = answer.read(_LARGEST_PAGE_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise CannotAskError(str(error)) from error
        if len(text) > _LARGEST_PAGE_BYTES:
            raise CannotAskError(f"the page is larger than {_LARGEST_PAGE_BYTES >> 20} MiB")
        return text.decode(errors="replace")

    def quotas_in_use(self) -> list[dict[str, Any]] | None:
        """Return the clients' recent use and limits by broker; None if the brokers do not support the request."""

        async def ask() -> list[dict[str, Any]] | None:
            try:
                return await self._admin(QuotaStateAdmin).top(_USED_S)
            except KafkaError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                return None

        return self._run(ask())

    def explained(self, clients: Sequence[Client]) -> list[dict[str, Any]]:
        """Return explanations of the clients' quotas: one per client and broker."""

        async def ask() -> list[dict[str, Any]]:
            admin = self._admin(QuotaStateAdmin)
            return [told for user, client_id in clients for told in await admin.explain(user, client_id)]

        return self._run(ask())

    def topics(self) -> Mapping[str, TopicMetadata]:
        """Return all topics, without the replicas that a reassignment adds, as far as reassignments are known."""
        topics = self._run(self._admin(Admin).topics())
        parts = {TopicPartition(name, n): part for name in topics for n, part in topics[name].partitions.items()}
        lacking = [each for each, part in parts.items() if len(part.isr) < len(part.replicas)]
        for each, move in self._reassignments(lacking).items() if lacking else ():
            kept = [replica for replica in parts[each].replicas if replica not in move.adding]
            topics[each.topic].partitions[each.partition] = replace(parts[each], replicas=kept)
        return topics

    def _reassignments(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        """Return the partitions under reassignment; none if they are unknown, so that no missing replica is hidden."""

        async def ask() -> dict[TopicPartition, Reassignment]:
            try:
                return await self._admin(ReplicaAdmin, _ONCE_MS).reassignments(partitions)
            except KafkaError:
                # Kafka before 2.4, a user without the right, or no controller now.
                return {}

        try:
            return self._run(ask())
        except CannotAskError:
            return {}

    def committed(self, most: int) -> tuple[dict[str, dict[TopicPartition, int]], int]:
        """Return the committed offsets of at most `most` groups, the first by name, and the number of all groups."""

        async def ask() -> tuple[dict[str, dict[TopicPartition, int]], int]:
            admin = self._admin(Admin)
            groups = list(await admin.groups())
            return {group_id: await admin.committed_offsets(group_id) for group_id in groups[:most]}, len(groups)

        return self._run(ask())

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end offsets of partitions that have a leader."""
        return self._run(self._admin(Admin).offsets(partitions, LATEST))

    def close(self) -> None:
        """Close the connections."""
        self._runner.run(self._pool.close())
        self._runner.close()

    def _admin(self, kind: type[A], timeout_ms: int = int(_TIMEOUT_S * 1000)) -> A:
        return kind(self._pool, timeout_ms)

    def _run(self, call: Coroutine[object, object, T]) -> T:
        try:
            return self._runner.run(asyncio.wait_for(call, _TIMEOUT_S))
        except (BarnabasError, TimeoutError) as error:
            # Reconnect, so that the next call does not receive late responses to this one.
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


class BrokerLook:
    """Returns metrics of brokers and their cluster on each call."""

    def __init__(self, brokers: AskedBrokers, urls: Sequence[str], warn: Callable[[str], None]) -> None:
        """Query `brokers` and the pages at `urls`; call `warn` when a query begins to fail, and when it recovers."""
        self._brokers = brokers
        self._urls = urls
        self._warn = warn
        self._pages: dict[str, BrokerPage] = {}
        self._silent: set[str] = set()
        self._throttled: set[Client] = set()
        self._refusal_count = 0

    def __call__(self) -> list[Measurement]:
        """Collect the metrics once."""
        found: list[BrokerFigure] = []
        throttled_by_pages: list[BrokerFigure] = []
        for url in self._urls:
            page = self._asked(url, lambda url: read_page(self._brokers.page(url), urlsplit(url).netloc))
            if page is not None:
                found += page_figures(self._pages.get(url), page)
                self._pages[url] = page
                throttled_by_pages += page.throttled
        topics = self._asked("partitions", lambda _: self._brokers.topics())
        if topics is not None:
            found += partition_faults(topics)
            found += self._asked("lag", lambda _: self._lag_figures(topics)) or []
        explained = None
        if self._refusal_count < _MOST_REFUSALS:
            explained = self._asked("quotas", lambda _: self._throttled_clients())
        if explained is None:
            throttled_by_pages.sort(key=lambda figure: -figure.value)
            unseen = len(throttled_by_pages) - MOST_CLIENTS
            explained = [*throttled_by_pages[:MOST_CLIENTS], left_out("clients", unseen)]
        return [figure.as_measurement() for figure in found + explained]

    def _lag_figures(self, topics: Mapping[str, TopicMetadata]) -> list[BrokerFigure]:
        committed, group_count = self._brokers.committed(MOST_GROUPS)
        led = {
            TopicPartition(name, each.partition)
            for name, topic in topics.items()
            for each in topic.partitions.values()
            if each.leader_id >= 0
        }
        lagging = lags(
            committed, self._brokers.ends(led & {each for offsets in committed.values() for each in offsets})
        )
        unseen = len(lagging) - MOST_LAGS
        return [
            *lagging[:MOST_LAGS],
            left_out("lags", unseen),
            left_out("groups", group_count - len(committed)),
        ]

    def _throttled_clients(self) -> list[BrokerFigure] | None:
        """Return the throttled clients and their limits; None if the brokers cannot explain quotas."""
        in_use = self._brokers.quotas_in_use()
        if in_use is None:
            self._refusal_count += 1
            if self._refusal_count == _MOST_REFUSALS:
                self._warn(
                    "the brokers do not explain quotas (Kafka has no request for it): quota metrics are not collected"
                )
            return None
        self._refusal_count = 0
        # A client with a long throttle time has no recent use: query it until the throttling ends.
        near = {**dict.fromkeys(self._throttled, 1.0), **clients_near_limits(in_use)}
        most = sorted(near, key=lambda client: (-near[client], client))[:MOST_CLIENTS]
        found = throttled_clients(self._brokers.explained(most))
        self._throttled = {(each.user or "", each.client_id or "") for each in found}
        return [*found, left_out("clients", len(near) - MOST_CLIENTS)]

    def _asked(self, what: str, ask: Callable[[str], T]) -> T | None:
        """Call `ask`; warn on the first failure after a success, and on the first success after a failure."""
        try:
            answer = ask(what)
        except (CannotAskError, ValueError) as error:
            if what not in self._silent:
                self._silent.add(what)
                self._warn(f"no metrics of {what}: {error}")
            return None
        if what in self._silent:
            self._silent.discard(what)
            self._warn(f"metrics of {what} are available again")
        return answer
