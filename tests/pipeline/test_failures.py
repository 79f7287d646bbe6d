"""What comes out of Java is told in a line: the cause of causes, and what to do."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.spark.jvm_errors import reason_of
from tests.compat.conftest import RunningBroker
from tests.patience import PATIENCE_S
from tests.pipeline.test_cli import Terminal
from tests.pipeline.test_stops import command_of, descendants, started
from tests.spark import SHORT_LIVED_WORDS, shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def terminal(tmp_path: Path, cluster: RunningBroker) -> Terminal:
    return Terminal(tmp_path, cluster)


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        (
            lambda spark: spark.sparkContext.parallelize([1], 1).map([].index).collect(),
            "PythonException: ValueError: 1 is not in list",
        ),
        (lambda spark: spark.range(1).selectExpr("nosuch"), "name `nosuch` cannot be resolved"),
        (
            lambda spark: spark.read.parquet("hdfs://nosuch.invalid:9/x"),
            "UnknownHostException: nosuch.invalid; is the name right, and does this machine's resolver know it?",
        ),
        (lambda spark: spark.read.parquet("hdfs://127.0.0.1:1/x"), "failed on connection exception: "),
        (lambda spark: spark.sparkContext._jvm.java.lang.String(1, 2, 3, 4, 5), "py4j.Py4JException: Constructor"),
    ],
)
def test_an_error_of_java_is_one_line_with_the_cause_of_causes(do: Callable[["SparkSession"], object], reason: str):
    with pytest.raises(Exception) as caught:
        do(shared_session())
    said = reason_of(caught.value)
    assert reason in said
    assert len(said.splitlines()) == 1


def test_a_package_that_can_not_be_fetched_is_told_in_ivys_words(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BARNABAS_MAVEN_REPOSITORY", "http://127.0.0.1:1/maven2")
    ivy = terminal.directory / "ivy"
    # A run into Delta tables needs no package of its own.
    wanted = ("--conf", "spark.jars.packages=org.example:absent:1.0", "--conf", f"spark.jars.ivy={ivy}")
    said = terminal.give("run", "load", "--topics", "a", *terminal.at, *wanted, code=1)
    url = "http://127.0.0.1:1/maven2/org/example/absent/1.0/"
    assert said.startswith(
        "barnabas pipeline: Spark's JVM ended with exit code 1: the package org.example:absent:1.0 could not be fetched"
    )
    assert f"could not be fetched: Server access error at url {url}" in said
    assert "(java.net.ConnectException: Connection refused); let BARNABAS_MAVEN_REPOSITORY name a repository" in said
    assert f"or copy {ivy} from a machine" in said
    assert len(said.splitlines()) == 1


@pytest.mark.whole
def test_what_java_says_is_one_line_behind_its_trace_where_that_is_wanted(terminal: Terminal):
    plugin = ("--conf", "spark.plugins=com.example.Absent", *SHORT_LIVED_WORDS)
    with terminal.start("run", "load", "--topics", "a", *terminal.at, "--verbose", *plugin) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    *trace, line = said.splitlines()
    assert line.startswith(
        "barnabas pipeline: Spark: ClassNotFoundException: com.example.Absent; name the package that "
    )
    assert any("\tat org.apache.spark.SparkContext" in each for each in trace)


def test_a_jvm_that_was_killed_is_told(tmp_path: Path, cluster: RunningBroker):
    with started(tmp_path, cluster, "page-views") as run:
        run.wait_for("Spark is up")
        (jvm,) = (pid for pid in descendants(run.process.pid) if "java" in command_of(pid))
        os.kill(jvm, signal.SIGKILL)
        assert run.code() == 1
    assert "barnabas pipeline: Spark's JVM was killed, as the kernel does where memory is short" in run.said
    assert "Traceback" not in run.said
