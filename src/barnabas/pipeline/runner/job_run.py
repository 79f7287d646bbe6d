"""One job as it runs: where it begins, its queries, what is derived, its end.

A job without state is one query over all its inputs. Its place is in its tables (in a file, where it writes topics
alone), so Spark's own checkpoint of it is made anew at each start and holds nothing of worth. A job with state is a
query for each of its outputs' rows, whose place and state are in Spark's checkpoint, and one for the dead letters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.pipeline.job import PLACE, Job, Mode, Parameters, TableInput, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner.batch import BatchReport, BatchRunner
from barnabas.pipeline.runner.bounds import start_offsets
from barnabas.pipeline.runner.checkpoint import Files, committed_offsets, planned_offsets, query_id, reposition
from barnabas.pipeline.runner.cluster import Cluster, NoSuchTopicError
from barnabas.pipeline.runner.dead_letters import DeadLetters
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.follower import Follower
from barnabas.pipeline.runner.freshness import Freshness
from barnabas.pipeline.runner.inputs import RecordParser, events_of, read_stream
from barnabas.pipeline.runner.losses import DataLossError, find_losses, keep_losses, resume_offsets
from barnabas.pipeline.runner.outputs import TableWriter, TopicWriter, open_tables
from barnabas.pipeline.runner.plan import Bound, Delivery, OnDataLoss, PlanError, RunPlan
from barnabas.pipeline.runner.positions import Extents, earliest_of, is_reached, merged
from barnabas.pipeline.runner.progress_file import ProgressFile, Span
from barnabas.pipeline.runner.query import QueryStoppedError, first_line, matching_topics
from barnabas.pipeline.runner.query_run import QueryRun
from barnabas.pipeline.runner.quota import READ
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.runner.reading import Allowance, Reading
from barnabas.pipeline.runner.refresh import refresh
from barnabas.pipeline.runner.retention import Retention
from barnabas.pipeline.runner.writing import Writing, WritingStoppedError
from barnabas.pipeline.tables.places import open_table
from barnabas.pipeline.tables.table import Offsets, Progress, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_SETTLE_S = 30.0


class _EndedError(Exception):
    """A batch was not begun, as its query ends."""


class JobRun(QueryRun):
    """One job in a session."""

    _TOPICS_EVERY_S = 30.0
    _INTERRUPTED_S = 5.0
    _FINAL_ERRORS = (TableError,)

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
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Nothing is read or written yet.

        Args:
            spark: The session.
            plan: What to run.
            cluster: The plan's cluster.
            metrics: Takes the figures.
            report: Called with the figures after each batch, in the batch's thread.
            warn: Told in one line what a person should know.
            follower: Acts upon the derived tables; it is closed by whoever made it.
            quotas: Of the run's user and client id; None: they are left to the brokers.
            is_stopped: Asked while a write waits for a quota: whether the run is about to be stopped.
        """
        allowances = [] if quotas is None else [Allowance(quotas, READ)]
        reading = Reading(plan, allowances, is_divided=not plan.job.keeps_state)
        super().__init__(plan.run, Files(spark, plan.job_checkpoint), cluster, reading, metrics, report, warn)
        self.plan = plan
        self._spark = spark
        self._cluster = cluster
        self._follower = follower
        self._parameters: Parameters = {**plan.job.defaults(), **plan.parameters}
        self._writing = Writing(quotas, is_stopped)
        self._cluster_id = ""
        self._until: Offsets | None = None
        self._is_stale = True
        self._seen_batches: dict[str, int] = {}
        self._last_refresh_s = 0.0
        self._freshness = Freshness()
        self._job: Job = plan.job
        self._inputs: dict[str, TopicInput] = {}
        self._writers: dict[str, TableWriter] = {}
        self._derived: dict[str, TableWriter] = {}

    def start(self) -> None:
        """Start the job's queries where the job stands, and what acts upon its tables."""
        if self._follower is not None:
            self._follower.start()
        super().start()

    def poll(self) -> bool:
        """Look after the job, and derive what is to be derived; True when it has come to its end."""
        if self._follower is not None:
            self._follower.poll()
        is_due = time.monotonic() - self._last_refresh_s >= self.plan.refresh_s and self._restarts_by_s is None
        if self._is_stale and is_due and not self.plan.is_once:
            self.refresh()
        return super().poll()

    def _start_queries(self) -> None:
        self._cluster_id = self._cluster.cluster_id()
        self._inputs = self._find_inputs()
        self._topics = tuple(self._inputs)
        self._job = _expanded(self.plan.job, self._topics)
        self._open_outputs()
        self._reading.begin()
        self._extents = self._cluster.extents(self._inputs)
        if self._until is None:
            self._until = self._end_of(self.plan.until, self._extents)
        if self._job.keeps_state:
            self._start_with_state(self._extents)
        else:
            self._start_without_state(self._extents)

    def _is_at_end(self) -> bool:
        return super()._is_at_end() or (self._until is not None and is_reached(self.figures.positions, self._until))

    def refresh(self) -> None:
        """Compute what is derived from the job's tables, if there is anything new in them.

        Raises:
            QueryStoppedError: Spark failed, be it for an executor that was lost; it can be tried again.
            TableError: a table refused what it was given.
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
        except WritingStoppedError as error:
            # What is left is not tried again at the end, but at the next start, which refreshes in any case.
            self._warn(
                f"{self.plan.run}: stopped while a quota held what it writes: {error}; the next start writes all"
            )
        except (PySparkException, Py4JJavaError) as error:
            self._is_stale = True
            if "FILE_NOT_EXIST" in str(error):
                raise TableError(
                    f"{self.plan.run}: a file of its tables is gone, as after a VACUUM that kept too little: "
                    f"bring it back, or move the tables away and let the job read its topics again: {first_line(error)}"
                ) from error
            raise QueryStoppedError(first_line(error)) from error
        finally:
            self._freshness.end_refresh(opened, is_done)
            self._tell_freshness()

    def _tell_freshness(self) -> None:
        p50_s, p99_s = self._freshness.quantiles(0.5, 0.99)
        self.figures.fresh_p50_s, self.figures.fresh_p99_s = p50_s, p99_s
        self._metrics.fresh(self.plan.run, p50_s, p99_s)

    def _refresh(self) -> None:
        began_s = time.monotonic()
        topics = {
            output.name: TopicWriter(self._cluster, output, self.plan, self._writing)
            for output in self._job.outputs
            if isinstance(output, TopicOutput) and self._is_derived(output)
        }
        follow = self._follower.follow if self._follower is not None else None
        keep_s = self.plan.keep_facts_s
        kept = refresh(self._job, self._parameters, self._writers, self._derived, topics, follow, keep_s)
        if kept is not None and kept.first_time is not None:
            self._metrics.late(self.plan.run, max(0, kept.late_count - self.figures.late_row_count))
            self.figures.late_row_count = kept.late_count
            self.figures.facts_from = kept.first_time.isoformat()
        self._last_refresh_s = time.monotonic()
        self.figures.refresh_s = self._last_refresh_s - began_s
        self.figures.refresh_count += 1
        self.figures.limited_by = self._writing.limited_by or self.figures.limited_by
        self._metrics.refresh(self.plan.run, self.figures.refresh_s)

    def finish(self) -> None:
        """Do what is left when the queries have ended: derive, act upon it, and note how far it came."""
        self.refresh()
        if self._follower is not None:
            self._follower.settle(_SETTLE_S)
        super().finish()

    def rewind(self, is_dry: bool) -> list[str]:
        """Let the job go on from the plan's start when it is started again; gives what was done, a line each.

        Raises:
            PlanError: a table of the job can't be cut, as its rows do not say where their records stand.
        """
        self._cluster_id = self._cluster.cluster_id()
        self._inputs = self._find_inputs()
        self._job = _expanded(self.plan.job, tuple(self._inputs))
        self._open_outputs()
        extents = self._cluster.extents(self._inputs)
        wanted = self._initial(extents, is_first=True)
        lines = []
        for writer in self._derived.values():
            # Before the facts go: they may come back in the same number, made by another version of the job.
            if writer.declared.mode is Mode.DIGEST and writer.table.exists() and not is_dry:
                (facts,) = self._writers.values()
                first_unit = Retention(facts.table, self._job.unit_s, None).first_unit
                where = "" if first_unit is None or writer.declared.key else f"unit >= {first_unit}"
                writer.write(writer.table.read().limit(0), Span({}, {}, {}), Delivery.EXACTLY_ONCE, where)
        for name, writer in self._writers.items():
            # Only back: what has not been read yet is no row that could go.
            back = _earlier(wanted, writer.offsets)
            if not back:
                lines.append(f"table {name}: is not beyond that place")
                continue
            if not set(PLACE[:3]) <= set(writer.table.read().columns):
                raise PlanError(f"table {name} does not say where its rows' records stand: it can't be cut")
            lines += [f"table {name}: {place}" for place in _told(back, writer.offsets)]
            if not is_dry:
                lines.append(f"table {name}: {writer.cut(back):,} rows taken away")
        if self._job.keeps_state or not self._writers:
            lines.append("its checkpoint goes: it will start from that place, with no state")
            if not is_dry:
                self._files.remove()
                ProgressFile(self._files, self.plan.run, self._cluster_id).rebase(wanted)
        return lines

    def tables(self) -> dict[str, DataFrame]:
        """Return the job's tables that there are, by output."""
        return {
            name: writer.table.read()
            for name, writer in {**self._writers, **self._derived}.items()
            if writer.table.exists()
        }

    # Inputs and outputs.

    def _find_topics(self) -> Collection[str]:
        return self._find_inputs()

    def _find_inputs(self) -> dict[str, TopicInput]:
        """Return the inputs by topic, of those topics that are there."""
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
            for topic in matching_topics(there, self.plan.any_topics):
                found[topic] = replace(declared, name=topic, topic=topic)
        if not found:
            wanted = ", ".join(absent or self.plan.any_topics)
            raise NoSuchTopicError(f"{self.plan.run}: none of its topics is there: {wanted}")
        if absent and not self._inputs:
            self._warn(f"{self.plan.run}: not there yet, and read once they are: {', '.join(absent)}")
        return found

    def _open_outputs(self) -> None:
        declared = tuple(output for output in self._job.outputs if isinstance(output, TableOutput))
        tables = open_tables(self._spark, self.plan, declared)
        writers = {
            output.name: TableWriter(tables[output.name], output, self.plan.run_of(output.name), self._cluster_id)
            for output in declared
        }
        self._derived = {name: writer for name, writer in writers.items() if self._is_derived(writer.declared)}
        self._writers = {name: writer for name, writer in writers.items() if name not in self._derived}

    def _is_derived(self, output: TableOutput | TopicOutput) -> bool:
        """Return whether `refresh` gives an output's rows: those of a table that is replaced, and of a topic
        beside it.
        """
        replaced = {
            self._job.rows_of(each)
            for each in self._job.outputs
            if isinstance(each, TableOutput) and each.mode in (Mode.REPLACE, Mode.DIGEST)
        }
        return self._job.rows_of(output) in replaced

    def _topic_writers(self) -> dict[str, TopicWriter]:
        return {
            output.name: TopicWriter(self._cluster, output, self.plan, self._writing)
            for output in self._job.outputs
            if isinstance(output, TopicOutput) and not self._is_derived(output)
        }

    def _side_inputs(self) -> dict[str, DataFrame]:
        """Return the tables that the job reads, and empty events of inputs whose topics are not there."""
        frames: dict[str, DataFrame] = {}
        for declared in self._job.inputs:
            if isinstance(declared, TableInput):
                location = self.plan.topics.get(declared.name, declared.name)
                frames[declared.name] = open_table(self._spark, location, self.plan.table_format).read()
            elif declared.event is not None and declared not in self._inputs.values():
                place = "_topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
                frames[declared.name] = self._spark.createDataFrame([], f"{declared.event.ddl}, {place}")
        return frames

    # Where to begin and to end.

    def _initial(self, extents: Extents, is_first: bool) -> Offsets:
        """Return where partitions begin that the run has read nothing of yet."""
        return start_offsets(self._cluster, self.plan.start if is_first else Bound(), extents)

    def _end_of(self, bound: Bound | None, extents: Extents) -> Offsets | None:
        if bound is None:
            return None
        if bound.time_ms is not None:
            return self._cluster.offsets_at(extents, bound.time_ms)
        if bound.offsets is not None:
            return {topic: dict(partitions) for topic, partitions in bound.offsets.items()}
        return {
            topic: {number: extent.end_offset for number, extent in partitions.items()}
            for topic, partitions in extents.items()
        }

    def _check_losses(self, positions: Offsets, extents: Extents, progresses: list[Progress]) -> Offsets:
        """Find what is lost; gives where to go on in the partitions that have lost something.

        Raises:
            DataLossError: something is, and the plan says to stop.
        """
        own = {topic: parts for topic, parts in positions.items() if topic in self._inputs or topic not in extents}
        if self._is_going_on:
            # What it read is as it was; to look at its last records again would use up a quota that has none left.
            progresses = [replace(progress, marks={}) for progress in progresses]
        losses = find_losses(self._cluster, self._cluster_id, own, extents, progresses)
        if not losses:
            return {}
        if self.plan.on_data_loss is OnDataLoss.STOP:
            raise DataLossError(self.plan.run, losses)
        for loss in losses:
            self._warn(f"{self.plan.run}: lost {loss}")
        keep_losses(self._spark, self.plan, self._cluster_id, losses)
        return resume_offsets(losses, positions)

    # Queries.

    def _start_without_state(self, extents: Extents) -> None:
        progress_file = None if self._writers else ProgressFile(self._files, self.plan.run, self._cluster_id)
        kept = list(self._writers.values()) if progress_file is None else [progress_file]
        places = [each.offsets for each in kept]
        positions = earliest_of(places)
        noted = [each.progress for each in kept if each.progress is not None]
        resumed = self._check_losses(positions, extents, noted)
        if resumed:
            for writer in self._writers.values():
                writer.rebase(self._spark, resumed)
            if progress_file is not None:
                progress_file.rebase(resumed)
            positions = merged(positions, resumed)
        initial = self._initial(extents, is_first=not any(places))
        starts = {
            topic: {number: positions.get(topic, {}).get(number, initial[topic][number]) for number in partitions}
            for topic, partitions in extents.items()
        }
        self.figures.positions = starts
        runner = BatchRunner(
            self._job,
            self._parameters,
            self._inputs,
            self.plan.event_format,
            self._writers,
            self._topic_writers(),
            DeadLetters(self._cluster, self.plan),
            self._side_inputs,
            self._until,
            self.plan.delivery,
            progress_file,
            self.plan.registry,
        )
        checkpoint = f"{self.plan.job_checkpoint}/batches"
        Files(self._spark, checkpoint).remove()
        self._start_batches(starts, runner, checkpoint, self.plan.run)

    def _start_batches(self, starts: Offsets, runner: BatchRunner, checkpoint: str, name: str) -> None:
        files = Files(self._spark, checkpoint)
        at = {"": starts}

        def run_batch(records: DataFrame, batch_id: int) -> BatchReport:
            ends = planned_offsets(files, batch_id)
            report = runner.run(records, batch_id, at[""], ends)
            at[""] = merged(at[""], ends)
            return report

        def do_batch(records: DataFrame, batch_id: int) -> None:
            # Where nothing is done Spark takes the batch for done: its checkpoint is nothing that anybody goes on from.
            self._do_batch(lambda: run_batch(records, batch_id))

        self._start_query(self._records(starts).writeStream.foreachBatch(do_batch), checkpoint, name)

    def _start_with_state(self, extents: Extents) -> None:
        names = sorted({self._job.rows_of(output) for output in self._job.outputs if not self._is_derived(output)})
        checkpoints = {name: f"{self.plan.job_checkpoint}/{name}" for name in names}
        places = {name: committed_offsets(Files(self._spark, path)) for name, path in checkpoints.items()}
        progress_file = ProgressFile(
            Files(self._spark, f"{self.plan.job_checkpoint}/dead-letters"), self.plan.run, self._cluster_id
        )
        known = [offsets for offsets in places.values() if offsets is not None]
        resumed = self._check_losses(
            earliest_of(known), extents, [progress_file.progress] if progress_file.progress else []
        )
        if resumed:
            progress_file.rebase(resumed)
            for name, offsets in places.items():
                if offsets is not None:
                    reposition(Files(self._spark, checkpoints[name]), resumed)
        initial = self._initial(extents, is_first=not known)
        starts = {
            topic: {
                number: progress_file.offsets.get(topic, {}).get(number, initial[topic][number])
                for number in partitions
            }
            for topic, partitions in extents.items()
        }
        self.figures.positions = starts
        frames = self._job.transform({**self._event_streams(starts), **self._side_inputs()}, self._parameters)
        topics = self._topic_writers()
        if missing := set(names) - set(frames):
            raise TableError(f"job {self._job.name} gives no rows for {', '.join(sorted(missing))}")
        for name in names:
            self._start_stateful(name, frames[name], checkpoints[name], topics)
        letters = BatchRunner(
            replace(self._job, outputs=(), transform=lambda frames, parameters: {}, keeps_state=False),
            self._parameters,
            self._inputs,
            self.plan.event_format,
            {},
            {},
            DeadLetters(self._cluster, self.plan),
            dict,
            None,
            self.plan.delivery,
            progress_file,
        )
        checkpoint = f"{self.plan.job_checkpoint}/dead-letters/batches"
        Files(self._spark, checkpoint).remove()
        self._start_batches(starts, letters, checkpoint, f"{self.plan.run}/dead-letters")

    def _event_streams(self, starts: Offsets) -> dict[str, DataFrame]:
        """Return each input's good events as a stream of its own, with its watermark."""
        frames = {}
        for topic, declared in self._inputs.items():
            records = self._records({topic: starts[topic]})
            parsed = RecordParser({topic: declared}, self.plan.event_format).parse(records)
            events = events_of(parsed, topic, declared)
            frames[declared.name] = events.withWatermark("time", f"{declared.watermark_s} seconds")
        return frames

    def _start_stateful(self, name: str, rows: DataFrame, checkpoint: str, topics: Mapping[str, TopicWriter]) -> None:
        files = Files(self._spark, checkpoint)
        tables = [writer for writer in self._writers.values() if self._job.rows_of(writer.declared) == name]
        own_topics = [topic for topic in topics.values() if self._job.rows_of(topic.declared) == name]
        is_update = any(writer.declared.mode is Mode.UPDATE for writer in tables) or (
            not tables and any(topic.declared.is_compacted for topic in own_topics)
        )
        opened: list[TableWriter] = []

        def write_batch(batch: DataFrame, batch_id: int) -> None:
            if not opened:
                # The state is the checkpoint's: another checkpoint is another writer.
                for writer in tables:
                    run = f"{self.plan.run_of(writer.declared.name)}@{query_id(files)}"
                    opened.append(TableWriter(writer.table, writer.declared, run, self._cluster_id))
            span = Span({}, planned_offsets(files, batch_id), {})
            batch.persist()
            try:
                for topic in own_topics:
                    topic.write(batch)
                for writer in opened:
                    writer.write_batch(batch, batch_id, span)
            finally:
                batch.unpersist()
            self._is_stale = True

        def do_batch(batch: DataFrame, batch_id: int) -> None:
            if not self._do_batch(lambda: write_batch(batch, batch_id)):
                raise _EndedError("the query is being stopped")

        writer = rows.writeStream.outputMode("update" if is_update else "append").foreachBatch(do_batch)
        self._start_query(writer, checkpoint, f"{self.plan.run}/{name}")

    def _records(self, starts: Offsets) -> DataFrame:
        return read_stream(self._spark, self.plan.kafka, self._reading.sources(starts))

    def _start_query(self, writer: DataStreamWriter, checkpoint: str, name: str) -> None:
        writer = writer.queryName(name).option("checkpointLocation", checkpoint)
        if self.plan.is_once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(self._reading.trigger_s * 1000)} milliseconds")
        self._queries.append(writer.start())

    # While it runs.

    def _take(self, report: BatchReport) -> None:
        if not self._job.keeps_state:
            # With state the report is of the dead letters alone: what Spark keeps of a record nobody knows.
            self._freshness.commit(report.waits, is_derived=self._job.refresh is not None)
            self._tell_freshness()
        super()._take(report)
        self._is_stale = True
        if self.plan.compact_every and self.figures.batch_count % self.plan.compact_every == 0:
            # Here, between two batches, as no commit of this run is under way.
            for writer in self._writers.values():
                writer.table.compact()

    def _complete_figures(self) -> None:
        """Forget the waits of more than a minute ago, and count what Spark's state has refused as too late."""
        self._tell_freshness()
        if not self._job.keeps_state:
            return
        for query in self._queries:
            for progress in query.recentProgress:
                seen = self._seen_batches.get(str(query.runId), -1)
                # Without a batch Spark reports every ten seconds that it is idle, under the next batch's id.
                if progress.batchId <= seen or "addBatch" not in progress.durationMs:
                    continue
                self._seen_batches[str(query.runId)] = progress.batchId
                late = sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)
                if late:
                    self.figures.late_row_count += late
                    self._metrics.late(self.plan.run, late)


def _expanded(job: Job, topics: tuple[str, ...]) -> Job:
    """Return a job that takes any topics as one for these: an output named `*` becomes one for each of them."""
    if not any(output.name == "*" for output in job.outputs):
        return job
    outputs: list[TopicOutput | TableOutput] = []
    for output in job.outputs:
        outputs += [replace(output, name=topic) for topic in topics] if output.name == "*" else [output]
    return replace(job, outputs=tuple(outputs))


def _earlier(wanted: Offsets, offsets: Offsets) -> Offsets:
    """Return the wanted offsets that are below those where a table stands."""
    result: Offsets = {}
    for topic, partitions in wanted.items():
        for number, offset in partitions.items():
            if offset < offsets.get(topic, {}).get(number, 0):
                result.setdefault(topic, {})[number] = offset
    return result


def _told(back: Offsets, offsets: Offsets) -> list[str]:
    return [
        f"{topic}-{number} goes back from offset {offsets[topic][number]:,} to {offset:,}"
        for topic, partitions in sorted(back.items())
        for number, offset in sorted(partitions.items())
    ]
