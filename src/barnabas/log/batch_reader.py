"""Walks the record batches of a file: their headers alone, or whole.

Invariants: starts and stops at batch boundaries; an incomplete batch at the end ends the walk without an error, as in
Kafka; nothing is allocated beyond a chunk or one batch that fits the file.

Source: implementation page, log; log-format facts, record batch.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.log.files import RecordFile
from barnabas.records.batch import HEADER_BYTES, LEAST_BATCH_LENGTH, LOG_OVERHEAD, MAGIC, BatchHeader, read_header
from barnabas.records.errors import CorruptRecordsError

_HEADER_CHUNK_BYTES = 4096
_BATCH_CHUNK_BYTES = 256 * 1024

_OFFSET_AND_LENGTH = Struct(">qi")


def read_headers(file: RecordFile, position: int, end_position: int) -> Iterator[tuple[int, BatchHeader]]:
    """The headers of all complete batches between two positions, with their positions.

    Raises:
        CorruptRecordsError: While iterating: a header that no batch of magic 2 has.
    """
    chunk, chunk_position = b"", position
    while end_position - position >= HEADER_BYTES:
        index = position - chunk_position
        if index + HEADER_BYTES > len(chunk):
            chunk = file.read(position, min(_HEADER_CHUNK_BYTES, end_position - position))
            chunk_position, index = position, 0
        header = read_header(chunk, index)
        _check(header, position, file)
        size = header.size_in_bytes
        if size > end_position - position:
            return
        yield position, header
        position += size


def read_batches(file: RecordFile, position: int, end_position: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """All complete batches between two positions, with their positions and headers; CRCs are not checked.

    The views are valid for good: nothing is reused.

    Raises:
        CorruptRecordsError: While iterating: a header that no batch of magic 2 has.
    """
    chunk, chunk_position = memoryview(b""), position
    while end_position - position >= HEADER_BYTES:
        index = position - chunk_position
        size = _size_at(chunk, index)
        if size is None or index + size > len(chunk):
            wanted = max(_BATCH_CHUNK_BYTES, size or 0)
            chunk = memoryview(file.read(position, min(wanted, end_position - position)))
            chunk_position, index = position, 0
        header = read_header(chunk, index)
        _check(header, position, file)
        size = header.size_in_bytes
        if size > end_position - position:
            return
        if index + size > len(chunk):
            chunk = memoryview(file.read(position, size))
            chunk_position, index = position, 0
            if len(chunk) < size:
                return
        yield position, header, chunk[index : index + size]
        position += size


def _size_at(chunk: memoryview, index: int) -> int | None:
    if index + LOG_OVERHEAD > len(chunk):
        return None
    length: int = _OFFSET_AND_LENGTH.unpack_from(chunk, index)[1]
    return max(length, 0) + LOG_OVERHEAD


def _check(header: BatchHeader, position: int, file: RecordFile) -> None:
    if header.magic != MAGIC:
        raise CorruptRecordsError(f"{file.path}: magic {header.magic} at position {position} is not {MAGIC}")
    if header.batch_length < LEAST_BATCH_LENGTH:
        raise CorruptRecordsError(f"{file.path}: batch length {header.batch_length} at position {position}")
