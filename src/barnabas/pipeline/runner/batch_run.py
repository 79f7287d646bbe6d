"""The loop of a run: batches, figures, end.

A run has two threads. The batch thread plans and runs one batch after the other. The derivation thread computes results
from their rows, so that reading never waits for it. The thread that calls `poll` only supervises them. A subclass finds
the topics and start positions, and runs the batches.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from threading import Event, Thread
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from barnabas.clients.positions import Extents, clamped, is_before, lag_of, latest_of, merged
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
# An object store charges for each write.
_STATUS_IN_STORE_EVERY_S = 30.0
_STATUS_FILE = "status.json"
# Time for a batch to end before it is interrupted.
_STOP_S = 30.0
# Interval between polls for new records when there is nothing to read, unless the trigger interval is shorter.
_IDLE_S, _LEAST_IDLE_S = 1.0, 0.1


class QueryStoppedError(Exception):
    """A batch failed: one line with its reason."""


class BatchRun(ABC):
    """A run of batches, one after the other. A stopped run can be started again."""

    _TOPICS_EVERY_S: ClassVar[float]
    # Time for an interrupted batch to end. The next start must see everything that the batch wrote.
    _INTERRUPTED_S: ClassVar[float]
    # Errors that end the run. After any other failure of a batch the run is started again.
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
            run: The run's name.
            spark: The session.
            files: The directory of the status file.
            source: The cluster to read from.
            sizer: Decides the size of batches.
            metrics: Records the figures.
            report: Called with the figures after each batch, in the batch thread.
            warn: Called with a one-line warning for the operator.
        """
        self.figures = Figures(run)
        self._spark = spark
        self._files = files
        self._source = source
        self._sizer = sizer
        self._metrics = metrics
        self._report = report
        self._warn = warn
        # Spark's job group of this run.
        self._readers = f"barnabas-{run}-{uuid4()}"
        self._thread: Thread | None = None
        self._deriving: Thread | None = None
        self._is_ending = Event()
        self._failure: Exception | None = None
        self._targets: Offsets | None = None
        self._extents: Extents = {}
        self._next_lag_s = self._next_status_s = 0.0
        # Whether the last write of the status file failed.
        self._is_status_stale = False
        self._status_every_s = _STATUS_IN_STORE_EVERY_S if is_object_store(files.directory) else _STATUS_EVERY_S

    @abstractmethod
    def _find_topics(self) -> Collection[str]:
        """Return the existing topics to read."""

    @abstractmethod
    def _begin(self) -> None:
        """Find the run's positions, and open its outputs.

        Sets the figures' positions of all partitions to read, `_extents`, and `_targets`: the end offsets (None: no
        end). The batch thread calls it again when topics or partitions have appeared or disappeared.
        """

    @abstractmethod
    def _is_at_end(self) -> bool:
        """Return whether the run has read up to `_targets`, as far as their records can still come."""

    @abstractmethod
    def _do_batch(self, starts: Offsets, ends: Offsets) -> BatchReport:
        """Run one batch: the records from `starts` to `ends`."""

    def _is_derivation_due(self) -> bool:
        """Return whether a derivation is due now."""
        return False

    def _derive(self) -> None:
        """Compute derived results beside the batches; by default none."""
        return

    def _conclude(self) -> None:
        """Complete the run when all records up to the end offsets have been read."""
        return

    def _complete_figures(self) -> None:
        """Add figures that batch reports do not contain, before the figures are written; by default none."""
        return

    def start(self) -> None:
        """Start at the run's stored progress.

        Raises:
            DataLossError: records were deleted before they were read, and the plan says to stop.
            NoSuchTopicError: none of the topics exists.
            ClusterUnavailableError: a cluster did not answer.
            QueryStoppedError: an interrupted batch has not ended yet.
            Exception: an error of the subclass; or of py4j, if the JVM has died.
        """
        # Fails if the JVM has died. A run that waits for a topic would not notice: it queries the cluster without it.
        self._spark.sparkContext._jsc.sc().isStopped()
        if self._is_alive():
            raise QueryStoppedError("the interrupted batch has not ended yet")
        self._failure = None
        self._is_ending.clear()
        # Before `_begin`, so that a stop from now on cancels this job group and not an earlier one.
        self._readers = f"barnabas-{self.figures.run}-{uuid4()}"
        self._begin()
        self.figures.state = "running"
        self._deriving = None
        self._thread = self._started(self._go_on, "batches")

    def poll(self) -> bool:
        """Update lag and status file, and raise failures; return True when the run has ended.

        Raises:
            QueryStoppedError: a batch has failed; `start` can be tried again.
            Exception: an error that ends the run (`_FINAL_ERRORS`).
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
        """Start no further batch."""
        self._is_ending.set()

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """Stop after the current batch; interrupt the batch if it does not end within `timeout_s`."""
        self.end()
        self._join(timeout_s)
        if self._is_alive():
            # Spark jobs that the threads submit from now on fail as well.
            self._spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._readers)
            self._join(self._INTERRUPTED_S)
        self._complete_figures()
        self.figures.state = "stopped"

    def finish(self) -> None:
        """Write the final lag and status after the run has stopped."""
        self._measure_lag()
        self._write_status()

    # The run's threads.

    def _started(self, target: Callable[[], None], name: str) -> Thread:
        from pyspark import InheritableThread

        def run() -> None:
            context = self._spark.sparkContext
            context.setJobGroup(self._readers, self.figures.run, interruptOnCancel=True)
            # Spark divides its slots among pools, so a batch does not wait for all tasks of a derivation.
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
                next_topics_s = time.monotonic() + self._TOPICS_EVERY_S
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
            next_after_s = self._sizer.next_after_s(took_s)
            if ends == starts:
                next_after_s = min(max(self._sizer.trigger_s, _LEAST_IDLE_S), _IDLE_S)
            self._is_ending.wait(max(0.0, next_after_s - took_s))

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
            # A run that has read uncommitted records may be beyond the last stable offset.
            if is_before(self._source.log_ends(starts), starts):
                # The next start reports the loss.
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

    # Reporting.

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
            # The batch thread reports an outage that lasts.
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
            # A full disk or an unavailable store must not stop a run whose tables can be written.
            if not self._is_status_stale:
                self._is_status_stale = True
                self._warn(
                    f"{self.figures.run}: the status in {self._files.directory} is out of date, because it can't be "
                    f"written: {reason_of(error)}"
                )
        else:
            self._is_status_stale = False
