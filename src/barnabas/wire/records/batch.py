"""The header of a record batch, magic 2: read, check, patch in place.

All integers are big-endian; the CRC-32C covers everything from `attributes` to the end, so the broker sets base
offset and leader epoch without touching it. `NamedTuple` fields stand in this order:

    pos  field                type    meaning
    0    base_offset          int64   offset of the first record (compaction keeps it although the record may go)
    8    batch_length         int32   bytes after this field
    12   leader_epoch         int32   set by the leader; -1 from producers
    16   magic                int8    2
    17   crc                  uint32  CRC-32C of everything from position 21
    21   attributes           int16   bits 0-2 codec, 3 log append time, 4 transactional, 5 control
    23   last_offset_delta    int32   last offset - base offset
    27   base_timestamp_ms    int64   what the records' timestamp deltas are added to
    35   max_timestamp_ms     int64   the largest timestamp; with log append time every record's timestamp
    43   producer_id          int64   -1 when not idempotent
    51   producer_epoch       int16
    53   base_sequence        int32   sequence of the first record; -1 when not idempotent
    57   record_count         int32
    61   records                      one compressed block when a codec is set

Source: implementation page, message format; KIP-98.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.errors import CorruptRecordsError

MAGIC: Final = 2

HEADER_BYTES: Final = 61
LOG_OVERHEAD: Final = 12  # base offset and batch length, which batch_length does not count
LEAST_BATCH_LENGTH: Final = HEADER_BYTES - LOG_OVERHEAD

BATCH_LENGTH_POSITION: Final = 8
LEADER_EPOCH_POSITION: Final = 12
MAGIC_POSITION: Final = 16
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
LAST_OFFSET_DELTA_POSITION: Final = 23
BASE_TIMESTAMP_POSITION: Final = 27
MAX_TIMESTAMP_POSITION: Final = 35
PRODUCER_ID_POSITION: Final = 43
PRODUCER_EPOCH_POSITION: Final = 51
BASE_SEQUENCE_POSITION: Final = 53
RECORD_COUNT_POSITION: Final = 57

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

HEADER = Struct(">qiibIhiqqqhii")
INT64 = Struct(">q")
INT32 = Struct(">i")
UINT32 = Struct(">I")
INT16 = Struct(">h")

SEQUENCE_MASK: Final = 0x7FFFFFFF

Buffer = bytes | bytearray | memoryview
MutableBuffer = bytearray | memoryview
# For the fields of classes: mypyc looks their types up among the names of the module, where a builtin is not.
View = memoryview


class Codec(IntEnum):
    """The compression of a batch's records: bits 0-2 of the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, in their order on the wire; no field has been checked."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def codec(self) -> int:
        """Return the number of the codec; 5 to 7 are no `Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > -1

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Return the sequence of the last record, wrapped from 2147483647 to 0; -1 if the batch has none."""
        if self.base_sequence == -1:
            return -1
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MASK

    @property
    def size_in_bytes(self) -> int:
        return self.batch_length + LOG_OVERHEAD


def read_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """Read the header at `pos`, without checks.

    Raises:
        CorruptRecordsError: Fewer than 61 bytes are left at `pos`.
    """
    # hot path: one call into C makes the tuple from the tuple (benchmarks/micro/test_records.py).
    if len(buf) - pos < HEADER_BYTES:
        raise CorruptRecordsError(f"{len(buf) - pos} bytes are too few for a record batch header ({HEADER_BYTES})")
    return BatchHeader._make(HEADER.unpack_from(buf, pos))


def batch_crc(buf: Buffer, pos: int, size: int) -> int:
    """Return the CRC-32C of the batch of `size` bytes (log overhead included) at `pos`."""
    return crc32c(memoryview(buf)[pos + ATTRIBUTES_POSITION : pos + size])


def is_crc_valid(buf: Buffer, pos: int, size: int) -> bool:
    """Return whether the batch of `size` bytes at `pos` contains the CRC of its bytes."""
    stored: int = UINT32.unpack_from(buf, pos + CRC_POSITION)[0]
    return stored == crc32c(memoryview(buf)[pos + ATTRIBUTES_POSITION : pos + size])


def set_base_offset(buf: MutableBuffer, pos: int, base_offset: int) -> None:
    """Set the base offset of the batch at `pos`; its CRC stays valid."""
    INT64.pack_into(buf, pos, base_offset)


def set_leader_epoch(buf: MutableBuffer, pos: int, leader_epoch: int) -> None:
    """Set the leader epoch of the batch at `pos`; its CRC stays valid."""
    INT32.pack_into(buf, pos + LEADER_EPOCH_POSITION, leader_epoch)


def set_max_timestamp(
    buf: MutableBuffer, pos: int, size: int, max_timestamp_ms: int, *, is_log_append_time: bool
) -> None:
    """Set the largest timestamp, the timestamp type and the CRC of the batch of `size` bytes at `pos`."""
    attributes: int = INT16.unpack_from(buf, pos + ATTRIBUTES_POSITION)[0]
    attributes = attributes | LOG_APPEND_TIME_BIT if is_log_append_time else attributes & ~LOG_APPEND_TIME_BIT
    INT16.pack_into(buf, pos + ATTRIBUTES_POSITION, attributes)
    INT64.pack_into(buf, pos + MAX_TIMESTAMP_POSITION, max_timestamp_ms)
    set_crc(buf, pos, size)


def set_crc(buf: MutableBuffer, pos: int, size: int) -> None:
    """Compute and set the CRC of the batch of `size` bytes at `pos`."""
    UINT32.pack_into(buf, pos + CRC_POSITION, batch_crc(buf, pos, size))


def batches(buf: Buffer) -> Iterator[memoryview]:
    """Split data into complete batches; an incomplete last one (as in a fetch response) is left out.

    Yields:
        Slices of `buf`, one whole batch each. Their CRCs are not checked.

    Raises:
        CorruptRecordsError: A length that no batch has, or a message set of magic 0 or 1.
    """
    view = memoryview(buf)
    pos, end = 0, len(view)
    while end - pos >= LOG_OVERHEAD:
        length: int = INT32.unpack_from(view, pos + BATCH_LENGTH_POSITION)[0]
        if end - pos > MAGIC_POSITION and view[pos + MAGIC_POSITION] != MAGIC:
            raise CorruptRecordsError(f"magic {view[pos + MAGIC_POSITION]} at position {pos} is not {MAGIC}")
        if length < LEAST_BATCH_LENGTH:
            raise CorruptRecordsError(f"batch length {length} at position {pos} is below {LEAST_BATCH_LENGTH}")
        size = length + LOG_OVERHEAD
        if end - pos < size:
            return
        yield view[pos : pos + size]
        pos += size
