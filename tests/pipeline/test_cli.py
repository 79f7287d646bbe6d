"""`barnabas pipeline` as a person uses it: from a log to a report; what it says to mistakes.

Commands run in the tests' own process and Spark session; `test_stops.py` and `test_failures.py` run them as processes.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from barnabas.pipeline.commands.main import main
from barnabas.pipeline.sources.social import SitePlan, write_access_log
from barnabas.pipeline.spark import session
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Progress
from tests.compat.conftest import RunningBroker, StartBroker
from tests.patience import PATIENCE_S
from tests.spark import shared_session


class Terminal:
    """A directory to give commands in, and a broker to give them of."""

    def __init__(self, directory: Path, broker: RunningBroker) -> None:
        self.directory = directory
        self.broker = broker

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli.main", "pipeline", *words],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def give(self, *words: str, code: int = 0) -> str:
        """Give a command, and what it printed; fails when it ends otherwise."""
        with self.start(*words) as process:
            output, errors = process.communicate(timeout=3 * PATIENCE_S)
        assert process.returncode == code, f"{words}\n{output}\n{errors}"
        assert "Traceback" not in errors
        return output if code == 0 else errors

    @property
    def at(self) -> tuple[str, str]:
        return ("--bootstrap-server", self.broker.bootstrap_servers)


@pytest.fixture
def give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Gives a command in this process, with the tests' Spark session; what it printed."""

    @contextmanager
    def shared(*_: object, **__: Any) -> Iterator[object]:
        yield shared_session()

    def start_http_server(*arguments: Any) -> Any:
        serving.append(start(*arguments))
        return serving[-1]

    serving: list[Any] = []
    start = prometheus_client.start_http_server
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "spark_session", shared)
    # A command leaves its metrics to the end of its process.
    monkeypatch.setattr(prometheus_client, "start_http_server", start_http_server)

    def give(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        # A run lets signals stop it.
        handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            assert main(list(words)) == code
        finally:
            for each, handler in handlers.items():
                signal.signal(each, handler)
        said = capsys.readouterr()
        return said.err if code else said.out

    yield give
    for server, thread in serving:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def terminal(tmp_path: Path, start_broker: StartBroker) -> Terminal:
    return Terminal(tmp_path, start_broker())


def test_from_a_log_to_a_report(terminal: Terminal, give: Callable[..., str]):
    count = write_access_log(SitePlan(duration_s=600), terminal.directory / "access.log")
    assert f"done: line {count:,}, refused 0" in terminal.give("replay", "access.log", *terminal.at)
    # What is there already is not sent again.
    assert f"done: line {count:,}" in give("replay", "access.log", *terminal.at)

    told = give(*("run", "load", "--topics", "/page-.*/", "--once", "--metrics-port", "0", "--json", *terminal.at))
    events = [json.loads(line) for line in told.splitlines()]
    assert [each["run"] for each in events if each["event"] == "batch"] == ["load"]
    (done,) = (each for each in events if each["event"] == "done")
    assert (done["run"], done["record_count"], done["dead_letter_count"], done["lag"]) == ("load", count, 0, 0)
    (url,) = (each["url"] for each in events if each["event"] == "metrics")
    text = urllib.request.urlopen(url).read().decode()
    assert 'barnabas_pipeline_batches_total{run="load"} 1.0' in text
    assert 'barnabas_pipeline_lag_records{partition="0",run="load",topic="page-views"} 0.0' in text
    status = json.loads(give("status", "--json"))
    assert {each["run"]: each["state"] for each in status} == {"load": "stopped"}
    assert "page-views" in give("status", "--partitions")

    # As the job ranking would, which takes long.
    table = open_table(shared_session(), str(terminal.directory / "pipeline-data/tables/ranking/ranking"), "delta")
    rows = shared_session().sql("SELECT '/a' AS item, 1D AS score, 3L AS views, 0L AS clicks, 0L AS votes_for")
    table.replace(rows.selectExpr("*", "0L AS votes_against"), Progress("ranking", 1, "", {}, {}))
    told = give("report", "--output", "report.html", "--title", "Our site")
    page = (terminal.directory / "report.html").read_text()
    assert "<title>Our site" in page
    assert "report.html: " in told

    told = give("rewind", "load", "--topics", "page-views", "--to", "earliest", "--dry-run", *terminal.at)
    assert "table page-views: page-views-0 goes back from offset " in told
    assert "nothing was changed" in told
    elsewhere = ("--table", "page-views=elsewhere")
    told = give("rewind", "load", "--topics", "page-views", *elsewhere, "--to", "earliest", *terminal.at)
    assert f"table page-views: does not exist at {terminal.directory / 'elsewhere'}" in told
    told = give("compact", "load", "--table", "page-views")
    assert re.search(r"page-views: \d files before, 1 after", told)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("mirror", "--source", "a:1", "--target", "b:1", "--topics", "t"),
            "run `barnabas mirror` with the same --source",
        ),
        (("run", "reportin"), "job reportin does not exist: use one of feed, load"),
        (("run", "load"), "job load reads any topics: name them with --topics"),
        (("run", "ranking", "--set", "half_life=3"), "job ranking has no parameter 'half_life'"),
        (("run", "ranking", "--from-time", "tuesday"), "'tuesday' is not a time; write 2026-11-17T14:00"),
        (("run", "ranking", "--enforce"), "--enforce needs a job that gives verdicts"),
        (("limits", "--bootstrap-server", "127.0.0.1:1"), "127.0.0.1:1"),
        (("status", "--checkpoint", "nowhere"), "no run has a status in nowhere"),
        (("rewind", "ranking", "--to", "latest"), "must be a time, offsets, or earliest"),
        (("rewind", "load", "--to", "earliest"), "job load reads any topics: name them with --topics"),
        (
            ("run", "ranking", "--bootstrap-server", "127.0.0.1:1"),
            "no broker can be reached at 127.0.0.1:1 (Connection",
        ),
        (("run", "ranking", "--bootstrap-server", "here"), "write host:port"),
        (("compact", "ranking", "--target-mb", "0"), "--target-mb 0: must be at least 1"),
        (("replay", "nowhere.log"), "nowhere.log: No such file or directory"),
        (("replay", "nowhere.log", "--topic", "x"), "--topic x: must have the form NAME=VALUE"),
    ],
)
def test_mistakes_are_told_in_a_line_before_spark_is_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "spark_session", None)
    assert main(list(words)) in (1, 2)
    errors = capsys.readouterr().err
    assert errors.startswith("barnabas pipeline: "), errors
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_a_run_gives_up_on_what_takes_connections_and_never_answers(give: Callable[..., str]):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        words = ["run", "ranking", "--once", "--bootstrap-server", address, "--give-up", "0", "--ignore-quotas"]
        options = ["--kafka-option", "default.api.timeout.ms=1000", "--kafka-option", "request.timeout.ms=500"]
        assert give(*words, *options, code=1).startswith(f"barnabas pipeline: {address}: Failed to get metadata: ")


def test_a_run_of_what_is_there_now_says_at_once_that_its_topics_are_not(terminal: Terminal, give: Callable[..., str]):
    write_access_log(SitePlan(duration_s=60), terminal.directory / "access.log")
    give("replay", "access.log", *terminal.at)
    reason = "load: none of its topics is there: page-view (there is page-views, page-views.dlq)"
    said = give("run", "load", "--topics", "page-view", "--once", *terminal.at, code=2)
    assert said == f"barnabas pipeline: {reason}\n"
