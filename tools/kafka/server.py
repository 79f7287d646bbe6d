"""Kafka and its ZooKeeper as two processes on free loopback ports, in a directory of the caller.

`KafkaServer` has the same interface as `barnabas.testing.Broker` (`bootstrap_servers`, `stop`, `kill`, `restart`,
context manager), so that a test can run against either.
"""

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.testing.ports import reserve_port
from tools.kafka.jars import CACHE, KAFKA, directory
from tools.kafka.java import start_java

BROKER_JVM_OPTIONS = ("-Xmx1g", "-XX:+UseG1GC")
_QUICK_JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_ZOOKEEPER_JVM_OPTIONS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dzookeeper.admin.enableServer=false",
    # The data need not survive a power loss.
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.4lw.commands.whitelist=srvr,dump",
)

# Ports that were returned already, because a caller may request several ports before it uses them.
_given_ports: set[int] = set()

ONE_BROKER = {
    "broker.id": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "1",
}
"""The settings of Kafka's sample server.properties for one broker."""

_METADATA_REQUEST = struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0)
"""Length, API key 3, version 1, correlation id 1, no client id, no topics."""


class ServerError(Exception):
    """A process did not start; the message ends with the last lines of its log."""


def free_port() -> int:
    """Return a loopback port without a listener, which this function has not returned before."""
    while True:
        with reserve_port("127.0.0.1") as found:
            port: int = found.getsockname()[1]
        if port not in _given_ports:
            _given_ports.add(port)
            return port


def _is_zookeeper_ready(connection: socket.socket) -> bool:
    connection.sendall(b"srvr")
    return bool(connection.recv(1))


def _knows_brokers(count: int) -> Callable[[socket.socket], bool]:
    """Return a test whether the cluster's metadata has at least `count` brokers.

    Kafka listens before it has registered (and may still fail), and answers before it knows the cluster. Clients that
    request metadata then must wait for their next refresh.
    """

    def is_ready(connection: socket.socket) -> bool:
        connection.sendall(_METADATA_REQUEST)
        answer = connection.recv(65_536)
        return len(answer) >= 12 and bool(struct.unpack_from(">i", answer, 8)[0] >= count)

    return is_ready


def _wait_until(
    is_ready: Callable[[socket.socket], bool], address: tuple[str, int], process: subprocess.Popen[bytes], log: Path
) -> None:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=5) as connection:
            if is_ready(connection):
                return
        time.sleep(0.01)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log.exists() else ""
    raise ServerError(f"nothing answers at {address[0]}:{address[1]} (exit status {process.poll()}):\n{tail}")


class KafkaServer:
    """A Kafka broker, by default 2.7.2, with its own ZooKeeper or an existing one.

    Args:
        directory: Directory of the data of both; None: a temporary one, removed at the end.
        config: Broker settings, which override `ONE_BROKER`.
        jvm_options: JVM options of the broker.
        jar_set: The broker's version; one of `jars.JAR_SETS` that has a broker.
        port: The broker's port; 0: a free one.
        zookeeper_connect: Address of a running ZooKeeper; empty: the server starts its own.
        host: Address on which the broker listens.
        prefix: Words before the broker's command line, such as an `nsenter` command.
    """

    def __init__(
        self,
        directory: Path | None = None,
        config: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = BROKER_JVM_OPTIONS,
        jar_set: str = KAFKA,
        port: int = 0,
        zookeeper_connect: str = "",
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> None:
        self._is_temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="kafka-server-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.data_dir = self.directory / "data"
        self.port = port or free_port()
        self._config = dict(config or {})
        self._jvm_options = jvm_options
        self._jar_set = jar_set
        self.host = host
        self._prefix = prefix
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self._broker: subprocess.Popen[bytes] | None = None
        self._zookeeper_port = 0 if zookeeper_connect else free_port()
        self._zookeeper_connect = zookeeper_connect or f"127.0.0.1:{self._zookeeper_port}"

    @property
    def bootstrap_servers(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def zookeeper_connect(self) -> str:
        """Return the address of its ZooKeeper."""
        return self._zookeeper_connect

    @property
    def pid(self) -> int:
        """Return the broker's process id."""
        if self._broker is None:
            raise ServerError("the broker is not running")
        return self._broker.pid

    def has_ended(self) -> bool:
        """Return whether the broker's process has ended."""
        return self._broker is None or self._broker.poll() is not None

    def log_text(self) -> str:
        """Return the broker's log so far."""
        log = self.directory / "server.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self) -> None:
        """Start its own ZooKeeper, if it has one, then the broker, and wait until it serves clients."""
        if self._zookeeper_port:
            self.start_zookeeper()
        self.start_broker()
        self.wait()

    def start_zookeeper(self) -> None:
        log = self.directory / "zookeeper.log"
        arguments = [str(self._zookeeper_port), str(self.directory / "zookeeper")]
        with log.open("ab") as output:
            self._zookeeper = start_java(
                "org.apache.zookeeper.server.ZooKeeperServerMain",
                *arguments,
                jvm_options=_ZOOKEEPER_JVM_OPTIONS,
                stdout=output,
                stderr=output,
            )
        _wait_until(_is_zookeeper_ready, ("127.0.0.1", self._zookeeper_port), self._zookeeper, log)

    def start_broker(self) -> None:
        """Start the broker's process without waiting for it."""
        settings = {
            **ONE_BROKER,
            "listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "zookeeper.connect": self.zookeeper_connect,
            "zookeeper.session.timeout.ms": "6000",
            "zookeeper.connection.timeout.ms": "60000",
            "log.dirs": str(self.data_dir),
            **self._config,
        }
        properties = self.directory / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with (self.directory / "server.log").open("ab") as output:
            self._broker = start_java(
                "kafka.Kafka",
                str(properties),
                jar_set=self._jar_set,
                jvm_options=self._jvm_options,
                log_level="INFO",
                stdout=output,
                stderr=output,
                prefix=self._prefix,
            )

    def wait(self, broker_count: int = 1) -> None:
        """Wait until the broker serves clients, and knows at least `broker_count` brokers."""
        if self._broker is None:
            raise ServerError("the broker is not running")
        address = self.host, self.port
        _wait_until(_knows_brokers(broker_count), address, self._broker, self.directory / "server.log")

    def stop(self) -> None:
        """Stop the broker (SIGTERM); keep ZooKeeper and the data."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker (`kill -9`); keep ZooKeeper and the data."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Pause the broker (SIGSTOP) until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused broker."""
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Start the broker again on its port and data; it is stopped first if it runs."""
        if self._broker is not None:
            self.stop()
        deadline = time.monotonic() + 240
        # The dead broker's registration blocks the new one until its session expires.
        while self._is_registered() and time.monotonic() < deadline:
            time.sleep(0.02)
        while True:
            # On a busy machine, a start may take longer than its own session timeout.
            self.start_broker()
            try:
                self.wait()
                return
            except ServerError:
                if time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        """Stop both processes, and remove the directory if it is temporary."""
        self.kill()
        if self._zookeeper is not None:
            self._zookeeper.kill()
            self._zookeeper.wait()
            self._zookeeper = None
        if self._is_temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _is_registered(self) -> bool:
        """Return whether ZooKeeper has the broker's node; False if ZooKeeper does not answer."""
        servers, _, chroot = self._zookeeper_connect.partition("/")
        host, _, port = servers.partition(",")[0].rpartition(":")
        parent = f"/{chroot}" if chroot else ""
        node = f"\t{parent}/brokers/ids/{self._config.get('broker.id', ONE_BROKER['broker.id'])}\n"
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(b"dump")
            with connection.makefile("rb") as answer:
                return node.encode() in answer.read()
        return False

    def _end(self, signal_number: int) -> None:
        if self._broker is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._broker.pid, signal_number)
        self._broker.wait(240)
        self._broker = None

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


class QuickKafkaServer(KafkaServer):
    """A Kafka broker for comparison tests: its start costs a third, and it is not suitable for measurements.

    Its classes come from the archive of `archive_classes`, if it exists, and are compiled only by the fast compiler.

    Args:
        directory: As for `KafkaServer`.
        config: As for `KafkaServer`.
        jvm_options: In addition to its own.
        jar_set: As for `KafkaServer`.
        port: As for `KafkaServer`.
        zookeeper_connect: As for `KafkaServer`.
        host: As for `KafkaServer`.
        prefix: As for `KafkaServer`.
    """

    def __init__(
        self,
        directory: Path | None = None,
        config: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = (),
        jar_set: str = KAFKA,
        port: int = 0,
        zookeeper_connect: str = "",
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> None:
        options = (*quick_jvm_options(jar_set), *jvm_options)
        super().__init__(directory, config, options, jar_set, port, zookeeper_connect, host, prefix)


def quick_jvm_options(jar_set: str) -> tuple[str, ...]:
    """Return JVM options with which a broker's start costs a third; with the class archive, if it exists."""
    archive = class_archive(jar_set)
    return (*_QUICK_JVM_OPTIONS, f"-XX:SharedArchiveFile={archive}") if archive.exists() else _QUICK_JVM_OPTIONS


def class_archive(jar_set: str) -> Path:
    """Return the path of a broker's class archive for the installed JVM; the file may not exist."""
    java = Path(shutil.which("java") or "java").resolve()
    jvm = f"{java} {java.stat().st_mtime_ns}" if java.exists() else str(java)
    digest = hashlib.sha256(f"{jvm} {directory(jar_set)}".encode()).hexdigest()[:12]
    return CACHE / "java-classes" / f"{jar_set}-{digest}.jsa"


def archive_classes(jar_set: str) -> Path:
    """Create a broker's class archive (JVM class data sharing) by starting it once, if missing; return its path."""
    archive = class_archive(jar_set)
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        staging = archive.with_name(f"{archive.name}.{os.getpid()}")
        with QuickKafkaServer(jvm_options=(f"-XX:ArchiveClassesAtExit={staging}",), jar_set=jar_set) as server:
            server.stop()
        staging.rename(archive)
    return archive
