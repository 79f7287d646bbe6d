"""Start and stop of the broker's process: what it refuses, in which words, and what it leaves behind.

Source: semantics, configuration; the error is one line on stderr, the exit code 1.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import PATIENCE_S, is_readable

CLEAN = ".kafka_cleanshutdown"
DISK_BYTES = 2 * 1024 * 1024
# However slow the disk is, the producer's queue does not fill up.
_MOST_UNDER_WAY = 100

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def command(*options: object, log_level: str = "error") -> list[str]:
    return [sys.executable, "-m", "barnabas.broker.server", "--log-level", log_level, *map(str, options)]


def refusal(*options: object, **popen: Any) -> str:
    """The one line that a broker which can't start says."""
    done = subprocess.run(command(*options), capture_output=True, text=True, timeout=PATIENCE_S, **popen)
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("barnabas broker: ")
    return line


class Running:
    """A broker's process that is ready."""

    def __init__(self, *options: object, **popen: Any) -> None:
        read_fd, write_fd = os.pipe()
        try:
            self.process = subprocess.Popen(
                command("--ready-fd", write_fd, *options),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=(write_fd,),
                **popen,
            )
            os.close(write_fd)
            assert is_readable(read_fd), "the broker is not ready in time"
            line = os.read(read_fd, 4096)
        finally:
            os.close(read_fd)
        assert line, self.process.communicate()[1]
        ready = json.loads(line)
        self.port: int = ready["port"]
        self.cluster_id: str = ready["cluster_id"]
        self.bootstrap_servers = f"127.0.0.1:{self.port}"

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> None:
        """Stop it in good order."""
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        assert (self.process.returncode, errors) == (0, "")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def running(*options: object, **popen: Any) -> Iterator[Running]:
    broker = Running(*options, **popen)
    try:
        yield broker
    finally:
        broker.end()


def snapshot(directory: Path) -> dict[str, tuple[str, int]]:
    """Every file's content and time of change."""
    return {
        str(path.relative_to(directory)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in sorted(directory.rglob("*"))
    }


def produce(bootstrap_servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(count):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(PATIENCE_S) == 0


def properties(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


# --- refusals


def test_a_port_in_use_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = refusal("--port", port, "--data-dir", tmp_path / "data")
    assert f"127.0.0.1:{port} is in use" in line
    # A port in use must not cost a recovery, nor make a directory.
    assert not (tmp_path / "data").exists()


def test_a_locked_directory_is_refused_and_left_to_its_broker(tmp_path):
    with running("--port", 0, "--data-dir", tmp_path) as broker:
        line = refusal("--port", 0, "--data-dir", tmp_path)
        assert f"{tmp_path} is in use by another broker" in line
        produce(broker.bootstrap_servers, "t", 1)
        broker.stop()


@pytest.mark.parametrize(
    ("identity", "names"),
    [
        ("version=0\nbroker.id=0\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n", ["AAAAAAAAAAAAAAAAAAAAAA"]),
        ("version=0\nbroker.id=7\n", ["broker 7", "broker.id is 0"]),
    ],
    ids=["another-cluster", "another-broker"],
)
def test_a_directory_of_somebody_else_is_refused_and_left_as_it_was(tmp_path, identity, names):
    data = tmp_path / "data"
    with running("--port", 0, "--data-dir", data) as broker:
        produce(broker.bootstrap_servers, "t", 3)
        broker.stop()
    (data / "meta.properties").write_text(identity)
    before = snapshot(data)
    line = refusal("--port", 0, "--data-dir", data)
    for name in names:
        assert name in line
    assert str(data / "meta.properties") in line
    assert snapshot(data) == before


@pytest.mark.parametrize("cluster", ["cluster.id=AAAAAAAAAAAAAAAAAAAAAA\n", ""], ids=["since-2.4", "before-2.4"])
def test_a_directory_that_kafka_wrote_is_refused_and_left_as_it_was(tmp_path, cluster):
    (tmp_path / "meta.properties").write_text(f"version=0\nbroker.id=0\n{cluster}")
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(b"what Kafka wrote")
    (tmp_path / ".lock").write_bytes(b"")
    before = snapshot(tmp_path)
    line = refusal("--port", 0, "--data-dir", tmp_path)
    assert ("AAAAAAAAAAAAAAAAAAAAAA" if cluster else "broker 0") in line
    assert f"`barnabas adopt {tmp_path}`" in line
    assert snapshot(tmp_path) == before


def test_meta_properties_that_make_no_sense_are_refused(tmp_path):
    (tmp_path / "meta.properties").write_text("version=1\nbroker.id=zero\n")
    before = (tmp_path / "meta.properties").read_bytes()
    assert "meta.properties" in refusal("--port", 0, "--data-dir", tmp_path)
    assert (tmp_path / "meta.properties").read_bytes() == before


def test_a_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "data").write_text("not a directory")
    assert str(tmp_path / "data") in refusal("--port", 0, "--data-dir", tmp_path / "data")


def without_override() -> None:
    """Let permissions count for root, too: it gives up the right to pass over them."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.parametrize("mode", [0o000, 0o500], ids=["unreadable", "read-only"])
def test_a_directory_that_cant_be_used_is_refused(tmp_path, mode):
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(mode)
    try:
        line = refusal("--port", 0, "--data-dir", data, preexec_fn=without_override)
    finally:
        data.chmod(0o700)
    assert str(data) in line
    assert "Permission denied" in line
    assert list(data.iterdir()) == []


def test_a_directory_that_cant_be_made_is_refused():
    assert "/proc/barnabas" in refusal("--port", 0, "--data-dir", "/proc/barnabas")


def test_a_zookeeper_that_does_not_answer_ends_the_start_and_embedded_does_without(tmp_path):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        connect = f"127.0.0.1:{nobody.getsockname()[1]}/kafka"
        lines = ["broker.id=0", f"zookeeper.connect={connect}", "zookeeper.connection.timeout.ms=300"]
        file = properties(tmp_path / "server.properties", *lines)
        assert f"no ZooKeeper answers at {connect}" in refusal(file, "--port", 0, "--data-dir", tmp_path / "data")
    with running(file, "--embedded", "--port", 0, "--data-dir", tmp_path / "data") as broker:
        broker.stop()
    # Now its state is here, and ZooKeeper's would be another one.
    line = refusal(file, "--port", 0, "--data-dir", tmp_path / "data")
    assert "keeps its cluster's state in registry.sqlite" in line
    assert f"barnabas release {tmp_path / 'data'} --zookeeper {connect} --execute" in line


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("barnabas.no.such.setting=1", "barnabas.no.such.setting"),
        ("num.partitions=many", "num.partitions"),
        ("num.partitions=0", "num.partitions"),
        ("listeners=TLS://:9093", "listener.security.protocol.map"),
    ],
)
def test_a_setting_that_cant_be_names_file_and_line(tmp_path, line, says):
    file = properties(tmp_path / "server.properties", "broker.id=0", "# a comment", line)
    said = refusal(file, "--data-dir", tmp_path / "data")
    assert f"{file}:3" in said
    assert says in said
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert str(tmp_path / "none") in refusal(tmp_path / "none")


def test_a_host_that_is_not_ours_is_refused(tmp_path):
    assert "192.0.2.1" in refusal("--host", "192.0.2.1", "--port", 0, "--data-dir", tmp_path / "data")


# --- a full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill(directory: Path, left_bytes: int) -> Path:
    """Fill a file system up to the last few bytes."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    os.truncate(filler, filler.stat().st_size - left_bytes)
    return filler


def error_of_producing(bootstrap_servers: str, topic: str) -> str:
    """The first error that a producer which sends and sends is told."""
    errors: list[str] = []
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "retries": 0, "log_level": 0, "message.timeout.ms": 60_000}
    )
    deadline = time.monotonic() + PATIENCE_S
    while not errors:
        assert time.monotonic() < deadline, "the disk never fills"
        if len(producer) < _MOST_UNDER_WAY:
            producer.produce(
                topic, b"x" * 20_000, on_delivery=lambda error, _: errors.append(error.name()) if error else None
            )
        producer.poll(0.001)
    return errors[0]


def test_a_full_disk_at_start_is_one_line(small_disk):
    fill(small_disk, 0)
    line = refusal("--port", 0, "--data-dir", small_disk / "data")
    assert str(small_disk) in line


def assert_ends_because_of(broker: Running, path: Path) -> None:
    _, errors = broker.process.communicate(timeout=PATIENCE_S)
    assert broker.process.returncode == 1, errors
    lines = errors.splitlines()
    assert [line for line in lines if line.startswith("barnabas broker: ")] == lines[-1:]
    assert str(path) in lines[-1]
    assert "Traceback" not in errors


def test_a_disk_that_fills_up_ends_the_broker_and_nothing_acknowledged_is_lost(small_disk):
    data = small_disk / "data"
    with running("--port", 0, "--data-dir", data, "--override", "offsets.topic.num.partitions=1") as broker:
        produce(broker.bootstrap_servers, "t", 10)
        assert error_of_producing(broker.bootstrap_servers, "t") in (
            "KAFKA_STORAGE_ERROR",
            "_TRANSPORT",
            "_MSG_TIMED_OUT",
        )
        assert_ends_because_of(broker, data)
    subprocess.run(["mount", "-o", f"remount,size={4 * DISK_BYTES}", str(small_disk)], check=True)
    with running("--port", 0, "--data-dir", data) as broker:
        assert read_values(broker.bootstrap_servers, "t", 10) == [b"%d" % number for number in range(10)]
        broker.stop()


def test_a_file_that_may_not_grow_ends_the_broker(tmp_path):
    """The same without root: the system refuses to make any file larger than this."""
    limit = (400_000, 400_000)
    data = tmp_path / "data"
    with running(
        "--port", 0, "--data-dir", data, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    ) as broker:
        produce(broker.bootstrap_servers, "t", 10)
        error_of_producing(broker.bootstrap_servers, "t")
        assert_ends_because_of(broker, data)
    with running("--port", 0, "--data-dir", data) as broker:
        assert read_values(broker.bootstrap_servers, "t", 10) == [b"%d" % number for number in range(10)]
        broker.stop()


def read_values(bootstrap_servers: str, topic: str, count: int) -> Sequence[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        return [message.value() for message in consumer.consume(count, timeout=PATIENCE_S)]
    finally:
        consumer.close()


# --- stop


def long_poll(port: int) -> socket.socket:
    """A connection on which a fetch of topic t waits for data for a very long time."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    name = b"t"
    body = struct.pack(">iiiiBii", -1, 2**31 - 1, 2**31 - 1, 2**31 - 1, 0, 0, -1)
    body += struct.pack(">i", 1) + struct.pack(">h", len(name)) + name
    # partition, current leader epoch, fetch offset, log start offset, partition max bytes; then no forgotten topics
    body += struct.pack(">iiiqqi", 1, 0, -1, 0, -1, 1 << 20) + struct.pack(">i", 0)
    header = struct.pack(">hhih", 1, 9, 1, -1)
    sock.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
    return sock


def with_hangup(handler: signal.Handlers) -> Callable[[], object]:
    """What a process does before its start: these tests may themselves be run by nohup."""
    return lambda: signal.signal(signal.SIGHUP, handler)


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_stops_the_broker_cleanly_whatever_its_clients_wait_for(tmp_path, signal_number):
    with running("--port", 0, "--data-dir", tmp_path, preexec_fn=with_hangup(signal.SIG_DFL)) as broker:
        assert not (tmp_path / CLEAN).exists()
        produce(broker.bootstrap_servers, "t", 1)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0})
        assigned: list[object] = []
        consumer.subscribe(["t"], on_assign=lambda _, partitions: assigned.extend(partitions))
        while not assigned:
            consumer.poll(0.01)
        idle = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(20)]
        half = socket.create_connection(("127.0.0.1", broker.port))
        half.sendall(struct.pack(">ih", 1_000, 0))
        waiting = long_poll(broker.port)
        # Another request's answer says that the broker has taken the one before on that connection, too.
        produce(broker.bootstrap_servers, "other", 1)
        # The fetch waits for weeks, the connections for ever.
        broker.stop(signal_number)
        assert (tmp_path / CLEAN).exists()
        with contextlib.suppress(ConnectionError):
            while waiting.recv(1 << 16):
                pass
        for sock in (*idle, half, waiting):
            sock.close()
    with running("--port", broker.port, "--data-dir", tmp_path) as broker:
        assert not (tmp_path / CLEAN).exists()
        consumer.close()
        broker.stop()


def test_a_broker_that_nohup_started_does_not_stop_on_sighup(tmp_path):
    with running("--port", 0, "--data-dir", tmp_path, preexec_fn=with_hangup(signal.SIG_IGN)) as broker:
        broker.process.send_signal(signal.SIGHUP)
        produce(broker.bootstrap_servers, "t", 1)
        broker.stop()


@contextlib.contextmanager
def starting(*options: object) -> Iterator[subprocess.Popen[str]]:
    """A broker's process that is not ready yet, and logs what it does."""
    process = subprocess.Popen(command(*options, log_level="info"), stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Read the log up to the line with a text."""
    assert process.stderr is not None
    lines = []
    while text not in (line := process.stderr.readline()):
        lines.append(line)
        assert line, lines


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_a_signal_stops_a_broker_that_waits_for_zookeeper(tmp_path, signal_number):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        file = properties(
            tmp_path / "server.properties",
            f"zookeeper.connect=127.0.0.1:{nobody.getsockname()[1]}",
            "zookeeper.connection.timeout.ms=2147483647",
        )
        with starting(file, "--port", 0, "--data-dir", tmp_path / "data") as broker:
            wait_for_line(broker, "Connection refused")
            broker.send_signal(signal_number)
            _, errors = broker.communicate(timeout=PATIENCE_S)
    assert (broker.returncode, "Traceback" in errors) == (0, False), errors
    assert not (tmp_path / "data" / CLEAN).exists()


def test_a_kill_leaves_no_clean_shutdown_marker(tmp_path):
    with running("--port", 0, "--data-dir", tmp_path) as broker:
        broker.process.kill()
        broker.process.communicate()
        assert not (tmp_path / CLEAN).exists()


def test_a_second_start_keeps_the_cluster_id(tmp_path):
    ids = []
    for _ in range(2):
        with running("--port", 0, "--data-dir", tmp_path) as broker:
            ids.append(broker.cluster_id)
            broker.stop()
    assert ids[0] == ids[1]


PARENT = """
import subprocess, sys
broker = subprocess.Popen([*sys.argv[1:]], stdout=subprocess.PIPE)
print(broker.pid, broker.stdout.readline().decode(), flush=True)
sys.stdin.readline()
"""


def test_die_with_parent_ends_the_broker_with_whoever_started_it(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *command("--die-with-parent", "--port", 0, "--data-dir", tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline().split()[0])
    handle = os.pidfd_open(pid)
    try:
        parent.kill()
        parent.communicate()
        assert is_readable(handle), "the broker outlives its parent"
    finally:
        os.close(handle)


def test_die_with_parent_ends_a_broker_whose_parent_was_gone_before_it_could_look(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    options = ("--die-with-parent", "--parent-pid", gone.pid, "--port", 0, "--data-dir", tmp_path / "data")
    ended = subprocess.run(command(*options), capture_output=True, timeout=PATIENCE_S)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "data").exists()


# --- open files


def test_connections_and_partitions_leave_enough_open_files_to_the_logs(tmp_path):
    limit = 400
    with running(
        "--port",
        0,
        "--data-dir",
        tmp_path,
        "--override",
        "log.segment.bytes=20000",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    ) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        producer.produce("t", b"first")
        assert producer.flush(PATIENCE_S) == 0
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        with pytest.raises(KafkaException, match=r"POLICY_VIOLATION.*ulimit -n"):
            admin.create_topics([NewTopic("many", limit, 1)])["many"].result(PATIENCE_S)
        errors = broker.process.stderr
        assert errors is not None
        crowd: list[socket.socket] = []
        # A broker without descriptors closes connections that have not sent a request; all before the last one have.
        while not is_readable(errors, 0):
            crowd.append(socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S))
            crowd[-1].sendall(API_VERSIONS)
            answer_or_error = select.poll()
            answer_or_error.register(crowd[-1], select.POLLIN)
            answer_or_error.register(errors, select.POLLIN)
            assert answer_or_error.poll(PATIENCE_S * 1_000)
        assert "no file descriptor is left" in errors.readline()
        assert limit // 2 < len(crowd) < limit
        # Whoever is connected works on, and the log goes on to new segments.
        for number in range(50):
            producer.produce("t", b"x" * 5_000, partition=0)
            assert producer.flush(PATIENCE_S) == 0, number
        for sock in crowd:
            sock.close()
        broker.process.terminate()
        assert broker.process.wait(PATIENCE_S) == 0, errors.read()
