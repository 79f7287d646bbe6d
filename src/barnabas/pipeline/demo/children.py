"""Child processes of the demo: their output goes to files, and no child outlives the demo.

A child appends its standard output to `NAME.out`, and its standard error to `NAME.log`.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_STOP_TIMEOUT_S = 30.0
_LOOK_EVERY_S = 0.05
_MAX_FAILURES = 3
# Exit code of a command that would fail again in the same way.
_REFUSED = 2
# A Java stack trace may follow the cause.
_TAIL_BYTES = 64 << 10
_SHOWN_LINES = 10

# Failures are recognised by the system's error texts in a child's log: they are the same in Python and in Java.
# These errors would also end a restarted process. A port in use would not: Spark tries the next port.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

_AGAIN = "then run the same command again"
_REMEDIES = {
    errno.ENOSPC: f"make room on that disk, {_AGAIN}",
    errno.EDQUOT: f"make room within the disk's quota, {_AGAIN}",
    errno.EFBIG: f"raise the limit of file sizes (ulimit -f), {_AGAIN}",
    errno.EROFS: "give a --directory that can be written to",
    errno.EACCES: "give a --directory that can be written to",
    errno.EADDRINUSE: "run the same command again: it takes another port",
}


class ChildFailedError(Exception):
    """A child failed, and a restart would not help; one line with the cause, the remedy and the log's path.

    Attributes:
        last_lines: The last lines of the log.
    """

    def __init__(self, message: str, last_lines: Sequence[str]) -> None:
        super().__init__(message)
        self.last_lines = last_lines


class Child:
    """A child process in its own process group; it can be started again once it has ended."""

    def __init__(self, name: str, logs: Path, environment: Mapping[str, str] | None = None) -> None:
        """Prepare a child; `environment` is added to this process's environment."""
        self.name = name
        self._output = logs / f"{name}.out"
        self._log = logs / f"{name}.log"
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._output_start = self._log_start = 0
        self._failure_count = 0

    def start(self, command: Sequence[str], descriptors: Sequence[int] = ()) -> None:
        """Start the process; it inherits `descriptors`."""
        with self._output.open("ab") as output, self._log.open("ab") as log:
            self._output_start, self._log_start = output.tell(), log.tell()
            # Ctrl-C must reach only the demo, which stops its children.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                env=self._environment,
                pass_fds=descriptors,
                start_new_session=True,
            )

    def lines(self, on_wait: Callable[[], None]) -> Iterator[str]:
        """Yield the lines of standard output until the process ends; call `on_wait` while waiting for more."""
        with self._output.open("rb") as output:
            output.seek(self._output_start)
            part = b""
            is_ended = False
            while not is_ended:
                is_ended = self.has_ended()
                *lines, part = (part + output.read()).split(b"\n")
                yield from (line.decode(errors="replace") for line in lines)
                if not is_ended:
                    on_wait()
                    time.sleep(_LOOK_EVERY_S)

    def has_ended(self) -> bool:
        """Return whether the process has ended; if so, kill the rest of its process group."""
        assert self._process is not None
        if self._process.poll() is None:
            return False
        # Spark's JVM is in the group of the process that started it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return True

    def end(self) -> str:
        """Wait for the process, and return how it ended: empty if it succeeded.

        Raise ChildFailedError if it failed, and a restart would not help.
        """
        assert self._process is not None
        code = self._process.wait()
        if code <= 0:
            return f"was killed (signal {-code})" if code else ""
        lines = self._last_lines()
        self._failure_count += 1
        cause = _disk_failure_among(lines)
        if cause is None and code != _REFUSED and self._failure_count < _MAX_FAILURES:
            return f"ended with code {code}"
        cause = cause or (lines[-1] if lines else f"exit code {code}")
        remedy = remedy_of(cause)
        message = f"{self.name} failed: {cause.strip()}{f'; {remedy}' if remedy else ''} (log: {self._log})"
        raise ChildFailedError(message, lines[-_SHOWN_LINES:])

    def kill(self) -> None:
        """Kill the process."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop the process if it runs, and the rest of its process group."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_S)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _last_lines(self) -> list[str]:
        text = self._log.read_bytes()[self._log_start :][-_TAIL_BYTES:].decode(errors="replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        # On a full disk the process could not write its error.
        is_full = os.statvfs(self._log).f_bavail == 0
        return [*lines, os.strerror(errno.ENOSPC)] if is_full else lines


def remedy_of(text: str) -> str | None:
    """Return the remedy for a failure; None if it is unknown."""
    return next((remedy for number, remedy in _REMEDIES.items() if os.strerror(number) in text), None)


def _disk_failure_among(lines: Sequence[str]) -> str | None:
    """Return the last line that reports a disk error, which a restart does not fix; None if there is none."""
    texts = [os.strerror(number) for number in _DISK_ERRORS]
    return next((line for line in reversed(lines) if any(text in line for text in texts)), None)
