"""The files in `packaging/` work: each is run as far as that is possible without systemd as init and without Docker."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from barnabas.wire.protocol.messages.metadata import MetadataRequest
from tests.commands import run
from tests.compat.raw import ask
from tests.integration.test_http import get
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

ROOT = Path(__file__).parents[2]
SYSTEMD = ROOT / "packaging/systemd"
DOCKER = ROOT / "packaging/docker"
BARNABAS = (sys.executable, "-m", "barnabas.cli.main")
# Of the most that a service may be exposed, 100 by `systemd-analyze security`; it calls everything below 20 "OK".
MOST_EXPOSURE = 20

# Does what systemd does for the unit before it runs the program: system calls, address families, memory that is
# writable and executable.
SANDBOX = """
import ctypes, errno, json, os, sys

calls, families = json.loads(sys.argv[1])
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
ALLOW, EQUAL, MDWE = 0x7FFF0000, 4, 65


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def allow(name, *comparisons):
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number >= 0:
        array = (Comparison * len(comparisons))(*comparisons)
        assert library.seccomp_rule_add_array(context, ALLOW, number, len(comparisons), array) == 0, name


context = ctypes.c_void_p(library.seccomp_init(0x00050000 | errno.EPERM))
for call in calls:
    if call != "socket":
        allow(call)
for family in families:
    allow("socket", Comparison(0, EQUAL, family, 0))
# Before Linux 6.3 there is no such protection, and systemd makes do with less.
ctypes.CDLL(None).prctl(MDWE, 1, 0, 0, 0)
assert library.seccomp_load(context) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


class Started:
    """A server that was started as a file says, and what it printed."""

    def __init__(self, process: subprocess.Popen[bytes], log_path: Path) -> None:
        self.process = process
        self._log_path = log_path

    @property
    def log(self) -> str:
        return self._log_path.read_text()

    def wait_until_ready(self, http_port: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_ready(http_port):
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.log


@contextmanager
def started(
    command: Sequence[str | Path], log_path: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Started]:
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=log_path.parent, env=environment)
    try:
        yield Started(process, log_path)
    finally:
        process.kill()
        process.wait()


def is_ready(http_port: int) -> bool:
    try:
        return get(("127.0.0.1", http_port), "/ready")[0] == 200
    except OSError:
        return False


def replaced(text: str, by: Mapping[str, object]) -> str:
    """The text with whole names and numbers replaced, all at once."""
    names = "|".join(re.escape(each) for each in sorted(by, key=len, reverse=True))
    return re.sub(rf"(?<![\w.]){'(' + names + ')'}(?!\w)", lambda found: str(by[found[0]]), text)


def settings_of(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in lines}


def produce_and_consume(servers: str) -> None:
    """A consumer group needs the internal topics, too."""
    at = ("--bootstrap-server", servers)
    assert run("topics", *at, "--create", "--topic", "views", "--partitions", 1).returncode == 0
    # It reads the descriptor, which only a process has.
    command = [*BARNABAS, "produce", *at, "--topic", "views"]
    subprocess.run(command, input=b"one\ntwo\n", capture_output=True, timeout=PATIENCE_S, check=True)
    reading = f"consume --topic views --group readers --from-beginning --max-messages 2 --timeout-ms {PATIENCE_S}000"
    read = run(*reading.split(), *at)
    assert (read.returncode, read.stdout) == (0, "one\ntwo\n"), read.stderr


def advertised(servers: str) -> list[str]:
    """The addresses to which a client of this listener will connect."""
    answer = ask(servers, MetadataRequest(topics=[]), 1)
    return sorted(f"{each.host}:{each.port}" for each in answer.brokers)


# --- systemd


@pytest.fixture(scope="module")
def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    found.read(SYSTEMD / "barnabas.service")
    return found


@pytest.fixture
def analyze() -> str:
    program = shutil.which("systemd-analyze")
    if program is None:
        absent = "systemd-analyze is not there: scripts/packages installs Debian's package systemd"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    return program


def test_systemd_takes_the_unit_and_finds_it_hardened(unit, analyze: str, tmp_path: Path) -> None:
    program = shlex.split(unit["Service"]["ExecStart"])[0]
    path = tmp_path / "barnabas.service"
    # Neither the program nor the user is on this machine.
    text = (SYSTEMD / "barnabas.service").read_text().replace(program, "/bin/true")
    path.write_text(text.replace("User=barnabas", "User=root").replace("Group=barnabas", "Group=root"))
    check = subprocess.run([analyze, "verify", path], capture_output=True, check=False, text=True)
    assert (check.returncode, check.stderr) == (0, "")
    path.write_text(text)
    command = [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(path)]
    check = subprocess.run(command, capture_output=True, check=False, text=True)
    assert check.returncode == 0, check.stdout


def test_unit_settings_and_user_agree(unit) -> None:
    service = unit["Service"]
    settings = settings_of((SYSTEMD / "server.properties").read_text())
    assert settings["log.dirs"] in [f"/var/lib/{each}" for each in service["StateDirectory"].split()]
    kind, user, _, *_, home = shlex.split((SYSTEMD / "barnabas.sysusers").read_text())
    assert (kind, user, home) == ("u", service["User"], "/var/lib/barnabas")
    assert int(service["TimeoutStopSec"]) > 3 * 30 + 2 * 5, "three requests to the controller, and two waits"


def test_the_broker_works_within_what_the_unit_allows(unit, analyze: str, tmp_path: Path) -> None:
    service = unit["Service"]
    calls = json.dumps([calls_of(service["SystemCallFilter"], analyze), families_of(service)])
    _, *words = shlex.split(service["ExecStart"])
    port, http_port = free_port(), free_port()
    names = {"9092": port, "9644": http_port, "/var/lib/barnabas": tmp_path, "/etc/barnabas": tmp_path}
    (tmp_path / "server.properties").write_text(replaced((SYSTEMD / "server.properties").read_text(), names))
    program = [*BARNABAS, *(replaced(word, names) for word in words)]
    with started([sys.executable, "-c", SANDBOX, calls, *program], tmp_path / "log") as broker:
        broker.wait_until_ready(http_port)
        produce_and_consume(f"127.0.0.1:{port}")
        status = Path(f"/proc/{broker.process.pid}/status").read_text()
        assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE), "the filter is in force"
        broker.stop()
    assert not re.search(r"ERROR|Traceback|not permitted", broker.log), broker.log
    assert (tmp_path / "broker/.kafka_cleanshutdown").exists()


def calls_of(group: str, analyze: str) -> list[str]:
    """The system calls of a group, as this systemd knows it."""
    listed = subprocess.run([analyze, "syscall-filter"], capture_output=True, check=True, text=True).stdout
    groups: dict[str, list[str]] = {}
    for line in listed.splitlines():
        if line.startswith("@"):
            groups[line] = []
        elif line.startswith("    ") and not line.lstrip().startswith("#"):
            groups[list(groups)[-1]].append(line.strip())

    def expanded(name: str) -> Iterator[str]:
        for each in groups[name]:
            yield from expanded(each) if each.startswith("@") else [each]

    return sorted(set(expanded(group)))


def families_of(service: Mapping[str, str]) -> list[int]:
    numbers = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
    return [numbers[each] for each in service["RestrictAddressFamilies"].split()]


# --- Docker


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def the(name: str) -> str:
    (found,) = (rest for each, rest in instructions() if each == name)
    return found


def stages() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    every = instructions()
    second = max(at for at, (name, _) in enumerate(every) if name == "FROM")
    return every[:second], every[second:]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that stands for / in the image, built by the Dockerfile.

    Its libraries would come from a package index: those of this environment, of the same versions, are used instead.
    """
    root = tmp_path_factory.mktemp("image")
    build, _ = stages()
    work = root / "build"
    work.mkdir()
    programs = root / "programs"
    programs.mkdir()
    for name, words in {"python": "", "pip": "-m pip"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(root),
        "PIP_NO_INDEX": "1",
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        **dict([the("ARG").split("=")]),
    }
    for name, rest in build:
        if name == "COPY":
            *sources, target = rest.split()
            for each in sources:
                copy(ROOT / each, work / target / ("" if each == target else Path(each).name))
        elif name == "RUN" and "--require-hashes" not in rest:
            command = rest.replace("/opt/barnabas", str(root / "opt/barnabas"))
            made = subprocess.run(
                ["sh", "-c", command], cwd=work, env=environment, capture_output=True, text=True, check=False
            )
            assert made.returncode == 0, f"{rest}\n{made.stdout}{made.stderr}"
    return root


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info"))
    else:
        shutil.copy(source, target)


def test_the_build_sees_all_that_it_copies() -> None:
    admitted = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}
    copied = {
        each
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for each in rest.split()[:-1]
    }
    assert copied == admitted


def test_the_image_runs_as_a_user_who_owns_the_volume() -> None:
    _, last = stages()
    (prepare,) = (rest for name, rest in last if name == "RUN")
    user, volume = the("USER"), the("VOLUME")
    assert user != "root"
    assert re.search(rf"useradd .* {user} ", prepare)
    assert f"install -d -o {user} -g {user} -m 750 {volume}" in prepare
    settings = settings_of((DOCKER / "server.properties").read_text())
    assert settings["log.dirs"].startswith(f"{volume}/")
    ports = {each.rpartition(":")[2] for each in settings["listeners"].split(",")}
    assert ports == set(the("EXPOSE").split())


def test_the_image_starts_a_broker_that_answers_its_health_check(image: Path, tmp_path: Path) -> None:
    port, port_for_containers, http_port = free_port(), free_port(), free_port()
    names = {
        "9092": port,
        "19092": port_for_containers,
        "9644": http_port,
        "0.0.0.0": "127.0.0.1",
        "/var/lib/barnabas": tmp_path,
        "/etc/barnabas": tmp_path,
    }
    (tmp_path / "server.properties").write_text(replaced((DOCKER / "server.properties").read_text(), names))
    path = replaced(
        the("ENV").partition("=")[2], {"/opt/barnabas": image / "opt/barnabas", "$PATH": os.environ["PATH"]}
    )
    environment = {"PATH": path, "PYTHONPATH": sysconfig.get_path("purelib")}
    command = [*json.loads(the("ENTRYPOINT")), *json.loads(replaced(the("CMD"), names))]
    command[0] = str(shutil.which(command[0], path=path))
    assert command[0].startswith(str(image))
    probe = json.loads(replaced(the("HEALTHCHECK").partition(" CMD ")[2], names))

    def health() -> int:
        return subprocess.run(probe, env=environment, capture_output=True, check=False).returncode

    version = subprocess.run([command[0], "--version"], env=environment, capture_output=True, check=True, text=True)
    assert version.stdout.endswith("(pure Python)\n")
    assert health() == 1
    with started(command, tmp_path / "log", environment) as broker:
        broker.wait_until_ready(http_port)
        assert health() == 0
        assert advertised(f"127.0.0.1:{port}") == [f"localhost:{port}"]
        assert advertised(f"127.0.0.1:{port_for_containers}") == [f"barnabas:{port_for_containers}"]
        # Here nobody knows the name `barnabas`: nor does the broker need it for itself.
        produce_and_consume(f"localhost:{port}")
        assert the("STOPSIGNAL") == "SIGTERM"
        broker.stop()
    assert (tmp_path / "broker/.kafka_cleanshutdown").exists()


def test_compose_publishes_the_port_that_the_broker_advertises() -> None:
    composed = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    ((name, service),) = composed["services"].items()
    check_build(service)
    advertises = settings_of((DOCKER / "server.properties").read_text())["advertised.listeners"]
    host, containers = (each.partition("://")[2] for each in advertises.split(","))
    assert service["ports"] == [f"127.0.0.1:{host.partition(':')[2]}:9092"]
    assert containers == f"{name}:19092"
    (volume,) = composed["volumes"]
    assert service["volumes"] == [f"{volume}:{the('VOLUME')}"]


def check_build(service) -> None:
    context = (DOCKER / service["build"]["context"]).resolve()
    assert context == ROOT
    assert context / service["build"]["dockerfile"] == DOCKER / "Dockerfile"


@pytest.mark.whole
def test_compose_starts_a_cluster_of_three(tmp_path: Path) -> None:
    composed = yaml.safe_load((DOCKER / "compose.cluster.yaml").read_text())
    services = composed["services"]
    registry = services.pop("registry")
    check_build(registry)
    registry_port, registry_http_port = free_port(), free_port()
    everywhere = {"2181": registry_port, "0.0.0.0": "127.0.0.1", "registry:2181": f"127.0.0.1:{registry_port}"}
    with ExitStack() as stack:

        def start(name: str, service, names: Mapping[str, object]) -> Started:
            home = tmp_path / name
            home.mkdir()
            names = {**everywhere, **names, "/var/lib/barnabas": home, "/etc/barnabas": home}
            for each in service["volumes"]:
                source, target = each.split(":")[:2]
                if source.startswith("."):
                    text = replaced((DOCKER / source).read_text(), names)
                    (home / Path(target).name).write_text(text)
            words = [replaced(word, names) for word in service["command"]]
            return stack.enter_context(started([*BARNABAS, *words], home / "log"))

        start("registry", registry, {"9644": registry_http_port}).wait_until_ready(registry_http_port)
        ports, members = [], []
        for name, service in services.items():
            (published,) = service["ports"]
            _, on_host, inside = published.split(":")
            port, port_for_containers, http_port = free_port(), free_port(), free_port()
            # The broker listens on 9092, and the host reaches that as on_host.
            names = {inside: port, on_host: port, "19092": port_for_containers, "9644": http_port}
            member = start(name, service, {**names, f"{name}:19092": f"127.0.0.1:{port_for_containers}"})
            ports.append(port)
            members.append((member, http_port))
        for member, http_port in members:
            member.wait_until_ready(http_port)
        assert advertised(f"127.0.0.1:{ports[0]}") == sorted(f"localhost:{port}" for port in ports)
        produce_and_consume(f"localhost:{ports[1]}")
        described = run("topics", "--bootstrap-server", f"localhost:{ports[2]}", "--describe", "--topic", "views")
        assert described.returncode == 0
        assert re.search(r"\d,\d,\d", described.stdout), "three replicas"
        for member, _ in members:
            member.process.send_signal(signal.SIGTERM)
        for member, _ in members:
            assert member.process.wait(PATIENCE_S) == 0, member.log


def test_the_readme_names_every_file() -> None:
    readme = (ROOT / "packaging/README.md").read_text()
    files = {str(path.relative_to(ROOT / "packaging")) for path in (ROOT / "packaging").rglob("*") if path.is_file()}
    assert {each for each in files - {"README.md"} if f"({each})" not in readme} == set()
