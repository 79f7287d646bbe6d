"""Reads the record batches of a file, or messages of formats 0 and 1: only their headers, or whole.

Invariants: a walk starts and stops at batch boundaries; an incomplete batch at the end ends the walk without an error,
as in Kafka; at most a chunk, or one batch that fits the file, is allocated.

Source: implementation page, log; log-format facts, record batch, message v0 / v1.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Protocol

from barnabas.wire.records.batch import (
    HEADER,
    HEADER_BYTES,
    LEAST_BATCH_LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Buffer,
    read_header,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.legacy import LEAST_MESSAGE_BYTES, MessageHeader, read_message_header


class ReadableFile(Protocol):
    """A record file, or its cached part."""

    path: Path

    def read(self, position: int, length: int) -> bytes:
        """Return at most `length` bytes from `position` on; fewer only at the file's end."""
        ...


AnyHeader = BatchHeader | MessageHeader

_HEADER_CHUNK_BYTES = 4096
_BATCH_CHUNK_BYTES = 256 * 1024

_OFFSET_AND_LENGTH = Struct(">qi")
# A batch's base offset, batch length and last offset delta.
_BOUNDS = Struct(">qi11xi").unpack_from
_NO_OFFSET = -(1 << 64)


def read_headers(
    file: ReadableFile, position: int, end_position: int, offset: int = _NO_OFFSET
) -> Iterator[tuple[int, AnyHeader]]:
    """Yield the headers of all complete batches between two positions, with their positions.

    Args:
        offset: Batches of magic 2 that end below it may be omitted.

    Raises:
        CorruptRecordsError: While iterating: a header is invalid.
    """
    chunk, chunk_position = b"", position
    while (left_bytes := end_position - position) > MAGIC_POSITION:
        index = position - chunk_position
        if index + HEADER_BYTES > len(chunk) and len(chunk) - index < left_bytes:
            chunk = file.read(position, min(_HEADER_CHUNK_BYTES, left_bytes))
            chunk_position, index = position, 0
        header: AnyHeader | None
        if index + HEADER_BYTES <= len(chunk) and chunk[index + MAGIC_POSITION] == MAGIC:
            # hot path: benchmarks/micro/test_log.py (a read that is not at the tail, a recovery)
            base_offset, batch_length, last_offset_delta = _BOUNDS(chunk, index)
            size = batch_length + LOG_OVERHEAD
            if size < HEADER_BYTES:
                raise CorruptRecordsError(f"{file.path}: batch length {batch_length} at position {position}")
            if base_offset + last_offset_delta < offset and size <= left_bytes:
                position += size
                continue
            header = BatchHeader._make(HEADER.unpack_from(chunk, index))
        else:
            header = _header_at(chunk, index, position, left_bytes, file)
            if header is None:
                return
            size = header.size_in_bytes
        if size > left_bytes:
            return
        yield position, header
        position += size


def read_batches(file: ReadableFile, position: int, end_position: int) -> Iterator[tuple[int, AnyHeader, memoryview]]:
    """Yield all complete batches between two positions, with positions and headers; CRCs are not checked.

    The views stay valid: no buffer is reused.

    Raises:
        CorruptRecordsError: While iterating: a header is invalid.
    """
    chunk, chunk_position = memoryview(b""), position
    while (left_bytes := end_position - position) > MAGIC_POSITION:
        index = position - chunk_position
        size_there = _size_at(chunk, index)
        if (size_there is None or index + size_there > len(chunk)) and len(chunk) - index < left_bytes:
            wanted = max(_BATCH_CHUNK_BYTES, size_there or 0)
            chunk = memoryview(file.read(position, min(wanted, left_bytes)))
            chunk_position, index = position, 0
        header = _header_at(chunk, index, position, left_bytes, file)
        if header is None:
            return
        size = header.size_in_bytes
        if size > left_bytes:
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


def _header_at(chunk: Buffer, index: int, position: int, left_bytes: int, file: ReadableFile) -> AnyHeader | None:
    """Return the header at `index`; None if the file ends within the header or message."""
    if index + MAGIC_POSITION >= len(chunk):
        raise CorruptRecordsError(f"{file.path} ends at position {position + len(chunk) - index}")
    magic = chunk[index + MAGIC_POSITION]
    if magic == MAGIC:
        if left_bytes < HEADER_BYTES:
            return None
        header = read_header(chunk, index)
        if header.batch_length < LEAST_BATCH_LENGTH:
            raise CorruptRecordsError(f"{file.path}: batch length {header.batch_length} at position {position}")
        return header
    if magic > MAGIC:
        raise CorruptRecordsError(f"{file.path}: magic {magic} at position {position} is not known")
    length: int = _OFFSET_AND_LENGTH.unpack_from(chunk, index)[1]
    if length < LEAST_MESSAGE_BYTES:
        raise CorruptRecordsError(f"{file.path}: message size {length} at position {position}")
    if length + LOG_OVERHEAD > left_bytes:
        return None
    return read_message_header(chunk, index)
