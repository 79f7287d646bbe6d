"""The fetched messages of one partition, decoded while the program iterates.

    messages = consumer.fetch("t", 0, offset)
    for offset, next_offset, message in messages:
        ...
    offset = messages.next_offset

The bytes are as in the broker's log, in any of its formats: messages of magic 0 and 1, single or several in a
compressed one, or record batches of magic 2. The broker may cut off the last message or batch at the fetch size.

Invariants:

- Nothing is decoded, decompressed or checked before iteration; a set may be iterated any number of times.
- A message is returned whole, with a verified checksum, or not at all; a cut-off end is left out.
- Offsets ascend from the requested one: earlier messages of a compressed message or batch are left out. Transaction
  markers are left out too; records of aborted transactions are included.

Source: implementation document, messages and message sets; legacy-0.7.md (a fetch ends in a partial message); log
format facts.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas.api.broker_errors import BrokerError, InvalidMessageError
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_OFFSET
from barnabas.wire.records.batch import (
    INT32,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    Buffer,
    Codec,
    is_crc_valid,
    read_header,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import batches_of_any_magic, read_any_header
from barnabas.wire.records.legacy import is_message_crc_valid, to_record, unwrap
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES, Record, RecordHeaders, iterate_records

_SIZE_POSITION = 8


class Message(NamedTuple):
    """One message.

    Attributes:
        key: None: the message has no key.
        payload: None: a null value, which deletes the key in a compacted topic.
        timestamp_ms: When it was created or, by the topic's setting, appended; -1 in magic 0, which has no times.
        headers: Names and values; only magic 2 has them.
        magic: The version of its storage format.
    """

    key: bytes | None
    payload: bytes | None
    timestamp_ms: int
    headers: RecordHeaders
    magic: int


class MessageAndOffset(NamedTuple):
    """A message with its offset.

    Attributes:
        offset: Its offset.
        next_offset: The offset at which to resume after it.
        message: The message.
    """

    offset: int
    next_offset: int
    message: Message


class MessageSet:
    """The messages of one partition from an offset on.

    Attributes:
        data: The received bytes.
        fetch_offset: The requested offset.
        high_watermark: The high watermark at the time of the response; -1: unknown.
        error: Why the partition could not be read, raised by iteration; None: no error.
    """

    __slots__ = ("_max_bytes", "_next_offset", "data", "error", "fetch_offset", "high_watermark")

    def __init__(
        self,
        data: Buffer = b"",
        fetch_offset: int = 0,
        *,
        high_watermark: int = NO_OFFSET,
        error: BrokerError | None = None,
        max_bytes: int = MAX_UNCOMPRESSED_BYTES,
    ) -> None:
        """Args:
        max_bytes: Maximum uncompressed size of a compressed message or batch.
        """
        self.data = memoryview(data)
        self.fetch_offset = fetch_offset
        self.high_watermark = high_watermark
        self.error = error
        self._max_bytes = max_bytes
        self._next_offset: int | None = None

    def __iter__(self) -> Iterator[MessageAndOffset]:
        """Iterate over the messages.

        Raises:
            BrokerError: The partition could not be read.
            InvalidMessageError: While iterating, at the first damaged message; earlier messages were returned.
        """
        self.raise_for_error()
        return self._messages()

    def __repr__(self) -> str:
        return f"MessageSet({self.size_in_bytes} bytes from offset {self.fetch_offset}, error={self.error!r})"

    @property
    def size_in_bytes(self) -> int:
        """Return the number of received bytes, a cut-off end included."""
        return len(self.data)

    @property
    def valid_bytes(self) -> int:
        """Return the total size of whole messages or batches, by their size fields alone.

        Raises:
            InvalidMessageError: A size field is invalid.
        """
        return sum(map(len, self._batches()))

    @property
    def is_partial(self) -> bool:
        """Return whether the last message or batch is cut off. Raises InvalidMessageError."""
        return self.valid_bytes < self.size_in_bytes

    @property
    def wanted_bytes(self) -> int | None:
        """Return the size of the cut-off message or batch; None: nothing is cut off, or the size is unknown.

        Raises:
            InvalidMessageError: A size field is invalid.
        """
        cut = self.data[self.valid_bytes :]
        if len(cut) < LOG_OVERHEAD:
            return None
        size: int = INT32.unpack_from(cut, _SIZE_POSITION)[0]
        return LOG_OVERHEAD + size

    @property
    def next_offset(self) -> int:
        """Return the offset at which to read next after this set; `fetch_offset` if the set has no whole message.

        It may exceed the last message's offset + 1: transaction markers and compacted messages have offsets too.

        Raises:
            InvalidMessageError: A size field is invalid.
        """
        # Kept: in magic 0 and 1 each message has its own header, and streams need the offset twice.
        if self._next_offset is None:
            last = self.fetch_offset - 1
            for batch in self._batches():
                last = max(last, read_any_header(batch).last_offset)
            self._next_offset = last + 1
        return self._next_offset

    def raise_for_error(self) -> None:
        """Raise the partition's error, if it has one. Raises BrokerError."""
        if self.error is not None:
            raise self.error

    def _batches(self) -> Iterator[memoryview]:
        try:
            yield from batches_of_any_magic(self.data)
        except CorruptRecordsError as error:
            raise self._invalid(error) from error

    def _messages(self) -> Iterator[MessageAndOffset]:
        for batch in self._batches():
            try:
                if batch[MAGIC_POSITION] == MAGIC:
                    yield from self._of_batch(batch)
                else:
                    yield from self._of_message(batch)
            except CorruptRecordsError as error:
                raise self._invalid(error) from error

    def _of_batch(self, batch: memoryview) -> Iterator[MessageAndOffset]:
        header = read_header(batch)
        # Check the CRC before using the header: a batch must not be skipped by mistake.
        if not is_crc_valid(batch, 0, len(batch)):
            raise CorruptRecordsError(f"batch {header.base_offset} has a wrong CRC")
        if header.last_offset < self.fetch_offset or header.is_control:
            return
        yield from self._numbered(iterate_records(batch, self._max_bytes), MAGIC, header.last_offset + 1)

    def _of_message(self, data: memoryview) -> Iterator[MessageAndOffset]:
        header = read_any_header(data)
        if not is_message_crc_valid(data, 0, len(data)):
            raise CorruptRecordsError(f"message {header.last_offset} has a wrong CRC")
        if header.last_offset < self.fetch_offset:
            return
        is_wrapper = header.codec != Codec.NONE
        yield from self._numbered(self._inner(data, is_wrapper), header.magic, header.last_offset + 1)

    def _inner(self, data: memoryview, is_wrapper: bool) -> Iterator[Record]:
        for inner in unwrap(data, self._max_bytes):
            if inner.magic >= MAGIC:
                raise CorruptRecordsError(f"magic {inner.magic} of message {inner.offset} in a message set")
            if is_wrapper and not is_message_crc_valid(inner.data, 0, len(inner.data)):
                raise CorruptRecordsError(f"message {inner.offset} has a wrong CRC")
            yield to_record(inner)

    def _numbered(self, records: Iterable[Record], magic: int, end_offset: int) -> Iterator[MessageAndOffset]:
        """Convert records to messages; reading continues at `end_offset` after the last one."""
        last: Record | None = None
        for record in records:
            if last is not None:
                yield _given(last, last.offset + 1, magic)
            last = record if record.offset >= self.fetch_offset else None
        if last is not None:
            yield _given(last, max(last.offset + 1, end_offset), magic)

    def _invalid(self, error: CorruptRecordsError) -> InvalidMessageError:
        return InvalidMessageError(
            ErrorCode.CORRUPT_MESSAGE, f"what was fetched from offset {self.fetch_offset} is damaged: {error}"
        )


def _given(record: Record, next_offset: int, magic: int) -> MessageAndOffset:
    message = Message(record.key, record.value, record.timestamp_ms, record.headers, magic)
    return MessageAndOffset(record.offset, next_offset, message)
