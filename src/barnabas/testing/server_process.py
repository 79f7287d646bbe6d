"""A server process for tests: a broker or a registry.

Invariants:

- The process has its own interpreter, so the test's client does not share its GIL; it runs in a session of its own, so
  Ctrl-C reaches the test and not the server.
- When the process that started it ends, for whatever reason, the kernel kills the server (`--die-with-parent`), and a
  shell that waits for the end of a pipe removes its directory.
- `close`, or the end of a `with`, leaves nothing behind.
"""

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.core.errors import StartupError
from barnabas.core.parent import child_command
from barnabas.testing.ports import reserve_port
from barnabas.testing.vanishing_directory import VanishingDirectory

_STOP_TIMEOUT_S = 60.0


class ServerProcess(ABC):
    """One server, from `start` (or the start of a `with` or `async with`) to `close` (or its end).

    Until then it can be stopped, killed and restarted, on the same port and with the same data.
    """

    _name: str
    _module: str

    def __init__(
        self,
        host: str,
        port: int,
        data_dir: str | os.PathLike[str] | None,
        start_timeout_s: float,
        prefix: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._port = port
        self._release_port: weakref.finalize[[], ServerProcess] | None = None
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._start_timeout_s = start_timeout_s
        self._prefix = prefix
        self._directory: VanishingDirectory | None = None
        self._process: _Process | None = None
        self._abandon: weakref.finalize[[], ServerProcess] | None = None
        self._last_log = ""

    @property
    def host(self) -> str:
        """Return the address that the server listens on."""
        return self._host

    @property
    def port(self) -> int:
        """Return the port that the server listens on; it stays the same after a restart.

        Raises:
            RuntimeError: The port is chosen at the start, and the server was never started.
        """
        if self._port == 0:
            raise RuntimeError(f"{self._name} has no port before it is started")
        return self._port

    @property
    def _address(self) -> str:
        return f"[{self._host}]:{self.port}" if ":" in self._host else f"{self._host}:{self.port}"

    @property
    def data_dir(self) -> Path:
        """Return the server's own directory: a broker's log directory.

        Raises:
            RuntimeError: The directory is temporary, and the server is closed or was never started.
        """
        if self._data_dir is not None:
            return self._data_dir
        if self._directory is None:
            raise RuntimeError(f"{self._name} has no directory before it is started, nor after it is closed")
        return self._directory.path / "data"

    @property
    def pid(self) -> int:
        """Return the id of the server's process.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._process is None or not self._process.is_running:
            raise RuntimeError(f"{self._name} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the process runs; False as well if it ended by itself."""
        return self._process is not None and self._process.is_running

    def log_text(self) -> str:
        """Return the server's log since the first start; also after `close`."""
        if self._directory is not None:
            with contextlib.suppress(FileNotFoundError):
                self._last_log = self._log_path.read_text(encoding="utf-8", errors="replace")
        return self._last_log

    def start(self) -> Self:
        """Start the process and wait until clients can connect.

        Returns:
            The server itself, for `broker = Broker().start()`.

        Raises:
            StartupError: The server ended, or was not ready in time; with the last line of its log.
            RuntimeError: The server is running already.
        """
        if self.is_running:
            raise RuntimeError(f"{self._name} is running already")
        if self._directory is None:
            self._directory = VanishingDirectory()
        try:
            if self._port == 0:
                self._choose_port()
            self._launch()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Stop the server cleanly, so that it saves its state. The data is kept for `start`."""
        if self._process is not None:
            self._process.end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server immediately, like `kill -9`. The data is kept for `start`."""
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def pause(self) -> None:
        """Pause the server, like SIGSTOP, until `resume`.

        Raises:
            RuntimeError: The server is not running.
        """
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused server.

        Raises:
            RuntimeError: The server is not running.
        """
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop the server, if it is still running, and start it on the same port with the same data.

        Raises:
            StartupError: As from `start`.
        """
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop the server and delete its files, except the caller's own `data_dir`."""
        if self._data_dir is not None:
            self.stop()
        else:
            # The data will not be read, so nothing needs saving.
            self.kill()
        self.log_text()
        if self._release_port is not None:
            self._release_port()
        if self._directory is not None:
            self._directory.remove()
            self._directory = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    @abstractmethod
    def _options(self) -> list[str]:
        """Return the options of the server's command line."""

    @contextmanager
    def _inherited(self) -> Iterator[tuple[list[str], list[int]]]:
        """Yield options that name inherited descriptors, and the descriptors, which are closed here afterwards."""
        yield [], []

    def _on_ready(self, said: dict[str, object]) -> None:
        """Process the server's message about itself, sent once clients can connect."""
        self._host, self._port = str(said["host"]), int(str(said["port"]))

    def _choose_port(self) -> None:
        """Reserve a port until `close`, so that nobody gets the port of a killed server before its restart."""
        try:
            reservation = reserve_port(self._host)
        except OSError as error:
            raise StartupError(f"{self._name} cannot listen on {self._host}: {error}") from None
        self._port = reservation.getsockname()[1]
        self._release_port = weakref.finalize(self, reservation.close)
        if sys.platform != "linux":
            # The server could not listen on it otherwise.
            self._release_port()

    @property
    def _log_path(self) -> Path:
        assert self._directory is not None
        return self._directory.path / "server.log"

    def _launch(self) -> None:
        ready_fd, child_fd = os.pipe()
        try:
            try:
                with self._inherited() as (options, fds):
                    options = [*self._options(), "--ready-fd", str(child_fd), *options]
                    command = [*self._prefix, *child_command(self._module, options)]
                    self._process = _Process(command, self._log_path, (child_fd, *fds))
                if self._abandon is not None:
                    self._abandon.detach()
                self._abandon = weakref.finalize(self, self._process.abandon)
            finally:
                os.close(child_fd)
            line = _read_line(ready_fd, time.monotonic() + self._start_timeout_s)
        finally:
            os.close(ready_fd)
        if line is None:
            raise StartupError(f"{self._name} was not ready after {self._start_timeout_s:g} s: {self._last_line()}")
        if not line:
            # The pipe's other end is closed: the process has ended, or is just about to.
            self._process.wait(_STOP_TIMEOUT_S)
            raise StartupError(self._last_line())
        self._on_ready(json.loads(line))

    def _last_line(self) -> str:
        lines = self.log_text().strip().splitlines()
        return lines[-1] if lines else f"{self._name} ended without a word"


class _Process:
    """A process that ends with this one at the latest.

    For the kernel, the parent is the thread that started the process. So a dedicated thread starts the process and
    lives until it ends, because a test may start its broker in a thread that ends earlier.
    """

    def __init__(self, command: list[str], log_path: Path, inherited_fds: Sequence[int]) -> None:
        self._owner_pid = os.getpid()
        self._popen: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        started = threading.Event()

        def run() -> None:
            try:
                with open(log_path, "ab") as log:
                    self._popen = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        pass_fds=inherited_fds,
                        start_new_session=True,
                    )
            except OSError as error:
                self._error = error
                return
            finally:
                started.set()
            self._popen.wait()

        self._thread = threading.Thread(target=run, name="barnabas-server", daemon=True)
        self._thread.start()
        started.wait()
        if self._error is not None:
            raise self._error

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the process; return whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def end(self, signal_number: signal.Signals) -> None:
        """Send the signal and wait; kill a process that does not end."""
        assert self._popen is not None
        self._popen.send_signal(signal_number)
        # A paused process would not receive it.
        self._popen.send_signal(signal.SIGCONT)
        if not self.wait(_STOP_TIMEOUT_S):
            self._popen.kill()
            self._thread.join()

    def abandon(self) -> None:
        """Kill the process, unless this process is a fork of the one that started it."""
        if os.getpid() == self._owner_pid and self.is_running:
            self.end(signal.SIGKILL)


def _read_line(fd: int, deadline: float) -> bytes | None:
    """Return everything up to the first line feed; empty if the other end closed before it, None after the deadline."""
    line = b""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while not line.endswith(b"\n"):
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        part = os.read(fd, 4096)
        if not part:
            return b""
        line += part
    return line
