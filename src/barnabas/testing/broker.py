"""A broker for tests: its own process, a free port, a directory that vanishes.

Invariants:

- The process has its own interpreter, so the test's client does not share its GIL; it stands in a session of its own,
  so Ctrl-C reaches the test and not the broker.
- It does not outlive the process that started it, however that one ends, and neither does its directory: the kernel
  kills the broker (`--die-with-parent`), and a shell that waits for the end of a pipe removes the directory.
- What `close` or the end of a `with` leaves behind is nothing.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from barnabas.core.errors import StartupError
from barnabas.testing.control import Control
from barnabas.testing.interception import Selection
from barnabas.testing.seen_request import SeenRequest
from barnabas.testing.vanishing_directory import VanishingDirectory

ConfigValue = str | int | float | Sequence[str]

_STOP_TIMEOUT_S = 60.0

_HAVE_ARGUMENTS = {
    "listeners": "host and port",
    "host.name": "host",
    "port": "port",
    "log.dir": "data_dir",
    "log.dirs": "data_dir",
}


class Broker:
    """One broker, from `start` (or the start of a `with` or `async with`) to `close` (or its end).

    In between it can be stopped, killed and started again, on the same port and with the same data.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, ConfigValue] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        security_protocol: str = "PLAINTEXT",
        data_dir: str | os.PathLike[str] | None = None,
        log_level: str = "info",
        start_timeout_s: float = 30.0,
    ) -> None:
        """Args:
        config: Kafka settings by name, such as `{"num.partitions": 3}`; booleans and lists are written as Kafka
            wants them. The rest is as for one broker without a file.
        host: The address to listen on.
        port: 0 lets the system choose.
        security_protocol: What the listener speaks; with SSL and SASL_SSL the broker has a certificate for localhost
            and its address, which `ca_path` vouches for, unless `config` says which.
        data_dir: Where the logs are kept; it stays when the broker is closed. Without it they live in a temporary
            directory, which does not.
        log_level: debug, info, warning or error.
        start_timeout_s: How long `start` waits.

        Raises:
            ValueError: `config` sets what an argument is for.
        """
        self._settings = _write_settings(config or {})
        self._host = host
        self._port = port
        self._security_protocol = security_protocol
        self._has_own_keys = any("ssl.keystore." in name for name in config or {})
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._log_level = log_level
        self._start_timeout_s = start_timeout_s
        self._cluster_id: str | None = None
        self._directory: VanishingDirectory | None = None
        self._process: _Process | None = None
        self._abandon: weakref.finalize[[], Broker] | None = None
        self._last_log = ""
        self._control = Control()

    @property
    def host(self) -> str:
        """The address that the broker listens on."""
        return self._host

    @property
    def port(self) -> int:
        """The port that the broker listens on; it stays the same when the broker is started again.

        Raises:
            RuntimeError: The broker was never started, and was to choose its port.
        """
        if self._port == 0:
            raise RuntimeError("the broker has no port before it is started")
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`, for any client's setting of that name."""
        return f"[{self._host}]:{self.port}" if ":" in self._host else f"{self._host}:{self.port}"

    @property
    def cluster_id(self) -> str:
        """The cluster's id.

        Raises:
            RuntimeError: The broker was never started.
        """
        if self._cluster_id is None:
            raise RuntimeError("the broker has no cluster id before it is started")
        return self._cluster_id

    @property
    def data_dir(self) -> Path:
        """The broker's log directory.

        Raises:
            RuntimeError: It is a temporary one, and the broker is closed or was never started.
        """
        if self._data_dir is not None:
            return self._data_dir
        if self._directory is None:
            raise RuntimeError("the broker has no directory before it is started, nor after it is closed")
        return self._directory.path / "data"

    @property
    def ca_path(self) -> Path:
        """The certificate of who vouches for the broker's own, in PEM: what clients are to trust.

        Raises:
            RuntimeError: The broker is closed or was never started.
        """
        if self._directory is None:
            raise RuntimeError("the broker has no certificate before it is started, nor after it is closed")
        return self._directory.path / "ca.pem"

    @property
    def pid(self) -> int:
        """The id of the broker's process.

        Raises:
            RuntimeError: The broker is not running.
        """
        if self._process is None or not self._process.is_running:
            raise RuntimeError("the broker is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there; False as well when it ended by itself."""
        return self._process is not None and self._process.is_running

    def log_text(self) -> str:
        """Return the broker's log since the first start; also after `close`."""
        if self._directory is not None:
            with contextlib.suppress(FileNotFoundError):
                self._last_log = self._log_path.read_text(encoding="utf-8", errors="replace")
        return self._last_log

    def on(
        self,
        api: str,
        *,
        version: int | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        group: str | None = None,
        where: Callable[[SeenRequest], bool] | None = None,
    ) -> Selection:
        """Select requests that reach this broker, to fail, drop, hold, change or watch them.

        Args:
            api: Kafka's name of the API, such as "Produce" or "OffsetCommit".
            version: Only requests of this version.
            client_id: Only those of this client.
            topic: Only those that name this topic, or ask for all.
            group: Only those that name this consumer group.
            where: Only those for which this is true; called in a thread of the kit's.

        Raises:
            ValueError: Kafka 2.7 has no such API.
        """
        return Selection(
            self._control, api, version=version, client_id=client_id, topic=topic, group=group, where=where
        )

    def stalls_of_late_ms(self) -> tuple[int, int]:
        """For how long the broker's event loop stood still at the longest since this was asked for the last time.

        Returns:
            In milliseconds: for whatever reason but the lack of a free core; because it computed.

        Raises:
            RuntimeError: The broker is not running.
        """
        return self._control.stalls_of_late_ms()

    def start(self) -> "Broker":
        """Start the process and wait until clients can connect.

        Returns:
            The broker itself, for `broker = Broker().start()`.

        Raises:
            StartupError: The broker ended again, or was not ready in time; with its last line.
            RuntimeError: It is running already.
        """
        if self.is_running:
            raise RuntimeError("the broker is running already")
        if self._directory is None:
            self._directory = VanishingDirectory()
        try:
            self._launch()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Stop the broker as a server is stopped: it writes everything down. The data stays for `start`."""
        if self._process is not None:
            self._process.end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker in the middle of whatever it does, as `kill -9` does. The data stays for `start`."""
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def pause(self) -> None:
        """Have the broker stand still in the middle of whatever it does, as SIGSTOP does, until `resume`.

        Raises:
            RuntimeError: The broker is not running.
        """
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a broker that stands still go on.

        Raises:
            RuntimeError: The broker is not running.
        """
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop the broker, if it is still running, and start it on the same port with the same data.

        Raises:
            StartupError: As from `start`.
        """
        self.stop()
        self.start()

    def close(self) -> None:
        """End the broker and remove what it left: all but a `data_dir` of the caller's own."""
        if self._data_dir is not None:
            self.stop()
        else:
            # Nobody will read the data: there is nothing to write down.
            self.kill()
        self._control.close()
        self.log_text()
        if self._directory is not None:
            self._directory.remove()
            self._directory = None

    def __enter__(self) -> "Broker":
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "Broker":
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    @property
    def _log_path(self) -> Path:
        assert self._directory is not None
        return self._directory.path / "broker.log"

    def _launch(self) -> None:
        ready_fd, child_fd = os.pipe()
        control = self._control.open()
        try:
            try:
                command = self._command(child_fd, control.fileno())
                self._process = _Process(command, self._log_path, (child_fd, control.fileno()))
                if self._abandon is not None:
                    self._abandon.detach()
                self._abandon = weakref.finalize(self, self._process.abandon)
            finally:
                os.close(child_fd)
                control.close()
            line = _read_line(ready_fd, time.monotonic() + self._start_timeout_s)
        finally:
            os.close(ready_fd)
        if line is None:
            raise StartupError(f"the broker was not ready after {self._start_timeout_s:g} s: {self._last_line()}")
        if not line:
            # The pipe's other end is closed: the process has ended, or is just about to.
            self._process.wait(_STOP_TIMEOUT_S)
            raise StartupError(self._last_line())
        ready = json.loads(line)
        self._host, self._port, self._cluster_id = ready["host"], ready["port"], ready["cluster_id"]

    def _command(self, ready_fd: int, control_fd: int) -> list[str]:
        # -P: modules in the test's working directory must not stand in for the library's.
        command = [sys.executable, "-P", "-m", "barnabas.broker.server.main", "--die-with-parent"]
        command += ["--parent-pid", str(os.getpid())]
        command += ["--data-dir", str(self.data_dir)]
        if self._security_protocol == "PLAINTEXT":
            command += ["--host", self._host, "--port", str(self._port)]
        else:
            command += self._secure_listener()
        command += ["--ready-fd", str(ready_fd), "--control-fd", str(control_fd), "--log-level", self._log_level]
        for setting in self._settings:
            command += ["--override", setting]
        return command

    def _secure_listener(self) -> list[str]:
        """The options of a listener that is none of PLAINTEXT."""
        protocol = self._security_protocol
        host = f"[{self._host}]" if ":" in self._host else self._host
        settings = {"listeners": f"{protocol}://{host}:{self._port}", "security.inter.broker.protocol": protocol}
        if protocol.endswith("SSL") and not self._has_own_keys:
            keys = self.ca_path.with_name("broker.pem")
            if not keys.exists():
                # Not at the top: most tests do without it.
                from barnabas.testing.certificates import Authority

                authority = Authority()
                self.ca_path.write_bytes(authority.certificate_pem)
                keys.touch(mode=0o600)
                keys.write_bytes(authority.issue("broker", hosts=["localhost", self._host]).pem())
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keys)}
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca_path)}
        options = []
        for name, value in settings.items():
            options += ["--override", f"{name}={value}"]
        return options

    def _last_line(self) -> str:
        lines = self.log_text().strip().splitlines()
        return lines[-1] if lines else "the broker ended without a word"


class _Process:
    """A process that lives no longer than this one.

    The kernel takes the thread that started a process for its parent. So a thread of its own starts it and stays
    until it ends: a test may start its broker in a thread that ends before.
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

        self._thread = threading.Thread(target=run, name="barnabas-broker", daemon=True)
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
        """Wait until the process has ended; whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def end(self, signal_number: signal.Signals) -> None:
        """Send the signal and wait; a process that does not end is killed."""
        assert self._popen is not None
        self._popen.send_signal(signal_number)
        if not self.wait(_STOP_TIMEOUT_S):
            self._popen.kill()
            self._thread.join()

    def abandon(self) -> None:
        """Kill the process, unless this is a fork of the one that started it."""
        if os.getpid() == self._owner_pid and self.is_running:
            self.end(signal.SIGKILL)


def _read_line(fd: int, deadline: float) -> bytes | None:
    """All up to the first line feed; empty when the other end closed before it, None when it was not there in time."""
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


def _write_settings(config: Mapping[str, ConfigValue]) -> list[str]:
    """One `name=value` for each setting."""
    settings = []
    for name, value in config.items():
        if name in _HAVE_ARGUMENTS:
            raise ValueError(f"{name}: use the argument {_HAVE_ARGUMENTS[name]} of Broker instead")
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, str | int | float):
            text = str(value)
        else:
            text = ",".join(value)
        settings.append(f"{name}={text}")
    return settings
