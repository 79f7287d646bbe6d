"""Files of a checkpoint, on this machine or on HDFS, through Hadoop's own file systems.

Spark plans a batch by writing `offsets/<batch id>`: a line with the format's version, one with settings, then one line
for each source with the offsets that the batch ends at; a query's own id is in `metadata`.

Source: `org.apache.spark.sql.execution.streaming.OffsetSeqLog` of Spark 4.0.0.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.runner.positions import merged
from barnabas.pipeline.tables.table import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIRST_SOURCE_LINE = 2


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

    def numbers(self, directory: str) -> list[int]:
        """Return the files of a directory below that are named by a number, in order."""
        path = self._path(directory)
        if not self._system.exists(path):
            return []
        names = [status.getPath().getName() for status in self._system.listStatus(path)]
        return sorted(int(name) for name in names if name.isdigit())

    def delete(self, name: str) -> None:
        """Delete a file."""
        self._system.delete(self._path(name), False)

    def remove(self) -> None:
        """Remove the directory and all in it."""
        self._system.delete(self._root, True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)


def planned_offsets(files: Files, batch_id: int) -> Offsets:
    """Return the offsets that a batch ends at, of all Kafka sources of the query."""
    text = files.read(f"offsets/{batch_id}")
    assert text is not None  # Spark plans a batch before it runs it
    result: Offsets = {}
    for line in text.splitlines()[_FIRST_SOURCE_LINE:]:
        if line.startswith("{"):
            offsets = {
                topic: {int(number): offset for number, offset in partitions.items()}
                for topic, partitions in json.loads(line).items()
            }
            result = merged(result, offsets)
    return result


def committed_offsets(files: Files) -> Offsets | None:
    """Return the offsets up to which a query has done its work; None where it has done no batch."""
    done = files.numbers("commits")
    return planned_offsets(files, done[-1]) if done else None


def reposition(files: Files, offsets: Offsets) -> None:
    """Let a stopped query go on from other offsets, with the state that it has.

    A batch that was planned and not done is planned anew.
    """
    last = files.numbers("commits")[-1]
    for batch_id in files.numbers("offsets"):
        if batch_id > last:
            files.delete(f"offsets/{batch_id}")
    text = files.read(f"offsets/{last}")
    assert text is not None
    lines = text.splitlines()
    for index, line in enumerate(lines[_FIRST_SOURCE_LINE:], start=_FIRST_SOURCE_LINE):
        if line.startswith("{"):
            source = json.loads(line)
            for topic, partitions in source.items():
                for number in partitions:
                    partitions[number] = offsets.get(topic, {}).get(int(number), partitions[number])
            lines[index] = json.dumps(source, separators=(",", ":"))
    files.write(f"offsets/{last}", "\n".join(lines))


def query_id(files: Files) -> str:
    """Return the id that Spark has given to the query of a checkpoint."""
    text = files.read("metadata")
    assert text is not None  # written before the first batch is planned
    return str(json.loads(text)["id"])
