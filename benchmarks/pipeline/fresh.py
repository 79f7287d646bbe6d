"""Measure how fresh rows are with all jobs in one run: `python -m benchmarks.pipeline.fresh --rate 1000 --minutes 10`.

`barnabas pipeline generate --speed 1` sends the events of a generated site to a broker in real time. One `barnabas
pipeline run` runs the jobs at the same time, with its defaults. Each batch line reports how long the records of the
last minute waited from their timestamp until their rows were in the tables, including derived tables. For each job the
benchmark prints the median of its p50, and the median and the largest of its p99. It uses the lines of the last
`--minutes` minutes; the first minute, in which Spark warms up, is left out.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient

from benchmarks.load.targets import TARGETS
from benchmarks.pipeline.jobs import JOBS, topics_of
from tools.kafka.java import die_with_parent

_WARM_S = 60.0
_STOP_S = 120


def main() -> None:
    """Measure the jobs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"jobs: {', '.join(JOBS)} (default: all)")
    parser.add_argument("--rate", type=int, default=1_000, metavar="N", help="events/s (%(default)s)")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="minutes after the first (%(default)s)")
    parser.add_argument("--options", default="", metavar="TEXT", help="more options of `pipeline run`")
    arguments = parser.parse_args()
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with TARGETS["barnabas"]() as broker, tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        duration_s = _WARM_S + 60 * arguments.minutes
        cluster = ["--bootstrap-server", broker.address]
        made = [*cluster, "--rate", str(arguments.rate), "--duration", str(int(duration_s) + 120), "--speed", "1"]
        users = str(max(2_000, 20 * arguments.rate))
        source = _start(["generate", *made, "--start", "now", "--users", users], name, "generate")
        _wait_for_topics(broker.address, topics_of("load"))
        where = ["--tables", f"{name}/tables", "--checkpoint", f"{name}/checkpoint", "--no-summary", "--json"]
        topics = ["--topics", ",".join(topics_of("load"))] if "load" in arguments.jobs else []
        run = _start(["run", *arguments.jobs, *cluster, *where, *topics, *arguments.options.split()], name, "run")
        try:
            began_s = time.monotonic()
            usage = psutil.Process(run.pid)
            cpu_s = 0.0
            while time.monotonic() < began_s + duration_s and run.poll() is None:
                cpu_s = max(cpu_s, _cpu_s(usage))
                time.sleep(1)
            wall_s = time.monotonic() - began_s
        finally:
            for each in (run, source):
                each.send_signal(signal.SIGINT)
            for each, log in ((run, "run"), (source, "generate")):
                try:
                    each.wait(_STOP_S)
                except subprocess.TimeoutExpired:
                    each.kill()
                    print(f"{log} had not ended after {_STOP_S} s: {_end_of(Path(name, log))}", file=sys.stderr)
        for text in Path(name, "run.log").read_text().splitlines():
            line = json.loads(text) if text.startswith("{") else {"event": "text", "text": text}
            if line["event"] == "batch":
                lines[line["run"]].append(line)
            elif line["event"] in ("warning", "text"):
                print(line.get("text"), file=sys.stderr)
        end_s = max((each[-1]["last_batch_time_s"] for each in lines.values()), default=0.0)
        used = f"{cpu_s / wall_s:.2f} cores, load {os.getloadavg()[0]:.1f}"
        print(f"{arguments.rate:,} events/s, {wall_s:.0f} s, {used}\n")
        print("| job | records | batches | s a batch | refreshes | s a refresh | p50 s | p99 s | largest p99 s | lag |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for job, told in lines.items():
            warm = [each for each in told if each["last_batch_time_s"] > end_s - 60 * arguments.minutes]
            p50, p99 = ([each[f] for each in warm if each[f] is not None] for f in ("fresh_p50_s", "fresh_p99_s"))
            last = told[-1]
            batch_s = statistics.median(each["batch_s"] for each in warm or told)
            counts = f"{last['record_count']:,} | {last['batch_count']} | {batch_s:.1f} | {last['refresh_count']}"
            refresh_s = statistics.median(each["refresh_s"] for each in warm or told)
            waits = f"{statistics.median(p50):.1f} | {statistics.median(p99):.1f} | {max(p99):.1f}" if p50 else "| |"
            lag = sum(sum(partitions.values()) for partitions in last["lag"].values())
            print(f"| {job} | {counts} | {refresh_s:.1f} | {waits} | {lag:,} |", flush=True)


def _start(command: list[str], directory: str, name: str) -> subprocess.Popen[bytes]:
    with Path(directory, f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "barnabas.pipeline", *command],
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )


def _end_of(log: Path) -> str:
    return log.with_suffix(".log").read_text()[-500:]


def _wait_for_topics(address: str, topics: list[str]) -> None:
    """Wait until topics exist, so that no job restarts when they appear."""
    admin, deadline_s = AdminClient({"bootstrap.servers": address}), time.monotonic() + 30
    while not set(topics) <= set(admin.list_topics(timeout=10).topics):
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"not there after 30 s: {', '.join(topics)}")
        time.sleep(0.2)


def _cpu_s(process: psutil.Process) -> float:
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


if __name__ == "__main__":
    main()
