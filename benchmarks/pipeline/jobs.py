"""Measure jobs as a user runs them: `python -m benchmarks.pipeline.jobs`, `load ranking --events 1000000`.

`barnabas pipeline generate` sends the events of a generated site to a broker. Then `barnabas pipeline run JOB --once`
runs each job in its own process, without earlier tables. The job reads all events from its topics, and writes its
tables and the results derived from them.

- records/s: records in the job's topics per second of wall-clock time, including the start of Python and Spark
- CPU: that of all processes of the job
- memory: the largest sum over the job's processes, sampled four times a second; shared pages count once

The load shows whether the machine is busy; if it is, compare runs. `--beside before=DIRECTORY` runs the sources of
another checkout in turn with these, on the same topics; it may be repeated. The very first run may download Spark's
jars.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from confluent_kafka import Consumer, TopicPartition

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import TopicInput
from benchmarks.load.targets import TARGETS, Running
from tools.kafka.java import die_with_parent

JOBS = ("load", "reporting", "security", "ranking", "feed", "operations")
_DAYS = 2
_DAY_S = 86_400
# The site has about 50 events per user and day.
_EVENTS_OF_USER = 50 * _DAYS
_PARTITION_COUNT = 4
_LOOK_EVERY_S = 0.25
_SOURCES = Path(__file__).parents[2]


class Cost(NamedTuple):
    """The cost of a command."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Measure the jobs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"jobs: {', '.join(JOBS)} (default: all)")
    parser.add_argument("--events", type=int, default=200_000, metavar="N", help="events, approximately (%(default)s)")
    parser.add_argument("--target", choices=("barnabas", "kafka"), default="barnabas", help="broker (%(default)s)")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=DIR", help="checkout to run in turn")
    arguments = parser.parse_args()
    checkouts = {name: Path(path) for name, _, path in (each.partition("=") for each in arguments.beside)}
    checkouts["now"] = _SOURCES
    with TARGETS[arguments.target]() as broker, tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        directory = Path(name)
        generate(broker, arguments.events, directory)
        print("| job | sources | records | wall s | records/s | CPU s | records per CPU s | peak MB | load |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for job in arguments.jobs:
            count = record_count(broker, topics_of(job))
            for version, checkout in checkouts.items():
                cost = run_once(job, broker, checkout, directory / f"{version}-{job}")
                rates = f"{cost.wall_s:.0f} | {count / cost.wall_s:,.0f} | {cost.cpu_s:.0f} | {count / cost.cpu_s:,.0f}"
                load = os.getloadavg()[0]
                print(f"| {job} | {version} | {count:,} | {rates} | {cost.peak_mb:,.0f} | {load:.1f} |", flush=True)


def generate(broker: Running, event_count: int, directory: Path) -> None:
    """Fill topics with about this many events."""
    rate = event_count / (_DAYS * _DAY_S)
    options = {"--duration": _DAYS * _DAY_S, "--rate": rate, "--partitions": _PARTITION_COUNT}
    options |= {"--users": max(100, event_count // _EVENTS_OF_USER), "--items": max(100, event_count // 50)}
    words = [str(word) for option in options.items() for word in option]
    measured(["generate", "--bootstrap-server", broker.address, *words], _SOURCES, directory / "generate")


def run_once(job: str, broker: Running, checkout: Path, directory: Path) -> Cost:
    """Run a job to its end, with its tables, checkpoints and scratch files in an empty directory."""
    words = ["run", job, "--once", "--bootstrap-server", broker.address]
    words += ["--tables", str(directory / "tables"), "--checkpoint", str(directory / "checkpoints")]
    words += ["--scratch", str(directory / "scratch")]
    if job == "load":
        words += ["--topics", ",".join(topics_of(job))]
    return measured(words, checkout, directory)


def measured(words: list[str], checkout: Path, directory: Path) -> Cost:
    """Run `barnabas pipeline` in its own process to its end."""
    directory.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-m", "barnabas.pipeline", *words]
    begin_s, peak_bytes = time.monotonic(), 0
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, preexec_fn=die_with_parent)
        # wait4 returns resource usage that includes the children's.
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak_bytes = max(peak_bytes, _held_bytes(process.pid))
            time.sleep(_LOOK_EVERY_S)
    wall_s = time.monotonic() - begin_s
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words}: exit code {process.returncode}\n{(directory / 'log').read_text()[-4_000:]}")
    return Cost(wall_s, used.ru_utime + used.ru_stime, peak_bytes / 1e6)


def topics_of(job: str) -> list[str]:
    """Return the topics that a job reads; for a job that reads any topic, the topics of all events."""
    events = [each.event for each in find_job(job).inputs if isinstance(each, TopicInput)]
    return [event.topic for event in events if event is not None] or [event.topic for event in EVENT_TYPES.values()]


def record_count(broker: Running, topics: list[str]) -> int:
    """Count the records of topics."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "nobody"})
    partitions = [TopicPartition(topic, number) for topic in topics for number in range(_PARTITION_COUNT)]
    try:
        return sum(consumer.get_watermark_offsets(each, timeout=30)[1] for each in partitions)
    finally:
        consumer.close()


def _held_bytes(pid: int) -> int:
    """Return the memory of a process and its descendants; shared pages count once."""
    held = {}
    for each in (root := psutil.Process(pid), *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            held[each.pid] = each, int(each.memory_full_info().pss)
    total = 0
    for each, byte_count in held.values():
        with suppress(psutil.NoSuchProcess):
            # Before exec, a child of the JVM is briefly a copy of the JVM: do not count it.
            parent, _ = held.get(each.ppid(), (None, 0))
            if parent is None or each.exe() != parent.exe() or "java" not in each.exe():
                total += byte_count
    return total


if __name__ == "__main__":
    main()
