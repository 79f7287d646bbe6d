"""A worker of Kafka Connect 3.9, in distributed mode, with Debezium 2.7's connector for PostgreSQL.

The broker's topics store its connectors with their offsets and states. So a killed worker resumes after a restart.
"""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tools.kafka.jars import CACHE, fetched
from tools.kafka.java import die_with_parent
from tools.kafka.server import free_port

_JAR_SET = "debezium-2.7.0"
_HERE = Path(__file__).parent
_LOG4J = _HERE.parent / "kafka" / "log4j.properties"
_JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_TIMEOUT_S = 120


class WorkerError(Exception):
    """A request to the worker failed; the message ends with the last lines of its log."""


class ConnectWorker:
    """A worker, alone in its group; use it as a context.

    Args:
        directory: Directory of its settings and its log; the caller must delete it.
        bootstrap_servers: Addresses of the cluster.
    """

    def __init__(self, directory: Path, bootstrap_servers: str) -> None:
        self.directory = directory
        self._bootstrap_servers = bootstrap_servers
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = {
            "bootstrap.servers": self._bootstrap_servers,
            "listeners": f"http://127.0.0.1:{self._port}",
            "group.id": "connect",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "config.storage.topic": "connect-configs",
            "offset.storage.topic": "connect-offsets",
            "offset.storage.partitions": "1",
            "status.storage.topic": "connect-status",
            "status.storage.partitions": "1",
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            "offset.flush.interval.ms": "1000",
            "plugin.discovery": "service_load",
            # Detect a killed worker soon, and do not delay the reassignment of its tasks.
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1500",
            "scheduled.rebalance.max.delay.ms": "0",
        }
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.directory / "worker.properties").write_text(text)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the worker; it needs some seconds until it accepts requests."""
        jars = fetched(_HERE / "pom.xml", _JAR_SET, CACHE / "debezium-jars")
        logging = (f"-Dlog4j.configuration={_LOG4J.as_uri()}", "-Dbarnabas.log.level=INFO")
        command = ["java", *_JVM_OPTIONS, *logging, "-cp", f"{jars}/*"]
        command += ["org.apache.kafka.connect.cli.ConnectDistributed", "worker.properties"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.directory, stdout=log, stderr=log, preexec_fn=die_with_parent
            )

    def kill(self) -> None:
        """Kill the worker immediately (`kill -9`)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def put(self, connector: str, settings: Mapping[str, str]) -> None:
        """Create a connector when the worker is ready.

        Raises:
            WorkerError: the worker ended, is not ready in time, or rejects the connector.
        """
        url = f"http://127.0.0.1:{self._port}/connectors/{connector}/config"
        body = json.dumps(settings).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="PUT")
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            try:
                urllib.request.urlopen(request, timeout=_TIMEOUT_S).close()
                return
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read().decode(errors="replace")
                # Retry: the REST resources are registered last, and requests fail while the group rebalances.
                if error.code not in (404, 409, 503):
                    raise WorkerError(f"connector {connector}: {error.code} {said}\n{self.said()}") from None
            except OSError:
                pass
            time.sleep(0.2)
        raise WorkerError(f"connector {connector}: the worker takes none\n{self.said()}")

    def said(self) -> str:
        """Return the last lines of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-60:])

    @property
    def _log(self) -> Path:
        return self.directory / "worker.log"
