"""How fast the job "security" is: a made-up site's events into facts, and all facts into verdicts.

    python -m benchmarks.pipeline.security [EVENTS]

Events are JSON lines in files, facts a Parquet table: the topics' and the tables' own costs are measured elsewhere.
Beside the time on the clock stands the CPU time of Spark's JVM, which depends less on other work on the machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from barnabas.pipeline.jobs.security import JOB, refresh
from barnabas.pipeline.jobs.security.facts import FACTS
from barnabas.pipeline.jobs.security.judging import VERDICTS
from barnabas.pipeline.sources.social import Broken, SitePlan, generate
from barnabas.pipeline.spark.session import spark_session
from tests.pipeline.activity import frames_of

_EVENT_COUNT = 1_000_000
# Of all events of a made-up site the job reads this share.
_READ_SHARE = 0.667
_DAY_S = 86_400


@contextmanager
def _timed(what: str, event_count: int) -> Iterator[None]:
    begin_s, begin_cpu_s = time.perf_counter(), _jvm_cpu_s()
    yield
    seconds, cpu_s = time.perf_counter() - begin_s, _jvm_cpu_s() - begin_cpu_s
    print(
        f"{what}: {event_count:,} events in {seconds:.1f} s, {event_count / seconds:,.0f}/s; "
        f"{cpu_s:.1f} s of CPU, {event_count / cpu_s:,.0f}/s per core"
    )


def _jvm_cpu_s() -> float:
    return sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))


def main(wanted: int = _EVENT_COUNT) -> None:
    """Measure, and print the figures."""
    plan = SitePlan(seed=1, events_per_s=wanted / _READ_SHARE / _DAY_S, users=wanted // 100, items=wanted // 50)
    with (
        tempfile.TemporaryDirectory() as directory,
        spark_session("benchmark", scratch=Path(directory) / "spark") as spark,
    ):
        events = (event for event in generate(plan) if not isinstance(event, Broken))
        frames = frames_of(spark, JOB, events, Path(directory))
        count = sum(frame.count() for frame in frames.values())
        table = str(Path(directory) / "facts")
        with _timed("events into facts", count):
            JOB.transform(frames, JOB.defaults())[FACTS].write.parquet(table)
        with _timed("facts into verdicts", count):
            verdicts = refresh({FACTS: spark.read.parquet(table)}, JOB.defaults())[VERDICTS]
            verdict_count = len(verdicts.collect())
        print(f"{verdict_count:,} verdicts")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
