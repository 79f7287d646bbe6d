"""One source of a mirror as it runs: batches whose place is in the target.

a batch: ranges of offsets ─► a Spark task for each ─► the engine: source ─► target, places in its table (`task.py`)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, TypeVar

from barnabas.clients.mirror.mirror import is_passing
from barnabas.clients.mirror.partition import Link, Mirrored, UnmirrorableError
from barnabas.clients.mirror.plan import MirrorFencedError, RecordsLostError
from barnabas.clients.mirror.progress import MirrorProgress, ends_of
from barnabas.clients.mirror.source_log import FETCH_BYTES
from barnabas.clients.positions import PlanError, merged
from barnabas.core.errors import BarnabasError
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.mirror.task import MirrorRange, MirrorTask, TaskReport, mirror_ranges
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_run import BatchRun
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.pace import Allowance, Pace
from barnabas.pipeline.runner.query import QueryStoppedError
from barnabas.pipeline.runner.quota import READ, WRITE
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.supervisor import quota_client_of, supervise
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

# Of a batch without a limit, for each core: some seconds' work, as progress is told, and a stop is waited for, between
# two batches.
_BATCH_OFFSETS = 250_000


class MirrorRun(BatchRun):
    """One source into the target."""

    _TOPICS_EVERY_S = 10.0
    _INTERRUPTED_S = 60.0
    # One that was fenced would fence the other in turn.
    _FINAL_ERRORS = (MirrorFencedError, PlanError, RecordsLostError, UnmirrorableError, ClusterUnavailableError)

    def __init__(
        self,
        spark: SparkSession,
        plan: MirrorPlan,
        source: Cluster,
        metrics: Metrics,
        report: Callable[[Figures], None],
        warn: Callable[[str], None],
        quotas: tuple[QuotaClient | None, QuotaClient | None] = (None, None),
    ) -> None:
        """Nothing is read or written yet.

        Args:
            spark: The session.
            plan: What to mirror.
            source: The plan's source.
            metrics: Takes the figures.
            report: Called with the figures after each batch, in the batches' thread.
            warn: Told in one line what a person should know.
            quotas: At the source and at the target; None: they are left to the brokers.
        """
        allowances = [
            Allowance(each, kind) for each, kind in zip(quotas, (READ, WRITE), strict=True) if each is not None
        ]
        pace = Pace(plan, allowances, _BATCH_OFFSETS)
        super().__init__(plan.run, spark, Files(spark, plan.own_checkpoint), source, pace, metrics, report, warn)
        self.plan = plan
        self._runner = asyncio.Runner()
        self._link = Link(plan.engine_plan())
        self._progress = MirrorProgress(self._link, warn)
        self._tokens: dict[tuple[str, int], str] = {}

    def close(self) -> None:
        """Let go of the connections."""
        self._runner.run(self._link.close())
        self._runner.close()

    @property
    def source_cluster_id(self) -> str:
        """The source's own id; empty before the first `start`."""
        return self._link.source_id

    def _find_topics(self) -> list[str]:
        self._ask(self._progress.look())
        return list(self._progress.extents)

    def _begin(self) -> None:
        self.figures.positions = self._ask(self._progress.begin())
        self._extents = self._progress.extents
        if self._targets is None and self.plan.is_once:
            self._targets = ends_of(self._extents)
        self._tokens.clear()

    def _do_batch(self, starts: Offsets, ends: Offsets) -> BatchReport:
        began_s = time.monotonic()
        self._ask(self._progress.measure())
        self._ask(self._progress.check())
        link = self._link
        fetch_bytes = self._pace.fetch_bytes or FETCH_BYTES
        task = MirrorTask(link.plan, link.source_id, link.target_id, link.generation, fetch_bytes)
        ranges = list(self._ranges(starts, ends))

        def mirror(some: Iterable[MirrorRange]) -> Iterator[TaskReport]:
            return mirror_ranges(task, some)

        reports = self._spark.sparkContext.parallelize(ranges, len(ranges)).mapPartitions(mirror).collect()
        reached: Offsets = {}
        mirrored: list[Mirrored] = []
        for each in reports:
            if each.done is None:
                raise _error_of(each)
            self._tokens[each.topic, each.partition] = each.token
            reached.setdefault(each.topic, {})[each.partition] = each.done.position
            mirrored.append(each.done)
        self.figures.skipped_count += sum(each.skipped_count for each in mirrored)
        return BatchReport(
            sum(each.record_count for each in mirrored),
            0,
            sum(each.payload_bytes for each in mirrored),
            time.monotonic() - began_s,
            merged(ends, reached),
        )

    def _ranges(self, starts: Offsets, ends: Offsets) -> Iterator[MirrorRange]:
        for topic, partitions in ends.items():
            for number, end_offset in partitions.items():
                start_offset = starts[topic][number]
                if start_offset < end_offset:
                    forgotten = tuple(self._progress.forgotten(topic, number))
                    token = self._tokens.get((topic, number), "")
                    yield MirrorRange(topic, number, start_offset, end_offset, forgotten, token)

    def _ask(self, call: Coroutine[object, object, T]) -> T:
        """Wait for what the engine asks the clusters. Raises ClusterUnavailableError: it may be asked again later."""
        try:
            return self._runner.run(call)
        except BarnabasError as error:
            if is_passing(error):
                raise ClusterUnavailableError(f"{self.plan.run}: {error}") from None
            raise


def _error_of(report: TaskReport) -> Exception:
    if report.is_fenced:
        return MirrorFencedError(report.failure)
    return UnmirrorableError(report.failure) if report.is_final else QueryStoppedError(report.failure)


def run_mirrors(
    spark: SparkSession,
    plans: Sequence[MirrorPlan],
    metrics: Metrics,
    report: Callable[[Figures], None],
    warn: Callable[[str], None],
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[MirrorRun]:
    """Mirror several sources until all have ended, or are to stop; gives them, stopped.

    Args:
        spark: The session.
        plans: What to mirror, a plan for each source.
        metrics: Takes the figures.
        report: Called after each batch.
        warn: Told in one line what a person should know.
        is_stopped: Asked again and again: whether to end now, between two batches.

    Raises:
        RecordsLostError: records are gone before they were mirrored, and the plan says to stop.
        MirrorFencedError: another process mirrors a source under the same name.
        UnmirrorableError: something of a source can't be in the target.
        PlanError: it can't be as asked.
        RunFailedError: a mirror has got nowhere for longer than its plan's `give_up_s`.
    """
    source_ids = [plan.source.options.get("client.id", "") for plan in plans]
    target_ids = [plan.target.options.get("client.id", "") for plan in plans]
    with ExitStack() as stack:
        runs = []
        for plan in plans:
            source = stack.enter_context(closing(Cluster(spark, plan.source)))
            quotas = (
                quota_client_of(plan.source, source_ids, plan, warn),
                quota_client_of(plan.target, target_ids, plan, warn),
            )
            for each in quotas:
                if each is not None:
                    stack.enter_context(each)
            run = MirrorRun(spark, plan, source, metrics, report, warn, quotas)
            runs.append(stack.enter_context(closing(run)))
        supervise(runs, [plan.give_up_s for plan in plans], metrics, warn, is_stopped)
        return runs
