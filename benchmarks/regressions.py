"""`scripts/bench --regressions`: compare the cost of this tree with the commits in benchmarks/pinned.txt; ten minutes.

    small   one request in flight: a Produce of 100 bytes, a Fetch of one batch, a waiting Fetch with the Produce that
            completes it, an OffsetCommit: CPU per request
    crowd   a Produce from each of 100 connections: CPU per request; a rejoin of all 200 members of a group: CPU per
            member; 100 connections with a Produce in flight on each, compared with a warm Kafka: requests/s, p99, CPU,
            kernel CPU
    large   Kafka's ProducerPerformance with batches of 16 KB, librdkafka with large batches, kcat as their consumer:
            CPU per GB, memory before and after
    spark   a batch and a stream of a topic: records/s, CPU per record
    start   `barnabas broker` on an empty directory: CPU until the first answer, memory after it

`small`, `crowd` (except beside Kafka) and `start` count instructions: by the machine's counters, or by callgrind if the
machine has none and valgrind is installed (`start`: by callgrind only). A long poll includes the kernel's instructions,
or is measured in CPU seconds. The builds are measured in turn; a ratio is the median of the rounds' ratios. A row is
red if its ratio is above 1.02 for instructions, and above 1.1 for anything else, which is printed with its spread. Rows
compared with Kafka have their own bounds in this file.
"""

import argparse
import contextlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from benchmarks.load import lines, raw, spark
from benchmarks.load.process import CPU, CPU_MICRO, IS_COUNTED, cpu, cpu_s, kernel_cpu, resident_mb
from benchmarks.load.targets import Running, broker_of_sources, kafka
from benchmarks.whole.groups import join_together, rejoin
from benchmarks.whole.wire import Peer, frame

ROOT = Path(__file__).resolve().parents[1]
PINNED = Path(__file__).with_name("pinned.txt")
_HEAD = "this tree"
_MOST_INSTRUCTIONS, _MOST = 1.02, 1.1
_TOPIC, _RECORD_BYTES = "regressions", 100
_WITHOUT_SESSION = (0, -1)
# A broker records the first 10,000 requests of an API in full, later ones in samples.
_WARMUP_COUNT, _IDLE_S = 10_500, 5.0
_CROWD_COUNT, _MEMBER_COUNT = 100, 200

Figures = dict[str, float]


class Instrument(NamedTuple):
    """A way of counting a broker's CPU over a piece of work.

    Attributes:
        unit: The unit of its counts.
        is_exact: Whether it counts instructions.
        request_count: Number of requests per count.
        rounds: Number of counts.
        parked_s: Time until a request is waiting at the broker.
    """

    unit: str
    is_exact: bool
    request_count: int
    rounds: int
    parked_s: float


_COUNTERS = Instrument(CPU_MICRO, True, 2_000, 3, 0.0005)
_CALLGRIND = Instrument("k instructions (callgrind)", True, 400, 5, 0.03)
_SECONDS = Instrument(CPU_MICRO, False, 400, 60, 0.0005)


def _instruments(works: Sequence[str]) -> dict[str, Instrument]:
    """Choose the instrument of each small work: counters, else callgrind, else seconds."""
    if IS_COUNTED:
        return dict.fromkeys(works, _COUNTERS)
    if not shutil.which("valgrind"):
        return dict.fromkeys(works, _SECONDS)
    # Callgrind does not count the kernel. So a build that answers a poll by a copy instead of sendfile would count as
    # more expensive, although it is cheaper.
    return {work: _SECONDS if work == "poll" else _CALLGRIND for work in works}


class Build(NamedTuple):
    """The sources of a broker, and a setting for it (`NAME=VALUE`)."""

    name: str
    sources: Path
    setting: str | None = None

    def broker(self, prefix: Sequence[str] = ()) -> contextlib.AbstractContextManager[Running]:
        """Start the broker."""
        options = [] if self.setting is None else ["--override", self.setting]
        return broker_of_sources(self.sources, prefix=prefix, options=options)


def pinned() -> dict[str, str]:
    """Return the commit for each kind of work."""
    rows = (line.split() for line in PINNED.read_text().splitlines() if line and not line.startswith("#"))
    return dict(row for row in rows if len(row) == 2)


def checked_out(commit: str) -> Build:
    """Return a commit's sources, in a work tree that is kept in .cache."""
    place = ROOT / ".cache" / "pinned" / commit
    if not place.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        command = ["git", "worktree", "add", "--quiet", "--detach", str(place), commit]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            sys.exit(f"scripts/bench: {commit} is not in this clone: git fetch --unshallow")
    return Build(commit, place / "src")


class Callgrind:
    """Counts the instructions of a process that runs under valgrind, piece by piece."""

    def __init__(self, directory: Path, pid: int) -> None:
        self._directory, self._pid = directory, pid

    @staticmethod
    def command(directory: Path, from_start: bool) -> list[str]:
        """Return the words before a program's command line."""
        switch = f"--instr-atstart={'yes' if from_start else 'no'}"
        return ["valgrind", "--tool=callgrind", "-q", switch, f"--callgrind-out-file={directory}/callgrind.%p"]

    def _control(self, option: str) -> None:
        subprocess.run(["callgrind_control", option, str(self._pid)], check=True, capture_output=True, timeout=60)

    def counted(self, work: Callable[[], None]) -> float:
        """Return the 10^9 instructions that a piece of work took."""
        self._control("--instr=on")
        work()
        count = self.total()
        self._control("--instr=off")
        return count

    def total(self) -> float:
        """Return the 10^9 instructions since the last call, or since counting began."""
        self._control("--dump")
        newest = max(self._directory.glob("callgrind.*.*"), key=lambda path: int(path.suffix[1:]))
        found = re.findall(r"^(?:summary|totals): (\d+)", newest.read_text(), re.MULTILINE)
        return int(found[-1]) / 1e9


class Subject:
    """A running broker, and clients that send it small requests."""

    def __init__(self, broker: Running, directory: Path, tool: Instrument) -> None:
        self._address, self._pid, self._tool = broker.address, broker.pid, tool
        self._callgrind = Callgrind(directory, broker.pid) if tool is _CALLGRIND else None
        self._producer = raw.prepare(broker.address, _TOPIC)
        self._consumer = raw.connect(broker.address)
        self._member = Peer(broker.address)
        self._request = raw.produce_request(_TOPIC, raw.record_batch(_RECORD_BYTES))
        self._member.ask_until(FindCoordinatorRequest("g"), 2, lambda answer: int(answer.error_code))
        offsets = [OffsetCommitRequestTopic(_TOPIC, [OffsetCommitRequestPartition(0, 1)])]
        self._commit = frame(OffsetCommitRequest("g", topics=offsets), 6)
        self._crowd = [Peer(broker.address) for _ in range(_CROWD_COUNT)]
        self._members: list[Peer] = []
        self._member_ids: list[str] = []
        self._generation = 0
        self._idle_per_s = 0.0

    def warm_up(self, works: Sequence[str]) -> None:
        """Send enough of each request, then measure the idle broker."""
        for work in works:
            if work != "poll":
                _SMALL[work](self, _WARMUP_COUNT)
        if self._callgrind:
            self._idle_per_s = self._callgrind.counted(lambda: time.sleep(_IDLE_S)) / _IDLE_S

    def close(self) -> None:
        peers = (self._member, *self._crowd, *self._members)
        for connection in (self._producer, self._consumer, *(peer.socket for peer in peers)):
            connection.close()

    def cost(self, work: str) -> float:
        """Return the CPU of one request, in the unit of the instrument."""
        count = self._tool.request_count
        run = partial(_SMALL[work], self, count)
        if self._callgrind:
            # Under callgrind a round takes longer and includes more of the broker's periodic work: subtract it.
            started = time.perf_counter()
            used = self._callgrind.counted(run)
            return (used - self._idle_per_s * (time.perf_counter() - started)) / count * 1e6
        before = self._used(work)
        run()
        return (self._used(work) - before) / count * 1e6

    def _used(self, work: str) -> float:
        # A response to a poll is copied or sent by sendfile, which costs less in user mode but more in the kernel.
        return cpu(self._pid) + (kernel_cpu(self._pid) if work == "poll" and IS_COUNTED else 0.0)

    def _produce(self) -> bytes:
        self._producer.sendall(self._request)
        answer = raw.receive(self._producer)
        if error := raw.produce_error(answer, _TOPIC):
            raise RuntimeError(f"the broker answers error {error}")
        return answer

    def produce(self, count: int) -> None:
        for _ in range(count):
            self._produce()

    def fetch(self, count: int) -> None:
        for offset in range(count):
            self._consumer.sendall(raw.session_fetch_request(_TOPIC, offset, _WITHOUT_SESSION))
            raw.receive(self._consumer)

    def poll(self, count: int) -> None:
        offset = raw.base_offset(self._produce(), _TOPIC) + 1
        for _ in range(count // 4):
            self._consumer.sendall(raw.fetch_request(_TOPIC, offset))
            time.sleep(self._tool.parked_s)
            self._produce()
            raw.receive(self._consumer)
            offset += 1

    def commit(self, count: int) -> None:
        for _ in range(count):
            self._member.send(self._commit)
            if self._member.receive()[-2:] != b"\0\0":
                raise RuntimeError("a commit is refused")

    def crowd(self, count: int) -> None:
        for _ in range(count // _CROWD_COUNT):
            for peer in self._crowd:
                peer.send(self._request)
            for peer in self._crowd:
                if raw.produce_error(peer.receive(), _TOPIC):
                    raise RuntimeError("a produce is refused")

    def rebalance(self, count: int) -> None:
        if not self._members:
            self._members = [Peer(self._address) for _ in range(_MEMBER_COUNT)]
            self._member_ids = [member_id for member_id, _ in join_together(self._members, "crowd")]
        for _ in range(count // _MEMBER_COUNT):
            self._generation += 1
            rejoin(self._members, "crowd", self._member_ids, self._generation)


_SMALL: dict[str, Callable[[Subject, int], None]] = {
    "produce": Subject.produce,
    "fetch": Subject.fetch,
    "poll": Subject.poll,
    "commit": Subject.commit,
    "crowd": Subject.crowd,
    "rebalance": Subject.rebalance,
}
_TITLES = {
    "produce": "small produce",
    "fetch": "small fetch",
    "poll": "a quarter of a long poll and the produce that wakes it",
    "commit": "offset commit",
    "crowd": "small produce, 100 connections at once",
    "rebalance": "a member's part in a rebalance of 200",
}


class Row(NamedTuple):
    """A figure of the builds, round by round.

    Attributes:
        title: Title with the unit.
        values: Values by build, one for each round.
        is_exact: Whether the values count instructions.
        is_lower_better: Whether lower values are better.
        most: The largest ratio that is not red; None: the usual one.
    """

    title: str
    values: dict[str, list[float]]
    is_exact: bool = False
    is_lower_better: bool = True
    most: float | None = None

    @property
    def base(self) -> str:
        """Return the build with which this tree is compared."""
        (base,) = (name for name in self.values if name != _HEAD)
        return base

    def ratio(self) -> float:
        """Return the ratio of this tree to the other build; above 1 is worse."""
        pairs = zip(self.values[_HEAD], self.values[self.base], strict=True)
        return statistics.median(head / old if self.is_lower_better else old / head for head, old in pairs)

    def is_red(self) -> bool:
        return self.ratio() > (self.most or (_MOST_INSTRUCTIONS if self.is_exact else _MOST))


def small(builds: list[Build]) -> list[Row]:
    """Small requests, one at a time, to brokers that run at the same time."""
    return _of_works(builds, ("produce", "fetch", "poll", "commit"))


def crowd(builds: list[Build]) -> list[Row]:
    """Many clients at once, each with a small request."""
    return _of_works(builds, ("crowd", "rebalance")) + _beside_kafka(builds[-1])


def _beside_kafka(build: Build) -> list[Row]:
    """100 connections with a Produce in flight on each, in turn with a warm Kafka."""
    with kafka() as peer, build.broker() as own:
        lines.measure_until_warm(peer, ["flood"], lambda load: None)
        lines.flood(own)
        rounds = [(lines.flood(peer), lines.flood(own)) for _ in range(3)]

    def row(key: str, title: str, most: float, is_lower_better: bool = True) -> Row:
        values = {"Kafka, warm": [of_peer[key] for of_peer, _ in rounds], _HEAD: [of_own[key] for _, of_own in rounds]}
        return Row(f"100 connections: {title}", values, is_lower_better=is_lower_better, most=most)

    return [
        row("flood_requests_per_s", "requests/s", 1 / 0.6, False),
        row("flood_p99_us", "p99 µs", 1.2),
        row("flood_cpu", CPU_MICRO, 1.25),
        row("flood_kernel_cpu", f"{CPU_MICRO} in the kernel", 1.25),
    ]


def _of_works(builds: list[Build], works: Sequence[str]) -> list[Row]:
    by_tool: dict[Instrument, list[str]] = {}
    for work, tool in _instruments(works).items():
        by_tool.setdefault(tool, []).append(work)
    return [row for tool, works in by_tool.items() for row in _small(builds, tool, works)]


def _small(builds: list[Build], tool: Instrument, works: list[str]) -> list[Row]:
    taken = {work: {build.name: list[float]() for build in builds} for work in works}
    with contextlib.ExitStack() as stack:
        subjects = {}
        for build in builds:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-bench-")))
            prefix = Callgrind.command(directory, from_start=False) if tool is _CALLGRIND else []
            broker = stack.enter_context(build.broker(prefix))
            subjects[build.name] = stack.enter_context(contextlib.closing(Subject(broker, directory, tool)))
            subjects[build.name].warm_up(works)
        for number in range(tool.rounds + 1):
            for work in works:
                # Alternate the order, because the first build has a cold cache.
                for name, subject in list(subjects.items())[:: 1 if number % 2 else -1]:
                    value = subject.cost(work)
                    if number:
                        taken[work][name].append(value)
    return [Row(f"{_TITLES[work]}: {tool.unit}", values, tool.is_exact) for work, values in taken.items()]


def large(builds: list[Build]) -> list[Row]:
    """Large batches by the Java producer and librdkafka, each round on a broker of its own."""

    def once(broker: Running) -> Figures:
        time.sleep(1)
        idle_mb = resident_mb(broker.pid)
        found = lines.java_producer(broker) | lines.librdkafka_and_kcat(broker)
        return found | {"idle_mb": idle_mb, "loaded_mb": resident_mb(broker.pid)}

    taken = _in_turn(builds, 3, once)
    titles = {
        "java_cpu_per_gb": f"Java producer: {CPU} per GB",
        "librdkafka_cpu_per_gb": f"librdkafka: {CPU} per GB",
        "kcat_cpu_per_gb": f"kcat reads: {CPU} per GB",
        "idle_mb": "memory idle, MB",
        "loaded_mb": "memory after it, MB",
    }
    return [Row(title, _values(taken, key), IS_COUNTED and "cpu" in key) for key, title in titles.items()]


def with_spark(builds: list[Build]) -> list[Row]:
    """A batch and a stream by Spark's connector."""
    names, count = ["batch", "nothing"], 150_000
    with spark.session() as session:

        def once(broker: Running) -> Figures:
            return spark.measure(session, broker, count, names, lambda load: None)

        _in_turn(builds, 1, once)
        taken = _in_turn(builds, 3, once)
    rows = []
    for name in names:
        title = spark.TITLES[name]
        rows.append(Row(f"{title}: records/s", _values(taken, f"{name}_records_per_s"), is_lower_better=False))
        rows.append(Row(f"{title}: {CPU_MICRO} per record", _values(taken, f"{name}_cpu"), IS_COUNTED))
    return rows


def start(builds: list[Build]) -> list[Row]:
    """The cost of a start on an empty directory."""
    taken = {build.name: list[float]() for build in builds}
    is_exact = shutil.which("valgrind") is not None
    for _ in range(1 if is_exact else 10):
        for build in builds:
            with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
                prefix = Callgrind.command(Path(name), from_start=True) if is_exact else []
                with build.broker(prefix) as broker:
                    used = Callgrind(Path(name), broker.pid).total() if is_exact else cpu_s(broker.pid)
                    taken[build.name].append(used)
    plain = _in_turn(builds, 5, lambda broker: {"mb": resident_mb(broker.pid)})
    return [
        Row(f"start: {'G instructions (callgrind)' if is_exact else 'CPU s'}", taken, is_exact),
        Row("memory after it, MB", _values(plain, "mb")),
    ]


def _in_turn(builds: list[Build], rounds: int, once: Callable[[Running], Figures]) -> dict[str, list[Figures]]:
    taken = {build.name: list[Figures]() for build in builds}
    for number in range(rounds):
        for build in builds[:: 1 if number % 2 else -1]:
            with build.broker() as broker:
                taken[build.name].append(once(broker))
    return taken


def _values(taken: dict[str, list[Figures]], key: str) -> dict[str, list[float]]:
    return {name: [figures[key] for figures in rounds] for name, rounds in taken.items()}


WORKS: dict[str, Callable[[list[Build]], list[Row]]] = {
    "small": small,
    "crowd": crowd,
    "large": large,
    "spark": with_spark,
    "start": start,
}


def _cell(values: list[float]) -> str:
    digits = 0 if max(values) >= 1_000 else 1 if max(values) >= 10 else 2
    spread = f" ({min(values):,.{digits}f}–{max(values):,.{digits}f})" if len(values) > 1 else ""
    return f"{statistics.median(values):,.{digits}f}{spread}"


def _lines_of(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        verdict = "**red**" if row.is_red() else "ok"
        old, head = _cell(row.values[row.base]), _cell(row.values[_HEAD])
        yield f"| {row.title} | {row.base} | {old} | {head} | {row.ratio():.3f} | {verdict} |"


def main() -> int:
    """Run the named works, print the table, and return 1 if a row is red."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench --regressions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(WORKS), help="comma-separated works")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--against", metavar="COMMIT", help="commit to compare with, instead of the pinned ones")
    beside.add_argument("--setting", metavar="NAME=VALUE", help="instead of a commit: this tree with this setting")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(WORKS):
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(WORKS)}")
    if not _instruments(["produce"])["produce"].is_exact:
        print("This machine counts no instructions, and valgrind is not installed: CPU is in seconds.", file=sys.stderr)
    print("| work | beside | it | this tree | ratio | |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    is_red = False
    for name in names:
        if options.setting:
            other = Build(options.setting, ROOT / "src", options.setting)
        else:
            other = checked_out(options.against or pinned()[name])
        rows = WORKS[name]([other, Build(_HEAD, ROOT / "src")])
        print("\n".join(_lines_of(rows)), flush=True)
        is_red = is_red or any(row.is_red() for row in rows)
    return 1 if is_red else 0


if __name__ == "__main__":
    sys.exit(main())
