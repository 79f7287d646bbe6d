"""The measured brokers, each alone on an empty directory."""

import contextlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.kafka.jars import CACHE
from tools.kafka.java import die_with_parent
from tools.kafka.server import KafkaServer, free_port
from tools.wheel import compiled_environment

_HERE = Path(__file__).parent
_API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_START_TIMEOUT_S = 180.0


class Running(NamedTuple):
    """A broker that answered its first request."""

    address: str
    pid: int
    startup_s: float


def _first_answer_s(port: int, start: float, process_ended: Callable[[], bool]) -> float:
    """Return the seconds from `start` to the first ApiVersions answer."""
    while time.perf_counter() - start < _START_TIMEOUT_S and not process_ended():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(_API_VERSIONS_REQUEST)
            if connection.recv(65_536):
                return time.perf_counter() - start
        time.sleep(0.001)
    raise RuntimeError(f"nothing answers on port {port}")


@contextlib.contextmanager
def _empty_directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def kafka() -> Iterator[Running]:
    """Kafka 2.7.2 with its ZooKeeper, which is up before the clock starts."""
    with _empty_directory() as directory:
        server = KafkaServer(directory)
        try:
            server.start_zookeeper()
            start = time.perf_counter()
            server.start_broker()
            startup_s = _first_answer_s(server.port, start, server.has_ended)
            server.wait()
            yield Running(server.bootstrap_servers, server.pid, startup_s)
        finally:
            server.close()


@contextlib.contextmanager
def _process(command: Callable[[int, Path], list[str]]) -> Iterator[Running]:
    with _empty_directory() as directory, _process_on(directory, command) as running:
        yield running


@contextlib.contextmanager
def _process_on(directory: Path, command: Callable[[int, Path], list[str]]) -> Iterator[Running]:
    with (directory / "broker.log").open("ab") as log:
        port = free_port()
        start = time.perf_counter()
        process = subprocess.Popen(
            command(port, directory / "data"), stdout=log, stderr=log, cwd=directory, preexec_fn=die_with_parent
        )
        try:
            startup_s = _first_answer_s(port, start, lambda: process.poll() is not None)
            yield Running(f"127.0.0.1:{port}", process.pid, startup_s)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{(directory / 'broker.log').read_text(errors='replace')}") from error
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def barnabas_of(python: Path, *options: str) -> contextlib.AbstractContextManager[Running]:
    """The `barnabas broker` of a Python environment."""
    return _process(_broker(python, *options))


def broker_of_sources(
    sources: Path, *, prefix: Sequence[str] = (), options: Sequence[str] = ()
) -> contextlib.AbstractContextManager[Running]:
    """The `barnabas broker` of a directory of sources, in this environment.

    Args:
        prefix: Words before the command, such as valgrind.
        options: Options of the command.
    """
    program = ["env", f"PYTHONPATH={sources}", *prefix, sys.executable, "-P", "-m", "barnabas.cli.main", "broker"]
    return _process(lambda port, data: [*program, "--port", str(port), "--data-dir", str(data), *options])


def _broker(python: Path, *options: str) -> Callable[[int, Path], list[str]]:
    program = str(python.with_name("barnabas"))
    return lambda port, data: [program, "broker", "--port", str(port), "--data-dir", str(data), *options]


def barnabas_on(python: Path, directory: Path, *options: str) -> contextlib.AbstractContextManager[Running]:
    """The same on a directory that is kept: data in `data`, output in `broker.log`."""
    return _process_on(directory, _broker(python, *options))


def barnabas() -> contextlib.AbstractContextManager[Running]:
    """Barnabas in pure Python, started as users start it."""
    return barnabas_of(Path(sys.executable))


def barnabas_compiled() -> contextlib.AbstractContextManager[Running]:
    """The same from the compiled wheel, which is rebuilt if the sources have changed."""
    return barnabas_of(compiled_environment())


def prototype() -> contextlib.AbstractContextManager[Running]:
    """The minimal broker in Python (`prototype.py`)."""
    return _process(lambda port, data: [sys.executable, str(_HERE / "prototype.py"), str(port), str(data)])


def floor() -> contextlib.AbstractContextManager[Running]:
    """The minimal broker in C (`floor.c`), the lower bound."""
    program = CACHE / "floor"
    source = _HERE / "floor.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        CACHE.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O2", "-msse4.2", "-w", str(source), "-o", str(program)], check=True)

    def command(port: int, data: Path) -> list[str]:
        data.mkdir()
        return [str(program), str(port), str(data)]

    return _process(command)


TARGETS: dict[str, Callable[[], contextlib.AbstractContextManager[Running]]] = {
    "kafka": kafka,
    "barnabas": barnabas,
    "barnabas-compiled": barnabas_compiled,
    "prototype": prototype,
    "floor": floor,
}

LACKING: dict[str, frozenset[str]] = {
    # Kafka (2.7.2, default heap) stopped answering other clients under this load, for more than a minute.
    "kafka": frozenset({"long-work"}),
    "barnabas": frozenset(),
    "barnabas-compiled": frozenset(),
    "prototype": frozenset(),
    # It has no long poll.
    "floor": frozenset({"end-to-end"}),
}
"""The loads that a target does not support."""
