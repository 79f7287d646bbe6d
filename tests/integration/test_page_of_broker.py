"""`barnabas broker --page`: the page starts with the broker, comes again when it dies, and ends with it."""

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.integration.page_process import Window
from tests.patience import PATIENCE_S

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
WITH_LOGINS = (
    "listeners=SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol=SASL_PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN",
    "sasl.mechanism.inter.broker.protocol=PLAIN",
    f'listener.name.sasl_plaintext.plain.sasl.jaas.config={MODULE} username="admin" password="secret0" '
    'user_admin="secret0" user_alice="secret1";',
)


@contextmanager
def broker(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A broker with a page, and what both say."""
    command = [sys.executable, "-P", "-m", "barnabas.cli.main", "broker", "--data-dir", str(directory), *options]
    command += ["--page", "--page-options=--listeners 127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr
        finally:
            process.kill()


def line_with(lines: IO[str], text: str) -> str:
    seen = []
    for line in lines:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError("".join(seen))


def port_of_page(lines: IO[str]) -> int:
    found = re.search(r"the page is at http://127\.0\.0\.1:(\d+)/", line_with(lines, "the page is at"))
    assert found is not None
    return int(found[1])


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")
def test_the_page_comes_again_when_it_dies_and_ends_with_the_broker(tmp_path: Path) -> None:
    with broker(tmp_path, "--port", "0") as (process, lines):
        window = Window(port_of_page(lines))
        assert window.get("/c/cluster/").status == 200
        (page,) = children(process.pid)
        os.kill(page, signal.SIGKILL)
        assert "the web console ended with -9; restarting it in 1 s" in line_with(lines, "the web console ended")
        again = Window(port_of_page(lines))
        assert again.get("/c/cluster/").status == 200
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        with pytest.raises(OSError):
            http.client.HTTPConnection("127.0.0.1", again.port, timeout=PATIENCE_S).request("GET", "/")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")
def test_the_page_ends_with_a_broker_that_is_killed(tmp_path: Path) -> None:
    with broker(tmp_path, "--port", "0") as (process, lines):
        window = Window(port_of_page(lines))
        process.kill()
        # Its standard error ends when the last process that has it open is gone.
        lines.read()
        with pytest.raises(OSError):
            window.get("/")


def test_users_log_in_where_the_broker_wants_that(tmp_path: Path) -> None:
    options = [each for setting in WITH_LOGINS for each in ("--override", setting)]
    with broker(tmp_path, *options) as (process, lines):
        window = Window(port_of_page(lines))
        assert window.get("/c/cluster/").headers["location"] == "/login?cluster=cluster"
        assert "SCRAM" not in window.get("/login").text
        assert window.log_in("alice", "secret1").status == 303
        assert window.get("/c/cluster/topics").status == 200
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--page-options='"], "--page-options ': No closing quotation"),
        (
            [
                *("--page", "--override", "listeners=SSL://127.0.0.1:0", "--override", "ssl.client.auth=required"),
                *("--override", "security.inter.broker.protocol=SSL"),
            ],
            "--page: there is no listener for it",
        ),
    ],
)
def test_what_can_not_be_a_page_is_told_at_the_start(tmp_path: Path, options: list[str], reason: str) -> None:
    command = [sys.executable, "-P", "-m", "barnabas.cli.main", "broker", "--data-dir", str(tmp_path), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert ended.stderr.count("\n") == 1
