"""A small Spark session on this machine, and the lock that keeps a second one off the same checkpoint.

Invariant: as long as any process of a run lives, its JVM included, the lock of its checkpoint is held. The lock is on a
file that the JVM has open too: when the Python side is killed, its JVM lives on for a moment, and could still write.

Source: `pyspark.java_gateway.launch_gateway` (its `popen_kwargs` reach the JVM's process).
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from barnabas.pipeline.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The one place that names the version beside pyproject.toml's pin of pyspark: later ones of 4.0 lack the token
# provider on Maven Central, and so can't be resolved.
KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"

_JVM_EXIT_TIMEOUT_S = 30

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"

# Spark's own settings look into ~/.m2 first, and fail where Maven has left a module's description there without its
# jar; and they ask a second repository, which many networks do not reach, for each module.
_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root={root}/></resolvers>
</ivysettings>
"""

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    # Host names of fresh machines often do not resolve.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}


class CheckpointInUseError(Exception):
    """Another run uses the checkpoint, and did not end in time."""


@contextmanager
def checkpoint_lock(path: Path, timeout_s: float, wait_note: Callable[[], None]) -> Iterator[int]:
    """Hold the lock of a checkpoint; gives its descriptor, to be passed on to the JVM.

    Args:
        path: The lock's file; is created where it is not there, and stays.
        timeout_s: How long to wait for an earlier run to end.
        wait_note: Called once when there is something to wait for.

    Raises:
        CheckpointInUseError: the lock was not free in time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + timeout_s
        has_noted = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CheckpointInUseError(f"another run holds {path}; stop it, or wait for its end") from None
                if not has_noted:
                    wait_note()
                    has_noted = True
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def spark_session(
    name: str, *, scratch: Path, packages: str = "", settings: Mapping[str, str] | None = None, lock: int | None = None
) -> Iterator[SparkSession]:
    """Start Spark in this process and a JVM, and stop both at the end; once in a process.

    Args:
        name: The application's name.
        scratch: A directory for what Spark needs only while it runs; is created.
        packages: Maven coordinates, comma between; they are downloaded once, from Maven Central or what
            BARNABAS_MAVEN_REPOSITORY names, and then kept in Ivy's cache.
        settings: Spark settings over the ones of this module.
        lock: A descriptor that the JVM holds open as long as it lives.

    Raises:
        JavaNotFoundError: there is no Java.
    """
    scratch = scratch.absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Of another Spark on this machine: its scripts and jars would be mixed with ours.
    os.environ.pop("SPARK_HOME", None)

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAppName(name)
    conf.setAll(list(_SETTINGS.items()))
    conf.set("spark.local.dir", str(scratch))
    conf.set("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    conf.set("spark.driver.extraJavaOptions", f'"-Djava.io.tmpdir={scratch}"')
    if packages:
        conf.set("spark.jars.packages", packages)
        conf.set("spark.jars.ivySettings", str(_write_ivy_settings(scratch)))
    conf.setAll(list((settings or {}).items()))
    # Spark makes a directory `artifacts` where its JVM is started.
    popen_options = {"pass_fds": () if lock is None else (lock,), "cwd": scratch}
    gateway = launch_gateway(conf, popen_options)  # type: ignore[no-untyped-call]  # pyspark does not type it
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        session = SparkSession(context)
        try:
            yield session
        finally:
            session.stop()
    finally:
        gateway.shutdown()
        jvm: subprocess.Popen[bytes] = gateway.proc
        # The end of its standard input ends the JVM.
        assert jvm.stdin is not None
        jvm.stdin.close()
        try:
            jvm.wait(_JVM_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def _write_ivy_settings(scratch: Path) -> Path:
    repository = os.environ.get("BARNABAS_MAVEN_REPOSITORY", _MAVEN_CENTRAL)
    settings = scratch / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS.format(root=quoteattr(repository.rstrip("/") + "/")))
    return settings
