"""Runs several jobs in one session until they end or are stopped; starts again what a passing failure has stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, NoSuchTopicError
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.job_run import JobRun, QueryStoppedError
from barnabas.pipeline.runner.plan import RunPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_S = 0.2
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 10.0
_PASSING = (ClusterUnavailableError, QueryStoppedError, NoSuchTopicError)


class RunFailedError(Exception):
    """A job failed again and again: one line with its reason."""


class _Supervised:
    """One job, and how it fares."""

    def __init__(self, run: JobRun, give_up_s: float) -> None:
        self.run = run
        self.is_running = False
        self.is_done = False
        self._give_up_s = give_up_s
        self._retry_s = _FIRST_RETRY_S
        self._retry_at_s = 0.0
        self._last_success_s = time.monotonic()
        self._seen_batch_count = 0

    def step(self, warn: Callable[[str], None], metrics: Metrics) -> None:
        """Start it, look after it, or wait with the next try."""
        if time.monotonic() < self._retry_at_s:
            return
        try:
            if not self.is_running:
                self.run.start()
                self.is_running = True
            if self.run.poll():
                self.run.stop()
                self.run.finish()
                self.is_running, self.is_done = False, True
            self._note_success()
        except _PASSING as error:
            self._note_failure(error, warn, metrics)

    def _note_success(self) -> None:
        if self.run.figures.batch_count > self._seen_batch_count or self.run.figures.lag_count == 0:
            self._seen_batch_count = self.run.figures.batch_count
            self._last_success_s = time.monotonic()
            self._retry_s = _FIRST_RETRY_S

    def _note_failure(self, error: Exception, warn: Callable[[str], None], metrics: Metrics) -> None:
        self.run.stop(0)
        self.is_running = False
        if time.monotonic() - self._last_success_s > self._give_up_s:
            raise RunFailedError(str(error)) from None
        warn(f"{self.run.plan.run} stopped ({error}); starting it again in {self._retry_s:.0f} s")
        self.run.figures.restart_count += 1
        metrics.restart(self.run.plan.run)
        self._retry_at_s = time.monotonic() + self._retry_s
        self._retry_s = min(2 * self._retry_s, _LONGEST_RETRY_S)


def run_jobs(
    spark: SparkSession,
    plans: Sequence[RunPlan],
    metrics: Metrics,
    report: Callable[[Figures], None],
    warn: Callable[[str], None],
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[JobRun]:
    """Run jobs until all have ended, or are to stop; gives them, stopped.

    Args:
        spark: The session.
        plans: What to run.
        metrics: Takes the figures.
        report: Called after each batch.
        warn: Told in one line what a person should know.
        is_stopped: Asked again and again: whether to end now, between two batches.

    Raises:
        DataLossError: records are gone before they were read, and the plan says to stop.
        TableError: a table refused what it was given.
        RunFailedError: a job has got nowhere for longer than its plan's `give_up_s`.
    """
    clusters = [Cluster(spark, plan.kafka) for plan in plans]
    jobs = [
        _Supervised(JobRun(spark, plan, cluster, metrics, report, warn), plan.give_up_s)
        for plan, cluster in zip(plans, clusters, strict=True)
    ]
    try:
        while not all(job.is_done for job in jobs) and not is_stopped():
            for job in jobs:
                if not job.is_done:
                    job.step(warn, metrics)
            time.sleep(_POLL_S)
        for job in jobs:
            if job.is_running:
                job.run.stop()
                job.run.finish()
        return [job.run for job in jobs]
    finally:
        for job in jobs:
            if job.is_running:
                job.run.stop(0)
        for cluster in clusters:
            cluster.close()
