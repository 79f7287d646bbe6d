"""A stored batch (format v2) or outer message (v0, v1), with one interface for all formats.

Source: implementation page, message format; log-format facts, message v0 / v1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.wire.records.batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_POSITION,
    SEQUENCE_MASK,
    UINT32,
    BatchHeader,
    Codec,
    batch_crc,
    read_header,
)
from barnabas.wire.records.legacy import (
    MESSAGE_CRC_POSITION,
    is_message_crc_valid,
    read_message_header,
    to_record,
    unwrap,
)
from barnabas.wire.records.record import iterate_records, read_payload

# Inspection should show oversized batches too: twice the limit of a broker.
_MAX_UNCOMPRESSED_BYTES = 256 * 1024 * 1024
_CODEC_NAMES = {int(codec): codec.name for codec in Codec}


class StoredRecord(NamedTuple):
    """A record with its absolute offset.

    Attributes:
        sequence: -1 without one, and in formats v0 and v1.
        crc: Stored CRC of a message of v0 or v1; None in v2, whose records have none.
        is_valid: Whether that CRC is right.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    sequence: int = -1
    header_keys: tuple[str, ...] = ()
    crc: int | None = None
    is_valid: bool = True


@dataclass(slots=True)
class StoredBatch:
    """A batch of v2, or an outer message of v0 or v1; its contents are not validated.

    Attributes:
        position: Position in the file.
        data: All its bytes.
        base_offset: First offset; the last offset of a compressed message of v1, whose first offset only its records
            have.
        timestamp_ms: Largest timestamp of its records; -1 in v0.
        crc: Stored CRC.
        header: Header of a v2 batch, else None.
    """

    position: int
    data: memoryview
    magic: int
    attributes: int
    base_offset: int
    last_offset: int
    timestamp_ms: int
    crc: int
    header: BatchHeader | None

    @property
    def size_in_bytes(self) -> int:
        return len(self.data)

    @property
    def codec(self) -> int:
        """Return the number of the codec; 5 to 7 are not in `Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def codec_name(self) -> str:
        """Return `NONE`, `GZIP` and so on; the number of an unknown codec."""
        return _CODEC_NAMES.get(self.codec, str(self.codec))

    @property
    def timestamp_type(self) -> str:
        """Return the timestamp type as Kafka's tools name it."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME_BIT else "CreateTime"

    @property
    def is_control(self) -> bool:
        return self.header is not None and self.header.is_control

    @property
    def is_valid(self) -> bool:
        """Return whether the CRC is right."""
        if self.header is not None:
            return batch_crc(self.data, 0, len(self.data)) == self.crc
        return is_message_crc_valid(self.data, 0, len(self.data))

    def records(self) -> Iterator[StoredRecord]:
        """Iterate over the decompressed records.

        Raises:
            CorruptRecordsError: While iterating: the records are damaged, or too large when unpacked.
        """
        if self.header is None:
            return self._messages()
        return self._records(self.header)

    def uncompressed_bytes(self) -> int:
        """Return the uncompressed size of the records, without the header of the batch or outer message.

        Raises:
            CorruptRecordsError: The compressed data is damaged, or too large when unpacked.
        """
        if self.header is not None:
            return len(read_payload(self.data, self.header, _MAX_UNCOMPRESSED_BYTES))
        return sum(len(message.data) for message in unwrap(self.data, _MAX_UNCOMPRESSED_BYTES))

    @property
    def stored_bytes(self) -> int:
        """Return the size of the records on disk, corresponding to `uncompressed_bytes`."""
        if self.header is not None:
            return len(self.data) - HEADER_BYTES
        return len(self.data)

    def _records(self, header: BatchHeader) -> Iterator[StoredRecord]:
        first_sequence = header.base_sequence
        for record in iterate_records(self.data, _MAX_UNCOMPRESSED_BYTES):
            sequence = -1
            if first_sequence >= 0:
                sequence = (first_sequence + record.offset - header.base_offset) & SEQUENCE_MASK
            header_keys = tuple(name for name, _ in record.headers) if record.headers else ()
            yield StoredRecord(record.offset, record.timestamp_ms, record.key, record.value, sequence, header_keys)

    def _messages(self) -> Iterator[StoredRecord]:
        for message in unwrap(self.data, _MAX_UNCOMPRESSED_BYTES):
            offset, timestamp_ms, key, value, _ = to_record(message)
            crc: int = UINT32.unpack_from(message.data, MESSAGE_CRC_POSITION)[0]
            is_valid = is_message_crc_valid(message.data, 0, len(message.data))
            yield StoredRecord(offset, timestamp_ms, key, value, crc=crc, is_valid=is_valid)


def read_stored_batch(data: memoryview, position: int) -> StoredBatch:
    """Read the header of one whole batch or message.

    Args:
        data: All bytes of the batch, at least a header.
        position: Position in the file.

    Raises:
        CorruptRecordsError: The data is shorter than the header.
    """
    # The magic is a signed byte.
    if MAGIC <= data[MAGIC_POSITION] < 128:
        header = read_header(data)
        return StoredBatch(
            position,
            data,
            header.magic,
            header.attributes,
            header.base_offset,
            header.last_offset,
            header.max_timestamp_ms,
            header.crc,
            header,
        )
    head = read_message_header(data)
    return StoredBatch(
        position, data, head.magic, head.attributes, head.offset, head.offset, head.max_timestamp_ms, head.crc, None
    )
