"""HDFS with one data node in one process, on free loopback ports: Hadoop's mini cluster, in Spark's Hadoop version."""

import contextlib
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.kafka.jars import CACHE, fetched
from tools.kafka.java import die_with_parent

_JAR_SET = "hadoop-3.4.1"
_HERE = Path(__file__).parent
_JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_END_TIMEOUT_S = 60


class HdfsError(Exception):
    """The cluster did not start, or a request failed; the message ends with the last lines of its log."""


def jars() -> Path:
    """Return the directory of its jars; fetch them first if they are missing."""
    return fetched(_HERE / "pom.xml", _JAR_SET, CACHE / "hadoop-jars")


class Hdfs:
    """A running HDFS.

    Args:
        directory: Directory of its data and its log; the caller must delete it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    @property
    def uri(self) -> str:
        """Return `hdfs://host:port`."""
        return f"hdfs://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the cluster, and wait until it accepts writes."""
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [
            "java",
            *_JVM_OPTIONS,
            "-cp",
            f"{jars()}/*",
            str(_HERE / "MiniCluster.java"),
            str(self.directory / "data"),
        ]
        with (self.directory / "hdfs.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self.directory,
                preexec_fn=die_with_parent,
            )
        answer = self._answer()
        if not answer.isdigit():
            raise HdfsError(f"no HDFS: {answer!r}\n{self._log_tail()}")
        self.port = int(answer)

    def restart_data_node(self) -> None:
        """Stop the data node and start it on its ports and data; return when it is back."""
        self._ask("restart data node")

    def restart_name_node(self) -> None:
        """Stop the name node and start it on its port and data; return when it is back."""
        self._ask("restart name node")

    def close(self) -> None:
        """Stop the cluster; its data is kept."""
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            try:
                self._process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def _ask(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._answer()
        if answer != "done":
            raise HdfsError(f"{line}: {answer!r}\n{self._log_tail()}")

    def _answer(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _log_tail(self) -> str:
        return "\n".join((self.directory / "hdfs.log").read_text(errors="replace").splitlines()[-15:])

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
