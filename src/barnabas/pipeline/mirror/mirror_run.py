"""One source of a mirror as it runs: a streaming query whose place is in the target.

    source's topics ─► a Spark task per partition ─► records and places, in transactions (`task.py`, `writer.py`)

Spark's own checkpoint is made anew at each start and holds nothing of worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.pipeline.mirror.plan import MirrorPlan, check_clusters, is_mirrored
from barnabas.pipeline.mirror.rows import COLUMNS, packed_records
from barnabas.pipeline.mirror.standing import Standing
from barnabas.pipeline.mirror.table import MirrorFencedError
from barnabas.pipeline.mirror.targets import Targets
from barnabas.pipeline.mirror.task import MirrorTask, TaskReport, mirror_partition
from barnabas.pipeline.mirror.writer import Hint, PartitionWriter
from barnabas.pipeline.mirror.writes import Writes
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.bounds import start_offsets
from barnabas.pipeline.runner.checkpoint import Files, planned_offsets
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, NoSuchTopicError
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.inputs import read_stream
from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES
from barnabas.pipeline.runner.pacer import Debt, Pacer
from barnabas.pipeline.runner.plan import Bound, PlanError
from barnabas.pipeline.runner.positions import Extents, lag_of, merged
from barnabas.pipeline.runner.query import QueryStoppedError, first_line, matching_topics
from barnabas.pipeline.runner.reading import Reading
from barnabas.pipeline.runner.supervisor import pacer_of, supervise
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LAG_EVERY_S = 5.0
_TOPICS_EVERY_S = 10.0
_STATUS_EVERY_S = 2.0
_STATUS_FILE = "status.json"
# A batch has so long to end before it is interrupted.
_STOP_S = 30.0
_INTERRUPTED_S = 60.0
# Of a batch without a limit: a few seconds' work, as progress is told, and a stop waited for, between two batches.
_BATCH_OFFSETS = 100_000


class MirrorRun:
    """One source into the target. Everything happens in `poll`'s thread, but for the batches, which are Spark's."""

    def __init__(
        self,
        spark: SparkSession,
        plan: MirrorPlan,
        source: Cluster,
        target: Cluster,
        metrics: Metrics,
        report: Callable[[Figures], None],
        warn: Callable[[str], None],
        pacers: tuple[Pacer | None, Pacer | None] = (None, None),
    ) -> None:
        """Nothing is read or written yet.

        Args:
            spark: The session.
            plan: What to mirror.
            source: The plan's source.
            target: The plan's target.
            metrics: Takes the figures.
            report: Called with the figures after each batch, in the batch's thread.
            warn: Told in one line what a person should know.
            pacers: Keep to the quotas at the source and at the target; None: they are left to the brokers.
        """
        self.plan = plan
        self.figures = Figures(plan.run)
        self._spark = spark
        self._source = source
        self._metrics = metrics
        self._report = report
        self._warn = warn
        self._targets = Targets(plan, source, target, warn)
        self._target = target
        self._standing = Standing(plan, source, warn)
        self._files = Files(spark, plan.own_checkpoint)
        self._reading = Reading(plan, pacers[0], slot_count=spark.sparkContext.defaultParallelism)
        self._writes = Writes(pacers[1])
        self._query: StreamingQuery | None = None
        self._failure: Exception | None = None
        self._is_busy = False
        # It is about to be started again, however long its batch takes: by then.
        self._restarts_by_s: float | None = None
        self._target_id = ""
        self._topics: list[str] = []
        self._starts: Offsets = {}
        # What the plan's start means, until it is in the table; None: not known yet.
        self._chosen: Offsets | None = None
        self._tokens: dict[tuple[str, int], str] = {}
        self._extents: Extents = {}
        self._next_lag_s = self._next_topics_s = self._next_status_s = 0.0

    def close(self) -> None:
        """Let go of the connections."""
        self._standing.table.close()

    @property
    def source_cluster_id(self) -> str:
        """The source's own id; empty before the first `start`."""
        return self._standing.source_cluster_id

    def start(self) -> None:
        """Start the query where the target's table stands.

        Raises:
            MirrorFencedError: a later process mirrors the same source under the same name.
            DataLossError: records are gone before they were mirrored, and the plan says to stop.
            NoSuchTopicError: none of the topics is there.
            ClusterUnavailableError: a cluster did not answer.
            PlanError: it can't be as asked.
        """
        self._failure = None
        self._restarts_by_s = None
        source_id, self._target_id = self._source.cluster_id(), self._target.cluster_id()
        check_clusters(self.plan, source_id, self._target_id)
        self._topics = self._find_topics()
        self._targets.forget()
        self._targets.prepare_table()
        self._standing.claim(source_id)
        extents = self._source.extents(self._topics)
        self._targets.prepare(
            {topic: {number: each.end_offset for number, each in found.items()} for topic, found in extents.items()}
        )
        self._reading.begin(self._topics)
        self._writes.begin([self.plan.target_topic(topic) for topic in self._topics])
        starts = self.figures.positions = self._find_starts(extents)
        self._extents = extents
        self._tokens.clear()
        self._query = self._start_query(starts)
        self._next_topics_s = time.monotonic() + _TOPICS_EVERY_S
        self.figures.state = "running"

    def poll(self) -> bool:
        """Look after the query; True when it has come to its end.

        Raises:
            QueryStoppedError: the query has failed; `start` can be tried again.
            MirrorFencedError: a later process mirrors the same source under the same name.
            PlanError: it can't go on as asked.
        """
        if self._restarts_by_s is not None:
            self._go_on_restarting(self._restarts_by_s)
            return False
        now = time.monotonic()
        if now >= self._next_lag_s:
            self._measure_lag()
            self._next_lag_s = now + _LAG_EVERY_S
        if now >= self._next_status_s:
            self._files.write(_STATUS_FILE, self.figures.to_json())
            self._next_status_s = now + _STATUS_EVERY_S
        if self._query is None or not self._query.isActive:
            self._raise_failure()
            return True
        if why := self._reading.reason_to_restart() or self._writes.reason_to_restart():
            self._restart(why)
        elif now >= self._next_topics_s:
            self._next_topics_s = now + _TOPICS_EVERY_S
            if self._find_topics() != self._topics:
                self._restart("there are other topics than before")
            elif self._reading.leaves_out(self._extents):
                self._restart("topics have more partitions than before")
        return False

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """Stop the query, between two batches if the one under way ends in time."""
        deadline = time.monotonic() + timeout_s
        query, self._query = self._query, None
        if query is not None:
            while self._is_busy and time.monotonic() < deadline and query.isActive:
                time.sleep(0.02)
            self._reading.end()
            query.stop()
            # What was interrupted comes to its end: the next start asks the same table.
            deadline = time.monotonic() + _INTERRUPTED_S
            while self._is_busy and time.monotonic() < deadline:
                time.sleep(0.02)
        self.figures.state = "stopped"

    def finish(self) -> None:
        """Note how far it came."""
        self._measure_lag()
        self._files.write(_STATUS_FILE, self.figures.to_json())

    # Where it stands.

    def _find_topics(self) -> list[str]:
        there = [topic for topic in self._source.topics() if is_mirrored(topic)]
        found = matching_topics(there, self.plan.topics)
        if not found:
            raise NoSuchTopicError(f"{self.plan.run}: none of its topics is there: {', '.join(self.plan.topics)}")
        return found

    def _find_starts(self, extents: Extents) -> Offsets:
        """Give where each partition goes on, or begins."""
        positions = self._standing.positions(extents)
        if self._chosen is None:
            # The plan's start is for a mirror that has nothing yet: what comes later is mirrored from its first record.
            is_first = not positions and self.plan.start != Bound()
            self._chosen = start_offsets(self._source, self.plan.start, extents) if is_first else {}
        if self._chosen:
            self._standing.begin(self._chosen)
            self._chosen = {}
            positions = self._standing.positions(extents)
        initial = start_offsets(self._source, Bound(), extents)
        return {
            topic: {number: positions.get(topic, {}).get(number, initial[topic][number]) for number in partitions}
            for topic, partitions in extents.items()
        }

    # The query.

    def _start_query(self, starts: Offsets) -> StreamingQuery:
        plans = self._reading.sources(starts)
        trigger_s = self._reading.trigger_s()
        most = self._writes.offsets_per_batch(trigger_s, self._reading.record_bytes, _BATCH_OFFSETS) // len(plans)
        plans = [replace(each, max_offsets=max(1, min(each.max_offsets or most, most))) for each in plans]
        records = read_stream(self._spark, self.plan.source, plans, columns=COLUMNS)
        checkpoint = f"{self.plan.own_checkpoint}/batches"
        files = Files(self._spark, checkpoint)
        files.remove()
        self._starts = starts

        def do_batch(batch: DataFrame, batch_id: int) -> None:
            # Where nothing is done Spark takes the batch for done: its checkpoint is nothing that anybody goes on from.
            if not self._reading.begin_batch():
                return
            self._writes.begin_batch()
            self._is_busy = True
            try:
                debts = self._do_batch(batch, batch_id, planned_offsets(files, batch_id))
            except Exception as error:
                # Spark would give on its text alone.
                self._failure = error
                raise
            finally:
                self._is_busy = False
            self._reading.settle(debts[0])
            self._writes.settle(debts[1], self._reading.stopped)

        writer = records.writeStream.foreachBatch(do_batch).queryName(self.plan.run)
        writer = writer.option("checkpointLocation", checkpoint)
        if self.plan.is_once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds").start()

    def _do_batch(self, records: DataFrame, batch_id: int, ends: Offsets) -> tuple[Debt | None, Debt | None]:
        began_s = time.monotonic()
        self._targets.prepare(ends)
        self._standing.table.refresh()
        self._standing.check()
        task = self._task(ends)

        def mirror(packed: Iterable[bytes]) -> Iterator[TaskReport]:
            return mirror_partition(task, packed)

        read_from_s = time.monotonic()
        with self._reading.while_read():
            reports = packed_records(records).mapPartitions(mirror).collect()
        read_s = time.monotonic() - read_from_s
        for each in reports:
            if each.failure:
                raise (MirrorFencedError if each.is_fenced else QueryStoppedError)(each.failure)
            self._tokens[each.topic, each.partition] = each.token
        self._pass_over(task, {(each.topic, each.partition) for each in reports})
        self._starts = merged(self._starts, ends)
        return self._take(
            BatchReport(
                batch_id,
                sum(each.record_count for each in reports),
                0,
                sum(each.payload_bytes for each in reports),
                time.monotonic() - began_s,
                ends,
                sizes_of(reports),
                read_from_s - began_s,
                read_s,
            ),
            sum(each.skipped_count for each in reports),
        )

    def _task(self, ends: Offsets) -> MirrorTask:
        table = self._standing.table
        hints: dict[str, dict[int, Hint]] = {}
        for topic, partitions in ends.items():
            for number, end_offset in partitions.items():
                source = self._standing.partition(topic, number)
                extent = self._extents.get(topic, {}).get(number)
                log_start = extent.start_offset if extent else 0
                segments = table.offsets.segments.get(source, {})
                hints.setdefault(topic, {})[number] = Hint(
                    table.offsets.places.get(source),
                    table.read_offset,
                    self._starts.get(topic, {}).get(number, 0),
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
            self._standing.generation,
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

    # While it runs.

    def _take(self, report: BatchReport, skipped_count: int) -> tuple[Debt | None, Debt | None]:
        self.figures.add(report)
        self.figures.skipped_count += skipped_count
        self.figures.positions = merged(self.figures.positions, report.ends)
        self._tell_lag()
        read = self._reading.account(report)
        written = self._writes.owe({self.plan.target_topic(topic): sizes for topic, sizes in report.sizes.items()})
        self.figures.limited_by = (written.limit if written else "") or self._reading.limited_by
        self._metrics.batch(self.plan.run, report)
        self._report(self.figures)
        return read, written

    def _restart(self, why: str) -> None:
        """Begin to start it again; `_go_on_restarting` does the rest."""
        self._warn(f"{self.plan.run}: {why}; starting again")
        self._reading.end()
        self._restarts_by_s = time.monotonic() + _STOP_S

    def _go_on_restarting(self, by_s: float) -> None:
        """Start it again once the batch under way has ended; meanwhile other runs are looked after."""
        if self._is_busy and time.monotonic() < by_s:
            return
        if self._failure is not None:
            # One that was fenced would fence the other in turn.
            self._raise_failure()
        self.stop(0.0)
        self.start()

    def _raise_failure(self) -> None:
        if isinstance(self._failure, (MirrorFencedError, PlanError, ClusterUnavailableError)):
            raise self._failure
        error = None if self._query is None else self._query.exception()
        if error is not None:
            raise QueryStoppedError(first_line(self._failure or error))

    def _measure_lag(self) -> None:
        try:
            self._extents = self._source.extents(self._topics)
        except ClusterUnavailableError:
            # The query says so itself, if it lasts.
            return
        self._tell_lag()

    def _tell_lag(self) -> None:
        self.figures.lag = lag_of(self.figures.positions, self._extents)
        self._metrics.lag(self.plan.run, self.figures.lag)


def sizes_of(reports: Iterable[TaskReport]) -> Mapping[str, Mapping[int, int]]:
    """Give the bytes of what was mirrored by topic and partition of the source, about as brokers store it."""
    sizes: dict[str, dict[int, int]] = {}
    for each in reports:
        size = each.payload_bytes + RECORD_OVERHEAD_BYTES * each.record_count
        sizes.setdefault(each.topic, {})[each.partition] = size
    return sizes


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
            pacers = (
                pacer_of(plan.source, source_ids, plan, warn),
                pacer_of(plan.target, target_ids, plan, warn),
            )
            for pacer in pacers:
                if pacer is not None:
                    stack.enter_context(pacer)
            run = MirrorRun(spark, plan, source, target, metrics, report, warn, pacers)
            runs.append(stack.enter_context(closing(run)))
        supervise(runs, [plan.give_up_s for plan in plans], metrics, warn, is_stopped)
        return runs
