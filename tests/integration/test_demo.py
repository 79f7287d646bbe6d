"""The demo on the real access log, as a person starts it: its result is the plain count, also when all is killed.

It runs in processes of its own; its directory alone shows what it is doing: a job has begun when
`checkpoint/<job>/status.json` exists, and rows count when the table's log has another version.
"""

import errno
import gzip
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.access_log_counts import count_file, read_counts
from tests.patience import PATIENCE_S

ONE_VIEW = b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
CUT_SHORT = b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /cut-sho\n'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the demo's processes in /proc")


class Demo:
    """A demo's process, its children and its directory."""

    def __init__(self, directory: Path, access_log: Path, lines_per_s: int, *words: str) -> None:
        self.directory = directory
        self.access_log = access_log
        self.command = [sys.executable, "-m", "barnabas.pipeline", "demo", "--directory", str(directory)]
        self.command += ["--rate", str(lines_per_s), *(words or ["--access-log", str(access_log)])]
        self.output = directory.with_suffix(".out")
        self.output.unlink(missing_ok=True)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(self.command, stdout=output, stderr=output)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def wait(self) -> int:
        assert self.process is not None
        # Four jobs on Spark, started over several times: on a slow core that takes long.
        return self.process.wait(4 * PATIENCE_S)

    def child(self, *words: str) -> int:
        """Wait for a process below the demo with these words in its command line, and give its id."""
        assert self.process is not None
        top = self.process.pid
        return self.until(lambda: next((pid for pid in descendants(top) if all(w in words_of(pid) for w in words)), 0))

    def until(self, condition: Callable[[], int]) -> int:
        """Wait until a condition holds, and give what it gave; fails when the demo ends before."""
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            # Nothing tells us: these are other processes' files.
            time.sleep(0.002)
        return value

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def count(self, pattern: str) -> int:
        """How many files there are: see the head of this file."""
        return sum(1 for _ in self.directory.glob(pattern))

    def topic_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.directory.glob("broker/page-views-*/*.log"))


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody may have asked how yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def descendants(pid: int) -> Iterator[int]:
    try:
        children = [
            int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()
        ]
    except OSError:
        return
    for child in children:
        yield child
        yield from descendants(child)


@contextmanager
def running_demo(directory: Path, access_log: Path, lines_per_s: int, *words: str) -> Iterator[Demo]:
    demo = Demo(directory, access_log, lines_per_s, *words)
    demo.start()
    try:
        yield demo
    finally:
        demo.kill()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def assert_equal_to_plain_count(demo: Demo) -> None:
    assert demo.wait() == 0, demo.said()
    counted = read_counts(demo.directory / "views.csv")
    assert counted == count_file(demo.access_log)
    assert counted.total() == 10_000
    assert "Equal to a plain Python count" in demo.said()


@pytest.mark.whole
@pytest.mark.timeout(8 * PATIENCE_S)
def test_result_is_the_plain_count_after_each_process_was_killed(tmp_path: Path, real_access_log: Path):
    # So slow that the log does not end before the first kill, however long the parts take to start.
    with running_demo(tmp_path / "demo", real_access_log, 1_000) as demo:
        top = demo.process.pid
        demo.until(lambda: demo.topic_bytes() > 5_000)
        kill(demo.child("barnabas.pipeline", "replay"))
        jobs = demo.child("barnabas.pipeline", "run")
        spark = demo.child("org.apache.spark.deploy.SparkSubmit")
        kill(jobs)
        demo.until(lambda: is_gone(spark))
        # Rows that are committed: they must not be loaded again.
        demo.until(lambda: demo.count("tables/load/page-views/_delta_log/*.json"))
        kill(demo.child("org.apache.spark.deploy.SparkSubmit"))
        assert_equal_to_plain_count(demo)
        assert list(descendants(top)) == []
        for notice in ("replay was killed (signal 9)", "jobs was killed (signal 9)", "jobs ended with code 1"):
            assert f"{notice}: starting it again" in demo.said()


@pytest.mark.timeout(8 * PATIENCE_S)
def test_a_killed_demo_resumes_with_its_log_alone_and_a_finished_one_starts_over(tmp_path: Path, real_access_log: Path):
    log, other_log = tmp_path / "access.log", tmp_path / "other.log"
    log.write_bytes(gzip.decompress(real_access_log.read_bytes()) + CUT_SHORT)
    other_log.write_bytes(ONE_VIEW)
    # So slow that the log does not end before the kills, however long the parts take to start.
    with running_demo(tmp_path / "demo", log, 2_000) as demo:
        demo.until(lambda: demo.topic_bytes() > 5_000)
        kill(demo.child("barnabas.pipeline", "replay"))
        # The demo kills its broker itself, in each of its runs.
        demo.until(lambda: "broker was killed" in demo.said())
        demo.kill()
        command = [*demo.command[: demo.command.index("--access-log")], "--access-log", str(other_log)]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert refused.returncode == 1
        assert "contains an unfinished run" in refused.stderr
        demo.start()
        assert_equal_to_plain_count(demo)
        assert demo.count("report.html") == 1
        assert demo.said().count("broker was killed (signal 9): starting it again") == 2
        assert "replay was killed (signal 9): starting it again" in demo.said()
        assert "resuming the run" in demo.said()
        assert "1 line was no view, and not counted: first at line 10,001: '192.0.2.7 - - [17/May" in demo.said()
    # Once complete it starts over with any log; while unfinished only if told to.
    for words in (["--access-log", str(other_log)], ["--access-log", str(log), "--fresh"]):
        with running_demo(tmp_path / "demo", log, 1_000, *words) as again:
            again.until(lambda again=again: "ready in" in again.said())
            assert again.count("views.csv") + again.count("tables/*") == 0
            assert "resuming" not in again.said()
            again.process.send_signal(signal.SIGINT)
            assert again.wait() == 130
            assert "The same command resumes." in again.said()


def assert_ends_at_once_saying(directory: Path, log: Path, text: str, remedy: str, **options: Any) -> None:
    command = [sys.executable, "-m", "barnabas.pipeline", "demo", "--directory", str(directory)]
    command += ["--access-log", str(log), "--rate", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, **options)
    assert ended.returncode == 1
    *last_lines, line = ended.stderr.splitlines()
    assert line.startswith("barnabas pipeline: broker failed: ")
    assert f"{text}; {remedy}, then run the same command again" in line
    assert any(text in line for line in last_lines)
    assert "starting it again" not in ended.stdout
    assert "Traceback" not in ended.stderr


def write_much(path: Path) -> None:
    """Write a log of some 10 MB, of which a broker keeps more than 2, however it is compressed."""
    path.write_bytes(
        b"".join(ONE_VIEW.replace(b"GET /", b"GET /" + os.urandom(64).hex().encode()) for _ in range(50_000))
    )


@pytest.mark.whole
def test_demo_on_a_full_disk_says_so(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        write_much(tmp_path / "access.log")
        text = os.strerror(errno.ENOSPC)
        assert_ends_at_once_saying(disk / "demo", tmp_path / "access.log", text, "make room on that disk")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_demo_whose_files_may_not_grow_says_so(tmp_path: Path):
    """The same without root: the system refuses to make any file larger than this."""
    write_much(tmp_path / "access.log")
    limit = (500_000, 500_000)
    assert_ends_at_once_saying(
        tmp_path / "demo",
        tmp_path / "access.log",
        os.strerror(errno.EFBIG),
        "raise the limit of file sizes (ulimit -f)",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
