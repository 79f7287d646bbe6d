"""A small Spark session on this machine, and the lock that keeps a second one off the same checkpoint.

Invariant: as long as any process of a run lives, its JVM included, the lock of its checkpoint is held. The lock is on a
file that the JVM has open too: when the Python side is killed, its JVM lives on for a moment, and could still write.

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

# Port, length of the secret; then the secret.
_ADDRESS = Struct(">ii")
_ADDRESS_FILE = "jvm-address"

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"

# Spark's own settings look into ~/.m2 first, and fail where Maven has left a module's description there without its
# jar; and they ask a second repository, which many networks do not reach, for each module. Coordinates can't say that
# a jar is wanted which holds all that it needs, as Google's for Hadoop is: others of these would not fit Spark's.
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
    # The JVM's optimizing compiler took half of all CPU of a job's first minutes, most of it for Spark's planning,
    # which runs a few hundred times: so it waits until code is ten times as hot. Of the collectors the one without
    # threads that work beside the two cores' own; the heap grows only where that takes more than a twentieth of the
    # time.
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
    # The JVM compiles no method that is longer, and Spark's one method for a whole stage is, where rows are wide.
    # Beyond this length Spark makes code for each operator, in parts that are compiled.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Of generated classes: six jobs have more stages than Spark's hundred, and would compile the same ones again.
    "spark.sql.codegen.cache.maxEntries": "500",
    # Spark writes each plan as text for its UI, which is off. Whole texts take a tenth of a refresh's CPU.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    # What goes to a Python worker at once: records may be a megabyte each.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # Each function that is called would note the line that calls it: a second of Python for each query of a job.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Columns of Iceberg's files are known by their field ids.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.python.daemon.module": "barnabas.pipeline.spark.worker_daemon",
}


# Settings that are lists: who names one more does not mean to lose those that are needed.
_LISTS = {
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.jars.excludes": ",",
    "spark.sql.extensions": ",",
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
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
                    raise CheckpointInUseError(f"another run has locked {path}; stop it, or wait for its end") from None
                if not has_noted:
                    wait_note()
                    has_noted = True
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)


def combined(settings: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return Spark settings with others over them; those that are lists have what stands in both."""
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
    """Start Spark in this process and a JVM, and stop both at the end; once in a process.

    Args:
        name: The application's name.
        scratch: A directory for what Spark needs only while it runs; is created.
        packages: Maven coordinates, comma between; they are downloaded once, from Maven Central or what
            BARNABAS_MAVEN_REPOSITORY names, and then kept in Ivy's cache.
        settings: Spark settings over the ones of this module; to those that are lists they add.
        locks: Descriptors that the JVM holds open as long as it lives.
        log: A file that what the JVM says is added to; None: standard error.
        on_archive: Told when the JVM begins to write its classes at the end, where the archive is missing; None: it
            does not write them.

    Raises:
        JavaNotFoundError: there is no Java.
        SparkFailedError: the JVM did not start or ended, or what Java says went through here.
    """
    scratch = scratch.absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    java_home = find_java_home()
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Of another Spark on this machine: its scripts and jars would be mixed with ours.
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
        # Spark reads it as a URI: a path may have a space.
        "spark.jars.ivySettings": _write_ivy_settings(scratch).as_uri(),
    }
    conf = SparkConf().setAppName(name).setAll(list(combined(own, settings or {}).items()))
    jvm = _start_jvm(conf, scratch, locks, log)
    # A JVM that would first write its classes is killed where the run has failed or is interrupted.
    exit_timeout_s = 0 if classes.is_missing else _JVM_EXIT_TIMEOUT_S
    try:
        on_interrupt = signal.getsignal(signal.SIGINT)
        context = SparkContext(conf=conf, gateway=_connect(jvm, scratch, log))
        if threading.current_thread() is threading.main_thread():
            # Spark's own, which the context has just set, cancels what is being written.
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
        _stop_jvm(jvm, scratch, exit_timeout_s)
        classes.keep(is_whole=jvm.returncode == 0)


def _remove_jars_from_python_path(context: SparkContext) -> None:
    """Remove the packages' jars from the import path of Python and its workers.

    Spark adds them in case they contain Python modules. Before each task a worker reads the directory of each jar: for
    the clients of an object store 0.1 s of CPU.
    """
    includes = context._python_includes or []
    includes[:] = [each for each in includes if not each.endswith(".jar")]
    sys.path[:] = [each for each in sys.path if not each.endswith(".jar")]


def _start_jvm(conf: SparkConf, scratch: Path, locks: Sequence[int], log: Path | None) -> subprocess.Popen[bytes]:
    """Start Spark's JVM, which writes its port and secret to a file once it listens.

    Not pyspark's own start: that loses the JVM when it is interrupted meanwhile, and the JVM then waits for ever.
    """
    import pyspark

    # The class archive is for this path, by whatever link the environment is reached.
    command = [str(Path(pyspark.__file__).resolve().parent / "bin" / "spark-submit")]
    for name, value in conf.getAll():
        command += ["--conf", f"{name}={value}"]
    address = scratch / _ADDRESS_FILE
    address.unlink(missing_ok=True)
    parent_pid = os.getpid()

    def prepare() -> None:
        # They are for the Python side, which ends the batch first. A terminal and a process group do not reach the JVM,
        # as it has a session of its own; a supervisor that asks each process of a control group does.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if sys.platform == "linux":
            die_with_parent(parent_pid)

    with ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("ab"))
        return subprocess.Popen(
            [*command, "pyspark-shell"],
            # Its end ends the JVM, once it listens.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
            pass_fds=tuple(locks),
            # Spark makes a directory `artifacts` where it is started.
            cwd=scratch,
            start_new_session=True,
            preexec_fn=prepare,
        )


def _connect(jvm: subprocess.Popen[bytes], scratch: Path, log: Path | None) -> JavaGateway:
    """Wait until the JVM listens, and connect to it."""
    from pyspark.java_gateway import launch_gateway

    address = scratch / _ADDRESS_FILE
    while not address.is_file():
        if jvm.poll() is not None:
            raise end_of_jvm(jvm.returncode, log)
        time.sleep(0.05)
    data = address.read_bytes()
    port, secret_length = _ADDRESS.unpack_from(data)
    # With these pyspark connects to a JVM that is there already.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = data[_ADDRESS.size : _ADDRESS.size + secret_length].decode()
    _remember_names()
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]  # pyspark does not type it
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


@cache
def _remember_names() -> None:
    """Have py4j remember which of Java's names are packages and which are classes, for as long as a JVM is there.

    It asks the JVM each time, and that looks for a class `org.apache` in each of some hundred jars: of all CPU of six
    jobs that was a twentieth.
    """
    from py4j.java_gateway import JavaPackage, JVMView

    def remembering(ask: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def known(parent: Any, name: str) -> Any:
            found = ask(parent, name)
            # From now on found here, before `__getattr__` is called.
            vars(parent)[name] = found
            return found

        return known

    for parent_type in (JVMView, JavaPackage):
        parent_type.__getattr__ = remembering(parent_type.__getattr__)


def _failure_of(error: Exception, jvm: subprocess.Popen[bytes], log: Path | None) -> SparkFailedError | None:
    """Return in one line what Java says, or that the JVM has ended; the trace goes to the log. None: it is neither."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    if isinstance(error, SparkFailedError):
        return error
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        # It has ended, or is about to.
        with suppress(subprocess.TimeoutExpired):
            jvm.wait(_JVM_EXIT_TIMEOUT_S)
    failure = None
    if jvm.poll() is not None:
        failure = end_of_jvm(jvm.returncode, log)
    elif isinstance(error, (Py4JError, PySparkException)):
        failure = SparkFailedError(f"Spark: {reason_of(error)}{'' if log is None else ' (--verbose shows the trace)'}")
    if is_of_java(error):
        # While the JVM is there, which is asked for its part of the trace.
        with ExitStack() as stack:
            traceback.print_exception(error, file=None if log is None else stack.enter_context(log.open("a")))
    return failure


def _stop_jvm(jvm: subprocess.Popen[bytes], scratch: Path, timeout_s: float) -> None:
    assert jvm.stdin is not None
    jvm.stdin.close()
    # Before it listens it has done nothing yet, and does not heed its input's end.
    is_listening = (scratch / _ADDRESS_FILE).is_file()
    try:
        jvm.wait(timeout_s if is_listening else 0)
    except subprocess.TimeoutExpired:
        # With Spark's scripts, which it may still be.
        os.killpg(jvm.pid, signal.SIGKILL)
        jvm.wait()


def _write_ivy_settings(scratch: Path) -> Path:
    repository = os.environ.get("BARNABAS_MAVEN_REPOSITORY", _MAVEN_CENTRAL)
    settings = scratch / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS.format(root=quoteattr(repository.rstrip("/") + "/")))
    return settings
