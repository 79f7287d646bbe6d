"""The page `/metrics`: all metrics as text for Prometheus.

Source: Prometheus, exposition formats.
"""

from collections.abc import Callable, Mapping

from barnabas.broker.metrics.collector import Sources, snapshot_steps
from barnabas.broker.metrics.exposition import CONTENT_TYPE, exposition
from barnabas.broker.metrics.pages import OK, UNAVAILABLE, Answer, Page, refusal
from barnabas.broker.metrics.recent_distributions import RecentDistributions
from barnabas.broker.metrics.snapshot import Snapshot
from barnabas.core.pending import Pending

# Cached, because an answer takes some time of the event loop and more of the thread.
_KEPT_S = 1.0
_PATH, _SUMMARY = "/metrics", "all figures, for Prometheus"


def early_page() -> Page:
    """Return the page while the broker starts and has no metrics yet."""
    reason = "the broker is starting: see /ready"
    return Page(_PATH, _SUMMARY, lambda: None, lambda _: refusal(UNAVAILABLE, reason))


def metrics_page(sources: Sources, recent: RecentDistributions, process: Callable[[], Mapping[str, float]]) -> Page:
    """Return the page.

    Args:
        sources: The objects from which metrics are collected.
        recent: The earlier distributions, for quantiles.
        process: Returns the operating system's figures about the process, by metric name; called in `write`.
    """

    def ask() -> Pending[Snapshot]:
        return sources.services.slices.run(snapshot_steps(sources, recent))

    def write(snapshot: Snapshot) -> Answer:
        for name, value in process().items():
            snapshot.put(name, value)
        return Answer(OK, CONTENT_TYPE, exposition(snapshot))

    return Page(_PATH, _SUMMARY, ask, write, kept_s=_KEPT_S)
