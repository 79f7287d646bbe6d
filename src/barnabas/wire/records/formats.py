"""Data of any magic: logs and produce requests from before Kafka 0.11 contain messages besides record batches.

A message of magic 0 or 1, wrapper or not, is treated as a batch: it has an offset, a length at the same place, and the
magic at the same place, too.

Source: log format facts, record batch v2 and message v0 / v1.
"""

from collections.abc import Iterator

from barnabas.wire.records.batch import (
    BATCH_LENGTH_POSITION,
    INT32,
    LEAST_BATCH_LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Buffer,
    is_crc_valid,
    read_header,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.legacy import (
    LEAST_MESSAGE_BYTES,
    MessageHeader,
    is_message_crc_valid,
    iterate_messages,
    read_message_header,
)
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES, Record, iterate_records

AnyHeader = BatchHeader | MessageHeader


def batches_of_any_magic(buf: Buffer) -> Iterator[memoryview]:
    """Split data into whole batches and messages; an incomplete last one is left out.

    Yields:
        Slices of `buf`. Their CRCs are not checked.

    Raises:
        CorruptRecordsError: A length that nothing has, or a magic above 2.
    """
    view = memoryview(buf)
    position, end = 0, len(view)
    while end - position >= LOG_OVERHEAD:
        length: int = INT32.unpack_from(view, position + BATCH_LENGTH_POSITION)[0]
        if length < LEAST_MESSAGE_BYTES:
            raise CorruptRecordsError(f"length {length} at position {position} is below {LEAST_MESSAGE_BYTES}")
        if end - position <= MAGIC_POSITION:
            return
        magic = view[position + MAGIC_POSITION]
        if magic > MAGIC:
            raise CorruptRecordsError(f"magic {magic} at position {position} is not known")
        if magic == MAGIC and length < LEAST_BATCH_LENGTH:
            raise CorruptRecordsError(f"batch length {length} at position {position} is below {LEAST_BATCH_LENGTH}")
        stop = position + LOG_OVERHEAD + length
        if stop > end:
            return
        yield view[position:stop]
        position = stop


def read_any_header(buf: Buffer, pos: int = 0) -> AnyHeader:
    """Read the header of the batch or message at `pos`, without checks.

    Raises:
        CorruptRecordsError: Too few bytes are left at `pos`.
    """
    if len(buf) - pos > MAGIC_POSITION and buf[pos + MAGIC_POSITION] < MAGIC:
        return read_message_header(buf, pos)
    return read_header(buf, pos)


def is_any_crc_valid(batch: Buffer) -> bool:
    """Return whether one whole batch or message contains the CRC of its bytes."""
    if batch[MAGIC_POSITION] < MAGIC:
        return is_message_crc_valid(batch, 0, len(batch))
    return is_crc_valid(batch, 0, len(batch))


def iterate_any_records(batch: Buffer, max_bytes: int = MAX_UNCOMPRESSED_BYTES) -> Iterator[Record]:
    """Walk the records of one batch or message; see `iterate_records` and `iterate_messages`.

    Raises:
        CorruptRecordsError: While iterating, at the first thing that is wrong.
    """
    if len(batch) > MAGIC_POSITION and batch[MAGIC_POSITION] < MAGIC:
        return iterate_messages(batch, max_bytes)
    return iterate_records(batch, max_bytes)
