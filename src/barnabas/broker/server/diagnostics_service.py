"""Records diagnostic events of a broker, from shortly after its start until it stops.

    logs, groups ─ every 10 s (`diagnostics/sampler.py`) ─► series
    events of the broker (`diagnostic_callbacks.py`) ─► events ─► two files (`event_files.py`)
    quotas' history, the watchdog, request times ─ every minute ─► minutes

A minute's rates are rates of clients' use. Quantiles of request times exist only if metrics are enabled
(`barnabas.http.listeners`), because nothing else measures requests.
"""

from collections.abc import Callable, Iterator
from operator import sub
from pathlib import Path
from typing import Any

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.sampler import CommitKey, Sampler
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.event_files import EventFiles
from barnabas.broker.server.watchdog import Watchdog
from barnabas.core.executor import Executor
from barnabas.core.histogram import quantiles
from barnabas.core.types import TopicPartition

_NS_PER_MS = 1_000_000
_MINUTE_S = 60

Limits = Callable[[], list[tuple[str, int, int]]]
"""Name, current use and maximum of each limit."""


class DiagnosticsService:
    """The shell around `DiagnosticStore`."""

    def __init__(
        self,
        diagnostics: DiagnosticStore,
        services: Services,
        routes: RouteTable,
        watchdog: Watchdog,
        limits: Limits,
        env: Environment,
        executor: Executor,
    ) -> None:
        """Args:
        executor: Reads and writes the files.
        """
        directory = Path(services.config.log_dirs[0])
        self._diagnostics = diagnostics
        self._services = services
        self._routes = routes
        self._watchdog = watchdog
        self._limits = limits
        self._env = env
        self._started_ms = diagnostics.kept_since_ms
        self._files = EventFiles(diagnostics, directory, env.files, env.timers, executor)
        self._sampler = Sampler(diagnostics, env.clock, env.timers, self._ends, self._commits, self._note_minute)
        # The counters at the end of the last minute.
        self._sums = self._sums_now()
        self._totals: dict[str, list[int]] = {}

    def start(self) -> None:
        """Begin to record."""
        self._diagnostics.figures = self._figures
        self._files.start()
        self._sampler.start()

    async def close(self) -> None:
        """Stop, and write the remaining events."""
        self._sampler.close()
        await self._files.close()

    def _ends(self) -> Iterator[tuple[TopicPartition, int]]:
        for partition in list(self._services.replicas.partitions):
            if partition.is_leader:
                yield partition.topic_partition, partition.log.log_end_offset

    def _commits(self) -> Iterator[tuple[CommitKey, int]]:
        for group in list(self._services.groups.groups):
            for topic_partition, committed in list(group.offsets.items()):
                yield (group.group_id, topic_partition), committed.offset

    def _figures(self) -> Row:
        limits: list[Any] = [{"name": name, "used": used, "most": most} for name, used, most in self._limits()]
        return {"started_ms": self._started_ms, "limits": limits}

    # --- minutes

    def _sums_now(self) -> dict[str, int]:
        """Return the current values of counters."""
        return {
            "computing_ms": self._env.limits.core_use().computing_ms,
            "stall_count": self._watchdog.stall_count,
            "stalled_ms": self._watchdog.stalled_ms,
            "commits": self._services.groups.commit_count,
            "rebalances": self._services.groups.rebalance_count,
        }

    def _note_minute(self) -> None:
        history = self._services.quota_history
        rates = [] if history is None else list(history.rates(_MINUTE_S).values())
        produced, fetched, request_us, mutations = map(sum, zip(*rates, strict=True)) if rates else (0, 0, 0, 0)
        sums = self._sums_now()
        self._diagnostics.minutes.add(
            {
                "at_ms": self._env.clock.now_ms(),
                "produced_bytes_per_s": round(produced),
                "fetched_bytes_per_s": round(fetched),
                "request_percent": round(request_us / 10_000, 2),
                "mutations_per_s": round(mutations, 2),
                "held_count": len(self._services.throttled),
                **{name: value - self._sums[name] for name, value in sums.items()},
                "requests": self._request_quantiles(),
            }
        )
        self._sums = sums

    def _request_quantiles(self) -> Any:
        """Return quantiles of the minute's request times, by API; None: they are not measured."""
        if not self._routes.times:
            return None
        told: Row = {}
        for times in self._routes.times.values():
            before = self._totals.get(times.name)
            self._totals[times.name] = total = times.total.copy()
            counts = total if before is None else list(map(sub, total, before))
            if any(counts):
                median, high = quantiles(counts, 0, (0.5, 0.99))
                told[times.name] = {"p50_ms": round(median / _NS_PER_MS, 3), "p99_ms": round(high / _NS_PER_MS, 3)}
        return told
