"""The measurements: each line of the table, its load, and its goal relative to Kafka.

CPU is the broker process's (benchmarks/load/process.py); GB and MB are powers of ten. A JVM compiles code while it
runs. So Kafka repeats a load until two rounds cost the same within 5 %, and both its first and its last round are
reported.
"""

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.load.process import CPU, CPU_MICRO, cpu, resident_mb
from benchmarks.load.targets import Running
from tools.kafka.java import die_with_parent, java_command

Figures = dict[str, float]

_TIMEOUT_S = 300
_PERF_RECORD_BYTES = 1_024
_JAVA_COUNT = 500_000
_LIBRDKAFKA_COUNT = 1_000_000
_SMALL_COUNT, _SMALL_WARMUP_COUNT, _SMALL_BYTES = 10_000, 5_000, 100
_FLOOD_COUNT, _FLOOD_CONNECTIONS = 60_000, 100
_END_TO_END_COUNT = 3_000
_AUDIENCE_COUNT = 200
_NEIGHBOUR_COUNT, _BESIDE_LONG_COUNT, _BESIDE_LONG_S, _GREEDY_S = 3_000, 500, 15, 60


class Line(NamedTuple):
    """One figure.

    Attributes:
        key: Its name in the JSON result.
        title: Its name in the table, with the unit.
        digits: Digits after the decimal point.
        goal: Goal for Barnabas divided by Kafka; None: no goal.
        is_lower_better: Whether the goal is an upper bound.
    """

    key: str
    title: str
    digits: int
    goal: float | None = None
    is_lower_better: bool = True


LINES = (
    Line("startup_s", "start to first answer, s", 2, 0.12),
    Line("idle_mb", "resident memory idle, MB", 0, 0.17),
    Line("loaded_mb", "resident memory after the load, MB", 0, 0.17),
    Line("produce_p50_us", "small produce, one connection: p50 µs", 0, 1.0),
    Line("produce_p99_us", "small produce, one connection: p99 µs", 0, 1.0),
    Line("produce_cpu", f"small produce, one connection: {CPU_MICRO} per request", 0, 0.5),
    Line("produce_kernel_cpu", f"the same in the kernel: {CPU_MICRO} per request", 1),
    Line("end_to_end_p50_us", "produce to consume: p50 µs", 0, 0.4),
    Line("end_to_end_p99_us", "produce to consume: p99 µs", 0, 0.3),
    Line("flood_requests_per_s", "100 connections: requests/s", 0, 0.6, is_lower_better=False),
    Line("flood_p50_us", "100 connections: p50 µs", 0),
    Line("flood_p99_us", "100 connections: p99 µs", 0, 1.2),
    Line("flood_cpu", f"100 connections: {CPU_MICRO} per request", 1, 1.25),
    Line("flood_kernel_cpu", f"the same in the kernel: {CPU_MICRO} per request", 1),
    Line("audience_p50_us", "a produce until 100 long polls have it: p50 µs", 0),
    Line("audience_cpu", f"the same: {CPU_MICRO} per record that is fetched", 1, 1.0),
    Line("neighbour_p99", "small produce beside a client that pipelines: p99, in its p99 alone", 2),
    Line("neighbour_fetch_p99", "small produce beside fetches of 10,000 partitions: p99, in its p99 alone", 2),
    Line("bomb_p99", "the same beside bombs of 128 MiB: p99, in its p99 alone", 2),
    Line("old_messages_p99", "the same beside a client that sends Produce v1 of 50 MB: p99, in its p99 alone", 2),
    Line("java_cpu_per_gb", f"Java producer: {CPU} per GB", 2, 0.35),
    Line("java_mb_per_s", "Java producer: MB/s", 0, 1.3, is_lower_better=False),
    Line("librdkafka_cpu_per_gb", f"librdkafka: {CPU} per GB", 2, 0.45),
    Line("librdkafka_mb_per_s", "librdkafka: MB/s", 0, None, is_lower_better=False),
    Line("kcat_cpu_per_gb", f"kcat reads: {CPU} per GB", 2, 0.4),
    Line("kcat_mb_per_s", "kcat reads: MB/s", 0, None, is_lower_better=False),
)


def _run(command: list[str]) -> str:
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, preexec_fn=die_with_parent
    )
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr or result.stdout}")
    return result.stdout


def _raw(broker: Running, mode: str, topic: str, count: int, *more: int) -> Figures:
    command = [sys.executable, "-m", "benchmarks.load.raw", mode, broker.address, topic, str(count)]
    figures: Figures = json.loads(_run([*command, str(_SMALL_BYTES), *map(str, more), "--pid", str(broker.pid)]))
    return figures


def small_produce(broker: Running) -> Figures:
    """One Produce of 100 bytes in flight; the second round counts."""
    _raw(broker, "latency", "latency", _SMALL_WARMUP_COUNT)
    figures = _raw(broker, "latency", "latency", _SMALL_COUNT)
    return {
        "produce_p50_us": figures["p50_us"],
        "produce_p99_us": figures["p99_us"],
        "produce_cpu": figures["cpu"] / _SMALL_COUNT * 1e6,
        "produce_kernel_cpu": figures["kernel_cpu"] / _SMALL_COUNT * 1e6,
    }


def end_to_end(broker: Running) -> Figures:
    """From a produce to the response of a waiting fetch."""
    figures = _raw(broker, "end-to-end", "end-to-end", _END_TO_END_COUNT)
    return {"end_to_end_p50_us": figures["p50_us"], "end_to_end_p99_us": figures["p99_us"]}


def flood(broker: Running) -> Figures:
    """A hundred connections with one Produce of 100 bytes in flight on each."""
    figures = _raw(broker, "flood", "flood", _FLOOD_COUNT, _FLOOD_CONNECTIONS)
    return {
        "flood_requests_per_s": figures["requests_per_s"],
        "flood_p50_us": figures["p50_us"],
        "flood_p99_us": figures["p99_us"],
        "flood_cpu": figures["cpu"] / _FLOOD_COUNT * 1e6,
        "flood_kernel_cpu": figures["kernel_cpu"] / _FLOOD_COUNT * 1e6,
    }


def audience(broker: Running) -> Figures:
    """A hundred consumers that wait for each record."""
    figures = _raw(broker, "audience", "audience", _AUDIENCE_COUNT, _FLOOD_CONNECTIONS)
    return {
        "audience_p50_us": figures["p50_us"],
        "audience_cpu": figures["cpu"] / _AUDIENCE_COUNT / _FLOOD_CONNECTIONS * 1e6,
    }


class Greedy(NamedTuple):
    """A client beside which a small one is measured.

    Attributes:
        key: Prefix of its figures' names.
        mode: A mode of `raw.py`.
        size: The SIZE argument of that mode.
    """

    key: str
    mode: str
    size: int


GREEDY = (
    Greedy("neighbour", "pipeline", 0),
    Greedy("neighbour_fetch", "fetch-many", 10_000),
)


def neighbour(broker: Running) -> Figures:
    """Small produces alone, then beside each of the greedy clients."""
    alone = _raw(broker, "latency", "neighbour", _NEIGHBOUR_COUNT)
    figures: Figures = {}
    for greedy in GREEDY:
        command = [sys.executable, "-m", "benchmarks.load.raw", greedy.mode, broker.address, "neighbour"]
        command += [str(_GREEDY_S), str(greedy.size), "1"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent) as process:
            try:
                beside = _raw(broker, "latency", "neighbour", _NEIGHBOUR_COUNT)
            finally:
                process.kill()
        figures[f"{greedy.key}_p99_us"] = beside["p99_us"]
        figures[f"{greedy.key}_p99"] = beside["p99_us"] / alone["p99_us"]
    return figures


def long_work(broker: Running) -> Figures:
    """Small produces alone, then beside a client with expensive requests."""
    alone = _raw(broker, "latency", "neighbour", _NEIGHBOUR_COUNT)
    figures: Figures = {}
    for key, kind in (("bomb_p99", "bomb"), ("old_messages_p99", "old-messages")):
        figures[f"{key}_us"] = _p99_beside_long_work_us(broker, kind)
        figures[key] = figures[f"{key}_us"] / alone["p99_us"]
    return figures


def _p99_beside_long_work_us(broker: Running, kind: str) -> float:
    """Return the median of the p99s of several rounds, which together cover all stages of the expensive work."""
    command = [sys.executable, "-m", "benchmarks.load.greedy", kind, broker.address, str(_GREEDY_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as greedy:
        try:
            assert greedy.stdout is not None
            if greedy.stdout.readline() != "begun\n":
                raise RuntimeError(f"the greedy client ({kind}) did not begin")
            end, p99s_us = time.monotonic() + _BESIDE_LONG_S, []
            while time.monotonic() < end:
                p99s_us.append(_raw(broker, "latency", "neighbour", _BESIDE_LONG_COUNT)["p99_us"])
            return statistics.median(p99s_us)
        finally:
            greedy.kill()


def java_mb_per_s(bootstrap_servers: str, topic: str, count: int, *properties: str) -> float:
    """Have Kafka's ProducerPerformance send records of a kilobyte with the client's defaults (16 KB batches)."""
    arguments = ["--topic", topic, "--num-records", str(count), "--record-size", str(_PERF_RECORD_BYTES)]
    arguments += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap_servers}", *properties]
    text = _run(java_command("org.apache.kafka.tools.ProducerPerformance", arguments, jvm_options=()))
    found = re.search(rf"^{count} records sent, ([\d.]+) records/sec", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"ProducerPerformance said: {text}")
    return float(found[1]) * _PERF_RECORD_BYTES / 1e6


def java_producer(broker: Running) -> Figures:
    """Kafka's ProducerPerformance with acks=1."""
    before = cpu(broker.pid)
    mb_per_s = java_mb_per_s(broker.address, "java", _JAVA_COUNT, "acks=1")
    used_s = cpu(broker.pid) - before
    return {"java_cpu_per_gb": used_s / (_JAVA_COUNT * _PERF_RECORD_BYTES / 1e9), "java_mb_per_s": mb_per_s}


def librdkafka_and_kcat(broker: Running) -> Figures:
    """A million records of 1,024 bytes through librdkafka (linger.ms=5, acks=1); then kcat reads those."""
    command = [sys.executable, "-m", "benchmarks.load.librdkafka", broker.address, "librdkafka"]
    command += [str(_LIBRDKAFKA_COUNT), str(_PERF_RECORD_BYTES), "linger.ms=5", "acks=1"]
    size_gb = _LIBRDKAFKA_COUNT * _PERF_RECORD_BYTES / 1e9
    start_cpu_s = cpu(broker.pid)
    produced: Figures = json.loads(_run(command))
    middle_cpu_s, start = cpu(broker.pid), time.perf_counter()
    # Read only the records just written, because the load may run several times on a broker.
    reader = [
        "kcat",
        "-b",
        broker.address,
        "-C",
        "-t",
        "librdkafka",
        "-p",
        "0",
        "-o",
        str(-_LIBRDKAFKA_COUNT),
        "-e",
        "-q",
    ]
    subprocess.run(reader, stdout=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=True, preexec_fn=die_with_parent)
    elapsed_s = time.perf_counter() - start
    return {
        "librdkafka_cpu_per_gb": (middle_cpu_s - start_cpu_s) / size_gb,
        "librdkafka_mb_per_s": produced["mb_per_s"],
        "kcat_cpu_per_gb": (cpu(broker.pid) - middle_cpu_s) / size_gb,
        "kcat_mb_per_s": size_gb * 1e3 / elapsed_s,
    }


LOADS: dict[str, Callable[[Running], Figures]] = {
    "produce": small_produce,
    "end-to-end": end_to_end,
    "flood": flood,
    "audience": audience,
    "neighbour": neighbour,
    "long-work": long_work,
    "java": java_producer,
    "librdkafka": librdkafka_and_kcat,
}
"""The loads in the order in which they run; start-up and memory are measured around them."""


# The figure of each load that shows when a JVM is warm: its CPU, or its duration if CPU is not measured.
_SETTLES = {
    "produce": "produce_cpu",
    "end-to-end": "end_to_end_p50_us",
    "flood": "flood_cpu",
    "audience": "audience_cpu",
    "java": "java_cpu_per_gb",
    "librdkafka": "librdkafka_cpu_per_gb",
}
_SETTLED, _MOST_ROUNDS = 0.05, 8


def measure(broker: Running, loads: list[str], progress: Callable[[str], None]) -> Figures:
    """Run the named loads on one broker and return every figure."""
    # A JVM continues compiling and loading after its first answer: give every target one second to settle.
    time.sleep(1)
    figures = {"startup_s": broker.startup_s, "idle_mb": resident_mb(broker.pid)}
    for name in loads:
        progress(name)
        figures.update(LOADS[name](broker))
    if loads:
        figures["loaded_mb"] = resident_mb(broker.pid)
    return figures


def measure_until_warm(broker: Running, loads: list[str], progress: Callable[[str], None]) -> tuple[Figures, Figures]:
    """Run each load until two rounds cost the same; return the figures of the first and of the last rounds."""
    time.sleep(1)
    started = {"startup_s": broker.startup_s, "idle_mb": resident_mb(broker.pid)}
    warm = dict(started)
    for name in loads:
        progress(name)
        rounds = [LOADS[name](broker)]
        started.update(rounds[0])
        key = _SETTLES.get(name)
        while key and len(rounds) < _MOST_ROUNDS and not is_settled([each[key] for each in rounds]):
            progress(f"{name}, warming up: {rounds[-1][key]:,.1f}")
            rounds.append(LOADS[name](broker))
        warm.update(rounds[-1])
    if loads:
        started["loaded_mb"] = warm["loaded_mb"] = resident_mb(broker.pid)
    return started, warm


def is_settled(values: Sequence[float]) -> bool:
    """Return whether the last two rounds cost the same."""
    return len(values) > 1 and abs(values[-1] / values[-2] - 1) < _SETTLED
