"""One-line messages for failures in Spark's JVM: the root cause and, if known, the remedy.

Source: `py4j.protocol.Py4JJavaError`; `pyspark.errors.exceptions.captured` of pyspark 4.0.0; Apache Ivy 2.5's reports.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_REMEDIES = {
    "No space left on device": "make room on that disk, or name another one by --scratch",
    "Java heap space": "give Spark more by --conf spark.driver.memory=4g",
    "GC overhead limit exceeded": "give Spark more by --conf spark.driver.memory=4g",
    "ClassNotFoundException": "name the package that has it by --conf spark.jars.packages=GROUP:NAME:VERSION",
    "No FileSystem for scheme": "name the package that has it by --conf spark.jars.packages=GROUP:NAME:VERSION",
    "UnknownHostException": "is the name right, and does this machine's resolver know it?",
    "Connection refused": "is it running, and can this machine reach it?",
}
_STAGE_FAILURE = re.compile(r"Job aborted due to stage failure: .*? \(TID \d+\) \([^)]*\): ")
_UNRESOLVED = re.compile(r"^\s*:: ([^#\s]+)#([^;\s]+);(\S+?): (.*)$", re.MULTILINE)
_IVY_REASONS = re.compile(r"^\s*((?:Server access error|Host \S+ not found).*)$", re.MULTILINE)
_IVY_TRIED = re.compile(r"==== \S+: tried\s+(\S+)")
_IVY_CACHE = "Ivy Default Cache set to: "
_ADDRESS = re.compile(r"[\w.-]+:\d+")
_LOG_TAIL_BYTES = 1 << 18


class SparkFailedError(Exception):
    """Spark's JVM did not start, ended, or raised an error; the message is one line."""


def reason_of(error: BaseException) -> str:
    """Return an error's message in one line; for a Java error the root cause and, if known, the remedy."""
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # it has no types

    if isinstance(error, Py4JNetworkError):
        return "Spark's JVM does not answer any more"
    # py4j's error contains Java's exception, and pyspark's conversion of it usually does as well.
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if thrown is not None:
        return advised(root_message(thrown))
    return _line(str(error)) or type(error).__name__


def root_message(exception: Any) -> str:
    """Return the root cause of a Java exception in one line: its class name and message."""
    outer = ""
    while (cause := exception.getCause()) is not None:
        outer, exception = _line(exception.getMessage() or ""), cause
    name = str(exception.getClass().getSimpleName())
    message = _line(_STAGE_FAILURE.sub("", exception.getMessage() or ""))
    if name == "ConnectException" and _ADDRESS.search(outer):
        # Unlike the outer message, Java's own has no address.
        return outer
    return f"{name}: {message}" if message else name


def advised(reason: str) -> str:
    """Return a reason with its remedy, if one is known."""
    remedy = next((remedy for text, remedy in _REMEDIES.items() if text in reason), None)
    return f"{reason}; {remedy}" if remedy else reason


def is_of_java(error: BaseException) -> bool:
    """Return whether an error, or one of its causes, comes from py4j or pyspark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return any(isinstance(each, (Py4JError, PySparkException)) for each in _chain(error))


def end_of_jvm(code: int, log: Path | None) -> SparkFailedError:
    """Return an error for a JVM that has ended, with its last output.

    Args:
        code: Its exit code; below 0: the negated signal that killed it.
        log: File with its output; None: the output went to the terminal.
    """
    if code == -signal.SIGKILL:
        return SparkFailedError("Spark's JVM was killed, as the kernel does where memory is short")
    how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    said = "see above" if log is None else last_words(_tail(log))
    return SparkFailedError(f"Spark's JVM {how}: {said}" if said else f"Spark's JVM {how}")


def last_words(text: str) -> str:
    """Return in one line why a JVM has ended, from the end of its output; empty if it has no output."""
    # The log may start with output of an earlier JVM.
    of_ivy = text.rpartition(_IVY_CACHE)[2]
    if missing := list(dict.fromkeys(_UNRESOLVED.findall(of_ivy))):
        return _of_ivy(of_ivy, missing)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    thrown = [line for line in lines if line.startswith(("Caused by: ", "Exception in thread "))]
    if thrown:
        return advised(re.sub(r'^(Caused by: |Exception in thread "[^"]*" )', "", thrown[-1]))
    return advised(" ".join(lines[-2:]))


def _of_ivy(text: str, missing: list[tuple[str, str, str, str]]) -> str:
    group, name, version, why = missing[0]
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    told, tried = _IVY_REASONS.search(text), _IVY_TRIED.search(text)
    if told is not None:
        why = told[1]
    elif tried is not None:
        why = f"{why}: {tried[1]}"
    cache = Path(text.partition("\n")[0].strip()).parent
    return (
        f"the package {group}:{name}:{version}{others} could not be fetched: {why}; let BARNABAS_MAVEN_REPOSITORY name "
        f"a repository that has it and that this machine can reach, or copy {cache} from a machine that has fetched it"
    )


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
        return file.read().decode(errors="replace")


def _line(text: str) -> str:
    # A Python worker's error follows its traceback, whose frames are indented; py4j's own error follows " Trace:".
    _, trace, behind = text.rpartition("Traceback (most recent call last):\n")
    lines = behind.rpartition(" Trace:\n")[2].splitlines()
    return next((line.strip() for line in lines if line.strip() and not (trace and line.startswith(" "))), "")


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
