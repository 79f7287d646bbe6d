"""Files wherever Spark reads them, local disk or HDFS: Hadoop's FileSystem, called in Spark's JVM.

What is here moves names and small texts; rows never pass through it. Where Hadoop's local disk is not what it promises
(its rename copies into a directory that is there, nothing is flushed), the system's own calls are used.

Source: Hadoop 3.4.1, `FileSystem`, `FileContext.rename`, `RawLocalFileSystem.rename`; HDFS, leases.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCK = "lock"
# HDFS takes a lease away from a holder that has been silent for a minute.
_LEASE_TIMEOUT_S = 180


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or directory of a directory; `size_bytes` is 0 for a directory."""

    name: str
    is_directory: bool
    size_bytes: int


class Directory:
    """A directory by its location: a path, or a URI such as `hdfs://host:port/path`. It need not be there yet.

    All names are relative to it, with `/` between their parts.
    """

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._spark = spark
        jvm, session = spark.sparkContext._jvm, spark._jsparkSession
        assert jvm is not None, "the session has ended"
        self._jvm: Any = jvm
        self._configuration = session.sessionState().newHadoopConf()
        path = jvm.org.apache.hadoop.fs.Path(location)
        self._files = path.getFileSystem(self._configuration)
        self._root = self._files.makeQualified(path)

    @property
    def scheme(self) -> str:
        """Its file system: `file`, `hdfs`, ..."""
        return str(self._files.getUri().getScheme())

    @property
    def name(self) -> str:
        """Its own name, the last of its path."""
        return str(self._root.getName())

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine's own disk."""
        return self.scheme == "file"

    def beside(self, name: str) -> Directory:
        """Return the directory of a name beside this one."""
        return Directory(self._spark, str(self._jvm.org.apache.hadoop.fs.Path(self._root.getParent(), name).toString()))

    def uri(self, name: str = "") -> str:
        """Return the whole address of a name, as Spark's readers and writers take it."""
        return str(self._path(name).toString())

    def local_path(self, name: str = "") -> Path:
        """Return the path of a name on local disk."""
        return Path(str(self._path(name).toUri().getPath()))

    def entries(self, name: str = "") -> list[Entry]:
        """List a directory, sorted by name; one that is not there is empty."""
        if self.is_local:
            # A call into the JVM for each entry takes its time. Hadoop's files of checksums are none of ours.
            try:
                with os.scandir(self.local_path(name)) as entries:
                    found = [
                        Entry(entry.name, entry.is_dir(), 0 if entry.is_dir() else entry.stat().st_size)
                        for entry in entries
                        if not (entry.name.startswith(".") and entry.name.endswith(".crc"))
                    ]
            except FileNotFoundError:
                return []
            return sorted(found, key=lambda entry: entry.name)
        path = self._path(name)
        if not self._files.exists(path):
            return []
        found = [
            Entry(
                str(status.getPath().getName()),
                bool(status.isDirectory()),
                0 if status.isDirectory() else int(status.getLen()),
            )
            for status in self._files.listStatus(path)
        ]
        return sorted(found, key=lambda entry: entry.name)

    def files(self, name: str = "") -> list[Entry]:
        """List the files in a directory and in those below it."""
        found = []
        for entry in self.entries(name):
            found += self.files(f"{name}/{entry.name}" if name else entry.name) if entry.is_directory else [entry]
        return found

    def exists(self, name: str) -> bool:
        """Tell whether there is a file or a directory of this name."""
        return bool(self._files.exists(self._path(name)))

    def read_text(self, name: str) -> str:
        """Read a small file of UTF-8.

        Raises:
            FileNotFoundError: there is none.
        """
        path = self._path(name)
        if not self._files.exists(path):
            raise FileNotFoundError(self.uri(name))
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Write a small file in the place of what is there; it is on the medium when this returns."""
        stream = self._files.create(self._path(name), True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        if self.is_local:
            _flush(self.local_path(name))
            _flush(self.local_path(name).parent)

    def make(self, name: str = "") -> None:
        """Make a directory and those above it, unless it is there."""
        self._files.mkdirs(self._path(name))

    def move(self, name: str, to: Directory, new_name: str) -> bool:
        """Move a directory to another place on the same file system, in one step.

        Returns:
            False, and nothing was done, when there is one of the new name already (on local disk: and it is not empty).
        """
        to.make()
        if self.is_local:
            try:
                os.rename(self.local_path(name), to.local_path(new_name))
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
            return True
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(self._root.toUri(), self._configuration)
        options = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        gateway = self._spark.sparkContext._gateway
        assert gateway is not None, "the session has ended"
        try:
            context.rename(self._path(name), to._path(new_name), gateway.new_array(options, 0))
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" in str(error.java_exception.getClass().getName()):
                return False
            raise
        return True

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all that is in it; nothing happens when it is not there."""
        self._files.delete(self._path(name), True)

    def flush(self, name: str = "") -> None:
        """Bring a directory of local disk, and all in it, onto the medium; HDFS keeps what was written by itself."""
        if self.is_local:
            for directory, _, files in os.walk(self.local_path(name)):
                for file in files:
                    _flush(Path(directory) / file)
                _flush(Path(directory))

    def flush_names(self) -> None:
        """Bring the names of what is in the directory of local disk onto the medium."""
        if self.is_local:
            _flush(self.local_path())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one in this block among all that take this directory's lock; a killed holder has it no longer.

        On local disk the system's lock of a file, on HDFS the lease of one that is being written.

        Raises:
            TableError: another one holds it for minutes.
        """
        self.make()
        if self.is_local:
            with self.local_path(_LOCK).open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            return
        stream = self._lease()
        try:
            yield
        finally:
            stream.close()

    def _lease(self) -> Any:  # a stream of Java's has no type here
        from py4j.protocol import Py4JJavaError

        path = self._path(_LOCK)
        self._files.createNewFile(path)
        deadline = time.monotonic() + _LEASE_TIMEOUT_S
        while True:
            try:
                return self._files.append(path)
            except Py4JJavaError as error:
                text = str(error.java_exception.toString())
                if "AlreadyBeingCreated" not in text and "RecoveryInProgress" not in text:
                    raise
                if time.monotonic() > deadline:
                    raise TableError(f"another process holds {self.uri(_LOCK)} for {_LEASE_TIMEOUT_S} s") from None
                time.sleep(0.2)

    def _path(self, name: str) -> Any:  # Java's Path has no type here
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name) if name else self._root


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
