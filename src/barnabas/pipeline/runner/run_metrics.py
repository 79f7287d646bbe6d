"""A run's figures: as Prometheus metrics, as a line of text, and as a file for `barnabas pipeline status`.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
| barnabas_pipeline_records_total | counter | run | records read, dead letters included |
| barnabas_pipeline_bytes_total | counter | run | bytes of their keys and values |
| barnabas_pipeline_dead_letters_total | counter | run | refused records |
| barnabas_pipeline_late_rows_total | counter | run | facts that arrived late, see `retention.py` |
| barnabas_pipeline_batches_total | counter | run | completed batches |
| barnabas_pipeline_batch_seconds | histogram | run | duration of a batch |
| barnabas_pipeline_refresh_seconds | histogram | run | duration of a refresh |
| barnabas_pipeline_fresh_seconds | gauge | run, quantile | from a record's timestamp to its rows, in the last minute |
| barnabas_pipeline_restarts_total | counter | run | restarts after failures |
| barnabas_pipeline_lag_records | gauge | run, topic, partition | offsets still to be read |
| barnabas_pipeline_last_batch_timestamp_seconds | gauge | run | end of the last batch |
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from math import nan
from threading import Lock
from typing import TYPE_CHECKING

from barnabas.clients.positions import PlanError
from barnabas.core.errors import StartupError
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_BATCH_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


@dataclass(slots=True)
class Figures:
    """The figures of a run since its process started; `lag` is by topic and partition."""

    run: str
    record_count: int = 0
    dead_letter_count: int = 0
    late_row_count: int = 0
    batch_count: int = 0
    restart_count: int = 0
    refresh_count: int = 0
    records_per_s: float = 0.0
    batch_s: float = 0.0
    refresh_s: float = 0.0
    last_batch_time_s: float = 0.0
    positions: Offsets = field(default_factory=dict)
    lag: dict[str, dict[int, int]] = field(default_factory=dict)
    state: str = "starting"
    limited_by: str = "nothing"
    # Seconds from a record's timestamp until its rows were in the tables, in the last minute; None: no records.
    fresh_p50_s: float | None = None
    fresh_p99_s: float | None = None
    # Start of the kept facts, as an ISO time; empty: all facts are kept.
    facts_from: str = ""

    @property
    def lag_count(self) -> int:
        """Offsets still to be read, in all partitions."""
        return sum(sum(partitions.values()) for partitions in self.lag.values())

    def add(self, report: BatchReport) -> None:
        """Add the figures of a batch."""
        self.record_count += report.record_count
        self.dead_letter_count += report.dead_letter_count
        self.batch_count += 1
        self.batch_s = report.duration_s
        self.records_per_s = report.record_count / report.duration_s if report.duration_s else 0.0
        self.last_batch_time_s = time.time()

    def line(self) -> str:
        """Return the figures as a line of text."""
        letters = f", {_counted(self.dead_letter_count, 'dead letter')}" if self.dead_letter_count else ""
        late = f", {self.late_row_count:,} late" if self.late_row_count else ""
        fresh = (
            f"; rows after {self.fresh_p50_s:,.1f} s (p50), {self.fresh_p99_s:,.1f} s (p99)"
            if self.fresh_p50_s is not None and self.fresh_p99_s is not None
            else ""
        )
        records, batches = _counted(self.record_count, "record"), _counted(self.batch_count, "batch", "batches")
        return (
            f"{self.run}: {records} in {batches}{letters}{late}; "
            f"the last took {self.batch_s:.1f} s ({self.records_per_s:,.0f} records/s); lag {self.lag_count:,}{fresh}; "
            f"limited by {self.limited_by}" + (f"; facts from {self.facts_from} on" if self.facts_from else "")
        )

    def to_json(self) -> str:
        """Return the figures as JSON, for `barnabas pipeline status`."""
        return json.dumps(
            {
                "run": self.run,
                "state": self.state,
                "record_count": self.record_count,
                "dead_letter_count": self.dead_letter_count,
                "late_row_count": self.late_row_count,
                "batch_count": self.batch_count,
                "restart_count": self.restart_count,
                "refresh_count": self.refresh_count,
                "records_per_s": round(self.records_per_s, 1),
                "batch_s": round(self.batch_s, 3),
                "refresh_s": round(self.refresh_s, 3),
                "last_batch_time_s": round(self.last_batch_time_s, 3),
                "positions": self.positions,
                "lag": self.lag,
                "limited_by": self.limited_by,
                "fresh_p50_s": self.fresh_p50_s and round(self.fresh_p50_s, 3),
                "fresh_p99_s": self.fresh_p99_s and round(self.fresh_p99_s, 3),
                "facts_from": self.facts_from,
            }
        )


def _counted(count: int, what: str, several: str = "") -> str:
    """Return a count with its noun; `several` is an irregular plural."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


class Metrics:
    """Prometheus metrics of all runs of a process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = registry or CollectorRegistry()
        label = ("run",)

        def counter(name: str, text: str) -> Counter:
            return Counter(f"barnabas_pipeline_{name}", text, label, registry=self.registry)

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(f"barnabas_pipeline_{name}", text, label, registry=self.registry, buckets=_BATCH_BUCKETS_S)

        self._records = counter("records", "Records read, dead letters included.")
        self._bytes = counter("bytes", "Bytes of keys and values read.")
        self._dead_letters = counter("dead_letters", "Records that were no event.")
        self._late = counter("late_rows", "Rows of a time whose facts were not kept.")
        self._batches = counter("batches", "Batches done.")
        self._restarts = counter("restarts", "How often it was started again.")
        self._batch_s = histogram("batch_seconds", "How long a batch took.")
        self._refresh_s = histogram("refresh_seconds", "How long a refresh took.")
        self._lag = Gauge(
            "barnabas_pipeline_lag_records",
            "Offsets still to be read.",
            ("run", "topic", "partition"),
            registry=self.registry,
        )
        # The labels of each run in `_lag`. Two threads of a run report its lag.
        self._lag_labels: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
        self._lag_lock = Lock()
        self._fresh = Gauge(
            "barnabas_pipeline_fresh_seconds",
            "From a record's timestamp to its rows, in the last minute.",
            ("run", "quantile"),
            registry=self.registry,
        )
        self._last = Gauge(
            "barnabas_pipeline_last_batch_timestamp_seconds",
            "When the last batch was done.",
            label,
            registry=self.registry,
        )

    def serve(self, port: int, host: str = "127.0.0.1") -> int:
        """Serve the metrics at http://host:port/metrics (port 0: any free port); return the port.

        Raises:
            PlanError: There is no such port.
            StartupError: The port is in use, or needs more rights.
        """
        from prometheus_client import start_http_server

        if not 0 <= port < 65536:
            raise PlanError(f"--metrics-port {port}: must be a port from 0 to 65535")
        try:
            server, _ = start_http_server(port, host, self.registry)
        except OSError as error:
            raise StartupError(f"--metrics-port {port}: {error.strerror}; choose another port") from None
        return int(server.server_port)

    def batch(self, run: str, report: BatchReport) -> None:
        """Record a batch."""
        self._records.labels(run).inc(report.record_count)
        self._bytes.labels(run).inc(report.payload_bytes)
        self._dead_letters.labels(run).inc(report.dead_letter_count)
        self._batches.labels(run).inc()
        self._batch_s.labels(run).observe(report.duration_s)
        self._last.labels(run).set_to_current_time()

    def fresh(self, run: str, p50_s: float | None, p99_s: float | None) -> None:
        """Set the quantiles of the records' waits for their rows; NaN if there were no records."""
        for quantile, wait_s in (("0.5", p50_s), ("0.99", p99_s)):
            self._fresh.labels(run, quantile).set(nan if wait_s is None else wait_s)

    def late(self, run: str, count: int) -> None:
        """Record facts that arrived late."""
        self._late.labels(run).inc(count)

    def restart(self, run: str) -> None:
        """Record a restart."""
        self._restarts.labels(run).inc()

    def refresh(self, run: str, duration_s: float) -> None:
        """Record a refresh."""
        self._refresh_s.labels(run).observe(duration_s)

    def lag(self, run: str, lag: dict[str, dict[int, int]]) -> None:
        """Set the lag of each partition; remove that of all other partitions."""
        counts = {
            (run, topic, str(each)): count for topic, partitions in lag.items() for each, count in partitions.items()
        }
        with self._lag_lock:
            for gone in self._lag_labels[run] - counts.keys():
                self._lag.remove(*gone)
            self._lag_labels[run] = set(counts)
            for labels, count in counts.items():
                self._lag.labels(*labels).set(count)
