"""Data that is ready to append: validated and in the topic's format.

There are three kinds: one batch of a client, batches of the broker, and a message set.
`PartitionLog.append_as_leader` treats them alike. Batches get their offsets when they are appended; a message set has
them already, because each message has its own.

Invariants: construction needs only the log's rules and its end offset; the methods run on the event loop, in a time
that does not grow with the number of records.

Source: semantics facts, Produce, idempotence and offsets; log-format facts.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from barnabas.broker.log.producers.producer_replay import read_batch_marker
from barnabas.broker.log.producers.producer_state import ProducerBatch, ProducerState
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.tail import BatchTail
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import LOG_OVERHEAD, BatchHeader, Buffer, MutableBuffer, batches, read_header
from barnabas.wire.records.control import EndTransactionMarker
from barnabas.wire.records.record_rules import RecordRefusal

_PUT_NUMBERS: Final = Struct(">qii").pack_into  # base offset, batch length, leader epoch


class ClientBatch:
    """One batch of magic 2.

    Attributes:
        data: Its bytes.
        last_offset_delta: Its last offset minus its first.
        max_timestamp_ms: Its largest timestamp.
        append_time_ms: The append time that its records get; -1 with create time.
        must_be_checked: Whether `check` must be called.
    """

    __slots__ = (
        "_batch_length",
        "_header",
        "append_time_ms",
        "data",
        "last_offset_delta",
        "max_timestamp_ms",
        "must_be_checked",
    )

    def __init__(
        self,
        data: MutableBuffer,
        batch_length: int,
        last_offset_delta: int,
        max_timestamp_ms: int,
        append_time_ms: int,
        header: BatchHeader | None,
    ) -> None:
        """Args:
        header: The batch's header if it has a producer id, else None.
        """
        # hot path: benchmarks/micro/test_log.py
        self.data = data
        self._batch_length = batch_length
        self._header = header
        self.last_offset_delta = last_offset_delta
        self.max_timestamp_ms = max_timestamp_ms
        self.append_time_ms = append_time_ms
        self.must_be_checked = header is not None

    def check(self, producers: ProducerState, base_offset: int) -> ProducerBatch | RecordRefusal | None:
        """Return the earlier batch if this is a duplicate, an error if its sequence is invalid, else None."""
        if self._header is None:
            return None
        duplicate = producers.find_duplicate(self._header)
        if duplicate is not None:
            return duplicate
        refused = producers.check(self._header)
        return None if refused is None else RecordRefusal(*refused)

    def number(self, base_offset: int, leader_epoch: int) -> None:
        """Set the batch's offsets and leader epoch."""
        _PUT_NUMBERS(self.data, 0, base_offset, self._batch_length, leader_epoch)

    def write(
        self,
        segment: Segment,
        base_offset: int,
        leader_epoch: int,
        index_interval_bytes: int,
        tail: BatchTail,
        producers: ProducerState,
    ) -> None:
        """Number the batch, write it, and record its position and producer.

        Raises:
            StorageError: Nothing was written.
        """
        # hot path: benchmarks/micro/test_log.py
        data = self.data
        _PUT_NUMBERS(data, 0, base_offset, self._batch_length, leader_epoch)
        last_offset = base_offset + self.last_offset_delta
        position = segment.append(data, last_offset, self.max_timestamp_ms, index_interval_bytes)
        tail.append(base_offset, position)
        if self._header is not None:
            producers.update(self._header, base_offset, self.max_timestamp_ms)


def client_batch(data: MutableBuffer, header: BatchHeader, max_timestamp_ms: int, append_time_ms: int) -> ClientBatch:
    """Return a `ClientBatch` from a batch's header."""
    producer = header if header.producer_id >= 0 else None
    length, delta = header.batch_length, header.last_offset_delta
    return ClientBatch(data, length, delta, max_timestamp_ms, append_time_ms, producer)


class OwnBatches:
    """Batches that the broker built; batches with a producer id must only be newer than that producer's last batch.

    Attributes: see `ClientBatch`.
    """

    __slots__ = (
        "_batches",
        "_headers",
        "_markers",
        "append_time_ms",
        "data",
        "last_offset_delta",
        "max_timestamp_ms",
        "must_be_checked",
    )

    def __init__(self, data: MutableBuffer, append_time_ms: int) -> None:
        """Args:
        data: Whole batches, at least one.
        append_time_ms: The append time that was set in them; -1 with create time.

        Raises:
            CorruptRecordsError: `data` is not a sequence of whole batches.
        """
        self.data = data
        self.append_time_ms = append_time_ms
        self._batches = list(batches(data))
        self._headers = [read_header(batch) for batch in self._batches]
        self._markers: list[EndTransactionMarker | None] = [
            read_batch_marker(batch) if header.is_control and header.has_producer_id else None
            for batch, header in zip(self._batches, self._headers, strict=True)
        ]
        self.last_offset_delta = sum(header.last_offset_delta + 1 for header in self._headers) - 1
        self.max_timestamp_ms = max((header.max_timestamp_ms for header in self._headers), default=NO_TIMESTAMP)
        self.must_be_checked = True

    def check(self, producers: ProducerState, base_offset: int) -> ProducerBatch | RecordRefusal | None:
        """See `ClientBatch`."""
        if not self._headers:
            return RecordRefusal(ErrorCode.INVALID_RECORD, "no record batch")
        for header, marker in zip(self._headers, self._markers, strict=True):
            refused = producers.check_own(header, marker) if header.has_producer_id else None
            if refused is not None:
                return RecordRefusal(*refused)
        return None

    def number(self, base_offset: int, leader_epoch: int) -> None:
        """See `ClientBatch`."""
        for index, batch in enumerate(self._batches):
            _PUT_NUMBERS(batch, 0, base_offset, len(batch) - LOG_OVERHEAD, leader_epoch)
            self._headers[index] = read_header(batch)
            base_offset = self._headers[index].last_offset + 1

    def write(
        self,
        segment: Segment,
        base_offset: int,
        leader_epoch: int,
        index_interval_bytes: int,
        tail: BatchTail,
        producers: ProducerState,
    ) -> None:
        """See `ClientBatch`."""
        self.number(base_offset, leader_epoch)
        position = segment.append_all(self.data, self._headers, index_interval_bytes)
        for header, marker in zip(self._headers, self._markers, strict=True):
            tail.append(header.base_offset, position)
            position += header.size_in_bytes
            if not header.has_producer_id:
                continue
            if not header.is_control:
                producers.update(header, header.base_offset, header.max_timestamp_ms)
            elif marker is not None:
                aborted = producers.end_transaction(header, header.base_offset, marker)
                if aborted is not None:
                    segment.transactions.append(aborted)


class MessageSet:
    """Messages of magic 0 or 1, which have their offsets already: they fit only at the offset they were prepared for.

    Attributes: see `ClientBatch`.
    """

    __slots__ = (
        "_base_offset",
        "_newest",
        "_timestamp_offset",
        "append_time_ms",
        "data",
        "last_offset_delta",
        "max_timestamp_ms",
        "must_be_checked",
    )

    def __init__(
        self,
        data: Buffer,
        base_offset: int,
        last_offset: int,
        max_timestamp_ms: int,
        timestamp_offset: int,
        append_time_ms: int,
        newest: Sequence[tuple[int, int]],
    ) -> None:
        """Args:
        base_offset: The log end offset when the offsets were set.
        timestamp_offset: The offset of the message that has the largest timestamp.
        newest: Base offset and position in `data` of the last messages, as many as a `BatchTail` keeps.
        """
        self.data = data
        self._base_offset = base_offset
        self.last_offset_delta = last_offset - base_offset
        self.max_timestamp_ms = max_timestamp_ms
        self._timestamp_offset = timestamp_offset
        self.append_time_ms = append_time_ms
        self._newest = newest
        self.must_be_checked = True

    def check(self, producers: ProducerState, base_offset: int) -> ProducerBatch | RecordRefusal | None:
        """See `ClientBatch`."""
        if base_offset == self._base_offset:
            return None
        # Appends are written in the order in which they are prepared, so only a truncation can have changed the log
        # end offset. The client must send the records to the new leader.
        return RecordRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the log was cut meanwhile", is_before_log=True)

    def number(self, base_offset: int, leader_epoch: int) -> None:
        """Do nothing: the offsets are set already, and these formats have no epoch."""

    def write(
        self,
        segment: Segment,
        base_offset: int,
        leader_epoch: int,
        index_interval_bytes: int,
        tail: BatchTail,
        producers: ProducerState,
    ) -> None:
        """See `ClientBatch`."""
        position = segment.append_message_set(
            self.data,
            base_offset + self.last_offset_delta,
            self.max_timestamp_ms,
            self._timestamp_offset,
            index_interval_bytes,
        )
        for first_offset, relative_position in self._newest:
            tail.append(first_offset, position + relative_position)


Prepared = ClientBatch | OwnBatches | MessageSet
