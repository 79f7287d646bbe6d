"""Three machines for one cluster, each with a shell where the commands of docs/replacing.md are pasted.

A machine is a directory, with the scripts of Kafka that a machine has. Its `server.properties` is written for Kafka.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas.testing.cluster import member_config
from tests.clusters import SOON_STOPPED
from tests.commands import run
from tests.patience import PATIENCE_S, until
from tools.kafka.jars import KAFKA
from tools.kafka.java import java_command
from tools.kafka.server import free_port, quick_jvm_options

_RUNBOOK = Path(__file__).parents[2] / "docs/replacing.md"
_SETTINGS = {
    **SOON_STOPPED,
    "zookeeper.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
    # Kafka's are made at each start, for each partition of each log.
    "log.index.size.max.bytes": "65536",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}


def commands(heading: str) -> list[str]:
    """Return the blocks of shell below a heading of docs/replacing.md."""
    section = _RUNBOOK.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return ["\n".join(line.strip() for line in block.splitlines()) for block in blocks]


class Machine:
    """Where one broker runs: a directory, and a shell in it.

    Attributes:
        servers: The listener where nobody logs in.
        login_servers: The one where users do.
    """

    def __init__(
        self, directory: Path, broker_id: int, zookeeper_connect: str, settings: Mapping[str, str], jar_set: str
    ) -> None:
        """Args:
        directory: Is made.
        settings: Of all brokers.
        jar_set: Which Kafka is installed.
        """
        self.broker_id = broker_id
        self.directory = directory
        self.data_dir = directory / "kafka-logs"
        self.servers, self.login_servers = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.properties = directory / "server.properties"
        own = {
            "listeners": f"PLAINTEXT://{self.servers},SASL_PLAINTEXT://{self.login_servers}",
            "log.dirs": str(self.data_dir),
        }
        (directory / "bin").mkdir(parents=True)
        self.configure({**member_config(broker_id, zookeeper_connect), **_SETTINGS, **settings, **own})
        self.install(jar_set)
        self._shell = self._open_shell()
        self._guardian = self._guard()
        self.paste(f"PROPERTIES={self.properties} BROKER={broker_id}")

    def configure(self, settings: Mapping[str, str]) -> None:
        """Append settings to the file: of two lines the last one counts."""
        with self.properties.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in settings.items())

    def install(self, jar_set: str) -> None:
        """Have the machine hold a release of Kafka: its scripts stand in no jar, these do what they do."""
        options = [*quick_jvm_options(jar_set), "-Xmx256m"]
        kafka = shlex.join(java_command("kafka.Kafka", [], jar_set=jar_set, jvm_options=options, log_level="INFO"))
        scripts = {
            "kafka-server-start.sh": f"{kafka} $2 >>kafka.log 2>&1 </dev/null & echo $! >kafka.pid",
            "kafka-server-stop.sh": "kill -s TERM $(cat kafka.pid)",
            # The runbook looks once a second, for somebody who watches.
            "sleep": "exec $(command -pv sleep) 0.5",
        }
        for name, script in scripts.items():
            path = self.directory / "bin" / name
            path.write_text(f"#!/bin/sh -e\n{script}\n")
            path.chmod(0o755)

    def _open_shell(self) -> subprocess.Popen[str]:
        path = f"{self.directory / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.Popen(
            ["sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.directory,
            env={**os.environ, "PATH": path},
            start_new_session=True,
        )

    def _guard(self) -> subprocess.Popen[bytes]:
        """Have all that the shell started end with this process, however that ends."""
        end_all = f"cat >/dev/null; kill -s KILL -- -{self._shell.pid}"
        return subprocess.Popen(["sh", "-c", end_all], stdin=subprocess.PIPE, start_new_session=True)

    def paste(self, command: str) -> str:
        """Run a command in the shell; what it printed. It must end well."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        giving_up = threading.Timer(PATIENCE_S, self._guardian.communicate)
        giving_up.start()
        try:
            self._shell.stdin.write(f"{command}\necho end of $?\n")
            self._shell.stdin.flush()
            printed = ""
            while not (end := re.search(r"^end of (\d+)$", printed, re.MULTILINE)):
                line = self._shell.stdout.readline()
                assert line, f"{command}: the shell ended: {printed}{self.log_tail()}"
                printed += line
        finally:
            giving_up.cancel()
        assert end[1] == "0", f"{command}: {printed}{self.log_tail()}"
        return printed[: end.start()]

    def log_tail(self) -> str:
        """Return what the brokers of this machine said last."""
        logs = [self.directory / name for name in ("kafka.log", "barnabas.log")]
        return "\n".join(
            f"{log.name} of {self.broker_id}:\n" + "\n".join(log.read_text().splitlines()[-30:])
            for log in logs
            if log.exists()
        )

    def close(self) -> None:
        """End all that runs here."""
        self._guardian.communicate()
        self._shell.kill()
        self._shell.communicate()


Machines = Mapping[int, Machine]

MAY_STOP, STOP_KAFKA, START_BARNABAS, WAIT, ELECT = commands("From Kafka to Barnabas")
_, STOP_BARNABAS, START_KAFKA, _ = commands("From Barnabas to Kafka")


@contextmanager
def three_machines(
    directory: Path,
    zookeeper_connect: str,
    starts: Mapping[int, str],
    settings: Mapping[str, str],
    jar_set: str = KAFKA,
) -> Iterator[Machines]:
    """Start a cluster.

    Args:
        directory: Where the machines are.
        starts: The command that starts each broker.
        settings: Of all brokers.
        jar_set: Which Kafka is installed.
    """
    with ExitStack() as stack:
        machines: dict[int, Machine] = {}
        for broker_id, start in starts.items():
            machine = machines[broker_id] = Machine(
                directory / f"broker-{broker_id}", broker_id, zookeeper_connect, settings, jar_set
            )
            stack.callback(machine.close)
            machine.paste(start)
        until(lambda: all(_knows_all(each, len(starts)) for each in machines.values()))
        yield machines


def _knows_all(machine: Machine, count: int) -> bool:
    ran = run("cluster", "status", "--bootstrap-server", machine.servers, "--json")
    return ran.returncode == 0 and len(json.loads(ran.stdout)["brokers"]) == count
