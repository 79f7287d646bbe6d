"""Runs jobs in one session until they end or are stopped; restarts runs after transient failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Protocol

from barnabas.pipeline.ingest.shared import SharedIngest
from barnabas.pipeline.job import TableInput
from barnabas.pipeline.runner.batch_run import QueryStoppedError
from barnabas.pipeline.runner.batch_size import TRIGGER_S, TRIGGER_TOGETHER_S
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, NoSuchTopicError
from barnabas.pipeline.runner.job_run import JobRun
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.refresh import Follower
from barnabas.pipeline.runner.run_metrics import Figures, Metrics
from barnabas.pipeline.runner.turns import Turns
from barnabas.pipeline.tables.table import TableUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_S = 0.2
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 10.0
_PASSING = (ClusterUnavailableError, QueryStoppedError, NoSuchTopicError, TableUnavailableError)


class RunFailedError(Exception):
    """A job failed repeatedly: one line with the reason."""


class Run(Protocol):
    """A run that can be started again after it has stopped.

    `start` and `poll` may raise transient errors (`_PASSING`), such as an unavailable cluster or a failed batch. Any
    other error ends all runs.
    """

    figures: Figures

    @property
    def is_refresh_failing(self) -> bool:
        """Whether the latest refresh failed: batches and a lag of 0 are then no success."""

    def start(self) -> None:
        """Start at the stored progress."""

    def poll(self) -> bool:
        """Raise failures of the run; return True when the run has ended."""

    def end(self) -> None:
        """Start no further batch."""

    def stop(self, timeout_s: float = 30.0) -> None:
        """Stop after the current batch; interrupt the batch if it does not end within `timeout_s`."""

    def finish(self) -> None:
        """Complete a run that has stopped without a failure."""


class _Supervised:
    """One run, and the state of its supervision."""

    def __init__(self, run: Run, give_up_s: float) -> None:
        self.run = run
        self.is_running = False
        self.is_done = False
        self._give_up_s = give_up_s
        self._retry_s = _FIRST_RETRY_S
        self._retry_at_s = 0.0
        # Time of the first failure since the last success; None: no failure.
        self._failing_since_s: float | None = None
        self._seen_batch_count = 0

    def step(self, warn: Callable[[str], None], metrics: Metrics) -> None:
        """Start or poll the run, unless it waits for its next retry."""
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
        if self.run.is_refresh_failing:
            return
        if self.run.figures.batch_count > self._seen_batch_count or self.run.figures.lag_count == 0:
            self._seen_batch_count = self.run.figures.batch_count
            self._failing_since_s = None
            self._retry_s = _FIRST_RETRY_S

    def _note_failure(self, error: Exception, warn: Callable[[str], None], metrics: Metrics) -> None:
        self.run.stop(0)
        self.is_running = False
        now_s = time.monotonic()
        # Measured from the first failure, not from the last success: a single batch may take longer than `give_up_s`.
        self._failing_since_s = now_s if self._failing_since_s is None else self._failing_since_s
        if now_s - self._failing_since_s > self._give_up_s:
            raise RunFailedError(str(error)) from error
        warn(f"{self.run.figures.run} stopped ({error}); starting it again in {self._retry_s:.0f} s")
        self.run.figures.restart_count += 1
        metrics.restart(self.run.figures.run)
        self._retry_at_s = time.monotonic() + self._retry_s
        self._retry_s = min(2 * self._retry_s, _LONGEST_RETRY_S)


def run_jobs(
    spark: SparkSession,
    plans: Sequence[RunPlan],
    metrics: Metrics,
    report: Callable[[Figures], None],
    warn: Callable[[str], None],
    is_stopped: Callable[[], bool] = lambda: False,
    followers: Mapping[str, Follower] | None = None,
) -> list[JobRun]:
    """Run jobs until all have ended or `is_stopped`; return the stopped runs, first those whose tables others read.

    Args:
        spark: The session.
        plans: The plans of the runs.
        metrics: Records the figures.
        report: Called with the figures after each batch.
        warn: Called with a one-line warning for the operator.
        is_stopped: Polled: whether to stop after the current batches.
        followers: Followers of the derived tables, by the run's name; closed at the end.

    Raises:
        DataLossError: records were deleted before they were read, and the plan says to stop.
        TableError: a table refused the rows.
        RunFailedError: a run has failed for longer than its plan's `give_up_s`.
        Exception: an error of a follower.
    """
    followers = followers or {}
    with ExitStack() as stack:
        for follower in followers.values():
            stack.enter_context(closing(follower))
        plans = sorted(plans, key=lambda plan: len(_read_jobs(plan)))
        client_ids = [plan.kafka.options.get("client.id", "") for plan in plans]
        runs: list[JobRun] = []
        shared = SharedIngest(spark, [plan.run for plan in plans])
        turns = Turns(max(1, spark.sparkContext.defaultParallelism // 2))
        is_shared = len(plans) > 1 and any(plan.job.refresh for plan in plans)
        apart_s = TRIGGER_TOGETHER_S if is_shared else TRIGGER_S
        for plan in plans:
            if ignored := plan.kafka.ignored:
                warn(f"{plan.run}: these options of Kafka's Java clients are ignored: {', '.join(ignored)}")
            quotas = _quota_client_of(plan, client_ids, warn)
            if quotas is not None:
                stack.enter_context(quotas)
            cluster = stack.enter_context(closing(Cluster(plan.kafka)))
            own = followers.get(plan.run)
            run = JobRun(spark, plan, cluster, metrics, report, warn, own, quotas, shared, turns, apart_s)
            run.feeders = [each for each in runs if each.plan.job.name in _read_jobs(plan)]
            runs.append(run)
        supervise(runs, [plan.give_up_s for plan in plans], metrics, warn, is_stopped)
        return runs


def _quota_client_of(plan: RunPlan, peers: Sequence[str], warn: Callable[[str], None]) -> QuotaClient | None:
    """Return the client that requests a run's quotas; None if its batches are not sized by quotas."""
    return QuotaClient(plan.kafka, lambda text: warn(f"{plan.run}: {text}"), peers) if plan.keeps_quotas else None


def _read_jobs(plan: RunPlan) -> set[str]:
    """Return the jobs whose tables a run reads; these jobs read no tables of other jobs."""
    return {each.job for each in plan.job.inputs if isinstance(each, TableInput)}


def supervise(
    runs: Sequence[Run],
    give_up_s: Sequence[float],
    metrics: Metrics,
    warn: Callable[[str], None],
    is_stopped: Callable[[], bool],
) -> None:
    """Start runs, and restart them after transient failures, until all have ended or `is_stopped`; then stop all.

    Args:
        runs: The runs.
        give_up_s: For each run, how long it may fail.
        metrics: Records the restarts.
        warn: Called with a one-line warning for the operator.
        is_stopped: Polled: whether to stop after the current batches.

    Raises:
        RunFailedError: a run has failed for longer than its `give_up_s`.
    """
    supervised = [_Supervised(run, patience_s) for run, patience_s in zip(runs, give_up_s, strict=True)]
    try:
        is_over = False
        while not is_over and not all(each.is_done for each in supervised):
            for each in supervised:
                # Asked before each step, because a step takes 20 s if the cluster does not answer.
                is_over = is_over or is_stopped()
                if not is_over and not each.is_done:
                    each.step(warn, metrics)
            time.sleep(_POLL_S)
        for each in supervised:
            each.run.end()
        for each in supervised:
            if each.is_running:
                each.run.stop()
                each.run.finish()
    finally:
        for each in supervised:
            if each.is_running:
                each.run.stop(0)
