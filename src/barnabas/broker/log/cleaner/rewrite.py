"""Decides which records of each batch are retained, and writes them.

A rewritten batch of magic 2 keeps its base offset, last offset delta, codec, leader epoch and all producer fields; its
base timestamp becomes the timestamp of the first retained record. A producer's newest batch is retained even if it has
no more records, because the producer's next batch must follow its sequence.

Invariants: a batch whose records are all retained is copied byte for byte; a batch with a wrong CRC stops the round.

# differs from Kafka (cleaner-wrong-crc): Kafka copies damaged batches, and gives rewritten ones a valid CRC.

Source: design page, log compaction; KIP-98; log-format facts, cleaner.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.broker.log.cleaner.cleaned_segment import CleanedSegment, WrittenBatch
from barnabas.broker.log.cleaner.offset_map import OffsetMap
from barnabas.broker.log.cleaner.record_scan import Kept, choose_kept, choose_marked, rebase_timestamps
from barnabas.broker.log.cleaner.transactions import CleanedTransactions
from barnabas.broker.log.producers.producer_replay import read_batch_marker
from barnabas.core.types import NO_OFFSET, NO_TIMESTAMP
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    INT64,
    LEAST_BATCH_LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    MAX_TIMESTAMP_POSITION,
    BatchHeader,
    Buffer,
    Codec,
    read_header,
    set_crc,
)
from barnabas.wire.records.compression import compress
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import AnyHeader, batches_of_any_magic, is_any_crc_valid, read_any_header
from barnabas.wire.records.legacy import MessageHeader, to_record, unwrap
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import read_payload

_ATTRIBUTES_MASK = 0x3F  # the bits that Kafka 2.7 uses


class LastBatch(NamedTuple):
    """The newest batch of a producer.

    Attributes:
        data_offset: Last offset of its newest data batch; -1 when only markers are known.
        epoch: Its epoch.
    """

    data_offset: int
    epoch: int


class Retention(NamedTuple):
    """The state that decides which records of a segment are retained.

    Attributes:
        newest: The newest offsets of the keys.
        survivors: Marks for the offsets in `newest`, from `first_dirty_offset` on; None if they need too much memory.
        first_dirty_offset: Start of the part of the log whose keys are in `newest`.
        last_batches: The newest batch of each known producer.
        transactions: The state of the log's transactions at the current batch.
        keeps_tombstones: Whether tombstones and markers are too young to be removed.
    """

    newest: OffsetMap
    survivors: bytearray | None
    first_dirty_offset: int
    last_batches: Mapping[int, LastBatch]
    transactions: CleanedTransactions
    keeps_tombstones: bool


def clean_chunk(chunk: bytes, retention: Retention, target: CleanedSegment) -> int:
    """Write the retained records of the whole batches in a chunk.

    Returns:
        The size of the whole batches in bytes; a partial batch may follow them.

    Raises:
        CorruptRecordsError: A batch is damaged.
        StorageError: The disk failed.
    """
    parts: list[Buffer] = []
    written: list[WrittenBatch] = []
    view = memoryview(chunk)
    position = copied_start = 0
    for start, header in whole_batches(chunk):
        position = start + header.size_in_bytes
        stays = _filter(chunk, start, header, retention)
        if stays is None:
            written.append(WrittenBatch(header.last_offset, header.max_timestamp_ms, header.size_in_bytes))
            continue
        if start > copied_start:
            parts.append(view[copied_start:start])
        copied_start = position
        if not stays:
            continue
        parts.append(stays)
        if isinstance(header, BatchHeader):
            max_timestamp_ms: int = INT64.unpack_from(stays, MAX_TIMESTAMP_POSITION)[0]
            written.append(WrittenBatch(header.last_offset, max_timestamp_ms, len(stays)))
            continue
        for message in batches_of_any_magic(stays):
            new = read_any_header(message)
            written.append(WrittenBatch(new.last_offset, new.max_timestamp_ms, new.size_in_bytes))
    if position > copied_start:
        parts.append(view[copied_start:position])
    if parts:
        target.append(parts[0] if len(parts) == 1 else b"".join(parts), written)
    for transaction in retention.transactions.retained:
        target.append_aborted(transaction)
    retention.transactions.retained.clear()
    return position


def whole_batches(chunk: bytes) -> Iterator[tuple[int, AnyHeader]]:
    """Yield the positions and headers of a chunk's whole batches, of any magic.

    Raises:
        CorruptRecordsError: While iterating: a header is invalid, or a CRC is wrong.
    """
    view, end = memoryview(chunk), len(chunk)
    position = 0
    while end - position >= HEADER_BYTES and chunk[position + MAGIC_POSITION] == MAGIC:
        header = read_header(chunk, position)
        batch_end = position + header.batch_length + LOG_OVERHEAD
        if header.batch_length < LEAST_BATCH_LENGTH:
            raise CorruptRecordsError(f"batch length {header.batch_length} after offset {header.base_offset}")
        if batch_end > end:
            return
        if crc32c(view[position + ATTRIBUTES_POSITION : batch_end]) != header.crc:
            raise CorruptRecordsError(f"the batch that ends at offset {header.last_offset} has a wrong CRC")
        yield position, header
        position = batch_end
    for message in batches_of_any_magic(view[position:]):
        if not is_any_crc_valid(message):
            raise CorruptRecordsError(f"a wrong CRC {position} bytes into what was read")
        yield position, read_any_header(message)
        position += len(message)


def records_of(chunk: bytes, start: int, header: BatchHeader) -> tuple[bytes, int, int]:
    """Return a batch's records, decompressed: the buffer, their start and their end in it.

    Raises:
        CorruptRecordsError: The records can't be decompressed.
    """
    end = start + header.size_in_bytes
    if header.codec == Codec.NONE:
        return chunk, start + HEADER_BYTES, end
    payload = read_payload(memoryview(chunk)[start:end], header)
    return payload, 0, len(payload)


def _filter(chunk: bytes, start: int, header: AnyHeader, retention: Retention) -> Buffer | None:
    """Return the replacement of a batch, empty to remove it; None to retain it unchanged."""
    if not isinstance(header, BatchHeader):
        return _filter_messages(memoryview(chunk)[start : start + header.size_in_bytes], header, retention)
    if header.is_control:
        is_dropped = _may_drop_marker(chunk, start, header, retention) and not retention.keeps_tombstones
        if not is_dropped and header.record_count:
            return None
    elif not retention.transactions.is_aborted(header):
        data, kept = _choose(chunk, start, header, retention)
        if kept.record_count:
            if kept.record_count == header.record_count:
                return None
            return rebuild_batch(header, b"".join([data[first:last] for first, last in kept.runs]), kept.record_count)
    if _is_last_of_producer(header, retention.last_batches):
        return _empty_batch(header) if header.record_count else None
    return b""


def _choose(chunk: bytes, start: int, header: BatchHeader, retention: Retention) -> tuple[bytes, Kept]:
    """Return the retained records of a batch, and the data that contains them."""
    survivors, keeps_tombstones = retention.survivors, retention.keeps_tombstones
    base_offset, record_count, last_delta = header.base_offset, header.record_count, header.last_offset_delta
    if (
        survivors is not None
        and base_offset >= retention.first_dirty_offset
        and base_offset + last_delta <= retention.newest.latest_offset
        and record_count == last_delta + 1
    ):
        # hot path: keys are not read again, and a batch is not decompressed if all or none of its records are retained.
        first = base_offset - retention.first_dirty_offset
        stays = survivors[first : first + record_count]
        count = stays.count(1)
        if count == 0 or (keeps_tombstones and count == record_count):
            return b"", Kept([], count)
        data, position, _ = records_of(chunk, start, header)
        return data, choose_marked(data, position, record_count, base_offset, stays, keeps_tombstones=keeps_tombstones)
    data, position, end = records_of(chunk, start, header)
    return data, choose_kept(
        data,
        position,
        end,
        record_count,
        base_offset,
        retention.newest.get,
        retention.newest.latest_offset + 1,
        keeps_tombstones=keeps_tombstones,
    )


def _may_drop_marker(chunk: bytes, start: int, header: BatchHeader, retention: Retention) -> bool:
    marker = read_batch_marker(memoryview(chunk)[start : start + header.size_in_bytes])
    if marker is None and header.record_count:
        # A control record of an unknown type is retained.
        return False
    return retention.transactions.may_drop_marker(header, marker)


def _is_last_of_producer(header: BatchHeader, last_batches: Mapping[int, LastBatch]) -> bool:
    last = last_batches.get(header.producer_id) if header.has_producer_id else None
    if last is None:
        return False
    if last.data_offset != NO_OFFSET:
        return header.last_offset == last.data_offset
    return header.is_control and header.producer_epoch == last.epoch


def rebuild_batch(header: BatchHeader, records: bytes, record_count: int) -> bytearray:
    """Return a batch with some of its records.

    Args:
        header: The header of the original batch.
        records: The retained records, not compressed.
        record_count: Number of retained records.
    """
    is_log_append_time = header.is_log_append_time
    records, first_delta_ms, largest_delta_ms = rebase_timestamps(records, is_log_append_time=is_log_append_time)
    base_timestamp_ms = header.max_timestamp_ms if is_log_append_time else header.base_timestamp_ms + first_delta_ms
    payload = records if header.codec == Codec.NONE else compress(header.codec, records)
    return _batch(
        header, header.attributes, base_timestamp_ms, base_timestamp_ms + largest_delta_ms, record_count, payload
    )


def _empty_batch(header: BatchHeader) -> bytearray:
    return _batch(header, header.attributes & ~CODEC_MASK, NO_TIMESTAMP, header.max_timestamp_ms, 0, b"")


def _batch(
    header: BatchHeader,
    attributes: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    record_count: int,
    payload: bytes,
) -> bytearray:
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        header.base_offset,
        HEADER_BYTES + len(payload) - LOG_OVERHEAD,
        header.leader_epoch,
        header.magic,
        0,
        attributes & _ATTRIBUTES_MASK,
        header.last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        record_count,
    )
    batch += payload
    set_crc(batch, 0, len(batch))
    return batch


def _filter_messages(message: memoryview, header: MessageHeader, retention: Retention) -> Buffer | None:
    """Do the same as `_filter` for a message of magic 0 or 1, including its inner messages."""
    newest_offset, end_offset = retention.newest.get, retention.newest.latest_offset + 1
    kept, is_whole = [], True
    for inner in unwrap(message):
        record = to_record(inner)
        stays = record.offset >= end_offset or (
            record.key is not None
            and newest_offset(record.key, -1) <= record.offset
            and (retention.keeps_tombstones or record.value is not None)
        )
        if stays:
            kept.append(record)
        # Some old versions put messages of another magic into a wrapper: such a wrapper is rebuilt.
        is_whole = is_whole and stays and inner.magic == header.magic
    if is_whole:
        return None
    if not kept:
        return b""
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    builder = MessageSetBuilder(header.magic, header.codec, append_time_ms)
    for record in kept:
        builder.append(record.offset, record.timestamp_ms, record.key, record.value)
    return builder.build()
