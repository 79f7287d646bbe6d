"""ZooKeeper alone, from Kafka 2.7.2's jars: one server or three, whose tree outlives brokers."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.kafka.java import start_java
from tools.kafka.server import ServerError, free_port

_JVM_OPTIONS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dzookeeper.admin.enableServer=false",
    # The data need not survive a power loss.
    "-Dzookeeper.forceSync=no",
)
_START_TIMEOUT_S = 240


class ZooKeeper:
    """A standalone ZooKeeper on a free port.

    Args:
        directory: Directory of its data and its log; the caller must delete it.
        config: Additional lines of its properties file.
        jvm_options: Additional JVM options.
        host: Address on which it listens.
        prefix: Words before its command line, such as an `nsenter` command.
    """

    def __init__(
        self,
        directory: Path,
        config: Sequence[str] = (),
        jvm_options: Sequence[str] = (),
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._prefix = prefix
        self.directory = directory
        self._config = config
        self._jvm_options = jvm_options
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect(self) -> str:
        """Return `host:port`, for zookeeper.connect."""
        return f"{self._host}:{self.port}"

    @property
    def pid(self) -> int:
        """Return the server's process id."""
        if self._process is None:
            raise ServerError("ZooKeeper is not running")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the server without waiting for it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "zookeeper.properties"
        # Short ticks: a killed broker's session expires soon.
        config.write_text(
            f"dataDir={self.directory / 'data'}\nclientPort={self.port}\nclientPortAddress={self._host}\n"
            "tickTime=500\nminSessionTimeout=1000\nmaxClientCnxns=0\n4lw.commands.whitelist=srvr,dump\n"
            + "".join(f"{line}\n" for line in self._config)
        )
        log = self.directory / "zookeeper.log"
        with log.open("ab") as output:
            self._process = start_java(
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                str(config),
                jvm_options=[*_JVM_OPTIONS, *self._jvm_options],
                stdout=output,
                stderr=output,
                prefix=self._prefix,
            )

    def wait(self) -> None:
        """Wait until the server answers; a server of an ensemble answers when a majority has elected a leader."""
        process, log = self._process, self.directory / "zookeeper.log"
        deadline = time.monotonic() + _START_TIMEOUT_S
        while process is not None and time.monotonic() < deadline and process.poll() is None:
            if self.mode():
                return
            time.sleep(0.02)
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        self.close()
        raise ServerError(f"no ZooKeeper answers on port {self.port}:\n{tail}")

    def close(self) -> None:
        """Stop the server; its data is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def mode(self) -> str:
        """Return the server's mode: `standalone`, `leader` or `follower`; empty while it does not serve."""
        with contextlib.suppress(OSError), socket.create_connection((self._host, self.port), timeout=5) as connection:
            connection.sendall(b"srvr")
            _, is_there, after = connection.recv(4096).decode(errors="replace").partition("Mode: ")
            return after.split()[0] if is_there else ""
        return ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ZooKeeperEnsemble:
    """An ensemble of servers; a minority of them may fail.

    Attributes:
        servers: The servers; each can be closed and restarted separately.

    Args:
        directory: Parent of the servers' directories; the caller must delete it.
        count: The number of servers.
        places: Host and prefix of each, as for `ZooKeeper`; empty: all at 127.0.0.1.
    """

    def __init__(self, directory: Path, count: int = 3, places: Sequence[tuple[str, Sequence[str]]] = ()) -> None:
        there = list(enumerate(places or [("127.0.0.1", ())] * count, 1))
        members = [f"server.{number}={host}:{free_port()}:{free_port()}" for number, (host, _) in there]
        config = [*members, "initLimit=20", "syncLimit=10"]
        self.servers = [
            ZooKeeper(directory / f"server-{number}", config, host=host, prefix=prefix)
            for number, (host, prefix) in there
        ]

    @property
    def connect(self) -> str:
        """Return the addresses of all servers, for zookeeper.connect."""
        return ",".join(server.connect for server in self.servers)

    @property
    def leader(self) -> ZooKeeper:
        """Return the current leader.

        Raises:
            ServerError: No server leads.
        """
        for server in self.servers:
            if server.mode() == "leader":
                return server
        raise ServerError("no ZooKeeper leads")

    def start(self) -> None:
        """Start all servers and wait until they answer."""
        for number, server in enumerate(self.servers, 1):
            data = server.directory / "data"
            data.mkdir(parents=True, exist_ok=True)
            (data / "myid").write_text(f"{number}\n")
            server.launch()
        for server in self.servers:
            server.wait()

    def close(self) -> None:
        """Stop all servers; their data is kept."""
        for server in self.servers:
            server.close()

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
