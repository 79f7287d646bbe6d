"""Builder of message sets of magic 0 and 1, byte for byte like Kafka's (except for a codec's freedoms).

Without a codec the set is a run of messages; with one it is a single wrapper. See `legacy` for the format.

Source: log format facts, message v0 / v1; KIP-31, KIP-32, KIP-57.
"""

import struct
from struct import Struct
from zlib import crc32

from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import INT32, LOG_APPEND_TIME_BIT, Buffer, Codec
from barnabas.wire.records.errors import CorruptRecordsError, TooLargeUnpackedError
from barnabas.wire.records.gil import PIECE_BYTES, extend
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES
from barnabas.wire.records.transcode import MessageRun

_HEAD = Struct(">qiI")
_BODY_HEAD = (Struct(">bb"), Struct(">bbq"))
_CRC_BYTES = 4
_NULL = b"\xff\xff\xff\xff"


class MessageSetBuilder:
    """Collects records and builds their message set.

    Attributes:
        record_count: Records so far.
        last_offset: Offset of the last one; -1 before the first.
        max_timestamp_ms: Largest timestamp so far, -1 in magic 0.
        offset_of_max_timestamp: Offset of the first record that has it, -1 if there is none.
        uncompressed_bytes: The size of the messages without compression and wrapper.
    """

    __slots__ = (
        "_append_time_ms",
        "_attributes",
        "_base_offset",
        "_codec",
        "_magic",
        "_max_bytes",
        "_messages",
        "last_offset",
        "max_timestamp_ms",
        "offset_of_max_timestamp",
        "record_count",
    )

    def __init__(
        self,
        magic: int,
        codec: int = Codec.NONE,
        append_time_ms: int | None = None,
        max_bytes: int = MAX_UNCOMPRESSED_BYTES,
    ) -> None:
        """Begin a set.

        Args:
            magic: 0 or 1.
            codec: What to wrap the messages in; there is no zstd in message sets.
            append_time_ms: Of a set with log append time, the time that all its messages get.
            max_bytes: How large the messages may become before compression.

        Raises:
            ValueError: There is no such magic, or the codec does not go with it.
        """
        if magic not in (0, 1) or codec not in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            raise ValueError(f"no message set of magic {magic} with codec {codec}")
        self._magic = magic
        self._codec = codec
        self._append_time_ms = append_time_ms
        self._attributes = LOG_APPEND_TIME_BIT if magic > 0 and append_time_ms is not None else 0
        self._max_bytes = max_bytes
        self._base_offset = 0
        self._messages = bytearray()
        self.record_count = 0
        self.last_offset = -1
        self.max_timestamp_ms = NO_TIMESTAMP
        self.offset_of_max_timestamp = -1

    @property
    def uncompressed_bytes(self) -> int:
        return len(self._messages)

    def append(self, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> None:
        """Append a record.

        Args:
            offset: The absolute one, above that of the record before.
            timestamp_ms: Its timestamp, which a set of magic 0 or with log append time does not keep.
            key: Its key.
            value: Its value.

        Raises:
            ValueError: The offset is not above the last one.
            CorruptRecordsError: The set becomes larger than it may, or a number does not fit.
        """
        if self.record_count == 0:
            self._base_offset = offset
        elif offset <= self.last_offset:
            raise ValueError(f"offset {offset} after {self.last_offset}")
        if self._append_time_ms is not None:
            timestamp_ms = self._append_time_ms
        if self._magic > 0 and timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = timestamp_ms
            self.offset_of_max_timestamp = offset
        is_relative = self._magic > 0 and self._codec != Codec.NONE
        inner_offset = offset - self._base_offset if is_relative else offset
        try:
            if value is not None and len(value) > PIECE_BYTES:
                self._append_large(inner_offset, timestamp_ms, key, value)
            else:
                self._messages += self._message(inner_offset, self._attributes, timestamp_ms, key, value)
        except struct.error:
            raise CorruptRecordsError(f"offset {offset} or timestamp {timestamp_ms} does not fit 64 bits") from None
        self.last_offset = offset
        self.record_count += 1
        if len(self._messages) > self._max_bytes:
            raise TooLargeUnpackedError(f"a message set of more than {self._max_bytes} bytes")

    def take_run(self, run: MessageRun) -> None:
        """Take already encoded messages instead of appending each; call before any `append`.

        Args:
            run: Handed over: made for this set's magic, append time and codec.
        """
        self._messages = run.data
        self._base_offset = run.first_offset
        self.record_count = run.message_count
        self.last_offset = run.last_offset
        self.max_timestamp_ms = run.max_timestamp_ms
        self.offset_of_max_timestamp = run.offset_of_max_timestamp

    def _append_large(self, inner_offset: int, timestamp_ms: int, key: bytes | None, value: bytes) -> None:
        """Append a large record without a single C call that copies all of it."""
        start = self._message(inner_offset, self._attributes, timestamp_ms, key, b"")[: -len(_NULL)]
        body = start[_HEAD.size :] + INT32.pack(len(value))
        size = len(body) + len(value) + _CRC_BYTES
        self._messages += _HEAD.pack(inner_offset, size, crc32(value, crc32(body))) + body
        extend(self._messages, value)

    def build(self) -> bytearray:
        """Return the set.

        Raises:
            ValueError: Not a single record was appended.
        """
        if not self.record_count:
            raise ValueError("a message set needs a record")
        if self._codec == Codec.NONE:
            return bytearray(self._messages)
        return bytearray(
            self._message(
                self.last_offset,
                self._attributes | self._codec,
                self.max_timestamp_ms,
                None,
                _compress(self._magic, self._codec, self._messages),
            )
        )

    def _message(
        self, offset: int, attributes: int, timestamp_ms: int, key: bytes | None, value: bytes | None
    ) -> bytes:
        if self._magic == 0:
            head = _BODY_HEAD[0].pack(0, attributes)
        else:
            head = _BODY_HEAD[1].pack(1, attributes, timestamp_ms)
        body = b"".join((head, *_sized(key), *_sized(value)))
        return _HEAD.pack(offset, len(body) + _CRC_BYTES, crc32(body)) + body


def _sized(data: bytes | None) -> tuple[bytes, ...]:
    return (_NULL,) if data is None else (INT32.pack(len(data)), data)


def _compress(magic: int, codec: int, data: Buffer) -> bytes:
    if codec == Codec.LZ4 and magic == 0:
        from barnabas.wire.records.compression import old_lz4

        return old_lz4.compress(data)
    from barnabas.wire.records.compression import compress

    return compress(codec, data)
