"""`barnabas cluster`: several brokers of one cluster on this machine, one process each, started and stopped together.

A broker uses one core. To use more cores, start one broker for each core. Every broker has its own port and directory,
and a part of the partitions.

Invariants:

- Brokers end with this process, however it ends (`--die-with-parent`); each is in its own session, so that Ctrl-C
  reaches this process alone.
- If one broker can't start, all are stopped. If one ends later by itself, this is reported, and the others keep
  running.
- The command's own registry starts before the brokers and stops after them, when their sessions are closed.
"""

import asyncio
import itertools
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import Annotated, Final

from barnabas.cli.cluster_status import HELP as STATUS_HELP
from barnabas.cli.cluster_status import status
from barnabas.cli.options import Option, paragraphs, run_async, stop_on_signals
from barnabas.cli.output import announce, note
from barnabas.core.errors import BarnabasError
from barnabas.core.internal_topics import cluster_settings
from barnabas.core.parent import child_command

HELP = "Run several brokers of one cluster on this machine, or show the state of any cluster."
START_HELP = paragraphs(
    """Start several brokers, one process each, and stop all of them on Ctrl-C or SIGTERM.

Broker N has the id --first-id + N, listens on --port + N, keeps its data in DATA/broker-ID and writes its log to
DATA/broker-ID.log. A line on stdout says when clients can connect. Topics have default.replication.factor replicas,
internal topics up to three. All brokers run on one machine: this uses its cores, but does not protect against its loss.
If a broker ends by itself, that is reported, and the others keep running.

Without --zookeeper, a registry (barnabas registry serve) is started for the brokers on --registry-port; its data is in
DATA/registry.

Examples:

  barnabas cluster start --brokers 3

  barnabas cluster start --brokers 4 --zookeeper localhost:2181/barnabas --port 9092 --data-dir /var/lib/barnabas
"""
)

_MOST_BROKERS: Final = 64
_SLOW_START_S: Final = 120.0
# Settings that differ by broker, and the option that sets them.
_OWN: Final = {
    "broker.id": "--first-id",
    "listeners": "--host and --port",
    "log.dir": "--data-dir",
    "log.dirs": "--data-dir",
    "zookeeper.connect": "--zookeeper",
}


def start(
    file: Annotated[
        str | None, Option(metavar="server.properties", help="Kafka's own configuration file, for all brokers.")
    ] = None,
    brokers: Annotated[
        int, Option("--brokers", metavar="N", min=1, max=_MOST_BROKERS, help="Number of brokers; each uses one core.")
    ] = 1,
    zookeeper: Annotated[
        str | None,
        Option("--zookeeper", metavar="HOST:PORT/CHROOT", help="ZooKeeper of the cluster, as in zookeeper.connect."),
    ] = None,
    host: Annotated[str, Option("--host", metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        Option(
            "--port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Port of the first broker; 0 lets the system choose all ports.",
        ),
    ] = 9092,
    registry_port: Annotated[
        int,
        Option(
            "--registry-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Port of the brokers' registry; 0 lets the system choose.",
        ),
    ] = 2181,
    data: Annotated[Path, Option("--data-dir", metavar="DIRECTORY", help="Directory for the brokers' data.")] = Path(
        "barnabas-data"
    ),
    first_id: Annotated[
        int, Option("--first-id", metavar="ID", min=0, max=2**31 - 1 - _MOST_BROKERS, help="Id of the first broker.")
    ] = 0,
    override: Annotated[
        list[str] | None,
        Option("--override", metavar="NAME=VALUE", help="Setting of all brokers. May be repeated."),
    ] = None,
) -> int:
    settings = _settings(brokers, override or [])
    if port and port + brokers - 1 > 65535:
        raise BarnabasError(
            f"--port {port}: {brokers} brokers need ports up to {port + brokers - 1}; 65535 is the last"
        )
    if data.exists() and not data.is_dir():
        raise BarnabasError(f"--data-dir {data}: must be a directory")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)

    def members(connect: str) -> list[_Process]:
        made = []
        for number in range(brokers):
            broker_id = first_id + number
            options = [*([file] if file else []), "--host", host, "--port", str(port + number if port else 0)]
            for setting in (f"zookeeper.connect={connect}", f"broker.id={broker_id}", *settings):
                options += ["--override", setting]
            options += ["--data-dir", str(data / f"broker-{broker_id}")]
            log_path = data / f"broker-{broker_id}.log"
            made.append(_Process(f"broker {broker_id}", "barnabas.broker.server.main", options, log_path))
        return made

    registry = None
    if zookeeper is None:
        options = ["registry", "serve", "--data-dir", str(data / "registry")]
        options += ["--listeners", f"127.0.0.1:{registry_port}"]
        registry = _Process("the registry", "barnabas.cli.main", options, data / "registry.log")
    return run_async(_run(registry, zookeeper or "", members))


SUBCOMMANDS = {"start": (start, START_HELP), "status": (status, STATUS_HELP)}


def _settings(broker_count: int, overrides: Sequence[str]) -> list[str]:
    """Return the arguments of all brokers; later ones win. Raises BarnabasError for a per-broker setting."""
    settings = [f"{name}={value}" for name, value in cluster_settings(broker_count).items()]
    for text in overrides:
        name = text.partition("=")[0].strip()
        if name in _OWN:
            raise BarnabasError(f"--override {name}: {_OWN[name]} sets this for each broker")
    return [*settings, *overrides]


class _Process:
    """A broker or the registry: its process, and its address once known."""

    def __init__(self, name: str, module: str, options: Sequence[str], log_path: Path) -> None:
        self.name = name
        self.address = ""
        self._module = module
        self._options = options
        self._log_path = log_path
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process and wait until clients can connect. Raises BarnabasError if it ends."""
        ready, write_fd = os.pipe()
        command = child_command(self._module, [*self._options, "--ready-fd", str(write_fd)])
        try:
            log_fd = os.open(self._log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=subprocess.DEVNULL,
                    stdout=log_fd,
                    stderr=log_fd,
                    pass_fds=(write_fd,),
                    start_new_session=True,
                )
            finally:
                os.close(log_fd)
        except BaseException:
            os.close(ready)
            raise
        finally:
            os.close(write_fd)
        line = await _read_line(ready)
        if not line:
            await self._process.wait()
            raise BarnabasError(f"{self.name} did not start: {self.last_line()}")
        said = json.loads(line)
        self.address = f"[{said['host']}]:{said['port']}" if ":" in said["host"] else f"{said['host']}:{said['port']}"

    async def wait(self) -> int:
        """Wait for the end of the process; return its exit status."""
        assert self._process is not None
        return await self._process.wait()

    def send(self, number: Signals) -> None:
        """Send a signal to the process if it runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def end(self, number: Signals) -> None:
        """Send a signal and wait for the end if it runs."""
        self.send(number)
        if self._process is not None:
            await self._process.wait()

    def last_line(self) -> str:
        """Return the last line of the process's log."""
        lines = self._log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended, and {self._log_path} is empty"


async def _run(registry: _Process | None, connect: str, members_at: Callable[[str], list[_Process]]) -> int:
    """Run all brokers until a signal comes; return the exit code, 1 if one ended by itself. Raises BarnabasError.

    Args:
        registry: The brokers' own registry; None if it runs elsewhere.
        connect: The address of the registry that runs elsewhere.
        members_at: Returns the brokers for a registry's address.
    """
    stopped = stop_on_signals()
    stopping = asyncio.create_task(stopped.wait())
    processes: list[_Process] = []

    async def start() -> list[_Process]:
        place = connect
        if registry is not None:
            processes.append(registry)
            await registry.start()
            place = registry.address
        members = members_at(place)
        processes.extend(members)
        await asyncio.gather(*(member.start() for member in members))
        return members

    starting = asyncio.create_task(start())
    try:
        for count in itertools.count(1):
            done, _ = await asyncio.wait(
                (starting, stopping), timeout=_SLOW_START_S, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                break
            # Not an error: a broker recovers large logs after a crash, and if stopped it would have to begin again.
            slow = [f"{each.name} ({each.last_line()})" for each in processes if not each.address]
            note(f"Not ready after {count * _SLOW_START_S:g} s: {'; '.join(slow)}")
        if stopping in done:
            return 0
        members = await starting
        announce(f"Clients can connect: {','.join(member.address for member in members)}")
        ends = [asyncio.create_task(_report_end(process, stopped)) for process in members]
        if registry is not None:
            note(f"The cluster's state is at {registry.address}, for zookeeper.connect.")
            registry_end = asyncio.create_task(_report_end(registry, stopped))
        await asyncio.wait((stopping, asyncio.gather(*ends)), return_when=asyncio.FIRST_COMPLETED)
        for member in members:
            member.send(SIGTERM)
        have_failed = await asyncio.gather(*ends)
        if registry is not None:
            registry.send(SIGTERM)
            have_failed.append(await registry_end)
        return int(any(have_failed))
    finally:
        stopping.cancel()
        starting.cancel()
        await asyncio.gather(stopping, starting, return_exceptions=True)
        await asyncio.gather(*(process.end(SIGKILL) for process in reversed(processes)))


async def _report_end(process: _Process, stopped: asyncio.Event) -> bool:
    """Wait for the end of a process; return whether it ended by itself or failed."""
    status = await process.wait()
    if status and not stopped.is_set():
        note(f"{process.name} has ended ({_status_text(status)}): {process.last_line()}")
    return status != 0 or not stopped.is_set()


def _status_text(status: int) -> str:
    return f"exit status {status}" if status >= 0 else Signals(-status).name


async def _read_line(fd: int) -> bytes:
    """Read from a pipe until its end or the end of a line, and close it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb"))
    try:
        return await reader.readline()
    finally:
        transport.close()
