"""The commands of docs/moving.md do what it says, pasted one after the other into a shell."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.migration.apply import RELEASED_REGISTRY_FILE
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.testing import Broker
from tests.patience import PATIENCE_S
from tools.kafka.zookeeper import ZooKeeper

RUNBOOK = Path(__file__).resolve().parents[2] / "docs/moving.md"


def commands(heading: str) -> list[str]:
    """The shell commands below a heading, up to the next heading of any level."""
    section = RUNBOOK.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


class Shell:
    """Runs commands with the runbook's variables set."""

    def __init__(self, directory: Path, data: str, zookeeper: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._options: dict[str, Any] = {
            "cwd": directory,
            "env": {**os.environ, "PATH": path, "DATA": data, "ZOOKEEPER": zookeeper},
        }

    def run(self, command: str) -> str:
        result = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE_S, check=False, **self._options
        )
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout

    def run_broker(self, command: str) -> str:
        """Start a broker, stop it once it serves; what it said."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, **self._options}
        with subprocess.Popen(["sh", "-c", f"exec {command} --die-with-parent"], **options) as process:
            assert process.stdout is not None
            ready = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        return ready


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    with ZooKeeper(tmp_path / "zookeeper") as server:
        yield server


def test_the_runbook(tmp_path: Path, zookeeper: ZooKeeper) -> None:
    data, address = tmp_path / "data", f"{zookeeper.connect}/cluster"
    with Broker(data_dir=data) as broker:
        cluster_id = broker.cluster_id
    shell = Shell(tmp_path, str(data), address)
    (tmp_path / "server.properties").write_text(
        f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={data}\nzookeeper.connect={address}\n"
    )
    look, release, _ = commands("Out: from Barnabas to Kafka")
    shell.run(look)
    assert not (data / RELEASED_REGISTRY_FILE).exists()
    assert "Released. Start Kafka with broker.id=0" in shell.run(release)
    assert (data / RELEASED_REGISTRY_FILE).exists()

    check, stop_kafka, look, adopt, start = commands("In: from Kafka to Barnabas")
    assert "The broker starts with server.properties" in shell.run(check)
    assert stop_kafka.startswith("kafka-server-stop.sh")
    assert cluster_id in shell.run(look)
    assert not (data / REGISTRY_FILE).exists()
    printed = re.search(r"Start the broker: (.*)", shell.run(adopt))
    assert (data / REGISTRY_FILE).exists()
    assert cluster_id in shell.run_broker(start)
    assert printed is not None
    assert cluster_id in shell.run_broker(f"{printed[1]} --port 0")

    look, release, start_kafka = commands("Out: from Barnabas to Kafka")
    assert start_kafka.startswith("kafka-server-start.sh")
    shell.run(look)
    shell.run(release)
    assert not (data / REGISTRY_FILE).exists()
