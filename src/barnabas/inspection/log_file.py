"""Reader of a `.log` file: its batches (v2) and outer messages (v0, v1), without validating them.

    int64 offset | int32 size (bytes after this field) | ... | at 16 int8 magic

Invariants: the file is opened read-only. Its size is read once, so that appends of a broker do not affect the reader.
An incomplete batch at the end ends the iteration without an error, as in Kafka. At most a chunk, or one batch that fits
the file, is allocated.

Source: implementation page, log; log-format facts, record batch, message v0 / v1.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import Self

from barnabas.broker.log.disk.files import as_storage_error, open_regular, storage_errors
from barnabas.inspection.stored_batch import StoredBatch, read_stored_batch
from barnabas.wire.records.batch import LEAST_BATCH_LENGTH, LOG_OVERHEAD, MAGIC, MAGIC_POSITION
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.legacy import LEAST_MESSAGE_BYTES

_CHUNK_BYTES = 1024 * 1024
_HEAD_BYTES = MAGIC_POSITION + 1
_HEAD = Struct(">qiib")


class LogFile:
    """An open `.log` file; a context manager.

    Attributes:
        path: Path of the file.
        size: Size in bytes when it was opened.
    """

    __slots__ = ("_fd", "path", "size")

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            StorageError: The file can't be opened.
        """
        with storage_errors(path):
            self._fd, self.size = open_regular(path, os.O_RDONLY)
        self.path = path

    def close(self) -> None:
        """Close the file; no effect if it is closed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, position: int, length: int) -> bytes:
        """Read `length` bytes from `position` on; fewer only at the file's end.

        Raises:
            StorageError: The disk failed.
        """
        try:
            data = os.pread(self._fd, length, position)
            while len(data) < length:
                more = os.pread(self._fd, length - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise as_storage_error(self.path, error) from error
        return data

    def batches(self, position: int = 0, end_position: int | None = None) -> Iterator[StoredBatch]:
        """Iterate over the complete batches between two positions, without checking CRCs; no buffer is reused.

        Args:
            position: Position of a batch.
            end_position: End, exclusive; None for the file's size.

        Raises:
            CorruptRecordsError: While iterating: a batch size is invalid.
        """
        end = self.size if end_position is None else min(end_position, self.size)
        chunk, chunk_position = memoryview(b""), position
        # As in Kafka: a batch must be longer than its header.
        while end - position > _HEAD_BYTES:
            index = position - chunk_position
            if index + _HEAD_BYTES > len(chunk):
                chunk, chunk_position, index = self._chunk(position, end, _CHUNK_BYTES), position, 0
            if len(chunk) < _HEAD_BYTES:
                return
            _, length, _, magic = _HEAD.unpack_from(chunk, index)
            _check(length, magic, position)
            size = length + LOG_OVERHEAD
            if size > end - position:
                return
            if index + size > len(chunk):
                chunk, chunk_position, index = self._chunk(position, end, max(_CHUNK_BYTES, size)), position, 0
                if len(chunk) < size:
                    # The file became shorter while it was read.
                    return
            yield read_stored_batch(chunk[index : index + size], position)
            position += size

    def _chunk(self, position: int, end: int, length: int) -> memoryview:
        return memoryview(self.read(position, min(length, end - position)))


def _check(length: int, magic: int, position: int) -> None:
    if length < LEAST_MESSAGE_BYTES:
        raise CorruptRecordsError(
            f"a size of {length} at position {position} is below the smallest message size ({LEAST_MESSAGE_BYTES})"
        )
    if magic >= MAGIC and length < LEAST_BATCH_LENGTH:
        raise CorruptRecordsError(f"a batch length of {length} at position {position} is below {LEAST_BATCH_LENGTH}")
