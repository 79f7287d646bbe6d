"""Files of a run on this machine, on HDFS or in an object store, through Hadoop's own file systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline.spark.object_stores import writes_whole_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Files:
    """A directory of small text files."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        context = spark.sparkContext
        jvm: Any = context._jvm
        self._jvm = jvm
        self._root = jvm.org.apache.hadoop.fs.Path(directory)
        self._system = self._root.getFileSystem(context._jsc.hadoopConfiguration())
        self.directory = directory

    def read(self, name: str) -> str | None:
        """Return a file's text; None where there is none."""
        path = self._path(name)
        if not self._system.exists(path):
            return None
        stream = self._system.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file whole; it takes the place of an older one in one step where the file system can do that."""
        path = self._path(name)
        if writes_whole_files(self.directory):
            # A rename there would be a copy.
            stream = self._system.create(path, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            return
        partial = self._jvm.org.apache.hadoop.fs.Path(path.getParent(), f".{path.getName()}.partial")
        self._system.mkdirs(path.getParent())
        stream = self._system.create(partial, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        rename = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            path.toUri() if path.toUri().getScheme() else self._system.getUri()
        )
        options = self._jvm.org.apache.hadoop.fs.Options.Rename
        overwrite = self._jvm.java.lang.reflect.Array.newInstance(options.OVERWRITE.getClass(), 1)
        overwrite[0] = options.OVERWRITE
        rename.rename(partial, path, overwrite)

    def remove(self) -> None:
        """Remove the directory and all in it."""
        self._system.delete(self._root, True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)
