"""A small local Spark session, and the lock that prevents a second session on the same checkpoint.

Invariant: a run's checkpoint is locked while any process of the run exists, including its JVM. The JVM has the lock
file open as well, because it outlives a killed Python process for a moment, and could still write.

Source: `pyspark.java_gateway.launch_gateway` of pyspark 4.0.0; `org.apache.spark.api.python.PythonGatewayServer`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from xml.sax.saxutils import quoteattr

from barnabas.core.parent import die_with_parent
from barnabas.pipeline.spark.class_archive import ClassArchive
from barnabas.pipeline.spark.java import find_java_home
from barnabas.pipeline.spark.jvm_errors import SparkFailedError, end_of_jvm, is_of_java, reason_of

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it has no types
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

_JVM_EXIT_TIMEOUT_S = 10
_ARCHIVE_TIMEOUT_S = 180

# Port and length of the secret; the secret follows.
_ADDRESS = Struct(">ii")

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"

# Spark's default settings search ~/.m2 first, and fail if Maven has left a module's POM there without its jar. They
# also ask a second repository for each module, which many networks can't reach. Coordinates can't select the shaded jar
# of Google's Hadoop connector; the dependencies of its plain jar conflict with Spark's.
_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers>
    <ibiblio name="maven" m2compatible="true" root={root}/>
    <ibiblio name="shaded" m2compatible="true" root={root}
      pattern="[organisation]/[module]/[revision]/[module]-[revision]-shaded.[ext]"/>
  </resolvers>
  <modules><module organisation="com.google.cloud.bigdataoss" name="gcs-connector" resolver="shaded"/></modules>
</ivysettings>
"""

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    # The JVM's optimizing compiler used half of the CPU of a job's first minutes, mostly for Spark's planning, which
    # runs only a few hundred times. So its thresholds are ten times the defaults. The parallel collector has no threads
    # that run concurrently with the two cores' tasks. The heap grows only if collection takes over 5 % of the time.
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC -XX:GCTimeRatio=19 -XX:Tier4InvocationThreshold=50000 "
    "-XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000",
    # Host names of fresh machines often do not resolve.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # The JVM does not compile longer methods, and Spark's single method for a whole stage is longer if rows are wide.
    # Beyond this length Spark generates code for each operator, in parts that the JVM compiles.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Cache of generated classes: six jobs have more stages than Spark's default of 100, and would recompile classes.
    "spark.sql.codegen.cache.maxEntries": "500",
    # Spark writes each plan as text for its UI, which is off. Whole texts take a tenth of a refresh's CPU.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    # Limits of a batch for a Python worker: each record may have a megabyte.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # If enabled, each function call records the calling line: a second of Python for each query of a job.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Columns of Iceberg's files are resolved by field id.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.python.daemon.module": "barnabas.pipeline.spark.worker_daemon",
}


# Settings that are lists: the user's items are added to the required ones.
_LISTS = {
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.jars.excludes": ",",
    "spark.sql.extensions": ",",
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
}


class CheckpointInUseError(Exception):
    """Another run uses the checkpoint and did not end in time."""


@contextmanager
def checkpoint_lock(path: Path, timeout_s: float, wait_note: Callable[[], None]) -> Iterator[int]:
    """Lock a checkpoint for the block; yield the lock's descriptor, which the JVM must inherit.

    Args:
        path: The lock file, which is created if it is missing, and never deleted.
        timeout_s: How long to wait for an earlier run to end.
        wait_note: Called once if another run has the lock.

    Raises:
        CheckpointInUseError: the lock was not released in time.
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
                    raise CheckpointInUseError(f"another run has locked {path}; stop it, or wait for its end") from None
                if not has_noted:
                    wait_note()
                    has_noted = True
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)


def combined(settings: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return Spark settings, overridden by others; settings that are lists contain the items of both."""
    result = {**settings, **more}
    for name, separator in _LISTS.items():
        if settings.get(name) and more.get(name):
            parts = settings[name].split(separator) + more[name].split(separator)
            result[name] = separator.join(dict.fromkeys(parts))
    return result


@contextmanager
def spark_session(
    name: str,
    *,
    scratch: Path,
    packages: str = "",
    settings: Mapping[str, str] | None = None,
    locks: Sequence[int] = (),
    log: Path | None = None,
    on_archive: Callable[[str], None] | None = None,
) -> Iterator[SparkSession]:
    """Start Spark in this process and a JVM, and stop both at the end of the block; only once per process.

    Args:
        name: The application's name.
        scratch: Directory for Spark's temporary files, which is created.
        packages: Maven coordinates, separated by commas. They are downloaded once, from Maven Central or
            BARNABAS_MAVEN_REPOSITORY, into Ivy's cache.
        settings: Spark settings that override this module's; items of lists are added.
        locks: Descriptors that the JVM keeps open until its exit.
        log: File to which the JVM's output is appended; None: the output streams of this process.
        on_archive: Called with a message before the JVM writes a missing class archive at its exit; None: the JVM does
            not write it.

    Raises:
        JavaNotFoundError: no suitable Java was found.
        SparkFailedError: the JVM did not start or ended, or an error from Java left the block.
    """
    scratch = scratch.absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    java_home = find_java_home()
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # The scripts and jars of another Spark installation would be mixed with pyspark's.
    os.environ.pop("SPARK_HOME", None)

    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    classes = ClassArchive.of(java_home, is_written=on_archive is not None)
    own = {
        **_SETTINGS,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={scratch}" {classes.java_options()}',
        "spark.jars.packages": packages,
        # Spark parses it as a URI, and a path may contain a space.
        "spark.jars.ivySettings": _write_ivy_settings(scratch).as_uri(),
    }
    conf = SparkConf().setAppName(name).setAll(list(combined(own, settings or {}).items()))
    # Several runs may have the same scratch directory.
    address = scratch / f"jvm-address-{uuid4()}"
    jvm = _start_jvm(conf, address, locks, log)
    # If the run fails or is interrupted, a JVM that would write its class archive is killed at once.
    exit_timeout_s = 0 if classes.is_missing else _JVM_EXIT_TIMEOUT_S
    try:
        on_interrupt = signal.getsignal(signal.SIGINT)
        context = SparkContext(conf=conf, gateway=_connect(jvm, address, log))
        if threading.current_thread() is threading.main_thread():
            # The handler that SparkContext has just set would cancel running jobs.
            signal.signal(signal.SIGINT, on_interrupt)
        _remove_jars_from_python_path(context)
        session = SparkSession(context)
        try:
            yield session
        finally:
            session.stop()
        if classes.is_missing and on_archive is not None:
            on_archive("Writing Spark's classes to a file, once: from now on it starts in half the time")
            classes.begin()
            exit_timeout_s = _ARCHIVE_TIMEOUT_S
    except Exception as error:
        failure = _failure_of(error, jvm, log)
        if failure is None:
            raise
        raise failure from None
    finally:
        _stop_jvm(jvm, address, exit_timeout_s)
        classes.keep(is_whole=jvm.returncode == 0)


def _remove_jars_from_python_path(context: SparkContext) -> None:
    """Remove the packages' jars from the import path of Python and its workers.

    Spark adds them in case they contain Python modules. Before each task a worker reads the directory of each jar,
    which takes 0.1 s of CPU for the clients of an object store.
    """
    includes = context._python_includes or []
    includes[:] = [each for each in includes if not each.endswith(".jar")]
    sys.path[:] = [each for each in sys.path if not each.endswith(".jar")]


def _start_jvm(conf: SparkConf, address: Path, locks: Sequence[int], log: Path | None) -> subprocess.Popen[bytes]:
    """Start Spark's JVM, which writes its port and secret to the file `address` once it listens.

    pyspark's own start is not used: an interrupt makes it lose the JVM, which then waits forever.
    """
    import pyspark

    # Resolved, because the class archive depends on the path, and a link may lead to the environment.
    command = [str(Path(pyspark.__file__).resolve().parent / "bin" / "spark-submit")]
    for name, value in conf.getAll():
        command += ["--conf", f"{name}={value}"]
    parent_pid = os.getpid()

    def prepare() -> None:
        # The Python process handles these signals, and ends the batch first. The JVM has its own session, so signals to
        # a terminal or process group do not reach it. Signals to each process of a control group do.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if sys.platform == "linux":
            die_with_parent(parent_pid)

    with ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("ab"))
        return subprocess.Popen(
            [*command, "pyspark-shell"],
            # Once it listens, the JVM exits at the end of its input.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
            pass_fds=tuple(locks),
            # Spark creates a directory `artifacts` in its working directory.
            cwd=address.parent,
            start_new_session=True,
            preexec_fn=prepare,
        )


def _connect(jvm: subprocess.Popen[bytes], address: Path, log: Path | None) -> JavaGateway:
    """Wait until the JVM listens, and connect to it."""
    from pyspark.java_gateway import launch_gateway

    while not address.is_file():
        if jvm.poll() is not None:
            raise end_of_jvm(jvm.returncode, log)
        time.sleep(0.05)
    data = address.read_bytes()
    port, secret_length = _ADDRESS.unpack_from(data)
    # With these variables, pyspark connects to a running JVM.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = data[_ADDRESS.size : _ADDRESS.size + secret_length].decode()
    _remember_names()
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]  # pyspark does not type it
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


@cache
def _remember_names() -> None:
    """Make py4j cache which of Java's names are packages and which are classes, for the lifetime of a JVM.

    Without the cache py4j asks the JVM each time, which searches some hundred jars for a class `org.apache`. That took
    5 % of the CPU of six jobs.
    """
    from py4j.java_gateway import JavaPackage, JVMView

    def remembering(ask: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def known(parent: Any, name: str) -> Any:
            found = ask(parent, name)
            # Python finds the attribute from now on, without a call of `__getattr__`.
            vars(parent)[name] = found
            return found

        return known

    for parent_type in (JVMView, JavaPackage):
        parent_type.__getattr__ = remembering(parent_type.__getattr__)


def _failure_of(error: Exception, jvm: subprocess.Popen[bytes], log: Path | None) -> SparkFailedError | None:
    """Return a one-line error if Java failed or the JVM has ended, else None; write Java's trace to the log."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    if isinstance(error, SparkFailedError):
        return error
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        # The JVM has ended, or is about to end.
        with suppress(subprocess.TimeoutExpired):
            jvm.wait(_JVM_EXIT_TIMEOUT_S)
    failure = None
    if jvm.poll() is not None:
        failure = end_of_jvm(jvm.returncode, log)
    elif isinstance(error, (Py4JError, PySparkException)):
        failure = SparkFailedError(f"Spark: {reason_of(error)}{'' if log is None else ' (--verbose shows the trace)'}")
    if is_of_java(error):
        # Printed before the JVM stops, because its part of the trace comes from the JVM.
        with ExitStack() as stack:
            traceback.print_exception(
                error, file=None if log is None else stack.enter_context(log.open("a", encoding="utf-8"))
            )
    return failure


def _stop_jvm(jvm: subprocess.Popen[bytes], address: Path, timeout_s: float) -> None:
    assert jvm.stdin is not None
    jvm.stdin.close()
    # Before it listens, the JVM has no work to finish, and ignores the end of its input.
    try:
        jvm.wait(timeout_s if address.is_file() else 0)
    except subprocess.TimeoutExpired:
        # The process group, because the process may still be one of Spark's scripts.
        os.killpg(jvm.pid, signal.SIGKILL)
        jvm.wait()
    address.unlink(missing_ok=True)


def _write_ivy_settings(scratch: Path) -> Path:
    repository = os.environ.get("BARNABAS_MAVEN_REPOSITORY", _MAVEN_CENTRAL)
    settings = scratch / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS.format(root=quoteattr(repository.rstrip("/") + "/")), encoding="utf-8")
    return settings
