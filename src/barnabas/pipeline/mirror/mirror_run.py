"""One source of a mirror as it runs: batches whose place is in the target.

source's topics ─► a Spark task per partition ─► records and places, in transactions (`task.py`, `writer.py`)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from barnabas.clients.positions import Extents
from barnabas.pipeline.mirror.mirror_progress import MirrorProgress
from barnabas.pipeline.mirror.plan import MirrorPlan, check_clusters, is_mirrored
from barnabas.pipeline.mirror.rows import COLUMNS, packed_records
from barnabas.pipeline.mirror.table import MirrorFencedError
from barnabas.pipeline.mirror.targets import Targets
from barnabas.pipeline.mirror.task import MirrorTask, TaskReport, mirror_partition
from barnabas.pipeline.mirror.writer import Hint, PartitionWriter
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_run import BatchRun
from barnabas.pipeline.runner.bounds import start_offsets
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, NoSuchTopicError
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.inputs import read_records
from barnabas.pipeline.runner.pace import Allowance, Pace
from barnabas.pipeline.runner.plan import Bound, PlanError
from barnabas.pipeline.runner.query import QueryStoppedError, matching_topics
from barnabas.pipeline.runner.quota import READ, WRITE
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.supervisor import quota_client_of, supervise
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of a batch without a limit, for each core: a few seconds' work, as progress is told, and a stop is waited for, between
# two batches.
_BATCH_OFFSETS = 50_000


class MirrorRun(BatchRun):
    """One source into the target."""

    _TOPICS_EVERY_S = 10.0
    _INTERRUPTED_S = 60.0
    # One that was fenced would fence the other in turn.
    _FINAL_ERRORS = (MirrorFencedError, PlanError, ClusterUnavailableError)

    def __init__(
        self,
        spark: SparkSession,
        plan: MirrorPlan,
        source: Cluster,
        target: Cluster,
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
            target: The plan's target.
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
        self._topics = Targets(plan, source, target, warn)
        self._target = target
        self._progress = MirrorProgress(plan, source, warn)
        self._target_id = ""
        # What the plan's start means, until it is in the table; None: not known yet.
        self._chosen: Offsets | None = None
        self._tokens: dict[tuple[str, int], str] = {}

    def close(self) -> None:
        """Let go of the connections."""
        self._progress.table.close()

    @property
    def source_cluster_id(self) -> str:
        """The source's own id; empty before the first `start`."""
        return self._progress.source_cluster_id

    def _begin(self) -> None:
        source_id, self._target_id = self._source.cluster_id(), self._target.cluster_id()
        check_clusters(self.plan, source_id, self._target_id)
        topics = self._find_topics()
        self._topics.forget()
        self._topics.prepare_table()
        self._progress.claim(source_id)
        extents = self._source.extents(topics)
        ends = {topic: {number: each.end_offset for number, each in found.items()} for topic, found in extents.items()}
        self._topics.prepare(ends)
        if self._targets is None and self.plan.is_once:
            self._targets = ends
        self.figures.positions = self._find_starts(extents)
        self._extents = extents
        self._tokens.clear()

    # Where it stands.

    def _find_topics(self) -> list[str]:
        there = [topic for topic in self._source.topics() if is_mirrored(topic)]
        found = matching_topics(there, self.plan.topics)
        if not found:
            raise NoSuchTopicError(f"{self.plan.run}: none of its topics is there: {', '.join(self.plan.topics)}")
        return found

    def _find_starts(self, extents: Extents) -> Offsets:
        """Return where each partition goes on, or begins."""
        positions = self._progress.positions(extents)
        if self._chosen is None:
            # The plan's start is for a mirror that has nothing yet: what comes later is mirrored from its first record.
            is_first = not positions and self.plan.start != Bound()
            self._chosen = start_offsets(self._source, self.plan.start, extents) if is_first else {}
        if self._chosen:
            self._progress.begin(self._chosen)
            self._chosen = {}
            positions = self._progress.positions(extents)
        initial = start_offsets(self._source, Bound(), extents)
        return {
            topic: {number: positions.get(topic, {}).get(number, initial[topic][number]) for number in partitions}
            for topic, partitions in extents.items()
        }

    # Its batches.

    def _do_batch(self, starts: Offsets, ends: Offsets) -> BatchReport:
        began_s = time.monotonic()
        self._topics.prepare(ends)
        self._progress.table.refresh()
        self._progress.check()
        task = self._task(starts, ends)
        readers, fetch_bytes = self._readers, self._pace.fetch_bytes
        records = read_records(self._spark, self.plan.source, starts, ends, readers, fetch_bytes, COLUMNS)

        def mirror(packed: Iterable[bytes]) -> Iterator[TaskReport]:
            return mirror_partition(task, packed)

        reports = packed_records(records).mapPartitions(mirror).collect()
        for each in reports:
            if each.failure:
                raise (MirrorFencedError if each.is_fenced else QueryStoppedError)(each.failure)
            self._tokens[each.topic, each.partition] = each.token
        self._pass_over(task, {(each.topic, each.partition) for each in reports})
        self.figures.skipped_count += sum(each.skipped_count for each in reports)
        return BatchReport(
            sum(each.record_count for each in reports),
            0,
            sum(each.payload_bytes for each in reports),
            time.monotonic() - began_s,
            ends,
        )

    def _task(self, starts: Offsets, ends: Offsets) -> MirrorTask:
        table = self._progress.table
        hints: dict[str, dict[int, Hint]] = {}
        for topic, partitions in ends.items():
            for number, end_offset in partitions.items():
                source = self._progress.partition(topic, number)
                extent = self._extents.get(topic, {}).get(number)
                log_start = extent.start_offset if extent else 0
                segments = table.offsets.segments.get(source, {})
                hints.setdefault(topic, {})[number] = Hint(
                    table.offsets.places.get(source),
                    table.read_offset,
                    starts[topic][number],
                    end_offset,
                    self._tokens.get((topic, number), ""),
                    tuple((first, each.end_offset) for first, each in segments.items() if each.end_offset <= log_start),
                )
        return MirrorTask(
            self.plan.name,
            self.plan.alias,
            self.source_cluster_id,
            self._target_id,
            self.plan.target,
            self.plan.topic_prefix,
            self._progress.generation,
            hints,
        )

    def _pass_over(self, task: MirrorTask, reported: set[tuple[str, int]]) -> None:
        """Move the places of partitions whose range held no record at all: markers, and what was aborted."""
        for topic, hints in task.hints.items():
            for number, hint in hints.items():
                if hint.start_offset < hint.end_offset and (topic, number) not in reported:
                    with closing(PartitionWriter(task.route(topic, number), hint)) as writer:
                        if writer.position < hint.end_offset:
                            writer.commit(hint.end_offset, None)
                    self._tokens.pop((topic, number), None)


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
        DataLossError: records are gone before they were mirrored, and the plan says to stop.
        MirrorFencedError: another process mirrors a source under the same name.
        PlanError: it can't be as asked.
        RunFailedError: a mirror has got nowhere for longer than its plan's `give_up_s`.
    """
    source_ids = [plan.source.options.get("client.id", "") for plan in plans]
    target_ids = [plan.target.options.get("client.id", "") for plan in plans]
    with ExitStack() as stack:
        runs = []
        for plan in plans:
            source, target = (
                stack.enter_context(closing(Cluster(spark, options))) for options in (plan.source, plan.target)
            )
            quotas = (
                quota_client_of(plan.source, source_ids, plan, warn),
                quota_client_of(plan.target, target_ids, plan, warn),
            )
            for each in quotas:
                if each is not None:
                    stack.enter_context(each)
            run = MirrorRun(spark, plan, source, target, metrics, report, warn, quotas)
            runs.append(stack.enter_context(closing(run)))
        supervise(runs, [plan.give_up_s for plan in plans], metrics, warn, is_stopped)
        return runs
