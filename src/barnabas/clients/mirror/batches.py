"""Record batches between the source's log and the target's: split, re-headered or rewritten. Pure.

A batch that is copied whole keeps its record bytes, compressed or not. These header fields are new:

    base offset 0, leader epoch -1    as produce requires
    producer id, epoch, sequence      the mirror's
    attributes                        the codec and the transactional bit, nothing else
    CRC                               recomputed

Other batches are rewritten with the same codec, because brokers would reject or change them: message formats 0 and 1,
compacted batches (their offsets have gaps), batches with append times (the times must be kept), and batches whose first
records must be skipped.

Source: wire/records/batch.py; KIP-98; Kafka 2.7.2, LogValidator and Fetcher.
"""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from barnabas.clients.mirror.offsets import BatchMark
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    INT16,
    INT64,
    MAGIC,
    PRODUCER_ID_POSITION,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Codec,
    set_crc,
    set_leader_epoch,
)
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import (
    AnyHeader,
    batches_of_any_magic,
    is_any_crc_valid,
    iterate_any_records,
    read_any_header,
)
from barnabas.wire.records.record import iterate_records

# The size of rewritten batches: below every max.message.bytes except a very small one.
REWRITTEN_BYTES: Final = 100_000
# KIP-534: with this bit, Kafka 3 stores the delete horizon in the header of cleaned batches.
_DELETE_HORIZON_BIT: Final = 0x40
_PRODUCER: Final = Struct(">qhi")


class FoundBatch(NamedTuple):
    """One batch of the source's log, or adjacent messages of an old format.

    Attributes:
        data: The whole batch.
        header: Its header; for old messages, the header of the last one.
        is_data: Whether it contains records that are visible to read_committed consumers.
    """

    data: memoryview
    header: AnyHeader
    is_data: bool

    @property
    def end_offset(self) -> int:
        """Return the offset after the batch's last one."""
        return self.header.last_offset + 1

    @property
    def mark(self) -> BatchMark:
        """Return the mark that distinguishes the batch from another one at the same offset."""
        return BatchMark(self.header.last_offset, self.header.max_timestamp_ms, self.header.crc)


class Outgoing(NamedTuple):
    """A batch for the target without its producer fields; `source_offsets` are the offsets of its records."""

    data: bytearray
    source_offsets: Sequence[int]


def find_batches(
    partition: TopicPartition,
    data: memoryview,
    aborted: Iterable[tuple[int, int]],
    position: int,
    end_offset: int,
) -> list[FoundBatch]:
    """Split fetched data into batches; an incomplete last one is dropped.

    Args:
        partition: The source partition.
        data: The fetched data.
        aborted: Producer ids and first offsets of the transactions that were aborted, as reported by the broker.
        position: The first offset to return.
        end_offset: Batches that begin here or later are left out.

    Raises:
        CorruptRecordsError: The data is invalid; names the partition and the offset.
    """
    begins = sorted(aborted, key=lambda each: each[1], reverse=True)
    is_aborted: set[int] = set()
    found: list[FoundBatch] = []
    expected, end_position = position, 0
    try:
        for batch in batches_of_any_magic(data):
            header = read_any_header(batch)
            end_position += len(batch)
            if isinstance(header, BatchHeader):
                if header.base_offset >= end_offset:
                    break
                if header.last_offset_delta < 0 or (found and header.base_offset < expected):
                    raise CorruptRecordsError(f"a batch with offsets {header.base_offset} to {header.last_offset}")
            if header.last_offset < expected:
                if found:
                    raise CorruptRecordsError(f"a message with offset {header.last_offset}")
                continue
            if not is_any_crc_valid(batch):
                raise CorruptRecordsError("a batch that its CRC does not fit")
            while begins and begins[-1][1] <= header.last_offset:
                is_aborted.add(begins.pop()[0])
            is_data = not header.is_control and not (header.is_transactional and header.producer_id in is_aborted)
            if header.is_control and _is_abort(batch):
                is_aborted.discard(header.producer_id)
            size = len(batch)
            if found and _are_joined(found[-1], header, size):
                size += len(found.pop().data)
            found.append(FoundBatch(data[end_position - size : end_position], header, is_data))
            expected = header.last_offset + 1
    except CorruptRecordsError as error:
        raise CorruptRecordsError(f"partition {partition}, at offset {expected}: {error}") from None
    return found


def _are_joined(before: FoundBatch, header: AnyHeader, size: int) -> bool:
    """Return whether a message with this header and size is written together with the one before."""
    return (
        MAGIC not in (before.header.magic, header.magic)
        and before.header.codec == header.codec
        and len(before.data) + size <= REWRITTEN_BYTES
    )


def _is_abort(batch: memoryview) -> bool:
    marker = next((read_marker(record) for record in iterate_records(batch)), None)
    return marker is not None and marker.marker_type is MarkerType.ABORT


def can_be_copied(header: AnyHeader, position: int) -> bool:
    """Return whether a batch can be copied whole if its records from `position` on are needed."""
    return (
        isinstance(header, BatchHeader)
        and header.base_offset >= position
        and header.record_count == header.last_offset_delta + 1
        and not header.is_log_append_time
        and header.codec <= Codec.ZSTD
    )


def outgoing(batch: FoundBatch, position: int, rewritten_bytes: int | None = None) -> Iterator[Outgoing]:
    """Yield the batches for the target: the same batch, or rewritten ones.

    Args:
        batch: A batch of the source.
        position: First offset to write.
        rewritten_bytes: Rewrite it in batches of about this size; None: rewrite only if necessary.

    Raises:
        CorruptRecordsError: The batch had to be unpacked, and its content contradicts its header.
    """
    header = batch.header
    if rewritten_bytes is None and isinstance(header, BatchHeader) and can_be_copied(header, position):
        yield Outgoing(bytearray(batch.data), range(header.base_offset, header.last_offset + 1))
        return
    limit = REWRITTEN_BYTES if rewritten_bytes is None else rewritten_bytes
    if header.codec > Codec.ZSTD:
        raise CorruptRecordsError(f"codec {header.codec} is not known")
    builder, offsets = BatchBuilder(Codec(header.codec)), list[int]()
    for record in (each for one in batches_of_any_magic(batch.data) for each in iterate_any_records(one)):
        if record.offset < position:
            continue
        builder.append(record.timestamp_ms, record.key, record.value, record.headers)
        offsets.append(record.offset)
        if builder.uncompressed_bytes >= limit:
            yield Outgoing(builder.build(), offsets)
            builder, offsets = BatchBuilder(Codec(header.codec)), []
    if offsets:
        yield Outgoing(builder.build(), offsets)


def stamp(batch: bytearray, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
    """Set the producer fields of a batch, in place; its records stay unchanged."""
    attributes: int = INT16.unpack_from(batch, ATTRIBUTES_POSITION)[0]
    INT64.pack_into(batch, 0, 0)
    set_leader_epoch(batch, 0, NO_EPOCH)
    INT16.pack_into(batch, ATTRIBUTES_POSITION, attributes & CODEC_MASK | TRANSACTIONAL_BIT)
    _PRODUCER.pack_into(batch, PRODUCER_ID_POSITION, producer_id, producer_epoch, base_sequence)
    set_crc(batch, 0, len(batch))


def mark_at(data: memoryview, offset: int) -> BatchMark | None:
    """Return the current mark of the batch at an offset.

    None: unknown, because compaction has removed or rewritten it; or it contains compressed messages of format 0 or 1.

    Args:
        data: Batches from that offset on; the first is complete.
        offset: The last offset of a batch that was read.

    Raises:
        CorruptRecordsError: The data is not a batch.
    """
    for batch in batches_of_any_magic(data):
        header = read_any_header(batch)
        if header.last_offset < offset:
            continue
        if isinstance(header, BatchHeader):
            is_cleaned = header.record_count != header.last_offset_delta + 1 or header.attributes & _DELETE_HORIZON_BIT
            if header.base_offset > offset or is_cleaned:
                return None
        elif header.last_offset != offset or header.codec != Codec.NONE:
            # The message was removed; or it is in a wrapper, of which nothing tells whether it was rewritten.
            return None
        return FoundBatch(batch, header, is_data=True).mark
    return None
