"""A Spark standalone cluster on this machine: a master and workers, each a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from barnabas.pipeline.spark.java import find_java_home
from tests.patience import PATIENCE_S


class StandaloneCluster:
    """A master and workers of one core each.

    Attributes:
        master: What a session's `spark.master` is.
    """

    def __init__(self, directory: Path, worker_count: int = 2) -> None:
        self.master = ""
        self._directory = directory
        self._worker_count = worker_count
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self._start("Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._wait(f"Starting Spark master at {re.escape(self.master)}", 0)
        for _ in range(self._worker_count):
            work = self._directory / f"work-{len(self._processes)}"
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
            self._start("Worker", *options, "--work-dir", str(work), self.master)
        for number in range(1, self._worker_count + 1):
            self._wait("Successfully registered with master", number)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            for pid in [*children(process.pid), process.pid]:
                _end(pid)
            process.wait()

    def executors(self) -> list[int]:
        """Give the process ids of the executors that run now."""
        found = []
        for worker in self._processes[1:]:
            for pid in children(worker.pid):
                if "CoarseGrainedExecutorBackend" in command_of(pid):
                    found.append(pid)
        return found

    def kill_an_executor(self) -> bool:
        """Kill one; False where none runs."""
        running = self.executors()
        if running:
            _end(running[0])
        return bool(running)

    def kill_a_worker(self) -> None:
        """Kill a worker and its executors."""
        worker = self._processes[-1]
        below = list(children(worker.pid))
        worker.kill()
        for pid in below:
            _end(pid)

    def _start(self, which: str, *arguments: str) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java_home()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        log = (self._directory / f"{len(self._processes)}.log").open("wb")
        with log:
            command = [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{which.lower()}.{which}",
                *arguments,
            ]
            self._processes.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self._directory)
            )

    def _wait(self, text: str, number: int) -> None:
        log = self._directory / f"{number}.log"
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(text, log.read_text(errors="replace")):
            assert self._processes[number].poll() is None, log.read_text(errors="replace")[-2_000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-2_000:]
            time.sleep(0.05)


def children(pid: int) -> Iterator[int]:
    """Give the processes that a process has started, and theirs."""
    try:
        names = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return
    for child in (int(name) for part in names for name in part):
        yield child
        yield from children(child)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
