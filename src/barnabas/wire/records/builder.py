"""Builder of record batches of magic 2, byte for byte like Kafka's producer (except for a codec's freedoms).

Invariant: offsets run from the base offset without gaps; the base timestamp is the first record's.

Source: implementation page, message format.
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from barnabas.wire.records.batch import (
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
    Buffer,
    Codec,
    set_crc,
)
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.gil import extend

Header = tuple[str, bytes | None]

# Three lengths, attributes, header count and two deltas: what a record costs besides key, value and headers, at most.
RECORD_OVERHEAD_BYTES = 5 + 1 + 10 + 5 + 5 + 5 + 5

_NULL = b"\x01"
_RECORD_START = b"\0\0\0"  # attributes and both deltas of the first record
_NO_HEADERS = b"\0"

# The header of a batch up to its CRC, and what the CRC covers of it; see `wire/records/batch.py`.
_UP_TO_CRC = Struct(">qiibI")
_AFTER_CRC = Struct(">hiqqqhii")
_BYTES_BEFORE_CRC_COUNTED = _UP_TO_CRC.size - LOG_OVERHEAD


class BatchBuilder:
    """Collects records and builds their batch.

    Attributes:
        max_timestamp_ms: Their largest timestamp; 0 before the first.
        record_count: Records so far.
        uncompressed_bytes: The uncompressed size of the batch so far, header included.
    """

    __slots__ = (
        "_attributes",
        "_base_sequence",
        "_base_timestamp_ms",
        "_codec",
        "_payload",
        "_producer_epoch",
        "_producer_id",
        "max_timestamp_ms",
        "record_count",
        "uncompressed_bytes",
    )

    def __init__(
        self,
        codec: Codec = Codec.NONE,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        *,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self._codec = codec
        self._attributes = int(codec)
        if is_transactional:
            self._attributes |= TRANSACTIONAL_BIT
        if is_control:
            self._attributes |= CONTROL_BIT
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._base_timestamp_ms = 0
        self.max_timestamp_ms = 0
        self._payload = bytearray()
        self.record_count = 0
        self.uncompressed_bytes = HEADER_BYTES

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> None:
        """Append a record; it gets the next offset."""
        if self.record_count == 0:
            self._base_timestamp_ms = self.max_timestamp_ms = timestamp_ms
        elif timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = timestamp_ms
        body = b"".join(
            (
                b"\x00",
                encode_varint(timestamp_ms - self._base_timestamp_ms),
                encode_varint(self.record_count),
                _NULL if key is None else encode_varint(len(key)) + key,
                _NULL if value is None else encode_varint(len(value)) + value,
                _encode_headers(headers),
            )
        )
        length = encode_varint(len(body))
        self._payload += length
        self._payload += body
        self.record_count += 1
        self.uncompressed_bytes += len(length) + len(body)

    def take_run(self, data: bytearray, record_count: int, base_timestamp_ms: int, max_timestamp_ms: int) -> None:
        """Take already encoded records instead of appending each; call before any `append`.

        Args:
            data: Handed over: one record after the other, their offset deltas 0, 1, 2...
            record_count: How many.
            base_timestamp_ms: The base of their timestamp deltas.
            max_timestamp_ms: The largest of their timestamps.
        """
        self._payload = data
        self._base_timestamp_ms, self.max_timestamp_ms = base_timestamp_ms, max_timestamp_ms
        self.record_count = record_count
        self.uncompressed_bytes += len(data)

    def build(self, base_offset: int = 0, leader_epoch: int = NO_EPOCH) -> bytearray:
        """Return the batch; the builder can collect more and build again.

        Raises:
            ValueError: Not a single record was appended.
        """
        if not self.record_count:
            raise ValueError("a batch needs a record")
        payload: Buffer = self._payload
        if self._codec is not Codec.NONE:
            from barnabas.wire.records.compression import compress

            payload = compress(self._codec, payload)
        batch = bytearray(HEADER_BYTES)
        HEADER.pack_into(
            batch,
            0,
            base_offset,
            HEADER_BYTES + len(payload) - LOG_OVERHEAD,
            leader_epoch,
            MAGIC,
            0,
            self._attributes,
            self.record_count - 1,
            self._base_timestamp_ms,
            self.max_timestamp_ms,
            self._producer_id,
            self._producer_epoch,
            self._base_sequence,
            self.record_count,
        )
        extend(batch, payload)
        set_crc(batch, 0, len(batch))
        return batch


def one_record_batch(timestamp_ms: int, key: bytes, value: bytes) -> bytearray:
    """Build the batch of one record, without codec, producer or headers, in a third of `BatchBuilder`'s time."""
    # hot path: scripts/bench --whole --only commits (every commit of an offset)
    body = b"".join((_RECORD_START, encode_varint(len(key)), key, encode_varint(len(value)), value, _NO_HEADERS))
    covered = b"".join(
        (
            _AFTER_CRC.pack(0, 0, timestamp_ms, timestamp_ms, NO_PRODUCER_ID, NO_EPOCH, NO_SEQUENCE, 1),
            encode_varint(len(body)),
            body,
        )
    )
    batch = bytearray(_UP_TO_CRC.pack(0, _BYTES_BEFORE_CRC_COUNTED + len(covered), NO_EPOCH, MAGIC, crc32c(covered)))
    batch += covered
    return batch


def encode_varint(number: int) -> bytes:
    """Encode a number in zigzag, then seven bits a byte, lowest first; for 32 and 64 bits alike."""
    rest = number << 1 if number >= 0 else ((-number) << 1) - 1
    if rest < 0x80:
        return _SINGLE_BYTES[rest]
    encoded = bytearray()
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _encode_headers(headers: Iterable[Header]) -> bytes:
    count = 0
    encoded = bytearray()
    for key, value in headers:
        key_bytes = key.encode()
        encoded += encode_varint(len(key_bytes)) + key_bytes
        encoded += _NULL if value is None else encode_varint(len(value)) + value
        count += 1
    return encode_varint(count) + encoded


_SINGLE_BYTES = tuple(bytes((number,)) for number in range(0x80))
