"""`scripts/bench --mirror`: measure how fast topics are mirrored, compared with MirrorMaker of Kafka 2.7.2.

Two mirrors in turn copy a topic from one broker to another of the same kind: MirrorMaker (two streams, batches as large
as those of Barnabas, acks=all: at least once) and `barnabas mirror` (exactly once). The topic has four partitions and
records of 1 KB without keys. The rate is measured from the first record in the target to the last. CPU is that of all
processes of the mirror, and separately that of both brokers. The figures "from the start" include the mirror's start.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.load import report
from benchmarks.load.lines import Figures, Line
from benchmarks.load.process import CPU_MICRO, cpu
from benchmarks.load.spark import PARTITION_COUNT, fill
from benchmarks.load.targets import TARGETS, Running
from tools.kafka.java import die_with_parent, java_command

_TOPIC = "source"
_PREFIX = "copy."
_TIMEOUT_S = 600.0
_LOOK_AGAIN_S = 0.02
# Settings of both producers, because MirrorMaker's default batches have 16 KB.
_BATCHES = {"batch.size": "1000000", "linger.ms": "20"}

KINDS = {"kafka": "Kafka to Kafka", "barnabas": "Barnabas to Barnabas"}
LINES = tuple(
    line
    for kind, title in KINDS.items()
    for line in (
        Line(f"{kind}_records_per_s", f"{title}: records/s", 0, is_lower_better=False),
        Line(f"{kind}_cpu", f"{title}: CPU of the mirror, µs per record", 1),
        Line(f"{kind}_brokers_cpu", f"{title}: {CPU_MICRO} of both brokers per record", 1),
        Line(f"{kind}_whole_s", f"{title}: from the start to the last record, s", 1),
        Line(f"{kind}_whole_cpu_s", f"{title}: CPU of the mirror from the start on, s", 1),
    )
)


def mirror_maker(source: Running, target: Running, directory: Path) -> tuple[list[str], str]:
    """Return the command of MirrorMaker, and its target topic."""
    consumer, producer = directory / "consumer.properties", directory / "producer.properties"
    _write(
        consumer,
        {"bootstrap.servers": source.address, "group.id": f"mirror-{directory.name}", "auto.offset.reset": "earliest"},
    )
    _write(producer, {"bootstrap.servers": target.address, **_BATCHES})
    arguments = ["--consumer.config", str(consumer), "--producer.config", str(producer), "--whitelist", _TOPIC]
    arguments += ["--num.streams", "2"]
    # The options of its own script, except for the heap, which is 256 MB there.
    options = ("-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
    return java_command("kafka.tools.MirrorMaker", arguments, jvm_options=options), _TOPIC


def barnabas_mirror(source: Running, target: Running, directory: Path) -> tuple[list[str], str]:
    """Return the command of `barnabas mirror`, and its target topic."""
    command = [sys.executable, "-m", "barnabas.cli.main", "mirror", "--topics", _TOPIC, "--prefix", _PREFIX, "--json"]
    command += ["--source", source.address, "--target", target.address]
    return command, _PREFIX + _TOPIC


MIRRORS: dict[str, Callable[[Running, Running, Path], tuple[list[str], str]]] = {
    "kafka": mirror_maker,
    "barnabas": barnabas_mirror,
}


def measure(name: str, kind: str, source: Running, target: Running, count: int) -> Figures:
    """Run a mirror until it has copied all records, and stop it."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", ignore_cleanup_errors=True) as directory:
        command, topic = MIRRORS[name](source, target, Path(directory))
        admin = AdminClient({"bootstrap.servers": target.address})
        admin.create_topics([NewTopic(topic, PARTITION_COUNT, 1)])[topic].result()
        begin_s = time.perf_counter()
        with _started(command, Path(directory)) as process, _counter(target, topic) as record_count:
            first_count = _wait(record_count, 1, process)
            first_s, first_cpu_s = time.perf_counter(), _tree_cpu_s(process.pid)
            first_brokers_s = cpu(source.pid) + cpu(target.pid)
            # Transaction markers count as records here: one per 16 MB.
            done_count = _wait(record_count, count, process) - first_count
            last_s, last_cpu_s = time.perf_counter(), _tree_cpu_s(process.pid)
            brokers_s = cpu(source.pid) + cpu(target.pid) - first_brokers_s
    return {
        f"{kind}_records_per_s": done_count / (last_s - first_s),
        f"{kind}_cpu": (last_cpu_s - first_cpu_s) / done_count * 1e6,
        f"{kind}_brokers_cpu": brokers_s / done_count * 1e6,
        f"{kind}_whole_s": last_s - begin_s,
        f"{kind}_whole_cpu_s": last_cpu_s,
    }


@contextmanager
def _started(command: list[str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent)
    try:
        yield process
    except BaseException:
        print((directory / "log").read_text(errors="replace")[-4_000:], file=sys.stderr)
        raise
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _counter(target: Running, topic: str) -> Iterator[Callable[[], int]]:
    """Yield a function that counts the offsets of a topic."""
    consumer = Consumer({"bootstrap.servers": target.address, "group.id": "nobody"})
    partitions = [TopicPartition(topic, index) for index in range(PARTITION_COUNT)]
    try:
        yield lambda: sum(consumer.get_watermark_offsets(each, timeout=30)[1] for each in partitions)
    finally:
        consumer.close()


def _wait(record_count: Callable[[], int], wanted: int, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + _TIMEOUT_S
    while (found := record_count()) < wanted:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{found} of {wanted} records came, exit code {process.poll()}")
        time.sleep(_LOOK_AGAIN_S)
    return found


def _tree_cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its descendants, including ended ones."""
    process = psutil.Process(pid)
    used_s = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used_s += times.user + times.system + times.children_user + times.children_system
    return used_s


def _write(path: Path, settings: dict[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench --mirror", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--count", type=int, default=500_000, help="records (%(default)s)")
    parser.add_argument("--between", default=",".join(KINDS), help=f"comma-separated brokers: {', '.join(KINDS)}")
    parser.add_argument(
        "--save", type=report.result_name, metavar="NAME", help="write benchmarks/results/NAME.json and NAME.md"
    )
    options = parser.parse_args()
    results: dict[str, list[Figures]] = {name: [] for name in MIRRORS}
    for run in range(1, options.runs + 1):
        figures: dict[str, Figures] = {name: {} for name in MIRRORS}
        for kind in options.between.split(","):
            with ExitStack() as stack:
                source, target = (stack.enter_context(TARGETS[kind]()) for _ in range(2))
                fill(source.address, _TOPIC, options.count)
                # Alternate the order, because the first mirror meets a cold target.
                for name in sorted(MIRRORS, reverse=run % 2 == 0):
                    print(f"run {run}/{options.runs} {KINDS[kind]}: {name}", file=sys.stderr, flush=True)
                    figures[name] |= measure(name, kind, source, target, options.count)
        for name, runs in results.items():
            runs.append(figures[name])
    text = report.table(results, LINES)
    print(text)
    if options.save:
        report.save(options.save, "scripts/bench --mirror", results, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
