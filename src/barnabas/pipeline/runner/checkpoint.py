"""Files of a run on this machine, on HDFS or in an object store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from barnabas.pipeline.tables.data_files import FileSink, absolute


class Files:
    """A directory of small text files."""

    def __init__(self, directory: str, storage_options: Mapping[str, str]) -> None:
        """Nothing is read or written yet.

        Args:
            directory: A path, or the address of an object store or HDFS.
            storage_options: Login and endpoint of the store, as delta-rs takes them.
        """
        self.directory = absolute(directory)
        self._sink = FileSink(self.directory, storage_options)

    def read(self, name: str) -> str | None:
        """Return a file's text; None if it does not exist."""
        try:
            with self._sink.filesystem().open_input_stream(name) as stream:
                return bytes(stream.read()).decode()
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """Write a file atomically, replacing an older one.

        Raises:
            OSError: the directory can't be written to, or the store does not answer.
        """
        if "://" in self.directory:
            content = text.encode()
            # delta-rs rejects the objects that pyarrow passes to it without a buffer.
            with self._sink.filesystem().open_output_stream(name, buffer_size=len(content) + 1) as stream:
                stream.write(content)
            return
        path = Path(self.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def remove(self) -> None:
        """Delete all files in the directory."""
        self._sink.clear()
