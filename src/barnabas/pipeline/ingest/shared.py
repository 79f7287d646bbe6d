"""Shares the reading of topics among the jobs of a run.

Jobs that request a batch at the same time get it from one Spark job, which reads each record once. A requesting job
waits a moment for the others. It then reads for all jobs whose ranges of each partition overlap or are adjacent. The
common range ends at their lowest end offset, so that jobs at different offsets are at the same offset afterwards.

A job that is throttled by a quota reads alone, because quotas apply to client ids and each job has its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from threading import Condition
from typing import TYPE_CHECKING

from barnabas.pipeline.events.schema_registry import RegistryError
from barnabas.pipeline.ingest.ingest import Request, ingest
from barnabas.pipeline.ingest.source import ReadError
from barnabas.pipeline.ingest.task import Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Consumer = Mapping[str, str | int | bool]

# Minimum time between reads, unless all jobs are waiting: a job with slower commits joins the next read.
_APART_S = 2.0
_CLIENT_ID, _FETCH_BYTES = "client.id", "max.partition.fetch.bytes"


class SharedIngest:
    """The ingest of all jobs of a session."""

    def __init__(self, spark: SparkSession, runs: Iterable[str] = ()) -> None:
        """Create it without reading.

        Args:
            spark: The session.
            runs: Names of the runs to wait for at first.
        """
        self._spark = spark
        self._changed = Condition()
        self._waiting: list[_Asked] = []
        self._runs = set(runs)
        # When the last read began; before the first read, when the first request arrived.
        self._began_s: float | None = None

    def join(self, run: str) -> None:
        """Make reads wait for a run from now on."""
        with self._changed:
            self._runs.add(run)

    def leave(self, run: str) -> None:
        """Stop waiting for a run, which makes no more requests."""
        with self._changed:
            self._runs.discard(run)
            self._changed.notify_all()

    def run(self, consumer: _Consumer, request: Request) -> Result:
        """Read a job's batch, together with the requests of other jobs.

        Args:
            consumer: librdkafka's options.
            request: The job's request.

        Raises:
            ReadError: records can't be read.
            RegistryError: the schema registry failed; retry later.
        """
        if _FETCH_BYTES in consumer:
            return self._alone(consumer, request)
        asked = _Asked(consumer, request)
        with self._changed:
            self._waiting.append(asked)
            if self._began_s is None:
                self._began_s = time.monotonic()
            self._changed.notify_all()
            together = self._wait(asked)
        if not together:
            return asked.result or self._alone(consumer, request)
        try:
            if len(together) == 1:
                return self._alone(consumer, request)
            try:
                # Always the same job's options, because a worker keeps a consumer for each client id that it has used.
                first = min(together, key=lambda each: str(each.consumer.get(_CLIENT_ID)))
                results = ingest(self._spark, first.consumer, [each.request for each in together])
            except (ReadError, RegistryError):
                # The error may concern a topic that only one of the jobs reads.
                return self._alone(consumer, request)
            for each, result in zip(together, results, strict=True):
                each.result = result
            return results[0]
        finally:
            with self._changed:
                for each in together:
                    each.is_done = True
                self._changed.notify_all()

    def _wait(self, asked: _Asked) -> list[_Asked]:
        """Wait until another job has read for this one, or return the requests that this job must read, own first."""
        while True:
            if asked.is_done:
                return []
            assert self._began_s is not None  # this job has asked
            left_s = self._began_s + _APART_S - time.monotonic()
            if not asked.is_taken and (len(self._waiting) >= len(self._runs) or left_s <= 0):
                together = [asked]
                for each in self._waiting:
                    if each is not asked and all(each.fits(other) for other in together):
                        together.append(each)
                self._waiting = [each for each in self._waiting if each not in together]
                for each in together:
                    each.is_taken = True
                self._began_s = time.monotonic()
                return together
            self._changed.wait(None if asked.is_taken else left_s)

    def _alone(self, consumer: _Consumer, request: Request) -> Result:
        return ingest(self._spark, consumer, [request])[0]


class _Asked:
    """The request of a waiting job."""

    def __init__(self, consumer: _Consumer, request: Request) -> None:
        self.consumer, self.request = consumer, request
        self.result: Result | None = None
        self.is_taken = self.is_done = False

    def fits(self, other: _Asked) -> bool:
        """Return whether one Spark job can read for both."""
        names = (self.consumer.keys() | other.consumer.keys()) - {_CLIENT_ID}
        is_alike = all(self.consumer.get(name) == other.consumer.get(name) for name in names)
        return is_alike and self.request.touches(other.request)
