"""The life that a job and a mirror share: its queries, its figures, new starts, its end.

Everything happens in `poll`'s thread, but for the batches, which are Spark's. A subclass finds its topics, starts its
queries where it stands, and does its batches.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError
from barnabas.pipeline.runner.figures import Figures, Metrics
from barnabas.pipeline.runner.positions import Extents, lag_of, merged
from barnabas.pipeline.runner.query import QueryStoppedError, first_line
from barnabas.pipeline.runner.reading import Reading

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LAG_EVERY_S = 5.0
_STATUS_EVERY_S = 2.0
_STATUS_FILE = "status.json"
# A batch has so long to end before it is interrupted.
_STOP_S = 30.0


class QueryRun(ABC):
    """A run of streaming queries, which are started again where they are to be planned anew."""

    _TOPICS_EVERY_S: ClassVar[float]
    # A batch that was interrupted has so long to come to its end: the next start goes by what it has written.
    _INTERRUPTED_S: ClassVar[float]
    # What is raised as it is; other failures of a query pass, and it is started again.
    _FINAL_ERRORS: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        run: str,
        files: Files,
        source: Cluster,
        reading: Reading,
        metrics: Metrics,
        report: Callable[[Figures], None],
        warn: Callable[[str], None],
    ) -> None:
        """Nothing is read or written yet.

        Args:
            run: What it is called.
            files: Its checkpoint's directory.
            source: The cluster that is read.
            reading: Plans its sources.
            metrics: Takes the figures.
            report: Called with the figures after each batch, in the batch's thread.
            warn: Told in one line what a person should know.
        """
        self.figures = Figures(run)
        self._files = files
        self._source = source
        self._reading = reading
        self._metrics = metrics
        self._report = report
        self._warn = warn
        self._queries: list[StreamingQuery] = []
        self._failure: Exception | None = None
        self._topics: Collection[str] = ()
        self._extents: Extents = {}
        self._is_busy = False
        # No batch is begun any more: the queries are about to be stopped.
        self._is_ending = False
        # It is about to be started again, however long its batch takes: by then. Whether it is so for its pace alone.
        self._restarts_by_s: float | None = None
        self._is_going_on = False
        self._next_lag_s = self._next_topics_s = self._next_status_s = 0.0

    @abstractmethod
    def _find_topics(self) -> Collection[str]:
        """Return the topics to be read, of those that are there."""

    @abstractmethod
    def _start_queries(self) -> None:
        """Start the queries where the run stands; sets `_queries`, `_topics`, `_extents` and the figures' positions."""

    def _complete_figures(self) -> None:
        """Complete the figures, before they are written: nothing is left to add where a batch's report has all."""
        return

    def start(self) -> None:
        """Start the queries where the run stands.

        Raises:
            DataLossError: records are gone before they were read, and the plan says to stop.
            NoSuchTopicError: none of the topics is there.
            ClusterUnavailableError: a cluster did not answer.
            Exception: the subclass's.
        """
        self._failure = None
        self._restarts_by_s = None
        self._is_ending = False
        self._start_queries()
        self._next_topics_s = time.monotonic() + self._TOPICS_EVERY_S
        self.figures.state = "running"

    def poll(self) -> bool:
        """Look after the queries; True when the run has come to its end.

        Raises:
            QueryStoppedError: a query has failed; `start` can be tried again.
            Exception: what ends the run (`_FINAL_ERRORS`).
        """
        if self._restarts_by_s is not None:
            self._go_on_restarting(self._restarts_by_s)
            return False
        now = time.monotonic()
        if now >= self._next_lag_s:
            self._measure_lag()
            self._next_lag_s = now + _LAG_EVERY_S
        if now >= self._next_status_s:
            self._write_status()
            self._next_status_s = now + _STATUS_EVERY_S
        self._raise_failure()
        if self._is_at_end():
            return True
        if why := self._reading.reason_to_restart():
            self._is_going_on = True
            self._restart(why)
        elif now >= self._next_topics_s:
            self._next_topics_s = now + self._TOPICS_EVERY_S
            if set(self._find_topics()) != set(self._topics):
                self._restart("there are other topics than before")
            elif self._reading.leaves_out(self._extents):
                self._restart("topics have more partitions than before")
        return False

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """Stop the queries, between two batches if the one under way ends in time."""
        deadline = time.monotonic() + timeout_s
        while self._is_busy and time.monotonic() < deadline and any(query.isActive for query in self._queries):
            time.sleep(0.02)
        self._is_ending = True
        for query in self._queries:
            query.stop()
        # Spark does not wait for what was interrupted.
        deadline = time.monotonic() + self._INTERRUPTED_S
        while self._is_busy and time.monotonic() < deadline:
            time.sleep(0.02)
        self._complete_figures()
        self._queries = []
        self.figures.state = "stopped"

    def finish(self) -> None:
        """Note how far it came, when the queries have ended."""
        self._measure_lag()
        self._write_status()

    def _is_at_end(self) -> bool:
        return not any(query.isActive for query in self._queries)

    def _do_batch(self, do: Callable[[], BatchReport | None]) -> bool:
        """Do a batch, and take in its report; False where its query is about to be stopped."""
        if self._is_ending:
            return False
        self._is_busy = True
        try:
            report = do()
        except Exception as error:
            # Spark would give on its text alone.
            self._failure = error
            raise
        finally:
            self._is_busy = False
        if report is not None:
            self._take(report)
        return True

    def _take(self, report: BatchReport) -> None:
        self.figures.add(report)
        self.figures.positions = merged(self.figures.positions, report.ends)
        self._tell_lag()
        self._reading.account(report)
        self.figures.limited_by = self._reading.limited_by
        self._metrics.batch(self.figures.run, report)
        self._report(self.figures)

    def _restart(self, why: str) -> None:
        """Begin to start it again; `_go_on_restarting` does the rest."""
        self._warn(f"{self.figures.run}: {why}; starting again")
        self._is_ending = True
        self._restarts_by_s = time.monotonic() + _STOP_S

    def _go_on_restarting(self, by_s: float) -> None:
        """Start it again once the batch under way has ended; meanwhile other runs are looked after."""
        if self._is_busy and time.monotonic() < by_s:
            return
        try:
            if self._failure is not None:
                self._raise_failure()
            self.stop(0.0)
            self.start()
        finally:
            self._is_going_on = False

    def _raise_failure(self) -> None:
        if isinstance(self._failure, self._FINAL_ERRORS):
            raise self._failure
        for query in self._queries:
            if not query.isActive and (error := query.exception()) is not None:
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
        self._metrics.lag(self.figures.run, self.figures.lag)

    def _write_status(self) -> None:
        self._complete_figures()
        self._files.write(_STATUS_FILE, self.figures.to_json())
