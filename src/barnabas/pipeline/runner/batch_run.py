"""The life of a run: batch after batch, its figures, its end.

Batches are done in a thread of the run's own, each planned when its turn comes. What is derived from their rows has a
second thread, so that reading never waits for it; `poll`'s thread only watches. A subclass finds its topics and its
place, and does its batches.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from threading import Event, Thread
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from barnabas.clients.positions import Extents, clamped, is_before, is_reached, lag_of, latest_of, merged
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_size import BatchSizer
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, NoSuchTopicError
from barnabas.pipeline.runner.run_metrics import Figures, Metrics
from barnabas.pipeline.spark.jvm_errors import reason_of
from barnabas.pipeline.spark.object_stores import is_object_store
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LAG_EVERY_S = 5.0
_STATUS_EVERY_S = 2.0
# There each write is paid for.
_STATUS_IN_STORE_EVERY_S = 30.0
_STATUS_FILE = "status.json"
# A batch has so long to end before it is interrupted.
_STOP_S = 30.0
# Where nothing is there to be read, it is asked for again after so long, or a shorter trigger's time.
_IDLE_S = 1.0


class QueryStoppedError(Exception):
    """A batch failed: one line with its reason."""


class BatchRun(ABC):
    """A run of batches, one after the other, which can be started again after it has stopped."""

    _TOPICS_EVERY_S: ClassVar[float]
    # A batch that was interrupted has so long to come to its end: the next start goes by what it has written.
    _INTERRUPTED_S: ClassVar[float]
    # What is raised as it is; other failures of a batch pass, and it is started again.
    _FINAL_ERRORS: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        run: str,
        spark: SparkSession,
        files: Files,
        source: Cluster,
        sizer: BatchSizer,
        metrics: Metrics,
        report: Callable[[Figures], None],
        warn: Callable[[str], None],
    ) -> None:
        """Nothing is read or written yet.

        Args:
            run: What it is called.
            spark: The session.
            files: Where its status is written.
            source: The cluster that is read.
            sizer: Decides the size of batches.
            metrics: Takes the figures.
            report: Called with the figures after each batch, in the batches' thread.
            warn: Told in one line what a person should know.
        """
        self.figures = Figures(run)
        self._spark = spark
        self._files = files
        self._source = source
        self._sizer = sizer
        self._metrics = metrics
        self._report = report
        self._warn = warn
        # Names this run to Spark: its jobs, and its consumers.
        self._readers = f"barnabas-{run}-{uuid4()}"
        self._thread: Thread | None = None
        self._deriving: Thread | None = None
        self._is_ending = Event()
        self._failure: Exception | None = None
        self._targets: Offsets | None = None
        self._extents: Extents = {}
        self._next_lag_s = self._next_status_s = 0.0
        self._status_every_s = _STATUS_IN_STORE_EVERY_S if is_object_store(files.directory) else _STATUS_EVERY_S

    @abstractmethod
    def _find_topics(self) -> Collection[str]:
        """Return the topics to be read, of those that are there."""

    @abstractmethod
    def _begin(self) -> None:
        """Find out where the run stands, and open what it writes.

        Sets the figures' positions, of each partition that is to be read; and `_extents`, and `_targets`: where it is
        to end, None: it goes on. Called again, by the batches' thread, where topics or partitions have come or gone.
        """

    @abstractmethod
    def _do_batch(self, starts: Offsets, ends: Offsets) -> BatchReport:
        """Do one batch: the records from `starts` to `ends`."""

    def _is_derivation_due(self) -> bool:
        """Return whether something is to be derived now."""
        return False

    def _derive(self) -> None:
        """Derive what is due, beside the batches: nothing if a batch does all."""
        return

    def _conclude(self) -> None:
        """Do what is left when all was read that was to be."""
        return

    def _complete_figures(self) -> None:
        """Complete the figures, before they are written: nothing is left to add where a batch's report has all."""
        return

    def start(self) -> None:
        """Begin where the run stands.

        Raises:
            DataLossError: records are gone before they were read, and the plan says to stop.
            NoSuchTopicError: none of the topics is there.
            ClusterUnavailableError: a cluster did not answer.
            QueryStoppedError: what was interrupted has not ended yet.
            Exception: the subclass's; or py4j's, where the JVM is gone.
        """
        # The cluster is asked without the JVM: a run that waits for a topic would not notice that it is gone.
        self._spark.sparkContext._jsc.sc().isStopped()
        if self._is_alive():
            raise QueryStoppedError("the interrupted batch has not ended yet")
        self._failure = None
        self._is_ending.clear()
        # Here, so that a stop from now on cancels this group and not an earlier one.
        self._readers = f"barnabas-{self.figures.run}-{uuid4()}"
        self._begin()
        self.figures.state = "running"
        self._deriving = None
        self._thread = self._started(self._go_on, "batches")

    def poll(self) -> bool:
        """Look after the run; True when it has come to its end.

        Raises:
            QueryStoppedError: a batch has failed; `start` can be tried again.
            Exception: what ends the run (`_FINAL_ERRORS`).
        """
        now = time.monotonic()
        if now >= self._next_lag_s:
            self._measure_lag()
            self._next_lag_s = now + _LAG_EVERY_S
        if now >= self._next_status_s:
            self._write_status()
            self._next_status_s = now + self._status_every_s
        is_at_end = not self._is_alive()
        self._raise_failure()
        return is_at_end

    def end(self) -> None:
        """Begin no other batch."""
        self._is_ending.set()

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """Stop, between two batches if the one under way ends in time."""
        self.end()
        self._join(timeout_s)
        if self._is_alive():
            # What it asks of Spark from now on fails as well.
            self._spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._readers)
            self._join(self._INTERRUPTED_S)
        self._complete_figures()
        self.figures.state = "stopped"

    def finish(self) -> None:
        """Note how far it came, when it has stopped."""
        self._measure_lag()
        self._write_status()

    # The run's threads.

    def _started(self, target: Callable[[], None], name: str) -> Thread:
        from pyspark import InheritableThread

        def run() -> None:
            context = self._spark.sparkContext
            context.setJobGroup(self._readers, self.figures.run, interruptOnCancel=True)
            # Spark shares its slots among pools: a batch need not wait until all of a derivation's tasks are done.
            context.setLocalProperty("spark.scheduler.pool", f"{self.figures.run} {name}")
            try:
                target()
            except Exception as error:
                self._failure = self._failure or error
                self._is_ending.set()

        thread = InheritableThread(target=run, name=f"{self.figures.run} {name}", daemon=True)
        thread.start()
        return thread

    def _is_alive(self) -> bool:
        return any(each is not None and each.is_alive() for each in (self._thread, self._deriving))

    def _join(self, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        for thread in (self._thread, self._deriving):
            if thread is not None:
                thread.join(max(0.0, deadline_s - time.monotonic()))

    def _wait_for_derivation(self) -> None:
        if self._deriving is not None:
            self._deriving.join()

    def _go_on(self) -> None:
        next_topics_s = time.monotonic() + self._TOPICS_EVERY_S
        while not self._is_ending.is_set():
            began_s = time.monotonic()
            if began_s >= next_topics_s:
                self._look_for_partitions()
                next_topics_s = began_s + self._TOPICS_EVERY_S
            starts = self.figures.positions
            ends = starts if self._is_at_end() else self._next_ends(starts)
            if ends != starts:
                self._take(self._do_batch(starts, ends))
            if self._is_at_end():
                self._wait_for_derivation()
                if not self._is_ending.is_set():
                    self._conclude()
                return
            is_deriving = self._deriving is not None and self._deriving.is_alive()
            if not is_deriving and not self._is_ending.is_set() and self._is_derivation_due():
                self._deriving = self._started(self._derive, "derivation")
            took_s = time.monotonic() - began_s
            next_after_s = min(self._sizer.trigger_s, _IDLE_S) if ends == starts else self._sizer.next_after_s(took_s)
            self._is_ending.wait(max(0.0, next_after_s - took_s))

    def _is_at_end(self) -> bool:
        return self._targets is not None and is_reached(self.figures.positions, self._targets)

    def _look_for_partitions(self) -> None:
        partitions = self._source.partitions(self._find_topics())
        if {(topic, number) for topic, numbers in partitions.items() for number in numbers} != {
            (topic, number) for topic, numbers in self.figures.positions.items() for number in numbers
        }:
            self._warn(f"{self.figures.run}: topics or partitions have changed")
            self._wait_for_derivation()
            self._begin()

    def _next_ends(self, starts: Offsets) -> Offsets:
        ends = self._source.ends(starts)
        if is_before(ends, starts):
            # A run that has read uncommitted records may be beyond the start of a transaction that is open now.
            if is_before(self._source.log_ends(starts), starts):
                # What is lost is told at the next start.
                raise QueryStoppedError("a partition's end offset is below the offset already read")
            ends = latest_of(ends, starts)
        core_count = self._spark.sparkContext.defaultParallelism
        return self._sizer.next_ends(starts, clamped(ends, self._targets), core_count)

    def _take(self, report: BatchReport) -> None:
        self.figures.add(report)
        self.figures.positions = merged(self.figures.positions, report.ends)
        self._tell_lag()
        self._sizer.account(report)
        self.figures.limited_by = self._sizer.limited_by
        self._metrics.batch(self.figures.run, report)
        self._report(self.figures)

    # What is told.

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is None:
            return
        if isinstance(failure, (*self._FINAL_ERRORS, ClusterUnavailableError, NoSuchTopicError)):
            raise failure
        raise QueryStoppedError(reason_of(failure)) from failure

    def _measure_lag(self) -> None:
        try:
            self._extents = self._source.extents(self.figures.positions)
        except ClusterUnavailableError:
            # The batches' thread says so itself, if it lasts.
            return
        self._tell_lag()

    def _tell_lag(self) -> None:
        self.figures.lag = lag_of(self.figures.positions, self._extents)
        self._metrics.lag(self.figures.run, self.figures.lag)

    def _write_status(self) -> None:
        self._complete_figures()
        try:
            self._files.write(_STATUS_FILE, self.figures.to_json())
        except OSError as error:
            # A store or a name node may be away for a while.
            raise QueryStoppedError(f"{self._files.directory}: can't be written to: {reason_of(error)}") from error
