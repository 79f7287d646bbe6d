"""Run Java classes: Kafka's own tools by class name, and small client programs compiled on the way.

Every process that is started here dies with the process that started it.
"""

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from barnabas.core import parent
from tools.kafka.jars import CACHE, KAFKA, JarsError, classpath
from tools.kafka.tool_host import ToolHost

TOOL_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""For tools that live a second or two: start fast, use one thread."""
# The kernel takes the thread that started a process for its parent: this one lives as long as its own process,
# whichever thread of it asks.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="java-starter")
_LOG4J = Path(__file__).with_name("log4j.properties")
_HOST_JVM_OPTIONS = (
    "-Xmx512m",
    *TOOL_JVM_OPTIONS[1:],
    "-Dfile.encoding=UTF-8",
    # To hold a tool's call of exit, and to run what it wants done then.
    "-Djava.security.manager=allow",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


def die_with_parent() -> None:
    """Make the process that is being started end when this one does; for `preexec_fn`."""
    parent.die_with_parent(os.getppid())


def java_command(
    class_name: str,
    arguments: Sequence[str],
    *,
    jar_set: str = KAFKA,
    jvm_options: Sequence[str] = TOOL_JVM_OPTIONS,
    extra_classpath: Path | None = None,
    log_level: str = "WARN",
) -> list[str]:
    """Return the command line that runs a class's `main`."""
    if shutil.which("java") is None:
        raise JarsError("Java is missing; install it: sudo apt-get install default-jdk-headless")
    path = classpath(jar_set)
    if extra_classpath is not None:
        path = f"{extra_classpath}:{path}"
    logging = (f"-Dlog4j.configuration={_LOG4J.as_uri()}", f"-Dbarnabas.log.level={log_level}")
    return ["java", *jvm_options, *logging, "-cp", path, class_name, *arguments]


def run_tool(
    class_name: str,
    *arguments: str,
    stdin: str | None = None,
    timeout_s: float = 240,
    jvm_options: Sequence[str] | None = None,
    jar_set: str = KAFKA,
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's tools to its end, in the JVM that this process keeps for them.

    Args:
        class_name: With its package, such as `kafka.admin.TopicCommand`.
        arguments: As its shell script takes them.
        stdin: What it reads; nothing when None.
        timeout_s: When to give up.
        jvm_options: Of a JVM of its own; the perf tools want one that is as they know it.
        jar_set: Of which Kafka; 2.7.2's by default.

    Returns:
        Exit status, standard output and standard error; a failing tool is no exception.
    """
    if jvm_options is None:
        return tool_host().run(classpath(jar_set), class_name, arguments, stdin or "", timeout_s)
    return subprocess.run(
        java_command(class_name, arguments, jvm_options=jvm_options, jar_set=jar_set),
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        preexec_fn=die_with_parent,
    )


@functools.cache
def tool_host() -> ToolHost:
    """Return the JVM that this process keeps for tools; it starts with the first of them."""
    classes = compiled(Path(__file__).with_name("ToolHost.java"), KAFKA)
    return ToolHost(java_command("ToolHost", [], jvm_options=_HOST_JVM_OPTIONS, extra_classpath=classes))


def start_java(
    class_name: str,
    *arguments: str,
    jar_set: str = KAFKA,
    jvm_options: Sequence[str] = TOOL_JVM_OPTIONS,
    extra_classpath: Path | None = None,
    log_level: str = "WARN",
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = subprocess.DEVNULL,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Start a class in the background, behind words such as `nsenter` takes; the caller ends it."""
    command = [*prefix]
    command += java_command(
        class_name,
        arguments,
        jar_set=jar_set,
        jvm_options=jvm_options,
        extra_classpath=extra_classpath,
        log_level=log_level,
    )

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, preexec_fn=die_with_parent)

    return _STARTER.submit(start).result()


def compiled(source: Path, jar_set: str) -> Path:
    """Compile one Java file against a set of jars, once, and return the directory of its classes."""
    digest = hashlib.sha256(source.read_bytes() + jar_set.encode()).hexdigest()[:12]
    target = CACHE / "java-classes" / f"{source.stem}-{jar_set}-{digest}"
    if target.is_dir():
        return target
    if shutil.which("javac") is None:
        raise JarsError("javac is missing; install it: sudo apt-get install default-jdk-headless")
    staging = target.with_name(f"{target.name}.{os.getpid()}")
    command = [
        "javac",
        "-Xlint:all",
        "-Werror",
        "-proc:none",
        "-cp",
        classpath(jar_set),
        "-d",
        str(staging),
        str(source),
    ]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        shutil.rmtree(staging, ignore_errors=True)
        raise JarsError(f"{source.name} does not compile against {jar_set}:\n{result.stdout}")
    try:
        staging.rename(target)
    except OSError:
        # Another session was faster: its classes are the same.
        shutil.rmtree(staging)
    return target
