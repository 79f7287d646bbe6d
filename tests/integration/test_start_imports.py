"""What a plain broker loads until clients can connect, and what a command loads until it has connected.

Imports are most of such a start, and nobody sees them creep in.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

# Our own modules and all, Python's included, with some room for other versions of Python (3.11 has 458 and 629).
# Each API that is served is two of them: its handler and its messages.
MOST_OWN, MOST = 460, 631

# What costs milliseconds, or is of no use to a broker that starts.
UNWANTED = {
    *("bz2", "concurrent.futures.process", "ctypes", "decimal", "difflib", "email", "encodings.idna", "http", "lzma"),
    *("hashlib", "importlib.metadata", "logging.config", "multiprocessing", "platform", "shutil", "tempfile"),
    *("unittest", "urllib.request", "uuid", "xml", "zipfile"),
    *("confluent_kafka", "cramjam", "kazoo", "lz4", "pyspark", "pytest", "rich"),
    *("barnabas.cli", "barnabas.clients", "barnabas.inspection", "barnabas.migration", "barnabas.pipeline"),
    *("barnabas.charts", "barnabas.page", "jinja2", "starlette", "uvicorn"),
    *("barnabas.clients.zookeeper.registry", "barnabas.testing"),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that a broker had imported when it was ready, as Python itself notes them."""
    directory = tmp_path_factory.mktemp("broker")
    ready_fd, child_fd = os.pipe()
    command = [sys.executable, "-X", "importtime", "-P", "-m", "barnabas.broker.server.main", "--port", "0"]
    command += ["--data-dir", str(directory / "data"), "--ready-fd", str(child_fd), "--log-level", "error"]
    with (directory / "imports.txt").open("wb") as notes:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=notes, pass_fds=(child_fd,))
    os.close(child_fd)
    try:
        with os.fdopen(ready_fd) as ready:
            assert "port" in json.loads(ready.readline())
    finally:
        process.kill()
        process.wait()
    return imported(directory / "imports.txt")


def imported(notes: Path) -> set[str]:
    """The names in what `-X importtime` writes."""
    return set(re.findall(r"^import time: +\d+ \| +\d+ \| *(\S+)$", notes.read_text(), re.MULTILINE))


def test_a_start_loads_nothing_that_it_does_not_need(loaded: set[str]) -> None:
    assert sorted(name for name in loaded if name in UNWANTED) == []


def test_a_start_loads_no_more_modules_than_it_did(loaded: set[str]) -> None:
    assert "barnabas.broker.server.node" in loaded
    assert len([name for name in loaded if name.startswith("barnabas")]) <= MOST_OWN
    assert len(loaded) <= MOST


# What a command that lists or describes something has no use for.
UNWANTED_BY_COMMANDS = {
    *("confluent_kafka", "cramjam", "kazoo", "lz4", "rich"),
    *(f"barnabas.cli.{name}" for name in ("adopt", "completion", "consume", "log", "perf", "produce", "release")),
    *("barnabas.clients.consumer", "barnabas.clients.group", "barnabas.clients.producer"),
    *(
        "barnabas.broker.groups",
        "barnabas.broker.log",
        "barnabas.broker.server",
        "barnabas.inspection",
        "barnabas.migration",
    ),
}
MOST_OF_A_COMMAND = 225


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "--list"],
        ["topics", "--describe", "--topic", "t"],
        ["groups", "--list"],
        ["groups", "--describe", "--group", "g", "--json"],
        ["groups", "translate", "--group", "g", "--target-bootstrap-server", "127.0.0.1:1"],
        ["configs", "--alter", "--topic", "t", "--add-config", "a=b"],
        ["transactions", "hanging"],
        ["log-dirs", "--describe"],
        ["reassign", "--list"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_command_loads_nothing_that_it_does_not_need(tmp_path: Path, arguments: list[str]) -> None:
    """It then starts in less than 100 ms of a core's time, of which Python's own modules are the half."""
    command = [sys.executable, "-X", "importtime", "-P", "-m", "barnabas.cli.main", *arguments]
    with (tmp_path / "imports.txt").open("wb") as notes:
        ended = subprocess.run([*command, "--bootstrap-server", "127.0.0.1:1"], stderr=notes, timeout=PATIENCE_S)
    assert ended.returncode == 1
    loaded = imported(tmp_path / "imports.txt")
    assert "barnabas.clients.channel" in loaded
    assert sorted(name for name in loaded if name in UNWANTED_BY_COMMANDS) == []
    assert len(loaded) <= MOST_OF_A_COMMAND


@pytest.mark.parametrize("arguments", [[], ["--help"], ["topics", "--help"], ["transactions", "abort", "-h"]])
def test_help_loads_nothing_for_terminals(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-P", "-m", "barnabas.cli.main", *arguments]
    with (tmp_path / "imports.txt").open("wb") as notes:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=notes, timeout=PATIENCE_S)
    assert ended.stdout.startswith(b"Usage: barnabas ")
    assert sorted(imported(tmp_path / "imports.txt") & {"rich"}) == []
