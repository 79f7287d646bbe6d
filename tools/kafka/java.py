"""Runs Java classes: Kafka's own tools by class name, and small client programs, which are compiled on demand.

Every started process ends with this process.
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
"""For tools that run for a second or two: start fast, use one thread."""
# For the kernel, the parent is the thread that started a process. This thread lives as long as its own process,
# whichever thread requests a start.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="java-starter")
_LOG4J = Path(__file__).with_name("log4j.properties")
_HOST_JVM_OPTIONS = (
    "-Xmx512m",
    *TOOL_JVM_OPTIONS[1:],
    "-Dfile.encoding=UTF-8",
    # For intercepting a tool's call of exit, and running its exit hooks.
    "-Djava.security.manager=allow",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


def die_with_parent() -> None:
    """Make a child process end with this process; for `preexec_fn`."""
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
    """Run one of Kafka's tools to its end, by default in this process's shared JVM for tools.

    Args:
        class_name: With its package, such as `kafka.admin.TopicCommand`.
        arguments: As for its shell script.
        stdin: Its standard input; None: empty.
        timeout_s: Time limit.
        jvm_options: Options of a separate JVM, for example for the perf tools; None: the shared JVM.
        jar_set: The Kafka version; 2.7.2 by default.

    Returns:
        Exit status, standard output and standard error; a failing tool raises no exception.
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
    """Return this process's shared JVM for tools, which starts with the first tool."""
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
    """Start a class in the background; `prefix` is a command such as `nsenter`. The caller must end the process."""
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
        # Another process was faster and has created the same classes.
        shutil.rmtree(staging)
    return target
