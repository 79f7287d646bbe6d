"""The run of one job: start positions, batches, derived results, end.

Its tables store its progress; a job that only writes topics has a progress file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from barnabas.clients.positions import Extents, LostRange, clamped, earliest_of, is_reached, merged
from barnabas.pipeline.ingest.shared import SharedIngest
from barnabas.pipeline.job import PLACE, Job, Mode, Parameters, TableInput, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner.aggregates import KnownFiles, of_one_refresh
from barnabas.pipeline.runner.batch import BatchReport, BatchRunner
from barnabas.pipeline.runner.batch_run import BatchRun, QueryStoppedError
from barnabas.pipeline.runner.batch_size import TRIGGER_S, BatchSizer
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, NoSuchTopicError
from barnabas.pipeline.runner.data_loss import (
    DataLossError,
    absent_positions,
    find_losses,
    keep_losses,
    not_reported,
    resume_offsets,
)
from barnabas.pipeline.runner.dead_letters import DeadLetters
from barnabas.pipeline.runner.freshness import Freshness
from barnabas.pipeline.runner.inputs import input_topics, not_there
from barnabas.pipeline.runner.maintenance import Maintenance
from barnabas.pipeline.runner.outputs import TableWriter, open_tables, table_location
from barnabas.pipeline.runner.plan import Delivery, OnDataLoss, PlanError, RunPlan
from barnabas.pipeline.runner.positions import (
    Starts,
    ends_of,
    start_offsets,
    store_offsets,
    stored_offsets,
    target_offsets,
    without_open_transactions,
)
from barnabas.pipeline.runner.progress_file import ProgressFile, Span
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.refresh import Follower, refresh
from barnabas.pipeline.runner.retention import Retention
from barnabas.pipeline.runner.run_metrics import Figures, Metrics
from barnabas.pipeline.runner.staging import Staging
from barnabas.pipeline.runner.topic_output import TopicWriter
from barnabas.pipeline.runner.turns import Turns
from barnabas.pipeline.spark.jvm_errors import reason_of
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Offsets, Progress, Table, TableError, TableUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Positions of partitions that did not exist at the last start: their loss is reported.
_ABSENT_FILE = "absent.json"
_SETTLE_S = 30.0
# Interval at which a run that waits for others checks whether they, or the run itself, should end.
_LOOK_S = 0.2


class JobRun(BatchRun):
    """One job in a session.

    Attributes:
        feeders: Runs in the session whose tables this job reads. This job refreshes and ends after them.
        is_concluded: Whether all records up to the end are read, and all results derived.
    """

    _TOPICS_EVERY_S = 30.0
    _INTERRUPTED_S = 5.0
    _FINAL_ERRORS = (TableError, DataLossError)

    def __init__(
        self,
        spark: SparkSession,
        plan: RunPlan,
        cluster: Cluster,
        metrics: Metrics,
        report: Callable[[Figures], None],
        warn: Callable[[str], None],
        follower: Follower | None = None,
        quotas: QuotaClient | None = None,
        shared: SharedIngest | None = None,
        turns: Turns | None = None,
        apart_s: float = TRIGGER_S,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is read or written yet.

        Args:
            spark: The session.
            plan: The run's plan.
            cluster: The plan's cluster.
            metrics: Records the figures.
            report: Called with the figures after each batch, in the batch thread.
            warn: Called with a one-line warning for the operator.
            follower: Acts on the derived tables; the caller closes it.
            quotas: The quotas of the run's user and client id; None: batches are not sized by them.
            shared: Reads topics for all jobs of the session; None: this is the only job.
            turns: Schedules the refreshes of all jobs of the session; None: this is the only job.
            apart_s: The least seconds between the starts of two batches, see `BatchSizer`.
            now_s: The clock of the looks for partitions.
        """
        files = Files(plan.job_checkpoint, _store_of(spark, plan.job_checkpoint))
        super().__init__(plan.run, spark, files, cluster, BatchSizer(plan, quotas, apart_s), metrics, report, warn)
        self.plan = plan
        self.feeders: Sequence[JobRun] = ()
        self.is_concluded = False
        self._fed_count = 0
        self._cluster = cluster
        self._follower = follower
        self._parameters: Parameters = {**plan.job.defaults(), **plan.parameters}
        self._quotas = quotas
        self._shared = shared or SharedIngest(spark)
        self._turns = turns or Turns()
        self._cluster_id = ""
        self._starts = Starts(plan, cluster, files)
        # Partitions with a target that did not exist at the start, by topic.
        self._awaited: dict[str, set[int]] = {}
        # When the run last looked for partitions; and when one with a target was first missing, by topic.
        self._now_s = now_s
        self._looked_s = now_s()
        self._missing_s: dict[str, dict[int, float]] = {}
        self._is_stale = True
        self.is_refresh_failing = False
        self._last_refresh_s = -inf
        self._freshness = Freshness()
        self._maintenance = Maintenance(plan.compact_every)
        self._job: Job = plan.job
        self._inputs: dict[str, TopicInput] = {}
        self._writers: dict[str, TableWriter] = {}
        self._derived: dict[str, TableWriter] = {}
        self._known_files = KnownFiles()
        self._runner: BatchRunner | None = None

    def start(self) -> None:
        """Start at the job's stored progress, and start the follower."""
        if self._follower is not None:
            self._follower.start()
        self._shared.join(self.plan.run)
        try:
            super().start()
        except BaseException:
            self._shared.leave(self.plan.run)
            raise

    def poll(self) -> bool:
        """Poll the run and the follower; return True when the run has ended."""
        if self._follower is not None:
            self._follower.poll()
        return super().poll()

    def _begin(self) -> None:
        self._looked_s = self._now_s()
        self._cluster_id = self._cluster.cluster_id()
        self._inputs = self._find_inputs()
        self._open_outputs()
        has_end, known = self.plan.is_once or self.plan.until is not None, self._targets or {}
        # Before the extents: records that are written meanwhile must not look like an open transaction.
        partitions = self._cluster.partitions(self._inputs) if has_end else {}
        unknown = {topic: set(numbers) - known.get(topic, {}).keys() for topic, numbers in partitions.items()}
        log_ends = self._cluster.log_ends(unknown) if any(unknown.values()) else {}
        self._extents = self._cluster.extents(self._inputs)
        new = {
            topic: {number: extent for number, extent in own.items() if number not in known.get(topic, {})}
            for topic, own in self._extents.items()
        }
        if has_end and (self._targets is None or any(new.values())):
            targets = target_offsets(self.plan, self._cluster, new, self._warn)
            if self.plan.is_once:
                targets = clamped(ends_of(new), targets)
            if targets is not None:
                if self._targets is None:
                    self._awaited = {topic: own.keys() - new.get(topic, {}) for topic, own in targets.items()}
                targets = without_open_transactions(self.plan.run, targets, new, log_ends, self._warn)
                self._targets = merged(targets, known)
        self._missing_s = {
            topic: {
                number: self._missing_s.get(topic, {}).get(number, self._looked_s)
                for number in own.keys() - self._extents.get(topic, {}).keys() - self._awaited.get(topic, set())
            }
            for topic, own in (self._targets or {}).items()
        }
        self._find_positions(self._extents)

    def _is_derivation_due(self) -> bool:
        if self.plan.is_once or time.monotonic() - self._last_refresh_s < self.plan.refresh_s:
            return False
        self._follow_feeders()
        return self._is_stale and self._job.refresh is not None

    def _derive(self) -> None:
        with self._turns.taken(self._is_ending) as is_taken:
            if is_taken:
                self.refresh()

    def _conclude(self) -> None:
        self._shared.leave(self.plan.run)
        while not all(each.is_concluded for each in self.feeders):
            if self._is_ending.wait(_LOOK_S):
                return
        self._follow_feeders()
        self.refresh()
        self.is_concluded = True

    def _follow_feeders(self) -> None:
        fed_count = sum(each.figures.refresh_count for each in self.feeders)
        if fed_count != self._fed_count:
            self._fed_count, self._is_stale = fed_count, True

    def refresh(self) -> None:
        """Recompute the derived results if the job's tables, or the tables of other jobs that it reads, have changed.

        Raises:
            ClusterUnavailableError: the cluster did not answer, or did not create a topic; try again.
            QueryStoppedError: Spark failed, for example because an executor was lost; try again.
            TableError: a table refused the rows, or a file of a table with versions is missing.
        """
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
        from pyspark.errors import PySparkException

        if self._job.refresh is None or not self._is_stale:
            return
        self._is_stale = False
        opened, is_done = self._freshness.begin_refresh(), False
        try:
            self._refresh()
            is_done = True
        except (PySparkException, Py4JJavaError, TableUnavailableError) as error:
            is_missing = any(name in str(error) for name in ("FILE_NOT_EXIST", "PATH_NOT_FOUND"))
            # Another run or job may have replaced the files of a Parquet table, which deletes them at once.
            if is_missing and self.plan.table_format != "parquet":
                raise TableError(
                    f"{self.plan.run}: a file of its tables is missing, as after a VACUUM with a retention that is too "
                    "short: restore it, or move the tables away and let the job read its topics again: "
                    f"{reason_of(error)}"
                ) from error
            raise QueryStoppedError(reason_of(error)) from error
        finally:
            if not is_done:
                self._is_stale = True
            self.is_refresh_failing = not is_done
            self._freshness.end_refresh(opened, is_done)
            self._tell_freshness()

    def _tell_freshness(self) -> None:
        p50_s, p99_s = self._freshness.quantiles(0.5, 0.99)
        self.figures.fresh_p50_s, self.figures.fresh_p99_s = p50_s, p99_s
        self._metrics.fresh(self.plan.run, p50_s, p99_s)

    def _refresh(self) -> None:
        began_s = time.monotonic()
        topics = {
            output.name: TopicWriter(self._cluster, output, self.plan, self._quotas)
            for output in self._job.outputs
            if isinstance(output, TopicOutput) and self._job.is_derived(output)
        }
        follow = self._follower.follow if self._follower is not None else None
        keep_s = self.plan.keep_facts_s
        # Checkpoint these tables: their jobs may change them during the refresh.
        read = {name: rows.localCheckpoint() for name, rows in self._read_tables().items()}
        kept = refresh(
            self._job,
            self._parameters,
            self._sources(),
            self._derived,
            topics,
            follow,
            keep_s,
            read,
            self._known_files,
        )
        if kept is not None and kept.first_time is not None:
            self._metrics.late(self.plan.run, max(0, kept.late_count - self.figures.late_row_count))
            self.figures.late_row_count = kept.late_count
            self.figures.facts_from = kept.first_time.isoformat()
        self._last_refresh_s = time.monotonic()
        self.figures.refresh_s = self._last_refresh_s - began_s
        self.figures.refresh_count += 1
        limits = [topic.limited_by for topic in topics.values() if topic.limited_by]
        self.figures.limited_by = limits[-1] if limits else self.figures.limited_by
        self._metrics.refresh(self.plan.run, self.figures.refresh_s)

    def _sources(self) -> dict[str, TableWriter]:
        """Open the source tables of the refresh again, because batches continue to write them."""
        declared = tuple(each.declared for each in self._writers.values())
        tables = open_tables(self._spark, self.plan, declared)
        return {
            each.name: TableWriter(tables[each.name], each, self.plan.run_of(each.name), self._cluster_id)
            for each in declared
        }

    def finish(self) -> None:
        """Wait until the follower has applied the results; then write the final lag and status."""
        if self._follower is not None:
            self._follower.settle(_SETTLE_S)
        super().finish()

    def rewind(self, is_dry: bool) -> list[str]:
        """Reset the job's progress to the plan's start, unless `is_dry`; return one line per change.

        Raises:
            PlanError: an offset of the plan's start is below the partition's log start offset; or a table can't be
                truncated, because its rows lack the positions of their records.
        """
        self._cluster_id = self._cluster.cluster_id()
        self._inputs = self._find_inputs()
        self._open_outputs()
        extents = self._cluster.extents(self._inputs)
        wanted = start_offsets(self._cluster, self.plan.start, extents)
        if (named := self.plan.start.offsets) is not None:
            _check_log_starts(wanted, extents)
            wanted = {
                topic: {number: offset for number, offset in own.items() if number in named.get(topic, {})}
                for topic, own in wanted.items()
            }
        lines = []
        span = of_one_refresh(Span({}, {}, {}))
        for writer in self._derived.values():
            # Empty the aggregates before the facts are deleted: another version of the job may append as many facts.
            if writer.declared.mode is Mode.AGGREGATE and writer.table.exists() and not is_dry:
                (facts,) = self._writers.values()
                first_window = Retention(self._job.name, facts.table, self._job.window_s, None).first_window
                where = "" if first_window is None or writer.declared.key else f"unit >= {first_window}"
                writer.write(writer.table.read().limit(0), span, Delivery.EXACTLY_ONCE, where)
        for name, writer in self._writers.items():
            # Only to lower offsets: unread records have no rows to delete.
            back = _earlier(wanted, writer.offsets)
            if not back:
                is_there = writer.table.exists()
                state = "is not beyond that place" if is_there else f"does not exist at {writer.table.location}"
                lines.append(f"table {name}: {state}")
                continue
            if not set(PLACE[:3]) <= set(writer.table.read().columns):
                raise PlanError(f"table {name} has no columns with the positions of its records: it can't be rewound")
            lines += [f"table {name}: {place}" for place in _rewind_lines(back, writer.offsets)]
            if not is_dry:
                lines.append(f"table {name}: {writer.rewind(back):,} rows taken away")
        if not self._writers:
            lines.append("its progress goes: it will start from that place")
            if not is_dry:
                older = ProgressFile(self._files, self.plan.run, self._cluster_id).offsets if named is not None else {}
                self._files.remove()
                ProgressFile(self._files, self.plan.run, self._cluster_id).rebase(merged(older, wanted))
        return lines

    def tables(self) -> dict[str, DataFrame]:
        """Return the job's existing tables, by output, and the tables of other jobs that it reads."""
        own = {
            name: writer.table.read()
            for name, writer in {**self._writers, **self._derived}.items()
            if writer.table.exists()
        }
        return {**self._read_tables(), **own} if own else {}

    # Inputs and outputs.

    def _find_topics(self) -> Collection[str]:
        return self._find_inputs()

    def _find_inputs(self) -> dict[str, TopicInput]:
        """Return the inputs by topic, for the topics that exist."""
        there = self._cluster.topics()
        found: dict[str, TopicInput] = {}
        absent = []
        for declared in self.plan.job.inputs:
            if isinstance(declared, TableInput):
                continue
            topic = self.plan.topic_of_input(declared)
            if topic:
                if topic in there:
                    found[topic] = declared
                else:
                    absent.append(topic)
                continue
            for topic in input_topics(there, self.plan.any_topics):
                found[topic] = replace(declared, name=topic, topic=topic)
            absent += [topic for topic in self.plan.any_topics if not input_topics(there, [topic])]
        if not found:
            reason = f"{self.plan.run}: none of its topics is there: {not_there(absent, there)}"
            # A run with `is_once` does not wait for topics.
            raise PlanError(reason) if self.plan.is_once else NoSuchTopicError(reason)
        if absent and not self._inputs:
            until = "" if self.plan.is_once else " yet, and read once they are"
            self._warn(f"{self.plan.run}: not there{until}: {not_there(absent, there)}")
        return found

    def _open_outputs(self) -> None:
        by_key = input_topics(self._inputs, self.plan.by_key)
        self._job = _expanded(self.plan.job, tuple(self._inputs), by_key, self.plan.keeps_deleted)
        declared = tuple(output for output in self._job.outputs if isinstance(output, TableOutput))
        tables = open_tables(self._spark, self.plan, declared)
        self._check_other_run(tables)
        writers = {
            output.name: TableWriter(tables[output.name], output, self.plan.run_of(output.name), self._cluster_id)
            for output in declared
        }
        self._derived = {name: writer for name, writer in writers.items() if self._job.is_derived(writer.declared)}
        self._writers = {name: writer for name, writer in writers.items() if name not in self._derived}

    def _check_other_run(self, tables: Mapping[str, Table]) -> None:
        """Raise PlanError if a table has progress of `plan.other_run` only: the run would write its records again."""
        plan, other = self.plan, self.plan.other_run
        for name, table in tables.items():
            if other and table.progress(f"{other}/{name}") is not None and table.progress(plan.run_of(name)) is None:
                raise PlanError(
                    f"{table.location} has the progress of the run {other}, and none of the run {plan.run}: to "
                    f"continue, name the job {plan.job.name} alone, with --as {other}; for another run choose another "
                    "name"
                )

    def _topic_writers(self) -> dict[str, TopicWriter]:
        return {
            output.name: TopicWriter(self._cluster, output, self.plan, self._quotas)
            for output in self._job.outputs
            if isinstance(output, TopicOutput) and not self._job.is_derived(output)
        }

    def _read_tables(self) -> dict[str, DataFrame]:
        """Return the existing tables of other jobs, by input.

        Raises:
            TableError: a table that the plan names does not exist.
        """
        frames: dict[str, DataFrame] = {}
        for declared in self._job.inputs:
            if isinstance(declared, TableInput):
                named = self.plan.topics.get(declared.name)
                own = table_location(self.plan.tables, self.plan.table_format, declared.job, declared.name)
                table = open_table(self._spark, named or own, self.plan.table_format)
                if named or table.exists():
                    frames[declared.name] = table.read()
        return frames

    # Positions.

    def _check_losses(
        self, positions: Offsets, extents: Extents, progresses: list[Progress], absent: Offsets
    ) -> list[LostRange]:
        """Return the lost ranges; store those that are new.

        `absent` are the partitions that did not exist at the last start. They keep their positions: they may only be
        missing from the metadata for a moment, for example after the start of a broker.

        Raises:
            DataLossError: records are lost, and the plan says to stop.
        """
        # Ignore topics that this run does not read: it was started with fewer topics than before.
        read = {*self._inputs, *self._starts.named_topics(), *input_topics(positions, self.plan.any_topics)}
        own = {topic: parts for topic, parts in positions.items() if topic in read}
        losses = find_losses(self._cluster, self._cluster_id, own, extents, progresses)
        new = not_reported(losses, absent)
        if new and self.plan.on_data_loss is OnDataLoss.STOP:
            raise DataLossError(self.plan.run, new)
        for loss in new:
            self._warn(f"{self.plan.run}: lost {loss}")
        if new:
            keep_losses(self._spark, self.plan, self._cluster_id, new)
        return losses

    def _positions(self) -> Offsets:
        """Return the run's positions: for each topic, the least progress of the tables that have rows of it."""
        noted = [
            (each.declared.topic, each.progress.offsets if each.progress else {}) for each in self._writers.values()
        ]
        positions: Offsets = {}
        for topic in {topic for _, offsets in noted for topic in offsets}:
            own = [{topic: offsets.get(topic, {})} for of, offsets in noted if of in ("", topic)]
            # A topic that is no longer an input has no table: the other tables' progress has its offsets.
            positions |= earliest_of(own or [{topic: offsets[topic]} for _, offsets in noted if topic in offsets])
        return positions

    def _find_positions(self, extents: Extents) -> None:
        for writer in self._writers.values():
            writer.check()
        progress_file = None if self._writers else ProgressFile(self._files, self.plan.run, self._cluster_id)
        kept = list(self._writers.values()) if progress_file is None else [progress_file]
        positions = self._positions() if progress_file is None else progress_file.offsets
        noted = [each.progress for each in kept if each.progress is not None]
        absent = stored_offsets(self._files, _ABSENT_FILE)
        losses = self._check_losses(positions, extents, noted, absent)
        resumed = resume_offsets(losses)
        initial = self._starts.find(extents, {topic for each in kept for topic in each.offsets}, resumed)
        if resumed:
            for writer in self._writers.values():
                writer.rebase(self._spark, resumed)
            if progress_file is not None:
                progress_file.rebase(resumed)
            positions = merged(positions, resumed)
        if (now_absent := absent_positions(losses)) != absent:
            store_offsets(self._files, _ABSENT_FILE, now_absent)
        starts = {
            topic: {number: positions.get(topic, {}).get(number, initial[topic][number]) for number in partitions}
            for topic, partitions in extents.items()
        }
        self.figures.positions = starts
        staged = f"{self.plan.job_checkpoint}/staged"
        self._runner = BatchRunner(
            self._shared,
            self._job,
            self._parameters,
            self._inputs,
            self.plan.event_format,
            self._writers,
            self._topic_writers(),
            DeadLetters(self._cluster, self.plan, self._warn),
            Staging(self._spark, staged, _store_of(self._spark, staged)),
            self.plan.delivery,
            progress_file,
            self.plan.layout_of,
            self.plan.registry,
            bool(self.plan.envelope),
        )

    # While it runs.

    def _is_at_end(self) -> bool:
        """Return whether the run has read up to its targets, as far as their records can still come.

        A run does not wait for partitions that were deleted meanwhile; one look without them does not tell, because
        the metadata may be incomplete after the start of a broker. With `is_once` it does not wait for records that a
        topic has lost either; up to the offsets of `until`, records may still be written.
        """
        if self._targets is None:
            return False
        positions = self.figures.positions
        targets = {
            topic: {
                number: target
                for number, target in own.items()
                if self._looked_s - self._missing_s.get(topic, {}).get(number, inf) < self._TOPICS_EVERY_S
            }
            for topic, own in self._targets.items()
        }
        return is_reached(positions, clamped(targets, ends_of(self._extents)) if self.plan.is_once else targets)

    def _look_for_partitions(self) -> None:
        self._looked_s = self._now_s()
        super()._look_for_partitions()

    def _go_on(self) -> None:
        try:
            super()._go_on()
        finally:
            self._shared.leave(self.plan.run)

    def _do_batch(self, starts: Offsets, ends: Offsets) -> BatchReport:
        assert self._runner is not None  # `_begin` has made one
        consumer: dict[str, str | int | bool] = {**self.plan.kafka.for_consumer()}
        if self._sizer.fetch_bytes is not None:
            consumer["max.partition.fetch.bytes"] = self._sizer.fetch_bytes
        return self._runner.run(consumer, starts, ends)

    def _take(self, report: BatchReport) -> None:
        self._freshness.commit(report.waits, is_derived=self._job.refresh is not None)
        self._tell_freshness()
        super()._take(report)
        self._is_stale = True
        is_deriving = self._deriving is not None and self._deriving.is_alive()
        derived = () if is_deriving else self._derived.values()
        self._maintenance.after_batch(
            [each.table for each in self._writers.values()],
            [each.table for each in derived],
            # A compaction deletes the merged files at once, and the derivation may read them.
            is_busy=is_deriving and self.plan.table_format == "parquet",
        )

    def _complete_figures(self) -> None:
        """Update the freshness: waits of more than a minute ago no longer count."""
        self._tell_freshness()


def _store_of(spark: SparkSession, directory: str) -> dict[str, str]:
    """Return login and endpoint of a directory's object store; empty, and without delta-rs, for a local directory."""
    if "://" not in directory:
        return {}
    from barnabas.pipeline.tables.delta_lake import storage_options

    return storage_options(spark, directory)


def _expanded(job: Job, topics: tuple[str, ...], by_key: Collection[str] = (), keeps_deleted: bool = False) -> Job:
    """Replace a job's output named `*` by one output for each topic.

    The tables of the topics `by_key` have the latest row of each key.
    """
    if not any(output.name == "*" for output in job.outputs):
        return job
    outputs: list[TopicOutput | TableOutput] = []
    for output in job.outputs:
        if output.name != "*":
            outputs.append(output)
            continue
        for topic in topics:
            own = replace(output, name=topic, topic=topic)
            if isinstance(own, TableOutput) and topic in by_key:
                own = replace(own, mode=Mode.LATEST, keeps_deleted=keeps_deleted)
            outputs.append(own)
    return replace(job, outputs=tuple(outputs))


def _check_log_starts(wanted: Offsets, extents: Extents) -> None:
    """Raise PlanError if an offset is below a log start offset: the next run cannot read these records again."""
    for topic, partitions in wanted.items():
        for number, offset in partitions.items():
            first = extents[topic][number].start_offset
            if offset < first:
                raise PlanError(
                    f"{topic}-{number}: offset {offset} does not exist (any more): the first offset is {first}"
                )


def _earlier(wanted: Offsets, offsets: Offsets) -> Offsets:
    """Return the wanted offsets that are below the offsets of a table."""
    result: Offsets = {}
    for topic, partitions in wanted.items():
        for number, offset in partitions.items():
            if offset < offsets.get(topic, {}).get(number, 0):
                result.setdefault(topic, {})[number] = offset
    return result


def _rewind_lines(back: Offsets, offsets: Offsets) -> list[str]:
    return [
        f"{topic}-{number} goes back from offset {offsets[topic][number]:,} to {offset:,}"
        for topic, partitions in sorted(back.items())
        for number, offset in sorted(partitions.items())
    ]
