"""`barnabas cluster start`: brokers that begin and end together, with one line when clients can connect."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters import registry_broker
from tests.commands import run
from tests.patience import PATIENCE_S, is_readable
from tools.kafka.server import free_port


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """A registry that is spoken to as a ZooKeeper; each test uses a tree of its own."""
    with registry_broker() as (_, connect):
        yield connect


@contextmanager
def cluster(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start brokers, and give the process and where clients can connect."""
    command = [sys.executable, "-m", "barnabas.cli.main", "cluster", "start", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            words, _, addresses = process.stdout.readline().strip().partition(": ")
            assert words == "Clients can connect", process.communicate(timeout=PATIENCE_S)
            yield process, addresses
        finally:
            process.kill()


def member_pids(process: subprocess.Popen[str]) -> list[int]:
    """Return the ids of the brokers' processes."""
    command = ["ps", "-o", "pid=", "--ppid", str(process.pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def told(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end, and return what was said till then."""
    return process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.whole), 3])
def test_brokers_begin_and_end_together_and_keep_what_they_had(registry: str, tmp_path: Path, count: int) -> None:
    data = tmp_path / "data"
    options = ("--brokers", count, "--zookeeper", f"{registry}/together-{count}", "--data-dir", data, "--first-id", 7)
    with cluster(*options) as (process, addresses):
        assert len(addresses.split(",")) == count
        created = run("topics", "--bootstrap-server", addresses, "--create", "--topic", "kept", "--partitions", count)
        assert created.returncode == 0, created.stderr
        pids = member_pids(process)
        assert len(pids) == count
        process.send_signal(signal.SIGINT)
        assert told(process) == ("", "")
        assert process.returncode == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert {f"broker-{7 + number}" for number in range(count)} <= set(os.listdir(data))
    assert "stopping: SIGTERM" in (data / "broker-7.log").read_text()
    with cluster(*options) as (process, addresses):
        assert run("topics", "--bootstrap-server", addresses, "--list").stdout == "kept\n"
        process.terminate()
        assert told(process) == ("", "")


def test_brokers_that_take_long_to_start_are_waited_for(tmp_path: Path) -> None:
    program = "import sys; from barnabas.cli import cluster, main; cluster._SLOW_START_S = 0.1; sys.exit(main.main())"
    options = ("cluster", "start", "--port", "0", "--registry-port", "0", "--data-dir", str(tmp_path))
    command = [sys.executable, "-c", program, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Clients can connect: ")
        process.terminate()
        _, err = told(process)
    assert process.returncode == 0
    assert err.startswith("Not ready after 0.1 s: the registry (")
    assert "Not ready after 0.2 s: " in err


def test_a_broker_that_ends_by_itself_is_told_of(registry: str, tmp_path: Path) -> None:
    with cluster("--zookeeper", f"{registry}/killed", "--data-dir", tmp_path) as (process, _):
        (pid,) = member_pids(process)
        os.kill(pid, signal.SIGKILL)
        out, err = told(process)
    assert out == ""
    assert err.startswith("broker 0 has ended (SIGKILL): ")
    assert process.returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="waits for a process that is no child by its pidfd")
def test_brokers_do_not_outlive_who_started_them(registry: str, tmp_path: Path) -> None:
    with cluster("--zookeeper", f"{registry}/outlive", "--data-dir", tmp_path) as (process, _):
        (pid,) = member_pids(process)
        fd = os.pidfd_open(pid)
        process.kill()
        process.wait()
        assert is_readable(fd)
        os.close(fd)


def test_where_one_can_not_start_the_reason_is_said_and_none_stays(registry: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "barnabas.cli.main", "cluster", "start", "--port", str(port)]
        command += ["--zookeeper", f"{registry}/taken", "--data-dir", str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("barnabas cluster start: broker 0 did not start: ")
    assert f"{port}" in ended.stderr
    assert "in use" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--brokers", 0), "0 must be at least 1"),
        (("--brokers", 3, "--port", 65534), "3 brokers need ports up to 65536; 65535 is the last"),
        (("--override", "broker.id=3"), "--override broker.id: --first-id sets this for each broker"),
        (("--override", "log.dirs=/x"), "--override log.dirs: --data-dir sets this for each broker"),
        (("--data-dir", __file__), "must be a directory"),
    ],
)
def test_what_can_not_be_is_refused(arguments: tuple[object, ...], reason: str) -> None:
    ended = run("cluster", "start", *arguments)
    assert ended.returncode == 1
    assert reason in ended.stderr


def test_without_a_zookeeper_a_registry_stands_beside_the_brokers_and_keeps_what_they_had(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    options = ("--brokers", 3, "--data-dir", tmp_path, "--registry-port", place.rpartition(":")[2])
    with cluster(*options) as (process, addresses):
        created = run(
            "topics", "--bootstrap-server", addresses, "--create", "--topic", "kept", "--replication-factor", 3
        )
        assert created.returncode == 0, created.stderr
        assert len(member_pids(process)) == 4
        process.send_signal(signal.SIGINT)
        out, err = told(process)
        assert (out, process.returncode) == ("", 0)
        assert err == f"The cluster's state is at {place}, for zookeeper.connect.\n"
    with cluster(*options) as (process, addresses):
        assert run("topics", "--bootstrap-server", addresses, "--list").stdout == "kept\n"
        for directory, reason in (
            # The same again, and another cluster beside it.
            (tmp_path, "is in use by another process"),
            (tmp_path / "other", f"{place} is in use: another server may be running; stop it or choose another port"),
        ):
            others = [directory if each is tmp_path else each for each in options]
            refused = run("cluster", "start", *others, "--port", 0)
            assert refused.returncode == 1
            (line,) = refused.stderr.splitlines()
            assert line.startswith("barnabas cluster start: the registry did not start: ")
            assert reason in line
        process.terminate()
        told(process)
        assert process.returncode == 0
