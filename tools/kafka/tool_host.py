"""One JVM that runs Kafka's tools by their main methods, for a process that runs many of them.

A tool in its own process needs a second of CPU for its start; here the classes are loaded once. `ToolHost.java`
describes how it isolates the runs, and the format of requests and answers. The JVM ends with the process that started
it.
"""

import atexit
import contextlib
import os
import selectors
import struct
import subprocess
import threading
import time
from collections.abc import Sequence

_INT = struct.Struct(">i")


class ToolHostError(Exception):
    """The JVM ended; its standard error contains the reason."""


class ToolHost:
    """A JVM that is started at the first run, and again after a run that timed out.

    Args:
        command: Command line of the JVM, with the class of `ToolHost.java`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def run(
        self, class_path: str, class_name: str, arguments: Sequence[str], stdin: str, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a class's `main` to its end; concurrent calls run in sequence.

        Raises:
            subprocess.TimeoutExpired: The run did not end in time; the JVM was killed.
            ToolHostError: The JVM ended.
        """
        texts = [text.encode() for text in (class_path, class_name, *arguments, stdin)]
        parts = [part for text in texts for part in (_INT.pack(len(text)), text)]
        parts.insert(4, _INT.pack(len(arguments)))
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(b"".join(parts))
                process.stdin.flush()
                answer = _Answer(process, time.monotonic() + timeout_s)
                status, out, err = answer.integer(), answer.text(), answer.text()
            except TimeoutError:
                self.close()
                raise subprocess.TimeoutExpired([class_name, *arguments], timeout_s) from None
            except OSError:
                self.close()
                raise ToolHostError("the JVM that runs the tools ended") from None
        return subprocess.CompletedProcess([class_name, *arguments], status, out, err)

    def close(self) -> None:
        """End the JVM."""
        if self._process is not None:
            self._process.kill()
            # Unwritten input is not needed any more.
            with contextlib.suppress(OSError):
                self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # The JVM must not end with the thread that started it, which may end early: the end of its input ends it.
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self._process


class _Answer:
    """Reads one answer until a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdout is not None
        self._file = process.stdout.fileno()
        self._deadline = deadline

    def integer(self) -> int:
        (value,) = _INT.unpack(self._read(_INT.size))
        return int(value)

    def text(self) -> str:
        return self._read(self.integer()).decode()

    def _read(self, count: int) -> bytes:
        data = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._file, selectors.EVENT_READ)
            while len(data) < count:
                if not selector.select(max(self._deadline - time.monotonic(), 0)):
                    raise TimeoutError
                part = os.read(self._file, count - len(data))
                if not part:
                    raise ConnectionError
                data += part
        return bytes(data)
