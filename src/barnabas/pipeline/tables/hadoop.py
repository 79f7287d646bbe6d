"""Files wherever Spark reads them, local disk or HDFS: Hadoop's FileSystem, called in Spark's JVM.

What is here moves names and small texts; rows never pass through it.

Source: Hadoop, `org.apache.hadoop.fs.FileSystem` 3.4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        self.location = location
        self._jvm = _jvm_of(spark)
        self._root = self._jvm.org.apache.hadoop.fs.Path(location)
        self._files = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine's own disk."""
        return bool(self._files.getUri().getScheme() == "file")

    def uri(self, name: str = "") -> str:
        """Give the whole address of a name, as Spark's readers and writers take it."""
        return str(self._files.makeQualified(self._path(name)).toString())

    def entries(self, name: str = "") -> list[Entry]:
        """List a directory, sorted by name; one that is not there is empty."""
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
        """Write a small file in the place of what is there; on HDFS it is on the disks when this returns."""
        stream = self._files.create(self._path(name), True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()

    def make(self, name: str) -> None:
        """Make a directory and those above it, unless it is there."""
        self._files.mkdirs(self._path(name))

    def rename(self, source: str, target: str) -> bool:
        """Give a file or directory another name, in one step; False, and nothing done, when the target is there.

        The directory above the target must be there.
        """
        target_path = self._path(target)
        # Hadoop would move a directory into one that is there.
        if self._files.exists(target_path):
            return False
        return bool(self._files.rename(self._path(source), target_path))

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all that is in it; nothing happens when it is not there."""
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:  # Java's Path has no type here
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name) if name else self._root


def _jvm_of(spark: SparkSession) -> Any:  # py4j's view of the JVM has no type
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "the session has ended"
    return jvm
