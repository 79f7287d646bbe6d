"""`barnabas registry serve`: brokers on a registry that stands by itself, and may be killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from tests.clusters import cluster_of, controller_of, create_topic, servers_of, wait_for_in_sync
from tests.commands import run
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

TOPIC = "numbers"


@contextmanager
def serving(directory: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A registry at a port, once clients can connect."""
    ready, write_fd = os.pipe()
    command = [sys.executable, "-m", "barnabas.cli.main", "registry", "serve", "--data-dir", str(directory)]
    command += ["--listeners", f"127.0.0.1:{port}", "--ready-fd", str(write_fd), "--die-with-parent"]
    with subprocess.Popen(command, pass_fds=(write_fd,), stderr=subprocess.PIPE) as process, os.fdopen(ready) as lines:
        os.close(write_fd)
        try:
            assert json.loads(lines.readline()) == {"host": "127.0.0.1", "port": port}
            yield process
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE_S)


def node(path: str, connect: str) -> dict[str, object]:
    """What a node is, as `barnabas registry get` tells it."""
    found: dict[str, object] = json.loads(run("registry", "get", path, "--zookeeper", connect, "--json").stdout)
    return found


def test_sessions_outlive_a_kill_of_the_registry_and_records_flow_meanwhile(tmp_path: Path) -> None:
    port = free_port()
    connect, settings = f"127.0.0.1:{port}/cluster", {"zookeeper.session.timeout.ms": "30000"}
    with (
        serving(tmp_path / "registry", port) as registry,
        cluster_of(("barnabas",) * 2, tmp_path, connect, settings) as members,
    ):
        create_topic(members, TOPIC, 2)
        wait_for_in_sync(members, TOPIC)
        before = [node(f"/brokers/ids/{each}", connect) for each in members]
        controller = asyncio.run(controller_of(members))
        registry.send_signal(signal.SIGKILL)
        registry.wait(PATIENCE_S)

        async def produce() -> None:
            async with Pool(servers_of(members), "test") as pool, Producer(pool, acks=-1) as producer:
                await asyncio.gather(*(producer.send(TOPIC, b"value", partition=index % 2) for index in range(20)))

        asyncio.run(produce())
        with serving(tmp_path / "registry", port):
            assert [node(f"/brokers/ids/{each}", connect) for each in members] == before
            # A change goes by the controller, whose session went on.
            create_topic(members, "later", 2)
            wait_for_in_sync(members, "later")
            assert asyncio.run(controller_of(members)) == controller
            assert [node(f"/brokers/ids/{each}", connect) for each in members] == before
            for member in members.values():
                member.stop()
            assert run("registry", "ls", "/brokers/ids", "--zookeeper", connect).stdout == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--data-dir", "{taken}"], "is in use by another process"),
        (["--listeners", "127.0.0.1:{port}"], "127.0.0.1:{port}"),
        (["--listeners", "nowhere"], "must be host:port or a port"),
        (["--override", "nothing"], "must be NAME=VALUE"),
    ],
)
def test_what_can_not_be_served_is_told_in_a_line(tmp_path: Path, options: list[str], expected: str) -> None:
    port = free_port()
    with serving(tmp_path / "taken", port):
        places = {"taken": str(tmp_path / "taken"), "port": str(port)}
        defaults = ["--data-dir", str(tmp_path / "other"), "--listeners", "127.0.0.1:0"]
        command = [sys.executable, "-m", "barnabas.cli.main", "registry", "serve", *defaults]
        command += [each.format(**places) for each in options]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.startswith("barnabas registry serve: ")
    assert expected.format(**places) in line
