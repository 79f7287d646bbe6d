"""Data that is ready for a log: validated, in the topic's format, and numbered as far as numbering needs a walk.

There are three kinds: one batch of a client, batches of the broker, and a message set.
`PartitionLog.append_as_leader` treats them alike.

Invariants: building one needs only the log's rules and its end; the methods run on the event loop, in a time that does
not grow with the number of records.

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
        last_offset_delta: From the first offset that it gets to the last one.
        max_timestamp_ms: Its largest timestamp.
        append_time_ms: The timestamp of its records; -1 with create time.
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
        header: Where it has a producer.
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
        """Return the earlier batch if it is a duplicate, or an error if its sequence is invalid; None: append it."""
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
    """Batches that the broker built; those of a producer id must only be newer than the producer's last batch.

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
        data: Whole batches, one at least.
        append_time_ms: The time that they were given; -1 with create time.

        Raises:
            CorruptRecordsError: They are not.
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
    """Messages of magic 0 or 1, numbered one by one, so they fit only at the offset for which they were prepared.

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
        base_offset: The log's end when it was numbered.
        timestamp_offset: The offset of the message that has the largest timestamp.
        newest: Base offset and position in `data` of the last messages, as many as a tail keeps.
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
        # Appends are placed in the order in which they are prepared, so only a cut can have moved the log's end. Who
        # leads now will take it.
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
