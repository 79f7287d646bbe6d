"""How a run is stopped: Ctrl-C in a terminal, SIGTERM to all that a supervisor started, as a container's PID 1.

Each command here has a real terminal (pty), and so a session and a process group of its own.
"""

import asyncio
import configparser
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from barnabas.clients import Pool, Producer
from barnabas.pipeline.commands.running import REPEATED_S
from tests.compat.conftest import RunningBroker
from tests.patience import PATIENCE_S, is_readable, until
from tests.spark import SHORT_LIVED_WORDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

COUNT = 300
DOCUMENT = Path("docs/pipeline/running.md").read_text()
LOAD = ("pipeline", "run", "load", "--topics", "page-views", "--bootstrap-server", "127.0.0.1:9092")
ALL_DONE = f"done: run load, record count {COUNT}, dead letter count 0, lag 0"


class Started:
    """A command in a terminal of its own; `said` is what the terminal shows."""

    def __init__(self, directory: Path, command: Sequence[str]) -> None:
        self.said = ""
        self.directory = directory
        self._terminal, end = pty.openpty()
        # By its name the child opens it once more, as the leader of a new session: so it becomes the session's own.
        name = os.ttyname(end)
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(name, os.O_RDWR)),
        )
        os.close(end)

    def signal_all(self, number: int) -> None:
        """Send a signal to what the command started, then to itself; what has ended meanwhile needs none."""
        for pid in (*descendants(self.process.pid), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self) -> None:
        if self.process.poll() is None:
            self.signal_all(signal.SIGKILL)
        self.process.wait()
        os.close(self._terminal)

    def press(self, key: bytes) -> None:
        os.write(self._terminal, key)

    def wait_for(self, text: str) -> None:
        """Wait until the terminal shows a text; or for its end, by an empty one."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not text or text not in self.said:
            assert is_readable(self._terminal, deadline_s - time.monotonic()), self.said
            try:
                self.said += os.read(self._terminal, 1 << 16).decode()
            except OSError:  # Nobody has its other end any more.
                assert not text, self.said
                return

    def wait_for_batch(self) -> None:
        """Wait until the first batch is under way."""
        self.wait_for("Spark is up")
        deadline_s = time.monotonic() + PATIENCE_S
        while not (self.directory / "pipeline-data/checkpoints/load/status.json").exists():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline_s, self.said
            time.sleep(0.05)

    def wait_for_jvm(self) -> list[int]:
        """Wait until Spark's JVM is being started; gives what has been started."""
        self.wait_for("starting Spark")
        deadline_s = time.monotonic() + PATIENCE_S
        while not any("spark" in command_of(pid) for pid in descendants(self.process.pid)):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline_s, self.said
            time.sleep(0.01)
        return descendants(self.process.pid)

    def code(self) -> int:
        """Wait for its end, and for that of all that has the terminal open; gives its exit code."""
        self.wait_for("")
        return self.process.wait(PATIENCE_S)


def descendants(pid: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # It has just ended.
            continue
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def fence(language: str) -> str:
    """Return the document's block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.M | re.S)
    return str(found)


def wait_until_gone(pids: Sequence[int]) -> None:
    def left() -> list[str]:
        return [command for pid in pids if (command := command_of(pid))]

    until(lambda: not left(), left)


@pytest.fixture(scope="module")
def topic(cluster: RunningBroker) -> str:
    """A topic with records."""

    async def send() -> None:
        async with Pool(cluster.bootstrap_servers) as pool:
            producer = Producer(pool)
            await asyncio.gather(*[await producer.send("stopped", b'{"n": %d}' % n) for n in range(COUNT)])
            await producer.close()

    asyncio.run(send())
    return "stopped"


@contextmanager
def started(
    directory: Path, broker: RunningBroker, topic: str, words: Sequence[str] = LOAD, prefix: Sequence[str] = ()
) -> Iterator[Started]:
    """Start a command of the documents' at a broker and a topic that are there."""
    there = {"page-views": topic, "127.0.0.1:9092": broker.bootstrap_servers}
    given = (there.get(word, word) for word in words)
    command = [*prefix, sys.executable, "-m", "barnabas.cli.main", *given, *SHORT_LIVED_WORDS]
    with closing(Started(directory, command)) as found:
        yield found


def check_end(run: Started, stop: Callable[[], None]) -> None:
    """Stop a run while a batch is under way, and see that it ends after it, with all of its processes."""
    run.wait_for_batch()
    pids = descendants(run.process.pid)
    sessions = {os.getsid(pid) for pid in pids if "java" in command_of(pid)}
    stop()
    assert run.code() == 0, run.said
    assert "stopping after this batch; a second signal stops at once" in run.said
    assert ALL_DONE in run.said
    # What a terminal tells a session does not reach Spark's JVM; which is gone all the same.
    assert sessions
    assert run.process.pid not in sessions
    wait_until_gone(pids)


@pytest.mark.whole
def test_ctrl_c_ends_a_run_after_the_batch_under_way(tmp_path: Path, cluster: RunningBroker, topic: str):
    with started(tmp_path, cluster, topic) as run:
        check_end(run, lambda: run.press(b"\x03"))


@pytest.mark.parametrize("is_from_terminal", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_a_stop_while_spark_starts_ends_it_at_once(
    tmp_path: Path, cluster: RunningBroker, topic: str, is_from_terminal: bool
):
    with started(tmp_path, cluster, topic) as run:
        pids = run.wait_for_jvm()
        if is_from_terminal:
            run.press(b"\x03")
        else:
            os.killpg(run.process.pid, signal.SIGTERM)
        assert run.code() == 0, run.said
    assert "stopped before Spark was started: nothing was read" in run.said
    wait_until_gone(pids)


def test_the_unit_for_systemd_ends_a_run_after_the_batch_under_way(tmp_path: Path, cluster: RunningBroker, topic: str):
    text = fence("ini")
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    unit.read_string(text)
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    if shutil.which("systemd-analyze"):
        (tmp_path / "load.service").write_text(text.replace(program, "/bin/true").replace("User=barnabas", "User=root"))
        check = subprocess.run(["systemd-analyze", "verify", "load.service"], cwd=tmp_path, capture_output=True)
        assert (check.returncode, check.stderr) == (0, b"")
    with started(tmp_path, cluster, topic, words) as run:
        # More than the unit has done: each process of the control group is told, as systemd does unless told otherwise.
        check_end(run, lambda: run.signal_all(signal.SIGTERM))


@pytest.mark.whole
def test_a_container_ends_at_once_when_it_is_told_twice(tmp_path: Path, cluster: RunningBroker, topic: str):
    as_first = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    if subprocess.run([*as_first, "true"], capture_output=True).returncode:
        pytest.skip("this user may not make a PID namespace")
    _, *words = json.loads(re.findall("^ENTRYPOINT (.*)", fence("dockerfile"), re.M)[0])
    words += json.loads(re.findall("^CMD (.*)", fence("dockerfile"), re.M)[0])
    with started(tmp_path, cluster, topic, words, as_first) as run:
        run.wait_for_batch()
        first = descendants(run.process.pid)[0]
        os.kill(first, signal.SIGTERM)
        run.wait_for("a second signal stops at once")
        # Before, it would be the first one still.
        time.sleep(REPEATED_S)
        os.kill(first, signal.SIGTERM)
        assert run.code() == 130, run.said
    assert "done: " not in run.said
    assert "Traceback" not in run.said
